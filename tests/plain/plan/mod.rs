//! Plans as users write them: what a right one resolves to, and what a wrong one is told.
//!
//! Expected results lie beside the plans in `tests/plain/plans/`, to be read and reviewed as text.

mod cpu;
mod devices;
mod layers;
mod preconditions;
mod wrong;

use std::path::Path;

use fsverdict::cli::with_vocabulary;
use fsverdict_judgement::plan;
use fsverdict_judgement::plan::{
    Blocks, Dataset, DeviceSource, LabChoice, Overrides, Plan, TreeShape, Twice, digest, image_room,
    keys_by_table, preset, presets, ranked_candidates,
};
use fsverdict_text::{Bytes, TextError};

fn read_with(text: &str, file_name: &str, overrides: &Overrides) -> Result<Plan, TextError> {
    with_vocabulary(|vocabulary| plan::read_with(text, file_name, overrides, vocabulary))
}

fn read(text: &str, file_name: &str) -> Result<Plan, TextError> {
    read_with(text, file_name, &Overrides::default())
}

const BASE: &str = include_str!("../plans/base.toml");

fn base() -> Result<Plan, String> {
    changed(&Overrides::default())
}

fn changed(overrides: &Overrides) -> Result<Plan, String> {
    read_with(BASE, "base.toml", overrides).map_err(|error| error.to_string())
}

fn set(settings: &[&str]) -> Overrides {
    Overrides { set: settings.iter().map(|setting| (*setting).to_owned()).collect(), ..Overrides::default() }
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect()
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../plans");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_plan_written_out_is_read_as_the_same_plan() {
    let hostile = BASE.replacen("title = \"", "title = \"\\u001b]0;\\\"</pre>\\u202e&amp;", 1);
    assert_ne!(hostile, BASE);
    let own = [BASE, include_str!("../plans/smallest.toml"), &hostile];
    for text in presets().iter().map(|preset| preset.toml).chain(own) {
        let twice = Overrides { twice: Some(Twice::First), ..Overrides::default() };
        for overrides in
            [Overrides::default(), set(&["protocol.disturbed=false", "protocol.for=\"90s\""]), twice]
        {
            let plan = read_with(text, "p", &overrides).unwrap();
            let written = plan::write(&plan);
            let again = read(&written, "w").unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(again, plan, "{written}");
            assert!(!written.contains(['\u{1b}', '\u{202e}']));
        }
    }
}

#[test]
fn right_plans_resolve_to_everything_spelled_out() {
    for name in ["base", "smallest"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/plain/plans/{name}.toml"));
        let plan = read(&std::fs::read_to_string(path).unwrap(), name).unwrap();
        snapshot(name, &serde_json::to_string_pretty(&plan).unwrap());
    }
}

#[test]
fn a_resolved_plan_survives_json() {
    let json = serde_json::to_string(&base().unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), base().unwrap());
}

/// A plan with this `[device]` and these lines besides a matrix of two filesystems.
fn with_factors(device: &str, matrix: &str, top: &str) -> Result<Plan, String> {
    let text = format!(
        "title = \"Factors\"\n{top}\n[device]\n{device}\n[matrix]\nfilesystem = [\"ext4\", \"xfs\"]\n{matrix}\n\
         [[phase]]\nname = \"sync\"\ncommand = \"sync\"\n"
    );
    read(&text, "factors.toml").map_err(|error| error.to_string())
}

#[test]
fn candidates_are_tried_under_every_model_kernel_and_memory() {
    let matrix = "model = [\"usb-stick\", \"hdd-7200\"]\nkernel = [\"6.1\", \"6.12\"]\nmemory = [\"512MiB\"]";
    let plan = with_factors("size = \"16GB\"", matrix, "").unwrap();
    assert_eq!(plan.candidates.len(), 8);
    assert_eq!(plan.candidates[5].name, "xfs-on-usb-stick-under-6.12-with-512MiB");
    assert_eq!(plan.models(), ["usb-stick", "hdd-7200"]);
    let titles: Vec<String> = plan.environments().iter().map(|under| under.title()).collect();
    assert_eq!(
        titles[1..3],
        ["usb-stick, Linux 6.12, 512 MiB of memory", "hdd-7200, Linux 6.1, 512 MiB of memory"]
    );
    assert_eq!(plan.wants_guest(), Some("kernel"));
    let replaced =
        plan.models_of(&plan.candidates[7]).pop().map(|model| (model.name.to_owned(), model.size.0));
    assert_eq!(replaced, Some(("hdd-7200".to_owned(), 16_000_000_000)));
    // A path names the device's model for those that bring none of their own.
    let plain = with_factors("model = \"ideal\"\nsize = \"1GB\"", "", "memory = \"256MiB\"").unwrap();
    assert_eq!((plain.models(), names(&plain)), (vec!["ideal"], vec!["ext4", "xfs"]));
}

