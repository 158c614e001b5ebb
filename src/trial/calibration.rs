//! A device measured by itself: claimed as for a trial, and given back without a filesystem ever having been on it.

use std::path::Path;

use crate::calibrate::{Found, Grid, Raw, measure};
use crate::journal::Facts;

use super::error::TrialError;
use super::sink::Sink;
use super::steps::MEASURED;

/// Does this half of the grid on the device, and reports what it found.
pub(super) fn calibrate(device: &Path, grid: Grid, sink: &mut Sink) -> Result<(), TrialError> {
    let mut disk = Raw::open(device, grid == Grid::Writing).map_err(TrialError::io("open the device"))?;
    let found = measure(&mut disk, grid).map_err(TrialError::io("measure the device"))?;
    let text = serde_json::to_string(&found).map_err(TrialError::host)?;
    sink.facts(Facts::from([(MEASURED.to_owned(), text)]));
    Ok(())
}

/// What a trial's facts say of its device, if it was measured.
pub fn calibration(facts: &Facts) -> Option<Found> {
    serde_json::from_str(facts.get(MEASURED)?).ok()
}
