//! `fsverdict kernel`: a build from sources that have the makefile's targets and nothing else, cut short, resumed,
//! patched, and refused with the reason.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::common::sources::{MAKEFILE, command, kernel, tree};
use crate::common::{Place, kill};

#[test]
fn a_kernel_is_built_listed_and_removed() {
    let place = Place::new();
    let tree = tree(&place, MAKEFILE);
    let patch = place.path().join("mine.patch");
    fs::write(&patch, "--- a/made\n+++ b/made\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo 1\n+echo 2\n").unwrap();
    let arguments = ["build", tree.to_str().unwrap(), "--patch", patch.to_str().unwrap()];
    let seen = kernel(&place, &arguments).exits(0).says(&["compiling (files: 1)"]);
    let built = PathBuf::from(seen.stdout.trim());
    assert!(built.starts_with(place.path()), "{seen:?}");
    assert_eq!(fs::read_to_string(&built).unwrap(), "#!/bin/sh\necho 2\n");
    kernel(&place, &arguments).exits(0).says(&["built before"]).shows(&[built.to_str().unwrap()]);
    let name = built.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let facts = fs::read_to_string(built.with_file_name("facts.json")).unwrap();
    assert!(
        name.starts_with("6.13.1-") && facts.contains("mine.patch") && facts.contains("0004-um"),
        "{facts}"
    );
    kernel(&place, &["list"]).exits(0).shows(&[name]);
    kernel(&place, &["remove", name]).exits(0).shows(&[name]);
    assert!(!kernel(&place, &["list"]).stdout.contains(name));
    assert_eq!(fs::read_to_string(tree.join("made")).unwrap(), "#!/bin/sh\necho 1\n", "the user's tree");
}

#[test]
fn what_is_in_the_way_of_a_build_is_said() {
    let bad_patch = "--- a/made\n+++ b/made\n@@ -1 +1 @@\n-no such line\n+echo 2\n";
    let bad_code = "--- a/one.c\n+++ b/one.c\n@@ -1 +1 @@\n-int one;\n+bloc one;\n";
    for (patch, said, left) in [
        (bad_patch, ["mine.patch does not apply to 6.13.1", "hint: the patch must be made for"], false),
        (bad_code, ["unknown type name", "hint: the whole log is"], true),
    ] {
        let place = Place::new();
        let tree = tree(&place, MAKEFILE);
        let path = place.path().join("mine.patch");
        fs::write(&path, patch).unwrap();
        let arguments = ["build", tree.to_str().unwrap(), "--patch", path.to_str().unwrap()];
        kernel(&place, &arguments).exits(1).says(&said);
        let listed = kernel(&place, &["list"]).exits(0).stderr;
        assert_eq!(listed.contains("unfinished"), left, "{listed}");
        if let Some((_, digest)) = listed.split_once("kernel remove ") {
            kernel(&place, &["remove", digest.split('`').next().unwrap()]).exits(0);
            assert!(!kernel(&place, &["list"]).stderr.contains("unfinished"));
        }
    }
    let place = Place::new();
    let file = place.path().join("file.tar");
    fs::write(&file, "not a tarball").unwrap();
    for (source, said) in [
        (file.to_str().unwrap(), "is not a tarball or a tree"),
        ("/no/such/tree", "cannot find the sources /no/such/tree"),
    ] {
        kernel(&place, &["build", source]).exits(1).says(&[said]);
    }
    kernel(&place, &["remove", "0.1"]).exits(1).says(&["no kernel `0.1`", "hint:"]);
    place.is_left_clean();
}

#[test]
fn a_build_that_was_killed_leaves_nothing_running_and_is_carried_on_with() {
    let place = Place::new();
    let tree = tree(&place, MAKEFILE);
    fs::write(tree.join("slow"), "").unwrap();
    let arguments = ["build", tree.to_str().unwrap()];
    let mut build = command(&place, &arguments).spawn().unwrap();
    let kernels = place.path().join("cache/fsverdict/kernels");
    let waits = || {
        let folders = fs::read_dir(&kernels).into_iter().flatten().flatten();
        folders.into_iter().any(|folder| folder.path().join("source/objects/waited").exists())
    };
    let patience = Instant::now() + Duration::from_secs(60);
    while !waits() {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(50));
    }
    kernel(&place, &arguments).exits(1).says(&["another fsverdict is building this kernel"]);
    kill(build.id());
    build.wait().unwrap();
    place.is_left_clean();
    kernel(&place, &arguments).exits(0).shows(&["6.13.1-"]);
    assert!(!kernel(&place, &["list"]).stderr.contains("unfinished"));
}