#[test]
fn sizes_and_directories_that_a_plan_leaves_out_have_defaults() {
    let plan = with_factors("model = \"usb-stick\"", "", "").unwrap();
    let sizes: Vec<u64> = plan.models_of(&plan.candidates[0]).iter().map(|model| model.size.0).collect();
    assert_eq!(sizes, [32_000_000_000]);
    let tree = |files: u64| {
        let text = format!(
            "title = 't'\nmatrix.filesystem = ['ext4']\n\
             dataset.t = {{ profile = 'mixed', files = {files}, size = '1MiB' }}\n\
             phase = [{{ name = 'w', operation = 'tree.write', dataset = 't' }}]\n"
        );
        match &read(&text, "tree.toml").unwrap().datasets["t"] {
            Dataset::Tree(shape) => shape.directories,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((tree(5), tree(1200)), (1, 100));
}

#[test]
fn factors_that_cannot_be_are_refused() {
    let model = "model = [\"usb-stick\"]";
    for (device, matrix, top, shown) in [
        ("image = \"1GiB\"", model, "", "the device is a scratch image"),
        ("", model, "", "the modelled device has no size"),
        ("size = \"1GB\"", "", "", "a device that is not modelled"),
        ("size = \"1GB\"", model, "lab = \"native\"", "`model` does not go with lab = \"native\""),
        ("image = \"1GiB\"", "memory = [\"512MiB\"]", "lab = \"native\"", "`memory` does not go with"),
        (
            "image = \"1GiB\"",
            "memory = [\"1GiB\", \"5MiB\"]",
            "",
            "a guest with 5 MiB of memory does not start",
        ),
        ("image = \"1GiB\"", "kernel = [\"a/b\"]", "", "not absolute"),
        ("size = \"1GB\"", "model = [\"usb-stick\", \"usb-stick\"]", "", "twice"),
    ] {
        let error = with_factors(device, matrix, top).unwrap_err();
        assert!(error.contains(shown), "{shown}: {error}");
    }
}

#[test]
fn settings_change_the_plan_before_it_is_typed() {
    let plan = changed(&set(&[
        "protocol.blocks=5",
        "protocol.timeout=20m",
        "phase.read.cold=false",
        "candidate.2.mount=noatime,data=journal",
        "goal.weights.crowd=1",
        "dataset.docs.path=/usr/share/man",
        "title=Another, with blanks",
    ]))
    .unwrap();
    assert_eq!(plan.protocol.blocks, Blocks { min: 5, max: 5 });
    assert_eq!(plan.protocol.timeout.as_secs(), 1200);
    assert!(plan.phases.iter().any(|phase| phase.name == "read" && !phase.cold));
    assert_eq!(plan.candidates[1].mount, ["noatime", "data=journal"]);
    assert_eq!(plan.goal.weights.len(), 3);
    assert_eq!(plan.title, "Another, with blanks");
    let replaced = changed(&set(&["goal.weights = { crowd = 1 }"])).unwrap();
    assert_eq!(replaced.goal.weights.len(), 1);
    let matrix = changed(&set(&["matrix.filesystem = [\"jfs\"]", "matrix.scheduler = [\"\"]"])).unwrap();
    assert_eq!(names(&matrix), ["btrfs-zstd", "ext3:^dir_index", "jfs", "jfs+luks2"]);
    let added = read_with(
        include_str!("../plans/smallest.toml"),
        "smallest.toml",
        &set(&["device.path=/dev/sdz", "protocol.for=1h"]),
    )
    .unwrap();
    assert_eq!(added.device.source, DeviceSource::Path("/dev/sdz".into()));
}

#[test]
fn a_candidate_can_be_entered_twice() {
    let aa = |twice: Twice, filesystems: &[&str]| {
        let filesystems = filesystems.iter().map(|word| (*word).to_owned()).collect();
        changed(&Overrides { twice: Some(twice), filesystems, ..Overrides::default() })
    };
    let plan = aa(Twice::First, &["xfs"]).unwrap();
    assert_eq!(names(&plan).last(), Some(&"xfs~twin"));
    assert_eq!(ranked_candidates(&plan).count(), plan.candidates.len() - 1);
    let (first, twin) = (&plan.candidates[0], plan.candidates.last().unwrap());
    assert_eq!((&first.filesystem, &first.mkfs, &first.mount), (&twin.filesystem, &twin.mkfs, &twin.mount));
    let named = aa(Twice::Named("btrfs-zstd".to_owned()), &[]).unwrap();
    assert_eq!(names(&named).last(), Some(&"btrfs-zstd~twin"));
    // Alone, a candidate has its twin to be compared with.
    let alone = aa(Twice::First, &["btrfs-zstd"]).unwrap();
    assert_eq!(ranked_candidates(&alone).count(), 2);
    let in_the_plan = changed(&set(&["protocol.aa=btrfs-zstd"])).unwrap();
    assert_eq!(names(&in_the_plan), names(&named));
    assert!(
        !names(&changed(&set(&["protocol.aa=false"])).unwrap()).iter().any(|name| name.ends_with("~twin"))
    );
    assert!(aa(Twice::Named("btrfs-zstd".to_owned()), &["xfs"]).is_err());
}

#[test]
fn names_have_nothing_that_is_not_seen() {
    for letter in ["\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}"] {
        let text = BASE.replacen(
            "[[phase]]\n",
            &format!("[[phase]]\nname = \"a{letter}\"\ncommand = 'true'\n[[phase]]\n"),
            1,
        );
        assert_ne!(text, BASE);
        let error = read(&text, "plan.toml").unwrap_err().to_string();
        assert!(error.contains("may not contain"), "{letter:?}: {error}");
    }
}

#[test]
fn candidates_are_picked_by_name_or_filesystem() {
    let keep = |words: &[&str]| {
        let filesystems = words.iter().map(|word| (*word).to_owned()).collect();
        changed(&Overrides { filesystems, ..Overrides::default() }).unwrap()
    };
    assert_eq!(names(&keep(&["ext4"])), ["ext4", "ext4@mq-deadline", "ext4+luks2", "ext4+luks2@mq-deadline"]);
    assert_eq!(names(&keep(&["xfs+luks2", "btrfs-zstd"])), ["btrfs-zstd", "xfs+luks2"]);
}

#[test]
fn scale_shrinks_the_data_and_nothing_a_command_line_says() {
    let scaled = changed(&Overrides { scale: Some(0.01), ..Overrides::default() }).unwrap();
    let Dataset::Tree(tree) = &scaled.datasets["tree"] else { panic!("not a tree") };
    assert_eq!((tree.files, tree.directories, tree.size), (50, 4, Bytes(2 << 20)));
    assert_eq!(scaled.datasets["crowd"], Dataset::Flat { files: 600, file_size: Bytes(1024) });
    assert_eq!(
        scaled.datasets["docs"],
        Dataset::Folder { path: "/usr/share/doc".into(), size: Some(Bytes(200_000)) }
    );
    let whole = base().unwrap();
    assert_eq!(scaled, Plan { datasets: scaled.datasets.clone(), scale: Some(0.01), ..whole });
}

#[test]
fn data_and_device_may_shrink_together() {
    // The whole data would not fit into 10 MiB: only the final state is checked.
    let small = Overrides {
        device: vec![DeviceSource::Image(Bytes(10 << 20))],
        scale: Some(0.01),
        lab: Some(LabChoice::Uml),
        blocks: Some(Blocks { min: 1, max: 1 }),
        ..Overrides::default()
    };
    let plan = changed(&small).unwrap();
    assert_eq!(plan.device.source, DeviceSource::Image(Bytes(10 << 20)));
    assert_eq!((plan.lab, plan.protocol.blocks.max), (LabChoice::Uml, 1));
}

#[test]
fn a_real_device_replaces_image_and_folder() {
    let path = DeviceSource::Path("/dev/sdz".into());
    let plan = changed(&Overrides { device: vec![path.clone()], ..Overrides::default() }).unwrap();
    assert_eq!((plan.device.source, plan.device.folder), (path, None));
}

#[test]
fn levels_of_protection_are_stored_unless_one_ranking_is_asked_for() {
    let plan = base().unwrap();
    let titles: Vec<String> = plan.protection_groups().into_iter().map(|group| group.title).collect();
    assert_eq!(titles, ["unencrypted", "encrypted"]);
    let one = changed(&set(&["goal.groups=\"one\""])).unwrap();
    assert!(one.goal.one_ranking && one.protection_groups().is_empty());
    assert_eq!(read(&plan::write(&one), "written").unwrap(), one);
    assert_ne!(digest(&one), digest(&plan));
    let wrong = changed(&set(&["goal.groups=\"two\""])).unwrap_err();
    assert!(wrong.contains("there is no grouping `two`") && wrong.contains("\"protection\""), "{wrong}");
    // One level alone needs no group.
    let plain = changed(&set(&["matrix.encryption=[\"none\"]"])).unwrap();
    assert!(plain.goal.protection.is_empty() && !plain.goal.one_ranking);
}

#[test]
fn the_digest_is_stable_and_sees_every_change() {
    assert_eq!(digest(&base().unwrap()), digest(&base().unwrap()));
    // The same on every machine and in every later version, or old runs could not be resumed.
    assert_eq!(digest(&base().unwrap()), "d2c704515ce9f9be");
    let asked_for = set(&["ask={group=\"mine\",summary=\"x\",words=[\"x\"]}"]);
    assert_eq!(digest(&changed(&asked_for).unwrap()), digest(&base().unwrap()));
    for change in ["protocol.seed=8", "protocol.tie=0.04", "phase.read.cold=false", "title=x"] {
        assert_ne!(digest(&changed(&set(&[change])).unwrap()), digest(&base().unwrap()), "{change}");
    }
}

#[test]
fn the_memory_of_a_guest_is_left_out_where_the_command_line_chose_this_machine() {
    let native = |set: &[&str]| {
        let set = set.iter().map(|set| (*set).to_owned()).collect();
        let image = vec![DeviceSource::Image(Bytes(4 << 30))];
        let overrides =
            Overrides { lab: Some(LabChoice::Native), device: image, set, ..Overrides::default() };
        read_with(preset("postgres").unwrap().toml, "postgres", &overrides).map_err(|error| error.to_string())
    };
    assert_eq!(native(&[]).unwrap().memory, None);
    assert!(native(&["memory=1GiB"]).unwrap_err().contains("`memory` does not go with"));
}

#[test]
fn the_source_of_the_work_is_read_written_and_checked() {
    let with = |work: &str| read(&format!("{BASE}\n[work]\n{work}"), "plan.toml");
    let plan = with("kind = [\"recorded\", \"assumed\"]\nsource = \"sqlite3\"\njob = \"a week\"\n").unwrap();
    assert_eq!(read(&plan::write(&plan), "again").unwrap().work, plan.work);
    assert!(plan::write(&plan).contains("kind = [\"recorded\", \"assumed\"]"), "{}", plan::write(&plan));
    let other = with("kind = \"study\"\nsource = \"a table\"\n").unwrap();
    assert_eq!(plan::digest(&other), plan::digest(&plan), "the same work");
    for (work, told) in [
        ("kind = \"rumour\"\nsource = \"x\"", "`rumour` is no kind of source"),
        ("kind = \"study\"", "source"),
        ("source = \"x\"", "kind"),
        ("kind = []\nsource = \"x\"", "no kind of source is named"),
        ("kind = [\"study\", \"study\"]\nsource = \"x\"", "`study` is named twice"),
    ] {
        let wrong = with(work).unwrap_err().to_string();
        assert!(wrong.contains(told), "{work}: {wrong}");
    }
}

#[test]
fn presets_are_right_and_unique() {
    for found in presets() {
        let plan = read(found.toml, found.name).unwrap();
        let asked_by = found.asked_by();
        assert!(!plan.title.is_empty() && !asked_by.summary.is_empty() && !asked_by.group.is_empty());
        let is_phase = |name: &String| plan.phases.iter().any(|phase| phase.name == *name);
        assert!(asked_by.latency.as_ref().is_none_or(is_phase), "{}: {:?}", found.name, asked_by.latency);
        // Words that ask for it are no part of what is done.
        assert!(!plan::write(&plan).contains("[ask]"), "{}", found.name);
        assert!(plan.work.is_some() || asked_by.unasked, "{} has no [work]", found.name);
        assert!(found.toml.starts_with("# "), "{} does not say what it is", found.name);
        assert_eq!(presets().iter().filter(|other| other.name == found.name).count(), 1);
    }
    assert!(preset("nonsense").is_none());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), presets().len(), "a preset's file is not listed");
    let study = read(preset("usb-backup").unwrap().toml, "usb-backup").unwrap();
    // The study's own, without what was asked for since.
    assert_eq!(study.candidates.iter().filter(|candidate| candidate.mount.is_empty()).count(), 16);
}

