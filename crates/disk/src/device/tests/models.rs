//! Tests the built-in models, and the errors of invalid ones.

use proptest::prelude::{any, prop, proptest};

use super::super::{Device, Model, ModelError, built_in};
use fsverdict_text::Hinted;

#[test]
fn every_built_in_model_reads_under_its_name_and_in_each_of_its_states() {
    for built_in in built_in() {
        let model = Model::named(built_in.name).unwrap();
        assert_eq!(model.name, built_in.name);
        assert!(built_in.toml.starts_with("# "), "{} does not say first what it is", built_in.name);
        for state in model.all_states() {
            let name = format!("{}:{state}", built_in.name);
            let model = Model::named(&name).unwrap();
            assert_eq!(model.name, name);
            // The largest device takes little memory, too.
            let largest = model.parameters.capacity_bytes;
            Device::new(&model, largest, 1).unwrap();
        }
    }
}

#[test]
fn the_first_state_is_what_a_name_alone_means() {
    for built_in in built_in() {
        let plain = Model::named(built_in.name).unwrap();
        if let Some(first) = plain.states.first() {
            let named = Model::named(&format!("{}:{first}", built_in.name)).unwrap();
            let numbers = |model: &Model| format!("{:?}", model.parameters);
            assert_eq!(numbers(&named), numbers(&plain));
        }
    }
}

#[test]
fn wrong_models_are_told_with_their_place_and_what_to_do() {
    let stick = built_in().iter().find(|model| model.name == "usb-stick").unwrap().toml;
    let cases: &[(&str, &str, &str)] = &[
        ("copy_mb_s  = 16.1", "copy_mbs = 16.1", "unknown key `copy_mbs` in [units]\n"),
        ("open = 2", "open = 2\ncolour = 3", "unknown key `colour` in [units]\n"),
        ("open = 2", "open = 0", "`open`: it must be from 1 to 1024, but is 0\n"),
        ("open = 2", "open = 2.5", "`open`: a whole number is wanted here, not 2.5\n"),
        ("open = 2", "open = nan", "`open`: it must be from 1 to 1024, but is NaN\n"),
        ("open = 2", "open = \"2\"", "`open`: a number is wanted here, not a string\n"),
        ("open = 2", "", "[units] lacks `open`\n"),
        ("unit = \"4MiB\"", "unit = 4", "`unit`: a size with its unit is wanted here, not a whole number\n"),
        ("unit = \"4MiB\"", "unit = \"4Mib\"", "hint: did you mean \"4MiB\"?"),
        (
            "unit = \"4MiB\"",
            "unit = \"5000B\"",
            "`unit`: it must be a multiple of 16 KiB up to 4 GiB, but is 5 kB\n",
        ),
        ("[units]", "[unit]", "hint: did you mean `units`?"),
        ("[units]", "[ideal]\naccess_us = 1\n[units]", "there is another medium already\n"),
        ("name    = \"usb-stick\"", "name = \"a:b\"", "`name`: it may not contain ':'\n"),
        ("version = 1", "version = ", "not TOML: "),
    ];
    for (from, to, expected) in cases {
        assert!(stick.contains(from), "{from}");
        let error = Model::read(&stick.replacen(from, to, 1), "mine.toml", None).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let error = Model::read(stick, "mine.toml", Some("stedy")).unwrap_err().to_string();
    assert!(error.contains("usb-stick has no state `stedy`"), "{error}");
    let error = Model::named("sata-sdd:steady").unwrap_err();
    assert_eq!(
        error.reason().to_string(),
        "there is no model `sata-sdd:steady`\nhint: did you mean `sata-ssd`?"
    );
    let error = Model::named("usb-stick:steady+filled").unwrap_err().reason().to_string();
    assert!(error.contains("hint: known: fresh, filled"), "{error}");
    let error = Model::named("ideal:write-through").unwrap_err().reason().to_string();
    assert!(error.contains("hint: known: no-discard"), "{error}");
    let limits = |name: &str| Model::named(name).unwrap().limits(1 << 30);
    let (with, without) = (limits("sata-ssd:steady"), limits("sata-ssd:no-discard+steady+write-through"));
    assert!(with.discard.is_some() && without.discard.is_none() && !without.volatile_cache);
    let error = Model::named("sata-ssd:steady+filled").unwrap_err().reason().to_string();
    assert!(error.contains("hint: a state is one word for what was done"), "{error}");
    let error = Model::named("hdd-7200:").unwrap_err().reason().to_string();
    assert!(error.contains("has no state ``"), "{error}");
    let error = Model::named("usb-stick").unwrap().check_size(64 << 30).unwrap_err();
    assert!(matches!(error, ModelError::Size { .. }) && error.to_string().contains("holds 32 GB"), "{error}");
}

/// One desktop disk, without the keys of its firmware.
fn of_unsaid_firmware() -> String {
    let disk = built_in().iter().find(|model| model.name == "hdd-7200").unwrap().toml;
    let fixed = [
        ("outer_mb_s", "outer_mb_s = 210"),
        ("inner_mb_s", "inner_mb_s = 105"),
        ("zones", "zones = 24"),
        ("heads", "heads = 4"),
        ("minimum_ms", "minimum_ms = 1.0"),
        ("average_ms", "average_ms = 13.0"),
        ("through", ""),
        ("on_arrival", ""),
    ];
    let line = |line: &'static str| {
        fixed.iter().find(|(key, _)| line.starts_with(key)).map_or(line, |(_, line)| line)
    };
    disk.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn wrong_layouts_are_told_with_their_place() {
    let disk = of_unsaid_firmware();
    let rates = "outer_mb_s = 210\n";
    let seek = "[platter.seek]\nminimum_ms = 1.0\naverage_ms = 13.0";
    let zone = |keys: &str| format!("[[platter.zone]]\ncylinders = 1000\nsectors = 100\n{keys}\n{seek}");
    let cases = [
        (seek, zone(""), "`outer_mb_s` does not go with [[platter.zone]]"),
        (seek, zone(""), "`zone`: the zones hold 400000 sectors of 512 bytes, and the device has 3906250000"),
        (seek, zone("skew = 3"), "unknown key `skew` in [[platter.zone]]"),
        (seek, zone("cylinder_spares = 100"), "`cylinder_spares`: it must be from 0 to 99, but is 100"),
        (seek, zone("spares = 400000"), "`sectors`: spares leave nothing of the zone"),
        (rates, "zone = 3\n".to_owned(), "[[platter.zone]] is a list"),
        (seek, "[platter.seek]\ntable = [[1, 1], [1, 2]]".to_owned(), "`table`: the distances must grow"),
        (seek, "[platter.seek]\ntable = []".to_owned(), "`table`: it must have 1 to 10000 pairs, but has 0"),
        (seek, "[platter.seek]\ntable = [[1, 1, 1]]".to_owned(), "`table`: a pair of numbers is wanted here"),
        (seek, "[platter.seek]\ntable = [[0, 1]]".to_owned(), "`table`: a distance must be from 1 to"),
        (
            seek,
            format!("{seek}\ntable = [[1, 1]]"),
            "`table` does not go with the other way to give the curve",
        ),
        (
            "zones = 24",
            "zones = 24\nbreaks_off = 2".to_owned(),
            "`breaks_off`: it must be from 0 to 1, but is 2",
        ),
        ("zones = 24", "zones = 24\nthrough = 1".to_owned(), "`through`: true or false is wanted here"),
    ];
    for (from, to, expected) in cases {
        assert!(disk.contains(from), "{from}");
        let error = Model::read(&disk.replacen(from, &to, 1), "mine.toml", None).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("mine.toml:"), "{to}: {error}");
    }
}

