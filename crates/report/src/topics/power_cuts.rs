//! Topic: the outcomes of power cuts, the first states that lost something, and the loss of files by their age. The
//! pictures show the time since a file was saved from left to right, the share of lost files upwards.

use maud::{Markup, html};

use super::{ReportTopic, address_tables};
use crate::Report;
use crate::model::{Clause, ClauseKind};
use crate::page::{Media, PageBlock};
use crate::topics::safety::audience_of_losses;
use crate::wording::{TextTable, one_line, percent_of_cases, plain_number};
use fsverdict_judgement::journal::{AgeBin, CutOutcome, LossAges, PowerCuts, StateFinding};
use fsverdict_judgement::statistics::wilson_interval;
use fsverdict_judgement::verdict::Judgement;

pub(super) static TOPIC: ReportTopic = ReportTopic {
    add_data: |report, document| document.with_list("power_cuts", &report.judged.run.power_cuts),
    build_tables: |report| {
        let outcomes = address_tables(audience_of_losses(report), build_tables(&report.judged));
        let ages = build_age_table(&report.judged);
        outcomes.chain(address_tables(Media::FULL_TEXT, ages)).collect()
    },
    build_section,
    list_clauses: |judged| Clause::list(ClauseKind::Note, write_sentences(judged)),
};

/// Of each candidate so many states are shown that lost something.
const MOST_STATES: usize = 3;

/// Outcomes beside candidates; and the first losses, where there are any.
fn build_tables(judged: &Judgement<'_>) -> Vec<TextTable> {
    let cuts = judged.run.power_cuts.as_slice();
    if cuts.is_empty() {
        return Vec::new();
    }
    let seen: Vec<CutOutcome> = CutOutcome::ALL
        .into_iter()
        .filter(|outcome| {
            *outcome <= CutOutcome::SilentLoss || cuts.iter().any(|cuts| cuts.count(*outcome) > 0)
        })
        .collect();
    let mut header = vec!["candidate", "states"];
    header.extend(seen.iter().map(|outcome| outcome.words()));
    header.push("lost, %");
    let several = cuts.iter().any(|cuts| cuts.trials > 1);
    header.extend(several.then_some("of trials, %"));
    header.push("back, s");
    let rows = cuts.iter().map(|cuts| build_row(cuts, &seen, several)).collect();
    let title = "Power cuts: states of the device, and what became of the filesystem in each; back: device seconds until it was mounted, median and most";
    let mut tables = vec![TextTable::new(title, &header, rows)];
    let first = |cuts: &PowerCuts| -> Vec<Vec<String>> {
        let describe = |finding: &StateFinding| {
            let StateFinding { state, outcome, broken, seen, .. } = finding;
            let is_unpromised = |name: &String| cuts.unpromised.contains(name);
            let whose = if !broken.is_empty() && broken.iter().all(is_unpromised) {
                format!("{} (which no interface promises)", broken.join(", "))
            } else if cuts.priced.is_empty() {
                broken.join(", ")
            } else {
                format!("{} (by its documentation)", broken.join(", "))
            };
            vec![cuts.candidate.clone(), state.clone(), outcome.words().to_owned(), whose, seen.clone()]
        };
        cuts.first.iter().take(MOST_STATES).map(describe).collect()
    };
    let title =
        "The first states that lost something: fsverdict crash RUN CANDIDATE STATE makes the image of one";
    let header = ["candidate", "state", "outcome", "promise", "seen"];
    tables.extend(TextTable::filled(title, &header, cuts.iter().flat_map(first)));
    tables
}

