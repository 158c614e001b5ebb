//! What questions come to, by the plans they become: every work on every kind of device, and who is tried.

use fsverdict_judgement::plan::{DeviceSource, Overrides, RequiredProperty, presets, read_with};
use fsverdict_testutil::members;
use fsverdict_text::Hinted;

use super::super::{CliError, with_vocabulary};
use super::asked_plan::AskedPlan;
use super::heard_candidates::HeardCandidates;
use super::kinds::devices;
use super::left_out::LeftOutReason;
use super::question::{AskedDevice, AskedWork, Question};
use super::sentence::Said;
use super::understood::{device_of, property_of, work_of};

fn question(work: AskedWork) -> Question {
    Question {
        work,
        device: None,
        device_count: None,
        must: Vec::new(),
        candidates: HeardCandidates::default(),
        limits: Vec::new(),
        throughputs: Vec::new(),
        faults: Vec::new(),
        tolerance: None,
        work_words: String::new(),
        time_words: String::new(),
        aside: Vec::new(),
    }
}

fn asked(work: &str, device: Option<&str>, must: &[&str]) -> Result<AskedPlan, CliError> {
    let device = device.map(|word| match word.starts_with('/') {
        // None is there to be looked at.
        true => AskedDevice {
            said: word.to_owned(),
            source: word.parse().unwrap(),
            sized: true,
            shown: String::new(),
        },
        false => device_of(word).unwrap(),
    });
    let must = must.iter().map(|word| Said::new(property_of(word).unwrap(), *word)).collect();
    AskedPlan::of(&Question { device, must, ..question(work_of(work).unwrap()) }, Overrides::default())
}

/// Names of the candidates that are tried.
fn tried(work: &str, device: Option<&str>, must: &[&str]) -> Vec<String> {
    let asked = asked(work, device, must).unwrap_or_else(|error| panic!("{work}: {error}"));
    asked.plan.candidates.into_iter().map(|candidate| candidate.name).collect()
}

/// The message about a question that cannot be asked, and the hint.
fn refused(work: &str, device: Option<&str>, must: &[&str]) -> String {
    let error = asked(work, device, must).map(|asked| asked.plan.title).unwrap_err();
    format!("{error}\n{}", error.hint().unwrap_or_default())
}

