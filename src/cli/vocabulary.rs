//! Plans from the command line: where their text comes from, and the words they may use.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

use clap::builder::{OsStringValueParser, PossibleValue, StringValueParser, TypedValueParser};

use fsverdict_judgement::journal::{Group, adapter_metric, adds_up, check_adapter_options, metric};
use fsverdict_judgement::plan::{
    DeviceSource, Overrides, Plan, Preset, Vocabulary, preset, presets, read_with,
};
use fsverdict_text::{Bytes, LONGEST, quoted, suggest};

use crate::study::RunFolder;
use fsverdict_report::{LONGEST_PAGE, plan_in_page};
use fsverdict_text::{Hinted, Reason};

use super::consent::PlanOrigin;
use super::error::CliError;

/// Calls `read` with the words that the rooms below the plan know.
pub fn with_vocabulary<T>(read: impl FnOnce(&Vocabulary<'_>) -> T) -> T {
    let filesystems = fsverdict_stack::filesystem::filesystem_names();
    let layers = fsverdict_stack::layer::layer_names();
    let profiles: Vec<&str> =
        fsverdict_workload::dataset::PROFILES.iter().map(|profile| profile.name).collect();
    let adapters: Vec<&str> = fsverdict_workload::workload::adapters()
        .iter()
        .map(fsverdict_workload::workload::Adapter::name)
        .collect();
    let of_adapters = fsverdict_workload::workload::adapters()
        .iter()
        .flat_map(fsverdict_workload::workload::Adapter::metrics);
    let measured =
        fsverdict_judgement::journal::METRICS.iter().filter(|metric| metric.group != Group::Former);
    let metrics: Vec<&str> = measured.chain(of_adapters).map(|metric| metric.name).collect();
    read(&Vocabulary {
        filesystems: &filesystems,
        layers: &layers,
        layer: fsverdict_stack::layer::check_options,
        adapters: &adapters,
        adapter_options: check_adapter_options,
        profiles: &profiles,
        metrics: &metrics,
        adds_up,
        unit_of: |name| metric(name).or_else(|| adapter_metric(name)).map(|known| known.unit),
        least_device: fsverdict_stack::layer::least_device,
        model: fsverdict_disk::device::can_be_had,
        cpu: fsverdict_lab::cpu::can_be_had,
        protection: fsverdict_stack::layer::protection_of,
        safeguards: fsverdict_stack::layer::safeguards_of,
    })
}

/// Parses a device; one of a class that is named without a size has the size of the class.
pub(super) fn parse_device(text: &str) -> Result<DeviceSource, Reason> {
    let unsized_model = text.strip_prefix("model:").filter(|name| !name.is_empty() && !name.contains('@'));
    let size_of = |name| fsverdict_disk::device::can_be_had(name, None);
    match unsized_model.zip(unsized_model.map_or(Ok(None), size_of)?) {
        Some((name, size)) => Ok(DeviceSource::Model { name: name.to_owned(), size }),
        None => text.parse(),
    }
}

/// Parses any word, and offers these for a shell's completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Among(pub(super) fn() -> Vec<&'static str>);

impl TypedValueParser for Among {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// A path, which need not be UTF-8, or one of these words, which a shell completes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathOrAmong(pub(super) fn() -> Vec<&'static str>);

impl TypedValueParser for PathOrAmong {
    type Value = OsString;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<OsString, clap::Error> {
        OsStringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The presets.
pub(super) fn preset_names() -> Vec<&'static str> {
    presets().iter().map(|preset| preset.name).collect()
}

/// The names that `fsverdict show` accepts.
pub(super) fn shown_names() -> Vec<&'static str> {
    let models = fsverdict_disk::device::built_in().iter().map(|model| model.name);
    let processors = fsverdict_lab::cpu::shipped().iter().map(|model| model.name);
    preset_names().into_iter().chain(models).chain(processors).collect()
}

/// The plan a user names, to look at: a preset, or else a file.
pub(super) fn read_plan(name: impl AsRef<OsStr>, overrides: &Overrides) -> Result<Plan, CliError> {
    Ok(plan_and_origin(name, overrides)?.0)
}

/// The same with the plan's origin, for commands that carry the plan out.
pub(super) fn plan_and_origin(
    name: impl AsRef<OsStr>,
    overrides: &Overrides,
) -> Result<(Plan, PlanOrigin), CliError> {
    let name = name.as_ref();
    let (text, file_name, origin) = match name.to_str().and_then(preset) {
        Some(Preset { toml, name, .. }) => ((*toml).to_owned(), format!("preset {name}"), PlanOrigin::Preset),
        None => read_file(name)?,
    };
    let plan = with_vocabulary(|vocabulary| read_with(&text, &file_name, overrides, vocabulary));
    Ok((plan.map_err(CliError::usage)?, origin))
}

/// Reads a plan's text, from its own file or out of a page, with its name and origin. A plan in a page always counts as
/// another user's, because its author is unknown.
fn read_file(path: &OsStr) -> Result<(String, String, PlanOrigin), CliError> {
    let name = &*path.to_string_lossy();
    let mut text = String::new();
    let mut origin = PlanOrigin::Own;
    let read =
        std::fs::File::open(if path == "-" { OsStr::new("/dev/stdin") } else { path }).and_then(|file| {
            origin = PlanOrigin::of_file(name, &file.metadata()?);
            file.take(LONGEST_PAGE + 1).read_to_string(&mut text)
        });
    let mut called = name.to_owned();
    if read.is_ok() && text.starts_with("<!DOCTYPE html>") {
        called = format!("the plan in {name}");
        origin = PlanOrigin::Stranger(format!("{name} is a page"));
        text = plan_in_page(&text)
            .map_err(|error| CliError::usage(error.reason().after(format!("{name}: "))))?;
    }
    if read.is_ok() && text.trim().is_empty() {
        return Err(CliError::Usage(Reason::new(
            format!("{name} is empty"),
            "`fsverdict show quick > mine.toml` begins one",
        )));
    }
    if text.len() as u64 > LONGEST {
        return Err(CliError::usage(Reason::new(
            format!("{name} is longer than {}, the limit of a plan", Bytes(LONGEST)),
            "`fsverdict show demo` prints one",
        )));
    }
    read.map(|_| (text, called, origin)).map_err(|error| {
        let names = preset_names();
        if RunFolder::open(Path::new(path)).is_ok() {
            CliError::usage(Reason::new(format!("{name} is the folder of a run, not a plan"), format!("`fsverdict show {0}` prints its plan, `fsverdict resume {0}` continues the run", quoted(name))))
        } else if error.kind() == std::io::ErrorKind::NotFound && Path::new(name).extension().is_none() {
            CliError::usage(Reason::new(format!("there is no preset or file named `{name}`"), suggest(name, &names)))
        } else {
            CliError::usage(Reason::new(format!("cannot read the plan {name}: {error}"), "`fsverdict show quick > mine.toml` begins one; `fsverdict list presets` names those that come with fsverdict"))
        }
    })
}
