//! The plans that questions become: every work on every kind of device, exactly the candidates that are named, and the
//! command line that asks the same again.

use fsverdict_judgement::plan::{DeviceSource, Overrides, RequiredProperty, presets, read_with};
use fsverdict_testutil::members;
use fsverdict_text::Hinted;

use super::super::{CliError, with_vocabulary};
use super::devices::AskedDevice;
use super::features::{Feature, Wish};
use super::lexicon::DEVICES;
use super::parsed::ParsedQuestion;
use super::phrasings::understood;
use super::plan::QuestionPlan;
use super::question::Question;
use super::table::{describe_question, run_arguments};

fn plan_of(work: &str, device: Option<&str>, must: &[&str]) -> Result<QuestionPlan, CliError> {
    let mut parsed = ParsedQuestion::default();
    for word in must {
        parsed.wish(Wish::Required, Feature::from_word(word).unwrap(), *word);
    }
    let mut question =
        Question::new(parsed, Some(work), device.filter(|device| !device.starts_with("/dev/")), &[])?;
    // None is there to be looked at.
    if let Some(path) = device.filter(|device| device.starts_with("/dev/")) {
        question.device = Some(AskedDevice {
            words: path.to_owned(),
            source: path.parse().unwrap(),
            is_sized: true,
            shown: String::new(),
        });
    }
    QuestionPlan::new(&question, Overrides::default())
}

/// Names of the candidates that are tried.
fn tried(work: &str, device: Option<&str>, must: &[&str]) -> Vec<String> {
    let asked = plan_of(work, device, must).unwrap_or_else(|error| panic!("{work}: {error}"));
    asked.plan.candidates.into_iter().map(|candidate| candidate.name).collect()
}

fn question_and_plan(question: &str) -> (Question, QuestionPlan) {
    let understood = understood(question).unwrap_or_else(|error| panic!("{question}: {error}"));
    let asked = QuestionPlan::new(&understood, Overrides::default())
        .unwrap_or_else(|error| panic!("{question}: {error}"));
    (understood, asked)
}

/// Names of the candidates that a question comes to, its bounds, and how much does not matter.
fn planned(question: &str) -> String {
    let (understood, asked) = question_and_plan(question);
    // A list of names in a command line is not broken.
    for line in describe_question(&understood, &asked)
        .lines()
        .filter(|line| !line.starts_with("  ") || !line.contains(','))
    {
        assert!(line.chars().count() <= 80, "{question}: {line}");
    }
    let plan = asked.plan;
    let names: Vec<String> = plan.candidates.iter().map(|candidate| candidate.name.clone()).collect();
    let bounds =
        plan.goal.require.numbers.iter().map(|entry| format!("; {}", entry.title())).collect::<String>();
    format!("{}{bounds}; tie {}", names.join(" "), plan.protocol.tie)
}

