//! `fsverdict show`: a preset's or a model's TOML.

use std::io::Write;

use clap::Args;

use crate::device;
use crate::plan::{preset, suggest};

use super::vocabulary::{Among, shown_names};
use super::{CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Name of the preset or model (`fsverdict list presets`, `fsverdict list models`)
    #[arg(value_parser = Among(shown_names), hide_possible_values = true)]
    name: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    // A model's file is the same for all its states.
    let (model, _) = device::split(&arguments.name);
    let model = device::built_in().iter().find(|known| known.name == model).map(|model| model.toml);
    let toml = preset(&arguments.name).map(|preset| preset.toml).or(model).ok_or_else(|| {
        CliError::Usage(format!(
            "there is no preset or model `{}`\nhint: {}",
            arguments.name,
            suggest(&arguments.name, &shown_names())
        ))
    })?;
    std::io::stdout().lock().write_all(toml.as_bytes())?;
    Ok(Outcome::Done)
}
