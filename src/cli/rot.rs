//! States of a device after a fault by their names, and the image of a device with a rotten block.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::runner::prepare_power_cutting;
use crate::study::RunFolder;
use fsverdict_disk::crash::{RotNameError, RottenBlock, StateNameError};
use fsverdict_faults::{CutName, WrittenRot};
use fsverdict_judgement::plan::{Candidate, Plan};
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::talk::print_line;

use super::{CliError, Exit};

/// A state of a device by its name: after a cut of power, or with a rotten block.
#[derive(Debug, Clone, Copy)]
pub(super) enum FaultState {
    Cut(CutName),
    Rot(RottenBlock),
}

/// A name that no state of a device has.
#[derive(Debug, thiserror::Error)]
pub(super) enum FaultStateError {
    #[error(transparent)]
    Cut(#[from] StateNameError),
    #[error(transparent)]
    Rot(#[from] RotNameError),
}

impl std::str::FromStr for FaultState {
    type Err = FaultStateError;

    fn from_str(name: &str) -> Result<FaultState, FaultStateError> {
        Ok(match name.starts_with("rot-") {
            true => FaultState::Rot(name.parse()?),
            false => FaultState::Cut(name.parse()?),
        })
    }
}

/// Writes the image of a device with a rotten block, and lists its required content.
pub(super) fn write_rot(
    image: Option<&Path>,
    folder: &RunFolder,
    plan: &Plan,
    candidate: &Candidate,
    rotten: RottenBlock,
) -> Result<Exit, CliError> {
    let image =
        image.map_or_else(|| PathBuf::from(format!("{}-{rotten}.img", candidate.name)), Path::to_owned);
    let cutting = prepare_power_cutting(plan, folder.handle()).map_err(CliError::failed)?;
    let WrittenRot { held, stopped, must } =
        cutting.write_rot(candidate, rotten, &image).map_err(CliError::failed)?;
    if let Some(stopped) = stopped {
        print_line(&format!("caution: the layout of this device was not read to its end ({stopped})"));
    }
    let held_words = held.map_or("nothing that is known to be in use", |held| held.words());
    let what = match rotten.decay.changes_content() {
        true => {
            format!(
                "with block {} (of 4096 bytes, which held: {held_words}) {}",
                rotten.block,
                rotten.decay.word()
            )
        }
        false => format!(
            "as it was left; that block {} (of 4096 bytes, which held: {held_words}) is {} no image shows: dm-dust does, or dm-error",
            rotten.block,
            rotten.decay.word()
        ),
    };
    let mut text = format!(
        "{}: the device of {} {what} ({rotten})\nthe image must contain:\n",
        image.display(),
        candidate.name
    );
    must.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    result_writer().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}
