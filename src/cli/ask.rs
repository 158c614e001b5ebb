//! `fsverdict ask`: a question in one line, or in a few answered ones. It finds the preset that asks it, or makes a plan of a folder of
//! yours, says what it will do, carries it out, and leaves the plan.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::host::talk::{self, say};
use fsverdict_disk::device::{Model, built_in};
use fsverdict_judgement::plan::{DeviceSource, Plan, Preset, RequiredProperty, contestants, write};
use fsverdict_report::{listing, wrap};
use fsverdict_text::{Bytes, Reason, duration_text, parse_time, quoted, suggest};

use super::ask_words::{self, DEVICES, DeviceKind, WORKS, WorkKind};
use super::consent::PlanOrigin;
use super::run::{RunArguments, carry_out};
use super::{CliError, Exit};

/// What stands below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict ask                                   asks what it needs to know
  fsverdict ask mail on hdd
  fsverdict ask --work ~/Pictures --on usb-disk --encrypted
  fsverdict ask etcd --on nvme --for 10m
  fsverdict ask database --on sd-card --plan mine.toml --dry-run

A device is a modelled one unless it is a path: nothing of yours is written. `fsverdict list presets` has all questions.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct AskArguments {
    /// What the work is, in words: photos, mail, etcd, git, a preset's name
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// The work: a folder of yours that is copied, read and removed, or one of the words
    #[arg(long, value_name = "FOLDER|WORD")]
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
    /// Begin without asking whether to
    #[arg(long)]
    yes: bool,
}

/// How large a modelled device is where the plan has none of its own.
const SIZE: &str = "16GB";

/// How long an answer may take where nobody says.
const USUAL_TIME: Duration = Duration::from_secs(600);

/// What is to be found out, as far as it was understood.
struct Question {
    work: AskedWork,
    device: Option<AskedDevice>,
    must: Vec<RequiredProperty>,
}

/// Where a plan names the models of its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanModels {
    /// Several, among which candidates are not compared.
    Matrix,
    Device,
    None,
}

