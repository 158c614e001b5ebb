//! The blocks that saved files hold in the end, to be recognised on a device.

use crate::dataset::{Body, DatasetOrigin, Prepared};

use super::SavedFolder;

impl SavedFolder {
    /// Hands each file's name to `name`, and each block of so many bytes of its last content to `block`, padded with zeroes.
    pub fn last_blocks(
        &self,
        dataset: &Prepared,
        length: usize,
        mut name: impl FnMut(&[u8]),
        mut block: impl FnMut(&[u8]),
    ) {
        let DatasetOrigin::Generated { tree, content } = &dataset.origin else { return };
        let mut last = vec![0; tree.entries.len()];
        for save in self.phases.iter().flat_map(|phase| &phase.saves) {
            if let Some(generation) = last.get_mut(save.file as usize) {
                *generation = save.generation.max(*generation);
            }
        }
        let mut buffer = vec![0; length];
        for (entry, generation) in tree.entries.iter().zip(last) {
            name(tree.name_at(entry.name).to_bytes());
            let body = Body { identity: entry.what, generation, size: entry.size };
            for at in (0..entry.size).step_by(length.max(1)) {
                let here = usize::try_from(entry.size - at).unwrap_or(length).min(length);
                buffer.fill(0);
                content.fill_range(&body, at, buffer.get_mut(..here).unwrap_or_default());
                block(&buffer);
            }
        }
    }
}
