//! The limits of a verdict, and their wording: conclusions that a run does not allow.

use std::fmt;

use super::TooLittle;
use crate::statistics::{Estimate, FEWEST};
use fsverdict_text::{Bytes, join_names};

#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// The work is too little to decide by.
    TooLittle(TooLittle),
    /// A candidate that had this ratio to the first in the ranking until it failed.
    Lost {
        candidate: String,
        against: String,
        times: Estimate,
        reason: String,
    },
    /// A phase that some candidates have no number for.
    LeftOut {
        phase: String,
        lacking: Vec<String>,
        /// The share of its data that it moved, where that is too little.
        moved: Option<f64>,
    },
    /// A candidate and its twin, which are the same, differed by this factor.
    ToldApart {
        candidate: String,
        times: f64,
    },
    /// The machine was too busy for any verdict; whether a modelled device can stand for the plan's.
    Refused {
        can_be_modelled: bool,
    },
    /// There are fewer blocks than a conclusion needs.
    FewBlocks(usize),
    /// The time of a block's last trial as a ratio to its first.
    Slope(Estimate),
    /// The time of a trial right after this candidate's as a ratio to one after other candidates'.
    After {
        candidate: String,
        times: Estimate,
    },
    /// Blocks resemble the blocks before them, with this correlation.
    Resemblance(f64),
    /// In some blocks two candidates differed as in no other block. Those blocks were set aside, which made the
    /// difference significant; `all` is the ratio with all blocks, and `aside_ratio` the mean ratio of those set aside.
    SetAside {
        candidate: String,
        against: String,
        aside: usize,
        of: usize,
        all: Estimate,
        aside_ratio: f64,
        /// Whether each block had a modelled device of its own, so that the device may be the cause.
        modelled: bool,
    },
    /// The goal's difference for a candidate comes mostly from one phase, which takes this share of the time;
    /// `added_up` is the ratio of the total times of all phases.
    MostlyOnePhase {
        candidate: String,
        phase: String,
        share: f64,
        added_up: f64,
    },
    /// The errors of the models of device and processor, combined with those of the trials, may reverse the order of the
    /// first candidate and these, which took so many times as long. The models may be wrong by `factor` (95 %) in a ratio
    /// of theirs.
    ModelsMayReverse {
        first: String,
        others: Vec<(String, f64)>,
        factor: f64,
    },
    /// This many blocks did not count.
    MostInvalid(usize),
    ScratchImage,
    Folders,
    FreshlyMade,
    /// Mean bytes of files that each candidate held in this phase when it accepted no more, the largest first.
    Held {
        phase: String,
        held: Vec<(String, Bytes)>,
    },
    /// Candidates that had to remove these shares of their files in this phase, or all of them in vain, to be no fuller than
    /// `to`.
    RoomNotReturned {
        phase: String,
        to: f64,
        removed: Vec<(String, f64)>,
    },
    /// The filesystem was aged on purpose, within the trial.
    AgedAtOnce,
    /// The filesystem was filled on purpose, within the trial.
    FilledAtOnce,
}

impl Limit {
    /// Whether the limit follows from how the run was set up, and not from its results: a reader wants those first.
    pub fn is_of_setup(&self) -> bool {
        matches!(
            self,
            Self::ScratchImage | Self::Folders | Self::FreshlyMade | Self::AgedAtOnce | Self::FilledAtOnce
        )
    }

    /// Whether it might lead a reader to another decision; the rest holds for every run of this kind.
    pub fn may_change_decision(&self) -> bool {
        !matches!(self, Self::FreshlyMade | Self::AgedAtOnce | Self::FilledAtOnce | Self::Held { .. })
    }

