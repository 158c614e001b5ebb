//! A device measured by itself: claimed as for a trial, and given back without a filesystem ever having been on it.

use std::path::Path;

use fsverdict_disk::calibrate::{Raw, measure_grid};
use fsverdict_judgement::journal::{Facts, Learnt};
use fsverdict_text::Grid;

use super::error::TrialError;
use super::sink::Sink;

/// Measures one half of the grid on the device, and reports the times.
pub(super) fn calibrate_device(device: &Path, grid: Grid, sink: &mut Sink) -> Result<(), TrialError> {
    let mut disk =
        Raw::open_device(device, grid == Grid::Writing).map_err(TrialError::io_error("open the device"))?;
    let found = measure_grid(&mut disk, grid).map_err(TrialError::io_error("measure the device"))?;
    sink.send_learnt(Facts::new(), Learnt { calibration: Some(found), ..Learnt::default() });
    Ok(())
}
