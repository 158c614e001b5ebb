//! What `capture --trace` makes of what strace wrote: the account in the plan, the warning and the refusal, and files of several processes.

use std::path::{Path, PathBuf};

use crate::common::{Place, not_run};

const OPEN: &str = "7 1.0 open(\"/srv/secret\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</srv/secret>\n";

fn capture(place: &Place, record: &str, more: &[&str]) -> crate::common::Seen {
    std::fs::write(place.path().join("calls.txt"), record).unwrap();
    let arguments = ["capture", "--trace", "calls.txt", "--below", "/srv"];
    place.fsverdict(&[&arguments, more].concat())
}

#[test]
fn what_is_lost_is_told_in_the_first_line_and_much_of_it_is_an_error() {
    let place = Place::new();
    let kept =
        "7 2.0 write(3</srv/secret>, \"\"..., 1000) = 1000\n7 2.0 fsync(3</srv/secret>) = 0\n".repeat(50);
    let hidden = "7 4.0 write(9, \"\"..., 2000) = 2000\n";
    // Nothing lost, 2 of 52 kilobytes, and 26 of 76.
    let whole = capture(&place, &format!("{OPEN}{kept}"), &[]).exits(0);
    assert!(whole.stdout.starts_with("# calls that strace saw"), "{}", whole.stdout);
    assert!(
        whole
            .stdout
            .contains("\n# Account: 101 calls seen = 101 kept + 0 not kept + 0 outside + 0 unread.\n")
    );
    let some = capture(&place, &format!("{OPEN}{kept}{hidden}"), &[]).exits(0);
    let first = some.stdout.lines().next().unwrap();
    assert_eq!(first, "# Warning: This plan lacks 4 % of the recorded bytes.");
    assert!(
        some.stdout.contains("that strace does not show (1), 2000 bytes, first in line 102: write(9"),
        "{}",
        some.stdout
    );
    let much = format!("{OPEN}{kept}{}", hidden.repeat(13));
    capture(&place, &much, &[]).exits(2).says(&[
        "the trace would lose 34 % of its recorded bytes",
        "Of 114 calls, 101 are kept",
        "(13, first in line 102)",
        "--partial",
    ]);
    let partial = capture(&place, &much, &["--partial"]).exits(0);
    assert!(
        partial.stdout.starts_with("# Warning: This plan lacks 34 % of the recorded bytes"),
        "{}",
        partial.stdout
    );
    let syncs = format!("{OPEN}{kept}7 5.0 msync(0x7f00, 4096, MS_SYNC) = 0\n");
    let syncs = capture(&place, &syncs, &[]).exits(0);
    assert!(
        syncs.stdout.starts_with("# Warning: This plan lacks 2 % of the recorded syncs"),
        "{}",
        syncs.stdout
    );
    assert!(!partial.stdout.contains("secret") && !syncs.stdout.contains("secret"));
}

#[test]
fn files_of_each_process_are_refused_with_the_option_that_makes_one() {
    let place = Place::new();
    for process in [7, 8] {
        let line = "1.0 open(\"/srv/a\", O_RDWR|O_CREAT|O_EXCL) = 3</srv/a>\n";
        std::fs::write(place.path().join(format!("calls.{process}")), line).unwrap();
    }
    place
        .fsverdict(&["capture", "--trace", "calls", "--below", "/srv"])
        .exits(2)
        .says(&["a file for each process (-ff)", "record again without -ff: strace -f -ttt"]);
    place
        .fsverdict(&["capture", "--trace", "calls.tx", "--below", "/srv"])
        .exits(2)
        .says(&["cannot use calls.tx"]);
}