enum AskedWork {
    Preset(&'static Preset),
    Folder(PathBuf),
}

/// What it is asked of.
struct AskedDevice {
    source: DeviceSource,
    /// For people.
    shown: String,
}

pub(super) fn run(arguments: &AskArguments) -> Result<Exit, CliError> {
    let there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let question = understand(arguments, there)?;
    let (text, name) = question.plan_text()?;
    let mut run = RunArguments::of_question(&name);
    run.set = question.settings();
    run.device = question.replaced_device().into_iter().collect();
    run.budget = arguments.budget.or(Some(USUAL_TIME));
    run.out.clone_from(&arguments.out);
    run.erase.clone_from(&arguments.erase);
    run.dry_run = arguments.dry_run;
    let plan = run.plan_of(&text, &name)?;
    say(&wrap(&question.told(&name, &plan), 96).join("\n"));
    if let Some(path) = &arguments.plan {
        keep(path, &name, &plan)?;
        say(&format!("the plan is in {}", quoted(&path.to_string_lossy())));
    }
    if there && !arguments.yes && !arguments.dry_run && !agreed()? {
        return Ok(Exit::Done);
    }
    let exit = carry_out(&run, plan, &PlanOrigin::Preset)?;
    if arguments.plan.is_none() && !arguments.dry_run {
        say(
            "the plan is in the folder of the run: `fsverdict show RUN > mine.toml` makes one of your own of it",
        );
    }
    Ok(exit)
}

fn understand(arguments: &AskArguments, there: bool) -> Result<Question, CliError> {
    let mut words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    // `mail on hdd` is said as it is thought.
    let place = words.iter().position(|word| *word == "on");
    let on = place.and_then(|at| words.get(at + 1).copied());
    if let Some(at) = place {
        let twice = words.iter().filter(|word| **word == "on").count() > 1 || arguments.device.is_some();
        if on.is_none() || twice {
            return Err(CliError::Usage(Reason::new(
                if twice { "more than one device is named" } else { "no device is named behind `on`" },
                "one question is about one device: fsverdict ask mail on hdd; without `on` it is the question's own",
            )));
        }
        words.drain(at..(at + 2).min(words.len()));
    }
    let work = match (&arguments.work, words.is_empty()) {
        (Some(work), _) => work_of(work)?,
        (None, false) => work_of(&words.join(" "))?,
        (None, true) if there => ask_work()?,
        (None, true) => {
            return Err(CliError::Usage(Reason::new(
                "nothing was asked, and nobody is there to be asked what it is to be",
                "name the work and the device: fsverdict ask photos --on usb-disk; `fsverdict ask --help` has more",
            )));
        }
    };
    let asked_all = arguments.work.is_none() && arguments.words.is_empty() && there;
    let device = match arguments.device.as_deref().or(on) {
        Some(word) => Some(device_of(word)?),
        None if asked_all => ask_device()?,
        None => None,
    };
    let mut must = Vec::new();
    for word in &arguments.must {
        must.push(property_of(word)?);
    }
    if asked_all && arguments.must.is_empty() && !arguments.encrypted {
        must = ask_must()?;
    }
    if arguments.encrypted {
        must.push(RequiredProperty::Encryption);
    }
    Ok(Question { work, device, must })
}

fn work_of(said: &str) -> Result<AskedWork, CliError> {
    let expanded = match said.strip_prefix("~/") {
        Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
        None => PathBuf::from(said),
    };
    if said.contains('/') || expanded.is_dir() {
        let folder = std::fs::canonicalize(&expanded).map_err(|error| {
            CliError::Usage(Reason::new(
                format!("cannot work with the folder {}: {error}", quoted(said)),
                "name a folder that is there, or the work in a word: photos, mail, etcd",
            ))
        })?;
        return match folder.is_dir() {
            true => Ok(AskedWork::Folder(folder)),
            false => Err(CliError::Usage(Reason::new(
                format!("{} is no folder", quoted(said)),
                "--work takes a folder with the files that the work is with",
            ))),
        };
    }
    match ask_words::preset_for(said) {
        Some(preset) => Ok(AskedWork::Preset(preset)),
        None => {
            let known: Vec<&str> = WORKS.iter().flat_map(|work| work.words).copied().collect();
            Err(CliError::Usage(Reason::new(
                format!("no question is known about `{said}`"),
                format!(
                    "words are {}; `fsverdict list presets` has all questions, and --work takes a folder of yours",
                    near(said, &known, WORKS.iter().filter_map(|work| work.words.first().copied()))
                ),
            )))
        }
    }
}

fn device_of(word: &str) -> Result<AskedDevice, CliError> {
    if word.contains('/') {
        let source: DeviceSource = word.parse().map_err(CliError::Usage)?;
        return Ok(AskedDevice { source, shown: format!("{word}, which is erased") });
    }
    let kind = DEVICES.iter().find(|kind| kind.words.contains(&word));
    let name = match kind {
        Some(DeviceKind { model, .. }) => *model,
        None => {
            let named = built_in().iter().find(|known| known.name == word.split(':').next().unwrap_or(word));
            match named {
                Some(_) => word,
                None => {
                    let models = built_in().iter().map(|known| known.name);
                    let known: Vec<&str> =
                        DEVICES.iter().flat_map(|kind| kind.words).copied().chain(models).collect();
                    return Err(CliError::Usage(Reason::new(
                        format!("no device is known as `{word}`"),
                        format!(
                            "words are {}; a block device of yours is named by its path",
                            near(word, &known, DEVICES.iter().filter_map(|kind| kind.words.first().copied()))
                        ),
                    )));
                }
            }
        }
    };
    let source = format!("model:{name}@{SIZE}").parse().map_err(CliError::Usage)?;
    let summary =
        Model::named(name.split(':').next().unwrap_or(name)).map_or(String::new(), |model| model.summary);
    Ok(AskedDevice { source, shown: format!("modelled, {name}: {summary}") })
}

/// The word that was meant, where one is near; else the first word of each kind.
fn near<'a>(said: &str, known: &[&str], firsts: impl Iterator<Item = &'a str>) -> String {
    let suggested = suggest(said, known);
    let firsts = firsts.collect::<Vec<_>>().join(", ");
    if suggested.starts_with("did you mean") { format!("{firsts}; {suggested}") } else { firsts }
}

