//! What of a class of devices decides, in words and as a table.

use super::number::{times_with_ends, times_within};
use super::text::listing;
use super::text_table::TextTable;
use crate::plan::DrawnNumber;
use crate::verdict::{Dependence, DeviceSide, Judgement};

/// Nobody reads of more; the JSON has all.
const MOST: usize = 8;

/// The first of them, without a full stop: that in which another leads on one of the sides, if there is one.
pub(super) fn sentence(judged: &Judgement<'_>) -> Option<String> {
    let first = judged.verdict.depends.first()?;
    let Dependence { candidate, against, sides: [small, large], .. } = first;
    let side = |side: &DeviceSide| format!("with {} {}", values(side), times_within(&side.ratio));
    let turns = if first.turns(judged.plan.protocol.tie) { ", and so does who leads" } else { "" };
    Some(format!(
        "it depends on the device, by its {}{turns}: {candidate} takes {} times as long as {against}, {} times",
        number(first),
        side(small),
        side(large)
    ))
}

/// Every pair and number, one in a row; nothing where nothing depends on the device.
pub(super) fn table(judged: &Judgement<'_>) -> Option<TextTable> {
    let found = &judged.verdict.depends;
    if found.is_empty() {
        return None;
    }
    let cell = |side: &DeviceSide| format!("{}: {}", values(side), times_with_ends(&side.ratio));
    let row = |one: &Dependence| {
        let [small, large] = &one.sides;
        vec![one.candidate.clone(), one.against.clone(), number(one), cell(small), cell(large)]
    };
    let more = found.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" {more} more are in the JSON.") } else { String::new() };
    let title = format!(
        "It depends on the device: how many times as long the first takes as the second, by what was drawn of the class.{rest}"
    );
    let header = ["candidate", "against", "number", "where small, or false", "where large, or true"];
    Some(TextTable::new(title, &header, found.iter().take(MOST).map(row).collect()))
}

/// The key, and others that went the same way.
pub(super) fn number(one: &Dependence) -> String {
    let names: Vec<&str> = std::iter::once(&one.number).chain(&one.or).map(String::as_str).collect();
    match names.as_slice() {
        [only] => (*only).to_owned(),
        [first, rest @ ..] => {
            format!("{first} (or {}, which went with it in these blocks)", listing(rest, rest.len()))
        }
        [] => String::new(),
    }
}

/// `true`, `8`, `256 KiB to 1.2 MiB`.
pub(super) fn values(side: &DeviceSide) -> String {
    match (side.from, side.to) {
        (DrawnNumber::Flag(flag), _) => flag.to_string(),
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from} to {to}"),
    }
}
