//! Words for a recommendation among equals: options that change nothing, and safeguards that are given up for a gain.

use crate::wording::difference::{self, name_cost};
use crate::wording::{listing, times_within};
use fsverdict_judgement::plan::ProtectionFeature;
use fsverdict_judgement::verdict::{COSTS, ContrastOutcome, Judgement, Preference};

/// The recommendation; first the safeguards that it gives up, if any, and last why not the leader is recommended.
pub(crate) fn recommend(judged: &Judgement<'_>, taken: &str) -> String {
    let sacrifice = describe_sacrifice(judged).unwrap_or_default();
    let recommendation = difference::recommend_leader(judged, taken);
    let preference = describe_preference(judged, taken).unwrap_or_default();
    format!("{sacrifice}{recommendation}{preference}")
}

/// The candidate that leads by the estimates, of which [`recommend`] has said all, where another one is recommended.
pub(crate) fn passed_over<'a>(judged: &'a Judgement<'_>) -> Option<&'a str> {
    judged.verdict.preference.as_ref().map(|preference| preference.over.as_str())
}

pub(super) fn list_nouns(features: &[ProtectionFeature]) -> String {
    let nouns: Vec<&str> = features.iter().map(|feature| feature.noun()).collect();
    listing(&nouns, nouns.len())
}

/// `Giving up checksums of data pays here: btrfs takes 11.0 s (+8%, +6% to +10%). `
fn describe_sacrifice(judged: &Judgement<'_>) -> Option<String> {
    let sacrifice = judged.verdict.sacrifice.as_ref()?;
    let name = &sacrifice.against;
    let compares = difference::compare_with_leader(judged, name, &judged.verdict.find_standing(name)?.ratio);
    Some(format!("Giving up {} pays here: {name} {compares}. ", list_nouns(&sacrifice.features)))
}

/// `; the option mkfs -m crc=0 (xfs:crc=0) makes no difference here (±0%); xfs:crc=0 gives up checksums of metadata`.
fn describe_preference(judged: &Judgement<'_>, taken: &str) -> Option<String> {
    let Preference { over, keeps, option } = judged.verdict.preference.as_ref()?;
    let standing = judged.verdict.find_standing(over)?;
    let is_tied = standing.has_outcome(ContrastOutcome::Tied, judged.plan.protocol.tie);
    let within = difference::describe_difference(judged, &standing.ratio);
    let better = if difference::is_of_time(judged) { "faster" } else { "better" };
    let what = match (option, is_tied) {
        (Some(option), true) => format!("the option {option} ({over}) makes no difference here ({within})"),
        (None, true) => format!("{over} is not {better} by more than that ({within})"),
        (_, false) => difference::describe_open(judged, over, better, &standing.ratio),
    };
    let gives_up =
        if keeps.is_empty() { String::new() } else { format!("; {over} gives up {}", list_nouns(keeps)) };
    let besides = match list_other_changes(judged, taken, over).as_slice() {
        [] => String::new(),
        some => format!("; besides, it takes {}", some.join(" and ")),
    };
    Some(format!("; {what}{gives_up}{besides}"))
}

/// The costs beside the goal by which a candidate certainly differs from the recommended one by more than a tie.
fn list_other_changes(judged: &Judgement<'_>, taken: &str, other: &str) -> Vec<String> {
    let pair = judged.verdict.find_tradeoff(taken).zip(judged.verdict.find_tradeoff(other));
    let change = 1.0 + judged.plan.protocol.tie;
    let changes = pair.into_iter().flat_map(|(own, theirs)| {
        COSTS.into_iter().filter_map(move |cost| {
            let mine = own.cost(cost).filter(|mine| mine.point > 0.0)?;
            let ratio = theirs.cost(cost)?.map(|value| value / mine.point);
            let differs = ratio.high.is_some_and(|high| high < 1.0 / change)
                || ratio.low.is_some_and(|low| low > change);
            differs.then(|| format!("{} times the {}", times_within(&ratio), name_cost(cost)))
        })
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use crate::Report;
    use crate::examples::{one, run_of};
    use fsverdict_judgement::plan::ProtectionFeature;
    use fsverdict_judgement::plan::Safeguards;

    /// The sentence where `plain` and `changed`, which has these words of mkfs and gives these features up, write in so
    /// many seconds; and the sentence where the option is not known as one that gives anything up or is set at all.
    fn sentences(
        [plain, changed]: [&'static str; 2],
        mkfs: &[&str],
        lost: &[ProtectionFeature],
        [own, other]: [f64; 2],
    ) -> [String; 2] {
        let mut story = run_of(&[one(plain, own, 2.0, 0.004), one(changed, other, 2.0, 0.004)], 8);
        story.finish_for("ranked after 8 blocks");
        let say = |story: &crate::fixtures::Story| Report::new(&story.plan, &story.run(), None).sentence;
        let before = say(&story);
        let words = mkfs.iter().map(|word| (*word).to_owned()).collect();
        story.plan.candidates[1].filesystem = story.plan.candidates[0].filesystem.clone();
        story.plan.candidates[1].mkfs = words;
        let features = || lost.iter().copied().collect();
        let known = Safeguards { has: features(), ..Safeguards::default() };
        let gives_up = Safeguards { changed: features(), ..Safeguards::default() };
        story.plan.goal.safeguards = [(plain.to_owned(), known), (changed.to_owned(), gives_up)].into();
        [before, say(&story)]
    }

    #[test]
    fn what_gains_nothing_is_not_taken_and_what_is_given_up_for_a_gain_comes_first() {
        use ProtectionFeature::{DataChecksums, MetadataChecksums};
        let cases = [
            sentences(["xfs", "xfs:crc=0"], &["-m", "crc=0"], &[MetadataChecksums], [8.0, 7.96]),
            sentences(["btrfs", "btrfs:nodatasum"], &["nodatasum"], &[DataChecksums], [8.0, 7.95]),
            sentences(["ext4", "ext4:fast_commit"], &["-O", "fast_commit"], &[], [8.0, 7.96]),
            sentences(["btrfs", "btrfs:nodatasum"], &["nodatasum"], &[DataChecksums], [9.0, 7.0]),
        ];
        for [before, after] in &cases {
            println!("BEFORE {before}\nAFTER  {after}");
        }
        let [[_, xfs], [_, btrfs], [_, ext4], [_, gain]] = &cases;
        assert!(xfs.starts_with("Take xfs: ") && xfs.contains("gives up checksums of metadata"), "{xfs}");
        assert!(btrfs.starts_with("Take btrfs: "), "{btrfs}");
        assert!(ext4.starts_with("Take ext4: ") && ext4.contains("makes no difference here"), "{ext4}");
        assert!(gain.starts_with("Giving up checksums of data pays here: btrfs takes "), "{gain}");
        assert!(gain.contains("Take btrfs:nodatasum: "), "{gain}");
    }
}