fn property_of(word: &str) -> Result<RequiredProperty, CliError> {
    RequiredProperty::called(word).ok_or_else(|| {
        CliError::Usage(Reason::new(
            format!("`{word}` is nothing that can be required"),
            suggest(word, &RequiredProperty::words()),
        ))
    })
}

impl Question {
    /// The plan before its settings, and what it is called.
    fn plan_text(&self) -> Result<(String, String), CliError> {
        match &self.work {
            AskedWork::Preset(preset) => Ok((preset.toml.to_owned(), preset.name.to_owned())),
            AskedWork::Folder(folder) => {
                let path = folder.to_str().ok_or_else(|| {
                    CliError::Usage(Reason::new(
                        format!("{} has a name that no plan can hold", folder.display()),
                        "a plan is text in UTF-8; rename the folder, or name one above it",
                    ))
                })?;
                Ok((ask_words::folder_plan(path), "folder".to_owned()))
            }
        }
    }

    /// What the question changes of the plan.
    fn settings(&self) -> Vec<String> {
        let mut set: Vec<String> =
            self.must.iter().map(|property| format!("goal.require.{}=true", property.word())).collect();
        let has = |property| self.must.contains(&property);
        if has(RequiredProperty::Encryption) && !self.has_layers() {
            set.push("matrix.encryption=[\"luks2\"]".to_owned());
        }
        if has(RequiredProperty::Windows) || has(RequiredProperty::Macos) {
            set.push("matrix.filesystem=[\"exfat\", \"ntfs3\", \"vfat\"]".to_owned());
        }
        if let Some(AskedDevice { source: DeviceSource::Model { name, .. }, .. }) = &self.device {
            match self.models() {
                PlanModels::Matrix => set.push(format!("matrix.model=[\"{name}\"]")),
                PlanModels::Device => set.push(format!("device.model=\"{name}\"")),
                PlanModels::None => {}
            }
        }
        set
    }

    /// Whether the plan says itself which layers are tried: those without encryption are left out then.
    fn has_layers(&self) -> bool {
        matches!(&self.work, AskedWork::Preset(preset) if preset.toml.contains("\nlayers"))
    }

    /// Where the plan names its models; the size of a device is the plan's own, which knows how much is written.
    fn models(&self) -> PlanModels {
        match &self.work {
            AskedWork::Preset(preset) if preset.toml.contains("\nmodel      = [") => PlanModels::Matrix,
            AskedWork::Preset(preset) if !preset.toml.contains("\nmodel = ") => PlanModels::None,
            _ => PlanModels::Device,
        }
    }

    /// What is put in the place of the plan's device as a whole.
    fn replaced_device(&self) -> Option<DeviceSource> {
        let source = &self.device.as_ref()?.source;
        let in_place = matches!(source, DeviceSource::Model { .. }) && self.models() != PlanModels::None;
        (!in_place).then(|| source.clone())
    }

    fn told(&self, name: &str, plan: &Plan) -> String {
        let work = match &self.work {
            AskedWork::Preset(preset) => format!("{} (preset {name})", preset.summary),
            AskedWork::Folder(folder) => format!(
                "up to {} of {}: copied, read back, searched and removed",
                Bytes(200_000_000),
                quoted(&folder.to_string_lossy())
            ),
        };
        let device = self.device.as_ref().map_or("the plan's own".to_owned(), |device| device.shown.clone());
        let must = match self.must.as_slice() {
            [] => String::new(),
            all => {
                format!("; must have: {}", all.iter().map(|one| one.word()).collect::<Vec<_>>().join(", "))
            }
        };
        let names: Vec<&str> = contestants(plan).map(|candidate| candidate.name.as_str()).collect();
        let time = plan.protocol.budget.map_or(String::new(), |time| {
            format!("; time: up to {} (--for), and less where it is decided before", duration_text(time))
        });
        format!("work: {work}; device: {device}{must}; candidates: {}{time}", listing(&names, 8))
    }
}

