//! Makes a question of the words and options of the command line; asks on the terminal where words are not understood, and
//! refuses the question by their names elsewhere.

use fsverdict_judgement::plan::{RequiredProperty, once_each};
use fsverdict_text::{Reason, find_suggestions, quoted};

use super::super::CliError;
use super::AskArguments;
use super::features::{AskedFeature, Feature, FeatureForm, Wish};
use super::grammar::parse_question;
use super::guided::{ask_missing_work, ask_question, ask_rephrased, ask_replacement};
use super::lexicon::{Meaning, WORKS, WorkKind, meanings};
use super::parsed::{ParsedQuestion, quote_problems};
use super::question::Question;
use super::tokens::{Token, TokenKind, leave_out, tokenize};
use super::usage;
use super::works::{list_nearest, work_hint};

/// Understands the words and options. With a terminal it asks for missing parts and words that are not understood.
///
/// # Errors
/// Fails if words are not understood and there is no terminal, or if the question cannot be asked.
pub(super) fn understand(arguments: &AskArguments, is_interactive: bool) -> Result<Question, CliError> {
    let is_asked = !arguments.words.is_empty() || arguments.work.is_some();
    let mut tokens = match (is_asked, is_interactive) {
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
        let mut replacement = tokenize(&[ask_replacement(problem)?]);
        if replacement.is_empty() {
            ignored.push(problem.words.clone());
            replacement.push(Token::new(TokenKind::Gap, &problem.words));
        }
        tokens.splice(problem.range.clone(), replacement);
        parsed = parse_question(&tokens);
    }
    if !parsed.problems.is_empty() {
        return Err(not_understood(&parsed));
    }
    if is_interactive && !parsed.names_work() && arguments.work.is_none() && parsed.near.is_empty() {
        tokens.extend(tokenize(&[format!("; {}", ask_missing_work()?)]));
        parsed = parse_question(&tokens);
    }
    for word in &arguments.must {
        parsed.wish(Wish::Required, property_called(word)?, format!("--must {word}"));
    }
    if arguments.encrypted {
        parsed.wish(Wish::Required, Feature::ENCRYPTION, "--encrypted");
    }
    refuse_contradiction(&parsed)?;
    let summary = parsed.summary();
    Question::new(parsed, arguments.work.as_deref(), arguments.device.as_deref(), &ignored).map_err(|error| {
        match error {
            CliError::Usage(reason) if !summary.is_empty() => {
                CliError::Usage(reason.and_hint(format!("understood was: {summary}")))
            }
            other => other,
        }
    })
}

/// A feature that is required or compared cannot be excluded, or be unimportant, too.
fn refuse_contradiction(parsed: &ParsedQuestion) -> Result<(), CliError> {
    let wanted = |asked: &&AskedFeature| {
        let all = [Wish::Required, Wish::Compared];
        all.into_iter().flat_map(|wish| parsed.wished(wish)).find(|other| other.feature == asked.feature)
    };
    let mut unwanted = [Wish::Absent, Wish::Unneeded].into_iter().flat_map(|wish| parsed.wished(wish));
    match unwanted.find_map(|asked| Some((&wanted(&asked)?.words, &asked.words))) {
        Some((words, other)) => {
            Err(usage(format!("`{words}` and `{other}` contradict each other"), "leave out one of both"))
        }
        None => Ok(()),
    }
}

fn property_called(word: &str) -> Result<Feature, CliError> {
    let named = meanings(word).iter().find_map(|meaning| match meaning {
        Meaning::Feature(feature, form) if *form != FeatureForm::Lack => feature.property.and(Some(*feature)),
        _ => None,
    });
    named.ok_or_else(|| {
        usage(
            format!("`{word}` is not a property that can be required"),
            format!("words are {}", RequiredProperty::words().join(", ")),
        )
    })
}

/// The error that names the words that are not understood, the parts that are, and the nearest works.
fn not_understood(parsed: &ParsedQuestion) -> CliError {
    let words = quote_problems(&parsed.problems);
    let mut reason = Reason::plain(format!("not understood as part of one question: {words}"));
    for problem in parsed.problems.iter().filter(|problem| !problem.advice.is_empty()) {
        reason = reason.and_hint(format!("`{}`: {}", problem.words, problem.advice));
    }
    let summary = parsed.summary();
    if !summary.is_empty() {
        reason = reason.and_hint(format!("understood was: {summary}"));
    }
    let known: Vec<&str> = once_each(WORKS.iter().flat_map(WorkKind::words));
    let unknown = || parsed.problems.iter().filter(|problem| problem.advice.is_empty());
    let near =
        once_each(unknown().flat_map(|problem| find_suggestions(&problem.words.to_lowercase(), &known)));
    let of_near = list_nearest(parsed);
    if !near.is_empty() {
        reason = reason.and_hint(format!("the nearest known works are {}", near.join(", ")));
    } else if !parsed.names_work() {
        reason = reason.and_hint(if of_near.is_empty() {
            work_hint()
        } else {
            format!("the nearest known works are {}", of_near.join(", "))
        });
    }
    if let Some(sentence) = rephrase(parsed) {
        let sentence = quoted(&sentence);
        reason =
            reason.and_hint(format!("without these words it is this question: fsverdict ask {sentence}"));
    }
    if let Some(problem) = unknown().next() {
        reason = reason.and_hint(format!(
            "say it in words of docs/reference/questions.md, or let the question be asked without it: --ignore {}",
            quoted(&problem.words)
        ));
    }
    CliError::Usage(reason)
}

/// How many words may be left out of a question that is offered: with more, the rest is hardly the question that was meant.
const MOST_LEFT_OUT: usize = 4;

/// A sentence that asks for exactly the parts that were understood, for the user to agree to; `None` if they are no
/// question by themselves, or if a word that would be left out turns others around, as a negation or a number does.
fn rephrase(parsed: &ParsedQuestion) -> Option<String> {
    let left_out = once_each(parsed.problems.iter().map(|problem| problem.words.as_str()));
    if left_out.len() > MOST_LEFT_OUT || parsed.problems.iter().any(|problem| !problem.advice.is_empty()) {
        return None;
    }
    let sentence = parsed.sentence()?;
    let again = parse_question(&tokenize(std::slice::from_ref(&sentence)));
    let is_same = again.problems.is_empty()
        && again.summary() == parsed.summary()
        && again.bound_words() == parsed.bound_words()
        && again.device_count.is_some() == parsed.device_count.is_some();
    (is_same && Question::new(again, None, None, &[]).is_ok()).then_some(sentence)
}
