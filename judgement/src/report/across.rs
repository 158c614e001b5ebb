//! Configurations × circumstances (filesystem × device, kernel, memory): the verdict under each, and where the order changes.

use super::Report;
use super::kernels::Kernels;
use super::number::{percent, times, times_within};
use super::text::listing;
use super::text_table::TextTable;
use crate::journal::Trial;
use crate::plan::{Circumstances, Plan, grouped};
use crate::statistics::{Estimate, Evidence, FEWEST, holm};
use crate::verdict::{ALPHA, Comparison, Verdict, settled, strata};

/// The circumstances of a run side by side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Across {
    /// `device`, `kernel`, `memory`, or `circumstance` where several of them differ.
    pub(super) what: &'static str,
    pub(super) columns: Vec<Column>,
    /// What was chosen, with how many times worse it is than the leader of each column.
    pub(super) rows: Vec<(String, Vec<Option<f64>>)>,
    /// Differences below it do not matter.
    tie: f64,
    pub(super) kernels: Vec<Kernels>,
}

/// What was found under the same circumstances.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) sentence: String,
    pub(super) under: Circumstances,
    pub(super) verdict: Verdict,
    pub(super) pairs: Vec<Pair>,
}

/// How many times as much of the goal one takes as another, within blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    one: String,
    other: String,
    evidence: Evidence,
}

/// In which column, and how many times as much and how surely the other one takes there.
type Found = (usize, Estimate, Comparison);

impl Pair {
    /// Of a report: every two of these, named as they are here and as its candidates are.
    pub(super) fn all(report: &Report<'_>, names: &[(String, String)]) -> Vec<Self> {
        let score = |trial: &Trial| report.yardstick.log_score(trial);
        let mut found = Vec::new();
        for (at, (one, against)) in names.iter().enumerate() {
            let samples = names[at + 1..]
                .iter()
                .map(|(other, name)| (other, report.blocks.differences(name, against, score)));
            let (others, samples): (Vec<&String>, Vec<Vec<f64>>) =
                samples.filter(|(_, sample)| !sample.is_empty()).unzip();
            let pairs = others.into_iter().zip(Evidence::among(&samples));
            let pair = |(other, evidence): (&String, Evidence)| Pair {
                one: one.clone(),
                other: other.clone(),
                evidence,
            };
            found.extend(pairs.map(pair));
        }
        found
    }

    fn p(&self) -> f64 {
        if self.evidence.count < FEWEST as usize { 1.0 } else { self.evidence.p_different() }
    }
}

impl Column {
    /// The configuration that is recommended, named without its circumstances.
    fn taken(&self) -> Option<String> {
        self.verdict.recommended.as_deref().map(|name| self.under.without(name))
    }
}

