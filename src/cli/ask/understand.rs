//! Makes a question of the words and options of the command line; asks on the terminal where words are not understood, and
//! refuses the question by their names elsewhere.

use fsverdict_judgement::plan::{RequiredProperty, once_each};
use fsverdict_text::{Reason, find_suggestions};

use super::super::CliError;
use super::AskArguments;
use super::features::Feature;
use super::grammar::parse_question;
use super::guided::{ask_missing_work, ask_question, ask_rephrased, ask_replacement};
use super::lexicon::{Meaning, WorkKind, longest, meanings, works};
use super::parsed::{NamedCandidate, ParsedQuestion, Problem, Worded};
use super::question::{Question, list_nearest, usage, work_hint};
use super::tokens::{Token, TokenKind, leave_out, tokenize};

/// Understands the words and options. With a terminal it asks for missing parts and words that are not understood.
///
/// # Errors
/// Fails if words are not understood and there is no terminal, or if the question cannot be asked.
pub(super) fn understand(arguments: &AskArguments, is_interactive: bool) -> Result<Question, CliError> {
    let has_words = !arguments.words.is_empty();
    let mut tokens = match (has_words || arguments.work.is_some(), is_interactive) {
        (true, _) => tokenize(&arguments.words),
        (false, true) => tokenize(&[ask_question()?]),
        (false, false) => {
            return Err(usage(
                "nothing was asked, and there is no terminal to ask on",
                "name the work and the device: fsverdict ask photos --on usb-disk; `fsverdict ask --help` has more",
            ));
        }
    };
    let mut ignored = arguments.ignore.clone();
    for words in &arguments.ignore {
        if !leave_out(words, &mut tokens) {
            return Err(usage(
                format!("the question has no `{words}` that could be ignored"),
                "--ignore takes words as they stand in the question",
            ));
        }
    }
    let mut parsed = parse_question(&tokens);
    if is_interactive
        && !parsed.problems.is_empty()
        && let Some(sentence) = rephrase(&parsed)
        && ask_rephrased(&sentence, &parsed.problems)?
    {
        ignored.extend(parsed.problems.iter().map(|problem| problem.words.clone()));
        tokens = tokenize(&[sentence]);
        parsed = parse_question(&tokens);
    }
    while is_interactive && let Some(problem) = parsed.problems.first() {
        let replacement = ask_replacement(problem)?;
        if replacement.trim().is_empty() {
            ignored.push(problem.words.clone());
        }
        replace(&mut tokens, problem, &replacement);
        parsed = parse_question(&tokens);
    }
    if !parsed.problems.is_empty() {
        return Err(not_understood(&parsed));
    }
    let has_work = !parsed.works.is_empty() || parsed.folder.is_some() || arguments.work.is_some();
    if is_interactive && !has_work && parsed.near.is_empty() {
        tokens.extend(tokenize(&[format!("; {}", ask_missing_work()?)]));
        parsed = parse_question(&tokens);
    }
    for word in &arguments.must {
        parsed.required.push(Worded::new(property_called(word)?, format!("--must {word}")));
    }
    if arguments.encrypted {
        parsed.required.push(Worded::new(RequiredProperty::Encryption, "--encrypted"));
    }
    let mut once: Vec<RequiredProperty> = Vec::new();
    parsed.required.retain(|one| {
        let is_new = !once.contains(&one.value);
        once.push(one.value);
        is_new
    });
    refuse_contradiction(&parsed)?;
    let understood = summarize(&parsed);
    Question::new(parsed, arguments.work.as_deref(), arguments.device.as_deref(), &ignored).map_err(|error| {
        match error {
            CliError::Usage(reason) if !understood.is_empty() => {
                CliError::Usage(reason.and_hint(format!("understood was: {understood}")))
            }
            other => other,
        }
    })
}

/// Puts the tokens of a text in the place of words that are not understood.
fn replace(tokens: &mut Vec<Token>, problem: &Problem, replacement: &str) {
    let mut new = tokenize(&[replacement.to_owned()]);
    if new.is_empty() {
        new.push(Token { text: problem.words.clone(), kind: TokenKind::Gap });
    }
    tokens.splice(problem.range.clone(), new);
}

