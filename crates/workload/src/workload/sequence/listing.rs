//! Lists the final state of sequences after all calls have returned, in lines that a shell can compare.

use fsverdict_calls::{FileModel, MODEL_BLOCK, NodeKind, SegmentOrigin};

use super::model::{SequenceModel, fill_of};
use super::place::{SequencePlace, label_text};
use super::recovered::SequencesRecord;
use super::step::SequenceCall;
use super::work::sequence_identity;
use super::{FOLDER, folder_of};
use crate::workload::cksum::posix_checksum;

impl SequencesRecord {
    /// The state after all calls have returned, with the folder of each sequence.
    fn final_states(&self) -> Vec<(String, u64, SequenceModel)> {
        let (first, sequences) = self.work.sequences();
        let states = (first..).zip(&sequences).map(|(number, sequence)| {
            let identity = sequence_identity(self.work.bounds, number);
            let mut model = SequenceModel::with_prepared_files(identity);
            for call in &sequence.calls {
                if let SequenceCall::Step(step) = call {
                    model.apply_step(*step);
                }
            }
            (format!("{FOLDER}/{}", folder_of(number)), identity, model)
        });
        states.collect()
    }

    /// Lists the minimum size of the blocks of each file after all calls have returned, one line per file: bytes, path.
    pub fn least_held(&self) -> Vec<String> {
        let files = self.final_states().into_iter().flat_map(|(folder, _, model)| {
            let node_at = |at: &SequencePlace| {
                let node = model.node(*at).filter(|node| node.content.size >= MODEL_BLOCK)?;
                Some(format!("{} {folder}/{}", node.blocks.bytes_held(), at.path()))
            };
            SequencePlace::FILES.iter().filter_map(node_at).collect::<Vec<_>>()
        });
        files.collect()
    }

    /// Lists the expected final state, one line per file: kind, links, size, checksum of cksum(1), path.
    pub fn list_final_states(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (folder, identity, model) in self.final_states() {
            lines.push(format!("d {folder}"));
            list_directory(&model.files, &fill_of(identity), 0, &folder, &mut lines);
        }
        lines.push(format!("d {FOLDER}"));
        lines.sort_unstable();
        lines
    }
}

/// The lines for the content of a directory.
fn list_directory(
    model: &FileModel,
    fill: &dyn Fn(SegmentOrigin, u64, &mut [u8]),
    directory: usize,
    path: &str,
    lines: &mut Vec<String>,
) {
    for (key, number) in model.entries_of(directory) {
        let path = format!("{path}/{}", label_text(key.label));
        let Some(node) = model.node(number) else { continue };
        match node.kind {
            NodeKind::Directory => {
                lines.push(format!("d {path}"));
                list_directory(model, fill, number, &path, lines);
            }
            NodeKind::File => {
                let bytes = node.content.to_bytes(fill);
                lines.push(format!("f {} {} {} {path}", node.links, bytes.len(), posix_checksum(&bytes)));
            }
            NodeKind::Symlink => lines.push(format!("l foo {path}")),
            NodeKind::Fifo => lines.push(format!("p {path}")),
        }
    }
}