#[test]
fn findings_of_presets_name_candidates_that_are_there() {
    let mut studies = 0;
    for found in presets() {
        let plan = read(found.toml, found.name).unwrap();
        studies += usize::from(!plan.published.is_empty());
        for published in &plan.published {
            for name in published.candidates() {
                assert!(
                    names(&plan).contains(&name),
                    "{}: `{name}` in \"{}\"",
                    found.name,
                    published.finding
                );
            }
        }
    }
    assert_eq!(studies, 10);
}

#[test]
fn examples_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        read(&std::fs::read_to_string(&path).unwrap(), &path.display().to_string())
            .unwrap_or_else(|error| panic!("{error}"));
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn the_reference_covers_every_key_and_its_plans_are_right() {
    let reference = include_str!("../../../docs/reference/plan-format.md");
    for (section, keys) in keys_by_table() {
        for (key, kind) in keys {
            let row = if kind.is_empty() { format!("| `{key}` |") } else { format!("| `{key}` | {kind} |") };
            assert!(
                reference.contains(&row),
                "docs/reference/plan-format.md does not describe `{key}` ({kind}) of {section}"
            );
        }
    }
    let mut plans = 0;
    for block in reference.split("```toml\n").skip(1) {
        let block = block.split("```").next().unwrap();
        // Whole plans have a title; the other blocks show a few lines.
        if block.starts_with("title") {
            read(block, "docs/reference/plan-format.md").unwrap_or_else(|error| panic!("{error}"));
            plans += 1;
        }
    }
    assert!(plans > 0);
}

