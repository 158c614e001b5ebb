//! Lists the final state of sequences after all calls have returned, in lines that a shell can compare.

use super::model::SequenceModel;
use super::node::NodeKind;
use super::place::SequencePlace;
use super::recovered::SequencesRecord;
use super::step::{BLOCK, SequenceCall};
use super::work::sequence_identity;
use super::{FOLDER, folder_of};
use crate::workload::cksum::posix_checksum;

impl SequencesRecord {
    /// The state after all calls have returned, with the folder of each sequence.
    fn final_states(&self) -> Vec<(String, SequenceModel)> {
        let (first, sequences) = self.work.sequences();
        let states = (first..).zip(&sequences).map(|(number, sequence)| {
            let mut model = SequenceModel::with_prepared_files(sequence_identity(self.work.bounds, number));
            for call in &sequence.calls {
                if let SequenceCall::Step(step) = call {
                    model.apply_step(*step);
                }
            }
            (format!("{FOLDER}/{}", folder_of(number)), model)
        });
        states.collect()
    }

    /// Lists the minimum size of the blocks of each file after all calls have returned, one line per file: bytes, path.
    pub fn least_held(&self) -> Vec<String> {
        let files = self.final_states().into_iter().flat_map(|(folder, model)| {
            let node_at = |at: &SequencePlace| {
                let node =
                    model.node(model.resolve(*at)?).filter(|node| node.bytes.len() >= BLOCK as usize)?;
                Some(format!("{} {folder}/{}", node.blocks.len() as u64 * u64::from(BLOCK), at.path()))
            };
            SequencePlace::FILES.iter().filter_map(node_at).collect::<Vec<_>>()
        });
        files.collect()
    }

    /// Lists the expected final state, one line per file: kind, links, size, checksum of cksum(1), path.
    pub fn list_final_states(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (folder, model) in self.final_states() {
            lines.push(format!("d {folder}"));
            list_directory(&model, 0, &folder, &mut lines);
        }
        lines.push(format!("d {FOLDER}"));
        lines.sort_unstable();
        lines
    }
}

/// The lines for the content of a directory.
fn list_directory(model: &SequenceModel, directory: usize, path: &str, lines: &mut Vec<String>) {
    for ((_, name), number) in model.names.iter().filter(|((of, _), _)| *of == directory) {
        let path = format!("{path}/{name}");
        let Some(node) = model.node(*number) else { continue };
        match node.kind {
            NodeKind::Directory => {
                lines.push(format!("d {path}"));
                list_directory(model, *number, &path, lines);
            }
            NodeKind::File => {
                let (links, size, sum) =
                    (model.links(*number), node.bytes.len(), posix_checksum(&node.bytes));
                lines.push(format!("f {links} {size} {sum} {path}"));
            }
            NodeKind::Symlink => lines.push(format!("l foo {path}")),
            NodeKind::Fifo => lines.push(format!("p {path}")),
        }
    }
}