fn build_row(cuts: &PowerCuts, seen: &[CutOutcome], several: bool) -> Vec<String> {
    let mut row = vec![cuts.candidate.clone(), cuts.states.to_string()];
    row.extend(seen.iter().map(|outcome| match cuts.count(*outcome) {
        0 => "–".to_owned(),
        count => count.to_string(),
    }));
    row.push(percent_of_cases(cuts.count_losses(), cuts.states));
    let of_trials = || match cuts.trials {
        0 => "–".to_owned(),
        trials => format!("{} of {trials}", percent_of_cases(cuts.trials_lost, trials)),
    };
    row.extend(several.then(of_trials));
    let [median, most] = cuts.back_s.map(plain_number);
    row.push(format!("{median}, {most}"));
    row
}

/// Why fewer states than cuts were examined: the sampler drops a state with the same content as one that it has.
fn fewer_than_asked(judged: &Judgement<'_>) -> Option<String> {
    let asked = judged.plan.faults.map_or(0, |faults| faults.power_cuts);
    let states = judged.run.power_cuts.iter().map(|cuts| cuts.states);
    let (few, many) = (states.clone().min()?, states.max()?);
    let examined = if few == many { few.to_string() } else { format!("{few} to {many}") };
    (few < asked).then(|| {
        format!(
            "of {asked} power cuts, {examined} different states of the device came about and were examined: cuts that leave the same content count once"
        )
    })
}

/// That nothing was lost is said of the states that were examined, and of no others.
fn nothing_lost(judged: &Judgement<'_>) -> Option<String> {
    let cuts = judged.run.power_cuts.as_slice();
    let states: u32 = cuts.iter().map(|cuts| cuts.states).sum();
    let is_safe = states > 0 && cuts.iter().all(|cuts| cuts.count_losses() == 0);
    let control = match judged.plan.faults.is_some_and(|faults| faults.keeps_all) {
        true => ", on a device that itself keeps all that it was given",
        false => "",
    };
    is_safe.then(|| {
        format!(
            "nothing was lost in the {states} states that were examined{control}: it is not shown that nothing can be lost"
        )
    })
}

/// The sentences about power cuts, without full stops; none if no power was cut.
fn write_sentences(judged: &Judgement<'_>) -> Vec<String> {
    let cuts = judged.run.power_cuts.as_slice();
    let priced = cuts.iter().filter(|cuts| cuts.count_losses() > 0 && !cuts.priced.is_empty());
    let mut sentences: Vec<String> = priced
        .map(|cuts| {
            format!(
                "{} loses by the documentation of its options: {}",
                cuts.candidate,
                cuts.priced.join("; ")
            )
        })
        .collect();
    sentences.extend(fewer_than_asked(judged));
    sentences.extend(nothing_lost(judged));
    if cuts.iter().any(|cuts| cuts.trials > 1) {
        sentences.push(
            "of trials, whose devices are drawn from the class, the share is that of trials in which some state lost something, with its interval over trials: it grows with the states that are looked at of each"
                .to_owned(),
        );
    }
    if !cuts.is_empty() {
        sentences.push(
            "states after a power cut are computed from a log of every write and from what a device of this class may lose before a flush; the intervals describe states, not machines"
                .to_owned(),
        );
    }
    sentences
}

/// Those that lost saved files.
fn losing<'a>(judged: &'a Judgement<'_>) -> impl Iterator<Item = &'a PowerCuts> + Clone {
    judged.run.power_cuts.iter().filter(|cuts| cuts.ages.has_losses())
}

/// The ages of which anybody had a file, as numbers of bins.
fn ages(judged: &Judgement<'_>) -> std::ops::Range<usize> {
    let is_seen = |at: &usize| losing(judged).any(|cuts| cuts.ages.bin_at(*at).looked > 0);
    let seen = || (0..LossAges::BINS).filter(is_seen);
    seen().next().unwrap_or(0)..seen().next_back().map_or(0, |last| last + 1)
}

