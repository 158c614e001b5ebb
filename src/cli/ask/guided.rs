//! Asks for the parts of a question on the terminal, and makes one line of the answers, which is then read like any other.

use fsverdict_judgement::plan::{Overrides, RequiredProperty, once_each, read_with};
use fsverdict_linux::host::messages::print_line;
use fsverdict_report::wrap;
use fsverdict_stack::filesystem;
use fsverdict_text::{find_suggestions, quoted};
use inquire::{Confirm, InquireError, MultiSelect, Select, Text};

use super::super::{CliError, with_vocabulary};
use super::lexicon::{DEVICES, WORKS, WorkKind};
use super::parsed::{Problem, quote_problems};
use super::table::WIDTH;
use super::usage;

/// A word of the question, and its meaning.
type ListedChoice = (String, String);

/// The properties that can be required, with their meanings.
const PROPERTIES: [(RequiredProperty, &str); 8] = [
    (RequiredProperty::Encryption, "nothing on the device can be read without its key"),
    (RequiredProperty::DataChecksums, "damaged files are noticed when they are read"),
    (RequiredProperty::CrashSafe, "whole again after a power cut, by a journal or copies on write"),
    (RequiredProperty::Permissions, "files have owners and permissions"),
    (RequiredProperty::Snapshots, "keeps states of all of it"),
    (RequiredProperty::Clones, "copies of files that share their blocks"),
    (RequiredProperty::Windows, "Windows reads and writes it"),
    (RequiredProperty::Macos, "a Mac reads and writes it"),
];

const KEYS: &str = "↑ ↓ or a number, Enter chooses, Esc leaves";
const SEVERAL_KEYS: &str = "↑ ↓ and space mark, Enter goes on (none: the preset's own), Esc leaves";
const PROPERTY_KEYS: &str = "↑ ↓ and space mark, Enter goes on (none: nothing is required), Esc leaves";

/// Asks for work, device, candidates and requirements, and returns the question as one line.
pub(super) fn ask_question() -> Result<String, CliError> {
    let work = ask_work()?;
    let mut line = work.first_word().unwrap_or(work.preset.name).to_owned();
    let mut devices = vec![("the usual one".to_owned(), usual_device(work))];
    devices.extend(DEVICES.iter().map(|kind| split_shown(&kind.words.shown)));
    let device = choose("On which device?", 0, &devices)?;
    if device > 0 {
        line = format!("{line} on {}", devices[device].0);
    }
    let known = filesystem::registry().iter().map(|known| (known.name.to_owned(), known.summary.to_owned()));
    let candidates = choose_several("Which filesystems?", known, SEVERAL_KEYS)?;
    if !candidates.is_empty() {
        line = format!("{line}: {}", candidates.join(" or "));
    }
    let properties =
        PROPERTIES.iter().map(|(property, meaning)| (property.word().to_owned(), (*meaning).to_owned()));
    let required = choose_several("What must hold?", properties, PROPERTY_KEYS)?;
    if !required.is_empty() {
        line = format!("{line}, must {}", required.join(" and "));
    }
    print_line(&format!("the same in one line:\n  fsverdict ask {}", quoted(&line)));
    Ok(line)
}

/// Asks for the work.
fn ask_work() -> Result<&'static WorkKind, CliError> {
    let offered: Vec<&WorkKind> = WORKS.iter().filter(|work| work.ask.shown.is_some()).collect();
    let shown: Vec<ListedChoice> =
        offered.iter().filter_map(|work| work.ask.shown.as_deref()).map(split_shown).collect();
    let prompt = "What is the work? (Esc, and then `fsverdict ask --work FOLDER`, for files of yours)";
    Ok(offered[choose(prompt, 1, &shown)?])
}

/// The device that a work has if the question names none.
fn usual_device(work: &WorkKind) -> String {
    let (toml, name) = (work.preset.toml, work.preset.name);
    let plan = with_vocabulary(|known| read_with(toml, name, &Overrides::default(), known));
    let models = plan.map(|plan| plan.models().join(", ")).unwrap_or_default();
    match (&work.ask.device, models.as_str()) {
        (Some(device), _) => device.clone(),
        (None, "") => "an image on this machine's disk".to_owned(),
        (None, models) => models.to_owned(),
    }
}

