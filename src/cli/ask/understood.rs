//! Interprets the parts of a question: the work, the device, and the required properties.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fsverdict_disk::device::{Model, built_in};
use fsverdict_judgement::plan::{DeviceSource, RequiredProperty, once_each};
use fsverdict_text::{Reason, find_suggestions, is_one_slip, join_alternatives, quoted};
use fsverdict_workload::dataset::holds_data;

use super::super::CliError;
use super::heard::hear;
use super::heard_work::HeardWork;
use super::kinds::{DeviceKind, MUSTS, NO_MODEL, WorkKind, devices, works};
use super::question::{AskedDevice, AskedWork};
use super::words::{device_called, must_called, plain};

/// How large a modelled device is where the plan has none of its own.
const SIZE: &str = "16GB";

/// Whether `said` is the path of a folder, and not a word for a work.
pub(super) fn is_folder(said: &str) -> bool {
    said.contains('/') || Path::new(said).is_dir()
}

/// The work that one answer names, a word or a sentence.
pub(super) fn work_of(said: &str) -> Result<AskedWork, CliError> {
    if is_folder(said) {
        return folder_of(said);
    }
    heard_work(hear(&[said.to_owned()], false).work.map(|work| work.value), said)
}

/// The work that was found in the words, or an error that names known ones.
pub(super) fn heard_work(heard: Option<HeardWork>, said: &str) -> Result<AskedWork, CliError> {
    match heard {
        Some(HeardWork::Preset(preset)) => Ok(AskedWork::Preset(preset)),
        Some(HeardWork::Folder(folder)) => folder_of(&folder),
        None if said.is_empty() => Err(CliError::Usage(Reason::new(
            "no work was named",
            "a question needs one: photos, mail, etcd, or a folder of yours; Ctrl-C leaves",
        ))),
        None => {
            let known: Vec<&str> = works().iter().flat_map(WorkKind::words).collect();
            Err(CliError::Usage(Reason::new(
                format!("no question is known about `{said}`"),
                and_more(
                    &near(said, &known, works().iter().filter_map(WorkKind::first_word)),
                    "`fsverdict list presets` has all questions, and --work takes a folder of yours",
                ),
            )))
        }
    }
}

fn folder_of(said: &str) -> Result<AskedWork, CliError> {
    let expanded = match said.strip_prefix("~/") {
        Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
        None => PathBuf::from(said),
    };
    let folder = std::fs::canonicalize(&expanded).map_err(|error| {
        CliError::Usage(Reason::new(
            format!("cannot work with the folder {}: {error}", quoted(said)),
            "name a folder that is there, or the work in a word: photos, mail, etcd",
        ))
    })?;
    if !folder.is_dir() {
        return Err(CliError::Usage(Reason::new(
            format!("{} is no folder", quoted(said)),
            "--work takes a folder with the files that the work is with; a plan is run by `fsverdict run`",
        )));
    }
    // Files there belong to the kernel, and have no size.
    if let Some(of_kernel) = ["/proc", "/sys", "/dev"].iter().find(|top| folder.starts_with(top)) {
        return Err(CliError::Usage(Reason::new(
            format!("{} is the kernel's {of_kernel}, and no work is done with its files", quoted(said)),
            "--work takes a folder with files of yours",
        )));
    }
    let holds_data = holds_data(&folder).map_err(|errno| {
        CliError::Usage(Reason::new(
            format!("cannot read the folder {}: {}", quoted(said), std::io::Error::from(errno)),
            "name a folder that you can read",
        ))
    })?;
    if !holds_data {
        return Err(CliError::Usage(Reason::new(
            format!("there is no file with content in {}", quoted(said)),
            "name a folder that holds files like those you work with",
        )));
    }
    Ok(AskedWork::Folder(folder))
}

