//! Words of questions that are neither a work nor a device nor a filesystem.

/// Words that a question has anyway.
pub(super) const FILLING: &str = "\
    which what whats filesystem filesystems file files system systems fs should shall do does can could i ive im we use using for to a \
    an the my our linux on with and or of in into is are be best better good right fast faster fastest safe safest choose pick \
    take want need needs needed have has must that it its please how vs versus than readable read by from at where store \
    storing stored keep work lots many small big large library collection folder folders server drive both between me \
    there lie lies would will would like was were am so then when if also just some any all most put install installed \
    format formatted setup set up get give gets make makes slow slower quick quickly always time day days going run runs \
    running happy know tell say think suited suitable suits recommend recommended recommendation advice difference thanks hi hello question \
    one ones this these those them they plain style disk disks way ways own you your data stays stay old new cheap \
    mkfs option options + &";

/// Between `on` and the device.
pub(super) const BEFORE_DEVICE: &str = "\
    a an the my our this your two three four several old new cheap fast slow small big large external internal modern";

/// Other names of filesystems.
pub(super) const ALSO_CALLED: &[(&str, &str)] =
    &[("fat32", "vfat"), ("fat", "vfat"), ("ntfs", "ntfs3"), ("nilfs", "nilfs2"), ("reiser", "reiserfs")];

/// Filesystems that people ask about, and that fsverdict does not try by name.
pub(super) const NOT_TRIED: &str = "\
    apfs hfs hfs+ refs ufs hammer hammer2 lfs ffs minix bfs wafl vmfs ocfs2 gfs2 ceph cephfs lustre glusterfs beegfs moosefs sshfs \
    squashfs erofs cramfs romfs ubifs jffs2 yaffs yaffs2 tmpfs ramfs mergerfs unionfs snapraid udf iso9660 ltfs";

/// Words before something that is not wanted.
pub(super) const EXCLUDING: &str = "not no without except excluding nor never neither besides avoid avoiding hate ignoring ignore skip skipping";

/// Words that change a question at any place, besides those that exclude, have a digit, or look like an option.
const CHANGING: &str = "\
    but instead only against compared comparing below under above over less off unless \
    finish finishes complete completes \
    more least percentile latency latencies throughput bandwidth iops cost costs costing overhead penalty price % percent";

/// Between two things that are compared.
pub(super) const COMPARING: &str = "or vs versus against and than";

/// Layers below a filesystem, which no question varies.
pub(super) const LAYERS: &str = "lvm lvm2 lvm-thin md mdadm dm-crypt dm-integrity device-mapper stratis";

/// Phrases that ask for the price of something.
pub(super) const COST_PHRASES: &[&str] = &[
    "how much slower",
    "how much faster",
    "how much speed",
    "how much performance",
    "how much time",
    "how much does",
    "do i lose",
    "would i lose",
    "how expensive",
    "slow down",
    "slows down",
    "speed penalty",
    "performance hit",
    "performance penalty",
    "performance cost",
    "performance impact",
    "impact of",
    "is the price",
    "make a difference",
    "makes a difference",
    "make any difference",
    "make it faster",
    "make it slower",
    "make * faster",
    "make * slower",
    "makes * faster",
    "makes * slower",
    "make * safer",
    "makes * safer",
    "make * * faster",
    "make * * slower",
    "good or bad",
    "good idea",
    "make sense",
    "makes sense",
    "does it matter",
    "matter",
    "matters",
    "worth it",
    "worth",
    "cost",
    "costs",
    "costing",
    "overhead",
    "penalty",
    "price",
    "help",
    "helps",
    "hurt",
    "hurts",
];

/// Whether a word that was not understood may change the question: one that negates or compares, a limit, or an option.
pub(super) fn may_change_question(word: &str) -> bool {
    let has_digit = word.contains(|letter: char| letter.is_ascii_digit());
    is_option(word)
        || has_digit && !is_quantity(word)
        || super::sentence::is_in(word, EXCLUDING)
        || super::sentence::is_in(word, CHANGING)
        || super::sentence::is_in(word, LAYERS)
}

/// Whether a word is written like an option, or a setting.
pub(super) fn is_option(word: &str) -> bool {
    word.starts_with('-') || word.contains('=') || word.contains(':')
}

/// Whether a word says how much or how many there is, or which release: `4TB`, `2`, `4x8TB`, `26.04`, `500k`. Times and rates are
/// limits.
fn is_quantity(word: &str) -> bool {
    const UNITS: &str =
        "k m kb mb gb tb pb kib mib gib tib g t gig gigs x ghz th st nd rd bay bays core cores rpm";
    let word = word.to_lowercase();
    let is_number = |part: &str| {
        let unit = part.trim_start_matches(|one: char| one.is_ascii_digit() || ".,~".contains(one));
        unit.len() < part.len()
            && (unit.is_empty() || super::sentence::is_in(unit.trim_matches(['-', '+']), UNITS))
            || unit == "+"
    };
    let parts: Vec<&str> = word.split('x').filter(|part| !part.is_empty()).collect();
    !parts.is_empty() && parts.iter().all(|part| is_number(part))
}

/// A number in digits or in words.
pub(super) fn number_called(word: &str) -> Option<f64> {
    const WORDS: [(&str, f64); 12] = [
        ("one", 1.0),
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("ten", 10.0),
        ("fifteen", 15.0),
        ("twenty", 20.0),
        ("thirty", 30.0),
        ("sixty", 60.0),
        ("an", 1.0),
        ("a", 1.0),
    ];
    let in_words = WORDS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    in_words.or_else(|| word.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0))
}

#[cfg(test)]
mod tests {
    use super::may_change_question;

    #[test]
    fn quantities_do_not_change_a_question_and_limits_do() {
        for word in ["2", "4tb", "4x8TB", "500k", "26.04", "256GB", "4-bay", "2x", "1,000", "10th"] {
            assert!(!may_change_question(word), "{word}");
        }
        for word in ["p99", "5ms", "raid5", "zstd:3", "-b", "a=b", "3min", "200mb/s", "under", "besides"] {
            assert!(may_change_question(word), "{word}");
        }
    }
}
