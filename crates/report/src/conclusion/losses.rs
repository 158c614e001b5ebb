//! Words for the losses of candidates under faults: a recommendation that follows from them, and one that is withheld because
//! losses, or other properties that the plan asks about, are unknown for the first candidates.

use crate::wording::{count, difference, listing, percent};
use fsverdict_judgement::journal::CandidateStatus;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{
    CandidateLosses, Judgement, LossChoice, MissingEvaluation, TriedFault, compare_all,
};

/// The most candidates, and requirements, that are named.
pub(crate) const MOST_NAMES: usize = 4;

/// The recommendation of a candidate for its losses, as the outcome of a run; `None` where the goal decides.
pub(crate) fn recommend_by_losses(judged: &Judgement<'_>) -> Option<String> {
    let choice = judged.verdict.by_losses.as_ref().filter(|choice| choice.decides)?;
    let taken = &choice.taken.candidate;
    let mut sentences = vec![format!("Take {taken}: it lost {}.", compare_losses(choice))];
    let others = compare_all(judged, taken).into_iter();
    let others = others.filter(|rival| choice.others.iter().any(|other| other.candidate == rival.name));
    let others: Vec<String> = others
        .map(|rival| {
            let ratio = &rival.times;
            let difference = difference::cannot_be_told(ratio)
                .unwrap_or_else(|| difference::describe_difference(judged, ratio));
            format!("{} {difference}", rival.name)
        })
        .collect();
    if !others.is_empty() {
        let what = if difference::is_of_time(judged) { "Its rivals' time" } else { "Its rivals" };
        let of_what = difference::of_what(judged);
        sentences.push(format!("{what} {of_what} beside it: {}.", listing(&others, MOST_NAMES)));
    }
    sentences.extend(describe_unexamined(choice));
    Some(sentences.join(" "))
}

/// The losses of the recommended candidate and the others, where the goal decides: a reader of a plan with faults looks for
/// them first. Empty where no fault was tried.
pub(crate) fn describe_losses(judged: &Judgement<'_>) -> String {
    let choice = judged.verdict.by_losses.as_ref().filter(|choice| !choice.decides);
    choice.map_or(String::new(), |choice| {
        let unexamined = describe_unexamined(choice).map_or(String::new(), |sentence| format!("{sentence} "));
        let losses = describe_no_losses(choice)
            .unwrap_or_else(|| format!("{} lost {}.", choice.taken.candidate, compare_losses(choice)));
        format!("{losses} {unexamined}")
    })
}

/// `ext4, xfs and f2fs lost nothing in 35 to 59 states after a power cut each (up to 10%); ext2 lost data in 6% of 35 (2% to 19%).`;
/// `None` if the recommended candidate lost something.
fn describe_no_losses(choice: &LossChoice) -> Option<String> {
    let all = std::iter::once(&choice.taken).chain(&choice.others);
    let (kept, lost): (Vec<_>, Vec<_>) = all.partition(|losses| losses.lost.lost == 0);
    if choice.taken.lost.lost > 0 {
        return None;
    }
    let names: Vec<&str> = kept.iter().map(|losses| losses.candidate.as_str()).collect();
    let counts = || kept.iter().map(|losses| losses.lost.of);
    let (least, most) = (counts().min()?, counts().max()?);
    let states = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let each = if names.len() == 1 { "" } else { " each" };
    let highest = kept.iter().map(|losses| losses.lost.high).fold(0.0, f64::max);
    let [what, preposition] = words_for(choice.fault);
    let lost: Vec<String> = lost
        .iter()
        .map(|losses| format!("{} lost data {preposition} {}", losses.candidate, describe_share(losses)))
        .collect();
    let lost = if lost.is_empty() { String::new() } else { format!("; {}", listing(&lost, MOST_NAMES)) };
    Some(format!(
        "{} lost nothing {preposition} {states} {what}{each} (up to {}){lost}.",
        listing(&names, names.len()),
        percent(highest)
    ))
}

/// The examined cases, and the preposition before them.
fn words_for(fault: TriedFault) -> [&'static str; 2] {
    match fault {
        TriedFault::Rot => ["rotten blocks", "to"],
        TriedFault::PowerCuts => ["states after a power cut", "in"],
    }
}

