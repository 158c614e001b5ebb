//! Tests that text from plans, guests and images is only data to the script, which root runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use super::{ListingComparison, ScriptParts};

/// Words that a shell would make something of, wherever they were not quoted.
const HOSTILE: [&str; 12] = [
    "x\ntouch PWNED\n",
    "x\r\ntouch PWNED",
    "END\ntouch PWNED",
    "END",
    "$(touch PWNED)",
    "`touch PWNED`",
    "'; touch PWNED; '",
    "\\'; touch PWNED #",
    "x; touch PWNED",
    "x & touch PWNED | touch PWNED",
    "\u{85}touch PWNED\u{2028}touch PWNED",
    "\u{1b}]0;title\u{7}\u{202e}x",
];

fn parts(hostile: &str, comparison: ListingComparison) -> ScriptParts {
    let lines = || vec![hostile.to_owned(), format!("f 1 5 77 {hostile}")];
    ScriptParts {
        comments: lines(),
        size: 1 << 20,
        kind: hostile.to_owned(),
        options: lines(),
        must: lines(),
        least: vec![format!("5 {hostile}"), hostile.to_owned()],
        pieces: Vec::new(),
        packed: String::new(),
        comparison,
    }
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the script in this folder with fake root programs: mounting runs `fill` in the mount point, and records its
/// arguments.
fn run(folder: &Path, parts: &ScriptParts, fill: &str, arguments: &[&str]) -> Output {
    let bin = folder.parent().unwrap().join("bin");
    fs::create_dir_all(&bin).unwrap();
    program(&bin.join("id"), "#!/bin/sh\necho 0\n");
    program(&bin.join("umount"), "#!/bin/sh\nexit 0\n");
    let noted = folder.parent().unwrap().join("mounted");
    let mount = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >'{}'\nfor point; do :; done\ncd \"$point\"\n{fill}\n",
        noted.display()
    );
    program(&bin.join("mount"), &mount);
    // Nothing of it holds anything: gzip is given an empty archive.
    program(&bin.join("gzip"), "#!/bin/sh\ncat >/dev/null\n");
    let script = folder.parent().unwrap().join("script");
    program(&script, &parts.write_script().unwrap());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let temporary = folder.parent().unwrap().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let output = Command::new("sh")
        .arg(script)
        .args(arguments)
        .current_dir(folder)
        .env("PATH", path)
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "it leaves nothing: {output:?}");
    output
}

fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("folder");
    fs::create_dir(&folder).unwrap();
    (place, folder)
}

#[test]
fn no_word_of_a_plan_a_guest_or_a_filesystem_is_run() {
    let comparisons = [
        ListingComparison::Exactly,
        ListingComparison::OneOf,
        ListingComparison::Nothing,
        ListingComparison::AmongOthers,
    ];
    for hostile in HOSTILE {
        for comparison in comparisons {
            let (_place, folder) = place();
            let output = run(&folder, &parts(hostile, comparison), "touch file", &[]);
            let names: Vec<_> =
                fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, ["state.img"], "{hostile:?}, {comparison:?}: {output:?}");
            assert_eq!(fs::metadata(folder.join("state.img")).unwrap().len(), 1 << 20);
            let noted = fs::read_to_string(folder.parent().unwrap().join("mounted")).unwrap();
            let lines: Vec<&str> = noted.lines().collect();
            // -t, its type, -o, its options, the image, the folder: each one word, and in one line.
            assert_eq!((lines.len(), lines[0], lines[2]), (6, "-t", "-o"), "{hostile:?}: {noted}");
            assert!(lines[3].ends_with(",nosuid,nodev,noexec"), "{noted}");
            let shown =
                String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
            let steers = |letter: char| letter != '\n' && fsverdict_text::is_steering(letter);
            assert!(!shown.contains(steers), "{shown:?}");
        }
    }
}

#[test]
fn an_option_that_would_swallow_those_after_it_is_refused() {
    let parts =
        ScriptParts { options: vec!["context=\"x".to_owned()], ..parts("x", ListingComparison::Nothing) };
    let error = parts.write_script().unwrap_err();
    assert!(error.what.contains("quotation mark") && !error.hint.is_empty(), "{error}");
}

#[test]
fn what_a_hostile_image_holds_is_neither_followed_nor_shown_as_it_is() {
    let (place, folder) = place();
    fs::write(place.path().join("victim"), "secret").unwrap();
    let victim = place.path().join("victim");
    let fill = format!(
        "mkdir \"$(printf 'x\\n')\"\nln -s '{0}' link\nmkdir -p \"$(printf 'a\\n.')\"\n\
         touch \"$(printf 'bell\\a\\033[2Jx')\" \"$(printf 'two\\nlines')\" 'back\\nslash' ./-rf 'lost+found'\nmkfifo pipe",
        victim.display()
    );
    let output = run(&folder, &parts("x", ListingComparison::Nothing), &fill, &[]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains(&format!("l {} link", victim.display())) && shown.contains("p pipe"), "{shown}");
    assert!(shown.contains("bell??[2Jx") && shown.contains("f 1 0 4294967295 back\\nslash"), "{shown}");
    assert!(shown.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)), "{shown:?}");
    // That is the checksum of the victim, which the script must not read.
    assert!(!shown.contains(" 6 "), "{shown}");
}

#[test]
fn the_image_is_a_new_file_wherever_it_is_made() {
    for (name, argument) in
        [("state.img", None), ("named", Some("named")), ("a=b", Some("a=b")), ("-x", Some("-x"))]
    {
        let (place, folder) = place();
        let victim = place.path().join("victim");
        for target in ["there", "not there"] {
            let _ = fs::remove_file(folder.join(name));
            let _ = fs::remove_file(&victim);
            if target == "there" {
                fs::write(&victim, "mine").unwrap();
            }
            symlink(&victim, folder.join(name)).unwrap();
            for list in ["is", "must", "held"] {
                let _ = symlink(&victim, folder.join(format!("{name}.{list}")));
            }
            let output =
                run(&folder, &parts("x", ListingComparison::Exactly), "touch file", argument.as_slice());
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            match target {
                "there" => assert_eq!(fs::read_to_string(&victim).unwrap(), "mine"),
                _ => assert!(!victim.exists()),
            }
        }
        fs::remove_file(folder.join(name)).unwrap();
        let output = run(&folder, &parts("x", ListingComparison::Exactly), "touch file", argument.as_slice());
        assert!(folder.join(name).is_file() && !victim.exists(), "{output:?}");
    }
}
