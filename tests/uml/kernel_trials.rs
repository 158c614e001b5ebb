//! A kernel is tried before it is in the cache, built here or carried from another machine: what fails stays out.

use std::fs;

use crate::common::carried::{cached, exported, files, package, relabelled};
use crate::common::sources::{MAKEFILE, UNBOOTABLE, command, kernel, makefile_of, tree};
use crate::common::{Place, Seen};

fn tried(place: &Place, arguments: &[&str]) -> Seen {
    Seen::of(&command(place, arguments).output().unwrap())
}

#[test]
fn uml_a_kernel_that_fails_its_trial_does_not_enter_the_cache() {
    for (makefile, said) in [
        (MAKEFILE.to_owned(), ["what it says of itself", "holds no banner"]),
        (makefile_of("6.12.2", ""), ["what it says of itself", "says 6.12.2"]),
        (makefile_of("6.13.1", "CONFIG_OF_NOBODY=y"), ["what it says of itself", "configuration"]),
        (makefile_of("6.13.1", ""), ["a trial of ", "no machine of mine"]),
    ] {
        let place = Place::new();
        let tree = tree(&place, &makefile);
        fs::write(tree.join("made"), UNBOOTABLE).unwrap();
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
        assert!(!kernel(&place, &["list"]).stdout.contains("6.13.1-"));
        kernel(&place, &arguments).exits(0).says(&["was not tried"]);
        kernel(&place, &["list"]).exits(0).shows(&["6.13.1-", "not tried"]);
        // Asked for again, it is tried, and it is known from then on that it failed.
        tried(&place, &arguments).exits(1).says(&["it stays in the cache, and only a plan that names it"]);
        kernel(&place, &["list"]).exits(0).shows(&["failed its trial"]);
        place.is_left_clean();
    }
}

#[test]
fn uml_a_kernel_from_elsewhere_that_fails_its_trial_does_not_enter_the_cache() {
    let place = Place::new();
    let (name, file) = exported(&place);
    kernel(&place, &["remove", &name]).exits(0);
    let before = cached(&place);
    let seen = kernel(&place, &["import", file.to_str().unwrap()]).exits(1);
    seen.says(&[
        "failed its trial",
        "no machine of mine",
        "last lines of its trial",
        "FAILED: a trial of ",
        "hint:",
    ])
    .says(&["nothing of it is in the cache"]);
    // Its record is in the message, and in no file.
    assert_eq!(cached(&place), before);
    place.is_left_clean();
}

/// The laboratory kernel of whoever runs the tests, under another name, in a cache that has it not.
#[test]
fn uml_simulated_a_kernel_is_carried_to_another_machine() {
    let here = Place::new();
    let listed = kernel(&here, &["list"]).exits(0).stdout;
    // One with ZFS is not exported.
    let line = listed.lines().rfind(|line| !line.contains("ZFS")).unwrap();
    let name = line.split_whitespace().next().unwrap().to_owned();
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
