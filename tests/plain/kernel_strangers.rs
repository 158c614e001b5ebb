//! `fsverdict kernel build` of a stranger's sources: what they bring along are programs, and these write to the build's own
//! folder and nowhere else, reach no device, and leave regular files of bounded size in the cache or nothing.

use std::fs;
use std::path::PathBuf;

use crate::common::Place;
use crate::common::sources::{MAKEFILE, kernel, tarball, tree};

const MINE: &str = "mine\n";

/// A file of the user's.
fn victim(place: &Place) -> PathBuf {
    let path = place.path().join("victim");
    fs::write(&path, MINE).unwrap();
    path
}

/// What lies in the cache and is no unfinished build.
fn finished(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path().join("cache/fsverdict/kernels")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("6.13.1-")).collect()
}

#[test]
fn links_in_a_tarball_lead_nowhere() {
    let place = Place::new();
    let victim = victim(&place);
    let tree = tree(&place, MAKEFILE);
    for name in [".fsverdict-prepared", "prepared", "log", "lock", "laboratory.config"] {
        std::os::unix::fs::symlink(&victim, tree.join(name)).unwrap();
    }
    kernel(&place, &["build", &tarball(&place, &tree)]).exits(0).shows(&["6.13.1-"]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), MINE);
    place.is_left_clean();
}

#[test]
fn a_makefile_writes_to_its_own_folders_alone() {
    let place = Place::new();
    let victim = victim(&place);
    let path = victim.display();
    let attacks: String = [
        "ln -sf VICTIM $(O)/../log",
        "ln -sf VICTIM $(O)/../lock",
        "ln -sf VICTIM $(O)/../prepared",
        "ln -sf VICTIM $(O)/../laboratory.config",
        "ln -sf VICTIM $(O)/laboratory.config",
        "rm -rf $(O)/../tmp && ln -s / $(O)/../tmp",
        "mount -o remount,bind,rw / && echo remounted > VICTIM",
        "mount -o remount,rw / && echo remounted > VICTIM",
        "echo written > VICTIM",
    ]
    .map(|line| format!("\t-@( {} ) >&2\n", line.replace("VICTIM", &path.to_string())))
    .concat();
    let makefile = MAKEFILE.replace(
        "allnoconfig:\n",
        &format!("allnoconfig:\n{attacks}\t@test -e $(O)/again || {{ touch $(O)/again; exit 1; }}\n"),
    );
    let tree = tree(&place, &makefile);
    let arguments = ["build", &tarball(&place, &tree)];
    // What the first try planted is there when it is carried on with.
    kernel(&place, &arguments).exits(1).says(&["configuring failed"]);
    kernel(&place, &arguments).exits(0);
    assert_eq!(fs::read_to_string(&victim).unwrap(), MINE);
    place.is_left_clean();
}

#[test]
fn only_regular_files_of_bounded_size_leave_a_build() {
    for made in ["linux", ".config"] {
        for how in ["ln -sf VICTIM OUT", "mkfifo OUT", "mkdir OUT", "truncate -s 1T OUT"] {
            let place = Place::new();
            let path = victim(&place).display().to_string();
            let attack = how.replace("OUT", &format!("$(O)/{made}")).replace("VICTIM", &path);
            let attack = format!("rm -rf $(O)/{made}; {attack}");
            let makefile = match made {
                "linux" => MAKEFILE.replace("cp made $(O)/linux", &attack),
                _ => MAKEFILE.replace("cp $(KCONFIG_ALLCONFIG) $(O)/.config", &attack),
            };
            let tree = tree(&place, &makefile);
            let seen = kernel(&place, &["build", &tarball(&place, &tree)]).exits(1);
            seen.says(&["cannot take what was made as", made]);
            assert!(finished(&place).is_empty(), "{attack}");
            place.is_left_clean();
        }
    }
}

#[test]
fn a_release_that_is_a_path_is_none() {
    let place = Place::new();
    let makefile = MAKEFILE.replace("SUBLEVEL = 1\n", "SUBLEVEL = 1\nEXTRAVERSION = /../../../../escaped\n");
    let tree = tree(&place, &makefile);
    kernel(&place, &["build", &tarball(&place, &tree)]).exits(1).says(&["names no version", "hint:"]);
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("escaped")), "{names:?}");
}
