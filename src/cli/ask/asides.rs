//! Words that change nothing in a question: what everybody wants, and layers that the preset has anyway.

use fsverdict_judgement::plan::Preset;

use super::sentence::{Said, Sentence};
use super::vocabulary::COMPARING;

/// Passes over phrases that change nothing: how full a disk is, what most drives lack, what everybody wants.
pub(super) fn pass_over_asides(sentence: &mut Sentence) {
    const ASIDES: &[&str] = &[
        "without power loss protection",
        "without plp",
        "not caring about data loss",
        "don't care about data loss",
        "dont care about data loss",
        "do not care about data loss",
        "crash safety does not matter",
        "crash safety doesn't matter",
        "crash safety is not important",
        "live with losing everything on a crash",
        "losing everything on a crash",
        "live with data loss",
        "data loss does not matter",
        "data loss doesn't matter",
        "losing data does not matter",
        "losing data doesn't matter",
        "data loss is ok",
        "data loss is fine",
        "the least",
        "the most",
        "low power",
        "power consumption",
        "power usage",
        "power saving",
        "power supply",
        "most quick",
        "more quick",
        "more fast",
        "safer against",
        "safe against",
        "more safe",
        "more reliable",
        "linux only",
    ];
    for at in 0..sentence.len() {
        // `full` itself may be the work.
        if let Some(range) = sentence.find_phrase(at, &["* % full"]) {
            sentence.pass_over(range.start..range.end - 1);
        }
        if let Some(range) = sentence.find_phrase(at, ASIDES) {
            sentence.pass_over(range);
        }
    }
}

/// How layers are called, and how their names in a plan begin; longer words first.
const LAYERS: &[(&[&str], &str)] = &[
    (&["lvm thin", "thin lvm", "lvm-thin", "lvm thin-provisioned", "lvm thinpool"], "lvm:thin"),
    (&["lvm", "lvm2"], "lvm"),
    (&["thin", "thin-provisioned"], "lvm:thin"),
    (&["md raid1", "mdadm raid1", "md-raid", "md", "mdadm", "raid1", "linux-raid"], "md"),
];

/// Takes layers out of the sentence that candidates of the preset have (`snapshots on btrfs against lvm on ext4`), and returns
/// those that are one side of a choice by themselves (`lvm thin or btrfs`).
pub(super) fn hear_layers(sentence: &mut Sentence, preset: &Preset) -> Vec<Said<&'static str>> {
    let mut sides = Vec::new();
    for at in 0..sentence.len() {
        let found = LAYERS.iter().find_map(|(names, layer)| Some((sentence.find_phrase(at, names)?, *layer)));
        let Some((range, layer)) = found.filter(|(_, layer)| preset.toml.contains(&format!("\"{layer}")))
        else {
            continue;
        };
        let is_compared = sentence.is_before(at, COMPARING) || sentence.is(range.end, COMPARING);
        let is_joined = sentence.is_before(at, JOINING) || sentence.is(range.end, JOINING);
        let words = sentence.take(range);
        if is_compared && !is_joined {
            sides.push(Said::new(layer, words));
        }
    }
    sides
}

/// Between a layer and the filesystem that lies on it.
const JOINING: &str = "on over with under below + and plus";