fn describe_unexamined(choice: &LossChoice) -> Option<String> {
    let names = &choice.unexamined;
    (!names.is_empty()).then(|| {
        let names = listing(names, MOST_NAMES);
        format!("Not examined in this time: {names} (`fsverdict crash RUN NAME` does it).")
    })
}

/// `data to 9% of 34 rotten blocks (3% to 23%), btrfs to 24% of 38 (13% to 39%)`.
fn compare_losses(choice: &LossChoice) -> String {
    let [what, preposition] = words_for(choice.fault);
    let first = match describe_share(&choice.taken).split_once(" (") {
        Some((share, ends)) => format!("data {preposition} {share} {what} ({ends}"),
        None => format!("data {preposition} {} {what}", describe_share(&choice.taken)),
    };
    let others = choice
        .others
        .iter()
        .map(|other| format!("{} {preposition} {}", other.candidate, describe_share(other)));
    let others: Vec<String> = others.collect();
    match others.is_empty() {
        true => first,
        false => format!("{first}, {}", listing(&others, MOST_NAMES)),
    }
}

/// `9% of 34 (3% to 23%)`, `none of 34 (up to 10%)`.
fn describe_share(losses: &CandidateLosses) -> String {
    let lost = losses.lost;
    match lost.lost {
        0 => format!("none of {} (up to {})", lost.of, percent(lost.high)),
        _ => format!(
            "{} of {} ({} to {})",
            percent(lost.share()),
            lost.of,
            percent(lost.low),
            percent(lost.high)
        ),
    }
}

/// Why no candidate is recommended although one leads; `None` where that is not the reason.
pub(crate) fn explain_no_recommendation(judged: &Judgement<'_>) -> Option<String> {
    let unevaluated = &judged.verdict.unevaluated;
    let names: Vec<&str> = unevaluated.iter().map(|missing| missing.candidate.as_str()).collect();
    let lacks = once_each(unevaluated.iter().flat_map(|missing| &missing.lacks).map(ToString::to_string));
    let leader = judged.verdict.ranking.first()?;
    if names.is_empty() {
        return None;
    }
    let examined: Vec<String> = list_examined(judged)
        .into_iter()
        .map(|name| format!("{name}{}", describe_losses_of(judged, name)))
        .collect();
    let examined = match examined.as_slice() {
        [] => String::new(),
        some => format!(" (examined: {})", some.join("; ")),
    };
    Some(format!(
        "No recommendation: {} leads by the goal, and of {} it is not known {}{examined}. {}",
        leader.candidate,
        listing(&names, MOST_NAMES),
        listing(&lacks, MOST_NAMES),
        next_step(judged)
    ))
}

/// How many candidates were examined for the faults that the plan asks about, for a verdict that is open for another
/// reason; empty where all were.
pub(crate) fn describe_coverage(judged: &Judgement<'_>) -> String {
    let tried: Vec<&str> = judged.with_status(CandidateStatus::Ok).map(|entry| entry.name).collect();
    let mut examined = list_examined(judged);
    examined.retain(|name| tried.contains(name));
    if judged.plan.faults.is_none() || tried.is_empty() || examined.len() >= tried.len() {
        return String::new();
    }
    let names = match examined.as_slice() {
        [] => "none".to_owned(),
        some => listing(some, MOST_NAMES),
    };
    format!(" Examined for faults, of {} that are left: {names}.", count(tried.len(), "candidate"))
}

/// The candidates that were examined under faults.
fn list_examined<'a>(judged: &Judgement<'a>) -> Vec<&'a str> {
    let cuts = judged.run.power_cuts.iter().map(|cuts| cuts.candidate.as_str());
    let rotten = judged.run.rotten.iter().map(|rotten| rotten.candidate.as_str());
    once_each(cuts.chain(rotten))
}

/// What a candidate lost under the faults that it was examined for: `, which lost data to 7 of 116 rotten blocks, …`.
fn describe_losses_of(judged: &Judgement<'_>, candidate: &str) -> String {
    let silent = |number: u32| {
        if number == 0 { "none of it silently".to_owned() } else { format!("silently to {number}") }
    };
    let cuts = judged
        .run
        .power_cuts
        .iter()
        .filter(|cuts| cuts.candidate == candidate)
        .map(|cuts| format!("in {} of {} states after a power cut", cuts.count_losses(), cuts.states));
    let rot = judged.run.rotten.iter().filter(|rotten| rotten.candidate == candidate).map(|rotten| {
        match rotten.count_losses() {
            0 => format!("to none of {} rotten blocks", rotten.looked),
            lost => format!("to {lost} of {} rotten blocks, {}", rotten.looked, silent(rotten.count_grave())),
        }
    });
    let each: Vec<String> = cuts.chain(rot).collect();
    if each.is_empty() { String::new() } else { format!(" lost data {}", each.join(" and ")) }
}