const GIB: u64 = 1 << 30;

/// A preset whose plan says itself that it runs on a scratch image.
fn on_image(name: &str, scale: Option<f64>, size: &str) -> Plan {
    let set = vec![format!("device={{ image = \"{size}\" }}")];
    let overrides = Overrides { scale, set, ..Overrides::default() };
    read_with(preset(name).unwrap().toml, name, &overrides).unwrap()
}

fn image(plan: &Plan) -> u64 {
    let DeviceSource::Image(Bytes(size)) = plan.device.source else { panic!("no image") };
    size
}

#[test]
fn a_scaled_plan_asks_for_no_more_room_than_its_data_need() {
    // 110 MB of data once asked for the 72 GiB that the sparse image of the whole plan is large.
    let scaled = on_image("build-farm", Some(0.002), "72GiB");
    assert!(image(&scaled) < GIB, "{}", image(&scaled));
    assert!(image_room(&scaled, image(&scaled)) < GIB);
    let whole = on_image("build-farm", None, "72GiB");
    assert_eq!(image(&whole), 72 * GIB);
    let room = image_room(&whole, 72 * GIB);
    assert!((60 * GIB..72 * GIB).contains(&room), "{room}");
}

#[test]
fn a_scaled_plan_takes_no_larger_modelled_device_than_its_data_want() {
    // 3 MB of data were written to 2 TB, of which ext2 and ext3 wrote 31 GB of tables each.
    let modelled = |scale| {
        let overrides = Overrides { scale, ..Overrides::default() };
        let plan = read_with(preset("usb-backup").unwrap().toml, "usb-backup", &overrides).unwrap();
        let DeviceSource::Model { size: Bytes(size), .. } = plan.device.source else { panic!("no model") };
        size
    };
    assert!(modelled(None) > 1000 * GIB);
    let scaled = modelled(Some(0.002));
    assert!((300 << 20..8 * GIB).contains(&scaled), "{scaled}");
}

