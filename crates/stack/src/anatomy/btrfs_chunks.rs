//! The address space of btrfs: chunks, and where each lies on this device (`struct btrfs_chunk`, `struct btrfs_stripe`).

use std::collections::BTreeMap;

use fsverdict_judgement::journal::{ReadingStopped, StopReason};

use super::image_reader::{BLOCK, ImageReader, read_le16, read_le64};

/// Bytes of a chunk's item in front of its stripes, and of each stripe.
pub(super) const ITEM_HEAD: usize = 48;
const STRIPE: usize = 32;
/// Profiles that spread a chunk over devices (`BTRFS_BLOCK_GROUP_RAID0` and those that follow it).
const RAID0: u64 = 1 << 3;
const RAID10: u64 = 1 << 6;
const RAID5: u64 = 1 << 7;
const RAID6: u64 = 1 << 8;
/// More chunks than a device of ours has, and more stripes than one has (`BTRFS_MAX_DEVS` of the largest node).
const MOST: usize = 1 << 16;
const MOST_STRIPES: usize = 2048;

/// A piece of the address space.
struct Chunk {
    length: u64,
    /// Bytes of it on each device.
    stripe_length: u64,
    /// Where on this device; twice where it is kept twice.
    places: Vec<u64>,
}

/// The chunks that are known so far.
pub(super) struct Chunks {
    device: u64,
    /// By the address of the first byte.
    by_logical: BTreeMap<u64, Chunk>,
    /// The ends of the pieces of this device that chunks have, by their beginnings.
    taken: BTreeMap<u64, u64>,
}

impl Chunks {
    /// No chunks yet, of the device with this number.
    pub(super) fn new(device: u64) -> Chunks {
        Chunks { device, by_logical: BTreeMap::new(), taken: BTreeMap::new() }
    }

    /// Adds a chunk that an item in block `at` describes; how many bytes describe it.
    ///
    /// # Errors
    /// When it lies beyond the device, or where another chunk lies.
    pub(super) fn add_chunk(
        &mut self,
        image: &ImageReader<'_>,
        at: u64,
        logical: u64,
        item: &[u8],
    ) -> Result<usize, ReadingStopped> {
        let stripes = usize::try_from(read_le16(item, 44)).unwrap_or(0);
        let (length, profile) = (read_le64(item, 0), read_le64(item, 24));
        let described = ITEM_HEAD + STRIPE * stripes;
        if stripes == 0 || stripes > MOST_STRIPES || described > item.len() {
            return Err(ReadingStopped::implausible(at, "num_stripes", stripes as u64));
        }
        if self.by_logical.get(&logical).is_some_and(|known| known.length == length) {
            return Ok(described);
        }
        let end = logical.checked_add(length).filter(|end| *end > logical);
        let end = end.ok_or_else(|| ReadingStopped::implausible(at, "length", length))?;
        let before = self.by_logical.range(..end).next_back();
        if before.is_some_and(|(start, before)| start + before.length > logical)
            || self.by_logical.len() >= MOST
        {
            return Err(ReadingStopped::implausible(at, "chunk_offset", logical));
        }
        let (all, sub_stripes) = (stripes as u64, read_le16(item, 46).max(1));
        let stripe_length = match profile {
            profile if profile & RAID0 != 0 => length / all,
            profile if profile & RAID10 != 0 => (length / all).saturating_mul(sub_stripes),
            profile if profile & RAID5 != 0 => length / all.saturating_sub(1).max(1),
            profile if profile & RAID6 != 0 => length / all.saturating_sub(2).max(1),
            _ => length,
        };
        let stripe = |number: usize| {
            let stripe = ITEM_HEAD + STRIPE * number;
            (read_le64(item, stripe), read_le64(item, stripe + 8))
        };
        let here = (0..stripes).map(stripe).filter(|(device, _)| *device == self.device);
        let places: Vec<u64> = here.map(|(_, place)| place).collect();
        for place in &places {
            self.claim_device_range(image, *place, stripe_length)?;
        }
        self.by_logical.insert(logical, Chunk { length, stripe_length, places });
        Ok(described)
    }

    /// Notes that a chunk has these bytes of the device.
    fn claim_device_range(
        &mut self,
        image: &ImageReader<'_>,
        place: u64,
        length: u64,
    ) -> Result<(), ReadingStopped> {
        image.check_range(place, length)?;
        let end = place + length;
        let before = self.taken.range(..end).next_back();
        if before.is_some_and(|(_, before)| *before > place) {
            return Err(ReadingStopped::at_block(place / BLOCK, StopReason::MapsOntoItself));
        }
        self.taken.insert(place, end);
        Ok(())
    }

    /// Where this address lies on the device; nowhere where no chunk has it, or those of other devices.
    pub(super) fn device_offsets(&self, logical: u64) -> Vec<u64> {
        let Some((start, chunk)) = self.by_logical.range(..=logical).next_back() else { return Vec::new() };
        let within = logical - start;
        if within >= chunk.length || within >= chunk.stripe_length {
            return Vec::new();
        }
        chunk.places.iter().map(|place| place + within).collect()
    }
}
