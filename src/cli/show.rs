//! `fsverdict show`: a preset's or a model's TOML, or the plan of a run, a page or a file.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::Args;

use crate::study::RunFolder;
use fsverdict_disk::device;
use fsverdict_judgement::plan::{Overrides, preset, write};
use fsverdict_lab::cpu;
use fsverdict_linux::host::results::result_writer;
use fsverdict_text::{Reason, suggest};

use super::vocabulary::{PathOrAmong, read_plan, shown_names};
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// A preset or model (`fsverdict list presets`, `models`, `cpus`), the folder of a run, its page, or a plan
    #[arg(value_name = "PRESET|MODEL|RUN|PAGE.html|PLAN.toml", value_parser = PathOrAmong(shown_names), hide_possible_values = true)]
    what: OsString,
}

pub(super) fn run(arguments: &ShowArguments) -> Result<Exit, CliError> {
    let path = Path::new(&arguments.what);
    let what = &*arguments.what.to_string_lossy();
    // A model's file is the same for all its states.
    let (model, _) = device::split(what);
    let model = device::built_in().iter().find(|known| known.name == model).map(|model| model.toml);
    let processor = || cpu::shipped().iter().find(|known| known.name == what).map(|model| model.toml);
    let toml = match preset(what).map(|preset| preset.toml).or(model).or_else(processor) {
        Some(toml) => toml.to_owned(),
        None if path.is_dir() => write(&RunFolder::open(path).map_err(CliError::usage)?.1),
        None if !path.exists() => {
            return Err(CliError::usage(Reason::new(
                format!("there is no preset, model or file named `{what}`"),
                suggest(what, &shown_names()),
            )));
        }
        // The text is read as a plan and written again, so that nothing but a plan gets through.
        None => write(&read_plan(path, &Overrides::default())?),
    };
    result_writer().write_all(toml.as_bytes())?;
    Ok(Exit::Done)
}
