//! The section of evidence: the environment, the plan, the commands, the method, and the data to take away.

use maud::{Markup, html};

use super::thinning::Thinned;
use super::{carried, commands};
use crate::number::percent;
use crate::page::{PageBlock, Text};
use crate::{Report, harness};

/// The sources of the method: title and address.
const SOURCES: [(&str, &str); 4] = [
    (
        "Traeger, Zadok, Joukov, Wright: A nine year study of file system and storage benchmarking (ACM TOS 2008)",
        "https://doi.org/10.1145/1367829.1367831",
    ),
    (
        "Cao and others: On the performance variation in modern storage stacks (FAST 2017)",
        "https://www.usenix.org/conference/fast17/technical-sessions/presentation/cao",
    ),
    (
        "Maricq and others: Taming performance variability (OSDI 2018)",
        "https://www.usenix.org/conference/osdi18/presentation/maricq",
    ),
    (
        "Hoefler, Belli: Scientific benchmarking of parallel computing systems (SC 2015)",
        "https://doi.org/10.1145/2807591.2807644",
    ),
];

pub(super) fn build_section<'a>(report: &'a Report<'a>, thinned: Option<&Thinned>) -> PageBlock<'a> {
    let again = Text::default()
        .code("fsverdict run THIS-PAGE.html")
        .plain(" repeats the run; ")
        .code("fsverdict show THIS-PAGE.html")
        .plain(" prints this, to be changed.");
    let plan = vec![PageBlock::Note(again), PageBlock::picture(move || carried::shown(report.judged.plan))];
    let mut blocks = downloads(report, thinned);
    blocks.extend([
        PageBlock::fold(None, "Plan: what was asked, to be run again", plan),
        PageBlock::fold(None, "Environment: where it ran", vec![environment(report)]),
        PageBlock::picture(move || commands::build_folded_block(report)),
        PageBlock::fold(
            Some("method"),
            "Method: why these numbers can be trusted, and how far",
            vec![PageBlock::picture(move || method(report))],
        ),
    ]);
    PageBlock::section("evidence", "The evidence", blocks)
}

fn downloads<'a>(report: &Report<'_>, thinned: Option<&Thinned>) -> Vec<PageBlock<'a>> {
    let buttons = || {
        html! { p.downloads hidden {
            button type="button" data-save="csv" { "Save every observation (CSV)" } " "
            button type="button" data-save="json" { "Save the estimates and the verdict (JSON)" }
        } }
    };
    let fewer = |thinned: &Thinned| {
        format!("The CSV saved here holds the trials that are drawn only. {}", thinned.write_sentence())
    };
    let header = &report.judged.run.header;
    let source = Text::ours("Run ")
        .code(&header.id)
        .plain(", plan digest ")
        .code(&header.plan_digest)
        .plain(". The journal ")
        .code(fsverdict_judgement::journal::FILE_NAME)
        .plain(" in the run's folder holds every event; this page can be made from it again with ")
        .code("fsverdict report RUN --format html")
        .plain(".");
    let thinned = thinned.map(|thinned| PageBlock::Note(fewer(thinned).into()));
    [PageBlock::picture(buttons)].into_iter().chain(thinned).chain([PageBlock::Note(source)]).collect()
}

fn environment<'a>(report: &Report<'_>) -> PageBlock<'a> {
    let facts = &report.judged.run.header.environment;
    let fact = |(name, value): (&String, &String)| (Text::default().code(name), Text::foreign(value));
    let harness = report.judged.harness.iter();
    let harness =
        harness.map(|found| (Text::default().code("harness"), harness::write_sentence(found).into()));
    PageBlock::Facts(facts.iter().map(fact).chain(harness).collect())
}

fn method(report: &Report<'_>) -> Markup {
    html! {
        ul {
            li { b { "Two clocks." } " Each phase is timed until the work returned and until it was durable (the work and syncfs). The second is the headline: a filesystem that buffers more must not look faster." }
            li { b { "Fresh." } " Every trial begins with discard and mkfs; cold phases begin after unmounting, dropping caches and mounting again." }
            li { b { "Randomised blocks." } " Every candidate is tried once per block, in random order, so that a machine that grows slower favours no candidate. A block is thrown out only by a rule fixed in advance, never by its result." }
            li { b { "Verified." } " What was written is read back and compared, outside the clock: fast but wrong fails." }
            li { b { "Side by side." } " The leader's number is the geometric mean of its trials; everybody else's is a multiple of that, by the ratios within blocks, with the 95% interval of the multiple. Intervals exist from 3 blocks on." }
            li { b { "Ties." } " Differences below " (percent(report.judged.plan.protocol.tie)) " do not matter, by this plan's own word: such candidates are tied, and a tie is an answer." }
        }
        p { "Where the method comes from:" }
        ul { @for (title, address) in SOURCES { li { a href=(address) rel="noreferrer" { (title) } } } }
        p { "How to read each part of this page: " code { "docs/guides/reading-a-report.md" } " in fsverdict's source." }
    }
}
