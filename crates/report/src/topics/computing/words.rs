//! Whether the verdict holds where computing takes time, in words and as a table.

use crate::number::{plain_number, times, times_within};
use crate::text::listing;
use crate::text_table::TextTable;
use fsverdict_judgement::plan::once_each;
use fsverdict_judgement::verdict::{Computed, Computing, Judgement};

/// The most candidates that are named of those that lead where computing counts, and of those without a price.
const MOST_NAMES: usize = 4;

/// The sentences about computing, without full stops; none if computing has no price.
pub(crate) fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let Some(found) = &judged.verdict.computing else { return Vec::new() };
    let mut said = vec![held(found)];
    said.extend(unpriced(found));
    said.push(format!("the cost of computing is based on: {}", found.basis.join("; ")));
    said
}

/// Whether the leader stays where it is.
fn held(found: &Computing) -> String {
    let leader = &found.leader;
    let Some(own) = found.candidates.iter().find(|one| one.candidate == *leader) else {
        return format!("whether it holds where computing takes time is not known: {leader} has no price");
    };
    let mut turns: Vec<(f64, &str)> =
        found.candidates.iter().filter_map(|one| Some((one.leads_beyond?, one.candidate.as_str()))).collect();
    turns.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    if let [(share, first), rest @ ..] = turns.as_slice() {
        let all = own.work + own.layers;
        let too: Vec<String> = rest
            .iter()
            .take(MOST_NAMES)
            .map(|(share, name)| format!("{name} beyond {} s", plain_number(share * all)))
            .collect();
        let too = if too.is_empty() { String::new() } else { format!("; so does {}", too.join(", ")) };
        return format!(
            "CPU was taken as free, and with a price it turns: {first} leads if computing adds more than {} s of the {} s that it takes \
             {leader}, and the same share of its own{too}",
            plain_number(share * all),
            plain_number(all),
        );
    }
    let nearest = found.candidates.iter().filter_map(|one| Some((one, one.with_all?)));
    let nearest = nearest.min_by(|(_, one), (_, other)| one.point.total_cmp(&other.point));
    let next = nearest.map_or(String::new(), |(one, ratio)| {
        format!(
            ": with all of it added {} takes {} times as long as {leader}",
            one.candidate,
            times_within(&ratio)
        )
    });
    format!(
        "CPU was taken as free, and {leader} stays first among those with a price even if no computing overlaps with the device{next}"
    )
}

/// The candidates without a price, with the reasons.
fn unpriced(found: &Computing) -> Option<String> {
    let reasons = once_each(found.unpriced.iter().map(|one| one.reason.as_str()));
    let of = |reason: &str| {
        let with = found.unpriced.iter().filter(|one| one.reason == reason);
        let names: Vec<&str> = with.map(|one| one.candidate.as_str()).collect();
        format!("{} ({reason})", listing(&names, MOST_NAMES))
    };
    let each: Vec<String> = reasons.into_iter().map(of).collect();
    (!each.is_empty())
        .then(|| format!("computing has no price for {}: of them this says nothing", each.join(", ")))
}

/// The candidates with a price, one in a row; `None` if there are none.
pub(crate) fn build_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let found = judged.verdict.computing.as_ref()?;
    let ranking = &judged.verdict.ranking;
    let row = |one: &Computed| {
        let rank = ranking.iter().find(|rank| rank.candidate == one.candidate);
        let free = rank.and_then(|rank| rank.behind).map_or("1".to_owned(), |behind| times(behind.point));
        let all = match &one.with_all {
            Some(ratio) => times_within(ratio),
            None if one.candidate == found.leader => "1".to_owned(),
            None => "–".to_owned(),
        };
        vec![one.candidate.clone(), plain_number(one.work), plain_number(one.layers), free, all]
    };
    let title = "Computing: CPU seconds over the phases of the goal, and how many times as long as the first with none and all of it added";
    let header = ["candidate", "work, s", "layers, s", "with none", "with all"];
    let rows: Vec<Vec<String>> = found.candidates.iter().map(row).collect();
    (!rows.is_empty()).then(|| TextTable::new(title.to_owned(), &header, rows))
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::fixtures::{PLAIN, Story, data_of, id, page_of};
    use fsverdict_judgement::journal::{CpuPrice, CpuPrices, Event, Unpriced};

    /// btrfs takes 10 s of the device, xfs 11 and jfs 12; computing takes so many seconds of each of the first two.
    fn story(btrfs: f64, xfs: f64) -> Story {
        let names = ["btrfs", "xfs", "jfs"];
        let mut story = Story::new(&names, &["write"]);
        for block in 1..=4 {
            story.open_block(block, 1, &names);
            for (name, seconds) in names.into_iter().zip([10.0, 11.0, 12.0]) {
                story.trial(&id(block, name), &[("write", seconds * (1.0 + 0.001 * f64::from(block)))]);
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let price = |candidate: &str, work: f64| CpuPrice {
            candidate: candidate.to_owned(),
            phase: "write".to_owned(),
            work,
            layers: 0.0,
        };
        story.tell(
            None,
            Event::Priced(CpuPrices {
                basis: vec!["measured natively".to_owned()],
                prices: vec![price("btrfs", btrfs), price("xfs", xfs)],
                unpriced: vec![Unpriced {
                    candidate: "jfs".to_owned(),
                    reason: "this kernel has no driver for jfs".to_owned(),
                }],
            }),
        );
        story
    }

    fn said(story: &Story) -> String {
        let shown = page_of(story, None, Format::Terminal(PLAIN));
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_lead_that_computing_cannot_take_holds_even_if_nothing_overlaps() {
        let said = said(&story(0.5, 0.4));
        for told in [
            "btrfs stays first among those with a price even if no computing overlaps with the device: with all of it added xfs takes 1.09",
            "computing has no price for jfs (this kernel has no driver for jfs): of them this says nothing",
            "the cost of computing is based on: measured natively",
        ] {
            assert!(said.contains(told), "{told}: {said}");
        }
        assert!(data_of(&story(0.5, 0.4))["verdict"]["computing"]["candidates"][1]["leads_beyond"].is_null());
    }

    /// 11 s is better than 10 s and something by more than 3 % when that is 1.33 s.
    #[test]
    fn a_lead_that_computing_takes_is_said_to_turn_and_where() {
        let said = said(&story(4.0, 0.0));
        assert!(
            said.contains("xfs leads if computing adds more than 1.3 s of the 4.0 s that it takes btrfs"),
            "{said}"
        );
        let share = &data_of(&story(4.0, 0.0))["verdict"]["computing"]["candidates"][1]["leads_beyond"];
        assert!((share.as_f64().unwrap() * 4.0 - 1.33).abs() < 0.01, "{share}");
    }

    #[test]
    fn without_a_price_of_the_leader_nothing_is_said_to_hold() {
        let said = said(&story(f64::INFINITY, 0.4));
        assert!(said.contains("is not known: btrfs has no price"), "{said}");
    }
}
