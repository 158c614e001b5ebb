//! With free computation no form of a report says anything on the cost of encryption, compression, checksums, parity or
//! CPU time, however the times differ; each says how to learn it. With a price, the same journal has the statements.

use serde_json::Value;

use crate::fixtures::{PLAIN, Story, data_of, id, page_of};
use crate::topics::free_computation::REMEDY;
use crate::{Format, TerminalLook};
use fsverdict_judgement::journal::{Ending, Event, Facts, Learnt, Unit};
use fsverdict_judgement::plan::{Candidate, Layers, ProtectionFeature};
use fsverdict_testutil::journals as made;

/// How long the candidate that computes more takes, as a multiple of the other.
const RATIOS: [f64; 4] = [1.4, 1.05, 1.001, 0.7];

/// Candidates that differ in computation: the first half without it, the second half with it.
struct Class {
    title: &'static str,
    candidates: Vec<Candidate>,
    /// The protection of the second half, which is then not ranked against the first.
    feature: Option<ProtectionFeature>,
    goal: &'static str,
    /// Some of these stand in the report if computation has a price, and none if it is free.
    statements: Vec<String>,
}

fn candidate(filesystem: &str, layers: &[&str], mkfs: &[&str], mount: &[&str]) -> Candidate {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let name = [&[filesystem], layers, mkfs, mount].concat().join("+").replace([' ', ':', '='], "");
    Candidate {
        name,
        layers: Layers::from_names(layers.iter().copied()).unwrap(),
        mkfs: owned(mkfs),
        mount: owned(mount),
        ..Candidate::with_defaults(filesystem)
    }
}

/// Two candidates that are ranked against each other, and compute differently.
fn rivals(title: &'static str, one: Candidate, other: Candidate) -> Class {
    let of = |name: &str| {
        [
            "ake NAME:",
            "next, NAME",
            "NAME takes",
            "NAME is the",
            "NAME is as",
            "NAME is tied",
            "NAME is ahead",
        ]
        .map(|pattern| pattern.replace("NAME", name))
    };
    let common = [
        "What an option does",
        "tied with it",
        "Certainly behind",
        "✕ behind",
        "lead so far",
        "leads so far",
    ];
    let statements = [of(&one.name), of(&other.name)].concat().into_iter();
    let statements = statements.chain(common.map(str::to_owned)).collect();
    Class { title, candidates: vec![one, other], feature: None, goal: "durable", statements }
}

/// Two filesystems without a layer and on it, which is a protection.
fn protected(title: &'static str, layer: &str, feature: ProtectionFeature, statements: &[&str]) -> Class {
    let on_layer = [layer];
    let candidates = [&[][..], &on_layer]
        .into_iter()
        .flat_map(|layers| ["ext4", "btrfs"].map(|name| candidate(name, layers, &[], &[])));
    let common = ["What protection costs", "What an option does"];
    let statements = statements.iter().chain(&common).map(|text| (*text).to_owned()).collect();
    Class { title, candidates: candidates.collect(), feature: Some(feature), goal: "durable", statements }
}

fn classes() -> Vec<Class> {
    let plain = |name: &str| candidate(name, &[], &[], &[]);
    let mut classes = vec![
        protected(
            "encryption",
            "luks2",
            ProtectionFeature::Encrypted,
            &["Encryption costs", "Encryption saves", "encryption luks2"],
        ),
        protected(
            "integrity",
            "integrity",
            ProtectionFeature::CheckedSectors,
            &["Checksums of sectors cost", "Checksums of sectors save", "layers integrity"],
        ),
        rivals("encryption in one ranking", plain("ext4"), candidate("ext4", &["luks2"], &[], &[])),
        rivals("verity", plain("ext4"), candidate("ext4", &["verity"], &[], &[])),
        rivals(
            "parity of md",
            candidate("ext4", &["md:raid1"], &[], &[]),
            candidate("ext4", &["md:raid5"], &[], &[]),
        ),
        rivals(
            "parity of btrfs",
            candidate("btrfs", &[], &["-d", "raid1"], &[]),
            candidate("btrfs", &[], &["-d", "raid5"], &[]),
        ),
        rivals(
            "parity of zfs",
            candidate("zfs", &[], &["mirror"], &[]),
            candidate("zfs", &[], &["raidz1"], &[]),
        ),
        rivals("layer", plain("xfs"), candidate("xfs", &["lvm:thin"], &[], &[])),
        rivals("deduplication", plain("zfs"), candidate("zfs", &[], &["-O", "dedup=on"], &[])),
        rivals("index", plain("ext4"), candidate("ext4", &[], &["-O", "^dir_index"], &[])),
    ];
    for (filesystem, mkfs, mount) in [
        ("btrfs", &[][..], &["compress=zstd"][..]),
        ("f2fs", &[], &["compress_algorithm=lz4"]),
        ("bcachefs", &["--compression=lz4"], &[]),
        ("zfs", &["-O", "compression=lz4"], &[]),
        ("btrfs", &[], &["nodatasum"]),
        ("btrfs", &["--csum", "xxhash"], &[]),
        ("ext4", &["-O", "^metadata_csum"], &[]),
        ("f2fs", &["-O", "inode_checksum"], &[]),
        ("bcachefs", &["--data_checksum=none"], &[]),
        ("zfs", &["-O", "checksum=sha256"], &[]),
    ] {
        classes.push(rivals(
            "compression and checksums",
            plain(filesystem),
            candidate(filesystem, &[], mkfs, mount),
        ));
    }
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let matrix = [&[][..], &["noatime"]];
    let matrix =
        matrix.into_iter().flat_map(|mount| ["ext4", "xfs"].map(|name| candidate(name, &[], &[], mount)));
    classes.push(Class {
        title: "CPU time as a cost and in factors",
        candidates: matrix.collect(),
        feature: None,
        goal: "durable",
        statements: words(&[
            "CPU, tool",
            "CPU, kernel",
            "CPU, s",
            "adds, CPU s",
            "Time against CPU",
            "its CPU time",
            "of it is computing",
        ]),
    });
    classes.push(Class {
        title: "CPU time as the goal",
        candidates: vec![plain("ext4"), plain("xfs")],
        feature: None,
        goal: "cpu",
        statements: words(&["ake ext4:", "ake xfs:", "next, xfs", "next, ext4", "xfs is tied", "✕ behind"]),
    });
    classes
}

