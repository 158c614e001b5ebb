//! What the surroundings do to a program that tries nothing: nobody listens, a line without end, limits that leave it little.

use std::fs::{self, File};
use std::process::Stdio;

use crate::common::{PROGRAM, Place, Seen, usable_lab};

/// A standard error that takes nothing: a full disk, or a reader who has gone.
fn deaf(full: bool) -> Stdio {
    if full {
        return File::options().write(true).open("/dev/full").unwrap().into();
    }
    std::io::pipe().unwrap().1.into()
}

#[test]
fn nobody_need_listen_to_what_is_said() {
    let place = Place::new();
    place.recorded();
    for full in [true, false] {
        for (arguments, code) in [
            (["resume", "run"], 0),
            (["report", "nowhere"], 2),
            (["run", "nothing"], 2),
            (["report", "--nonsense"], 2),
            (["agent", ""], 2),
            (["stage", ""], 2),
        ] {
            let status = place.command(&arguments).stdout(Stdio::null()).stderr(deaf(full)).status().unwrap();
            assert_eq!(status.code(), Some(code), "{arguments:?}");
        }
    }
}

#[test]
fn who_has_seen_enough_of_a_result_makes_no_failure_and_a_full_disk_does() {
    let place = Place::new();
    place.recorded();
    let words = |line: &'static str| line.split(' ').collect::<Vec<&str>>();
    let results = ["report run", "resume run", "list presets", "show demo", "list"];
    let mut looked_at = vec!["--help", "clean --dry-run"];
    if usable_lab().is_some() {
        looked_at.extend(["doctor", "run quick --dry-run"]);
    }
    for (line, full) in results.map(|line| (line, true)).into_iter().chain(results.map(|line| (line, false)))
    {
        let status = place.command(&words(line)).stdout(deaf(full)).stderr(deaf(true)).status().unwrap();
        assert_eq!(status.code(), Some(i32::from(full)), "{line}");
    }
    for line in looked_at.into_iter().chain(["list", "show demo"]) {
        let output = place.command(&words(line)).stdout(deaf(false)).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), Seen::of(&output).stderr.as_str()), (Some(0), ""), "{line}");
    }
    let output = place.command(&["list"]).stdout(deaf(true)).stderr(Stdio::piped()).output().unwrap();
    assert!(Seen::of(&output).stderr.contains("cannot write the result"), "{output:?}");
}

#[test]
fn an_error_fits_a_screen() {
    let place = Place::new();
    let plan = place.plan("plan", &format!("title = \"{}\" oops\n", "x".repeat(900_000)));
    let word = "y".repeat(100_000);
    for arguments in [["run", plan.as_str()], ["run", "/dev/zero"], ["run", word.as_str()], ["report", &word]]
    {
        let seen = place.fsverdict(&arguments).exits(2);
        assert!(seen.stderr.len() < 4000, "{} bytes of {}", seen.stderr.len(), &seen.stderr[..200]);
    }
}

#[test]
fn limits_under_which_nothing_can_be_measured_are_told_first() {
    let place = Place::new();
    fs::write(place.path().join("disk"), [0; 1 << 20]).unwrap();
    for (limit, hint) in [("-n 16", "hint: ulimit -n"), ("-f 200", "hint: ulimit -f")] {
        let line = format!("ulimit {limit}; exec \"$@\"");
        let seen = place.any("sh", &["-c", &line, "sh", PROGRAM, "calibrate", "disk", "-o", "model.toml"]);
        seen.exits(1).says(&["programs started from this shell", hint]);
        assert!(!place.path().join("model.toml").exists(), "{limit}");
    }
}

