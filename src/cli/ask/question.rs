//! A question with its work, device and processor found, from parsed words and options of the command line.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fsverdict_disk::device::{Model, built_in};
use fsverdict_judgement::plan::{
    Candidate, DeviceSource, Overrides, Preset, RequiredProperty, once_each, read_with,
};
use fsverdict_text::{Bytes, Reason, join_names, quoted};
use fsverdict_workload::dataset::holds_data;

use super::super::{CliError, with_vocabulary};
use super::features::Feature;
use super::folder::folder_plan;
use super::lexicon::{Meaning, WorkKind, meanings, normalize, works};
use super::parsed::{ParsedQuestion, Worded};

/// The size of a modelled device if neither the question nor the plan gives one.
const USUAL_SIZE: &str = "16GB";

/// A question that can be turned into a plan.
pub(super) struct Question {
    pub(super) work: Worded<AskedWork>,
    pub(super) device: Option<AskedDevice>,
    /// The processor of the place that is named.
    pub(super) cpu: Option<Worded<&'static str>>,
    /// Faults that the candidates are examined for besides their work.
    pub(super) faults: Vec<Worded<ExaminedFault>>,
    /// All else that the words say.
    pub(super) parsed: ParsedQuestion,
    /// Words that the user leaves out.
    pub(super) ignored: Vec<String>,
}

#[derive(Clone)]
pub(super) enum AskedWork {
    Preset(&'static WorkKind),
    Folder(PathBuf),
}

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

/// A fault that another work can be examined for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExaminedFault {
    PowerCuts,
    Rot,
}

impl ExaminedFault {
    /// The fault that a preset is about.
    pub(super) fn from_preset(preset: &Preset) -> Option<Self> {
        match preset.name {
            "power-cut" => Some(Self::PowerCuts),
            "bit-rot" => Some(Self::Rot),
            _ => None,
        }
    }

    /// `--set` of a plan that is examined for it: fewer than in the presets about faults, since there is other work.
    pub(super) const fn setting(self) -> &'static str {
        match self {
            Self::PowerCuts => "faults.power_cuts=200",
            Self::Rot => "faults.rot=100",
        }
    }

    pub(super) const fn shown(self) -> &'static str {
        match self {
            Self::PowerCuts => "power cuts: 200 states of each candidate, after its trials",
            Self::Rot => "bit rot: 100 blocks of each candidate, after its trials",
        }
    }
}

impl Question {
    /// # Errors
    /// Fails if there is no work or more than one, more than one device, or a device that cannot be had.
    pub(super) fn new(
        mut parsed: ParsedQuestion,
        work: Option<&str>,
        device: Option<&str>,
        ignored: &[String],
    ) -> Result<Self, CliError> {
        let (work, faults) = choose_work(&mut parsed, work)?;
        let place = match parsed.places.as_slice() {
            [first, rest @ ..] if rest.iter().any(|one| !std::ptr::eq(one.value, first.value)) => {
                let names: Vec<&str> = parsed.places.iter().map(|one| one.words.as_str()).collect();
                return Err(usage(
                    format!("more than one place is named: {}", names.join(", ")),
                    "one question is about one place",
                ));
            }
            all => all.first(),
        };
        let cpu = place.and_then(|place| Some(Worded::new(place.value.cpu?, place.words.clone())));
        let of_place = place.and_then(|place| Some((place.value.device?, place.words.clone())));
        let device = choose_device(&parsed, device, of_place, &work.value)?;
        Ok(Question { work, device, cpu, faults, parsed, ignored: ignored.to_vec() })
    }

    /// The required properties.
    pub(super) fn properties(&self) -> Vec<RequiredProperty> {
        once_each(self.parsed.required.iter().map(|one| one.value))
    }

    /// Whether the words name the candidate's filesystem.
    pub(super) fn names_filesystem(&self, candidate: &Candidate) -> bool {
        self.parsed.candidates.iter().any(|one| one.value.filesystem.name == candidate.filesystem)
    }

