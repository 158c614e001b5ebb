//! Words that change nothing in a question: what everybody wants, and layers that the preset has anyway.

use fsverdict_judgement::plan::Preset;

use super::sentence::Sentence;

/// Passes over phrases that change nothing: how full a disk is, what most drives lack, what everybody wants.
pub(super) fn pass_over_asides(sentence: &mut Sentence) {
    const ASIDES: &[&str] = &[
        "without power loss protection",
        "without plp",
        "not caring about data loss",
        "don't care about data loss",
        "dont care about data loss",
        "do not care about data loss",
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
        if let Some(range) = sentence.phrase(at, &["* % full"]) {
            sentence.pass_over(range.start..range.end - 1);
        }
        if let Some(range) = sentence.phrase(at, ASIDES) {
            sentence.pass_over(range);
        }
    }
}

/// Passes over layers that candidates of the preset have: `snapshots on btrfs against lvm on ext4`.
pub(super) fn pass_over_layers(sentence: &mut Sentence, preset: &Preset) {
    const LAYERS: &[(&str, &str)] = &[
        ("\"lvm:", "lvm lvm2 lvm-thin thin thin-provisioned"),
        ("\"md:", "md mdadm md-raid raid1 linux-raid"),
    ];
    for (layer, names) in LAYERS {
        if preset.toml.contains(layer) {
            for at in 0..sentence.len() {
                if sentence.is(at, names) {
                    sentence.pass_over(at..at + 1);
                }
            }
        }
    }
}