#[test]
fn every_question_on_every_device_is_a_plan_or_says_why_not() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel");
    let devices: Vec<Option<&str>> = devices()
        .iter()
        .map(|kind| Some(kind.called.words[0].as_str()))
        .chain([Some("image:8GiB"), Some("/dev/sdz"), None])
        .collect();
    let name_of = |device: &Option<&str>| device.unwrap_or("no device").to_owned();
    let representatives = [devices[0].unwrap(), "no device"];
    let devices = members(devices.clone(), name_of, representatives);
    let asked_for = presets().iter().filter(|preset| !preset.asked_by().unasked);
    for work in asked_for.map(|preset| preset.name).chain([folder]) {
        for (at, device) in devices.iter().enumerate() {
            // What is required changes the candidates, which few devices have a say in.
            let musts = [&[][..], &["encryption"], &["windows"], &["snapshots"]];
            for must in &musts[..if at % 5 == 0 { musts.len() } else { 1 }] {
                let case = format!("{work} on {device:?} {must:?}");
                match asked(work, *device, must) {
                    Ok(AskedPlan { plan, .. }) => {
                        assert!(!plan.candidates.is_empty(), "{case}");
                        let is_model = device.is_some_and(|word| !word.contains([':', '/']));
                        assert!(!is_model || plan.models().len() == 1, "{case}: {:?}", plan.models());
                    }
                    Err(error) => {
                        let (said, hint) = (error.to_string(), error.hint().unwrap_or_default());
                        // Neither a place in a text that nobody has seen, nor an option that nobody typed.
                        assert!(
                            !said.contains('^') && !said.contains("error:") && !hint.is_empty(),
                            "{case}: {said}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_device_takes_the_place_of_the_plan_s_whatever_its_text_looks_like() {
    let source = |work, device| asked(work, Some(device), &[]).unwrap().plan.device;
    for (work, device, source_wanted) in [
        ("mail", "ssd", "model:sata-ssd@8GB"),
        // The plan's 2 TB are more than the stick has.
        ("backup", "usb-stick", "model:usb-stick@32GB"),
        ("backup", "archive", "model:smr-5400@2TB"),
        // The matrix tries models one after the other, and the image is none.
        ("etcd", "nvme", "model:nvme-ssd@4GB"),
        ("backup-server", "hdd", "model:hdd-7200@20GiB"),
        // Who names a size means it.
        ("mail", "model:sata-ssd@20GB", "model:sata-ssd@20GB"),
        ("mail", "image:9GiB", "image:9GiB"),
    ] {
        let wanted: DeviceSource = source_wanted.parse().unwrap();
        assert_eq!(source(work, device).source, wanted, "{work} on {device}");
    }
    assert_eq!(source("nas", "ssd").count(), 2);
    assert_eq!(tried("etcd", Some("nvme"), &[]), ["ext4", "xfs", "btrfs", "f2fs"]);
}

#[test]
fn encryption_puts_every_candidate_on_luks_once() {
    for (work, names) in [
        ("mail", &["ext4+luks2", "xfs+luks2", "btrfs+luks2"][..]),
        ("sqlite", &["btrfs-nodatacow+luks2", "ext4+luks2", "xfs+luks2", "btrfs+luks2", "f2fs+luks2"]),
        // No matrix: the candidates that are named.
        ("full", &["ext4+luks2", "xfs+luks2", "btrfs+luks2", "nilfs2:gc+luks2", "jfs+luks2"]),
        // One of them is on LUKS already, and is not entered twice.
        ("photos", &["btrfs-encrypted", "ext4+luks2", "xfs+luks2", "exfat+luks2", "ntfs3+luks2"]),
        // The plan says itself what lies on what.
        ("nas", &["btrfs-raid1+luks2", "ext4+luks2+md:raid1", "xfs+luks2+md:raid1", "btrfs+luks2+md:raid1"]),
    ] {
        assert_eq!(tried(work, None, &["encryption"]), names, "{work}");
    }
    let rot = tried("rot", None, &["encryption"]);
    assert!(rot.len() == 9 && rot.iter().all(|name| name.ends_with("+luks2")), "{rot:?}");
    let power = tried("power", None, &["encryption"]);
    assert!(!power.is_empty() && power.iter().all(|name| name.ends_with("+luks2")), "{power:?}");
    let luks = tried("luks", None, &["encryption"]);
    assert!(luks.len() == 6 && luks.iter().all(|name| name.contains("+luks2")), "{luks:?}");
    let etcd = tried("etcd", None, &["encryption"]);
    assert!(etcd.len() == 11 && etcd.contains(&"ext4+luks2-on-hdd-7200".to_owned()), "{etcd:?}");
}

#[test]
fn who_lacks_what_must_hold_is_not_tried_and_others_are_where_nobody_has_it() {
    let stick = asked("stick", None, &["windows"]).unwrap();
    assert_eq!(stick.left_out.names(LeftOutReason::Unable), ["ext4", "f2fs", "btrfs"]);
    assert_eq!(tried("stick", None, &["windows"]), ["vfat", "exfat", "ntfs3"]);
    assert_eq!(tried("full", None, &["windows"]), ["exfat", "ntfs3", "vfat"]);
    assert_eq!(tried("mail", None, &["data_checksums", "encryption"]), ["btrfs+luks2"]);
    // Generations of a backup are hard links, which FAT and exFAT do not have.
    assert_eq!(tried("backup-server", None, &["windows"]), ["ntfs3"]);
    let required = asked("stick", None, &["windows"]).unwrap().plan.goal.require.properties;
    assert_eq!(required, [RequiredProperty::Windows]);
}

#[test]
fn what_cannot_be_asked_is_refused_in_the_question_s_own_words() {
    for (work, device, must, words) in [
        (
            "power",
            Some("image:1GiB"),
            &[][..],
            &["of modelled devices", "image:1GiB is none", "--on hdd"][..],
        ),
        ("rot", Some("/dev/sdz"), &[], &["`bit-rot` is asked of modelled devices", "/dev/sdz is none"]),
        (
            "nas",
            Some("/dev/sdz"),
            &[],
            &["has 2 devices at once, and /dev/sdz is one", "--device /dev/sdz --device"],
        ),
        (
            "snapshots",
            None,
            &["encryption"],
            &["layers of their own (lvm), none of which encrypts", "layers = [\"luks2\", \"lvm:thin\"]"],
        ),
        (
            "snapshots",
            None,
            &["windows"],
            &["asks for snapshots of the whole filesystem, which exfat does not have"],
        ),
        ("stick", None, &["encryption", "windows"], &["no filesystem has all of this: encryption, windows"]),
        (
            "photos",
            Some("image:64MiB"),
            &[],
            &["`photo-backup` cannot be asked so: the image of 64 MiB is smaller"],
        ),
    ] {
        let said = refused(work, device, must);
        assert!(words.iter().all(|words| said.contains(words)), "{work}: {said}");
    }
}

#[test]
fn a_folder_of_the_user_s_is_asked_of_like_a_preset() {
    let folder = std::env::temp_dir();
    let asked = AskedPlan::of(&question(AskedWork::Folder(folder)), Overrides::default()).unwrap();
    assert!(asked.plan.candidates.len() == 3 && asked.left_out.names(LeftOutReason::Unable).is_empty());
}

#[test]
fn what_is_designed_for_flash_is_tried_on_a_disk_only_where_it_is_named() {
    for (device, names) in [
        (Some("hdd"), &["ext4", "xfs", "btrfs"][..]),
        (Some("usb-disk"), &["ext4", "xfs", "btrfs"]),
        (Some("ssd"), &["ext4", "xfs", "btrfs", "f2fs"]),
    ] {
        assert_eq!(tried("mail", device, &[]), names, "{device:?}");
        let left_out = asked("mail", device, &[]).unwrap().left_out;
        assert_eq!(left_out.names(LeftOutReason::ForFlash), &["f2fs"][..4 - names.len()], "{device:?}");
    }
    // Faults are examined for all.
    assert!(tried("rot", None, &[]).contains(&"f2fs".to_owned()));
}

#[test]
fn candidates_that_a_preset_weakened_are_not_recommended_to_anybody() {
    let names = tried("rot", Some("hdd"), &[]);
    assert!(["ext4", "xfs", "btrfs", "btrfs-dup"].iter().all(|name| names.iter().any(|tried| tried == name)));
    assert!(!names.iter().any(|name| name == "btrfs-single" || name.contains("-no")), "{names:?}");
    assert_eq!(asked("rot", Some("hdd"), &[]).unwrap().left_out.names(LeftOutReason::Weakened).len(), 4);
    for preset in presets() {
        let unchanged = Overrides::default();
        let plan = with_vocabulary(|known| read_with(preset.toml, preset.name, &unchanged, known)).unwrap();
        for name in preset.asked_by().weakened {
            assert!(plan.candidates.iter().any(|one| one.name == name), "{name} of {}", preset.name);
        }
    }
}
