//! What everything above rests on: the environment, the plan, the commands, the method, and the data to take away.

use maud::{Markup, html};

use super::thinning::Thinned;
use super::{carried, commands};
use crate::report::number::percent;
use crate::report::text::one_line;
use crate::report::{Report, harness};

/// Where the method comes from: what, and where it can be read.
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

pub(super) fn section(report: &Report<'_>, thinned: Option<&Thinned>) -> Markup {
    html! {
        section #evidence aria-labelledby="evidence-title" {
            h2 #evidence-title { "The evidence" }
            (downloads(report, thinned))
            details {
                summary { "Plan: what was asked, to be run again" }
                p.note { code { "fsverdict run THIS-PAGE.html" } " repeats the run; " code { "fsverdict show THIS-PAGE.html" } " prints this, to be changed." }
                (carried::shown(report.judged.plan))
            }
            details { summary { "Environment: where it ran" } (environment(report)) }
            (commands::folded(report))
            details #method { summary { "Method: why these numbers can be trusted, and how far" } (method(report)) }
        }
    }
}

fn downloads(report: &Report<'_>, thinned: Option<&Thinned>) -> Markup {
    html! {
        p.downloads hidden {
            button type="button" data-save="csv" { "Save every observation (CSV)" } " "
            button type="button" data-save="json" { "Save the estimates and the verdict (JSON)" }
        }
        @if let Some(thinned) = thinned { p.note { "The CSV saved here holds the trials that are drawn only. " (thinned.sentence()) } }
        p.note {
            "Run " code { (one_line(&report.judged.run.header.id)) } ", plan digest " code { (one_line(&report.judged.run.header.plan_digest)) } ". "
            "The journal " code { (crate::journal::FILE_NAME) } " in the run's folder holds every event; this page can be made from it again with "
            code { "fsverdict report RUN --format html" } "."
        }
    }
}

fn environment(report: &Report<'_>) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in &report.judged.run.header.environment {
                dt { code { (one_line(name)) } } dd { (one_line(value)) }
            }
            @if let Some(harness) = report.judged.harness {
                dt { code { "harness" } }
                dd { (harness::sentence(&harness)) }
            }
        }
    }
}

fn method(report: &Report<'_>) -> Markup {
    html! {
        ul {
            li { b { "Two clocks." } " Each phase is timed until the work returned and until it was durable (the work and syncfs). The second is the headline: a filesystem that buffers more must not look faster." }
            li { b { "Fresh." } " Every trial begins with discard and mkfs; cold phases begin after unmounting, dropping caches and mounting again." }
            li { b { "Randomised blocks." } " Every candidate is tried once per block, in random order, so that a machine that grows slower favours nobody. A block is thrown out only by a rule fixed in advance, never by its result." }
            li { b { "Verified." } " What was written is read back and compared, outside the clock: fast but wrong fails." }
            li { b { "Side by side." } " The leader's number is the geometric mean of its trials; everybody else's is a multiple of that, by the ratios within blocks, with the 95% interval of the multiple. Intervals exist from 3 blocks on." }
            li { b { "Ties." } " Differences below " (percent(report.judged.plan.protocol.tie)) " do not matter, by this plan's own word: such candidates are tied, and a tie is an answer." }
        }
        p { "Where the method comes from:" }
        ul { @for (title, address) in SOURCES { li { a href=(address) rel="noreferrer" { (title) } } } }
        p { "How to read each part of this page: " code { "docs/reading-a-report.md" } " in fsverdict's source." }
    }
}
