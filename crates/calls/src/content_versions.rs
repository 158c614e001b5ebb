//! The contents that a file may have after a power cut, and the comparison of a found file with them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::content::{FileContent, SegmentOrigin};

/// The contents of a node from one version on. The writes since may have reached it or not, in any order, and its size may
/// lie anywhere between the sizes of the versions. With a single version, the content must be equal.
#[derive(Debug)]
pub struct ContentVersions {
    pub least: u64,
    pub most: u64,
    first: FileContent,
    /// Where later bytes of each origin, or zeros, were written.
    layers: BTreeMap<Option<SegmentOrigin>, FileContent>,
}

/// A mismatch in a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentFault {
    Size {
        bytes: u64,
        least: u64,
        most: u64,
    },
    /// The byte at this position is neither the old nor the new one.
    Lost {
        at: u64,
    },
    /// The byte at this position was never written there.
    Foreign {
        at: u64,
    },
}

impl ContentVersions {
    /// Versions of these sizes, without bytes.
    pub(super) fn new(least: u64, most: u64) -> Self {
        Self { least, most, first: FileContent::default(), layers: BTreeMap::new() }
    }

    /// Bytes of the first version.
    pub(super) fn add_first(&mut self, bytes: &Range<u64>, origin: Option<SegmentOrigin>) {
        self.first.overwrite_range(bytes.start, bytes.end, origin);
    }

    /// Bytes of a later version.
    pub(super) fn add_later(&mut self, bytes: &Range<u64>, origin: Option<SegmentOrigin>) {
        let marked = origin.unwrap_or(SegmentOrigin { file: 0, shift: 0, written: 0 });
        self.layers.entry(origin).or_default().overwrite_range(bytes.start, bytes.end, Some(marked));
    }

    /// # Errors If no version has so many bytes, nor a number between those of two.
    pub fn check_size(&self, bytes: u64) -> Result<(), ContentFault> {
        let (least, most) = (self.least, self.most);
        match (least..=most).contains(&bytes) {
            true => Ok(()),
            false => Err(ContentFault::Size { bytes, least, most }),
        }
    }

    /// Compares the bytes at a place; `fill` knows those of an origin from a place of its file on.
    ///
    /// # Errors The first byte that none of the versions has.
    pub fn check_bytes(
        &self,
        at: u64,
        bytes: &[u8],
        fill: &dyn Fn(SegmentOrigin, u64, &mut [u8]),
    ) -> Result<(), ContentFault> {
        let end = at + bytes.len() as u64;
        let mut expected = vec![0; bytes.len()];
        let fill_part = |expected: &mut [u8], origin: SegmentOrigin, start: u64, until: u64| {
            if let Some(part) = expected.get_mut((start - at) as usize..(until - at) as usize) {
                fill(origin, origin.place_of(start), part);
            }
        };
        for (start, segment) in self.first.segments_in(at, end) {
            fill_part(&mut expected, segment.origin, start, segment.end);
        }
        if expected == bytes {
            return Ok(());
        }
        let mut right: Vec<bool> = expected.iter().zip(bytes).map(|(byte, found)| byte == found).collect();
        for (origin, layer) in &self.layers {
            for (start, segment) in layer.segments_in(at, end) {
                expected.fill(0);
                if let Some(origin) = origin {
                    fill_part(&mut expected, *origin, start, segment.end);
                }
                for place in (start - at) as usize..(segment.end - at) as usize {
                    if let (Some(right), Some(byte), Some(found)) =
                        (right.get_mut(place), expected.get(place), bytes.get(place))
                    {
                        *right |= byte == found;
                    }
                }
            }
        }
        let Some(place) = right.iter().position(|right| !right) else { return Ok(()) };
        let at = at + place as u64;
        Err(match bytes.get(place) {
            Some(0) => ContentFault::Lost { at },
            _ => ContentFault::Foreign { at },
        })
    }
}
