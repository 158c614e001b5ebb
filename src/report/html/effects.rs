//! What one option does: candidates that differ in nothing else, compared within each block, where the machine was
//! in the same mood for both.

use std::collections::HashMap;

use maud::{Markup, html};

use super::figures::{place, strip};
use super::index::Index;
use crate::plan::Candidate;
use crate::report::number::times;
use crate::report::text::{count, one_line};
use crate::report::{PhaseEntry, Report};
use crate::statistics::ratio_estimate;
use crate::verdict::{CONFIDENCE, Estimate, better_of};

/// The strips of effects show at least this factor and at most the other, to either side.
const NARROWEST: f64 = 1.25;
const WIDEST: f64 = 8.0;

/// A candidate and another that has one option more.
struct Pair<'a> {
    base: &'a str,
    changed: &'a str,
    /// What was changed, e.g. `encryption luks2`.
    change: String,
}

/// The ratios of a pair in one phase, paired within blocks.
struct Effect {
    ratio: Estimate,
    /// The interval, or with too few blocks for one the range of the blocks.
    low: f64,
    high: f64,
}

/// The section; nothing where no two candidates differ in just one option.
pub(super) fn section(report: &Report<'_>, index: &Index<'_>) -> Markup {
    let goal = report.plan.goal.metric.as_str();
    let phases: Vec<&PhaseEntry> = report.phases.iter().filter(|phase| report.is_headline(phase)).collect();
    let values = values(report, goal);
    let rows: Vec<(Pair<'_>, Vec<Option<Effect>>)> = pairs(report)
        .into_iter()
        .map(|pair| {
            let effects = phases.iter().map(|phase| effect(report, &values, &pair, &phase.name)).collect();
            (pair, effects)
        })
        .filter(|(_, effects): &(_, Vec<Option<Effect>>)| effects.iter().any(Option::is_some))
        .collect();
    let reach = rows
        .iter()
        .flat_map(|(_, effects)| effects.iter().flatten())
        .map(|effect| effect.ratio.point.max(1.0 / effect.ratio.point))
        .fold(NARROWEST, f64::max)
        .min(WIDEST);
    let claims = rows
        .iter()
        .flat_map(|(_, effects)| effects.iter().flatten())
        .any(|effect| effect.ratio.low.is_some());
    html! {
        @if !rows.is_empty() {
            section #effects aria-labelledby="effects-title" {
                h2 #effects-title { "What an option does" }
                p.lead {
                    "Pairs of candidates that differ in one option only: how many times as much (" (goal) ") with it as without. "
                    "Compared within each block, then estimated over the blocks (Hodges and Lehmann); the line is the 95% interval, or the range "
                    "of the blocks where there are fewer than six."
                }
                div.scroll { table.picture.effects {
                    caption.unseen { "Effect of one option by phase, as a ratio" }
                    thead { tr {
                        th scope="col" { "from → to" }
                        @for phase in &phases { th scope="col" { (one_line(&phase.name)) } }
                    } }
                    tbody { @for (pair, effects) in &rows { (row(report, index, pair, effects, reach)) } }
                } }
                p.note {
                    "The upright in the middle is no effect; the edges are " (times(1.0 / reach)) "× and " (times(reach)) "×. "
                    @if claims {
                        "► certainly better, ◄ certainly worse, ≈ within the tie, ? the interval points both ways. Each cell is judged alone."
                    } @else { "With fewer than six blocks there is no interval, and nothing is claimed." }
                }
            }
        }
    }
}

fn row(
    report: &Report<'_>,
    index: &Index<'_>,
    pair: &Pair<'_>,
    effects: &[Option<Effect>],
    reach: f64,
) -> Markup {
    html! {
        tr data-candidate=[index.number(pair.changed)] {
            th scope="row" { span.name { (one_line(pair.base)) " → " (one_line(pair.changed)) } small { (one_line(&pair.change)) } }
            @for effect in effects {
                @match effect {
                    Some(effect) => { (cell(report, effect, reach)) }
                    None => { td.none { "–" } }
                }
            }
        }
    }
}

impl Effect {
    /// What the interval says: class, sign, words. Without one nothing is claimed, nor where it points both ways.
    fn seen(&self, tie: f64) -> (&'static str, &'static str, &'static str) {
        let (small, large) = (1.0 / (1.0 + tie), 1.0 + tie);
        if self.ratio.low.is_none() {
            ("once", "", "")
        } else if self.low >= small && self.high <= large {
            ("tied", "≈", "no practical difference: ")
        } else if self.high < 1.0 && self.ratio.point < small {
            ("best", "►", "better: ")
        } else if self.low > 1.0 && self.ratio.point > large {
            ("behind", "◄", "worse: ")
        } else {
            ("unclear", "?", "unclear: ")
        }
    }
}

fn cell(report: &Report<'_>, effect: &Effect, reach: f64) -> Markup {
    let (class, sign, words) = effect.seen(report.plan.protocol.tie);
    let at = |ratio: f64| place(ratio, 1.0 / reach, reach);
    let heat = place(effect.ratio.point.max(1.0), 1.0, reach);
    let told = format!(
        "{}× over {}, from {}× to {}×",
        times(effect.ratio.point),
        count(effect.ratio.n, "block"),
        times(effect.low),
        times(effect.high)
    );
    let range = (effect.ratio.n > 1).then(|| (at(effect.low), at(effect.high)));
    html! {
        td.cell.(class) style=(format!("--heat:{heat:.0}%")) title=(told) {
            span.value { span.sign aria-hidden="true" { (sign) } span.unseen { (words) } (times(effect.ratio.point)) "×" }
            (strip(at(effect.ratio.point), range, effect.ratio.point > reach, Some(50.0)))
        }
    }
}

