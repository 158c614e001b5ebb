//! `fsverdict ask`: takes a question in one line, or asks for its parts. Finds the preset for it, or makes a plan for a
//! folder of the user's, announces the run, carries it out, and keeps the plan.

mod bounds;
mod candidate_forms;
mod candidates;
mod connectives;
mod devices;
mod features;
#[cfg(test)]
mod forum_questions;
mod grammar;
mod guided;
mod lexicon;
mod options;
mod parsed;
mod parser;
#[cfg(test)]
mod phrasings;
mod plan;
mod plan_candidates;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod properties;
mod question;
mod requirements;
mod table;
mod tokens;
mod understand;
mod works;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use fsverdict_folders::{Existing, write_output};
use fsverdict_judgement::plan::{DeviceSource, Plan, write};
use fsverdict_linux::host::messages::print_line;
use fsverdict_text::{Hinted, Reason, parse_time, quoted};

use self::guided::ask_consent;
use self::plan::QuestionPlan;
use self::table::describe_question;
use self::understand::understand;
use super::consent::PlanOrigin;
use super::pager::PagerArguments;
use super::run::{RunArguments, carry_out};
use super::{CliError, Exit};

/// The text below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict ask                                   asks what it needs to know
  fsverdict ask mail on hdd
  fsverdict ask 'ext4 or btrfs compress=zstd for photos on a usb disk, must be encrypted'
  fsverdict ask --work ~/Pictures --on usb-disk --encrypted
  fsverdict ask 'etcd on nvme, p99 below 10 ms'
  fsverdict ask 'what does compression cost for vm images on btrfs?'
  fsverdict ask sqlite --on sd-card --plan mine.toml --dry-run

A device is a modelled one, or an image that is made and removed, unless it is a path. `fsverdict list presets` has all works,
and docs/reference/questions.md all that can be said: a word that is not understood ends the question with its name.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AskArguments {
    /// The question in words: the work (photos, mail, etcd, a preset's name, a folder), `on` which device, which filesystems with
    /// which options, what `must` hold, `for` how long at most
    #[arg(value_name = "WORDS", value_parser = text())]
    words: Vec<String>,
    /// The work: a folder of yours that is copied, read and removed, or one of the words
    #[arg(long, value_name = "FOLDER|WORD", value_parser = text())]
    work: Option<String>,
    /// The device: hdd, ssd, nvme, usb-disk, usb-stick, sd-card, a modelled one of the list, or the path of a block device
    #[arg(long = "on", visible_alias = "device", value_name = "DEVICE")]
    device: Option<String>,
    /// Only candidates on LUKS
    #[arg(long)]
    encrypted: bool,
    /// What must hold of the filesystem: crash_safe, data_checksums, windows …
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    must: Vec<String>,
    /// Ask without this word of the question, which is not understood; may be given several times
    #[arg(long, value_name = "WORD")]
    ignore: Vec<String>,
    /// Stop within this time [default: 10m]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,
    /// Keep the plan in this file, to be edited and run again
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// The folder for the run [default: runs/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Allow the content of a block device to be destroyed, by the identity that the refusal names
    #[arg(long, value_name = "IDENTITY")]
    erase: Vec<String>,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Begin without asking anything; without a terminal nothing is begun otherwise
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    pager: PagerArguments,
}

/// Takes a word that is text; of another it says why it cannot be used.
fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|word: OsString| {
        word.into_string().map_err(|word| {
            format!(
                "{} is not UTF-8, as the text of a plan has to be: rename the folder, or name one above it",
                word.to_string_lossy()
            )
        })
    })
}

/// How long an answer may take if the user sets no limit.
const USUAL_TIME: Duration = Duration::from_secs(600);

pub(super) fn run(arguments: &AskArguments) -> Result<Exit, CliError> {
    let is_interactive = !arguments.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    check_length(&arguments.words)?;
    let question = understand(arguments, is_interactive)?;
    let name = question.name();
    let mut run = RunArguments::of_question(name);
    run.budget =
        arguments.budget.or(question.parsed.budget.as_ref().map(|one| one.value)).or(Some(USUAL_TIME));
    run.out.clone_from(&arguments.out);
    run.erase.clone_from(&arguments.erase);
    run.dry_run = arguments.dry_run;
    run.pager = arguments.pager;
    run.conduct.yes = arguments.yes;
    let asked = QuestionPlan::new(&question, run.overrides())?;
    print_line(&describe_question(&question, &asked));
    let plan = asked.plan;
    if let Some(path) = &arguments.plan {
        keep(path, name, &plan)?;
        print_line(&format!("the plan is in {}", quoted(&path.to_string_lossy())));
    }
    let erases = matches!(plan.device.source, DeviceSource::Path(_));
    if !arguments.yes && !arguments.dry_run {
        if !is_interactive {
            let consequence =
                if erases { "the device would be erased" } else { "it would run for some time" };
            return Err(CliError::Usage(Reason::new(
                format!("nothing was done: {consequence}, and there is no terminal on which to agree"),
                "look at what is said above; --yes begins without asking, and --dry-run lists every step",
            )));
        }
        if !ask_consent(erases)? {
            return Ok(Exit::Done);
        }
    }
    let exit = carry_out(&run, plan, &PlanOrigin::Preset)?;
    if arguments.plan.is_none() && !arguments.dry_run {
        print_line(
            "the plan can be edited and run again: `fsverdict show FOLDER > mine.toml`, FOLDER being the folder of the run",
        );
    }
    Ok(exit)
}

fn usage(what: impl std::fmt::Display, hint: impl Into<String>) -> CliError {
    CliError::Usage(Reason::new(what, hint))
}

/// A question may have so many words, and so many bytes: each word is looked up in the names of all that can be asked.
const MOST_WORDS: usize = 300;
const MOST_BYTES: usize = 16 << 10;

/// Fails if the question is longer than any question: a file was given as one, perhaps.
fn check_length(arguments: &[String]) -> Result<(), CliError> {
    let words: usize = arguments.iter().map(|argument| argument.split_whitespace().count()).sum();
    let bytes: usize = arguments.iter().map(String::len).sum();
    if words <= MOST_WORDS && bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(CliError::usage(Reason::new(
        format!(
            "the question has {words} words in {} KiB, and may have {MOST_WORDS} words in {} KiB",
            bytes.div_ceil(1 << 10),
            MOST_BYTES >> 10
        ),
        "say the work, the device and what must hold: fsverdict ask mail on hdd",
    )))
}

/// Leaves the plan, with all that the question changed, where it was asked for.
fn keep(path: &Path, name: &str, plan: &Plan) -> Result<(), CliError> {
    let text = format!(
        "# Made by fsverdict ask of the question {name}; fsverdict show {name} says more about it, and where it is from.\n{}",
        write(plan)
    );
    write_output(path, Existing::Keep, |out| out.write_all(text.as_bytes())).map_err(
        |error: std::io::Error| {
            let failure = format!("cannot write the plan to {}: {error}", path.display());
            match error.hint() {
                Some(hint) => CliError::Failed(Reason::new(failure, hint)),
                None => CliError::Usage(Reason::new(failure, "name a file that is not there yet")),
            }
        },
    )
}
