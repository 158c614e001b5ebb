//! `fsverdict ask` as a user types it: what is refused before anything is done, and that the plan it keeps has the candidates it told of.

use std::fs;

use crate::common::Place;

#[test]
fn a_question_that_cannot_be_asked_says_why_in_its_own_words() {
    let place = Place::new();
    for (arguments, words) in [
        (
            &["power", "--on", "image:1GiB"][..],
            &["image:1GiB is none", "hint: name a kind of device instead"][..],
        ),
        (
            &["snapshots", "--encrypted"],
            &["layers of their own (lvm)", "hint: ask it without encryption, or"],
        ),
        (&["hfs or btrfs for photos"], &["not understood as part of one question: `hfs`", "hint: `hfs`: "]),
        (
            &["photos and power cuts on hdd"],
            &[
                "more than one work is named: photos (photo-backup), power cuts (power-cut)",
                "hint: one question is about one work",
            ],
        ),
        (
            &["photos not only on hdd"],
            &[
                "not understood as part of one question: `not only`",
                "hint: `not only`: a negation stands directly",
            ],
        ),
        (&["xfs or ext4 for mail with compress=zstd"], &["`compress=zstd`: xfs has no such option"]),
        (&["xfs with wsync off for mail"], &["part of one question: `off`"]),
        (
            &["ext4 with compression or xfs for mail"],
            &["`with compression`: ext4 cannot be had with compression"],
        ),
        (&["latency below 10 ms for mail"], &["`10`: a number is part of a bound (`p99 below 5 ms`"]),
        (
            &["sqlite, p99 below 10 ms"],
            &["`sqlite-app` does not time single calls", "hint: these do: ", "etcd"],
        ),
        (&["samba on hdd"], &["no question is known about samba", "hint: nearest: `nas`"]),
        (&["mysql"], &["no question is known about mysql", "nearest: `postgres`"]),
        (
            &["extroot on a usb stick"],
            &["`extroot`", "hint: understood was: device usb-stick", "hint: works are ", "--ignore extroot"],
        ),
        (
            &["ext4 or f2fs for my android phone"],
            &["no work is named; `android phone` says where", "(device ufs)"],
        ),
        (&["mail on hdd", "--ignore", "gladly"], &["the question has no `gladly`"]),
    ] {
        let asked = [&["ask"], arguments, &["--dry-run"]].concat();
        let seen = place.fsverdict(&asked).exits(2).says(words);
        // No excerpt of a text that the user has not seen, no option that was not typed.
        assert!(!seen.stderr.contains("^^") && !seen.stderr.contains("--device:"), "{seen:#?}");
        assert_eq!(seen.stdout, "");
    }
}

/// A plan that was kept is one to be run again, and has nobody in it who was ruled out before.
#[test]
fn the_plan_that_is_kept_has_the_candidates_that_were_told() {
    let place = Place::new();
    for (number, (arguments, told, names)) in [
        (
            &["near-full", "--encrypted"][..],
            "candidates ext4+luks2, xfs+luks2, btrfs+luks2,",
            &["ext4+luks2", "xfs+luks2", "btrfs+luks2", "nilfs2:gc+luks2", "jfs+luks2"][..],
        ),
        (
            &["stick", "--must", "windows"],
            "left out ext4, f2fs and btrfs: they lack what is",
            &["vfat", "exfat", "ntfs3"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let plan = place.path().join(format!("{number}.toml"));
        let path = plan.to_str().unwrap();
        // What is to be tried is said before a lab is looked for, which may be missing here.
        let asked = [&["ask"], arguments, &["--dry-run", "--plan", path]].concat();
        let seen = place.fsverdict(&asked);
        let said = seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(told), "{said}");
        let kept = fs::read_to_string(&plan).unwrap();
        let named: Vec<&str> = kept
            .split("[[candidate]]\n")
            .skip(1)
            .filter_map(|section| section.lines().find_map(|line| line.strip_prefix("name = ")))
            .map(|name| name.trim_matches('"'))
            .collect();
        assert_eq!(named, names, "{kept}");
        if seen.stdout.contains("each trial:") {
            for name in names {
                assert!(seen.stdout.contains(&format!("\n{name}:")), "{seen:#?}");
            }
        }
    }
}

/// A word that is left out by consent is shown, and what stands beside it is not joined.
#[test]
fn a_word_is_left_out_by_consent_alone() {
    let place = Place::new();
    let ask = |options: &[&str]| {
        place.fsverdict(&[&["ask", "ext4 or xfs for gladly mail"], options, &["--dry-run"]].concat())
    };
    ask(&[]).exits(2).says(&["not understood as part of one question: `gladly`", "--ignore gladly"]);
    let seen = ask(&["--ignore", "gladly"]);
    let said = seen.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("candidates ext4 and xfs ext4; xfs")
            && said.contains("left aside by your consent gladly"),
        "{said}"
    );
    place
        .fsverdict(&["ask", "photos without gladly btrfs", "--ignore", "gladly", "--dry-run"])
        .exits(2)
        .says(&["`without`"]);
}

/// Nobody is there who could agree: it says what it would do, and does nothing.
#[test]
fn without_a_terminal_nothing_is_begun_unless_it_was_agreed_to_beforehand() {
    let place = Place::new();
    for work in [&["stick"][..], &["mail", "on", "hdd"], &["--work", "/usr/include"]] {
        let seen = place.fsverdict(&[&["ask"], work].concat()).exits(2);
        seen.says(&["workload ", "candidates ", "error: nothing was done", "--yes begins without asking"]);
        assert!(!place.path().join("runs").exists());
    }
}

/// Each word of 30,000 was looked up in the names of everything, for 11 seconds.
#[test]
fn a_question_of_very_many_words_is_refused_at_once() {
    let place = Place::new();
    for question in ["mail ".repeat(20_000), "mail".repeat(20_000)] {
        place
            .fsverdict(&["ask", &question, "--dry-run"])
            .exits(2)
            .says(&["and may have 300 words", "hint: say the work"]);
    }
    let many: Vec<String> = std::iter::repeat_n("zebra".to_owned(), 30_000).collect();
    let words: Vec<&str> = ["ask"].into_iter().chain(many.iter().map(String::as_str)).collect();
    place.fsverdict(&words).exits(2).says(&["the question has 30000 words"]);
}

/// The lists are drawn for 80 columns, and end with the question in one line. The keys are typed ahead.
#[test]
fn a_question_without_words_is_asked_by_lists() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_fsverdict");
    let command = format!("stty cols 80 rows 24; '{program}' ask --dry-run");
    // A number finds its entry alone, Enter chooses it, and the space marks it.
    let mut script = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .env("TERM", "vt100")
        .env("PAGER", "cat")
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut keys = script.stdin.take().unwrap();
    keys.write_all(b"1\r2\r\r \r").unwrap();
    let output = script.wait_with_output().unwrap();
    drop(keys);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in
        ["What is the work?", "On which device?", "Which filesystems?", "What must hold?", "understood as"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.contains("fsverdict ask 'photos on ") && text.contains(", must encryption'"), "{text}");
}