#[test]
fn every_question_on_every_device_is_a_plan_or_says_why_not() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel");
    let devices: Vec<Option<&str>> = DEVICES
        .iter()
        .map(|kind| Some(kind.words.words[0].as_str()))
        .chain([Some("image:8GiB"), Some("/dev/sdz"), None])
        .collect();
    let name_of = |device: &Option<&str>| device.unwrap_or("no device").to_owned();
    let representatives = [devices[0].unwrap(), "no device"];
    let devices = members(devices.clone(), name_of, representatives);
    let asked_for = presets().iter().filter(|preset| !preset.asked_by().unasked);
    for work in asked_for.map(|preset| preset.name).chain([folder]) {
        for (at, device) in devices.iter().enumerate() {
            // Requirements change the candidates, which few devices have a say in.
            let musts = [&[][..], &["encryption"], &["windows"], &["snapshots"]];
            for must in &musts[..if at % 5 == 0 { musts.len() } else { 1 }] {
                let case = format!("{work} on {device:?} {must:?}");
                match plan_of(work, *device, must) {
                    Ok(QuestionPlan { plan, .. }) => {
                        assert!(!plan.candidates.is_empty(), "{case}");
                        let is_model = device.is_some_and(|word| !word.contains([':', '/']));
                        assert!(!is_model || plan.models().len() == 1, "{case}: {:?}", plan.models());
                    }
                    Err(error) => {
                        let (what, hint) = (error.to_string(), error.hint().unwrap_or_default());
                        // Neither a place in a text that the user has not seen, nor an option that was not typed.
                        assert!(
                            !what.contains('^') && !what.contains("error:") && !hint.is_empty(),
                            "{case}: {what}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_device_takes_the_place_of_the_plan_s_whatever_its_text_looks_like() {
    let source = |work, device| plan_of(work, Some(device), &[]).unwrap().plan.device;
    for (work, device, source_wanted) in [
        ("mail", "ssd", "model:sata-ssd@8GB"),
        // The plan's 2 TB are more than the stick has.
        ("backup", "usb-stick", "model:usb-stick@32GB"),
        ("backup", "archive", "model:smr-5400@2TB"),
        // The matrix tries models one after the other, and the image is none.
        ("etcd", "nvme", "model:nvme-ssd@4GB"),
        ("backup-server", "hdd", "model:hdd-7200@20GiB"),
        // A size that is named is meant.
        ("mail", "model:sata-ssd@20GB", "model:sata-ssd@20GB"),
        ("mail", "image:9GiB", "image:9GiB"),
    ] {
        let wanted: DeviceSource = source_wanted.parse().unwrap();
        assert_eq!(source(work, device).source, wanted, "{work} on {device}");
    }
    assert_eq!(source("nas", "ssd").count(), 2);
    assert_eq!(tried("etcd", Some("nvme"), &[]), ["ext4", "xfs", "btrfs", "f2fs"]);
    for (question, wanted) in [
        ("mail on a 100 GB hdd", "model:hdd-7200@100GB"),
        ("mail on an hdd of 1TB", "model:hdd-7200@1TB"),
        ("mail on two hdd", ""),
    ] {
        let plan =
            understood(question).and_then(|question| QuestionPlan::new(&question, Overrides::default()));
        let source = plan.map(|asked| asked.plan.device.source);
        assert_eq!(source.ok(), wanted.parse().ok(), "{question}");
    }
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
        // The plan has its own layers.
        ("nas", &["btrfs-raid1+luks2", "ext4+luks2+md:raid1", "xfs+luks2+md:raid1", "btrfs+luks2+md:raid1"]),
    ] {
        assert_eq!(tried(work, None, &["encryption"]), names, "{work}");
    }
    let rot = tried("rot", None, &["encryption"]);
    assert!(rot.len() == 9 && rot.iter().all(|name| name.ends_with("+luks2")), "{rot:?}");
    let etcd = tried("etcd", None, &["encryption"]);
    assert!(etcd.len() == 11 && etcd.contains(&"ext4+luks2-on-hdd-7200".to_owned()), "{etcd:?}");
}

#[test]
fn candidates_that_lack_a_requirement_are_not_tried_and_others_take_their_place() {
    let stick = plan_of("stick", None, &["windows"]).unwrap();
    assert_eq!(stick.left_out, ["ext4, f2fs and btrfs: they lack what is required (windows)"]);
    assert_eq!(tried("stick", None, &["windows"]), ["vfat", "exfat", "ntfs3"]);
    assert_eq!(tried("full", None, &["windows"]), ["exfat", "ntfs3", "vfat"]);
    assert_eq!(tried("mail", None, &["data_checksums", "encryption"]), ["btrfs+luks2"]);
    // Generations of a backup are hard links, which FAT and exFAT do not have.
    assert_eq!(tried("backup-server", None, &["windows"]), ["ntfs3"]);
    let required = plan_of("stick", None, &["windows"]).unwrap().plan.goal.require.properties;
    assert_eq!(required, [RequiredProperty::Windows]);
}

#[test]
fn questions_that_no_plan_can_hold_are_refused_in_their_own_words() {
    for (question, words) in [
        ("power on image:1GiB", &["of modelled devices", "image:1GiB is none", "--on hdd"][..]),
        ("snapshots must be encrypted", &["layers of their own (lvm)", "layers = [\"luks2\", \"lvm:thin\"]"]),
        ("zfs-mirror on /dev/null", &["is no block device"]),
        ("snapshots for windows", &["asks for snapshots of the whole filesystem, which exfat does not have"]),
        ("near-full, encrypted, for windows", &["no filesystem has all of this: encryption, windows"]),
        ("photos on image:64MiB", &["`photo-backup` cannot be asked so: the image of 64 MiB is smaller"]),
        ("sqlite, p99 below 10 ms", &["does not time single calls"]),
        ("is a journal worth it for git on xfs", &["can be had both with journal and without"]),
        (
            "ext4 or btrfs for photos, must snapshots",
            &["only btrfs of the named filesystems meets", "ext4 cannot"],
        ),
        (
            "ext4 or exfat for photos, must snapshots",
            &["no candidate that is named has all of this: snapshots"],
        ),
        (
            "mail on ssd, not ext4 and xfs and btrfs",
            &["without ext4, xfs, btrfs there is nothing to compare"],
        ),
        (
            "nextcloud on two hard disks",
            &["`nextcloud` is about 1 device, and `two hard disks` says otherwise"],
        ),
        ("mail on a 3 TB hdd", &["is more than hdd-7200 has, which is modelled up to 2 TB"]),
        ("mail with luks, without encryption", &["contradict"]),
        ("ext4 on luks or xfs for mail, without encryption", &["a candidate on LUKS is named"]),
    ] {
        let refused =
            understood(question).and_then(|understood| QuestionPlan::new(&understood, Overrides::default()));
        let error = refused.map(|asked| asked.plan.title).unwrap_err();
        let text = format!("{error}\n{}", error.hint().unwrap_or_default());
        assert!(words.iter().all(|words| text.contains(words)), "{question}: {text}");
    }
}

#[test]
fn a_folder_of_the_user_s_is_asked_of_like_a_preset() {
    let asked = plan_of(concat!(env!("CARGO_MANIFEST_DIR"), "/docs"), None, &[]).unwrap();
    assert!(asked.plan.candidates.len() == 3 && !asked.left_out.concat().contains("lack"));
}

#[test]
fn filesystems_for_flash_are_tried_on_a_disk_only_where_they_are_named() {
    for (device, names) in [
        (Some("hdd"), &["ext4", "xfs", "btrfs"][..]),
        (Some("usb-disk"), &["ext4", "xfs", "btrfs"]),
        (Some("ssd"), &["ext4", "xfs", "btrfs", "f2fs"]),
    ] {
        assert_eq!(tried("mail", device, &[]), names, "{device:?}");
        let left_out = plan_of("mail", device, &[]).unwrap().left_out;
        let is_told = left_out.iter().any(|told| told.starts_with("f2fs: designed for flash"));
        assert_eq!(is_told, names.len() == 3, "{device:?}: {left_out:?}");
    }
    // Faults are examined for all.
    assert!(tried("rot", None, &[]).contains(&"f2fs".to_owned()));
}

#[test]
fn candidates_that_a_preset_weakened_are_not_recommended_to_anybody() {
    let names = tried("rot", Some("hdd"), &[]);
    assert!(["ext4", "xfs", "btrfs", "btrfs-dup"].iter().all(|name| names.iter().any(|tried| tried == name)));
    assert!(!names.iter().any(|name| name == "btrfs-single" || name.contains("-no")), "{names:?}");
    let left_out = plan_of("rot", Some("hdd"), &[]).unwrap().left_out;
    let weakened =
        left_out.iter().find_map(|told| told.split_once(": a protection was taken away")).unwrap().0;
    assert_eq!(weakened.replace(" and ", ", ").split(", ").count(), 4, "{weakened}");
    for preset in presets() {
        let unchanged = Overrides::default();
        let plan = with_vocabulary(|known| read_with(preset.toml, preset.name, &unchanged, known)).unwrap();
        for name in preset.asked_by().weakened {
            assert!(plan.candidates.iter().any(|entry| entry.name == name), "{name} of {}", preset.name);
        }
    }
}

#[test]
fn options_bounds_and_comparisons_reach_the_plan() {
    for (question, plan) in [
        ("ext4 -b 1024 against 4096 for mail", "ext4:1024 ext4:4096; tie 0.03"),
        ("ext4 -b 1024 for mail", "ext4:1024 ext4 xfs btrfs; tie 0.03"),
        ("mail with compress=zstd", "ext4 xfs btrfs:compress=zstd; tie 0.03"),
        ("mail with noatime", "ext4:noatime xfs:noatime btrfs:noatime; tie 0.03"),
        ("mail with and without noatime on ext4", "ext4:noatime ext4; tie 0.03"),
        ("etcd on nvme, p99 below 5 ms", "ext4 xfs btrfs f2fs; log.p99 <= 5ms; tie 0.03"),
        ("mail, worst case under 50ms", "ext4 xfs btrfs; deliver.worst <= 50ms; tie 0.03"),
        (
            "postgres, ext4 or xfs, p99 below 10 ms",
            "ext4 xfs; transactions.pgbench_latency_p99 <= 10ms; tie 0.03",
        ),
        ("mail on ext4 with and without journal", "ext4 ext4:^has_journal; tie 0.03"),
        ("what does compression cost for mail", "btrfs btrfs:compress=zstd; tie 0.03"),
        (
            "ext4 or xfs for mail, with luks, at most 5 % slower than plain",
            "ext4 xfs ext4+luks2 xfs+luks2; tie 0.05",
        ),
        ("photos without encryption", "ext4 xfs btrfs exfat ntfs3; tie 0.03"),
        ("btrfs nodatacow or btrfs for postgres", "btrfs:nodatacow btrfs; tie 0.03"),
        // Exactly those that are named, and not the preset's further candidates of these filesystems.
        ("ext4 or btrfs for postgres", "ext4 btrfs; tie 0.03"),
        ("btrfs zstd:1 vs zstd:15 for photos", "btrfs:compress=zstd:1 btrfs:compress=zstd:15; tie 0.03"),
        ("mail on ssd, not btrfs", "ext4 xfs f2fs; tie 0.03"),
        ("mail on ssd: anything but ext4 and f2fs", "xfs btrfs; tie 0.03"),
        ("mail on ssd: ext4 or xfs or btrfs; no btrfs", "ext4 xfs; tie 0.03"),
        ("ext4 on lvm thin or btrfs: snapshots on ssd", "ext4+lvm:thin btrfs; tie 0.03"),
        ("btrfs on luks or ext4 for mail", "btrfs+luks2 ext4; tie 0.03"),
        ("ext4 with encryption or xfs for mail", "ext4+luks2 xfs; tie 0.03"),
        ("ext4 without journal for ci", "ext4 ext4:^has_journal; tie 0.03"),
        ("ext4 without journal or xfs for ci", "ext4:^has_journal xfs; tie 0.03"),
        ("btrfs compress=lzo vs no compression for git", "btrfs:compress=lzo btrfs; tie 0.03"),
        ("is encryption slow with ext4 on an sd card", "ext4 ext4+luks2; tie 0.03"),
        ("nas", "btrfs-raid1 ext4+md:raid1 xfs+md:raid1 btrfs+md:raid1; tie 0.03"),
        ("ext4 or xfs for nas", "ext4+md:raid1 xfs+md:raid1; tie 0.03"),
    ] {
        assert_eq!(planned(question), plan, "{question}");
    }
}

#[test]
fn the_command_line_without_ask_makes_the_same_plan() {
    let mut shown = 0;
    for question in [
        "mail on hdd",
        "ext4 or xfs for photos on a usb stick",
        "etcd on nvme, p99 below 5 ms",
        "photos, encrypted",
        "sqlite on a raspberry pi",
        "photos for windows, for 20m",
        "nas on two hdd with encryption",
        "mail on a 100 GB hdd with 512 MB of memory",
    ] {
        let (understood, asked) = question_and_plan(question);
        let Some(arguments) = run_arguments(&understood, &asked) else { continue };
        shown += 1;
        let mut overrides = Overrides::default();
        for pair in arguments[3..].chunks(2) {
            let value = pair[1].clone();
            match pair[0].as_str() {
                "--fs" => overrides.filesystems = value.split(',').map(str::to_owned).collect(),
                "--set" => overrides.set.push(value),
                "--device" => overrides.device.push(value.parse().unwrap()),
                "--scale" => overrides.scale = value.parse().ok(),
                other => panic!("{other}"),
            }
        }
        let text = understood.text().unwrap();
        let plan = with_vocabulary(|known| read_with(&text, &arguments[2], &overrides, known)).unwrap();
        assert!(plan == asked.plan, "{question}: {arguments:?}");
    }
    assert!(shown >= 5, "{shown}");
}
