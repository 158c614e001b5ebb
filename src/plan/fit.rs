//! Does the data fit on the device? Only what the plan itself says; the device is asked later, elsewhere.

use super::error::ValueError;
use super::{Bytes, Dataset, DeviceSource, Plan};

/// Bytes a file takes at least on any of the filesystems here that does not pack small files: one block.
const FILE_BLOCK: u64 = 4096;

/// Refuses a scratch image that is smaller than one of the datasets a phase works on.
pub(super) fn check(plan: &Plan) -> Result<(), ValueError> {
    let DeviceSource::Image(image) = plan.device.source else { return Ok(()) };
    let used = |name: &str| {
        plan.phases.iter().any(|phase| {
            phase.dataset.as_deref() == Some(name)
                || phase.verify.as_ref().is_some_and(|verify| verify.dataset == name)
        })
    };
    for (name, dataset) in plan.datasets.iter().filter(|(name, _)| used(name)) {
        let needed = Bytes(least_space(dataset));
        if needed > image {
            return Err(ValueError::new(
                format!("the image of {image} is smaller than the dataset `{name}`, which takes {needed}"),
                "make the image larger (--device image:SIZE), or the data smaller (--scale 0.1)",
            ));
        }
    }
    Ok(())
}

/// Bytes a dataset takes at least on a filesystem; 0 where only the disk knows.
pub fn least_space(dataset: &Dataset) -> u64 {
    match dataset {
        Dataset::Tree(shape) => shape.size.0,
        Dataset::Flat { files, file_size } => {
            files.saturating_mul(file_size.0.div_ceil(FILE_BLOCK).saturating_mul(FILE_BLOCK))
        }
        // Compression may shrink it on some filesystems, but not to nothing on all.
        Dataset::File { size, .. } => size.0,
        Dataset::Folder { size, .. } => size.map_or(0, |size| size.0),
    }
}
