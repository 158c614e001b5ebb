//! How small a device may be under a candidate.

use fsverdict_judgement::plan::Candidate;

/// Bytes of the smallest device that the candidate's filesystem and layers take with their fair defaults.
pub fn least_device(candidate: &Candidate) -> u64 {
    let filesystem = crate::filesystem::find_filesystem(&candidate.filesystem);
    filesystem.map_or(0, |known| known.minimum_size)
        + super::layers_of(candidate).map(|layer| layer.header).sum::<u64>()
}
