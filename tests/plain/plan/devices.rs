//! Several devices of a candidate: how a plan says them, and what is told where they do not fit.

use fsverdict_judgement::plan::{ArrayState, DeviceFailure, DeviceSource, Overrides, Plan, write};
use fsverdict_text::Bytes;
use std::time::Duration;

use super::{names, read, read_with};

/// A plan with this `[device]` and this one candidate.
fn plan(device: &str, candidate: &str) -> Result<Plan, String> {
    let text = format!(
        "title = \"t\"\nlab = \"uml\"\n[device]\n{device}\n[dataset.t]\nflat = 10\nfile_size = \"1KiB\"\n\
         [[candidate]]\n{candidate}\n[[phase]]\nname = \"fill\"\noperation = \"directory.fill\"\ndataset = \"t\"\n"
    );
    read(&text, "plan.toml").map_err(|error| error.to_string())
}

fn model(name: &str) -> DeviceSource {
    DeviceSource::Model { name: name.to_owned(), size: Bytes(2_000_000_000) }
}

const TWO: &str = "model = \"hdd-7200\"\nsize = \"2GB\"\ncount = 2";
const EXT4: &str = "filesystem = \"ext4\"";

#[test]
fn devices_are_counted_or_listed_and_written_as_they_are_read() {
    let path = |path: &str| DeviceSource::Path(path.into());
    for (device, wanted) in [
        ("model = \"hdd-7200\"\nsize = \"2GB\"", vec![model("hdd-7200")]),
        (TWO, vec![model("hdd-7200"), model("hdd-7200")]),
        ("model = [\"hdd-7200\", \"nvme-ssd\"]\nsize = \"2GB\"", vec![model("hdd-7200"), model("nvme-ssd")]),
        ("image = \"1GiB\"\ncount = 3", vec![DeviceSource::Image(Bytes(1 << 30)); 3]),
        ("path = [\"/dev/sdx\", \"/dev/sdy\"]", vec![path("/dev/sdx"), path("/dev/sdy")]),
    ] {
        let found = plan(device, EXT4).unwrap();
        assert_eq!(found.device.all_sources().cloned().collect::<Vec<_>>(), wanted, "{device}");
        assert_eq!(read(&write(&found), "written").unwrap(), found, "{}", write(&found));
        // One device is stored as it was before there could be several.
        let stored = serde_json::to_value(&found.device).unwrap();
        assert_eq!(stored.get("further").is_some(), wanted.len() > 1);
        assert_eq!(
            serde_json::from_value::<fsverdict_judgement::plan::PlannedDevice>(stored).unwrap(),
            found.device
        );
    }
    let fails = plan(&format!("{TWO}\nfails = {{ device = 2, after = \"30s\" }}"), EXT4).unwrap();
    let wanted = DeviceFailure { device: 2, after: Duration::from_secs(30) };
    assert_eq!(fails.device.fails, Some(wanted));
    assert_eq!(read(&write(&fails), "written").unwrap(), fails);
}

#[test]
fn candidates_say_what_devices_are_for() {
    let found =
        plan(TWO, "filesystem = \"xfs\"\nlayers = [\"luks2\"]\nmkfs = \"-l logdev={device.2}\"").unwrap();
    assert_eq!(names(&found), ["xfs:logdev={device.2}+luks2"]);
    let found = plan(TWO, "filesystem = \"ext4\"\nlayers = [\"md:raid10,chunk=64KiB,layout=f2\", \"luks2\"]")
        .unwrap();
    assert_eq!(names(&found), ["ext4+md:raid10:chunk=64KiB:layout=f2+luks2"]);
    assert_eq!(read(&write(&found), "written").unwrap(), found);
}

