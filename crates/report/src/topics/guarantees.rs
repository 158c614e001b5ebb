//! Topic: the guarantees of each candidate besides its speed, and those that the recommended one lacks and another has.

use serde::Serialize;

use super::{ReportTopic, address_tables};
use crate::page::{Media, PageBlock};
use crate::wording::{TextTable, capitalize, difference, listing};

use fsverdict_judgement::plan::{group_by_key, once_each};
use fsverdict_judgement::verdict::{Judgement, LevelTrade};
use fsverdict_text::join_names;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| address_tables(Media::FULL_TEXT, build_table(&report.guarantees)).collect(),
    build_section: |report| {
        let table = PageBlock::plain_table(build_table(&report.guarantees)?);
        Some(PageBlock::section("guarantees", "Guarantees and status", vec![table]))
    },
    ..ReportTopic::EMPTY
};

/// The most candidates that are named for a guarantee.
const MOST_NAMES: usize = 3;

/// The guarantees that a candidate has and lacks as it is made and mounted, and its status in the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Guarantees {
    pub candidate: String,
    pub has: Vec<&'static str>,
    pub lacks: Vec<&'static str>,
    /// The guarantees among `lacks` that matter even if no other candidate has them: each with its consequence, such as
    /// `a checker`.
    #[serde(skip)]
    pub grave: Vec<(&'static str, &'static str)>,
    /// Operating systems besides Linux that read it as they come.
    pub read_by: Vec<&'static str>,
    /// How it stands in the kernel, with dates.
    pub status: &'static str,
    /// Where the status is from, and of when.
    pub status_source: &'static str,
    /// The drawback of that status; `None` for one that is maintained in the kernel.
    pub drawback: Option<String>,
    /// The documents about the rest.
    pub source: &'static str,
}

/// The drawbacks of the recommended candidates, or of the only one: the guarantees that each lacks and a measured one has,
/// and the meaning of its state in the kernel. `None` where none is to be taken, or nothing is lacking.
pub(crate) fn describe_drawbacks(judged: &Judgement<'_>, all: &[Guarantees]) -> Option<String> {
    let taken = match judged.verdict.recommended_names() {
        none if none.is_empty() => judged.candidate_to_take().into_iter().collect(),
        some => some,
    };
    let of = |name: &&str| {
        let guarantees = all.iter().find(|guarantees| guarantees.candidate == **name)?;
        let drawbacks = of_one(judged, guarantees, all);
        (!drawbacks.is_empty()).then(|| (drawbacks, (*name).to_owned()))
    };
    let each = group_by_key(taken.iter().filter_map(of));
    let sentences = each
        .into_iter()
        .map(|(drawbacks, names)| format!("Drawbacks of {}: {}.", listing(&names, MOST_NAMES), drawbacks));
    let readers = judged.verdict.trades.iter().filter_map(|trade| describe_other_reader(trade, all));
    let sentences: Vec<String> = readers.chain(sentences).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// `Only if Windows or macOS must read it: exfat.`: the reason to take the less protected of two candidates.
fn describe_other_reader(trade: &LevelTrade, all: &[Guarantees]) -> Option<String> {
    if !trade.takes_protected() {
        return None;
    }
    let read_by = |name: &String| {
        all.iter().find(|guarantees| guarantees.candidate == *name).map(|guarantees| &guarantees.read_by)
    };
    let own = read_by(&trade.protected)?;
    let readers: Vec<&str> =
        read_by(&trade.other)?.iter().copied().filter(|reader| !own.contains(reader)).collect();
    let readers = (!readers.is_empty()).then(|| join_names(&readers, MOST_NAMES, "or"))?;
    Some(format!("Only if {readers} must read it: {}.", trade.other))
}

fn of_one(judged: &Judgement<'_>, own: &Guarantees, all: &[Guarantees]) -> String {
    let measured = |name: &str| judged.verdict.ranking.iter().any(|rank| rank.candidate == name);
    let others = || {
        all.iter()
            .filter(|guarantees| guarantees.candidate != own.candidate && measured(&guarantees.candidate))
    };
    let lacking = own.lacks.iter().filter_map(|lack| {
        let having: Vec<&Guarantees> = others().filter(|guarantees| guarantees.has.contains(lack)).collect();
        let grave = own.grave.iter().find(|(grave, _)| grave == lack).map(|(_, follows)| *follows);
        if having.is_empty() && grave.is_none() {
            return None;
        }
        let follows = grave.map_or(String::new(), |follows| format!(", so that {follows}"));
        Some((having_it(judged, own, &having), format!("no {}{follows}", lack.trim_start_matches("a "))))
    });
    let together = |(by, lacking): (Option<String>, Vec<String>)| {
        let by = by.map_or(String::new(), |by| format!(" ({by})"));
        format!("{}{by}", lacking.join(", "))
    };
    let status = own.drawback.iter().cloned();
    group_by_key(lacking).into_iter().map(together).chain(status).collect::<Vec<_>>().join("; ")
}

/// `btrfs has it, +3%, −1% to +5%`: the nearest of those that have it, or their names.
fn having_it(judged: &Judgement<'_>, own: &Guarantees, having: &[&Guarantees]) -> Option<String> {
    let group = judged.verdict.groups.iter().find(|group| group.candidates.contains(&own.candidate));
    let ranking = group.map_or(&judged.verdict.ranking, |group| &group.verdict.ranking);
    let nearest = ranking.iter().find_map(|rank| {
        having
            .iter()
            .find(|guarantees| guarantees.candidate == rank.candidate)
            .and(Some((&rank.candidate, rank.behind?)))
    });
    if let Some((name, ratio)) = nearest {
        let difference = difference::cannot_be_told(&ratio).map_or_else(
            || difference::describe_difference(judged, &ratio),
            |why| format!("at a price that {why}"),
        );
        return Some(format!("{name} has that, {difference}"));
    }
    let names = once_each(having.iter().map(|guarantees| guarantees.candidate.as_str()));
    let verb = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| format!("{} {verb} that", listing(&names, MOST_NAMES)))
}

/// Every candidate with its guarantees and its status; `None` where they are not known.
fn build_table(all: &[Guarantees]) -> Option<TextTable> {
    let words = |words: &[&str]| if words.is_empty() { "–".to_owned() } else { words.join(", ") };
    let row = |guarantees: &Guarantees| {
        let others = if guarantees.read_by.is_empty() {
            "Linux only".to_owned()
        } else {
            guarantees.read_by.join(", ")
        };
        let status = format!("{} ({})", guarantees.status.trim_end_matches('.'), guarantees.status_source);
        vec![guarantees.candidate.clone(), words(&guarantees.has), words(&guarantees.lacks), others, status]
    };
    let header = ["candidate", "has", "lacks", "read by", "status in the kernel"];
    let title = "Guarantees, as made and mounted here";
    TextTable::filled(title, &header, all.iter().map(row))
}

/// The sentences of a verdict with the drawbacks behind them.
pub(crate) fn with_drawbacks(sentence: &str, drawbacks: Option<&str>) -> String {
    match drawbacks {
        Some(drawbacks) => format!("{sentence} {}", capitalize(drawbacks)),
        None => sentence.to_owned(),
    }
}