/// Ages beside candidates; nothing where no file was lost.
fn build_age_table(judged: &Judgement<'_>) -> Option<TextTable> {
    let mut header = vec!["saved before the cut"];
    header.extend(losing(judged).map(|cuts| cuts.candidate.as_str()));
    let row = |at: usize| {
        let mut row = vec![describe_age(at)];
        row.extend(losing(judged).map(|cuts| format_share(cuts.ages.bin_at(at))));
        row
    };
    let title = "Files lost, %, by how long before the cut their last saving had begun, on the device's clock; and of how many, each in every state";
    TextTable::filled(title, &header, ages(judged).map(row))
}

fn describe_age(at: usize) -> String {
    match LossAges::seconds(at) {
        (0.0, Some(to)) => format!("less than {}", format_age(to)),
        (from, Some(to)) => format!("{} to {}", format_age(from), format_age(to)),
        (from, None) => format!("{} and more", format_age(from)),
    }
}

fn format_age(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.0} s") }
}

fn format_share(bin: AgeBin) -> String {
    if bin.looked == 0 {
        return "–".to_owned();
    }
    format!("{} of {}", percent_of_cases(bin.lost, bin.looked), bin.looked)
}

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let tables = build_tables(&report.judged);
    let mut blocks: Vec<PageBlock<'a>> = PageBlock::leads(write_sentences(&report.judged)).collect();
    blocks.extend(tables.into_iter().map(PageBlock::plain_table));
    blocks.extend(draw_pictures(report));
    blocks.extend(build_age_table(&report.judged).map(PageBlock::plain_table));
    (!blocks.is_empty()).then(|| PageBlock::section("power-cuts", "When power is cut", blocks))
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 200.0;
/// Room for the numbers at the axes.
const LEFT: f64 = 40.0;
const FOOT: f64 = 20.0;

/// A picture of each candidate that lost saved files; `None` where none did.
fn draw_pictures<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let judged = &report.judged;
    losing(judged).next()?;
    Some(PageBlock::picture(move || {
        html! { div.depends { @for cuts in losing(judged) { (draw_picture(cuts, ages(judged))) } } }
    }))
}

fn draw_picture(cuts: &PowerCuts, ages: std::ops::Range<usize>) -> Markup {
    let step = (WIDTH - LEFT) / ages.len().max(1) as f64;
    let x = |at: usize| LEFT + (at - ages.start) as f64 * step;
    let y = |share: f64| 6.0 + (1.0 - share) * (HEIGHT - FOOT - 12.0);
    let bins = ages.clone().map(|at| (at, cuts.ages.bin_at(at))).filter(|(_, bin)| bin.looked > 0);
    // Whole decades have their number.
    let is_marked = |at: &usize| at % 3 == 1;
    html! {
        figure.depends {
            figcaption { strong { (one_line(&cuts.candidate)) } ": files lost, by how long before the cut they were saved" }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
                title { (one_line(&cuts.candidate)) ": share of files lost against their age" }
                @for share in [0.0, 0.5, 1.0] {
                    path.equal d=(format!("M{LEFT} {:.1}H{WIDTH}", y(share))) {}
                    text x="2" y=(format!("{:.1}", y(share) + 4.0)) { (format!("{:.0}%", share * 100.0)) }
                }
                @for at in ages.clone().filter(is_marked) {
                    text x=(format!("{:.1}", x(at))) y=(format!("{:.1}", HEIGHT - 5.0)) { (format_age(LossAges::seconds(at).0)) }
                }
                @for (at, bin) in bins {
                    @if let Some([low, high]) = wilson_interval(bin.lost, bin.looked) {
                        path.reach d=(format!("M{:.1} {:.1}V{:.1}", x(at) + step / 2.0, y(low), y(high))) {}
                    }
                    circle.(if bin.lost > 0 { "full" } else { "hollow" })
                        cx=(format!("{:.1}", x(at) + step / 2.0))
                        cy=(format!("{:.1}", y(f64::from(bin.lost) / f64::from(bin.looked)))) r="4" {
                        title { (describe_age(at)) ": " (bin.lost) " of " (bin.looked) }
                    }
                }
            }
        }
    }
}
