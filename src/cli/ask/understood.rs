//! What is said of a question, understood: the work, the device, and what must hold.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fsverdict_disk::device::{Model, built_in};
use fsverdict_judgement::plan::{DeviceSource, RequiredProperty};
use fsverdict_text::{Reason, quoted, suggest};

use super::super::CliError;
use super::question::{AskedDevice, AskedWork};
use super::words::{DEVICES, DeviceKind, MUSTS, WORKS, preset_for};

/// How large a modelled device is where the plan has none of its own.
const SIZE: &str = "16GB";

pub(super) fn work_of(said: &str) -> Result<AskedWork, CliError> {
    if said.is_empty() {
        return Err(CliError::Usage(Reason::new(
            "no work was named",
            "a question needs one: photos, mail, etcd, or a folder of yours; Ctrl-C leaves",
        )));
    }
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
    match preset_for(said) {
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
    let shown = format!("modelled, {name}: {summary}");
    Ok(AskedDevice { said: word.to_owned(), source, sized: false, shown })
}

/// The word that was meant, where one is near; else the first word of each kind.
fn near<'a>(said: &str, known: &[&str], firsts: impl Iterator<Item = &'a str>) -> String {
    let suggested = suggest(said, known);
    let firsts = firsts.collect::<Vec<_>>().join(", ");
    if suggested.starts_with("did you mean") { format!("{firsts}; {suggested}") } else { firsts }
}

pub(super) fn property_of(said: &str) -> Result<RequiredProperty, CliError> {
    let word = said.to_lowercase().replace('-', "_");
    let must = MUSTS.iter().find(|must| must.words.contains(&word.as_str()));
    must.map(|must| must.property).ok_or_else(|| {
        CliError::Usage(Reason::new(
            format!("`{said}` is nothing that can be required"),
            suggest(&word, &RequiredProperty::words()),
        ))
    })
}

/// Looks now whether it is there, and not once all else was answered; what is on it is looked at before it is written.
fn is_block_device(path: &Path) -> Result<(), CliError> {
    let wrong = match std::fs::metadata(path) {
        Ok(found) if found.file_type().is_block_device() => return Ok(()),
        Ok(_) => format!("{} is no block device", quoted(&path.to_string_lossy())),
        Err(error) => format!("{} cannot be used: {error}", quoted(&path.to_string_lossy())),
    };
    let hint = "`lsblk -o PATH,SIZE,MODEL,MOUNTPOINTS` lists those there are; a word (hdd, ssd, nvme …) asks of a modelled one";
    Err(CliError::Usage(Reason::new(wrong, hint)))
}
