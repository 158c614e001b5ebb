//! Reports the effects of options over all candidates that were tried with them, in words and as a table.

use crate::wording::{TextTable, fine_percent, plain_number, times_within};
use fsverdict_judgement::plan::find_axis;
use fsverdict_judgement::verdict::{Estimate, FactorEffect, Interaction, Judgement};

/// The effects that are certain, in a sentence without a full stop; the effect of filesystems is the ranking, and that
/// of devices is no option's. `None` if no effect is certain.
pub(crate) fn write_sentence(judged: &Judgement<'_>) -> Option<String> {
    let certain = judged
        .verdict
        .factors
        .iter()
        .filter(|effect| effect.certain || strongest_interaction(effect).is_some());
    let tie = judged.plan.protocol.tie;
    let certain = certain.filter(|effect| !["filesystem", "model"].contains(&effect.factor));
    let certain: Vec<String> = certain.map(|effect| describe_effect(effect, tie)).collect();
    (!certain.is_empty()).then(|| certain.join("; "))
}

/// `encryption luks2 costs 11% (±3.4%) overall, more so on xfs, where it costs 24% (±4.1%)`.
fn describe_effect(effect: &FactorEffect, tie: f64) -> String {
    let within = effect.ratio.within(1.0 / (1.0 + tie), 1.0 + tie);
    let overall = match (effect.certain, effect.slight) {
        (true, _) => describe_ratio_effect(&effect.ratio),
        (_, true) if within => {
            format!("{}, which is less than matters,", describe_ratio_effect(&effect.ratio))
        }
        (_, true) => format!("{}, which may or may not matter,", describe_ratio_effect(&effect.ratio)),
        _ if within => "makes no difference that matters".to_owned(),
        _ => "makes no certain difference".to_owned(),
    };
    let against = match effect.against.as_deref() {
        None => " against the mean of all".to_owned(),
        Some("") => String::new(),
        Some(base) => format!(" against {base}"),
    };
    let differs = strongest_interaction(effect).map_or(String::new(), |apart| {
        let more = match (effect.ratio.point >= 1.0) == (apart.ratio.point >= 1.0) {
            _ if !effect.certain => "but otherwise",
            true => "more so",
            false => "less so",
        };
        format!(", {more} {}, where it {}", name_level(apart), describe_ratio_effect(&apart.here))
    });
    let computing = effect.added.filter(|added| effect.certain && added.is_computing());
    let computing = computing.map_or(String::new(), |added| {
        let [cpu, durable] = [added.cpu, added.durable].map(plain_number);
        format!(" (most of it is computing: {cpu} s of processors for {durable} s more)")
    });
    format!("{} {}{against} {overall} overall{computing}{differs}", effect.factor, name(&effect.level))
}

/// `costs 11% (±3.4%)`, or a weaker statement if the interval allows only that.
fn describe_ratio_effect(ratio: &Estimate) -> String {
    let ends = ratio.low.zip(ratio.high);
    let half = ends.map_or(String::new(), |(low, high)| format!(" (±{})", fine_percent((high - low) / 2.0)));
    match ends {
        Some((low, high)) if low <= 1.0 && high >= 1.0 => format!("does nothing certain{half}"),
        _ if ratio.point >= 1.0 => format!("costs {}{half}", fine_percent(ratio.point - 1.0)),
        _ => format!("saves {}{half}", fine_percent(1.0 - ratio.point)),
    }
}

/// The interaction in which the effect certainly differs most.
fn strongest_interaction(effect: &FactorEffect) -> Option<&Interaction> {
    let size = |interaction: &&Interaction| libm::fabs(libm::log(interaction.ratio.point));
    let certain = effect.interactions.iter().filter(|interaction| interaction.certain);
    certain.max_by(|interaction, other| size(interaction).total_cmp(&size(other)))
}

pub(crate) fn name_level(interaction: &Interaction) -> String {
    let level = name(&interaction.level);
    find_axis(interaction.factor)
        .map_or_else(|| level.to_owned(), |axis| axis.describe_level(interaction.factor, level))
}

/// The default of an option is not named in a plan.
pub(crate) fn name(level: &str) -> &str {
    if level.is_empty() { "default" } else { level }
}

