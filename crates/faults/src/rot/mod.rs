//! Rot: the device as a candidate's trial left it, with one block of it rotten after the other, each looked at in a guest.

mod draw;
mod examine;
mod tally;

use std::path::Path;

use fsverdict_disk::crash::{Decay, ROT_BLOCK, RottenBlock, RottenImage};
use fsverdict_disk::device::Store;
use fsverdict_judgement::journal::{BlockUse, PlacedRot, ReadingStopped, RottenBlocks};
use fsverdict_judgement::plan::Candidate;
use fsverdict_stack::anatomy::{BLOCK, ImageReader, KnownContent, LayoutLimits, LayoutProcess, block_uses};
use fsverdict_text::Reason;
use fsverdict_workload::dataset::prepare_dataset;

use crate::error::FaultError;
use crate::power_cuts::{
    CutRecord, PowerCutting, file_error, finish_all, new_output, open_file, to_fault_error, unwritten_image,
};
use draw::DeviceAfterTrial;
use draw::draw_blocks;
use tally::tally_findings;

/// The number of blocks at the beginning of a device with headers of layers: of LUKS2 and their copies, of dm-integrity
/// and of md.
const HEADERS: u64 = 80;

/// A rotten block, as it is told to people.
#[derive(Debug)]
pub struct WrittenRot {
    /// The block's use; `None` if no filesystem is known to use it.
    pub held: Option<BlockUse>,
    /// Where the reading of the layout stopped, if it did not come to its end.
    pub stopped: Option<ReadingStopped>,
    /// The expected content, one line per file.
    pub must: Vec<String>,
}

impl PowerCutting<'_> {
    /// Tests a candidate with rotten blocks on its device, one at a time; `tell` reports the finished number and the
    /// total.
    pub fn examine_rot(
        &self,
        candidate: &Candidate,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<RottenBlocks, FaultError> {
        if let Some(reason) = self.choice.lab.find_obstacle(candidate) {
            return Err(FaultError::Refused(reason));
        }
        let record = self.record_part(candidate, 0)?;
        if record.promises.folders.is_empty() {
            return Err(to_fault_error(format!("{} saved nothing", candidate.name)));
        }
        let device = self.left_device(candidate, &record)?;
        let kinds: &[Decay] = match self.faults.refuses_writes {
            true => &[Decay::Unwritable],
            false => &Decay::KINDS,
        };
        let wanted = self.faults.rot as usize;
        let blocks = draw_blocks(&device, wanted, kinds, self.plan.protocol.seed).map_err(to_fault_error)?;
        if blocks.is_empty() {
            return Err(to_fault_error(format!(
                "nothing is known of what the blocks of {} hold",
                candidate.name
            )));
        }
        let findings = self.examine_rotten_blocks(candidate, &blocks, &record, tell)?;
        self.keep_findings(candidate, &findings)?;
        let examined = findings.len();
        let rotten = tally_findings(candidate, &device.held, findings, record.trace);
        let rotten = RottenBlocks { accepted: self.faults.accept_loss, stopped: device.stopped, ..rotten };
        self.check_states_examined(candidate, examined, blocks.len(), rotten.why_out().is_some())?;
        Ok(rotten)
    }

    /// Writes each block with its outcome beside the log.
    fn keep_findings(&self, candidate: &Candidate, findings: &[PlacedRot]) -> Result<(), FaultError> {
        let text = serde_json::to_vec(findings).map_err(to_fault_error)?;
        let file = self.folder.file(format!("{}.rot.json", candidate.name));
        file.replace(|out| out.write_all(&text)).map_err(|error| file_error(&file.path(), error))
    }

    fn left_device(&self, candidate: &Candidate, record: &CutRecord) -> Result<DeviceAfterTrial, FaultError> {
        let size = self.plan.models_of(candidate).first().map_or(0, |model| model.size.0);
        let file = self.folder.nameless_file().map_err(|error| file_error(self.folder.path(), error))?;
        let mut store = Store::new(file, size).map_err(to_fault_error)?;
        let mut image = RottenImage::new(self.read_log(candidate, 0)?);
        image.enter_block(&mut store, None).map_err(to_fault_error)?;
        let mut known = KnownContent::default();
        let mut names = Vec::new();
        for folder in &record.promises.folders {
            if let Some(spec) = self.plan.datasets.get(&folder.dataset) {
                let prepared = prepare_dataset(&folder.dataset, spec, self.plan.protocol.seed)
                    .map_err(to_fault_error)?;
                let block = |bytes: &[u8]| known.add_block(bytes);
                folder.last_blocks(&prepared, BLOCK as usize, |name| names.push(name.to_vec()), block);
            }
        }
        known.names = names;
        // Data below a layer were written before the filesystem existed; the layer's header lies at the beginning.
        let is_layered = !candidate.layers.is_empty();
        let mut written = image.log().written_blocks(if is_layered { record.mkfs_ns } else { 0 });
        if is_layered {
            let early = image.log().written_blocks(0).into_iter().filter(|block| *block < HEADERS);
            let early: Vec<u64> = early.filter(|block| !written.contains(block)).collect();
            written.splice(0..0, early);
        }
        // The use of blocks below a layer is known if they are content or names.
        let filesystem = if is_layered { "" } else { candidate.filesystem.as_str() };
        let (file, size) = (store.file(), store.size_bytes());
        let reader = LayoutProcess::new(LayoutLimits::for_written(written.len()));
        let layout = reader.read_layout(filesystem, file, size, &written).map_err(to_fault_error)?;
        let uses = block_uses(layout, &ImageReader::new(file, size, &written), &known);
        Ok(DeviceAfterTrial { store, image, held: uses.held, stopped: uses.stopped })
    }

    /// Writes the image of a candidate's device with this block rotten into a new file, and lists its expected content.
    pub fn write_rot(
        &self,
        candidate: &Candidate,
        rotten: RottenBlock,
        image: &Path,
    ) -> Result<WrittenRot, FaultError> {
        let record = self.read_record(candidate, 0)?;
        let size = self.plan.models_of(candidate).first().map_or(0, |model| model.size.0);
        let blocks = size / ROT_BLOCK;
        let other = match rotten.decay {
            fsverdict_disk::crash::Decay::Misdirected(other) => other,
            _ => 0,
        };
        if rotten.block.max(other) >= blocks {
            return Err(FaultError::Refused(Reason::plain(format!(
                "the device of {} has {blocks} blocks of {ROT_BLOCK} bytes, and {rotten} is of another",
                candidate.name
            ))));
        }
        let device = self.left_device(candidate, &record)?;
        let output = new_output(image)?;
        let failed = |error: &dyn std::fmt::Display| unwritten_image(image, error);
        let file = open_file(&output, image)?;
        let mut store = Store::new(file, size).map_err(|error| failed(&error))?;
        // A separate store: each block is damaged in its own copy.
        let rotting = RottenImage::new(self.read_log(candidate, 0)?);
        rotting.write_block(&mut store, rotten).map_err(|error| failed(&error))?;
        drop(store);
        finish_all(vec![(image.to_owned(), output)])?;
        let mut must = Vec::new();
        for folder in &record.promises.folders {
            if let Some(spec) = self.plan.datasets.get(&folder.dataset) {
                let prepared = prepare_dataset(&folder.dataset, spec, self.plan.protocol.seed)
                    .map_err(to_fault_error)?;
                must.extend(folder.describe_at(&prepared, u64::MAX));
            }
        }
        Ok(WrittenRot { held: device.held.get(&rotten.block).copied(), stopped: device.stopped, must })
    }
}
