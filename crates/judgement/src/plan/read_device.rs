//! Reads `[device]`: the device on which candidates are tried, or several that each candidate uses together.

use std::path::PathBuf;

use super::device::MOST_DEVICES;
use super::environment;
use super::{
    Candidate, DeviceFailure, DeviceSource, Plan, PlannedDevice, Vocabulary, devices_named, split_layer,
};
use fsverdict_text::value::{absolute_path, count, size, text, time};
use fsverdict_text::{Bytes, Node, Placed, Reason, Section, TextSpan, TomlValue};

pub(super) const DEVICE: &[&str] = &["image", "path", "model", "size", "count", "fails", "folder", "staging"];
pub(super) const FAILS: &[&str] = &["device", "after"];

const IMAGE: Bytes = Bytes(4 << 30);
const ONE_OF: &str = "a device is a scratch image (image, folder), a modelled one (model, size, folder) or a block device \
                      (path); on the command line, --device replaces any";

pub(super) fn read_device(
    top: &Section<'_>,
    candidates: &[Candidate],
    vocabulary: &Vocabulary<'_>,
) -> Option<(PlannedDevice, Option<TextSpan>)> {
    let mut device = PlannedDevice::from_source(DeviceSource::Image(IMAGE));
    if candidates.iter().any(|candidate| candidate.path.is_some()) {
        device.source = DeviceSource::Folders;
    }
    let Some(entry) = top.entry("device") else { return Some((device, None)) };
    let section = Section::new("[device]", &entry.node, DEVICE, top.problems)?;
    let image = section.get_placed("image", size);
    let paths = section.get_placed("path", |node| read_several(node, absolute_path));
    // Candidates may bring models of their own; then every one must, or there is nothing to try the others on.
    let brought = || {
        let first = candidates.first()?.under.model.clone()?;
        let every = candidates.iter().all(|candidate| candidate.under.model.is_some());
        every.then_some(Placed { at: entry.key_at, value: vec![first] })
    };
    let none = ["image", "path", "model"].iter().all(|key| section.entry(key).is_none());
    let models = section
        .get_placed("model", |node| read_several(node, environment::known_model(vocabulary.model)))
        .or_else(|| brought().filter(|_| none));
    let model_size = section.get_placed("size", size);
    let number = section.get_placed("count", read_device_count);
    device.folder = section.get("folder", absolute_path);
    device.staging = section.get("staging", |node| text(node)?.parse()).unwrap_or_default();
    device.fails = read_failure(&section);
    if section.entry("path").is_some() {
        section.forbid_keys(&["image", "folder", "model", "size", "count", "fails"], "`path`", ONE_OF);
    }
    if section.entry("model").is_some() {
        section.forbid_keys(&["image"], "`model`", ONE_OF);
    } else if models.is_none() {
        section.forbid_keys(&["size", "fails"], "a device that is not modelled", ONE_OF);
    }
    let at = paths.as_ref().map(|paths| paths.at).or(image.as_ref().map(|image| image.at));
    let at = at.or(models.as_ref().map(|models| models.at));
    let sizes = match &models {
        Some(models) => read_model_sizes(&section, models, model_size, vocabulary)?,
        None => Vec::new(),
    };
    let sources: Vec<DeviceSource> = match (paths, image, models) {
        (Some(paths), ..) => paths.value.into_iter().map(DeviceSource::Path).collect(),
        (None, Some(image), _) => vec![DeviceSource::Image(image.value)],
        (None, None, Some(models)) => {
            let sized = models.value.into_iter().zip(sizes);
            sized.map(|(name, size)| DeviceSource::Model { name, size }).collect()
        }
        _ => vec![device.source.clone()],
    };
    let wanted = number.as_ref().map_or(sources.len(), |number| number.value);
    if let (Some(number), true) = (&number, sources.len() > 1 && wanted != sources.len()) {
        let message = format!("`count` is {wanted}, and `model` names {}", sources.len());
        top.problems.add(number.at, message, "leave `count` out: a list says how many there are");
    }
    let (first, rest) = sources.split_first()?;
    device.source = first.clone();
    device.further =
        if rest.is_empty() { vec![first.clone(); wanted.saturating_sub(1)] } else { rest.to_vec() };
    Some((device, at.or(Some(entry.key_at))))
}

/// The size of each model: the plan's, which must fit, or that of its class. Candidates with models of their own share one
/// size, which the plan states.
fn read_model_sizes(
    section: &Section<'_>,
    models: &Placed<Vec<String>>,
    planned: Option<Placed<Bytes>>,
    vocabulary: &Vocabulary<'_>,
) -> Option<Vec<Bytes>> {
    // A wrong size is reported already.
    if planned.is_none() && section.entry("size").is_some() {
        return None;
    }
    let may_be_of_class = section.entry("model").is_some();
    let size_of = |model: &String| match &planned {
        Some(size) => {
            let fits = (vocabulary.model)(model, Some(size.value));
            section.problems.record_error(size.at, fits.map_err(|error| error.after("`size`: ")));
            Some(size.value)
        }
        None => (vocabulary.model)(model, None).ok().flatten().filter(|_| may_be_of_class),
    };
    let sizes: Option<Vec<Bytes>> = models.value.iter().map(size_of).collect();
    if sizes.is_none() {
        let hint = "write, for example: size = \"2TB\"";
        section.problems.add(models.at, "the modelled device has no size", hint);
    }
    sizes
}

