//! Subjects that no question of `fsverdict ask` is about, and where each can be had instead.
//!
//! To leave such a word aside would answer another question. Words that only describe (a brand, a size) are not here.

use fsverdict_text::Reason;

use super::sentence::Sentence;
use super::vocabulary::COMPARING;

/// A subject, and what to do about it.
struct OutsideSubject {
    /// Words and phrases, longer ones first; `*` stands for any word.
    phrases: &'static [&'static str],
    hint: &'static str,
}

/// What no question can be about.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) reason: Reason,
    /// Whether the words only describe a work, where one is named: `video editing, mostly sequential`.
    pub(super) describes_work: bool,
}

const SUBJECTS: &[OutsideSubject] = &[
    OutsideSubject {
        phrases: &["dedup", "dedupe", "deduplication", "deduplicate", "duperemove", "bees"],
        hint: "deduplication is no option here but ZFS's: `zfs dedup=on or dedup=off for vm`; duperemove is a command of a plan",
    },
    OutsideSubject {
        phrases: &["fstrim", "trim"],
        hint: "the mount option is compared by `ext4 with and without discard for mail on ssd`; fstrim is a command of a plan",
    },
    OutsideSubject {
        phrases: &["should i buy", "to buy", "buy", "purchase"],
        hint: "filesystems are compared, not drives; `fsverdict calibrate` measures a drive that you have, and `fsverdict list models` has modelled ones",
    },
    OutsideSubject {
        phrases: &[
            "partition my",
            "partition a",
            "partition the",
            "partitioning",
            "repartition",
            "partition table",
            "gpt",
        ],
        hint: "partitions are not compared; name a work and filesystems: `ext4 or btrfs for my laptop`",
    },
    OutsideSubject {
        phrases: &[
            "bcache",
            "lvmcache",
            "dm-cache",
            "ssd cache",
            "cache device",
            "l2arc",
            "slog",
            "vdo",
            "drbd",
        ],
        hint: "what lies below a filesystem is named in a plan: docs/reference/layers.md, `fsverdict list layers`",
    },
    OutsideSubject {
        phrases: &["journal mode", "journal modes", "journaling mode", "journalling mode"],
        hint: "name the modes: `ext4 with data=ordered or data=journal or data=writeback for sqlite`, `ext4 with and without journal for sqlite`",
    },
    OutsideSubject {
        phrases: &[
            "block size",
            "block sizes",
            "blocksize",
            "1k blocks",
            "4k blocks",
            "8k blocks",
            "16k blocks",
            "32k blocks",
            "64k blocks",
            "128k blocks",
        ],
        hint: "say it as mkfs takes it, for one filesystem: `ext4 -b 1024 or ext4 for mail`, `xfs -b size=1024 or xfs for mail`",
    },
    OutsideSubject {
        phrases: &[
            "reflink copying",
            "reflink copies",
            "reflink copy",
            "copying reflinks",
            "cp --reflink",
            "--reflink=always",
            "cloning",
        ],
        hint: "clones are timed by `fsverdict run modern-snapshots` (with ZFS) and by operation = \"copy.reflink\" of a plan; `vm images, must have reflinks` only leaves out those that cannot clone",
    },
    OutsideSubject {
        phrases: &["quota", "quotas"],
        hint: "`ask` cannot set up quotas: leave the word out, or write a plan that sets them up by commands (`before` of a phase) and mount options",
    },
    OutsideSubject {
        phrases: &["matter more", "matters more", "more important than", "most important"],
        hint: "how often each part of the work is done is `goal.frequency` of a plan: `fsverdict show mail-spool > mine.toml` begins one with the weights of a preset",
    },
    OutsideSubject {
        phrases: &["shrink", "shrinking", "resize", "resizing", "grow", "growing"],
        hint: "changing the size of a filesystem is not tried; it can be a command of a plan",
    },
    OutsideSubject {
        phrases: &["floppy", "floppies", "tape", "lto", "dvd", "cd-rom", "bluray", "blu-ray"],
        hint: "there is no model of such a device; `fsverdict list models` has those there are; to use your own block device, give its path, such as /dev/sdb",
    },
    OutsideSubject {
        phrases: &["optane", "pmem", "nvdimm", "persistent memory", "dax"],
        hint: "no model of persistent memory is there; `fsverdict list models` has the devices",
    },
    OutsideSubject {
        phrases: &["fsck", "e2fsck", "xfs_repair", "check time", "checking time"],
        hint: "every trial checks the filesystem and times it: ask about a work (`ext4 or xfs for mail on hdd`), and `fsverdict report --all` shows the check",
    },
    OutsideSubject {
        phrases: &[
            "inodes",
            "least space",
            "less space",
            "most space",
            "wastes",
            "waste",
            "wasted",
            "disk usage",
            "space overhead",
        ],
        hint: "a question is about time; every trial counts the space in use, too, and a plan can have it as its goal: metric = \"space_grown\" (docs/reference/plan-format.md)",
    },
    OutsideSubject {
        phrases: &[
            "streams",
            "threads",
            "writers",
            "concurrent",
            "concurrently",
            "in parallel",
            "simultaneous",
            "simultaneously",
        ],
        hint: "how many work at once is `threads` of a phase in a plan: `fsverdict show quick > mine.toml` begins one",
    },
    OutsideSubject {
        phrases: &["defrag", "defragment", "defragmentation", "fragmented", "e4defrag"],
        hint: "`fsverdict ask aged` is about a year of changes; a defragmenter is a command of a plan",
    },
    OutsideSubject {
        phrases: &["swap", "swapfile", "swapping", "hibernate", "hibernation"],
        hint: "swapping is no work that is tried here; leave it out",
    },
    OutsideSubject {
        phrases: &[
            "wear",
            "reduce writes",
            "fewer writes",
            "less writes",
            "tbw",
            "write amplification",
            "lifespan",
            "lifetime",
        ],
        hint: "a question is about time; every trial counts what is written to the device, too (`fsverdict report --all`), and a plan can have it as its goal: metric = \"device_written\"",
    },
];

