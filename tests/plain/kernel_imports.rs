//! A kernel that is carried here as one file, and is hostile, is refused, and nothing of it stays.

use std::fs;

use crate::common::carried::{bomb, cached, ending, exported, files, package, relabelled};
use crate::common::sources::kernel;
use crate::common::{Place, tool};

#[test]
fn hostile_kernels_are_refused() {
    let place = Place::new();
    let (name, file) = exported(&place);
    let [(at_label, label), (at_config, config), (at_linux, linux)]: [(String, Vec<u8>); 3] =
        files(&file).try_into().unwrap();
    let good = |path: &str| path.starts_with(&name);
    assert!(good(&at_label) && good(&at_config) && good(&at_linux));
    kernel(&place, &["import", file.to_str().unwrap()]).exits(1).says(&["already", "kernel remove"]);
    kernel(&place, &["remove", &name]).exits(0);
    let before = cached(&place);

    fn entry<'a>(path: &'a str, content: &'a [u8]) -> (&'a str, u8, u64, &'a [u8]) {
        (path, b'0', content.len() as u64, content)
    }
    let (one, two, three) = (entry(&at_label, &label), entry(&at_config, &config), entry(&at_linux, &linux));
    let whole = package(&[one, two, three]);
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    let release = relabelled(&label, &[("\"6.13.1\"", "\"6.13.1/../../../escaped\"")]);
    let digest = relabelled(&label, &[(&name["6.13.1-".len()..], "../../../escaped")]);
    let later = relabelled(&label, &[("\"schema\": 1", "\"schema\": 3")]);
    let more = relabelled(&label, &[("\"schema\": 1", "\"schema\": 1, \"run\": \"/bin/sh\"")]);
    let other = relabelled(&label, &[("\"6.13.1\"", "\"6.13.9\"")]);
    let zeros = vec![0; (4 << 20) + 1];
    let long = vec![b' '; (1 << 20) + 1];
    let mut wrong = linux.clone();
    wrong[0] ^= 1;
    let is_no_file = "is not a file";
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (package(&[entry("../kernel.json", &label)]), "where `FOLDER/kernel.json` is to be"),
        (package(&[entry("/etc/kernel.json", &label)]), "where `FOLDER/kernel.json` is to be"),
        (package(&[entry("x/../../kernel.json", &label)]), "where `FOLDER/kernel.json` is to be"),
        (package(&[(&at_label, b'1', 0, b"")]), is_no_file),
        (package(&[(&at_label, b'2', 0, b"")]), is_no_file),
        (package(&[(&at_label, b'3', 0, b"")]), is_no_file),
        (package(&[(&at_label, b'6', 0, b"")]), is_no_file),
        (package(&[(&at_label, b'L', 1 << 40, b"")]), is_no_file),
        (package(&[(&at_label, b'x', 1 << 40, b"")]), is_no_file),
        (package(&[(&at_label, b'S', 1 << 40, b"")]), is_no_file),
        (package(&[("x/\u{1b}[2Jevil", b'0', 0, b"")]), "x/\u{241b}[2Jevil"),
        (package(&[("x/\u{202e}evil", b'0', 0, b"")]), "x/\u{fffd}evil"),
        (package(&[(&at_label, b'K', 1 << 40, b"")]), is_no_file),
        (package(&[(&at_label, b'g', 1 << 40, b"")]), is_no_file),
        (package(&[(&at_label, b'7', 0, b"")]), is_no_file),
        (package(&[(&at_label, b'5', 0, b"")]), is_no_file),
        (package(&[(&at_label, b'0', u64::MAX, b"")]), "size overflow"),
        (package(&[(&at_label, b'0', 1 << 63, b"")]), "larger than 1 MiB"),
        (package(&[one, (&at_config, b'0', u64::MAX, b"")]), "size overflow"),
        (package(&[one, two, (&at_linux, b'0', u64::MAX, b"")]), "size overflow"),
        (package(&[one, two, (&at_linux, b'1', 0, b"")]), is_no_file),
        (package(&[one, two, (&at_linux, b'S', 1 << 30, b"")]), is_no_file),
        (package(&[one, one]), "where `FOLDER/config` is to be"),
        (package(&[one, two, two]), "where `FOLDER/linux` is to be"),
        (package(&[entry("./kernel.json", &label)]), "where `FOLDER/kernel.json` is to be"),
        (package(&[entry("kernel.json", &label)]), "where `FOLDER/kernel.json` is to be"),
        (package(&[entry(&at_label, &b"[".repeat(100_000))]), "its kernel.json: "),
        ([whole.clone(), b"garbage".to_vec()].concat(), "something follows its end"),
        ([whole.clone(), whole.clone()].concat(), "something follows its end"),
        (package(&[entry(&at_label, &long)]), "larger than 1 MiB"),
        (package(&[entry(&at_label, b"{}}")]), "its kernel.json: "),
        (package(&[entry(&at_label, &release)]), "its release or digest is none"),
        (package(&[entry(&at_label, &digest)]), "its release or digest is none"),
        (package(&[entry(&at_label, &later)]), "it is of schema 3"),
        (package(&[entry(&at_label, &more)]), "unknown field"),
        (package(&[entry(&at_label, &other)]), "its folder has another name"),
        (package(&[one]), "it ends before its config"),
        (package(&[one, three]), "where `FOLDER/config` is to be"),
        (package(&[one, entry("x/config", &config)]), "it holds a folder beside"),
        (package(&[one, entry(&at_config, &zeros)]), "larger than 4 MiB"),
        (package(&[one, entry(&at_config, b"CONFIG_A=y\n")]), "its config is not what was exported"),
        (package(&[one, (&at_config, b'2', 0, b"")]), is_no_file),
        (package(&[one, two]), "it ends before its linux"),
        (package(&[one, two, (&at_linux, b'2', 0, b"")]), is_no_file),
        (package(&[one, two, (&at_linux, b'4', 0, b"")]), is_no_file),
        (package(&[one, two, (&at_linux, b'0', 1 << 40, b"")]), "larger than 1024 MiB"),
        (package(&[one, two, entry(&at_linux, &wrong)]), "its linux is not what was exported"),
        (package(&[one, two, entry(&at_linux, &linux[1..])]), "its linux is not what was exported"),
        (package(&[one, two, (&at_linux, b'0', 1 << 20, &linux)]), "damaged"),
        (package(&[one, two, three, entry(&at_linux, &linux)]), "it holds more than"),
        (whole[..whole.len() / 2].to_vec(), "damaged"),
        (whole[..whole.len() - 4].to_vec(), "damaged"),
        (flipped, "checksum"),
        (b"PK\x03\x04, a zip archive".to_vec(), "invalid gzip header"),
        (Vec::new(), "damaged"),
    ];
    for (bytes, words) in cases {
        fs::write(&file, bytes).unwrap();
        let seen = kernel(&place, &["import", file.to_str().unwrap()]).exits(1);
        let seen = seen.says(&[words, "hint:"]);
        assert!(!seen.stderr.contains('\u{1b}') && seen.stdout.is_empty(), "{words}: {seen:?}");
        assert_eq!(cached(&place), before, "{words}");
    }
    // A gigabyte of zeros in a megabyte: it is read once, found out, and gone.
    let bomb = bomb(&[one, two], &at_linux, 1 << 30);
    assert!(bomb.len() < 16 << 20);
    fs::write(&file, bomb).unwrap();
    kernel(&place, &["import", file.to_str().unwrap()])
        .exits(1)
        .says(&["its linux is not what was exported"]);
    assert_eq!(cached(&place), before);
    let pipe = place.path().join("pipe");
    tool(&["mkfifo", pipe.to_str().unwrap()]);
    for odd in [place.path().to_owned(), "/dev/zero".into(), place.path().join("none"), pipe] {
        kernel(&place, &["import", odd.to_str().unwrap()]).exits(1).says(&["cannot read"]);
    }
    assert!(fs::read_dir(place.path()).unwrap().flatten().all(|one| one.file_name() != "escaped"));
    place.is_left_clean();
}