#[test]
fn what_does_not_fit_is_told_with_what_does() {
    let raid = |options: &str| format!("filesystem = \"ext4\"\nlayers = [\"{options}\"]");
    for (device, candidate, told) in [
        (
            TWO,
            "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.3}\"".to_owned(),
            "there is no device 3: the plan has 2 devices",
        ),
        (
            TWO,
            "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.1}\"".to_owned(),
            "{device.1} is where the filesystem itself lies",
        ),
        (TWO, "filesystem = \"xfs\"\nmkfs = \"-l logdev={device.two}\"".to_owned(), "names no device"),
        (TWO, "filesystem = \"xfs\"\nmkfs = \"-l logdev=/dev/vdb\"".to_owned(), "is {device.2}"),
        (TWO, raid("md:raid5"), "`md:raid5` needs 3 devices, and has 2"),
        (TWO, raid("md:raid7"), "there is no level `raid7`"),
        (TWO, raid("md"), "there is no level ``"),
        (TWO, raid("luks2:fast"), "this layer has no option `fast`"),
        (
            TWO,
            raid("md:raid1\", \"md:raid0"),
            "`md:raid0` needs 2 devices, but md:raid1 below it already combines them into one",
        ),
        ("image = \"1GiB\"", raid("md:raid1"), "`md:raid1` needs 2 devices, and has 1"),
        ("image = \"1GiB\"\ncount = 9", EXT4.to_owned(), "8 devices at most, not 9"),
        ("image = \"1GiB\"\ncount = 0", EXT4.to_owned(), "may not be 0"),
        ("path = [\"/dev/sdx\", \"/dev/sdx\"]", EXT4.to_owned(), "/dev/sdx is named twice"),
        ("path = []", EXT4.to_owned(), "the list is empty"),
        ("path = \"/dev/sdx\"\ncount = 2", EXT4.to_owned(), "`count` does not go with `path`"),
        (
            "model = [\"hdd-7200\", \"ideal\"]\nsize = \"2GB\"\ncount = 3",
            EXT4.to_owned(),
            "`count` is 3, and `model` names 2",
        ),
        ("model = [\"hdd-7200\", \"hdd\"]\nsize = \"2GB\"", EXT4.to_owned(), "hdd"),
        ("model = [\"hdd-7200\", \"nvme-ssd\"]\nsize = \"2TB\"", EXT4.to_owned(), "`size`"),
        (
            "image = \"1GiB\"\nfails = { after = \"3s\" }",
            EXT4.to_owned(),
            "`fails` does not go with a device that is not modelled",
        ),
        (
            &format!("{TWO}\nfails = {{ device = 3, after = \"3s\" }}"),
            EXT4.to_owned(),
            "there is no device 3",
        ),
        (&format!("{TWO}\nfails = {{ device = 2 }}"), EXT4.to_owned(), "fails lacks `after`"),
    ] {
        let error = plan(device, &candidate).unwrap_err();
        assert!(error.contains(told), "{device}\n{candidate}\n{error}");
    }
}

#[test]
fn a_device_of_the_command_line_takes_the_place_of_each() {
    let text = write(&plan(TWO, "filesystem = \"ext4\"\nlayers = [\"md:raid1\"]").unwrap());
    let with = |device: Vec<DeviceSource>| {
        let found = read_with(&text, "plan.toml", &Overrides { device, ..Overrides::default() });
        found
            .map(|plan| plan.device.all_sources().cloned().collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(with(vec![model("ideal")]).unwrap(), [model("ideal"), model("ideal")]);
    assert_eq!(with(vec![model("ideal"), model("nvme-ssd")]).unwrap(), [model("ideal"), model("nvme-ssd")]);
    // A block device is there once.
    let alone = with(vec![DeviceSource::Path("/dev/sdx".into())]).unwrap_err();
    assert!(alone.contains("`md:raid1` needs 2 devices, and has 1"), "{alone}");
    let mixed = with(vec![model("ideal"), DeviceSource::Image(Bytes(1 << 30))]).unwrap_err();
    assert!(mixed.contains("the devices are of different kinds"), "{mixed}");
}

#[test]
fn a_phase_may_want_a_state_of_its_devices() {
    let with = |phase: &str| {
        let text = write(&plan(TWO, "filesystem = \"ext4\"\nlayers = [\"md:raid1\"]").unwrap());
        read(&text.replacen("operation = \"directory.fill\"", phase, 1), "plan.toml")
            .map_err(|error| error.to_string())
    };
    for state in [ArrayState::Degraded, ArrayState::Rebuilding, ArrayState::Scrubbing] {
        let found = with(&format!("operation = \"directory.fill\"\nstate = \"{}\"", state.word())).unwrap();
        assert_eq!(found.phases[0].state, Some(state));
        assert_eq!(read(&write(&found), "written").unwrap(), found, "{}", write(&found));
    }
    // A phase without one is stored as before there were any.
    let none = with("operation = \"directory.fill\"").unwrap();
    assert!(serde_json::to_value(&none.phases[0]).unwrap().get("state").is_none());
    for (phase, told) in [
        ("operation = \"directory.fill\"\nstate = \"rebuild\"", "there is no state `rebuild`"),
        ("operation = \"fsck\"\nstate = \"degraded\"", "only a mounted one can lose a device"),
    ] {
        let error = with(phase).unwrap_err();
        assert!(error.contains(told), "{phase}\n{error}");
    }
}
