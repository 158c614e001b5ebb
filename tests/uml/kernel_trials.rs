//! A kernel is tried before it is in the cache, and is carried to other machines as one file: what fails stays out, what is
//! hostile is refused, and nothing of either stays.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use common::sources::{ANSWERS, MAKEFILE, command, kernel, tree};
use common::{Place, Seen};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// What is in the cache of a place, hidden or not, but for kernels of whoever runs the tests.
fn cached(place: &Place) -> Vec<String> {
    let folder = fs::read_dir(place.path().join("cache/fsverdict/kernels"));
    let own = |entry: &fs::DirEntry| !entry.file_type().unwrap().is_symlink();
    let names = folder.into_iter().flatten().flatten().filter(own);
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn tried(place: &Place, arguments: &[&str]) -> Seen {
    Seen::of(&command(place, arguments).output().unwrap())
}

#[test]
fn uml_a_kernel_that_fails_its_trial_does_not_enter_the_cache() {
    for (made, said) in [
        ("#!/bin/sh\necho 1\n", ["what it says of itself", "does not answer"]),
        (&ANSWERS.replace("6.12.1", "6.12.2"), ["what it says of itself", "says 6.12.2"]),
        (
            &ANSWERS.replace("cat ", "echo CONFIG_OF_NOBODY=y; cat "),
            ["what it says of itself", "configuration"],
        ),
        (ANSWERS, ["a trial of ", "no machine of mine"]),
    ] {
        let place = Place::new();
        let tree = tree(&place, MAKEFILE);
        fs::write(tree.join("made"), made).unwrap();
        let arguments = ["build", tree.to_str().unwrap()];
        // The second time what was compiled is there, and is tried again.
        for _ in 0..2 {
            let seen = tried(&place, &arguments).exits(1);
            let seen =
                seen.says(&["failed its trial", said[0], said[1], "hint: the whole record is", "--untried"]);
            let names = cached(&place);
            assert!(matches!(names.as_slice(), [one] if one.starts_with(".building-")), "{names:?}");
            let (_, log) = seen.stderr.split_once("record is ").unwrap();
            let log = fs::read_to_string(log.split(';').next().unwrap()).unwrap();
            assert!(log.contains("FAILED") && log.contains(said[1]), "{log}");
        }
        assert!(!kernel(&place, &["list"]).stdout.contains("6.12.1-"));
        kernel(&place, &arguments).exits(0).says(&["was not tried"]);
        kernel(&place, &["list"]).exits(0).shows(&["6.12.1-", "not tried"]);
        // Asked for again, it is tried, and it is known from then on that it failed.
        tried(&place, &arguments).exits(1).says(&["it stays in the cache, and only a plan that names it"]);
        kernel(&place, &["list"]).exits(0).shows(&["failed its trial"]);
        place.is_left_clean();
    }
}

/// A kernel that was built of nothing, and exported.
fn exported(place: &Place) -> (String, PathBuf) {
    let tree = tree(place, MAKEFILE);
    fs::write(tree.join("made"), ANSWERS).unwrap();
    kernel(place, &["build", tree.to_str().unwrap()]).exits(0);
    let file = place.path().join("kernel.tar.gz");
    let seen = kernel(place, &["export", "6.12.1", file.to_str().unwrap()]).exits(0);
    kernel(place, &["export", "6.12.1", file.to_str().unwrap()]).exits(1).says(&["cannot write"]);
    let name = seen.stderr.split(';').next().unwrap().to_owned();
    (name, file)
}

/// The files of a package, each with its path.
fn files(package: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(package).unwrap()));
    let files = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_string_lossy().into_owned(), bytes)
    });
    files.collect()
}

/// A package of these entries: path, type, size as the header has it, and content.
fn package(entries: &[(&str, u8, u64, &[u8])]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    for (path, kind, size, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..4].copy_from_slice(b"/etc");
        header.set_entry_type(tar::EntryType::new(*kind));
        header.set_size(*size);
        header.set_cksum();
        packer.write_all(header.as_bytes()).unwrap();
        packer.write_all(content).unwrap();
        packer.write_all(&vec![0; content.len().next_multiple_of(512) - content.len()]).unwrap();
    }
    packer.write_all(&[0; 1024]).unwrap();
    packer.finish().unwrap()
}

