//! How much room the data of a plan take, as far as the plan itself says; the device is asked later, elsewhere.

use fsverdict_text::Reason;

use super::{Candidate, Dataset, DeviceSource, Flow, Operation, Phase, PhaseWork, Plan, Vocabulary};
use fsverdict_text::Bytes;

/// Bytes a file takes at least on any of the filesystems here that does not pack small files: one block.
const FILE_BLOCK: u64 = 4096;

/// For what no share of anything describes: logs, superblocks, the rounding of a small device.
const MARGIN: u64 = 64 << 20;

/// Refuses a scratch image that is smaller than one of the datasets a phase works on.
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
        Dataset::Trace { calls } => calls.totals().most_bytes,
    }
}

/// Bytes of content that one phase writes at most; `None` where only a command, a program or the disk knows.
fn written(plan: &Plan, phase: &Phase) -> Option<u64> {
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
            let replays = matches!(operation, Operation::TraceReplay | Operation::DeviceReplay);
            let names = calls.names().len() as u64;
            (names, if replays { totals.written } else { totals.bytes })
        }
        Dataset::Folder { .. } => return (operation.flow() != Flow::Writes).then_some(0),
    };
    // Whatever is written or linked needs a block of its own for its end, or for its directory.
    let rounding = names.saturating_mul(FILE_BLOCK);
    match operation {
        Operation::CopyReflink => Some(rounding),
        Operation::RotationNext | Operation::RotationClone => {
            let changed = phase.changed.unwrap_or(0.0) * least as f64;
            Some(rounding.saturating_add(changed as u64))
        }
        Operation::SpaceFill | Operation::AgeChurn => {
            let (DeviceSource::Image(Bytes(size)) | DeviceSource::Model { size: Bytes(size), .. }) =
                plan.device.source
            else {
                return None;
            };
            // A quarter of it is removed on the way, and written again.
            let times = phase.rounds.map_or(4.0 / 3.0, |rounds| 1.0 + f64::from(rounds));
            Some((phase.to.unwrap_or(1.0) * size as f64 * times) as u64)
        }
        Operation::AgePull => {
            // Each file with an object of its own, and an index of all.
            let share = phase.changed.unwrap_or(0.0);
            let of_a_pull =
                share * (least as f64 * 1.3 + names as f64 * FILE_BLOCK as f64 * 2.0) + names as f64 * 128.0;
            Some((f64::from(phase.pulls.unwrap_or(1)) * of_a_pull) as u64)
        }
        other if other.flow() == Flow::Writes => Some(least.saturating_add(rounding)),
        _ => Some(0),
    }
}

/// Bytes that a trial puts into its scratch image at most: what its phases write, a quarter more for metadata, journals
/// and copies on write, and what mkfs writes ahead. All of the image where the plan does not say how much is written.
///
/// Nothing that is removed or overwritten is taken off: few filesystems give it back to a sparse file in time.
pub fn image_room(plan: &Plan, image: u64) -> u64 {
    let written = plan.phases.iter().map(|phase| written(plan, phase)).sum::<Option<u64>>();
    // mke2fs writes most ahead: a table of 256 bytes for every 16 KiB (1/64), and a journal of 1 GiB at most (mke2fs(8)).
    let ahead = (image / 32).saturating_add(4 * MARGIN);
    let room = written.map(|bytes| bytes.saturating_add(bytes / 4).saturating_add(ahead));
    room.map_or(image, |room| room.min(image))
}

/// Bytes that the phases of a trial write at least, and whether that is all of it: what a command writes only it knows,
/// and it counts by the dataset it names.
pub fn bytes_written(plan: &Plan) -> (u64, bool) {
    let named = |phase: &Phase| phase.dataset.as_ref().and_then(|name| plan.datasets.get(name));
    plan.phases.iter().fold((0, true), |(sum, known), phase| match written(plan, phase) {
        Some(bytes) => (sum.saturating_add(bytes), known),
        None => (named(phase).map_or(sum, |dataset| sum.saturating_add(least_space(dataset))), false),
    })
}

/// Bytes that must be free in a folder of the user's for a trial.
pub fn folder_room(plan: &Plan) -> u64 {
    bytes_written(plan).0.saturating_add(MARGIN)
}

/// Shrinks the scratch image, or modelled device, of a plan whose data were scaled by `factor`: the same share of it, and what the most
/// demanding of its candidates needs of any device.
pub(super) fn scale_image(plan: &mut Plan, factor: f64, vocabulary: &Vocabulary<'_>) {
    let fixed = |candidate: &Candidate| (vocabulary.least_device)(candidate);
    let most = plan.candidates.iter().map(fixed).max().unwrap_or(0);
    let literal =
        |phase: &Phase| matches!(&phase.work, PhaseWork::Adapter { options, .. } if !options.contains('$'));
    // A benchmark program that is given a size works with just that, however small the datasets are.
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