/// A feature that is required or compared cannot be excluded, or be unimportant, too.
fn refuse_contradiction(parsed: &ParsedQuestion) -> Result<(), CliError> {
    let wanted = |one: &Worded<Feature>| {
        let required = parsed.required.iter().find(|other| Some(other.value) == one.value.property());
        let compared = parsed.compared.iter().find(|other| other.value == one.value);
        required.map(|other| other.words.clone()).or(compared.map(|other| other.words.clone()))
    };
    let mut without = parsed.absent.iter().chain(&parsed.unneeded);
    match without.find_map(|one| Some((wanted(one)?, one.words.clone()))) {
        Some((words, other)) => {
            Err(usage(format!("`{words}` and `{other}` contradict each other"), "leave out one of both"))
        }
        None => Ok(()),
    }
}

fn property_called(word: &str) -> Result<RequiredProperty, CliError> {
    let named = meanings(word).iter().find_map(|meaning| match meaning {
        Meaning::Noun(feature) | Meaning::Adjective(feature) => feature.property(),
        _ => None,
    });
    named.ok_or_else(|| {
        let words = RequiredProperty::words();
        usage(
            format!("`{word}` is not a property that can be required"),
            format!("words are {}", words.join(", ")),
        )
    })
}

/// The error that names the words that are not understood, the parts that are, and the nearest works.
fn not_understood(parsed: &ParsedQuestion) -> CliError {
    let words: Vec<String> = once_each(parsed.problems.iter().map(|problem| format!("`{}`", problem.words)));
    let mut reason = Reason::plain(format!("not understood as part of one question: {}", words.join(", ")));
    for problem in parsed.problems.iter().filter(|problem| !problem.advice.is_empty()) {
        reason = reason.and_hint(format!("`{}`: {}", problem.words, problem.advice));
    }
    let understood = summarize(parsed);
    if !understood.is_empty() {
        reason = reason.and_hint(format!("understood was: {understood}"));
    }
    let known: Vec<&str> = once_each(works().iter().flat_map(WorkKind::words));
    let unknown = || parsed.problems.iter().filter(|problem| problem.advice.is_empty());
    let near =
        once_each(unknown().flat_map(|problem| find_suggestions(&problem.words.to_lowercase(), &known)));
    let has_work = !parsed.works.is_empty() || parsed.folder.is_some();
    if !near.is_empty() {
        reason = reason.and_hint(format!("the nearest known works are {}", near.join(", ")));
    } else if !has_work {
        let of_near = list_nearest(parsed);
        reason = reason.and_hint(if of_near.is_empty() {
            work_hint()
        } else {
            format!("the nearest known works are {}", of_near.join(", "))
        });
    }
    if let Some(sentence) = rephrase(parsed) {
        let quoted = fsverdict_text::quoted(&sentence);
        reason = reason.and_hint(format!("without these words it is this question: fsverdict ask {quoted}"));
    }
    if let Some(problem) = unknown().next() {
        reason = reason.and_hint(format!(
            "say it in words of docs/reference/questions.md, or let the question be asked without it: --ignore {}",
            fsverdict_text::quoted(&problem.words)
        ));
    }
    CliError::Usage(reason)
}

/// How many words may be left out of a question that is offered: with more, what is left is hardly what was meant.
const MOST_LEFT_OUT: usize = 4;

