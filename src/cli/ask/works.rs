//! The one work of a question: a preset, or a folder of the user's, and the faults that it is examined for besides.

use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::{Overrides, once_each, read_with};
use fsverdict_text::{Reason, join_names, quoted};
use fsverdict_workload::dataset::holds_data;

use super::super::{CliError, with_vocabulary};
use super::lexicon::{Meaning, WORKS, WorkKind, meanings};
use super::parsed::{ParsedQuestion, Worded};
use super::usage;

/// The work of a question.
#[derive(Clone)]
pub(super) enum AskedWork {
    Preset(&'static WorkKind),
    Folder(PathBuf),
}

type NamedWorks = Vec<Worded<&'static WorkKind>>;

const ONE_WORK: &str = "one question is about one work";

/// A fault that another work can be examined for.
pub(super) struct ExaminedFault {
    preset: &'static str,
    /// `--set` of a plan that is examined for it: fewer than in the preset about it, since there is other work.
    pub(super) setting: &'static str,
    pub(super) shown: &'static str,
}

const FAULTS: [ExaminedFault; 2] = [
    ExaminedFault {
        preset: "power-cut",
        setting: "faults.power_cuts=200",
        shown: "power cuts: 200 states of each candidate, after its trials",
    },
    ExaminedFault {
        preset: "bit-rot",
        setting: "faults.rot=100",
        shown: "bit rot: 100 blocks of each candidate, after its trials",
    },
];

/// The one work of a question, and faults that it is examined for besides. `option` is that of the command line.
///
/// # Errors
/// Fails if there is none, or more than one, or if a folder cannot be read.
pub(super) fn choose_work(
    parsed: &mut ParsedQuestion,
    option: Option<&str>,
) -> Result<(Worded<AskedWork>, Vec<Worded<&'static ExaminedFault>>), CliError> {
    let mut named = NamedWorks::new();
    for work in std::mem::take(&mut parsed.works) {
        match named.iter_mut().find(|other| other.value.preset.name == work.value.preset.name) {
            Some(other) => other.words = format!("{}, {}", other.words, work.words),
            None => named.push(work),
        }
    }
    join_works(&mut named, parsed);
    if !parsed.near.is_empty() {
        return Err(no_work(parsed));
    }
    if let (Some(_), Some(folder)) = (option, &parsed.folder) {
        return Err(usage(format!("more than one work is named: --work, and {}", folder.words), ONE_WORK));
    }
    // A folder by its path, and not a word for a work.
    let of_option = option.filter(|text| text.contains('/') || Path::new(text).is_dir());
    let of_option = of_option.map(|text| (text, format!("--work {text}")));
    let folder = parsed.folder.as_ref().map(|folder| (folder.words.as_str(), folder.words.clone()));
    if let Some((path, words)) = folder.or(of_option) {
        let folder = Worded::new(folder_at(path)?, words);
        // `raw photos in ~/Pictures`: the words describe the files of the folder.
        if let Some(other) = named.iter().find(|work| !work.value.ask.files) {
            let what = format!("more than one work is named: {}, and {}", folder.words, other.words);
            return Err(usage(what, format!("{ONE_WORK}; leave one of them out")));
        }
        let words = named.iter().fold(folder.words, |words, work| format!("{words}, {}", work.words));
        return Ok((Worded::new(AskedWork::Folder(folder.value), words), Vec::new()));
    }
    if let Some(option) = option {
        named.insert(0, Worded::new(work_called(option)?, format!("--work {option}")));
    }
    let faults = take_faults(&mut named);
    match named.as_slice() {
        [only] => Ok((Worded::new(AskedWork::Preset(only.value), &only.words), faults)),
        [] => Err(no_work(parsed)),
        several => {
            let words: Vec<String> =
                several.iter().map(|work| format!("{} ({})", work.words, work.value.preset.name)).collect();
            let what = format!("more than one work is named: {}", words.join(", "));
            Err(usage(what, format!("{ONE_WORK}: ask of one of them, and the rest as it is")))
        }
    }
}

/// Puts a preset that is about two works, or a work and a filesystem, in the place of both.
fn join_works(named: &mut NamedWorks, parsed: &ParsedQuestion) {
    let pairs_of = |work: &'static WorkKind| {
        work.ask.joins.iter().filter_map(move |pair| Some((work, pair.split_once(" + ")?)))
    };
    let pairs: Vec<(&WorkKind, (&str, &str))> = WORKS.iter().flat_map(pairs_of).collect();
    let at = |name: &str| named.iter().position(|named_work| named_work.value.preset.name == name);
    let two = pairs.iter().find_map(|(work, (named_work, other))| Some((*work, at(named_work)?, at(other)?)));
    if let Some((work, first, second)) = two.filter(|_| named.len() > 1) {
        named[first] = Worded::new(work, format!("{}, {}", named[first].words, named[second].words));
        if first != second {
            named.remove(second);
        }
    }
    let is_named =
        |name: &str| parsed.candidates.iter().any(|named_work| named_work.value.filesystem.name == name);
    for named_work in named {
        let mut of_work = pairs.iter().filter(|(_, (work, _))| *work == named_work.value.preset.name);
        if let Some((work, (_, filesystem))) = of_work.find(|(_, (_, filesystem))| is_named(filesystem)) {
            *named_work = Worded::new(*work, format!("{}, {filesystem}", named_work.words));
        }
    }
}