/// A run of the class in simulated time, in which computation has this price.
fn story(class: &Class, ratio: f64, cpu: Option<&str>) -> Story {
    let names: Vec<&str> = class.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    let mut story = Story::new(&names, &["write"]);
    story.plan.candidates.clone_from(&class.candidates);
    story.plan.goal.metric = class.goal.to_owned();
    story.plan.cpu = cpu.map(str::to_owned);
    let half = names.len() / 2;
    let level = |name: &&str| Some(((*name).to_owned(), [class.feature?].into_iter().collect()));
    story.plan.goal.protection = names[half..].iter().filter_map(level).collect();
    for block in 1..=6 {
        story.open_block(block, 1, &names);
        for (at, name) in names.iter().enumerate() {
            let id = id(block, name);
            story.tell(Some(&id), Event::TrialStarted {});
            let learnt = Learnt { device_seconds: Some(20.0), ..Learnt::default() };
            story.tell(Some(&id), Event::Facts { facts: Facts::new(), learnt });
            let strays = 1.0 + 0.002 * f64::from((block * (at as u32 + 3)) % 5);
            let seconds =
                10.0 * strays * if at < half { 1.0 } else { ratio } * if at % 2 == 0 { 1.0 } else { 1.1 };
            let numbers = [
                ("durable", Unit::Seconds, seconds),
                ("cpu", Unit::Seconds, 0.6 * seconds * seconds / 10.0),
                ("cpu_kernel", Unit::Seconds, 0.1 * seconds),
                ("device_written", Unit::Bytes, 1e9 * strays),
            ];
            let is_of_cpu = class.title.starts_with("CPU");
            let numbers: Vec<_> =
                numbers.into_iter().filter(|(metric, ..)| is_of_cpu || !metric.starts_with("cpu")).collect();
            story.tell(Some(&id), Event::Observation(made::measured("write", &numbers)));
            story.tell(Some(&id), made::ended(None, seconds));
        }
        story.close_block(block, 1, None);
    }
    story.finish();
    story
}

/// Every form of the report that people read, as running text.
fn list_forms(story: &Story) -> Vec<(&'static str, String)> {
    let detailed = TerminalLook { detail: true, ..PLAIN };
    let forms = [
        ("terminal", Format::Terminal(PLAIN)),
        ("all tables", Format::Terminal(detailed)),
        ("Markdown", Format::Markdown),
        ("HTML", Format::Html),
        ("JSON", Format::Json),
    ];
    // Markdown escapes the marks of code.
    let flat = |text: String| text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
    forms
        .map(|(name, format)| {
            let text = page_of(story, None, format);
            (name, flat(if name == "HTML" { without_tags(&text) } else { text }))
        })
        .into()
}

/// The text of a page, without scripts and styles.
fn without_tags(page: &str) -> String {
    let (mut rest, mut text) = (page, String::new());
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let end = ["script", "style"].into_iter().find(|name| tag.starts_with(name));
        let end = end.map_or_else(|| ">".to_owned(), |name| format!("</{name}>"));
        rest = tag.split_once(&*end).map_or("", |(_, after)| after);
    }
    text + rest
}

fn found<'a>(class: &'a Class, text: &str) -> Vec<&'a str> {
    class.statements.iter().map(String::as_str).filter(|statement| text.contains(statement)).collect()
}

