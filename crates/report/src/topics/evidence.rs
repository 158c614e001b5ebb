//! The section of evidence: the environment, the plan, the commands, the method, and the data to take away.

use maud::{Markup, html};

use super::ReportTopic;
use crate::Report;
use crate::model::thinning::{self, Thinned};
use crate::page::{PageBlock, Text, embedded_plan};
use crate::wording::{count, harness, in_lines, one_line, percent};
use fsverdict_judgement::journal::{CommandRecord, Status, TrialCommands};
use fsverdict_text::quoted;

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

pub(super) static TOPIC: ReportTopic = ReportTopic { build_section, ..ReportTopic::EMPTY };

fn build_section<'a>(report: &'a Report<'_>) -> Option<PageBlock<'a>> {
    let (_, thinned) = thinning::choose(report.judged.run);
    let again = Text::default()
        .code("fsverdict run THIS-PAGE.html")
        .plain(" repeats the run; ")
        .code("fsverdict show THIS-PAGE.html")
        .plain(" prints this, to be changed.");
    let plan = vec![
        PageBlock::Note(again),
        PageBlock::picture(move || embedded_plan::write_plan(report.judged.plan)),
    ];
    let mut blocks = downloads(report, thinned.as_ref());
    blocks.extend([
        PageBlock::fold(None, "Plan: what was asked, to be run again", plan),
        PageBlock::fold(None, "Environment: where it ran", vec![environment(report)]),
        PageBlock::picture(move || draw_commands(report)),
        PageBlock::fold(
            Some("method"),
            "Method: why these numbers can be trusted, and how far",
            vec![PageBlock::picture(move || method(report))],
        ),
    ]);
    Some(PageBlock::section("evidence", "The evidence", blocks))
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
            li { b { "Side by side." } " The leader's number is the geometric mean of its trials; everybody else's is a multiple of that, by the ratios within blocks, with the 95% interval of the multiple. Intervals exist from 3 blocks on. They are computed at 99%, because a run stops when they are narrow enough: about 95 of 100 hold." }
            li { b { "Ties." } " Differences below " (percent(report.judged.plan.protocol.tie)) " do not matter, by this plan's own word: such candidates are tied, and a tie is an answer." }
        }
        p { "Where the method comes from:" }
        ul { @for (title, address) in SOURCES { li { a href=(address) rel="noreferrer" { (title) } } } }
        p { "How to read each part of this page: " code { "docs/guides/reading-a-report.md" } " in fsverdict's source." }
    }
}

/// Characters of a command's output that are shown: its end says how it went.
const OUTPUT_SHOWN: usize = 2000;

/// The commands, in the report's order of candidates.
fn draw_commands(report: &Report<'_>) -> Markup {
    let trials: Vec<&TrialCommands> = report
        .judged
        .candidates
        .iter()
        .filter_map(|entry| {
            report.judged.run.commands.iter().find(|found| found.trial.candidate == entry.name)
        })
        .collect();
    html! {
        @if !trials.is_empty() {
            details #commands {
                summary { "Commands: one trial of each candidate, to be repeated by hand" }
                @for trial in trials {
                    details {
                        summary {
                            code { (one_line(&trial.trial.candidate)) } ", block " (trial.trial.block)
                            @if trial.status == Status::Failed { ", " b { "failed" } }
                            ": " (count(trial.commands.len(), "command"))
                        }
                        ol.commands { @for command in &trial.commands { li { (draw_command(command)) } } }
                    }
                }
            }
        }
    }
}

fn draw_command(command: &CommandRecord) -> Markup {
    html! {
        pre tabindex="0" { (in_lines(&shell_line(&command.argv))) }
        p.meta {
            (one_line(&command.step)) ", " (describe_end(command)) ", " (format!("{:.3}", command.seconds)) "\u{202f}s"
        }
        @for (name, text) in [("output", &command.stdout), ("messages", &command.stderr)] {
            @if !text.trim().is_empty() {
                details { summary { (name) } pre tabindex="0" { (in_lines(&tail(text))) } }
            }
        }
    }
}

fn describe_end(command: &CommandRecord) -> String {
    match (command.exit, command.signal) {
        (Some(status), _) => format!("exit {status}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "stopped at its time limit".to_owned(),
    }
}

/// The words as a shell line that runs the same command.
fn shell_line(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn tail(text: &str) -> String {
    let length = text.chars().count();
    if length <= OUTPUT_SHOWN {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - OUTPUT_SHOWN).collect();
    format!("[… {} characters earlier]\n{end}", length - OUTPUT_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::{shell_line, tail};

    #[test]
    fn a_line_can_be_given_to_a_shell() {
        let argv = ["sh", "-c", "echo 'it''s' \"$MOUNT\"\n", "", "a=b"].map(str::to_owned);
        assert_eq!(shell_line(&argv), "sh -c 'echo '\\''it'\\'''\\''s'\\'' \"$MOUNT\"\n' '' a=b");
    }

    #[test]
    fn long_output_keeps_its_end() {
        let text = format!("{}end", "x".repeat(3000));
        assert!(tail(&text).starts_with("[… 1003 characters earlier]\nxxx"));
        assert!(tail(&text).ends_with("xend"));
        assert_eq!(tail("short"), "short");
    }
}
