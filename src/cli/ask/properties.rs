//! Laws of the grammar: a sentence that is made of random works, devices, candidates, options and requirements, in random
//! order and wording, becomes a plan with exactly those; and one word that is not known ends every question.

use fsverdict_judgement::plan::{Candidate, DeviceSource, Layers, Overrides, RequiredProperty};
use fsverdict_stack::layer::has_property;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::{select, subsequence};

use super::phrasings::understood;
use super::plan::QuestionPlan;

/// How works are called, and the presets that they are.
const WORKS: &[(&str, &str)] = &[
    ("mail", "mail-spool"),
    ("maildirs", "mail-spool"),
    ("photos", "photo-backup"),
    ("games", "games"),
    ("steam library", "games"),
    ("VM images", "vm-image"),
    ("postgres", "postgres"),
    ("Docker", "container-store"),
    ("torrents", "torrents"),
    ("monero node", "blockchain-node"),
    ("git repository", "git-monorepo"),
    ("sqlite", "sqlite-app"),
];

/// How devices are called, and their models.
const DEVICES: &[(&str, &str)] = &[
    ("hdd", "hdd-7200"),
    ("hard disk", "hdd-7200"),
    ("NVMe", "nvme-ssd"),
    ("sata ssd", "sata-ssd"),
    ("usb stick", "usb-stick"),
    ("external SSD", "usb-nvme"),
    ("SD card", "sd-card-a1:filled"),
    ("eMMC", "emmc"),
    ("smr disk", "smr-5400"),
    ("usb hdd", "usb-disk-5400"),
    ("card of a raspberry pi", "sd-card-a1:filled"),
    ("phone", "ufs"),
];