    /// The name of the preset, or of the plan for a folder.
    pub(super) fn name(&self) -> &'static str {
        match &self.work.value {
            AskedWork::Preset(work) => work.preset.name,
            AskedWork::Folder(_) => "folder",
        }
    }

    pub(super) fn preset(&self) -> Option<&'static WorkKind> {
        match &self.work.value {
            AskedWork::Preset(work) => Some(work),
            AskedWork::Folder(_) => None,
        }
    }

    /// Whether encrypted candidates are tried: the question mentions encryption, or it is about a preset that always has them.
    pub(super) fn mentions_encryption(&self) -> bool {
        !self.preset().is_some_and(|work| work.ask.encrypted_on_request)
            || self.properties().contains(&RequiredProperty::Encryption)
            || self.parsed.compared.iter().any(|one| one.value == Feature::ENCRYPTION)
    }

    /// The plan's text before anything of it is changed.
    ///
    /// # Errors
    /// Fails if a folder's name is no text.
    pub(super) fn text(&self) -> Result<String, CliError> {
        let folder = match &self.work.value {
            AskedWork::Preset(work) => return Ok(work.preset.toml.to_owned()),
            AskedWork::Folder(folder) => folder,
        };
        let path = folder.to_str().ok_or_else(|| {
            usage(
                format!("{} has a name that no plan can hold", folder.display()),
                "a plan is text in UTF-8; rename the folder, or name one above it",
            )
        })?;
        Ok(folder_plan(path))
    }
}

pub(super) fn usage(what: impl std::fmt::Display, hint: impl Into<String>) -> CliError {
    CliError::Usage(Reason::new(what, hint))
}

/// The one work of a question, and faults that it is examined for besides.
fn choose_work(
    parsed: &mut ParsedQuestion,
    option: Option<&str>,
) -> Result<(Worded<AskedWork>, Vec<Worded<ExaminedFault>>), CliError> {
    let mut named: Vec<Worded<&'static WorkKind>> = Vec::new();
    for one in std::mem::take(&mut parsed.works) {
        match named.iter_mut().find(|other| other.value.preset.name == one.value.preset.name) {
            Some(other) => other.words = format!("{}, {}", other.words, one.words),
            None => named.push(one),
        }
    }
    join_works(&mut named, parsed);
    if !parsed.near.is_empty() {
        return Err(no_work(parsed));
    }
    let folder = match (option, parsed.folder.take()) {
        (Some(option), None) if is_folder(option) => {
            Some(Worded::new(folder_at(option)?, format!("--work {option}")))
        }
        (None, Some(folder)) => Some(Worded::new(folder_at(&folder.words)?, folder.words)),
        (Some(_), Some(folder)) => {
            return Err(usage(
                format!("more than one work is named: --work, and {}", folder.words),
                "one question is about one work",
            ));
        }
        (_, None) => None,
    };
    if let Some(folder) = folder {
        // `raw photos in ~/Pictures`: the words describe the files of the folder.
        if let Some(other) = named.iter().find(|one| !one.value.ask.files) {
            return Err(usage(
                format!("more than one work is named: {}, and {}", folder.words, other.words),
                "one question is about one work; leave one of them out",
            ));
        }
        let words = named.iter().fold(folder.words, |words, one| format!("{words}, {}", one.words));
        return Ok((Worded::new(AskedWork::Folder(folder.value), words), Vec::new()));
    }
    if let Some(option) = option {
        named.insert(0, Worded::new(work_called(option)?, format!("--work {option}")));
    }
    let mut faults = Vec::new();
    if let [one, other] = named.as_slice() {
        let (fault, work) =
            if ExaminedFault::from_preset(one.value.preset).is_some() { (one, other) } else { (other, one) };
        if let Some(kind) = ExaminedFault::from_preset(fault.value.preset)
            .filter(|kind| can_be_examined(work.value.preset, *kind))
        {
            faults.push(Worded::new(kind, fault.words.clone()));
            named = vec![work.clone()];
        }
    }
    match named.as_slice() {
        [only] => Ok((Worded::new(AskedWork::Preset(only.value), only.words.clone()), faults)),
        [] => Err(no_work(parsed)),
        several => {
            let words: Vec<String> =
                several.iter().map(|one| format!("{} ({})", one.words, one.value.preset.name)).collect();
            Err(usage(
                format!("more than one work is named: {}", words.join(", ")),
                "one question is about one work: ask of one of them, and the rest as it is",
            ))
        }
    }
}

