//! Topic: the verdicts of several environments: which candidate to take in which, and where the order changes.

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::page::{Media, PageBlock, RatioRow, RatioTable, Text};
use crate::topics::kernels;
use crate::wording::{TextTable, listing, percent, times_within};
use fsverdict_judgement::plan::group_by_key;
use fsverdict_judgement::verdict::{Across, AcrossColumn, Estimate, Order};

pub(super) static TOPIC: ReportTopic = ReportTopic {
    build_tables: |report| {
        let tables = report.across.iter().flat_map(|across| build_tables(&across.found));
        address_tables(Media::TEXT, tables).collect()
    },
    build_section,
    ..ReportTopic::EMPTY
};

/// The results in each environment, with a sentence about each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SideBySide {
    pub(crate) found: Across,
    sentences: Vec<String>,
}

impl SideBySide {
    /// Environments side by side, each with a sentence.
    pub(crate) fn new(found: Across, sentences: Vec<String>) -> Self {
        Self { found, sentences }
    }

    pub(crate) fn columns(&self) -> impl Iterator<Item = (&AcrossColumn, &str)> {
        self.found.columns.iter().zip(self.sentences.iter().map(String::as_str))
    }

    pub(crate) fn write_sentence(&self) -> String {
        let each = self.columns().map(|(column, sentence)| format!("{}: {sentence}", column.title));
        let (each, change) = (each.collect::<Vec<_>>().join(" "), describe_changes(&self.found));
        // An order that is not known answers no question, so it comes after the verdicts.
        match self.found.compare_order() {
            Order::Turns { .. } | Order::Same => format!("{change} {each}"),
            Order::NotCompared | Order::Untold => format!("{each} {change}"),
        }
    }
}

/// The conclusion for one column.
#[derive(PartialEq)]
enum ColumnChoice {
    Taken(String),
    /// Every candidate misses a requirement.
    Nobody,
    Undecided,
}

/// Which candidate to take in which environment, and where the order changes.
pub(crate) fn write_headline(across: &Across) -> String {
    let choice = |column: &AcrossColumn| match column.recommended_name() {
        Some(taken) => ColumnChoice::Taken(taken),
        None if column.result.verdict.nobody_is_left() => ColumnChoice::Nobody,
        None => ColumnChoice::Undecided,
    };
    let mut choices =
        group_by_key(across.columns.iter().map(|column| (choice(column), column.title.as_str())));
    // Undecided columns come last.
    choices.sort_by_key(|(choice, _)| match choice {
        ColumnChoice::Taken(_) => 0,
        ColumnChoice::Nobody => 1,
        ColumnChoice::Undecided => 2,
    });
    let parts = choices.iter().map(|(choice, titles)| {
        let on = listing(titles, titles.len());
        match choice {
            ColumnChoice::Taken(taken) => format!("take {taken} ({on})"),
            ColumnChoice::Nobody => format!("no candidate meets the requirements ({on})"),
            ColumnChoice::Undecided => format!("undecided: {on}"),
        }
    });
    let parts = parts.collect::<Vec<_>>().join("; ");
    format!("By {}: {parts}. {}", across.what, describe_changes(across))
}

/// Where the order changes most, and the changes by another kernel.
pub(crate) fn describe_changes(across: &Across) -> String {
    let kernels = across.kernels.iter().map(kernels::write_sentence);
    std::iter::once(describe_order(across)).chain(kernels).collect::<Vec<_>>().join(" ")
}

fn describe_order(across: &Across) -> String {
    let what = across.what;
    match across.compare_order() {
        Order::NotCompared => format!(
            "There is no order to compare by {what}: no two candidates were measured under two or more."
        ),
        // Where the second candidate is behind, the first is ahead of it.
        Order::Turns { behind: (behind, there), ahead: (ahead, here) } => format!(
            "The order changes with the {what}: {} is ahead of {} by a factor of {} ({there}), and behind it by {} ({here}).",
            behind.against,
            behind.of,
            times_within(&behind.ratio),
            times_within(&ahead.ratio.invert()),
        ),
        Order::Same => {
            format!("The order is the same whatever the {what}, within {}.", percent(across.tie))
        }
        Order::Untold => {
            format!("Whether the order changes with the {what} is not told: the intervals allow both.")
        }
    }
}

/// The candidates beside the best of each column.
fn build_ratios(across: &Across) -> RatioTable {
    let row = |name: &String| {
        let ratios = across.columns.iter().map(|column| column.find_ratio(name));
        let ratios = ratios.map(|found| Some(Estimate::without_interval(found?, 1)));
        RatioRow { words: vec![name.clone()], ratios: ratios.collect() }
    };
    RatioTable {
        title: format!("Times the best for each {}", across.what),
        words: vec!["candidate"],
        columns: across.columns.iter().map(|column| column.title.clone()).collect(),
        rows: across.candidates.iter().map(row).collect(),
    }
}