    /// The sentence about blocks that were set aside.
    fn write_set_aside(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::SetAside { candidate, against, aside, of, all, aside_ratio, modelled } = self else {
            return Ok(());
        };
        let (lie, were) = if *aside == 1 { ("lies", "was") } else { ("lie", "were") };
        let there = match modelled {
            true if *aside == 1 => "on its device",
            true => "on their devices",
            false => "there",
        };
        write!(
            formatter,
            "{aside} of {of} blocks {lie} far from the others and {were} excluded; {there} {candidate} took {aside_ratio:.2} times as long as {against}, and with all blocks the ratio is {}",
            with_interval(all)
        )
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLittle(why) => why.fmt(formatter),
            Self::Lost { candidate, against, times, reason } => write!(
                formatter,
                "{candidate} is excluded because it failed ({reason}); in the trials before that it took {} {against}",
                as_long(times)
            ),
            Self::LeftOut { phase, lacking, moved: Some(moved) } => write!(
                formatter,
                "{phase} is not compared: with {} it moved only {:.0} % of its data, and less than half is too little to judge by",
                lacking.join(" and "),
                moved * 100.0
            ),
            Self::LeftOut { phase, lacking, moved: None } => {
                let lacking = lacking.join(" and ");
                write!(formatter, "{phase} is not compared: there is no result of {lacking} in it")
            }
            Self::ToldApart { candidate, times } => write!(
                    formatter,
                    "{candidate}, entered twice, took {times:.2} times its own time, which is more than chance: something here favours one of two identical candidates"
                ),
            Self::Refused { can_be_modelled } => {
                if *can_be_modelled {
                    formatter.write_str(
                        "a busy machine does not disturb a modelled device: --device model:sata-ssd@16GB (`fsverdict list models` has \
                         others); or ",
                    )?;
                }
                formatter.write_str(
                    "repeat the run when the machine is idle; --set protocol.disturbed.foreign_cpu=0.5 tolerates more load, \
                     --set protocol.disturbed=false accepts every block",
                )
            }
            Self::FewBlocks(blocks) => {
                let several = if *blocks == 1 { "" } else { "s" };
                write!(
                    formatter,
                    "{blocks} block{several}: a conclusion needs at least {FEWEST}; the order is that of the means so far"
                )
            }
            Self::Slope(times) => write!(
                    formatter,
                    "the last trial of a block takes {} the first: the order is reversed in every second block, so that it favours no candidate",
                    as_long(times)
                ),
            Self::After { candidate, times } => write!(formatter, "trials right after one of {candidate} take {} others", as_long(times)),
            Self::Resemblance(lag) => write!(
                    formatter,
                    "successive blocks are correlated (lag-1 correlation {lag:.1}): the intervals are too narrow, and the conclusions are less certain than stated"
                ),
            Self::SetAside { .. } => self.write_set_aside(formatter),
            Self::MostlyOnePhase { candidate, phase, share, added_up } => write!(
                formatter,
                "the goal is the mean of the phases' ratios, and {candidate} is mostly behind in {phase}, {} of the time: \
                 all phases together take it {added_up:.2} times as long",
                if *share < 0.01 { "less than 1 %".to_owned() } else { format!("{:.0} %", share * 100.0) }
            ),
            Self::ModelsMayReverse { first, others, factor } => {
                let others: Vec<String> = others
                    .iter()
                    .map(|(candidate, times)| format!("{candidate} ({})", signed_percent(times - 1.0)))
                    .collect();
                write!(
                    formatter,
                    "on real hardware {first} may be behind {}: the models may be wrong by {:.0} % in {}, combined with the error of the trials",
                    join_names(&others, 3, "or"),
                    (factor - 1.0) * 100.0,
                    if others.len() == 1 { "this ratio" } else { "these ratios" },
                )
            }
            Self::MostInvalid(blocks) => write!(
                    formatter,
                    "{blocks} blocks were invalid, more than were valid: this machine is too busy for reliable results"
                ),
            Self::ScratchImage => formatter.write_str(
                "measured on a scratch image, not on a disk of its own: your disk may behave differently",
            ),
            Self::Folders => formatter.write_str(
                "existing folders: the age, the fill level and the other users of their filesystems are part of the result",
            ),
            Self::FreshlyMade => formatter.write_str("freshly made filesystems: aged ones may differ"),
            Self::Held { phase, held } => {
                let held: Vec<String> = held.iter().map(|(candidate, bytes)| format!("{candidate} {bytes}")).collect();
                write!(formatter, "bytes of files that each holds when it is full ({phase}): {}", held.join(", "))
            }
            Self::RoomNotReturned { phase, to, removed } => {
                let to = 100.0 * to;
                let each = removed.iter().map(|(candidate, share)| match share {
                    all if *all > 0.999 => format!(
                        "{candidate} gives no room back at once: `{phase}` removed all of its files, and it was still more than {to:.0} % full"
                    ),
                    some => format!(
                        "{candidate} gives little room back at once: `{phase}` had to remove {:.0} % of its files to come down to {to:.0} % full",
                        100.0 * some
                    ),
                });
                formatter.write_str(&each.collect::<Vec<_>>().join("; "))
            }
            Self::AgedAtOnce => formatter.write_str(
                "aged in one go, by changes drawn from a seed: years of real use may leave another state",
            ),
            Self::FilledAtOnce => formatter.write_str(
                "filled in one go, with a quarter removed on the way: years of use may fragment the free space differently",
            ),
        }
    }
}

/// A difference in per cent with its sign; no sign where it rounds to zero.
fn signed_percent(share: f64) -> String {
    let text = format!("{:+.0} %", share * 100.0).replace('-', "−");
    if matches!(text.as_str(), "+0 %" | "−0 %") { "±0 %".to_owned() } else { text }
}

fn as_long(times: &Estimate) -> String {
    format!("{} times as long as", with_interval(times))
}

/// A ratio with its interval, if it has one: `1.06 (0.92 to 1.21)`.
fn with_interval(ratio: &Estimate) -> String {
    let interval = ratio.ends().map_or(String::new(), |(low, high)| format!(" ({low:.2} to {high:.2})"));
    format!("{:.2}{interval}", ratio.point)
}