/// As it comes from somebody's machine, with these changes to what is said in it.
fn relabelled(label: &[u8], changes: &[(&str, &str)]) -> Vec<u8> {
    let text = String::from_utf8(label.to_vec()).unwrap();
    let changed = changes.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}: {text}");
        text.replace(from, to)
    });
    changed.into_bytes()
}

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
    let release = relabelled(&label, &[("\"6.12.1\"", "\"6.12.1/../../../escaped\"")]);
    let digest = relabelled(&label, &[(&name["6.12.1-".len()..], "../../../escaped")]);
    let later = relabelled(&label, &[("\"schema\": 1", "\"schema\": 2")]);
    let more = relabelled(&label, &[("\"schema\": 1", "\"schema\": 1, \"run\": \"/bin/sh\"")]);
    let other = relabelled(&label, &[("\"6.12.1\"", "\"6.12.9\"")]);
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
        (package(&[entry(&at_label, &long)]), "larger than 1 MiB"),
        (package(&[entry(&at_label, b"{}}")]), "its kernel.json: "),
        (package(&[entry(&at_label, &release)]), "its release or digest is none"),
        (package(&[entry(&at_label, &digest)]), "its release or digest is none"),
        (package(&[entry(&at_label, &later)]), "it is of schema 2"),
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
    for odd in [place.path().to_owned(), "/dev/zero".into(), place.path().join("none")] {
        kernel(&place, &["import", odd.to_str().unwrap()]).exits(1).says(&["cannot read"]);
    }
    assert!(fs::read_dir(place.path()).unwrap().flatten().all(|one| one.file_name() != "escaped"));
    place.is_left_clean();
}

#[test]
fn uml_a_kernel_from_elsewhere_that_fails_its_trial_does_not_enter_the_cache() {
    let place = Place::new();
    let (name, file) = exported(&place);
    kernel(&place, &["remove", &name]).exits(0);
    let before = cached(&place);
    let seen = kernel(&place, &["import", file.to_str().unwrap()]).exits(1);
    seen.says(&["failed its trial", "no machine of mine", "hint:", "nothing of it is in the cache"]);
    let log = format!("{name}.log");
    assert_eq!(cached(&place), [before, vec![log]].concat());
    kernel(&place, &["remove", &name]).exits(0);
    assert!(cached(&place).is_empty());
    place.is_left_clean();
}

/// The laboratory kernel of whoever runs the tests, under another name, in a cache that has it not.
#[test]
fn uml_simulated_a_kernel_is_carried_to_another_machine() {
    let here = Place::new();
    let listed = kernel(&here, &["list"]).exits(0).stdout;
    let name = listed.lines().last().unwrap().split_whitespace().next().unwrap().to_owned();
    let file = here.path().join("kernel.tar.gz");
    kernel(&here, &["export", &name, file.to_str().unwrap()]).exits(0);
    let digest = name.rsplit_once('-').unwrap().1;
    let other = "00000000000000aa";
    let moved: Vec<(String, Vec<u8>)> = files(&file)
        .into_iter()
        .map(|(path, bytes)| {
            let said = path.ends_with("kernel.json");
            let bytes = if said { relabelled(&bytes, &[(digest, other)]) } else { bytes };
            (path.replace(digest, other), bytes)
        })
        .collect();
    let there = Place::new();
    let entries: Vec<_> = moved
        .iter()
        .map(|(path, bytes)| (path.as_str(), b'0', bytes.len() as u64, bytes.as_slice()))
        .collect();
    let file = there.path().join("carried.tar.gz");
    fs::write(&file, package(&entries)).unwrap();
    let seen = kernel(&there, &["import", file.to_str().unwrap()]).exits(0);
    seen.says(&["was tried with", "ext4", "luks2"]);
    let name = name.replace(digest, other);
    assert_eq!(cached(&there), [name.as_str()]);
    let facts =
        fs::read_to_string(there.path().join("cache/fsverdict/kernels").join(&name).join("facts.json"));
    let facts: serde_json::Value = serde_json::from_str(&facts.unwrap()).unwrap();
    let proof = &facts["trial"]["passed"];
    assert!(proof["filesystems"].as_array().unwrap().contains(&"ext4".into()), "{facts}");
    assert_eq!(proof["trace"].as_str().unwrap().len(), 16, "{facts}");
    assert!(facts["imported"].is_string());
    kernel(&there, &["list"]).exits(0).shows(&[&format!("{name} "), "tried, imported"]);
    kernel(&there, &["import", file.to_str().unwrap()]).exits(1).says(&["already"]);
    // It is a kernel like any other; as root, those that everybody has are there, too.
    let plan = "title = \"x\"\nlab = \"uml\"\ndevice = { model = \"usb-stick\", size = \"1GB\" }\n\
        protocol = { blocks = 1 }\ndataset.tree = { profile = \"mixed\", files = 10, directories = 2, size = \"100KiB\" }\n\
        phase = [{ name = \"w\", operation = \"tree.write\", dataset = \"tree\" }]\n[matrix]\nfilesystem = [\"ext4\"]\n";
    there.run(plan, &["--set", &format!("kernel={name}")]).exits(0);
    let shown = there.fsverdict(&["doctor", "plan.toml"]).exits(0).stdout;
    assert!(shown.contains("taken where none is named: ") && shown.contains(" (tried"), "{shown}");
    there.is_left_clean();
}