pub(super) fn device_of(word: &str) -> Result<AskedDevice, CliError> {
    if word.contains('/') || ["image:", "model:"].iter().any(|kind| word.starts_with(kind)) {
        let source: DeviceSource = word.parse().map_err(CliError::Usage)?;
        let shown = match &source {
            DeviceSource::Path(path) => {
                is_block_device(path)?;
                format!("{word}, which is erased")
            }
            DeviceSource::Image(_) => format!("{word}, a scratch image on this machine's disk"),
            DeviceSource::Model { .. } => format!("modelled, {word}"),
            DeviceSource::Folders => word.to_owned(),
        };
        return Ok(AskedDevice { said: word.to_owned(), source, sized: true, shown });
    }
    let plain_name = plain(word.split(':').next().unwrap_or(word));
    let model = built_in().iter().find(|known| plain(known.name) == plain_name);
    let name = match (device_called(word, true), model) {
        (Some(DeviceKind { model, .. }), _) => model.clone(),
        // With its state, as it is written.
        (None, Some(_)) => word.to_lowercase(),
        (None, None) => return Err(no_device(word)),
    };
    let source = format!("model:{name}@{SIZE}").parse().map_err(CliError::Usage)?;
    let summary =
        Model::named(name.split(':').next().unwrap_or(&name)).map_or(String::new(), |model| model.summary);
    let shown = format!("modelled, {name}: {summary}");
    Ok(AskedDevice { said: word.to_owned(), source, sized: false, shown })
}

fn no_device(word: &str) -> CliError {
    let plain_word = plain(word);
    if let Some((_, hint)) = NO_MODEL.iter().find(|(name, _)| plain(name) == plain_word) {
        return CliError::Usage(Reason::new(format!("no device is known as `{word}`"), *hint));
    }
    let models = built_in().iter().map(|known| known.name);
    let words = || devices().iter().map(|kind| &kind.called.words);
    let known: Vec<&str> = words().flatten().map(String::as_str).chain(models).collect();
    let firsts = words().filter_map(|words| words.first().map(String::as_str));
    CliError::Usage(Reason::new(
        format!("no device is known as `{word}`"),
        and_more(
            &near(word, &known, firsts),
            "to use your own block device, give its path, such as /dev/sdb",
        ),
    ))
}

/// Appends more advice to a hint. A question has its mark already.
fn and_more(hint: &str, more: &str) -> String {
    let mark = if hint.ends_with('?') { "" } else { ";" };
    format!("{hint}{mark} {more}")
}

/// The words that were meant, where some are near; else the first word of each kind.
fn near<'a>(said: &str, known: &[&str], firsts: impl Iterator<Item = &'a str>) -> String {
    let whole = [said].into_iter().filter(|said| said.contains(' '));
    let words = whole.chain(said.split(' ')).filter(|word| word.len() > 3);
    // Of a name, a third of the letters may differ; of the words of a sentence, one.
    let suggestions = words.map(|word| {
        let meant = find_suggestions(word, known);
        let is_near = |other: &&str| {
            is_one_slip(&word.to_lowercase(), other) || other.split(['-', ' ']).any(|part| part == word)
        };
        match said.contains(' ') {
            true => meant.into_iter().filter(is_near).collect(),
            false => meant,
        }
    });
    let suggestions = suggestions.filter(|meant| !meant.is_empty());
    let meant = once_each(suggestions.map(|meant| join_alternatives(&meant)));
    match meant.as_slice() {
        [] => format!("words are {}", firsts.collect::<Vec<_>>().join(", ")),
        some => format!("did you mean {}?", some.join(", ")),
    }
}

pub(super) fn property_of(said: &str) -> Result<RequiredProperty, CliError> {
    must_called(said).ok_or_else(|| {
        let known: Vec<&str> = MUSTS.iter().flat_map(|must| must.words).copied().collect();
        CliError::Usage(Reason::new(
            format!("`{said}` is not a property that can be required"),
            near(&said.to_lowercase(), &known, MUSTS.iter().filter_map(|must| must.words.first().copied())),
        ))
    })
}

/// Checks early that the path is a block device, before the user answers other questions. Its content is examined
/// before the first write.
fn is_block_device(path: &Path) -> Result<(), CliError> {
    let wrong = match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_block_device() => return Ok(()),
        Ok(_) => format!("{} is no block device", quoted(&path.to_string_lossy())),
        Err(error) => format!("{} cannot be used: {error}", quoted(&path.to_string_lossy())),
    };
    let hint = "`lsblk -o PATH,SIZE,MODEL,MOUNTPOINTS` lists those there are; a word (hdd, ssd, nvme …) asks of a modelled one";
    Err(CliError::Usage(Reason::new(wrong, hint)))
}
