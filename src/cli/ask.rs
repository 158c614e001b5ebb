//! `fsverdict ask`: a question in one line, or in a few answered ones. It finds the preset that asks it, or makes a plan of a folder of
//! yours, says what it will do, carries it out, and leaves the plan.

#[cfg(test)]
mod asked;
mod asked_plan;
mod changes;
mod folder;
mod heard;
mod kinds;
mod prompt;
mod question;
mod understood;
mod words;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};

use fsverdict_judgement::plan::{DeviceSource, Plan, once_each, write};
use fsverdict_linux::host::output_file::{Existing, write_output};
use fsverdict_linux::host::talk::print_line;
use fsverdict_report::wrap;
use fsverdict_text::{Hinted, Reason, parse_time, quoted};

use self::asked_plan::AskedPlan;
use self::heard::{HeardQuestion, hear, may_change_question};
use self::prompt::{WIDTH, agreed, ask_device, ask_must, ask_work};
use self::question::{AskedWork, Question};
use self::understood::{device_of, heard_work, property_of, work_of};
use super::consent::PlanOrigin;
use super::run::{RunArguments, carry_out};
use super::{CliError, Exit};

/// What stands below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict ask                                   asks what it needs to know
  fsverdict ask mail on hdd
  fsverdict ask 'ext4 or btrfs for my photos on a usb disk, encrypted?'
  fsverdict ask --work ~/Pictures --on usb-disk --encrypted
  fsverdict ask etcd --on nvme --for 10m
  fsverdict ask database --on sd-card --plan mine.toml --dry-run