/// The values of the goal's metric by candidate, phase and block.
type Values<'a> = HashMap<(&'a str, &'a str), HashMap<u32, f64>>;

fn values<'a>(report: &'a Report<'_>, metric: &str) -> Values<'a> {
    let mut values: Values<'a> = HashMap::new();
    for trial in report.used_trials() {
        for observation in &trial.observations {
            if let Some(found) = observation.measurements.iter().find(|found| found.metric == metric) {
                let key = (trial.id.candidate.as_str(), observation.phase.as_str());
                values.entry(key).or_default().insert(trial.id.block, found.value);
            }
        }
    }
    values
}

fn effect(report: &Report<'_>, values: &Values<'_>, pair: &Pair<'_>, phase: &str) -> Option<Effect> {
    let (base, changed) = (values.get(&(pair.base, phase))?, values.get(&(pair.changed, phase))?);
    let unit = report.estimates.iter().find(|found| found.metric == report.plan.goal.metric)?.unit;
    let higher = better_of(&report.plan.goal.metric, unit) == crate::journal::Better::Higher;
    let ratios: Vec<f64> = changed
        .iter()
        .filter_map(|(block, with)| Some((with, base.get(block)?)))
        .map(|(with, without)| if higher { without / with } else { with / without })
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    let logs: Vec<f64> = ratios.iter().map(|ratio| libm::log(*ratio)).collect();
    let ratio = ratio_estimate(&logs, CONFIDENCE)?;
    let range = || {
        let ends = ratios.iter().copied();
        (ends.clone().fold(f64::INFINITY, f64::min), ends.fold(0.0, f64::max))
    };
    let (low, high) = ratio.low.zip(ratio.high).unwrap_or_else(range);
    Some(Effect { ratio, low, high })
}

/// Candidates that differ in one option, from the one that leaves it at its default.
fn pairs<'a>(report: &'a Report<'_>) -> Vec<Pair<'a>> {
    let candidates = &report.plan.candidates;
    let mut pairs = Vec::new();
    for changed in candidates {
        for base in candidates {
            if let Some(change) = single_change(base, changed) {
                pairs.push(Pair { base: &base.name, changed: &changed.name, change });
            }
        }
    }
    pairs
}

/// The option that `changed` has and `base` leaves at its default, when all else is the same.
fn single_change(base: &Candidate, changed: &Candidate) -> Option<String> {
    if base.filesystem != changed.filesystem {
        return None;
    }
    let added = |base: &[String], changed: &[String]| -> Vec<String> {
        changed.iter().filter(|word| !base.contains(word)).cloned().collect()
    };
    let kept = |base: &[String], changed: &[String]| base.iter().all(|word| changed.contains(word));
    let differences = [
        (
            base.encryption != changed.encryption,
            base.encryption == "none",
            format!("encryption {}", changed.encryption),
        ),
        (
            base.mkfs != changed.mkfs,
            kept(&base.mkfs, &changed.mkfs),
            format!("mkfs {}", added(&base.mkfs, &changed.mkfs).join(" ")),
        ),
        (
            base.mount != changed.mount,
            kept(&base.mount, &changed.mount),
            format!("mount {}", added(&base.mount, &changed.mount).join(",")),
        ),
        (
            base.scheduler != changed.scheduler,
            base.scheduler.is_none(),
            format!("scheduler {}", changed.scheduler.as_deref().unwrap_or_default()),
        ),
    ];
    let mut found = differences.into_iter().filter(|(differs, ..)| *differs);
    match (found.next(), found.next()) {
        (Some((_, true, change)), None) => Some(change),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, Estimate, single_change};
    use crate::plan::Candidate;

    #[test]
    fn an_effect_is_only_claimed_where_its_whole_interval_agrees() {
        let sign = |low, point, high, n| {
            let interval = (n >= 6).then_some((low, high));
            let ratio =
                Estimate { point, low: interval.map(|ends| ends.0), high: interval.map(|ends| ends.1), n };
            Effect { ratio, low, high }.seen(0.03).1
        };
        assert_eq!(sign(1.1, 1.2, 1.4, 6), "◄");
        assert_eq!(sign(0.5, 0.6, 0.9, 6), "►");
        assert_eq!(sign(0.98, 1.0, 1.02, 6), "≈");
        assert_eq!(sign(0.9, 1.2, 1.4, 6), "?");
        assert_eq!(sign(1.3, 1.4, 1.5, 5), "");
    }

    fn candidate(encryption: &str, mount: &[&str]) -> Candidate {
        Candidate {
            name: "x".to_owned(),
            filesystem: "ext4".to_owned(),
            mkfs: Vec::new(),
            mount: mount.iter().map(|&word| word.to_owned()).collect(),
            encryption: encryption.to_owned(),
            scheduler: None,
        }
    }

    #[test]
    fn only_one_option_may_differ_and_the_base_has_its_default() {
        let change = |base, changed| single_change(&base, &changed);
        let plain = || candidate("none", &[]);
        assert_eq!(change(plain(), candidate("luks2", &[])), Some("encryption luks2".to_owned()));
        assert_eq!(
            change(plain(), candidate("none", &["noatime", "ssd"])),
            Some("mount noatime,ssd".to_owned())
        );
        assert_eq!(change(candidate("luks2", &[]), plain()), None);
        assert_eq!(change(plain(), candidate("luks2", &["noatime"])), None);
        assert_eq!(change(plain(), plain()), None);
        assert_eq!(change(candidate("none", &["a"]), candidate("none", &["b"])), None);
        assert_eq!(
            change(candidate("none", &["a"]), candidate("none", &["a", "b"])),
            Some("mount b".to_owned())
        );
    }
}