/// A word for the work that a question lacks.
pub(super) fn ask_missing_work() -> Result<String, CliError> {
    Ok(ask_work()?.first_word().unwrap_or_default().to_owned())
}

/// Asks for words in the place of words that are not understood; nothing leaves them out.
pub(super) fn ask_replacement(problem: &Problem) -> Result<String, CliError> {
    let device_words = DEVICES.iter().flat_map(|kind| kind.words.words.iter().map(String::as_str));
    let known = once_each(WORKS.iter().flat_map(WorkKind::words).chain(device_words));
    let near = find_suggestions(&problem.words.to_lowercase(), &known);
    let advice = match (problem.advice.as_str(), near.is_empty()) {
        ("", true) => "not known: a work, device, filesystem, option or feature".to_owned(),
        ("", false) => format!("not known; near are {}", near.join(", ")),
        (advice, _) => advice.to_owned(),
    };
    print_line(&wrap(&format!("`{}`: {advice}", problem.words), WIDTH).join("\n"));
    let prompt = format!("In the place of `{}`:", problem.words);
    Text::new(&prompt)
        .with_help_message("nothing leaves it out; Esc ends")
        .prompt()
        .map_err(|error| no_answer(&error))
}

/// Asks whether a question without the words that are not understood is the one that is meant.
pub(super) fn ask_rephrased(sentence: &str, problems: &[Problem]) -> Result<bool, CliError> {
    let words = quote_problems(problems);
    let told = format!("Not understood: {words}. Without these words it is this question: {sentence}");
    print_line(&wrap(&told, WIDTH).join("\n"));
    Confirm::new("Ask this?").with_default(false).prompt().map_err(|error| no_answer(&error))
}

/// Asks whether to begin. If something of the user's is erased, the default answer is no.
pub(super) fn ask_consent(erases: bool) -> Result<bool, CliError> {
    let prompt = if erases { "Begin, and erase it?" } else { "Begin?" };
    Confirm::new(prompt).with_default(!erases).prompt().map_err(|error| no_answer(&error))
}

/// `hdd: a desktop disk` as a word and its meaning.
fn split_shown(shown: &str) -> ListedChoice {
    let (word, meaning) = shown.split_once([':', ',']).unwrap_or((shown, ""));
    (word.trim().to_owned(), meaning.trim().to_owned())
}

/// The lines of a list: numbers, words and meanings. A longer line would be folded, and the list not be drawn over when it
/// changes.
fn list_lines(first: usize, choices: &[ListedChoice]) -> Vec<String> {
    let line = |(number, (word, meaning)): (usize, &ListedChoice)| {
        wrap(&format!("{number:>2} {word}: {meaning}"), WIDTH - 6).into_iter().next().unwrap_or_default()
    };
    (first..).zip(choices).map(line).collect()
}

/// A number finds its line alone; other text finds those that contain it.
fn score(input: &str, _: &String, line: &str, _: usize) -> Option<i64> {
    let is_found = match input.trim().parse::<usize>() {
        Ok(number) => line.trim_start().starts_with(&format!("{number} ")),
        Err(_) => line.to_lowercase().contains(&input.to_lowercase()),
    };
    is_found.then_some(0)
}

/// The place of the one choice that is made.
fn choose(prompt: &str, first: usize, choices: &[ListedChoice]) -> Result<usize, CliError> {
    let select = Select::new(prompt, list_lines(first, choices)).with_page_size(14).with_help_message(KEYS);
    let chosen = select.with_scorer(&score).raw_prompt().map_err(|error| no_answer(&error))?;
    Ok(chosen.index)
}

/// The words of the choices that are made.
fn choose_several(
    prompt: &str,
    choices: impl Iterator<Item = ListedChoice>,
    keys: &str,
) -> Result<Vec<String>, CliError> {
    let choices: Vec<ListedChoice> = choices.collect();
    let select = MultiSelect::new(prompt, list_lines(1, &choices)).with_page_size(16).with_help_message(keys);
    let chosen = select.with_scorer(&score).raw_prompt().map_err(|error| no_answer(&error))?;
    Ok(chosen.into_iter().map(|option| choices[option.index].0.clone()).collect())
}

fn no_answer(error: &InquireError) -> CliError {
    let hint = "answer, or say it in a line: fsverdict ask mail on hdd";
    match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            usage("nothing was asked", hint)
        }
        other => usage(format!("nothing was asked: {other}"), hint),
    }
}
