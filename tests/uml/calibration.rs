//! `fsverdict calibrate`: what a modelled device shows a guest is what its file says, and a real one is written only where it
//! may be erased.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

mod common;

use common::{Disk, PROGRAM, Place, tool};

/// Numbers of a model that are not the built-in's, and how far from each the calibration may be.
type Planted = &'static [(&'static str, &'static str, f64, f64)];

const MODELS: [(&str, &str, Planted); 3] = [
    (
        "usb-disk-5400",
        // All of it: the seeks of a part are shorter.
        "2TB",
        &[
            ("link", "command_us", 400.0, 0.05),
            ("link", "mb_s", 28.0, 0.02),
            ("platter", "rpm", 7200.0, 0.0),
            // 0.2 ms.
            ("platter.seek", "minimum_ms", 1.7, 0.12),
            ("platter.seek", "average_ms", 9.5, 0.02),
        ],
    ),
    (
        "usb-stick",
        "16GB",
        &[
            ("units", "read_us", 800.0, 0.05),
            ("units", "read_mb_s", 21.0, 0.02),
            ("units", "write_mb_s", 7.0, 0.02),
            ("units", "open", 4.0, 0.0),
            ("units", "copy_mb_s", 12.0, 0.05),
        ],
    ),
    (
        "sata-ssd",
        "16GB",
        &[
            ("link", "read_us", 60.0, 0.05),
            ("link", "mb_s", 300.0, 0.02),
            ("link", "write_us", 40.0, 0.05),
            ("flash", "program_us", 2500.0, 0.02),
            ("cache", "flush_us", 2000.0, 0.05),
        ],
    ),
];

/// The line of a key within a section.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let mut within = "";
    let found = text.lines().position(|line| {
        if let Some(heading) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            within = heading;
        }
        within == section && line.split('=').next().is_some_and(|name| name.trim() == key)
    });
    found.unwrap_or_else(|| panic!("no [{section}] {key}"))
}

fn value(text: &str, section: &str, key: &str) -> f64 {
    let line = text.lines().nth(line_of(text, section, key)).unwrap();
    line.split(['=', '#']).nth(1).unwrap().trim().parse().unwrap()
}

#[test]
fn uml_what_a_guest_measures_of_a_modelled_device_is_what_its_model_says() {
    let place = Place::new();
    let mut wrong = Vec::new();
    for (like, size, planted) in MODELS {
        let shown = place.fsverdict(&["show", like]).exits(0).stdout;
        let mut lines: Vec<String> = shown.lines().map(str::to_owned).collect();
        for (section, key, value, _) in planted {
            lines[line_of(&shown, section, key)] = format!("{key} = {value}");
        }
        let mine = place.plan("mine", &lines.join("\n"));
        let device = format!("model:{mine}@{size}");
        place
            .fsverdict(&["calibrate", &device, "--erase", "--like", like, "-o", "found.toml", "--force"])
            .exits(0);
        let found = std::fs::read_to_string(place.path().join("found.toml")).unwrap();
        for (section, key, planted, within) in planted {
            let number = value(&found, section, key);
            if (number / planted - 1.0).abs() > *within {
                wrong.push(format!("{like} [{section}] {key}: {number}, and {planted} was planted"));
            }
        }
        let errors = found.lines().filter_map(|line| {
            let (kind, error) = line.strip_prefix("# Error on the half")?.split_once(": ")?;
            let error: f64 = error.strip_suffix(" %")?.parse().ok()?;
            Some((kind.to_owned(), error))
        });
        let errors: Vec<_> = errors.collect();
        assert_eq!(errors.len(), 8, "{found}");
        wrong.extend(
            errors.iter().filter(|(_, error)| *error > 5.0).map(|error| format!("{like}: {error:?}")),
        );
        // What comes of it is a model.
        place.fsverdict(&["run", "quick", "--dry-run", "--device", "model:./found.toml@8GB"]).exits(0);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    place.is_left_clean();
}

#[test]
fn limits_under_which_nothing_can_be_measured_are_told_first() {
    let place = Place::new();
    std::fs::write(place.path().join("disk"), [0; 1 << 20]).unwrap();
    for (limit, hint) in [("-n 16", "hint: ulimit -n"), ("-f 200", "hint: ulimit -f")] {
        let line = format!("ulimit {limit}; exec \"$@\"");
        let seen = place.any("sh", &["-c", &line, "sh", PROGRAM, "calibrate", "disk", "-o", "model.toml"]);
        seen.exits(1).says(&["a program started from this shell", hint]);
        assert!(!place.path().join("model.toml").exists(), "{limit}");
    }
}

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
    for (name, errors, flush) in [("read.toml", 4, false), ("written.toml", 8, true)] {
        let text = text(name);
        assert_eq!(text.matches("# Error on the half").count(), errors, "{text}");
        let measured = text.lines().any(|line| line.starts_with("flush_us") && line.ends_with("# measured"));
        assert_eq!(measured, flush, "{text}");
    }
    drop(disk);
    place.is_left_clean();
}
