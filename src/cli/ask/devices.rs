//! The one device of a question: that of the words or of `--on`, of the place, or of the preset.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use fsverdict_disk::device::{Model, built_in};
use fsverdict_judgement::plan::DeviceSource;
use fsverdict_text::{Bytes, quoted};

use super::super::CliError;
use super::lexicon::{DEVICES, Meaning, meanings, normalize};
use super::parsed::{ParsedQuestion, Worded};
use super::usage;
use super::works::AskedWork;

/// The size of a modelled device if neither the question nor the plan gives one.
const USUAL_SIZE: &str = "16GB";

/// The device of a question.
#[derive(Debug, Clone)]
pub(super) struct AskedDevice {
    /// As the user named it; empty for the preset's usual one.
    pub(super) words: String,
    pub(super) source: DeviceSource,
    /// Whether its size is the user's word; that of a model is otherwise the plan's, which knows how much is written.
    pub(super) is_sized: bool,
    /// For people.
    pub(super) shown: String,
}

/// The device of a question. `option` is that of the command line.
///
/// # Errors
/// Fails if there is more than one, or if it cannot be had.
pub(super) fn choose_device(
    parsed: &ParsedQuestion,
    option: Option<&str>,
    work: &AskedWork,
) -> Result<Option<AskedDevice>, CliError> {
    let mut named: Vec<Worded<String>> =
        option.map(|word| Worded::new(word.to_owned(), word)).into_iter().collect();
    named.extend(parsed.devices.iter().cloned());
    let devices =
        named.iter().map(|known| device_called(&known.value, &known.words)).collect::<Result<Vec<_>, _>>()?;
    let place = parsed.places.first();
    let words: Vec<&str> = named.iter().map(|known| known.words.as_str()).collect();
    let words = words.join(", ");
    let device = match (devices.as_slice(), place, work) {
        ([], Some(place), _) if let Some(model) = place.value.device => {
            Some(device_called(model, &place.words)?)
        }
        ([], _, AskedWork::Preset(work)) => {
            work.ask.device.as_deref().map(|model| device_called(model, "")).transpose()?
        }
        ([], _, AskedWork::Folder(_)) => None,
        // `an archive disk, smr` is one device that is named twice.
        ([first, rest @ ..], ..) if rest.iter().all(|other| other.source == first.source) => {
            Some(AskedDevice { words, ..first.clone() })
        }
        _ => {
            return Err(usage(
                format!("more than one device is named: {words}"),
                "one question is about one device: fsverdict ask mail on hdd; without `on` it is the question's own",
            ));
        }
    };
    match (&parsed.device_size, device) {
        (Some(size), Some(device)) => with_size(&device, size).map(Some),
        (_, device) => Ok(device),
    }
}

/// The device with the size that the words give it.
fn with_size(device: &AskedDevice, size: &Worded<Bytes>) -> Result<AskedDevice, CliError> {
    let DeviceSource::Model { name, .. } = &device.source else {
        return Err(usage(
            format!("{} has a size of its own: `{}` cannot be said of it", device.words, size.words),
            "leave the size out",
        ));
    };
    let capacity = Model::named(name).map_or(u64::MAX, |model| model.capacity());
    if size.value.0 > capacity {
        return Err(usage(
            format!("`{}` is more than {name} has, which is modelled up to {}", size.words, Bytes(capacity)),
            "leave the size out: the plan then takes as much as it needs",
        ));
    }
    Ok(AskedDevice {
        source: DeviceSource::Model { name: name.clone(), size: size.value },
        is_sized: true,
        shown: format!("{}, {}", device.shown, size.value),
        words: size.words.clone(),
    })
}

/// The device of this name, word or path.
fn device_called(name: &str, words: &str) -> Result<AskedDevice, CliError> {
    let words = words.to_owned();
    if name.contains('/') || ["image:", "model:"].iter().any(|kind| name.starts_with(kind)) {
        let source: DeviceSource = name.parse().map_err(CliError::Usage)?;
        let shown = match &source {
            DeviceSource::Path(path) => {
                check_block_device(path)?;
                format!("{name}, which is erased")
            }
            DeviceSource::Image(_) => format!("{name}, a scratch image on this machine's disk"),
            DeviceSource::Model { .. } => format!("modelled, {name}"),
            DeviceSource::Folders => name.to_owned(),
        };
        return Ok(AskedDevice { words, source, is_sized: true, shown });
    }
    let of_word = meanings(name).iter().find_map(|meaning| match meaning {
        Meaning::Device(model) | Meaning::DeviceBehindOn(model) => Some(*model),
        Meaning::Place(place) => place.device,
        _ => None,
    });
    let plain_name = normalize(name.split(':').next().unwrap_or(name));
    let is_model = || built_in().iter().any(|known| normalize(known.name) == plain_name);
    let Some(model) = of_word.map(str::to_owned).or_else(|| is_model().then(|| name.to_lowercase())) else {
        return Err(no_device(name));
    };
    let source = format!("model:{model}@{USUAL_SIZE}").parse().map_err(CliError::Usage)?;
    Ok(AskedDevice { words, source, is_sized: false, shown: describe_model(&model) })
}

fn no_device(name: &str) -> CliError {
    let advice = meanings(name).iter().find_map(|meaning| match meaning {
        Meaning::Outside(advice) => Some((*advice).to_owned()),
        _ => None,
    });
    let hint = advice.unwrap_or_else(|| {
        let names: Vec<&str> =
            DEVICES.iter().filter_map(|kind| kind.words.words.first()).map(String::as_str).collect();
        format!(
            "devices are {}; your own block device is named by its path, such as /dev/sdb",
            names.join(", ")
        )
    });
    usage(format!("no device is known as `{name}`"), hint)
}

/// A model for people: its name, with its state, and its summary.
pub(super) fn describe_model(name: &str) -> String {
    let model = Model::named(name.split(':').next().unwrap_or(name));
    format!("modelled, {name}{}", model.map_or(String::new(), |model| format!(": {}", model.summary)))
}

/// Checks early that the path is a block device, before the user answers other questions. Its content is examined
/// before the first write.
fn check_block_device(path: &Path) -> Result<(), CliError> {
    let name = quoted(&path.to_string_lossy());
    let wrong = match std::fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_block_device() => return Ok(()),
        Ok(_) => format!("{name} is no block device"),
        Err(error) => format!("{name} cannot be used: {error}"),
    };
    Err(usage(
        wrong,
        "`lsblk -o PATH,SIZE,MODEL,MOUNTPOINTS` lists those there are; a word (hdd, ssd, nvme …) asks of a modelled one",
    ))
}
