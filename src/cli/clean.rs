//! x
use clap::Args;
use super::{CliError, Outcome};
#[derive(Debug, Args)]
pub(super) struct Arguments {}
pub(super) fn run(_a: &Arguments) -> Result<Outcome, CliError> { Ok(Outcome::Done) }