impl Across {
    /// Of a report; `None` where everything was tried under the same circumstances.
    pub(super) fn of(report: &Report<'_>) -> Option<Self> {
        let strata = strata(report.plan, report.run);
        if strata.is_empty() {
            return None;
        }
        let mut across = Across {
            what: what(report.plan),
            columns: Vec::new(),
            rows: Vec::new(),
            tie: report.plan.protocol.tie,
            kernels: Kernels::of(report),
        };
        for (at, stratum) in strata.iter().enumerate() {
            let own = Report::new(&stratum.plan, &stratum.run, None);
            let title = match stratum.under.title() {
                empty if empty.is_empty() => "the plan's own".to_owned(),
                title => title,
            };
            for candidate in &stratum.plan.candidates {
                let name = candidate.under.without(&candidate.name);
                let row = across.rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                    across.rows.push((name, vec![None; strata.len()]));
                    across.rows.len() - 1
                });
                let entry = own.candidates.iter().find(|entry| entry.name == candidate.name);
                let behind = entry.and_then(|entry| entry.behind).map(|behind| behind.point);
                across.rows[row].1[at] = behind;
            }
            let names = stratum.plan.candidates.iter();
            let names =
                names.map(|candidate| (candidate.under.without(&candidate.name), candidate.name.clone()));
            let pairs = Pair::all(&own, &names.collect::<Vec<_>>());
            let (sentence, under, verdict) = (own.sentence, stratum.under.clone(), own.verdict);
            across.columns.push(Column { title, sentence, under, verdict, pairs });
        }
        Some(across)
    }

    /// Of several devices whose runs are not one.
    pub(super) fn on_devices(columns: Vec<Column>, rows: Vec<(String, Vec<Option<f64>>)>, tie: f64) -> Self {
        Across { what: "device", columns, rows, tie, kernels: Vec::new() }
    }

    /// Each verdict, and where the order changes.
    pub(super) fn sentence(&self) -> String {
        let each = self.columns.iter().map(|column| format!("{}: {}", column.title, column.sentence));
        format!("{} {}", self.change(), each.collect::<Vec<_>>().join(" "))
    }

    /// Which to take where, and where the order changes.
    pub(super) fn headline(&self) -> String {
        let taken = self.columns.iter().map(|column| (column.taken(), column.title.as_str()));
        let mut choices = grouped(taken);
        // What is not decided comes last.
        choices.sort_by_key(|(taken, _)| taken.is_none());
        let parts = choices.iter().map(|(taken, titles)| {
            let on = listing(titles, titles.len());
            taken.as_ref().map_or(format!("undecided: {on}"), |taken| format!("take {taken} ({on})"))
        });
        let parts = parts.collect::<Vec<_>>().join("; ");
        format!("By {}: {parts}. {}", self.what, self.change())
    }

    /// Whether there is a choice under all circumstances.
    pub(super) fn is_decided(&self) -> bool {
        self.columns.iter().all(|column| column.taken().is_some())
    }

    /// Where the order changes most, and what another kernel changes.
    pub(super) fn change(&self) -> String {
        let kernels = self.kernels.iter().map(Kernels::sentence);
        std::iter::once(self.order()).chain(kernels).collect::<Vec<_>>().join(" ")
    }

    /// Where the order changes most: of two configurations each is certainly ahead of the other somewhere, by more than a tie,
    /// everything that was compared taken together.
    fn order(&self) -> String {
        let what = self.what;
        let all = || {
            self.columns
                .iter()
                .enumerate()
                .flat_map(|(at, column)| column.pairs.iter().map(move |pair| (at, pair)))
        };
        let adjusted = holm(&all().map(|(_, pair)| pair.p()).collect::<Vec<_>>());
        let mut compared: Vec<((&str, &str), Vec<Found>)> = Vec::new();
        for ((at, pair), p) in all().zip(adjusted) {
            let (names, swapped) =
                ((pair.one.as_str(), pair.other.as_str()), (pair.other.as_str(), pair.one.as_str()));
            let turned = compared.iter().any(|(known, _)| *known == swapped);
            let sign = if turned { -1.0 } else { 1.0 };
            let evidence = Evidence { difference: sign * pair.evidence.difference, ..pair.evidence };
            let (names, ratio) = (if turned { swapped } else { names }, evidence.ratio());
            let found = (at, ratio, settled(&ratio, p, ALPHA, self.tie));
            match compared.iter_mut().find(|(known, _)| *known == names) {
                Some((_, columns)) => columns.push(found),
                None => compared.push((names, vec![found])),
            }
        }
        compared.retain(|(_, columns)| columns.len() > 1);
        if compared.is_empty() {
            return format!(
                "There is no order to compare by {what}: no two candidates were measured under two or more."
            );
        }
        let turns = compared.iter().filter_map(|(names, columns)| {
            let most = |wanted: Comparison| {
                let certain = columns.iter().filter(move |(.., outcome)| *outcome == wanted);
                let size = |ratio: &Estimate| libm::fabs(libm::log(ratio.point));
                certain.max_by(|one, other| size(&one.1).total_cmp(&size(&other.1)))
            };
            let (ahead, behind) = (most(Comparison::Worse)?, most(Comparison::Better)?);
            Some((ahead.1.point.min(behind.1.point.recip()), *names, *ahead, *behind))
        });
        if let Some((_, (one, other), ahead, behind)) = turns.max_by(|one, other| one.0.total_cmp(&other.0)) {
            let on = |at: usize| &self.columns[at].title;
            return format!(
                "The order changes with the {what}: {one} is ahead of {other} by a factor of {} ({}), and behind it by {} ({}).",
                times_within(&ahead.1),
                on(ahead.0),
                times_within(&turned(&behind.1)),
                on(behind.0)
            );
        }
        let (least, most) = (1.0 / (1.0 + self.tie), 1.0 + self.tie);
        let is_same = |(_, columns): &(_, Vec<Found>)| {
            columns.iter().all(|(_, ratio, _)| ratio.low.is_some_and(|low| low >= least))
                || columns.iter().all(|(_, ratio, _)| ratio.high.is_some_and(|high| high <= most))
        };
        match compared.iter().all(is_same) {
            true => format!("The order is the same whatever the {what}, within {}.", percent(self.tie)),
            false => {
                format!("Whether the order changes with the {what} is not told: the intervals allow both.")
            }
        }
    }

    pub(super) fn tables(&self) -> Vec<TextTable> {
        let mut header = vec!["candidate".to_owned()];
        header.extend(self.columns.iter().map(|column| column.title.clone()));
        let cell = |behind: &Option<f64>| behind.map_or("–".to_owned(), times);
        let row = |(name, cells): &(String, Vec<Option<f64>>)| {
            std::iter::once(name.clone()).chain(cells.iter().map(cell)).collect()
        };
        let table = TextTable {
            title: format!("Times the best for each {}", self.what),
            header,
            rows: self.rows.iter().map(row).collect(),
        };
        std::iter::once(table).chain(self.kernels.iter().map(Kernels::table)).collect()
    }
}

