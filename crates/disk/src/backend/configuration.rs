//! What a modelled device tells a guest of itself: the features that it offers, and its configuration space.
//!
//! The names come from Virtual I/O Device (VIRTIO) 1.2, 5.2 (block device).

use std::mem::offset_of;

use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_SEG_MAX,
    VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_WRITE_ZEROES, virtio_blk_config as Space,
};

use super::disk::{MAX_SEGMENTS, SECTOR};
use crate::device::Limits;

/// The feature bits that the device offers.
pub(super) fn offered_features(limits: &Limits) -> u64 {
    let features = [
        (VIRTIO_BLK_F_SEG_MAX, true),
        (VIRTIO_BLK_F_BLK_SIZE, true),
        (VIRTIO_BLK_F_TOPOLOGY, true),
        (VIRTIO_BLK_F_FLUSH, limits.volatile_cache),
        (VIRTIO_BLK_F_DISCARD, limits.discard.is_some()),
        (VIRTIO_BLK_F_WRITE_ZEROES, limits.write_zeroes),
    ];
    features.iter().map(|(bit, is_offered)| u64::from(*is_offered) << bit).sum()
}

/// Builds the device's configuration space.
pub(super) fn configuration_space(limits: &Limits) -> [u8; 256] {
    /// The largest range of zeroes in one request, in sectors: 2 GiB.
    const MAX_ZEROES_SECTORS: u32 = 1 << 22;
    let mut space = [0; 256];
    let mut put = |offset: usize, bytes: &[u8]| {
        for (slot, byte) in space.iter_mut().skip(offset).zip(bytes) {
            *slot = *byte;
        }
    };
    put(offset_of!(Space, capacity), &(limits.size_bytes / SECTOR).to_le_bytes());
    put(offset_of!(Space, seg_max), &MAX_SEGMENTS.to_le_bytes());
    put(offset_of!(Space, blk_size), &limits.logical_block.to_le_bytes());
    let exponent = (limits.physical_block / limits.logical_block.max(1)).max(1).ilog2();
    put(offset_of!(Space, physical_block_exp), &[exponent as u8]);
    put(offset_of!(Space, num_queues), &1u16.to_le_bytes());
    if let Some(discard) = limits.discard {
        put(offset_of!(Space, max_discard_sectors), &discard.max_sectors.to_le_bytes());
        put(offset_of!(Space, max_discard_seg), &1u32.to_le_bytes());
        let alignment = discard.granularity / SECTOR as u32;
        put(offset_of!(Space, discard_sector_alignment), &alignment.to_le_bytes());
    }
    if limits.write_zeroes {
        put(offset_of!(Space, max_write_zeroes_sectors), &MAX_ZEROES_SECTORS.to_le_bytes());
        put(offset_of!(Space, max_write_zeroes_seg), &1u32.to_le_bytes());
        put(offset_of!(Space, write_zeroes_may_unmap), &[1]);
    }
    space
}
