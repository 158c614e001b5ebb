//! The price of safety in a table: time beside losses.

use crate::number::{plain_number, times, times_with_ends};
use crate::text_table::TextTable;
use fsverdict_judgement::verdict::{LossShare, SafetyPoint};

/// Time and losses side by side; nothing where nothing was looked at, or one candidate alone.
pub(crate) fn build_table(points: &[SafetyPoint]) -> Option<TextTable> {
    if points.len() < 2 {
        return None;
    }
    let columns = list_columns(points);
    let mut header = vec!["candidate", "time, ×"];
    header.extend(columns.iter().map(|column| column.title));
    header.push("beaten by");
    let row = |point: &SafetyPoint| {
        let time = point.time;
        let mut row = vec![
            point.candidate.clone(),
            if time.low.is_some() { times_with_ends(&time) } else { times(time.point) },
        ];
        row.extend(
            columns.iter().map(|column| (column.of)(point).map_or("–".to_owned(), |loss| share(&loss))),
        );
        row.push(point.beaten_by.clone().unwrap_or_else(|| "none".to_owned()));
        row
    };
    let title = "The price of safety: time for the goal, as multiples of the fastest, beside what was lost; \"beaten by\" names a candidate that is no worse in any of these numbers";
    Some(TextTable::new(title, &header, points.iter().map(row).collect()))
}

/// A kind of loss.
pub(crate) struct LossColumn {
    pub(crate) title: &'static str,
    pub(crate) of: fn(&SafetyPoint) -> Option<LossShare>,
}

/// Those kinds that anybody has.
pub(crate) fn list_columns(points: &[SafetyPoint]) -> Vec<LossColumn> {
    let all = [
        LossColumn { title: "lost after a cut, %", of: |point| point.cuts },
        LossColumn { title: "lost to rot, %", of: |point| point.rot },
        LossColumn { title: "… unsaid, %", of: |point| point.rot_unsaid },
    ];
    all.into_iter().filter(|column| points.iter().any(|point| (column.of)(point).is_some())).collect()
}

fn share(loss: &LossShare) -> String {
    let per_cent = |share: f64| plain_number(share * 100.0);
    format!("{} ({}–{})", per_cent(loss.share()), per_cent(loss.low), per_cent(loss.high))
}