/// Kinds of access, which also describe a work.
const ACCESSES: OutsideSubject = OutsideSubject {
    phrases: &[
        "random * reads",
        "random * writes",
        "random reads",
        "random writes",
        "random read",
        "random write",
        "random io",
        "random i/o",
        "sequential reads",
        "sequential writes",
        "sequential write",
        "sequential read",
        "sequential",
        "small writes",
        "many writes",
        "synchronous writes",
        "sync writes",
    ],
    hint: "single kinds of access are operations of a plan (`fsverdict list operations`); `fsverdict run quick` does all of them, and a question is about a whole work: sqlite, etcd, vm",
};

const JOURNAL_APART: &str = "a journal on a device of its own is named in a plan, with two devices: mkfs = \"-J device={device.2}\" (docs/reference/plan-format.md)";

/// Services of a network, which a question may name (`a nas with samba`) but not compare.
const SERVICES: &str = "nfs samba smb cifs iscsi ftp sftp webdav ssh afp";

/// The words of the sentence that no question can be about, with the hints for them; `None` if there are none.
pub(super) fn find_outside(sentence: &Sentence) -> Option<Outside> {
    let mut describes_work = true;
    let mut words: Vec<String> = Vec::new();
    let mut hints: Vec<&str> = Vec::new();
    let mut add = |said: String, hint| {
        words.push(said);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    };
    let mut at = 0;
    while at < sentence.len() {
        let begins =
            |subject: &OutsideSubject| Some((sentence.find_phrase(at, subject.phrases)?, subject.hint));
        let other = SUBJECTS.iter().find_map(begins);
        if let Some((range, hint)) = other.clone().or_else(|| begins(&ACCESSES)) {
            describes_work &= other.is_none();
            at = range.end;
            add(sentence.words(range), hint);
            continue;
        }
        if sentence.is(at, SERVICES) && sentence.is(at + 1, COMPARING) && sentence.is(at + 2, SERVICES) {
            describes_work = false;
            add(
                sentence.words(at..at + 3),
                "services of a network are not compared; ask about the filesystem below: `btrfs or ext4 for my nas`",
            );
        }
        at += 1;
    }
    let journal = (0..sentence.len()).find(|at| sentence.is(*at, "journal journals log"));
    let apart = (0..sentence.len()).find(|at| sentence.is(*at, "separate external") && sentence.is_free(*at));
    if let (Some(journal), Some(apart)) = (journal, apart) {
        let (first, second) = (journal.min(apart), journal.max(apart));
        describes_work = false;
        add(format!("{} … {}", sentence.original(first), sentence.original(second)), JOURNAL_APART);
    }
    if let Some((one, other)) = two_releases(sentence) {
        describes_work = false;
        add(
            format!("{one}, {other}"),
            "a question is about one kernel; two are compared by a plan with `kernel` in its candidates: docs/guides/laboratory-kernels.md",
        );
    }
    (!words.is_empty()).then(|| Outside {
        reason: hints.into_iter().fold(
            Reason::plain(format!("no question is about this: {}", words.join(", "))),
            Reason::and_hint,
        ),
        describes_work,
    })
}

/// Two releases of a kernel, such as `5.15` and `6.6`, where a word for it is there.
fn two_releases(sentence: &Sentence) -> Option<(String, String)> {
    let is_release = |at: &usize| {
        let text = sentence.text(*at);
        let text = text.trim_start_matches("linux-").trim_start_matches('v');
        text.split_once('.').is_some_and(|(major, minor)| {
            let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            major.len() == 1 && digits(major) && minor.split('.').all(digits)
        })
    };
    (0..sentence.len()).any(|at| sentence.is(at, "linux kernel kernels")).then_some(())?;
    let mut releases = (0..sentence.len()).filter(|at| sentence.is_free(*at)).filter(is_release);
    Some((sentence.original(releases.next()?).to_owned(), sentence.original(releases.next()?).to_owned()))
}

/// The questions that hints give as examples.
#[cfg(test)]
pub(super) fn example_questions() -> impl Iterator<Item = &'static str> {
    let hints = SUBJECTS.iter().map(|subject| subject.hint).chain([ACCESSES.hint, JOURNAL_APART]);
    let quoted = hints.flat_map(|hint| hint.split('`').skip(1).step_by(2));
    quoted.filter(|words| !words.starts_with("fsverdict") && words.contains(" for "))
}

#[cfg(test)]
mod tests {
    use super::{Sentence, find_outside};

    #[test]
    fn subjects_of_no_question_are_named_with_a_way_to_go_on() {
        for (said, named) in [
            ("does btrfs dedup like bees help for vm images", "dedup, bees"),
            ("nfs or samba for my nas", "nfs or samba"),
            ("linux 5.15 vs 6.6: did ext4 get faster", "5.15, 6.6"),
            ("should I buy a new ssd for my nas", "should I buy"),
            ("random 4k writes on emmc", "random 4k writes"),
            ("how long does fsck take on ext4", "fsck"),
        ] {
            let reason = find_outside(&Sentence::new(&[said.to_owned()])).unwrap().reason;
            assert_eq!(reason.what, format!("no question is about this: {named}"), "{said}");
            assert!(!reason.hint.is_empty());
        }
        for said in ["ext4 or xfs for my nas with samba", "mail on linux 6.12", "root partition of my laptop"]
        {
            assert!(find_outside(&Sentence::new(&[said.to_owned()])).is_none(), "{said}");
        }
    }
}
