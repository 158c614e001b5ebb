//! Faults that the candidates of another work can be examined for.

use fsverdict_judgement::plan::Preset;

/// A fault that another work can be examined for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedFault {
    PowerCuts,
    Rot,
}

/// States and rotten blocks of each candidate, fewer than in the presets about faults: there is other work besides.
const POWER_CUTS: &str = "faults.power_cuts=200";
const ROT: &str = "faults.rot=100";

impl AskedFault {
    /// The fault that a preset is about.
    pub(super) fn of_preset(preset: &Preset) -> Option<Self> {
        match preset.name {
            "power-cut" => Some(Self::PowerCuts),
            "bit-rot" => Some(Self::Rot),
            _ => None,
        }
    }

    /// `--set` of a plan that is examined for it.
    pub(super) const fn setting(self) -> &'static str {
        match self {
            Self::PowerCuts => POWER_CUTS,
            Self::Rot => ROT,
        }
    }

    pub(super) const fn shown(self) -> &'static str {
        match self {
            Self::PowerCuts => "power cuts: 200 states of each candidate, after its trials",
            Self::Rot => "bit rot: 100 blocks of each candidate, after its trials",
        }
    }
}
