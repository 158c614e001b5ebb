//! A device measured by itself: claimed as for a trial, and given back without a filesystem ever having been on it.

use std::path::Path;

use fsverdict_disk::calibrate::{Raw, measure};
use fsverdict_judgement::journal::{Facts, Learnt};
use fsverdict_text::Grid;

use super::error::TrialError;
use super::sink::Sink;

/// Does this half of the grid on the device, and reports what it found.
pub(super) fn calibrate(device: &Path, grid: Grid, sink: &mut Sink) -> Result<(), TrialError> {
    let mut disk = Raw::open(device, grid == Grid::Writing).map_err(TrialError::io("open the device"))?;
    let found = measure(&mut disk, grid).map_err(TrialError::io("measure the device"))?;
    sink.learnt(Facts::new(), Learnt { calibration: Some(found), ..Learnt::default() });
    Ok(())
}
