//! Estimates the disk space that a plan's data need, as far as the plan alone tells; the device is checked elsewhere.

use fsverdict_text::Reason;

use super::{Amount, Candidate, Dataset, DeviceSource, Flow, Phase, PhaseWork, Plan, Vocabulary};
use fsverdict_text::Bytes;

/// The minimum size of a file in bytes on the supported filesystems that do not pack small files: one block.
const FILE_BLOCK: u64 = 4096;

/// A fixed allowance for space that is not proportional to the data: logs, superblocks, the rounding of a small device.
const MARGIN: u64 = 64 << 20;

/// Rejects a scratch image that is smaller than a dataset of one of the phases.
pub(super) fn check(plan: &Plan) -> Result<(), Reason> {
    let (DeviceSource::Image(image) | DeviceSource::Model { size: image, .. }) = plan.device.source else {
        return Ok(());
    };
    let used = |name: &str| {
        plan.phases.iter().any(|phase| {
            phase.dataset.as_deref() == Some(name)
                || phase.verify.as_ref().is_some_and(|verify| verify.dataset == name)
        })
    };
    for (name, dataset) in plan.datasets.iter().filter(|(name, _)| used(name)) {
        let needed = Bytes(least_space(dataset));
        if needed > image {
            let (what, larger) = match plan.device.source {
                DeviceSource::Model { .. } => ("modelled device", "--device model:NAME@SIZE"),
                _ => ("image", "--device image:SIZE"),
            };
            return Err(Reason::new(
                format!("the {what} of {image} is smaller than the dataset `{name}`, which takes {needed}"),
                format!("make the {what} larger ({larger}), or the data smaller (--scale 0.1)"),
            ));
        }
    }
    Ok(())
}

/// The minimum number of bytes that a dataset takes on a filesystem; 0 if the plan does not tell.
pub fn least_space(dataset: &Dataset) -> u64 {
    match dataset {
        Dataset::Tree(shape) => shape.size.0,
        Dataset::Flat { files, file_size } => {
            files.saturating_mul(file_size.0.div_ceil(FILE_BLOCK).saturating_mul(FILE_BLOCK))
        }
        // Compression may shrink the file on some filesystems, but does not remove it on all.
        Dataset::File { size, .. } => size.0,
        Dataset::Folder { size, .. } => size.map_or(0, |size| size.0),
        Dataset::Trace { calls } => calls.totals().most_bytes,
    }
}

/// The maximum number of content bytes that a phase writes; `None` if it depends on a command, a program or the disk.
fn phase_bytes_written(plan: &Plan, phase: &Phase) -> Option<u64> {
    let PhaseWork::Operation(operation) = phase.work else { return None };
    let Some(dataset) = phase.dataset.as_ref().and_then(|name| plan.datasets.get(name)) else {
        return Some(0);
    };
    let (names, least) = match dataset {
        Dataset::Tree(shape) => (shape.files.saturating_add(shape.directories), least_space(dataset)),
        Dataset::Flat { files, .. } => (*files, least_space(dataset)),
        Dataset::File { .. } => (1, least_space(dataset)),
        Dataset::Trace { calls } => {
            let totals = calls.totals();
            let replays = operation.amount() == Amount::Calls;
            let names = calls.names().len() as u64;
            (names, if replays { totals.written } else { totals.bytes })
        }
        Dataset::Folder { .. } => return (operation.flow() != Flow::Writes).then_some(0),
    };
    // Each written or linked file can need one more block, for its tail or for its directory.
    let rounding = names.saturating_mul(FILE_BLOCK);
    match operation.amount() {
        Amount::Names => Some(rounding),
        Amount::Changed => {
            let changed = phase.changed.unwrap_or(0.0) * least as f64;
            Some(rounding.saturating_add(changed as u64))
        }
        Amount::UntilFull => {
            let (DeviceSource::Image(Bytes(size)) | DeviceSource::Model { size: Bytes(size), .. }) =
                plan.device.source
            else {
                return None;
            };
            // A quarter of the data is removed on the way, and written again.
            let times = phase.rounds.map_or(4.0 / 3.0, |rounds| 1.0 + f64::from(rounds));
            Some((phase.to.unwrap_or(1.0) * size as f64 * times) as u64)
        }
        Amount::Pulls => {
            // Each changed file is written with its own object, and with an index of all files.
            let share = phase.changed.unwrap_or(0.0);
            let of_a_pull =
                share * (least as f64 * 1.3 + names as f64 * FILE_BLOCK as f64 * 2.0) + names as f64 * 128.0;
            Some((f64::from(phase.pulls.unwrap_or(1)) * of_a_pull) as u64)
        }
        Amount::Dataset | Amount::Unknown | Amount::Calls => {
            let writes = operation.flow() == Flow::Writes;
            Some(if writes { least.saturating_add(rounding) } else { 0 })
        }
    }
}

/// The maximum number of bytes that a trial writes to its scratch image: the data of its phases, a quarter more for
/// metadata, journals and copy-on-write, and the space that mkfs preallocates. This is the whole image if the plan does
/// not tell how much is written.
///
/// Removed or overwritten data are not subtracted: few filesystems return their space to a sparse file in time.
pub fn image_room(plan: &Plan, image: u64) -> u64 {
    let written = plan.phases.iter().map(|phase| phase_bytes_written(plan, phase)).sum::<Option<u64>>();
    // mke2fs preallocates most: an inode of 256 bytes for every 16 KiB (1/64), and a journal of at most 1 GiB
    // (mke2fs(8)).
    let ahead = (image / 32).saturating_add(4 * MARGIN);
    let room = written.map(|bytes| bytes.saturating_add(bytes / 4).saturating_add(ahead));
    room.map_or(image, |room| room.min(image))
}

/// The minimum number of bytes that the phases of a trial write, and whether this number is complete: the writes of a
/// command are unknown and are estimated by its dataset.
pub fn bytes_written(plan: &Plan) -> (u64, bool) {
    let named = |phase: &Phase| phase.dataset.as_ref().and_then(|name| plan.datasets.get(name));
    plan.phases.iter().fold((0, true), |(sum, known), phase| match phase_bytes_written(plan, phase) {
        Some(bytes) => (sum.saturating_add(bytes), known),
        None => (named(phase).map_or(sum, |dataset| sum.saturating_add(least_space(dataset))), false),
    })
}

/// The number of bytes that a trial needs free in one of the user's folders.
pub fn folder_room(plan: &Plan) -> u64 {
    bytes_written(plan).0.saturating_add(MARGIN)
}

/// Shrinks the scratch image or modelled device of a plan after its data were scaled by `factor`: to the same share of
/// its size, plus the minimum that the most demanding candidate needs of any device.
pub(super) fn scale_image(plan: &mut Plan, factor: f64, vocabulary: &Vocabulary<'_>) {
    let fixed = |candidate: &Candidate| (vocabulary.least_device)(candidate);
    let most = plan.candidates.iter().map(fixed).max().unwrap_or(0);
    let literal =
        |phase: &Phase| matches!(&phase.work, PhaseWork::Adapter { options, .. } if !options.contains('$'));
    // A benchmark program with an explicit size uses exactly that size, however small the datasets are.
    if plan.phases.iter().any(literal) {
        return;
    }
    for source in std::iter::once(&mut plan.device.source).chain(&mut plan.device.further) {
        if let DeviceSource::Image(Bytes(image)) | DeviceSource::Model { size: Bytes(image), .. } = source {
            let share = (*image as f64 * factor) as u64;
            let needed = share.saturating_add(most).saturating_add(MARGIN).next_multiple_of(1 << 20);
            *image = needed.min(*image);
        }
    }
}
