//! What a candidate's words mean, as far as judgement asks without knowing any filesystem. What they mean to each filesystem
//! is asked of that room.

use super::{Candidate, UNENCRYPTED};

impl Candidate {
    /// Whether its device is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.encryption != UNENCRYPTED
    }

    /// Whether its options speak of compression, as those of every filesystem that can be asked for it do.
    pub fn asks_for_compression(&self) -> bool {
        self.mkfs.iter().chain(&self.mount).any(|option| option.contains("compress"))
    }
}