/// Whoever compares two files by what `kernel list` shows of them must not take one for the other that has more in it.
#[test]
fn nothing_follows_the_end_of_a_kernel_from_elsewhere() {
    let place = Place::new();
    let (name, file) = exported(&place);
    kernel(&place, &["remove", &name]).exits(0);
    let before = cached(&place);
    let files = files(&file);
    let entries: Vec<(&str, u8, u64, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), b'0', bytes.len() as u64, bytes.as_slice()))
        .collect();
    let zeros = |count: usize| vec![0; count];
    let mut ends: Vec<Vec<u8>> = vec![Vec::new(), zeros(512)];
    for count in [1, 511, 512, 513, 9216, 1 << 20, 2 << 20] {
        ends.push(zeros(1024 + count));
        ends.push([zeros(1024), vec![b'x'; count]].concat());
        ends.push([zeros(512), vec![b'x'; count]].concat());
    }
    for end in ends {
        fs::write(&file, ending(&entries, &end)).unwrap();
        let seen = kernel(&place, &["import", file.to_str().unwrap()]).exits(1);
        let counts = (end.len(), end.iter().filter(|byte| **byte != 0).count());
        assert!(seen.stderr.contains("it goes on where its files end"), "{counts:?}: {seen:?}");
        assert_eq!(cached(&place), before, "{counts:?}");
    }
    // What is exported ends as it must, and goes on to its trial.
    fs::write(&file, ending(&entries, &zeros(1024))).unwrap();
    kernel(&place, &["import", file.to_str().unwrap()]).exits(1).says(&["failed its trial"]);
    assert_eq!(cached(&place), before);
}

#[test]
fn a_kernel_from_elsewhere_that_fails_leaves_no_record_of_it() {
    let place = Place::new();
    let (name, file) = exported(&place);
    kernel(&place, &["remove", &name]).exits(0);
    let before = cached(&place);
    // Of another configuration than it says.
    let [(label_at, label), (config_at, config), (linux_at, linux)]: [(String, Vec<u8>); 3] =
        files(&file).try_into().unwrap();
    let at = linux.windows(9).position(|bytes| bytes == b"CONFIG_64").unwrap();
    let mut other = linux.clone();
    other[at + 7] = b'9';
    let digest = |bytes: &[u8]| format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes));
    let label = relabelled(&label, &[(&digest(&linux), &digest(&other))]);
    let entries = [(&label_at, &label), (&config_at, &config), (&linux_at, &other)];
    let entries: Vec<(&str, u8, u64, &[u8])> = entries
        .iter()
        .map(|(path, bytes)| (path.as_str(), b'0', bytes.len() as u64, bytes.as_slice()))
        .collect();
    fs::write(&file, package(&entries)).unwrap();
    let seen = kernel(&place, &["import", file.to_str().unwrap()]).exits(1);
    seen.says(&["failed its trial: what it says of itself", "last lines of its trial", "hint:"]);
    assert_eq!(cached(&place), before);
    place.is_left_clean();
}
