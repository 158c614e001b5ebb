//! A device measured by itself: claimed as for a trial, and given back without a filesystem ever having been on it.

use std::path::Path;

use fsverdict_disk::calibrate::{Grid, Raw, measure_grid};
use fsverdict_judgement::journal::{Facts, Learnt};

use super::error::TrialError;
use super::sink::Sink;

/// Measures one half of the grid on the device, and reports the times.
pub(super) fn calibrate_device(device: &Path, grid: Grid, sink: &mut Sink) -> Result<(), TrialError> {
    let mut disk =
        Raw::open_device(device, grid == Grid::Writing).map_err(TrialError::io_error("open the device"))?;
    let grid_times = measure_grid(&mut disk, grid).map_err(TrialError::io_error("measure the device"))?;
    let calibration = serde_json::to_value(grid_times)
        .map_err(|error| TrialError::io_error("report the times")(error.into()))?;
    sink.send_learnt(Facts::new(), Learnt { calibration: Some(calibration), ..Learnt::default() });
    Ok(())
}
