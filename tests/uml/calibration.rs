//! `fsverdict calibrate`: what a modelled device shows a guest is what its file says.

use crate::common::Place;

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
        assert_eq!(errors.len(), 10, "{found}");
        wrong.extend(
            errors.iter().filter(|(_, error)| *error > 5.0).map(|error| format!("{like}: {error:?}")),
        );
        // What comes of it is a model.
        place.fsverdict(&["run", "quick", "--dry-run", "--device", "model:./found.toml@8GB"]).exits(0);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    place.is_left_clean();
}