/// Of two works, one of which is a fault that the other can be examined for, leaves the other: its plan says which files
/// must survive a fault.
fn take_faults(named: &mut NamedWorks) -> Vec<Worded<&'static ExaminedFault>> {
    let fault_of = |named_work: &Worded<&WorkKind>| {
        FAULTS.iter().find(|fault| fault.preset == named_work.value.preset.name)
    };
    let [named_work, other] = named.as_slice() else { return Vec::new() };
    let (named_fault, work) =
        if fault_of(named_work).is_some() { (named_work, other) } else { (other, named_work) };
    let Some(fault) = fault_of(named_fault) else { return Vec::new() };
    let overrides = Overrides { set: vec![fault.setting.to_owned()], ..Overrides::default() };
    let preset = work.value.preset;
    if with_vocabulary(|known| read_with(preset.toml, preset.name, &overrides, known)).is_err() {
        return Vec::new();
    }
    let faults = vec![Worded::new(fault, &named_fault.words)];
    *named = vec![work.clone()];
    faults
}

/// The work that one word or phrase names.
fn work_called(word: &str) -> Result<&'static WorkKind, CliError> {
    let mut parsed = ParsedQuestion::default();
    for meaning in meanings(word) {
        match meaning {
            Meaning::Work(work) => return Ok(work),
            Meaning::Near(work) => parsed.near.push(Worded::new(*work, word)),
            _ => {}
        }
    }
    match no_work(&parsed) {
        CliError::Usage(reason) => {
            Err(CliError::Usage(Reason { what: format!("no question is known about `{word}`"), ..reason }))
        }
        other => Err(other),
    }
}

/// The error for a question without a work: the nearest one, or examples.
fn no_work(parsed: &ParsedQuestion) -> CliError {
    if parsed.near.is_empty() {
        let place = parsed.places.first().map_or(String::new(), |place| {
            format!("; `{}` says where, and not what is done there", place.words)
        });
        return usage(format!("no work is named{place}"), work_hint());
    }
    let words: Vec<&str> = parsed.near.iter().map(|work| work.words.as_str()).collect();
    usage(
        format!("no question is known about {}", words.join(", ")),
        format!(
            "nearest: {}; say its name in the place of these words, or --work takes a folder of yours",
            list_nearest(parsed).join(", ")
        ),
    )
}

/// The presets that come nearest to the works of a question, each with its summary.
pub(super) fn list_nearest(parsed: &ParsedQuestion) -> Vec<String> {
    let nearest = parsed.near.iter().map(|named_work| named_work.value);
    once_each(nearest.map(|work| format!("`{}` ({})", work.preset.name, work.ask.summary)))
}

/// Which works there are.
pub(super) fn work_hint() -> String {
    let words: Vec<&str> = WORKS.iter().filter_map(WorkKind::first_word).collect();
    format!(
        "works are {}; `fsverdict list presets` describes them, and --work takes a folder of yours",
        join_names(&words, words.len(), "and")
    )
}

/// The folder of this path.
///
/// # Errors
/// Fails if it is no folder with files that have content.
fn folder_at(text: &str) -> Result<PathBuf, CliError> {
    let expanded = match text.strip_prefix("~/") {
        Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
        None => PathBuf::from(text),
    };
    let name = quoted(text);
    let folder = std::fs::canonicalize(&expanded).map_err(|error| {
        usage(
            format!("cannot work with the folder {name}: {error}"),
            "name a folder that is there, or the work in a word: photos, mail, etcd",
        )
    })?;
    if !folder.is_dir() {
        return Err(usage(
            format!("{name} is no folder"),
            "--work takes a folder with the files that the work is with; a plan is run by `fsverdict run`",
        ));
    }
    // Files there belong to the kernel, and have no size.
    if let Some(top) = ["/proc", "/sys", "/dev"].iter().find(|top| folder.starts_with(top)) {
        let what = format!("{name} is the kernel's {top}, and no work is done with its files");
        return Err(usage(what, "--work takes a folder with files of yours"));
    }
    let has_content = holds_data(&folder).map_err(|errno| {
        let error = std::io::Error::from(errno);
        usage(format!("cannot read the folder {name}: {error}"), "name a folder that you can read")
    })?;
    if !has_content {
        let what = format!("there is no file with content in {name}");
        return Err(usage(what, "name a folder that holds files like those you work with"));
    }
    Ok(folder)
}