/// One value, or a list of them.
fn read_several<T>(node: &Node, read: impl Fn(&Node) -> Result<T, Reason>) -> Result<Vec<T>, Reason> {
    match &node.value {
        TomlValue::Array(nodes) if nodes.is_empty() => Err(Reason::plain("the list is empty")),
        TomlValue::Array(nodes) if nodes.len() > MOST_DEVICES => Err(too_many(nodes.len() as u64)),
        TomlValue::Array(nodes) => nodes.iter().map(read).collect(),
        _ => Ok(vec![read(node)?]),
    }
}

fn read_device_count(node: &Node) -> Result<usize, Reason> {
    let number = count(node)?;
    usize::try_from(number).ok().filter(|number| *number <= MOST_DEVICES).ok_or_else(|| too_many(number))
}

fn too_many(number: u64) -> Reason {
    Reason::plain(format!("a candidate has {MOST_DEVICES} devices at most, not {number}"))
}

fn read_failure(section: &Section<'_>) -> Option<DeviceFailure> {
    let fails = section.inner_table("fails", "fails", FAILS)?;
    let example = "fails = { device = 2, after = \"30s\" }";
    let device = fails.get("device", read_device_count).unwrap_or(1);
    Some(DeviceFailure { device, after: fails.need("after", example, time)? })
}

/// Whether the devices are there that candidates, and `fails`, speak of.
pub(super) fn check(plan: &Plan, vocabulary: &Vocabulary<'_>) -> Result<(), Reason> {
    let there = plan.device.count();
    let all: Vec<&PathBuf> = plan
        .device
        .all_sources()
        .filter_map(|source| match source {
            DeviceSource::Path(path) => Some(path),
            _ => None,
        })
        .collect();
    if let Some(twice) = all.iter().enumerate().find(|(at, path)| all[..*at].contains(path)) {
        return Err(Reason::new(
            format!("{} is named twice", twice.1.display()),
            "each device is one of its own",
        ));
    }
    let kinds: Vec<_> = plan.device.all_sources().map(std::mem::discriminant).collect();
    if kinds.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(Reason::new(
            "the devices are of different kinds",
            "a candidate has several images, several modelled devices or several block devices",
        ));
    }
    if let Some(fails) = plan.device.fails {
        if !plan.device.source.is_modelled() {
            return Err(Reason::new(
                "only a modelled device can be told to fail",
                "take `fails` out, or name a model: --device model:NAME@SIZE",
            ));
        }
        if fails.device > there {
            return Err(no_such(fails.device, there));
        }
    }
    plan.candidates.iter().try_for_each(|candidate| {
        of_candidate(candidate, there, vocabulary)
            .map_err(|reason| reason.after(format!("`{}`: ", candidate.name)))
    })
}

/// Checks that the plan has the devices that a candidate's options and layers name or combine.
fn of_candidate(candidate: &Candidate, there: usize, vocabulary: &Vocabulary<'_>) -> Result<(), Reason> {
    let named = devices_named(candidate)?;
    match named.iter().find(|number| **number > there) {
        Some(number) => return Err(no_such(*number, there)),
        None if named.contains(&1) => {
            return Err(Reason::new(
                "{device.1} is where the filesystem itself lies",
                "put the separate log or journal on another device, such as {device.2}",
            ));
        }
        None => {}
    }
    let (mut together, mut before) = (there - named.len(), None);
    for layer in candidate.layers.names() {
        let (name, options) = split_layer(layer);
        let least = (vocabulary.layer)(name, options)?;
        if least > together {
            let (what, hint) = match before {
                Some(before) => (
                    format!(
                        "`{layer}` needs {least} devices, but {before} below it already combines them into one"
                    ),
                    "only one layer of a candidate may combine several devices; remove one of the two",
                ),
                None => (
                    format!("`{layer}` needs {least} devices, and has {together}"),
                    "`count` in [device] says how many there are, or a list of models or paths",
                ),
            };
            return Err(Reason::new(what, hint));
        }
        if least > 1 {
            (together, before) = (1, Some(layer));
        }
    }
    Ok(())
}

fn no_such(number: usize, there: usize) -> Reason {
    let devices = if there == 1 { "one device".to_owned() } else { format!("{there} devices") };
    Reason::new(
        format!("there is no device {number}: the plan has {devices}"),
        "`count` in [device] says how many there are, or a list of models or paths",
    )
}
