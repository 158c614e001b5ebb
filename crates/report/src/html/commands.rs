//! Every command of one trial per candidate, folded: enough to repeat the trial by hand.

use maud::{Markup, html};

use crate::Report;
use crate::text::{count, in_lines, one_line};
use fsverdict_judgement::journal::{CommandRecord, Status, TrialCommands};
use fsverdict_text::quoted;

/// Characters of a command's output that are shown: its end says how it went.
const OUTPUT_SHOWN: usize = 2000;

/// The commands, in the report's order of candidates.
pub(super) fn build_folded_block(report: &Report<'_>) -> Markup {
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
                        ol.commands { @for command in &trial.commands { li { (one(command)) } } }
                    }
                }
            }
        }
    }
}

fn one(command: &CommandRecord) -> Markup {
    html! {
        pre tabindex="0" { (in_lines(&line(&command.argv))) }
        p.meta {
            (one_line(&command.step)) ", " (ended(command)) ", " (format!("{:.3}", command.seconds)) "\u{202f}s"
        }
        @for (name, text) in [("output", &command.stdout), ("messages", &command.stderr)] {
            @if !text.trim().is_empty() {
                details { summary { (name) } pre tabindex="0" { (in_lines(&tail(text))) } }
            }
        }
    }
}

fn ended(command: &CommandRecord) -> String {
    match (command.exit, command.signal) {
        (Some(status), _) => format!("exit {status}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "stopped at its time limit".to_owned(),
    }
}

/// The words as a shell line that runs the same command.
fn line(argv: &[String]) -> String {
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
    use super::{line, tail};

    #[test]
    fn a_line_can_be_given_to_a_shell() {
        let argv = ["sh", "-c", "echo 'it''s' \"$MOUNT\"\n", "", "a=b"].map(str::to_owned);
        assert_eq!(line(&argv), "sh -c 'echo '\\''it'\\'''\\''s'\\'' \"$MOUNT\"\n' '' a=b");
    }

    #[test]
    fn long_output_keeps_its_end() {
        let text = format!("{}end", "x".repeat(3000));
        assert!(tail(&text).starts_with("[… 1003 characters earlier]\nxxx"));
        assert!(tail(&text).ends_with("xend"));
        assert_eq!(tail("short"), "short");
    }
}