/// Leaves the plan, with all that the question changed, where it was asked for.
fn keep(path: &Path, name: &str, plan: &Plan) -> Result<(), CliError> {
    use std::io::Write;
    let text = format!(
        "# Made by fsverdict ask of the question {name}; fsverdict show {name} says more about it, and where it is from.\n{}",
        write(plan)
    );
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        CliError::Usage(Reason::new(
            format!("cannot write the plan to {}: {error}", path.display()),
            "name a file that is not there yet",
        ))
    })
}

fn line() -> Result<String, CliError> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => Err(CliError::Usage(Reason::new("nothing was asked", ""))),
        Ok(_) => Ok(line.trim().to_owned()),
    }
}

/// Asks until the answer is understood, or nobody answers any more.
fn until_understood<T>(prompt: &str, read: impl Fn(&str) -> Result<T, CliError>) -> Result<T, CliError> {
    loop {
        talk::ask(prompt);
        match read(&line()?) {
            Ok(understood) => return Ok(understood),
            Err(CliError::Usage(reason)) => say(&format!("{} ({})", reason.what, reason.hint)),
            Err(other) => return Err(other),
        }
    }
}

fn numbered<'a>(entries: impl Iterator<Item = &'a str>) -> String {
    entries.enumerate().map(|(at, entry)| format!("  {}  {entry}\n", at + 1)).collect()
}

/// The entry of this number, counted from 1.
fn of_number<'a, T>(all: &'a [T], said: &str) -> Option<&'a T> {
    said.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?))
}

fn ask_work() -> Result<AskedWork, CliError> {
    say("What is the work?");
    say(numbered(WORKS.iter().map(|work| work.shown)).trim_end());
    until_understood("a number, a word, or a folder of yours: ", |said| match of_number(WORKS, said) {
        Some(WorkKind { words: [first, ..], .. }) => work_of(first),
        _ => work_of(said),
    })
}

fn ask_device() -> Result<Option<AskedDevice>, CliError> {
    say("On what device?");
    say(numbered(DEVICES.iter().map(|kind| kind.shown)).trim_end());
    until_understood("a number, a word, a path, or nothing for the question's own: ", |said| {
        match (of_number(DEVICES, said), said) {
            (_, "") => Ok(None),
            (Some(DeviceKind { words: [first, ..], .. }), _) => device_of(first).map(Some),
            _ => device_of(said).map(Some),
        }
    })
}

fn ask_must() -> Result<Vec<RequiredProperty>, CliError> {
    let words = RequiredProperty::words();
    say(&format!("What must it have? {}", words.join(", ")));
    until_understood("words, or nothing: ", |said| {
        said.split([',', ' ']).filter(|word| !word.is_empty()).map(property_of).collect()
    })
}

fn agreed() -> Result<bool, CliError> {
    talk::ask("Begin? [Y/n] ");
    Ok(!["n", "no"].contains(&line()?.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::{AskedWork, Question, device_of, of_number, property_of, work_of};
    use crate::cli::ask_words::{DEVICES, WORKS};
    use crate::cli::with_vocabulary;
    use fsverdict_judgement::plan::{Overrides, RequiredProperty, presets, read_with};

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
            of_number(WORKS, "1").is_some()
                && of_number(WORKS, "0").is_none()
                && of_number(WORKS, "x").is_none()
        );
    }

    #[test]
    fn every_question_on_every_device_is_a_plan() {
        let musts = [vec![], vec![RequiredProperty::Encryption], vec![RequiredProperty::Windows]];
        let folder = std::env::temp_dir();
        let works = WORKS.iter().filter_map(|work| work_of(work.words[0]).ok());
        for work in works.chain([AskedWork::Folder(folder)]) {
            let mut question = Question { work, device: None, must: Vec::new() };
            let kinds = DEVICES.iter().map(|kind| Some(kind.words[0])).chain([Some("/dev/sdz"), None]);
            for word in kinds {
                for must in &musts {
                    question.device = word.map(|word| device_of(word).unwrap());
                    question.must.clone_from(must);
                    let (text, name) = question.plan_text().unwrap();
                    let device = question.replaced_device().into_iter().collect();
                    let overrides = Overrides { set: question.settings(), device, ..Overrides::default() };
                    let plan = with_vocabulary(|words| read_with(&text, &name, &overrides, words));
                    assert!(plan.is_ok(), "{name}: {}", plan.unwrap_err());
                }
            }
        }
    }
}