/// Names of files are bytes (path_resolution(7)), and need not be text.
#[test]
fn folders_and_files_whose_names_are_not_utf_8_are_used_like_others() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let place = Place::new();
    place.recorded();
    let [run, plan, new, out] =
        [b"run-\xff\xfe".as_slice(), b"plan-\xff.toml", b"new-\xff.tar.gz", b"out-\xff"]
            .map(OsStr::from_bytes);
    fs::rename(place.path().join("run"), place.path().join(run)).unwrap();
    let shown = place.fsverdict(&["show", "quick"]).exits(0).stdout;
    fs::write(place.path().join(plan), shown).unwrap();
    let [report, show, resume, bundle, compare, merge] =
        ["report", "show", "resume", "bundle", "compare", "merge"].map(OsStr::new);
    let [output, dry_run, to, begin, doctor, capture] =
        ["--output", "--dry-run", "--out", "run", "doctor", "capture"].map(OsStr::new);
    let uses: [(&[&OsStr], i32, &str); 11] = [
        (&[report, run], 0, "Undecided"),
        (&[show, run], 0, "[[candidate]]"),
        (&[show, plan], 0, "[[candidate]]"),
        (&[resume, run], 0, "Undecided"),
        (&[bundle, run, output, new], 0, "replaced"),
        (&[report, new], 0, "Undecided"),
        (&[compare, run, new], 1, "the same"),
        (&[merge, run], 1, "did by itself"),
        (&[doctor, plan], 0, "Labs on this machine"),
        (&[begin, plan, dry_run, to, out], 0, "each trial:"),
        (&[capture, run], 0, "captured"),
    ];
    for (words, code, shown) in uses {
        let mut command = place.command(&[]);
        let seen = Seen::of(&command.args(words).output().unwrap());
        let said = format!("{}{}", seen.stdout, seen.stderr);
        // Which labs there are is another question, and not asked here.
        let is_fine = seen.code == Some(code) || matches!(seen.code, Some(0..=3));
        assert!(is_fine && !said.contains("UTF-8"), "{words:?}: {seen:#?}");
        assert!(said.contains(shown) || seen.code != Some(code), "{words:?}: {seen:#?}");
    }
}

/// A crash, or a disk, may leave anything behind the end of a journal.
#[test]
fn random_bytes_behind_the_end_of_a_journal_are_left_out() {
    let place = Place::new();
    place.recorded();
    let journal = place.path().join("run/journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let said = place.fsverdict(&["report", "run"]).exits(0).stdout;
    let mut state = 1_u64;
    let mut random = || {
        // Knuth's MMIX generator: the same bytes in every run of the test.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for length in [1, 10, 100, 1000, 10_000, 100_000] {
        let noise: Vec<u8> = (0..length).map(|_| random()).collect();
        fs::write(&journal, [whole.as_slice(), &noise].concat()).unwrap();
        let seen = place.fsverdict(&["report", "run"]).exits(0);
        assert_eq!(seen.stdout.lines().nth(1), said.lines().nth(1), "{length} bytes");
        // What is torn is cut off before anything is appended.
        place.fsverdict(&["resume", "run"]).exits(0);
        assert!(fs::read(&journal).unwrap().starts_with(&whole), "{length} bytes");
    }
}

/// What times anything reads a clock that goes on evenly whatever is done to the time of day; that is written down with records, and is
/// measured nowhere.
#[test]
fn no_duration_comes_from_the_time_of_day() {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "crates/workload/src/measure",
        "crates/lab/src/trial",
        "crates/workload/src/workload",
        "crates/linux/src/sandbox",
        "crates/disk/src",
    ];
    let mut waiting: Vec<std::path::PathBuf> = folders.map(|folder| package.join(folder)).into();
    let mut files = 0;
    while let Some(folder) = waiting.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files += 1;
                let text = std::fs::read_to_string(&path).unwrap();
                for clock in ["SystemTime", "Timestamp::now", "Realtime", "CLOCK_REALTIME"] {
                    assert!(!text.contains(clock), "{} reads {clock}", path.display());
                }
            }
        }
    }
    assert!(files > 100, "{files}");
}
