//! Interprets a candidate's options as far as judgement needs it without knowing any filesystem. The crate `stack`
//! knows their meaning to each filesystem.

use super::Candidate;

impl Candidate {
    /// Whether its writes pass layers besides the filesystem, which take processor time of their own.
    pub fn has_layers(&self) -> bool {
        !self.layers.is_empty()
    }

    /// Whether its options speak of compression, as those of every filesystem that can be asked for it do.
    pub fn asks_for_compression(&self) -> bool {
        self.mkfs.iter().chain(&self.mount).any(|option| option.contains("compress"))
    }
}