fn next_step(judged: &Judgement<'_>) -> &'static str {
    let lacks = |is: fn(&MissingEvaluation) -> bool| {
        judged.verdict.unevaluated.iter().flat_map(|missing| &missing.lacks).any(is)
    };
    match lacks(|missing| !matches!(missing, MissingEvaluation::Requirement(_))) {
        true => "`fsverdict crash RUN` examines them; a longer --for does it within a run.",
        false => "`fsverdict resume RUN --more 3` measures on.",
    }
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::examples::{one, run_of};
    use crate::fixtures::{DETAILED, PLAIN, page_of};
    use fsverdict_judgement::journal::Event;
    use serde_json::json;

    /// The page of three candidates of which blocks rotted: so many of a hundred lost data, or handed out wrong content.
    fn page(lost: [(&str, &str, u32); 3], format: Format) -> String {
        let mut story = run_of(
            &[one("ext4", 4.0, 1.0, 0.01), one("btrfs:dup", 9.0, 2.0, 0.01), one("btrfs", 8.0, 2.0, 0.01)],
            5,
        );
        story.plan.faults = serde_json::from_value(json!({ "power_cuts": 0, "rot": 100 })).unwrap();
        for (name, outcome, count) in lost {
            let tally = json!({ "blocks": 100, "looked": 100, "outcomes": { outcome: count, "unharmed": 100 - count } });
            let seen = json!({ "held": "data", "state": "rot-7-zero", "outcome": outcome, "seen": "wrong" });
            let rotten = json!({
                "candidate": name, "looked": 100, "held": { "data": tally }, "decays": {}, "first": [seen], "trace": "",
            });
            story.tell(None, Event::Rotten(serde_json::from_value(rotten).unwrap()));
        }
        story.finish_for("recommended after 5 blocks");
        page_of(&story, None, format).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_sentence_says_what_was_lost_and_a_failed_candidate_takes_a_line() {
        let lost = |dup: u32| {
            [("ext4", "silent_loss", 4), ("btrfs:dup", "loss_reported", dup), ("btrfs", "loss_reported", 76)]
        };
        let brief = page(lost(9), Format::Terminal(PLAIN));
        let first = "Take btrfs:dup: it lost data to 9% of 100 rotten blocks (5% to 16%), btrfs to 76% of 100 (67% to 83%). Its rivals' time ";
        assert!(brief.contains(first), "{brief}");
        assert!(brief.contains("failed: of 100 rotten blocks: silent loss in 4 "), "{brief}");
        assert!(!brief.contains("accept_loss") && !brief.contains("rot-7-zero"), "{brief}");
        assert!(page(lost(9), Format::Terminal(DETAILED)).contains("rot-7-zero"));
        // Where nothing was lost, the first sentence says so of all, and the goal decides.
        let kept = page(
            [("ext4", "silent_loss", 4), ("btrfs:dup", "unharmed", 0), ("btrfs", "unharmed", 0)],
            Format::Terminal(PLAIN),
        );
        let first = "btrfs and btrfs:dup lost nothing to 100 rotten blocks each (up to 4%). ";
        assert!(kept.contains(first) && kept.find(first) < kept.find("Take btrfs: "), "{kept}");
        // One that is behind by the goal may have lost some.
        let mixed = page(
            [("ext4", "silent_loss", 4), ("btrfs:dup", "loss_reported", 3), ("btrfs", "unharmed", 0)],
            Format::Terminal(PLAIN),
        );
        let first = "btrfs lost nothing to 100 rotten blocks (up to 4%); btrfs:dup lost data to 3% of 100 (";
        assert!(mixed.contains(first), "{mixed}");
        // The goal decides where losses do not.
        let alike = page(lost(78), Format::Terminal(PLAIN));
        assert!(alike.contains("Take btrfs: ") && alike.contains("btrfs lost data to 76% of 100"), "{alike}");
    }
}