/// A sentence that asks for exactly the parts that were understood, for the user to agree to; `None` if they are no
/// question by themselves, or if a word that would be left out turns others around, as a negation or a number does.
fn rephrase(parsed: &ParsedQuestion) -> Option<String> {
    let left_out = once_each(parsed.problems.iter().map(|problem| problem.words.as_str()));
    if left_out.len() > MOST_LEFT_OUT || parsed.problems.iter().any(|problem| !problem.advice.is_empty()) {
        return None;
    }
    let work = match (parsed.works.as_slice(), &parsed.folder, parsed.near.as_slice()) {
        ([only], None, []) => only.value.preset.name.to_owned(),
        ([], Some(folder), []) => folder.words.clone(),
        _ => return None,
    };
    let words = |all: &[Worded<NamedCandidate>]| once_each(all.iter().map(name_candidate)).join(" or ");
    let on = |one: String| format!(" on {one}");
    let mut sentence = work;
    sentence.extend(parsed.devices.first().map(|device| on(device.value.clone())));
    sentence.extend(parsed.places.first().map(|place| on(place.words.clone())));
    if !parsed.candidates.is_empty() {
        sentence = format!("{sentence}: {}", words(&parsed.candidates));
    }
    let clauses = parsed
        .variants
        .iter()
        .map(|one| format!("with {}", one.words))
        .chain(parsed.excluded.iter().map(|one| format!("not {}", one.value.name)))
        .chain(parsed.required.iter().map(|one| format!("must {}", one.value.word())))
        .chain(parsed.absent.iter().map(|one| format!("without {}", one.value.word())))
        .chain(parsed.compared.iter().map(|one| format!("with and without {}", one.value.word())))
        .chain(bound_words(parsed));
    for clause in once_each(clauses) {
        sentence = format!("{sentence}, {clause}");
    }
    let again = parse_question(&tokenize(&[sentence.clone()]));
    let is_same = again.problems.is_empty()
        && summarize(&again) == summarize(parsed)
        && bound_words(&again) == bound_words(parsed)
        && again.device_count.is_some() == parsed.device_count.is_some();
    let is_question = || Question::new(again, None, None, &[]).is_ok();
    (is_same && is_question()).then_some(sentence)
}

/// The words of everything that has a number.
fn bound_words(parsed: &ParsedQuestion) -> Vec<String> {
    let bounds = parsed.limits.iter().map(|one| &one.words);
    let bounds = bounds.chain(parsed.throughputs.iter().map(|one| &one.words));
    let bounds = bounds.chain(parsed.tolerance.iter().map(|one| &one.words));
    let sizes = parsed.device_size.iter().chain(&parsed.memory).map(|one| &one.words);
    let all = bounds.chain(parsed.budget.iter().map(|one| &one.words)).chain(sizes);
    all.cloned().collect()
}

/// A candidate as a question names it.
pub(super) fn name_candidate(one: &Worded<NamedCandidate>) -> String {
    let named = &one.value;
    let options = named.options.mkfs.iter().chain(&named.options.mount).map(|word| format!(" {word}"));
    let layers = named.layers.iter().map(|layer| format!(" on {layer}"));
    format!("{}{}", named.filesystem.name, options.chain(layers).collect::<String>())
}

/// The parts that were understood, in one line.
pub(super) fn summarize(parsed: &ParsedQuestion) -> String {
    fn part<T>(name: &str, all: &[Worded<T>], shown: impl Fn(&Worded<T>) -> String) -> Option<String> {
        let all: Vec<String> = once_each(all.iter().map(shown));
        (!all.is_empty()).then(|| format!("{name} {}", all.join(", ")))
    }
    let device = |one: &Worded<String>| {
        longest(&one.value.split(' ').collect::<Vec<_>>(), |meaning| match meaning {
            Meaning::Device(kind) | Meaning::DeviceBehindOn(kind) => Some(kind.model.clone()),
            Meaning::Model(name) => Some((*name).to_owned()),
            _ => None,
        })
        .map_or(one.value.clone(), |(_, model)| model)
    };
    let parts = [
        part("work", &parsed.works, |one| one.value.preset.name.to_owned()),
        part("device", &parsed.devices, device),
        part("place", &parsed.places, |one| {
            format!("{} (device {})", one.words, one.value.device.unwrap_or("of the work"))
        }),
        part("candidates", &parsed.candidates, name_candidate),
        part("options", &parsed.variants, |one| one.words.clone()),
        part("not", &parsed.excluded, |one| one.value.name.to_owned()),
        part("must", &parsed.required, |one| one.value.word().to_owned()),
        part("without", &parsed.absent, |one| one.value.word().to_owned()),
        part("not required", &parsed.unneeded, |one| one.value.word().to_owned()),
        part("with and without", &parsed.compared, |one| one.value.word().to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
