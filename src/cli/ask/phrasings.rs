//! Questions as people write them, and the meaning of each or why it is refused: `phrasings.txt`, a line each.

use clap::Parser;

use super::super::CliError;
use super::AskArguments;
use super::features::Wish;
use super::parsed::THROUGHPUT;
use super::question::Question;
use super::understand::understand;
use super::works::AskedWork;
use fsverdict_judgement::plan::DeviceSource;

#[derive(Debug, Parser)]
struct OneQuestion {
    #[command(flatten)]
    arguments: AskArguments,
}

pub(super) fn understood(question: &str) -> Result<Question, CliError> {
    understood_with(question, &[])
}

fn understood_with(question: &str, options: &[&str]) -> Result<Question, CliError> {
    let arguments =
        OneQuestion::try_parse_from(["ask"].iter().chain(options).chain(&["--", question])).unwrap();
    understand(&arguments.arguments, false)
}

fn listed<T>(name: &str, all: impl IntoIterator<Item = T>, word: impl Fn(T) -> String) -> Option<String> {
    let words: Vec<String> = all.into_iter().map(word).filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| format!("{name} {}", words.join(", ")))
}

/// The parts of a question, as a line of the file says them; nothing that is not in its words.
pub(super) fn line_of(question: &Question) -> String {
    let parsed = &question.parsed;
    let work = match &question.work.value {
        AskedWork::Preset(work) => work.preset.name.to_owned(),
        AskedWork::Folder(folder) => folder.display().to_string(),
    };
    // A device that the user did not name is the preset's own.
    let device =
        question.device.iter().filter(|device| !device.words.is_empty()).map(|device| match &device.source {
            DeviceSource::Model { name, size } if device.is_sized => {
                format!("{}@{size}", name.split(':').next().unwrap_or(name))
            }
            DeviceSource::Model { name, .. } => name.split(':').next().unwrap_or(name).to_owned(),
            other => other.to_string(),
        });
    let wished = |name, wish| listed(name, parsed.wished(wish), |part| part.feature.word.to_owned());
    let latencies = parsed.limits.iter().filter(|part| part.value.metric != THROUGHPUT);
    let throughputs = parsed.limits.iter().filter(|part| part.value.metric == THROUGHPUT);
    let fields = [
        Some(format!("work {work}")),
        listed("device", device, |name| name),
        listed("cpu", &question.cpu, |part| part.value.to_owned()),
        listed("memory", &parsed.memory, |part| part.value.to_string()),
        listed("candidates", &parsed.candidates, |part| part.value.to_string()),
        listed("options", &parsed.variants, |part| {
            if part.value.is_empty() { "none".to_owned() } else { part.value.join(" ") }
        }),
        listed("not", &parsed.excluded, |part| part.value.name.to_owned()),
        wished("must", Wish::Required),
        wished("without", Wish::Absent),
        wished("unneeded", Wish::Unneeded),
        listed("limit", latencies, |part| format!("{} {}", part.value.metric, part.value.bound)),
        listed("throughput", throughputs, |part| {
            format!("{}{}", if part.value.is_of_reading { "reading " } else { "" }, part.value.bound)
        }),
        wished("compare", Wish::Compared),
        listed("faults", &question.faults, |part| part.value.shown[..9].to_owned()),
        listed("tolerance", &parsed.tolerance, |part| format!("{}%", part.value * 100.0)),
        listed("time", &parsed.budget, |part| format!("{}m", part.value.as_secs() / 60)),
    ];
    fields.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The first line of the message that a question is refused with.
pub(super) fn refusal(error: &CliError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The lines of a file of questions that are not as it says.
pub(super) fn wrong_lines(file: &str) -> (Vec<String>, usize) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (question, meaning) = line.split_once(" => ").unwrap_or_else(|| panic!("no expectation: {line}"));
        let outcome = match understood(question) {
            Ok(understood) => line_of(&understood),
            Err(error) => format!("refused: {}", refusal(&error)),
        };
        count += 1;
        if outcome != meaning {
            wrong.push(format!("{question} => {outcome}\n      expected {meaning}"));
        }
    }
    (wrong, count)
}

#[test]
fn questions_are_understood_whole_or_refused_by_name() {
    let (wrong, count) = wrong_lines(include_str!("phrasings.txt"));
    assert!(count >= 229 && wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
