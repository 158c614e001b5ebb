//! x
use super::{CliError, Outcome};
use clap::Args;
#[derive(Debug, Args)]
pub(super) struct Arguments {}
pub(super) fn run(_a: &Arguments) -> Result<Outcome, CliError> {
    Ok(Outcome::Done)
}
