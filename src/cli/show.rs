//! `fsverdict show`: a preset's TOML.

use std::io::Write;

use clap::Args;

use crate::plan::{preset, presets, suggest};

use super::{CliError, Outcome};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Name of the preset (`fsverdict list presets`)
    preset: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let found = preset(&arguments.preset).ok_or_else(|| {
        let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
        CliError::Usage(format!(
            "there is no preset `{}`\nhint: {}",
            arguments.preset,
            suggest(&arguments.preset, &names)
        ))
    })?;
    std::io::stdout().lock().write_all(found.toml.as_bytes())?;
    Ok(Outcome::Done)
}