/// Puts a preset that is about two works, or a work and a filesystem, in the place of both.
fn join_works(named: &mut Vec<Worded<&'static WorkKind>>, parsed: &ParsedQuestion) {
    let pairs = || {
        let of_work = |work: &'static WorkKind| {
            work.ask.joins.iter().filter_map(move |pair| Some((work, pair.split_once(" + ")?)))
        };
        works().iter().flat_map(of_work)
    };
    let at =
        |named: &[Worded<&WorkKind>], name: &str| named.iter().position(|one| one.value.preset.name == name);
    if named.len() > 1
        && let Some((work, first, second)) =
            pairs().find_map(|(work, (one, other))| Some((work, at(named, one)?, at(named, other)?)))
    {
        let other = named[second].words.clone();
        named[first] = Worded::new(work, format!("{}, {other}", named[first].words));
        if first != second {
            named.remove(second);
        }
    }
    let is_named = |name: &str| parsed.candidates.iter().find(|one| one.value.filesystem.name == name);
    for one in named {
        let join = pairs()
            .find(|(_, (work, filesystem))| *work == one.value.preset.name && is_named(filesystem).is_some());
        if let Some((work, (_, filesystem))) = join {
            *one = Worded::new(work, format!("{}, {filesystem}", one.words));
        }
    }
}

/// Whether the plan of this work says which files must survive a fault.
fn can_be_examined(work: &Preset, fault: ExaminedFault) -> bool {
    let overrides = Overrides { set: vec![fault.setting().to_owned()], ..Overrides::default() };
    with_vocabulary(|vocabulary| read_with(work.toml, work.name, &overrides, vocabulary)).is_ok()
}

/// The work that one word or phrase names.
pub(super) fn work_called(word: &str) -> Result<&'static WorkKind, CliError> {
    let sure = meanings(word).iter().find_map(|meaning| match meaning {
        Meaning::Work(work) => Some(*work),
        _ => None,
    });
    sure.ok_or_else(|| {
        let parsed = ParsedQuestion { near: near_to(word), ..ParsedQuestion::default() };
        let CliError::Usage(reason) = no_work(&parsed) else { return no_work(&parsed) };
        CliError::Usage(Reason { what: format!("no question is known about `{word}`"), ..reason })
    })
}

fn near_to(word: &str) -> Vec<Worded<&'static WorkKind>> {
    let near = meanings(word).iter().filter_map(|meaning| match meaning {
        Meaning::Near(work) => Some(Worded::new(*work, word)),
        _ => None,
    });
    near.collect()
}

/// The error for a question without a work: the nearest one, or examples.
fn no_work(parsed: &ParsedQuestion) -> CliError {
    if parsed.near.is_empty() {
        let place = parsed.places.first().map_or(String::new(), |place| {
            format!("; `{}` says where, and not what is done there", place.words)
        });
        return usage(format!("no work is named{place}"), work_hint());
    }
    let words: Vec<&str> = parsed.near.iter().map(|one| one.words.as_str()).collect();
    let nearest = list_nearest(parsed);
    usage(
        format!("no question is known about {}", words.join(", ")),
        format!(
            "nearest: {}; say its name in the place of these words, or --work takes a folder of yours",
            nearest.join(", ")
        ),
    )
}

/// The presets that come nearest to the works of a question, each with what it is about.
pub(super) fn list_nearest(parsed: &ParsedQuestion) -> Vec<String> {
    let nearest = parsed.near.iter().map(|one| one.value);
    once_each(nearest.map(|work| format!("`{}` ({})", work.preset.name, work.ask.summary)))
}

/// Which works there are.
pub(super) fn work_hint() -> String {
    let words: Vec<&str> = works().iter().filter_map(WorkKind::first_word).collect();
    format!(
        "works are {}; `fsverdict list presets` describes them, and --work takes a folder of yours",
        join_names(&words, words.len(), "and")
    )
}

/// Whether `text` is the path of a folder, and not a word for a work.
pub(super) fn is_folder(text: &str) -> bool {
    text.contains('/') || Path::new(text).is_dir()
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
    let folder = std::fs::canonicalize(&expanded).map_err(|error| {
        usage(
            format!("cannot work with the folder {}: {error}", quoted(text)),
            "name a folder that is there, or the work in a word: photos, mail, etcd",
        )
    })?;
    if !folder.is_dir() {
        return Err(usage(
            format!("{} is no folder", quoted(text)),
            "--work takes a folder with the files that the work is with; a plan is run by `fsverdict run`",
        ));
    }
    // Files there belong to the kernel, and have no size.
    if let Some(top) = ["/proc", "/sys", "/dev"].iter().find(|top| folder.starts_with(top)) {
        let what = format!("{} is the kernel's {top}, and no work is done with its files", quoted(text));
        return Err(usage(what, "--work takes a folder with files of yours"));
    }
    let has_content = holds_data(&folder).map_err(|errno| {
        usage(
            format!("cannot read the folder {}: {}", quoted(text), std::io::Error::from(errno)),
            "name a folder that you can read",
        )
    })?;
    match has_content {
        true => Ok(folder),
        false => Err(usage(
            format!("there is no file with content in {}", quoted(text)),
            "name a folder that holds files like those you work with",
        )),
    }
}

