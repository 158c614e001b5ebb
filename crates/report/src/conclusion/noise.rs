//! How noisy a run is, in a sentence.

use crate::wording::{count, fine_percent, of_level, percent, plain_number, times_within};
use fsverdict_judgement::verdict::{ContrastOutcome, Judgement, RunNoise};

/// A run that shows differences from this share on only shows none that anybody asks for.
const HOPELESS: f64 = 9.0;

/// The difference that so many blocks would find in four runs of five (`RunNoise::detectable`): a share, or a factor where
/// that is more than twofold. A run that decides at less has met blocks that agreed better than such blocks usually do.
fn describe_detectable(noise: &RunNoise) -> String {
    let blocks = count(noise.blocks, "block");
    match noise.detectable {
        share if share < 1.0 => {
            format!("{blocks} find a difference of {} in four runs of five", fine_percent(share))
        }
        share if share < HOPELESS => {
            format!(
                "{blocks} find a difference of a factor of {} in four runs of five",
                plain_number(1.0 + share)
            )
        }
        _ => format!("{blocks} would not find a difference of a factor of ten in four runs of five"),
    }
}

/// The sentence, without a full stop; nothing where too little was measured.
pub(crate) fn write_sentence(judged: &Judgement<'_>) -> Option<String> {
    let levels = judged.verdict.by_protection_level().into_iter();
    let of_levels =
        levels.filter_map(|(title, verdict)| Some(of_level(title, &describe_noise(verdict.noise.as_ref()?))));
    let of_levels: Vec<String> = of_levels.collect();
    let mut text = (!of_levels.is_empty()).then(|| of_levels.join("; "))?;
    for pair in &judged.twins {
        let (name, ratio) = (&pair.against, times_within(&pair.ratio));
        text.push_str(&format!("; {name}, entered twice, took {ratio} times its own time"));
    }
    Some(text)
}

/// The noise among candidates of one protection level.
fn describe_noise(noise: &RunNoise) -> String {
    let most = noise.noisiest.as_ref().map_or(String::new(), |(phase, share)| {
        format!(", {} of the variance from {phase}", percent(*share))
    });
    let whose = if noise.others_rested { "among the candidates that were tried to the end, " } else { "" };
    format!(
        "{whose}one trial strays by {}{most}; {}",
        fine_percent(noise.deviation),
        describe_detectable(noise)
    )
}

/// The outcome of a run that compares a candidate with nothing but itself; nothing for any other run, or before there is
/// something to tell.
pub(crate) fn against_itself(judged: &Judgement<'_>) -> Option<String> {
    let pair = judged.against_itself()?;
    let (name, ratio) = (&pair.against, times_within(&pair.ratio));
    let blocks = count(pair.ratio.n, "block");
    let within = percent(judged.plan.protocol.tie);
    let relation = judged.verdict.standings.first().map(|standing| standing.outcome);
    let found = match relation {
        Some(ContrastOutcome::Behind) => {
            "told apart, which is a false alarm: something here favours one of two that are the same"
                .to_owned()
        }
        Some(ContrastOutcome::Tied) => format!("practically tied (within {within})"),
        Some(ContrastOutcome::NotBetter) => {
            format!("no certain difference, and not better by more than {within}")
        }
        Some(ContrastOutcome::Better | ContrastOutcome::Undecided) | None => {
            "not told apart, nor certainly tied".to_owned()
        }
    };
    Some(format!(
        "{name} against itself: {found}. Entered twice, it took {ratio} times its own time over {blocks}."
    ))
}

#[cfg(test)]
mod tests {
    use super::{RunNoise, describe_detectable};

    #[test]
    fn what_hardly_shows_is_said_as_a_factor() {
        let said = |detectable: f64| {
            describe_detectable(&RunNoise {
                deviation: 0.1,
                noisiest: None,
                detectable,
                blocks: 3,
                others_rested: false,
            })
        };
        assert_eq!(said(0.056), "3 blocks find a difference of 5.6% in four runs of five");
        assert_eq!(said(1.4), "3 blocks find a difference of a factor of 2.4 in four runs of five");
        assert_eq!(
            said(110.0),
            "3 blocks would not find a difference of a factor of ten in four runs of five"
        );
    }
}