fn build_tables(across: &Across) -> Vec<TextTable> {
    let ratios = std::iter::once(build_ratios(across).to_text());
    ratios.chain(across.kernels.iter().map(kernels::build_table)).collect()
}

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let across = report.across.as_ref()?;
    let found = &across.found;
    let facts = across.columns().map(|(column, said)| (Text::foreign(&column.title), Text::foreign(said)));
    let caption = format!("Candidates by {}, as multiples of the best of each", found.what);
    let mut blocks = vec![
        PageBlock::Lead(Text::foreign(&describe_changes(found))),
        PageBlock::picture(move || build_ratios(found).draw(&caption)),
        PageBlock::Facts(facts.collect()),
    ];
    blocks.extend(found.kernels.iter().map(kernels::build_table).map(PageBlock::plain_table));
    Some(PageBlock::section("across", "Which on what", blocks))
}

#[cfg(test)]
mod tests {
    use super::{build_tables, write_headline};
    use crate::Report;
    use crate::fixtures::{Story, id};
    use fsverdict_judgement::plan::Environment;

    #[test]
    fn nothing_is_claimed_of_an_order_that_nobody_measured() {
        let names = ["ext4-on-usb-stick", "ext4-on-hdd-7200"];
        let mut story = Story::new(&names, &["write"]);
        for (candidate, model) in story.plan.candidates.iter_mut().zip(["usb-stick", "hdd-7200"]) {
            candidate.under = Environment { model: Some(model.to_owned()), ..Environment::default() };
        }
        story.finish();
        let run = story.run();
        let sentence = Report::new(&story.plan, &run, None).sentence;
        assert!(sentence.contains(" There is no order to compare by device: "), "{sentence}");
    }

    /// Two filesystems on two devices: who is ahead on one is behind on the other, by these seconds.
    fn shown(times: [f64; 4]) -> (String, String, String) {
        strayed(times, |_, _| 0.01)
    }

    /// The same, each trial by so much longer for each block.
    fn strayed(times: [f64; 4], by: impl Fn(u32, usize) -> f64) -> (String, String, String) {
        let names = ["ext4-on-usb-stick", "ext4-on-hdd-7200", "f2fs-on-usb-stick", "f2fs-on-hdd-7200"];
        let mut story = Story::new(&names, &["write"]);
        for (candidate, model) in
            story.plan.candidates.iter_mut().zip(["usb-stick", "hdd-7200"].into_iter().cycle())
        {
            candidate.under = Environment { model: Some(model.to_owned()), ..Environment::default() };
        }
        for block in 1..=3 {
            story.open_block(block, 1, &names);
            for (at, (name, seconds)) in names.iter().zip(times).enumerate() {
                story.trial(&id(block, name), &[("write", seconds + by(block, at) * f64::from(block))]);
            }
            story.close_block(block, 1, None);
        }
        story.finish();
        let run = story.run();
        let report = Report::new(&story.plan, &run, None);
        assert!(report.judged.verdict.refused.is_some() && report.judged.verdict.ranking.is_empty());
        // Nor is a candidate on one device beaten by one on another.
        assert!(report.judged.verdict.tradeoffs.is_empty());
        let across = &report.across.as_ref().unwrap().found;
        assert_eq!(build_tables(across).len(), 1);
        (report.sentence.clone(), format!("{:?}", build_tables(across)[0].rows), write_headline(across))
    }

    #[test]
    fn it_is_said_on_which_device_the_order_changes() {
        let (sentence, rows, headline) = shown([8.0, 1.0, 2.0, 3.0]);
        let words = [
            "The order changes with the device: ext4 is ahead of f2fs by a factor of 2.9",
            "(hdd-7200), and behind it by 3.9",
            "(usb-stick). usb-stick: ",
            " hdd-7200: ",
        ];
        assert!(words.iter().all(|word| sentence.contains(word)), "{sentence}");
        assert!(rows.contains("[[\"ext4\", \"3.9") && rows.contains("[\"f2fs\", \"1.00\", \"2.9"), "{rows}");
        assert!(
            headline.starts_with("By device: take f2fs (usb-stick); take ext4 (hdd-7200). The order changes"),
            "{headline}"
        );
        let (sentence, _, headline) = shown([8.0, 6.0, 2.0, 3.0]);
        assert!(headline.starts_with("By device: take f2fs (usb-stick and hdd-7200). "), "{headline}");
        assert!(sentence.starts_with("The order is the same whatever the device"), "{sentence}");
    }

    #[test]
    fn an_order_that_only_the_points_have_neither_changes_nor_stays() {
        let by = |block: u32, at: usize| [0.0, 0.4, 0.3, 0.0][at] * f64::from(block % 2);
        for times in [[2.2, 1.9, 2.0, 2.1], [2.0, 2.0, 2.1, 2.1]] {
            let (sentence, _, headline) = strayed(times, by);
            let not_told =
                " Whether the order changes with the device is not told: the intervals allow both.";
            assert!(sentence.ends_with(not_told), "{sentence}");
            assert!(!headline.contains("The order"), "{headline}");
        }
    }
}