/// The one device of a question: that of the words or of `--on`, of the place, or of the preset.
fn choose_device(
    parsed: &ParsedQuestion,
    option: Option<&str>,
    of_place: Option<(&str, String)>,
    work: &AskedWork,
) -> Result<Option<AskedDevice>, CliError> {
    let named: Vec<&str> =
        option.into_iter().chain(parsed.devices.iter().map(|one| one.value.as_str())).collect();
    let devices = named.iter().map(|name| device_called(name)).collect::<Result<Vec<_>, _>>()?;
    let device = match devices.as_slice() {
        [] => match (of_place, work) {
            (Some((name, words)), _) => Some(AskedDevice { words, ..device_called(name)? }),
            (None, AskedWork::Preset(work)) => {
                let usual = work.ask.device.as_deref().map(device_called).transpose()?;
                usual.map(|device| AskedDevice { words: String::new(), ..device })
            }
            (None, AskedWork::Folder(_)) => None,
        },
        // `an archive disk, smr` is one device that is named twice.
        [first, rest @ ..] if rest.iter().all(|other| other.source == first.source) => {
            Some(AskedDevice { words: named.join(", "), ..first.clone() })
        }
        _ => {
            return Err(usage(
                format!("more than one device is named: {}", named.join(", ")),
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

/// The device of this name or path.
///
/// # Errors
/// Fails if there is none.
pub(super) fn device_called(word: &str) -> Result<AskedDevice, CliError> {
    if word.contains('/') || ["image:", "model:"].iter().any(|kind| word.starts_with(kind)) {
        let source: DeviceSource = word.parse().map_err(CliError::Usage)?;
        let shown = match &source {
            DeviceSource::Path(path) => {
                check_block_device(path)?;
                format!("{word}, which is erased")
            }
            DeviceSource::Image(_) => format!("{word}, a scratch image on this machine's disk"),
            DeviceSource::Model { .. } => format!("modelled, {word}"),
            DeviceSource::Folders => word.to_owned(),
        };
        return Ok(AskedDevice { words: word.to_owned(), source, is_sized: true, shown });
    }
    let kind = meanings(word).iter().find_map(|meaning| match meaning {
        Meaning::Device(kind) | Meaning::DeviceBehindOn(kind) => Some(kind.model.clone()),
        Meaning::WorkPlace(place) => place.device.map(str::to_owned),
        _ => None,
    });
    let plain_name = normalize(word.split(':').next().unwrap_or(word));
    let model =
        || built_in().iter().any(|known| normalize(known.name) == plain_name).then(|| word.to_lowercase());
    let Some(name) = kind.or_else(model) else {
        let advice = meanings(word).iter().find_map(|meaning| match meaning {
            Meaning::Outside(advice) => Some(*advice),
            _ => None,
        });
        let names: Vec<&str> = super::lexicon::devices()
            .iter()
            .filter_map(|kind| kind.words.words.first())
            .map(String::as_str)
            .collect();
        return Err(usage(
            format!("no device is known as `{word}`"),
            advice.map_or_else(
                || {
                    format!(
                        "devices are {}; your own block device is named by its path, such as /dev/sdb",
                        names.join(", ")
                    )
                },
                str::to_owned,
            ),
        ));
    };
    let source = format!("model:{name}@{USUAL_SIZE}").parse().map_err(CliError::Usage)?;
    let summary =
        Model::named(name.split(':').next().unwrap_or(&name)).map_or(String::new(), |model| model.summary);
    Ok(AskedDevice {
        words: word.to_owned(),
        source,
        is_sized: false,
        shown: format!("modelled, {name}: {summary}"),
    })
}

/// Checks early that the path is a block device, before the user answers other questions. Its content is examined
/// before the first write.
fn check_block_device(path: &Path) -> Result<(), CliError> {
    let wrong = match std::fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_block_device() => return Ok(()),
        Ok(_) => format!("{} is no block device", quoted(&path.to_string_lossy())),
        Err(error) => format!("{} cannot be used: {error}", quoted(&path.to_string_lossy())),
    };
    Err(usage(
        wrong,
        "`lsblk -o PATH,SIZE,MODEL,MOUNTPOINTS` lists those there are; a word (hdd, ssd, nvme …) asks of a modelled one",
    ))
}