/// Recordings of requests in the print formats of their programs: words that the plan, a message or the error has.
#[test]
fn recordings_of_requests_account_for_every_line() {
    let heading = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";
    let request = |at: u32| {
        format!("{at}.250000    tar            812     vdb       W {:<10} 524288   9.40\n", at * 4096)
    };
    let requests: String = (1..=9).map(request).collect();
    let events = "  tar-9    [001] d..2. 77.000100: block_rq_issue: 8,0 W 4096 () 640 + 8 none,0,0 [tar]\n  <idle>-0 [001] d.h2. 77.000900: block_rq_complete: 8,0 W () 640 + 8 none,0,0 [0]\n";
    let place = Place::new();
    for (name, text, exit, words) in [
        (
            "columns that touch",
            format!(
                "{heading}{requests}20.0 x 1 vdb W 8 512 1.0\n21.250000 tar 8 vdb W 90112      10485761204.50\n22.250000    tar            812     vdb       W 98304      10490881304.50\n"
            ),
            0,
            &[
                "12 requests seen = 11 kept + 0 not kept + 0 outside + 1 unread",
                "Warning: 1 line of the recording was not read",
                "Unread: lines (1), first in line 11: 20.0 …",
                "headings of biosnoop (1)",
                "1049088",
            ][..],
        ),
        (
            "no disk, and time in the queue",
            format!(
                "{}0.100000    tar            812     vdb     W 64        4096      0.01    0.31\n0.200000    ?              0               R 0         8         0.00    2.80\n0.300000    tar            812     vdb     R 128       4096      0.01    0.20\n",
                heading.replace("LAT", "QUE(ms) LAT")
            ),
            0,
            &["3 requests seen = 2 kept + 1 not kept", "of which no disk is shown (1)"],
        ),
        (
            "a pattern",
            format!(
                "{}0.100000    tar            812     vdb     W 64        1048576S   0.31\n",
                heading.replace("LAT", "P LAT")
            ),
            0,
            &["1 requests seen = 1 kept", "write 1 32768 1048576"],
        ),
        (
            "lost events",
            format!("# tracer: nop\n{events}CPU:1 [LOST 88 EVENTS]\n"),
            0,
            &["Warning: 88 events were lost", "marks of lost events (1)"],
        ),
        ("two values", "400, 1830, 9910, 0, 0, 0, 0\n".to_owned(), 2, &["log_window_value", "log_avg_msec"]),
        (
            "many unread lines",
            format!("{heading}{}{}", request(1), "a message\n".repeat(3)),
            2,
            &["would lose 75 % of its recorded lines", "3 lines are not read, the first is line 3"],
        ),
    ] {
        std::fs::write(place.path().join("requests.txt"), text).unwrap();
        let seen = place.fsverdict(&["capture", "--trace", "requests.txt"]).exits(exit);
        let said = format!("{}{}", seen.stdout, seen.stderr);
        for word in words {
            assert!(said.contains(word), "{name}: {word}: {said}");
        }
    }
    let plan = "title = \"t\"\n[[candidate]]\nfilesystem = \"directory\"\npath = \"/var/tmp\"\n[[phase]]\nname = \"p\"\nadapter = \"fio\"\noptions = '--name=a --rw=write --size=1M --output=\"$SCRATCH/r\"'\n";
    std::fs::write(place.path().join("plan.toml"), plan).unwrap();
    place
        .fsverdict(&["run", "plan.toml"])
        .exits(2)
        .says(&["`--output` writes the results into a file", "plan.toml:8"]);
}

/// What the small recordings beside the repository must come to: words that the plan, or the error, has.
const FAULTS: &[(&str, &[&str])] = &[
    ("Y", &["has -Y (names of programs)", "record again with"]),
    ("append-known-size", &["file 0 3 65536", "write 1 65536 100", "read 1 0 4096", "write 1 65636 100"]),
    ("close-by-thread", &["write 1 0 1000", "close 1", "open 2 2 create", "write 2 0 500", "close 2"]),
    ("dup", &["write 1 0 4096", "write 1 4096 4096", "write 1 8192 4096", "read 1 0 4096"]),
    (
        "failed-calls",
        &["write 1 0 40960", "(ENOSPC) (1)", "(EIO) (1)", "(EDQUOT) (1)", "3 kept + 3 not kept"],
    ),
    ("fsync-directory", &["rename 1 2", "fsyncdir 0", "fsyncdir 3"]),
    ("io-submit", &["write 1 0 4096", "write 1 4096 4096", "write 1 8192 4096", "write 1 12288 4096"]),
    ("io-uring", &["io_uring_enter (10"]),
    ("llseek", &["write 1 0 1000", "write 1 8192 1000"]),
    ("names-1", &["6 calls seen = 6 kept", "write 1 0 1000", "close 1", "write 2 0 1000", "close 2"]),
    ("no-o", &["lacks -f and -o FILE", "record again with"]),
    (
        "not-counted",
        &[
            "FICLONE that failed (EOPNOTSUPP)",
            "F_SETLKW (1)",
            "fadvise64 (1)",
            "getxattr (1)",
            "mknodat (1)",
            "readahead (1)",
        ],
    ),
    ("r", &["lacks -ttt", "record again with"]),
    ("relative-names", &["open 1 1 create", "write 1 0 8192", "fsync 1", "close 1", "rename 1 2"]),
    ("relative-no-y", &["lacks -y", "record again with"]),
    ("renamed-while-open", &["write 1 0 4096", "rename 1 2", "write 1 4096 4096", "fsync 1", "close 1"]),
    ("rwf-dsync", &["write 1 0 4096", "write 1 4096 4096", "fdatasync 1"]),
    ("socket-reuses-number", &["lacks -y", "record again with"]),
    ("symlink", &["write 1 0 1000", "fsync 1", "close 1"]),
    ("t-midnight", &["lacks -ttt", "record again with"]),
    ("tmpfile-linkat", &["opentmp 1 0", "write 1 0 8192", "fsync 1", "linkopen 1 1"]),
];

#[test]
fn recordings_that_were_read_wrongly_once_come_out_right() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/faults");
    let folder = std::env::var_os("FSVERDICT_FAULTS").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        return not_run(&format!("there are no recordings in {}", folder.display()));
    }
    let place = Place::new();
    for (name, words) in FAULTS {
        let path = folder.join(format!("strace-{name}.txt"));
        let below = if *name == "symlink" { "/srv/db/link" } else { "/srv/db" };
        let seen = place.fsverdict(&["capture", "--trace", path.to_str().unwrap(), "--below", below]);
        let told = format!("{}{}", seen.stdout, seen.stderr);
        for word in *words {
            assert!(told.contains(word), "{name}: {word}:\n{told}");
        }
    }
}