/// Every effect, and each interaction that is certain.
pub(crate) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let sign = |effect: &FactorEffect| match (effect.certain, effect.slight, effect.ratio.point >= 1.0) {
        (true, _, true) => "costs",
        (true, _, false) => "saves",
        (_, true, true) => "costs little",
        (_, true, false) => "saves little",
        _ => "",
    };
    let measured = judged.verdict.factors.iter().any(|effect| effect.added.is_some());
    let added = |effect: &FactorEffect| match effect.added {
        Some(added) => [added.durable, added.cpu].map(plain_number).to_vec(),
        None if measured => vec!["–".to_owned(); 2],
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for effect in &judged.verdict.factors {
        let against = effect.against.as_deref().map_or("mean of all", name);
        let what = format!("{} {}", effect.factor, name(&effect.level));
        let ratio = times_within(&effect.ratio);
        let mut row = vec![what, against.to_owned(), ratio, sign(effect).to_owned()];
        row.extend(added(effect));
        rows.push(row);
        for interaction in effect.interactions.iter().filter(|interaction| interaction.certain) {
            let sure = if interaction.ratio.point >= 1.0 { "more there" } else { "less there" };
            let here = format!("  {}", name_level(interaction));
            let mut row = vec![here, against.to_owned(), times_within(&interaction.here), sure.to_owned()];
            row.extend(vec![String::new(); if measured { 2 } else { 0 }]);
            rows.push(row);
        }
    }
    let title = "What each option does wherever it was tried, times as much as with the other. Intervals are 95% of each alone; \
                 what is named certain is so with all taken together.";
    let more: &[&str] = if measured { &["adds, s", "adds, CPU s"] } else { &[] };
    TextTable::filled(title, &[&["option", "against", "times", "certain"], more].concat(), rows)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, FactorEffect, Interaction, describe_effect};
    use fsverdict_judgement::verdict::AddedSeconds;

    #[test]
    fn an_option_that_costs_computing_says_so() {
        let effect = |durable: f64, cpu: f64| FactorEffect {
            factor: "layers",
            level: "luks2".to_owned(),
            against: Some(String::new()),
            ratio: Estimate { point: 1.4, low: Some(1.3), high: Some(1.5), n: 5 },
            pairs: 3,
            certain: true,
            slight: false,
            interactions: Vec::new(),
            added: Some(AddedSeconds { durable, cpu }),
        };
        assert_eq!(
            describe_effect(&effect(0.52, 0.44), 0.03),
            "layers luks2 costs 40% (±10.0%) overall (most of it is computing: 0.44 s of processors for 0.52 s more)"
        );
        assert_eq!(describe_effect(&effect(0.52, 0.2), 0.03), "layers luks2 costs 40% (±10.0%) overall");
    }

    #[test]
    fn what_is_certain_and_smaller_than_matters_is_not_called_uncertain() {
        let ratio =
            |point: f64, low: f64, high: f64| Estimate { point, low: Some(low), high: Some(high), n: 5 };
        let on_xfs = Interaction {
            factor: "filesystem",
            level: "xfs".to_owned(),
            here: ratio(1.2, 1.15, 1.25),
            ratio: ratio(1.2, 1.15, 1.25),
            certain: true,
        };
        let said = |ratio: Estimate, slight: bool| {
            let effect = FactorEffect {
                factor: "mount",
                level: "noatime".to_owned(),
                against: Some(String::new()),
                ratio,
                pairs: 3,
                certain: false,
                slight,
                interactions: vec![on_xfs.clone()],
                added: None,
            };
            describe_effect(&effect, 0.03)
        };
        let small = said(ratio(0.9865, 0.981, 0.992), true);
        let wanted =
            "mount noatime saves 1.3% (±0.55%), which is less than matters, overall, but otherwise on xfs";
        assert!(small.starts_with(wanted), "{small}");
        let near = said(ratio(0.975, 0.96, 0.99), true);
        assert!(near.contains("which may or may not matter"), "{near}");
        let none = said(ratio(1.001, 0.99, 1.01), false);
        assert!(none.contains("noatime makes no difference that matters overall"), "{none}");
        let unknown = said(ratio(1.02, 0.9, 1.15), false);
        assert!(unknown.contains("makes no certain difference overall"), "{unknown}");
    }
}
