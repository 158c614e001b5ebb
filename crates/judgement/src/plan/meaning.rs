//! What a candidate's words mean, as far as judgement asks without knowing any filesystem. What they mean to each filesystem
//! is asked of that room.

use super::Candidate;

impl Candidate {
    /// Whether what it writes goes through more than the filesystem, which takes a processor of its own time.
    pub fn has_layers(&self) -> bool {
        !self.layers.is_empty()
    }

    /// Whether its options speak of compression, as those of every filesystem that can be asked for it do.
    pub fn asks_for_compression(&self) -> bool {
        self.mkfs.iter().chain(&self.mount).any(|option| option.contains("compress"))
    }
}
