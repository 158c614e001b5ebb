//! What `fsverdict capture FOLDER` prints of a tree with hostile names: all of its form, and nothing of its names and contents.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use fsverdict::cli::with_vocabulary;
use fsverdict_judgement::plan::{Dataset, Overrides, TreeShape, read_with};
use fsverdict_workload::dataset::{prepare_dataset, stage_dataset};

use crate::common::Place;

/// In every name, content and target, and nowhere in what is printed.
const SECRET: &str = "geheim7c1";

/// Names that a careless program would obey, or print.
fn hostile() -> Vec<Vec<u8>> {
    let long = format!("{SECRET}{}", "l".repeat(255 - SECRET.len()));
    let mut names: Vec<Vec<u8>> = [
        ";rm -rf ",
        "$(touch pwned)",
        "`id`",
        "'\"'",
        "a\tb",
        "\n[dataset.x]\n",
        "-rf",
        "...",
        "..",
        "\u{1b}[2J",
        "# ",
        "|",
    ]
    .iter()
    .map(|name| format!("{name}{SECRET}").into_bytes())
    .collect();
    names.push([b"\xff\xfe\x80".as_slice(), SECRET.as_bytes()].concat());
    names.push(long.into_bytes());
    names
}

/// A tree of them, several levels deep, with links of both kinds.
fn grow(root: &Path) {
    let names = hostile();
    for (number, name) in names.iter().enumerate() {
        let mut here = root.to_owned();
        // As deep as its place in the list, so that depths differ.
        for level in 0..=number % 5 {
            here.push(OsStr::from_bytes(&names[(number + level) % (names.len() - 1)]));
        }
        fs::create_dir_all(&here).unwrap();
        let file = here.join(OsStr::from_bytes(&[b"f", name.as_slice()].concat()[..name.len().min(254) + 1]));
        fs::write(&file, SECRET.repeat(10 * (number + 1) * (number + 1))).unwrap();
        for further in 0..number % 3 {
            fs::hard_link(&file, here.join(format!("{further}{SECRET}\n"))).unwrap();
        }
        symlink(format!("/{SECRET}/{}", "up/".repeat(number)), here.join(format!("link {SECRET}"))).unwrap();
    }
    for number in 0..200 {
        fs::write(root.join(format!("{SECRET}-{number}")), vec![b'x'; number * 7]).unwrap();
    }
}

/// What is printed of a folder, and the tree that a plan has by it.
fn captured(place: &Place, folder: &Path) -> (String, TreeShape) {
    let folder = folder.to_str().unwrap();
    let seen = place.fsverdict(&["capture", folder]).exits(0);
    let text = seen.stdout.clone();
    let rest = "
title = 't'
device.image = '1GiB'
matrix.filesystem = ['ext4']
phase = [{ name = 'write', operation = 'tree.write', dataset = 'captured' }]
";
    let plan = format!("{rest}{text}");
    let plan = with_vocabulary(|words| read_with(&plan, "p", &Overrides::default(), words));
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    match &plan.datasets["captured"] {
        Dataset::Tree(shape) => (format!("{text}{}", seen.stderr), shape.clone()),
        other => panic!("{other:?}"),
    }
}

/// Depths, lengths and links by name, to be compared one by one.
fn forms(shape: &TreeShape) -> BTreeMap<&'static str, Vec<u64>> {
    let form = &shape.form;
    [
        ("depths", &form.depths),
        ("name_lengths", &form.name_lengths),
        ("links", &form.links),
        ("target_lengths", &form.target_lengths),
    ]
    .map(|(name, counts)| (name, counts.clone()))
    .into()
}

#[test]
fn a_tree_of_hostile_names_comes_back_in_its_form_and_nothing_of_it_is_named() {
    let place = Place::new();
    let original = place.path().join("original");
    fs::create_dir(&original).unwrap();
    grow(&original);
    let (printed, shape) = captured(&place, &original);
    assert!(printed.is_ascii(), "{printed}");
    for secret in [SECRET, "geheim", "pwned", "rm -rf", "touch", "[2J", "[dataset.x]", "lll"] {
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }
    assert!(!place.path().join("pwned").exists());
    let replayed = prepare_dataset("captured", &Dataset::Tree(shape.clone()), 1).unwrap();
    assert!(replayed.notes.is_empty(), "{:?}", replayed.notes);
    let staged = stage_dataset(&replayed, &place.path().join("replayed"), None).unwrap();
    let (_, again) = captured(&place, &staged.path);
    assert_eq!((again.files, again.directories, again.size), (shape.files, shape.directories, shape.size));
    let (before, after) = (forms(&shape), forms(&again));
    assert_eq!(before["depths"], after["depths"]);
    assert_eq!(before["links"], after["links"]);
    // A name has to be unique besides, and a target leads to a file of the tree: few are of another length than was asked for.
    for name in ["name_lengths", "target_lengths"] {
        let (one, other) = (&before[name], &after[name]);
        assert_eq!(one.iter().sum::<u64>(), other.iter().sum::<u64>(), "{name}");
        let total: u64 = one.iter().sum();
        let at = |counts: &[u64], place: usize| counts.get(place).copied().unwrap_or(0);
        let off: u64 =
            (0..one.len().max(other.len())).map(|place| at(one, place).abs_diff(at(other, place))).sum();
        assert!(off * 5 <= total, "{name}: {one:?} {other:?}");
    }
    let (one, other) = (shape.form.symlinks.unwrap(), again.form.symlinks.unwrap());
    assert!((one - other).abs() < 0.001, "{one} {other}");
    // Every link of the copy leads to what is there, or nowhere; none leads out of the tree.
    let found =
        std::process::Command::new("find").arg(&staged.path).args(["-type", "l", "-lname", "/*"]).output();
    assert!(found.unwrap().stdout.is_empty());
}

#[test]
fn what_no_tree_can_have_is_refused_with_a_reason() {
    let lines = |more: &str| {
        format!(
            "title = 't'\ndevice.image = '1GiB'\nmatrix.filesystem = ['ext4']\n\
             phase = [{{ name = 'write', operation = 'tree.write', dataset = 'tree' }}]\n\
             [dataset.tree]\nprofile = 'mixed'\nfiles = 10\ndirectories = 3\nsize = '1MB'\n{more}\n"
        )
    };
    let long = vec!["1"; 201].join(", ");
    for (more, why) in [
        ("depths = [0, 0]", "all of them are 0"),
        ("depths = []", "may have 1 to 200"),
        (&format!("depths = [{long}]"), "may have 1 to 200"),
        ("links = [5, 1]\nhard_links = 0.1", "`links` already sets"),
        ("target_lengths = [1]", "a tree without `symlinks`"),
        ("symlinks = 1", "a tree has files, too"),
        ("links = 3", "a list of numbers is wanted"),
        ("links = [99999999999]", "a count is 1000000000 at most"),
    ] {
        let error = with_vocabulary(|words| read_with(&lines(more), "p", &Overrides::default(), words));
        let told = error.unwrap_err().to_string();
        assert!(told.contains(why) && told.contains("hint:"), "{more}: {told}");
    }
}