#[test]
fn what_a_preset_says_of_its_size_is_so() {
    let demo = preset("demo").unwrap();
    let plan = read(demo.toml, "demo.toml").unwrap();
    let Some(Dataset::Tree(TreeShape { size: Bytes(size), .. })) = plan.datasets.values().next() else {
        panic!("its files are not generated")
    };
    let trials = |blocks: u32| blocks as usize * plan.candidates.len();
    let [fewest, most] = [plan.protocol.blocks.min, plan.protocol.blocks.max].map(trials);
    let said = format!("{} MB, in {fewest} to {most} trials", size / 1_000_000);
    let summary = demo.asked_by().summary;
    assert!(summary.contains(&said), "{said}: {summary}");
}

#[test]
fn an_image_that_was_asked_for_stays_and_commands_may_fill_it() {
    let asked = DeviceSource::Image(Bytes(4 * GIB));
    let overrides = Overrides { scale: Some(0.1), device: vec![asked], ..Overrides::default() };
    let scaled = read_with(preset("usb-backup").unwrap().toml, "usb-backup", &overrides).unwrap();
    assert_eq!((image(&scaled), image_room(&scaled, 4 * GIB)), (4 * GIB, 4 * GIB));
    let scaled = image(&on_image("usb-backup", Some(0.1), "4GiB"));
    // A tenth of 4 GiB, the 300 MiB of xfs, and the header of LUKS.
    assert!((700 << 20..GIB).contains(&scaled), "{scaled}");
}
