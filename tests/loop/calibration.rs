//! `fsverdict calibrate` writes to a real device only where it may be erased.

use crate::common::{Disk, Place, tool};

#[test]
fn loop_a_device_is_written_only_where_it_may_be_erased() {
    const UUID: &str = "5eed0f5e-0000-4000-8000-00000000cafe";
    let place = Place::new();
    let disk = Disk::new(&place, "disk", 600 << 20);
    tool(&["mkfs.ext4", "-q", "-F", "-U", UUID, &disk.device]);
    let before = disk.bytes();
    place.fsverdict(&["calibrate", &disk.device, "-o", "read.toml"]).exits(0).says(&["it is not written to"]);
    place.fsverdict(&["calibrate", &disk.device, "--erase"]).exits(1).says(&["is not empty", UUID, "hint:"]);
    place
        .fsverdict(&["calibrate", &disk.device, "--erase", "5eed0f5e-0000-4000-8000-00000000dead"])
        .exits(1)
        .says(&["is not the identity of", UUID]);
    assert!(disk.bytes() == before, "a device was written that was not to be erased");
    place.fsverdict(&["calibrate", &disk.device, "--erase", UUID, "-o", "written.toml"]).exits(0);
    assert!(disk.bytes() != before);
    let text = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    for (name, errors, flush) in [("read.toml", 6, false), ("written.toml", 10, true)] {
        let text = text(name);
        assert_eq!(text.matches("# Error on the half").count(), errors, "{text}");
        let measured = text.lines().any(|line| line.starts_with("flush_us") && line.ends_with("# measured"));
        assert_eq!(measured, flush, "{text}");
    }
    drop(disk);
    place.is_left_clean();
}