A device is a modelled one, or an image that is made and removed, unless it is a path. `fsverdict list presets` has all questions.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AskArguments {
    /// The question in words: the work (photos, mail, etcd, a preset's name, a folder), `on` which device, what must hold, which
    /// filesystems it is between, `for` how long at most
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
    /// Begin without asking whether to; without a terminal nothing is begun otherwise
    #[arg(long)]
    yes: bool,
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

/// Presets that ask about faults.
const FAULTS: [&str; 4] = ["power-cut", "bit-rot", "failed-writes", "usb-unplug"];

/// How long an answer may take where nobody says.
const USUAL_TIME: Duration = Duration::from_secs(600);

pub(super) fn run(arguments: &AskArguments) -> Result<Exit, CliError> {
    let there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let (question, said_time) = understand(arguments, there)?;
    let name = question.name();
    let mut run = RunArguments::of_question(name);
    run.budget = arguments.budget.or(said_time).or(Some(USUAL_TIME));
    run.out.clone_from(&arguments.out);
    run.erase.clone_from(&arguments.erase);
    run.dry_run = arguments.dry_run;
    let AskedPlan { plan, left_out } = AskedPlan::of(&question, run.overrides())?;
    print_line(&wrap(&question.told(&plan, &left_out), WIDTH).join("\n"));
    if let Some(path) = &arguments.plan {
        keep(path, name, &plan)?;
        print_line(&format!("the plan is in {}", quoted(&path.to_string_lossy())));
    }
    let erases = matches!(plan.device.source, DeviceSource::Path(_));
    if !arguments.yes && !arguments.dry_run {
        if !there {
            let what = if erases { "the device would be erased" } else { "it would run for some time" };
            return Err(CliError::Usage(Reason::new(
                format!("nothing was done: {what}, and there is no terminal on which to agree"),
                "look at what is said above; --yes begins without asking, and --dry-run lists every step",
            )));
        }
        if !agreed(erases)? {
            return Ok(Exit::Done);
        }
    }
    let exit = carry_out(&run, plan, &PlanOrigin::Preset)?;
    if arguments.plan.is_none() && !arguments.dry_run {
        print_line(
            "the plan can be edited and run again: `fsverdict show FOLDER > mine.toml`, FOLDER being what stands behind `Run` above",
        );
    }
    Ok(exit)
}

fn understand(arguments: &AskArguments, there: bool) -> Result<(Question, Option<Duration>), CliError> {
    let heard = hear(&arguments.words, arguments.work.is_some());
    if let [_, ..] = heard.not_tried.as_slice() {
        return Err(CliError::Usage(Reason::new(
            format!("filesystem not available in fsverdict: {}", heard.not_tried.join(", ")),
            "ask again without it; a folder on it is compared by a plan with filesystem = \"directory\"",
        )));
    }
    // Faults change what is measured; other works are told and left aside.
    let faults = heard.other_works.iter().copied().filter(|work| FAULTS.contains(work));
    let changing = heard.unknown.iter().map(String::as_str).filter(|word| may_change_question(word));
    let doubtful: Vec<&str> = changing.chain(faults).collect();
    // Where no work was found, that is what is said below.
    let has_work = heard.work.is_some() || arguments.work.is_some();
    if let (false, true, [_, ..]) = (there, has_work, doubtful.as_slice()) {
        return Err(CliError::Usage(Reason::new(
            format!("not understood as part of one question: {}", doubtful.join(", ")),
            "leave these words out, or say them otherwise: one question is about one work; `fsverdict ask --help` has examples",
        )));
    }
    let aside = aside(&heard);
    let asked_all = arguments.work.is_none() && arguments.words.is_empty() && there;
    let work = match (&arguments.work, arguments.words.is_empty()) {
        (Some(work), _) if heard.work.is_none() => work_of(work)?,
        (Some(work), _) => {
            return Err(CliError::Usage(Reason::new(
                format!("more than one work is named: --work {}, and another in words", quoted(work)),
                "one question is about one work; leave one of them out",
            )));
        }
        (None, false) => heard_work(heard.work, &heard.unknown.join(" "))?,
        (None, true) if there => ask_work()?,
        (None, true) => {
            return Err(CliError::Usage(Reason::new(
                "nothing was asked, and nobody is there to be asked what it is to be",
                "name the work and the device: fsverdict ask photos --on usb-disk; `fsverdict ask --help` has more",
            )));
        }
    };
    let said: Vec<&str> = arguments.device.iter().chain(&heard.devices).map(String::as_str).collect();
    let device = match said.as_slice() {
        [] if asked_all => ask_device()?,
        [] if matches!(&work, AskedWork::Preset(preset) if preset.name == "build-farm") => {
            Some(device_of("nvme")?)
        }
        [] => None,
        [one] if !one.is_empty() => Some(device_of(one)?),
        several => {
            let none = several.len() == 1;
            return Err(CliError::Usage(Reason::new(
                if none { "no device is named behind `on`" } else { "more than one device is named" },
                "one question is about one device: fsverdict ask mail on hdd; without `on` it is the question's own",
            )));
        }
    };
    let mut must = heard.must;
    for word in &arguments.must {
        must.push(property_of(word)?);
    }
    if asked_all && arguments.must.is_empty() && !arguments.encrypted {
        must = ask_must()?;
    }
    if arguments.encrypted {
        must.push(property_of("encryption")?);
    }
    let question = Question {
        work,
        device,
        must: once_each(must),
        between: heard.between,
        excluded: heard.excluded,
        aside,
    };
    Ok((question, heard.budget))
}

/// What was said and is no part of the question.
fn aside(heard: &HeardQuestion) -> Vec<String> {
    let mut aside = Vec::new();
    if let [_, ..] = heard.other_works.as_slice() {
        aside.push(format!("left aside, for a question is about one work: {}", heard.other_works.join(", ")));
    }
    if let [_, ..] = heard.unknown.as_slice() {
        aside.push(format!("not understood: {}", heard.unknown.join(", ")));
    }
    aside
}

/// Leaves the plan, with all that the question changed, where it was asked for.
fn keep(path: &Path, name: &str, plan: &Plan) -> Result<(), CliError> {
    let text = format!(
        "# Made by fsverdict ask of the question {name}; fsverdict show {name} says more about it, and where it is from.\n{}",
        write(plan)
    );
    write_output(path, Existing::Keep, |out| out.write_all(text.as_bytes())).map_err(
        |error: std::io::Error| {
            let what = format!("cannot write the plan to {}: {error}", path.display());
            match error.hint() {
                Some(hint) => CliError::Failed(Reason::new(what, hint)),
                None => CliError::Usage(Reason::new(what, "name a file that is not there yet")),
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::kinds::{DEVICES, WORKS};
    use super::question::AskedWork;
    use super::understood::{device_of, property_of, work_of};
    use fsverdict_judgement::plan::{RequiredProperty, presets};

    #[test]
    fn every_word_finds_its_preset_and_every_device_its_model() {
        for work in WORKS {
            for word in work.words {
                let Ok(AskedWork::Preset(found)) = work_of(word) else { panic!("{word}") };
                assert_eq!(found.name, work.preset, "{word}");
            }
        }
        for preset in presets() {
            assert!(
                matches!(work_of(preset.name), Ok(AskedWork::Preset(found)) if found.name == preset.name)
            );
        }
        for kind in DEVICES {
            for word in kind.words {
                assert!(device_of(word).is_ok(), "{word}");
            }
        }
        assert!(work_of("nonsense").is_err() && device_of("floppy").is_err() && property_of("fast").is_err());
        assert!(
            device_of("image:1GiB").is_ok()
                && device_of("/dev/null").is_err()
                && device_of("/dev/none").is_err()
        );
        assert_eq!(property_of("Crash-safe").unwrap(), RequiredProperty::CrashSafe);
    }
}
