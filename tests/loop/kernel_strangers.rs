//! `fsverdict kernel build` of a stranger's sources reaches no device, and says when a disk is full.

use std::fs;
use std::path::PathBuf;

use crate::common::sources::{MAKEFILE, command, kernel, tarball, tree};
use crate::common::{Disk, Place, Seen, tool, unmount};

#[test]
fn loop_a_makefile_reaches_no_device() {
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 1 << 20);
    let attack = format!("\t-@( echo overwritten > {} )\n", disk.device);
    let tree = tree(&place, &MAKEFILE.replace("allnoconfig:\n", &format!("allnoconfig:\n{attack}")));
    kernel(&place, &["build", &tarball(&place, &tree)]).exits(0);
    assert!(disk.bytes().iter().all(|byte| *byte == 0));
}

/// Mounted while this is there.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

#[test]
fn loop_a_disk_that_fills_up_is_said_with_what_to_do() {
    let place = Place::new();
    let fill = "\
\t-@n=0; while fallocate -l 16M $(O)/fill.$$n; do n=$$((n+1)); done 2>/dev/null
\t-@while head -c 64k /dev/zero >> $(O)/rest; do :; done 2>/dev/null
\tcat /proc/self/maps one.c one.c > $(O)/one.o
";
    let tree = tree(&place, &MAKEFILE.replace("\tcc -c one.c -o $(O)/one.o\n", fill));
    let disk = Disk::new(&place, "disk", 3 << 30);
    tool(&["mkfs.ext4", "-q", "-m", "0", &disk.device]);
    let cache = place.path().join("small");
    fs::create_dir(&cache).unwrap();
    tool(&["mount", &disk.device, cache.to_str().unwrap()]);
    let _mounted = Mounted(cache.clone());
    let mut command = command(&place, &["build", tree.to_str().unwrap()]);
    let seen = Seen::of(&command.env("XDG_CACHE_HOME", &cache).output().unwrap()).exits(1);
    let folder = cache.join("fsverdict/kernels");
    seen.says(&[
        "compiling: the disk of",
        folder.to_str().unwrap(),
        "is full",
        "takes up to 2 GiB",
        "hint: make room",
    ]);
}