/// Candidates as they are written, and their filesystem, options of mkfs, options of mount and layers.
type CandidatePhrase =
    (&'static str, &'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const CANDIDATES: &[CandidatePhrase] = &[
    ("ext4", "ext4", &[], &[], &[]),
    ("xfs", "xfs", &[], &[], &[]),
    ("plain btrfs", "btrfs", &[], &[], &[]),
    ("f2fs", "f2fs", &[], &[], &[]),
    ("ext4 noatime", "ext4", &[], &["noatime"], &[]),
    ("ext4 with data=journal", "ext4", &[], &["data=journal"], &[]),
    ("ext4 -O fast_commit", "ext4", &["-O", "fast_commit"], &[], &[]),
    ("ext4 -b 1024", "ext4", &["-b", "1024"], &[], &[]),
    ("ext4 with bigalloc", "ext4", &["-O", "bigalloc"], &[], &[]),
    ("ext4 with noatime and data=writeback", "ext4", &[], &["noatime", "data=writeback"], &[]),
    ("xfs reflink=0", "xfs", &["-m", "reflink=0"], &[], &[]),
    ("xfs -m crc=0", "xfs", &["-m", "crc=0"], &[], &[]),
    ("xfs rmapbt off", "xfs", &["-m", "rmapbt=0"], &[], &[]),
    ("xfs -o noatime,logbsize=256k", "xfs", &[], &["noatime", "logbsize=256k"], &[]),
    ("btrfs compress=zstd:3", "btrfs", &[], &["compress=zstd:3"], &[]),
    ("btrfs with lzo compression", "btrfs", &[], &["compress=lzo"], &[]),
    ("btrfs nodatacow", "btrfs", &[], &["nodatacow"], &[]),
    ("btrfs -o compress=zstd:1", "btrfs", &[], &["compress=zstd:1"], &[]),
    ("ext4 on luks", "ext4", &[], &[], &["luks2"]),
    ("btrfs compress=zlib on luks", "btrfs", &[], &["compress=zlib"], &["luks2"]),
];

/// Requirements as they are written.
const REQUIREMENTS: &[(&str, RequiredProperty)] = &[
    ("must be encrypted", RequiredProperty::Encryption),
    ("encrypted", RequiredProperty::Encryption),
    ("must have checksums", RequiredProperty::DataChecksums),
    ("crash safe", RequiredProperty::CrashSafe),
    ("must permissions", RequiredProperty::Permissions),
    ("must support snapshots", RequiredProperty::Snapshots),
    ("I need reflinks", RequiredProperty::Clones),
];

#[derive(Debug, Clone)]
struct Sentence {
    text: String,
    work: &'static str,
    device: Option<&'static str>,
    candidates: Vec<CandidatePhrase>,
    required: Vec<RequiredProperty>,
    minutes: Option<u64>,
    is_planned: bool,
}

fn sentences() -> impl Strategy<Value = Sentence> {
    let parts = (
        select(WORKS),
        select(DEVICES),
        any::<bool>(),
        subsequence(CANDIDATES, 2..=5).prop_shuffle(),
        subsequence(REQUIREMENTS, 0..=2),
        (any::<bool>(), 1_u64..90),
        Just([0_usize, 1, 2, 3, 4]).prop_shuffle(),
        any::<[u8; 9]>(),
    );
    parts.prop_map(
        |(work, device, has_device, candidates, requirements, (has_time, minutes), order, dice)| {
            let pick = |at: usize, all: &[&str]| all[usize::from(dice[at]) % all.len()].to_owned();
            let names: Vec<&str> = candidates.iter().map(|entry| entry.0).collect();
            let list = match dice[0] % 3 {
                0 => names.join(&pick(1, &[" or ", " vs ", ", "])),
                // `a, b or c`
                _ => format!(
                    "{}{}{}",
                    names[..names.len() - 1].join(", "),
                    pick(1, &[" or ", " vs ", " against "]),
                    names[names.len() - 1]
                ),
            };
            let mut required: Vec<RequiredProperty> = Vec::new();
            for (_, property) in &requirements {
                if !required.contains(property) {
                    required.push(*property);
                }
            }
            let musts: Vec<&str> = requirements.iter().map(|(text, _)| *text).collect();
            let phrases = [
                pick(
                    3,
                    &[
                        "for my WORK",
                        "for WORK",
                        "WORK",
                        "which filesystem is best for WORK",
                        "I use it for WORK",
                    ],
                )
                .replace("WORK", work.0),
                if has_device {
                    pick(4, &["on DEVICE", "on my DEVICE", "on a DEVICE", "on the new DEVICE"])
                        .replace("DEVICE", device.0)
                } else {
                    String::new()
                },
                pick(5, &["LIST", "should I take LIST", "between LIST", "what is better: LIST"])
                    .replace("LIST", &list),
                musts.join(", "),
                if has_time {
                    pick(6, &["for Nm", "within N minutes", "in N min"]).replace('N', &minutes.to_string())
                } else {
                    String::new()
                },
            ];
            let ordered: Vec<String> =
                order.iter().map(|at| phrases[*at].clone()).filter(|phrase| !phrase.is_empty()).collect();
            // A clause ends between the parts; the requirements of a list would be those of its last candidate.
            let text = ordered.join(&pick(7, &["; ", ". ", ": ", " – "]));
            let text = if dice[8] % 3 == 0 { format!("{text}?") } else { text };
            Sentence {
                text,
                work: work.1,
                device: has_device.then_some(device.1),
                candidates,
                required,
                minutes: has_time.then_some(minutes),
                is_planned: dice[2] % 12 == 0,
            }
        },
    )
}

/// The configuration of a candidate, without its name.
fn configuration(candidate: &Candidate) -> (String, Vec<String>, Vec<String>, Layers) {
    (candidate.filesystem.clone(), candidate.mkfs.clone(), candidate.mount.clone(), candidate.layers.clone())
}

fn expected_candidates(sentence: &Sentence) -> Vec<Candidate> {
    let is_encrypted = sentence.required.contains(&RequiredProperty::Encryption);
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let all = sentence.candidates.iter().map(|(_, filesystem, mkfs, mount, layers)| {
        let layers = if is_encrypted { &["luks2"][..] } else { layers };
        Candidate {
            mkfs: owned(mkfs),
            mount: owned(mount),
            layers: Layers::from_names(layers.iter().copied()).unwrap(),
            ..Candidate::with_defaults(filesystem)
        }
    });
    let mut distinct: Vec<Candidate> = Vec::new();
    for entry in all {
        if !distinct.iter().any(|other| configuration(other) == configuration(&entry)) {
            distinct.push(entry);
        }
    }
    distinct.retain(|entry| sentence.required.iter().all(|property| has_property(entry, *property)));
    distinct
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_has_exactly_what_its_sentence_says(sentence in sentences()) {
        let question = match understood(&sentence.text) {
            Ok(question) => question,
            Err(error) => return Err(proptest::test_runner::TestCaseError::fail(format!("{}: {error}", sentence.text))),
        };
        prop_assert_eq!(question.name(), sentence.work);
        let named: Vec<_> = question.parsed.candidates.iter().map(|entry| &entry.value).collect();
        prop_assert_eq!(named.len(), sentence.candidates.len(), "{}", &sentence.text);
        for (named, (_, filesystem, mkfs, mount, layers)) in named.iter().zip(&sentence.candidates) {
            let found = (named.filesystem.name, named.options.mkfs.join(" "), named.options.mount.join(","), named.layers.as_slice());
            prop_assert_eq!(found, (*filesystem, mkfs.join(" "), mount.join(","), *layers), "{}", &sentence.text);
        }
        let mut required: Vec<_> = question.properties().into_iter().map(RequiredProperty::word).collect();
        let mut wanted_properties: Vec<_> = sentence.required.iter().map(|property| property.word()).collect();
        required.sort_unstable();
        wanted_properties.sort_unstable();
        prop_assert_eq!(required, wanted_properties, "{}", &sentence.text);
        let device = question.device.as_ref().filter(|device| !device.words.is_empty());
        let model = device.map(|device| match &device.source {
            DeviceSource::Model { name, .. } => name.clone(),
            other => other.to_string(),
        });
        prop_assert_eq!(model.as_deref(), sentence.device, "{}", &sentence.text);
        let budget = question.parsed.budget.as_ref().map(|entry| entry.value.as_secs() / 60);
        prop_assert_eq!(budget, sentence.minutes);
        // To make the plan takes longer than all the rest.
        if !sentence.is_planned {
            return Ok(());
        }
        let wanted = expected_candidates(&sentence);
        let asked = match QuestionPlan::new(&question, Overrides::default()) {
            Ok(asked) => asked,
            // Nothing is left to compare, and the message says so.
            Err(error) => {
                prop_assert!(wanted.len() < 2, "{}: {error}", sentence.text);
                return Ok(());
            }
        };
        let mut found: Vec<_> = asked.plan.candidates.iter().map(configuration).collect();
        let mut wanted: Vec<_> = wanted.iter().map(configuration).collect();
        found.sort_by_key(|entry| format!("{entry:?}"));
        wanted.sort_by_key(|entry| format!("{entry:?}"));
        prop_assert_eq!(found, wanted, "{}", sentence.text);
        let mut properties = asked.plan.goal.require.properties.clone();
        let mut required = sentence.required.clone();
        properties.sort_by_key(|property| property.word());
        required.sort_by_key(|property| property.word());
        prop_assert_eq!(properties, required, "{}", sentence.text);
    }

    #[test]
    fn one_word_that_is_not_known_ends_any_question(sentence in sentences(), at in any::<proptest::sample::Index>()) {
        let mut words: Vec<&str> = sentence.text.split(' ').collect();
        words.insert(at.index(words.len() + 1), "quxly");
        let text = words.join(" ");
        let error = understood(&text).map(|question| question.name()).expect_err(&text);
        prop_assert!(error.to_string().contains("quxly"), "{text}: {error}");
    }
}