/// The other way round.
fn turned(ratio: &Estimate) -> Estimate {
    let (low, high) = (ratio.high.map(f64::recip), ratio.low.map(f64::recip));
    Estimate { point: ratio.point.recip(), low, high, n: ratio.n }
}

fn what(plan: &Plan) -> &'static str {
    let all = plan.circumstances();
    let differs = |of: fn(&Circumstances) -> String| all.iter().any(|under| of(under) != of(all[0]));
    let model = differs(|under| format!("{:?}", under.model));
    let kernel = differs(|under| format!("{:?}", under.kernel));
    let memory = differs(|under| format!("{:?}", under.memory));
    match (model, kernel, memory) {
        (true, false, false) => "device",
        (false, true, false) => "kernel",
        (false, false, true) => "memory",
        _ => "circumstance",
    }
}

#[cfg(test)]
mod tests {
    use super::super::Report;
    use super::super::fixtures::{Story, id};
    use crate::plan::Circumstances;

    #[test]
    fn nothing_is_claimed_of_an_order_that_nobody_measured() {
        let names = ["ext4-on-usb-stick", "ext4-on-hdd-7200"];
        let mut story = Story::new(&names, &["write"]);
        for (candidate, model) in story.plan.candidates.iter_mut().zip(["usb-stick", "hdd-7200"]) {
            candidate.under = Circumstances { model: Some(model.to_owned()), ..Circumstances::default() };
        }
        story.finish();
        let run = story.run();
        let sentence = Report::new(&story.plan, &run, None).sentence;
        assert!(sentence.starts_with("There is no order to compare by device: "), "{sentence}");
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
            candidate.under = Circumstances { model: Some(model.to_owned()), ..Circumstances::default() };
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
        assert!(report.verdict.refused.is_some() && report.verdict.ranking.is_empty());
        // Nor is a candidate on one device beaten by one on another.
        assert!(report.verdict.tradeoffs.is_empty());
        let across = report.across.as_ref().unwrap();
        assert_eq!(across.tables().len(), 1);
        (report.sentence.clone(), format!("{:?}", across.tables()[0].rows), across.headline())
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
                "Whether the order changes with the device is not told: the intervals allow both. ";
            assert!(sentence.starts_with(not_told), "{sentence}");
            assert!(!headline.contains("The order"), "{headline}");
        }
    }
}
