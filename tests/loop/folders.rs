//! Folders on mounted filesystems as candidates.

use std::fs;

use crate::common::{Disk, Place, tool, two_folders, unmount};

#[test]
fn loop_mounted_filesystems_are_compared_through_folders_on_them() {
    let place = Place::new();
    let mounted = ["ext4", "xfs"].map(|filesystem| {
        let disk = Disk::new(&place, filesystem, 320 << 20);
        let point = place.path().join(format!("on-{filesystem}"));
        fs::create_dir(&point).unwrap();
        tool(&[&format!("mkfs.{filesystem}"), "-q", &disk.device]);
        tool(&["mount", &disk.device, point.to_str().unwrap()]);
        (disk, point)
    });
    let [one, other] = [&mounted[0].1, &mounted[1].1];
    let plan = two_folders(one, other, "cp -a \"$TREE\" \"$MOUNT/copy\"");
    let seen = place.run(&plan, &["--blocks", "2"]);
    let left: Vec<usize> = [one, other].map(|point| fs::read_dir(point).unwrap().count()).into();
    for (_, point) in &mounted {
        unmount(point);
    }
    seen.exits(0).shows(&["on-ext4", "on-xfs"]);
    assert_eq!(left, [1, 0], "lost+found, and nothing");
    let kinds = place.journal().fact("mount.type");
    assert!(kinds.contains(&"ext4".to_owned()) && kinds.contains(&"xfs".to_owned()), "{kinds:?}");
    drop(mounted);
    // The test's own loop devices may be kept a little by sandboxes of others, which began while they were mounted.
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
}