/// Firmware whose behaviour is not published is described as a class.
#[test]
fn what_a_drive_does_may_be_a_range_or_a_choice() {
    let disk = of_unsaid_firmware();
    let lines = "zones = 24\nthrough = [true, false]\nahead_tracks = [0, 1, 2]\nturn_ms = { from = 0, to = 1, typical = 0.8 }\n\
                 segment = [\"64KiB\", \"1MiB\"]";
    let class = disk.replacen("zones = 24", lines, 1);
    let read = |text: &str| format!("{:?}", Model::read(text, "mine.toml", None).unwrap().parameters);
    let typical = "zones = 24\nthrough = true\nahead_tracks = 0\nturn_ms = 0.8\nsegment = \"64KiB\"";
    assert_eq!(read(&class), read(&disk.replacen("zones = 24", typical, 1)));
    let drawn = Model::read(&class, "mine.toml", None).unwrap().drawn;
    let keys: Vec<&str> = drawn.keys().map(String::as_str).collect();
    for key in ["platter.ahead_tracks", "platter.segment", "platter.through", "platter.turn_ms"] {
        assert!(keys.contains(&key), "{keys:?}");
    }
}

#[test]
fn a_model_may_be_a_file_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a:b.toml");
    std::fs::write(&path, super::model("hdd-7200").replace("\"hdd-7200\"", "\"mine\"")).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(Model::find(path).unwrap().name, "mine");
    assert_eq!(Model::find("sata-ssd:steady").unwrap().name, "sata-ssd:steady");
    let error = Model::find(&format!("{path}:worn")).unwrap_err().to_string();
    assert!(error.contains("the model mine has no state `worn`"), "{error}");
    let error = Model::find("/nowhere/mine.toml").unwrap_err().to_string();
    assert!(error.starts_with("cannot read the model /nowhere/mine.toml: No such file"), "{error}");
}

proptest! {
    /// Any file is read or refused, and a device of a model that was read can be built.
    #[test]
    fn no_text_is_too_strange(at in any::<prop::sample::Index>(), to in "\\PC{0,6}", model in 0..8_usize) {
        let toml = built_in()[model].toml;
        let lines: Vec<&str> = toml.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        let mut wrong: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let line = at.index(wrong.len());
        wrong[line] = match wrong[line].split_once('=') {
            Some((key, _)) => format!("{key}= {to}"),
            None => to,
        };
        if let Ok(model) = Model::read(&wrong.join("\n"), "mine.toml", None)
            && model.check_size(1 << 26).is_ok()
        {
            Device::new(&model, 1 << 26, 1).unwrap();
        }
    }
}