#[test]
fn what_computation_costs_is_told_only_where_it_has_a_price() {
    for class in classes() {
        for ratio in RATIOS {
            let place =
                |form: &str| format!("{}, {}, {ratio}, {form}", class.title, class.candidates[0].name);
            for (form, text) in list_forms(&story(&class, ratio, None)) {
                assert_eq!(found(&class, &text), [""; 0], "{}: {text}", place(form));
                let is_remedy_once = match form {
                    "terminal" => text.matches(REMEDY).count() == 1,
                    _ => text.contains(REMEDY),
                };
                assert!(is_remedy_once, "{}: {text}", place(form));
                let is_said = text.contains("cannot be told: computation took no time here");
                assert!(is_said || form == "JSON" || class.goal == "cpu", "{}: {text}", place(form));
            }
            let priced = list_forms(&story(&class, ratio, Some("epyc-vm")));
            for (form, text) in &priced {
                // Costs beside time stand in tables for which a reader has to ask.
                let is_expected =
                    *form == "all tables" || !class.title.ends_with("factors") && *form != "JSON";
                assert!(!is_expected || !found(&class, text).is_empty(), "{}: {text}", place(form));
                assert!(!text.contains(REMEDY) && !text.contains("took no time"), "{}: {text}", place(form));
            }
        }
    }
}

#[test]
fn the_data_have_no_number_of_free_computation() {
    for class in classes() {
        for ratio in RATIOS {
            let numbers = |cpu: Option<&str>| {
                let data = data_of(&story(&class, ratio, cpu));
                let verdict = &data["verdict"];
                let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
                let is_cpu = |value: &Value| value.as_str().is_some_and(|metric| metric.starts_with("cpu"));
                let of_cpu = list(&data["estimates"]).into_iter().filter(|one| is_cpu(&one["metric"]));
                let of_cpu =
                    of_cpu.chain(list(&verdict["tradeoffs"]).into_iter().filter(|one| !one["cpu"].is_null()));
                let added = list(&verdict["factors"]).into_iter().filter(|one| !one["added"].is_null());
                let is_filesystem = |one: &Value| one["factor"] == "filesystem" || one["factor"] == "mount";
                let of_options = list(&verdict["factors"]).into_iter().filter(|one| !is_filesystem(one));
                let of_pairs = [&verdict["standings"], &verdict["unsettled"], &verdict["sensitivity"]];
                let is_ranked = class.feature.is_none() && !class.title.starts_with("CPU time as a");
                let of_pairs = of_pairs.into_iter().flat_map(list).filter(|_| is_ranked);
                let costs = list(&verdict["protection_costs"]).into_iter();
                of_cpu.chain(added).chain(of_options).chain(of_pairs).chain(costs).collect::<Vec<_>>()
            };
            assert_eq!(numbers(None), [Value::Null; 0], "{} {ratio}", class.title);
            assert!(!numbers(Some("epyc-vm")).is_empty(), "{} {ratio}", class.title);
        }
    }
}

#[test]
fn filesystems_are_ranked_still_and_bytes_told() {
    let mut class =
        rivals("", candidate("btrfs", &[], &[], &[]), candidate("btrfs", &[], &[], &["compress=zstd"]));
    class.candidates.insert(1, candidate("xfs", &[], &[], &[]));
    class.candidates.push(candidate("ext4", &[], &[], &[]));
    let mut story = story(&class, 0.7, None);
    let mut run = story.run();
    (run.finished, run.ending) = (Some("recommended after 8 blocks".to_owned()), Some(Ending::Rule));
    let report = crate::Report::new(&story.plan, &run, None);
    let mut page = Vec::new();
    crate::write(&report, Format::Markdown, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("the times are decided after") && !page.contains("recommended after"), "{page}");
    let sentence = &report.sentence;
    assert!(
        sentence.starts_with("No recommendation between btrfs+compresszstd (")
            && sentence.contains(" and btrfs; the next, ext4, takes ")
            && sentence.ends_with("The cost of compression cannot be told: computation took no time here."),
        "{sentence}"
    );
    assert!(report.taken().is_none() && report.judged.verdict.behind == ["ext4", "xfs"]);
    assert!(report.plain_words.unwrap().contains(
        "Whether to take btrfs+compresszstd or btrfs is not told; btrfs+compresszstd comes before ext4"
    ));
    // No candidate is marked as the best of a phase if it may be one that computes for nothing.
    assert!(report.picture.unwrap().columns.iter().all(|column| column.best.is_none()));
    // With bytes as the goal, compression is compared as anything else.
    story.plan.goal.metric = "device_written".to_owned();
    let data = data_of(&story);
    assert!(
        data["verdict"].get("untold").is_none()
            && !data["verdict"]["standings"].as_array().unwrap().is_empty()
    );
}

#[test]
fn real_time_has_real_computation() {
    let class = &classes()[0];
    let mut story = story(class, 1.4, None);
    story.records.retain(|record| !matches!(record.event, Event::Facts { .. }));
    for (form, text) in list_forms(&story) {
        assert!(form == "JSON" || !found(class, &text).is_empty(), "{form}: {text}");
        assert!(!text.contains("took no time"), "{form}: {text}");
    }
}
