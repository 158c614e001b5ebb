//! The content of a file in the model: the origin of each byte, which was there before, written by a call, copied, or a
//! hole.

use std::collections::BTreeMap;

/// Bytes of a file with the same origin; bytes outside all segments are zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentSegment {
    pub end: u64,
    pub origin: SegmentOrigin,
}

/// The origin of the bytes in a segment: initial content, the write of a call, or a copy of either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentOrigin {
    /// The number of the file for which the bytes were generated.
    pub file: u32,
    /// By how much they lie further on than in that file.
    pub shift: i64,
    /// The number of the write, or of the period in which it was written; 0 if they were there before.
    pub written: u32,
}

impl SegmentOrigin {
    /// The place in the file for which the bytes were generated.
    pub fn place_of(self, at: u64) -> u64 {
        at.saturating_add_signed(self.shift.saturating_neg())
    }
}

/// The content of a file at some moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileContent {
    pub size: u64,
    /// By their first byte.
    pub segments: BTreeMap<u64, ContentSegment>,
}

impl FileContent {
    /// The bytes in segments.
    pub fn bytes_held(&self) -> u64 {
        self.segments.iter().map(|(at, segment)| segment.end - at).sum()
    }

    /// All bytes, where `fill` knows those of an origin from a place of its file on.
    pub fn to_bytes(&self, fill: impl Fn(SegmentOrigin, u64, &mut [u8])) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        for (start, segment) in self.segments_in(0, self.size) {
            if let Some(part) = bytes.get_mut(start as usize..segment.end as usize) {
                fill(segment.origin, segment.origin.place_of(start), part);
            }
        }
        bytes
    }

    /// The parts of segments that lie between two places.
    pub(super) fn segments_in(&self, start: u64, end: u64) -> Vec<(u64, ContentSegment)> {
        let first = self.segments.range(..start).next_back().map_or(start, |(at, _)| *at);
        let inside = self.segments.range(first..end).filter(|(_, segment)| segment.end > start);
        inside
            .map(|(at, segment)| ((*at).max(start), ContentSegment { end: segment.end.min(end), ..*segment }))
            .collect()
    }

    /// Replaces the content of a place by a segment, or by a hole for `None`. Returns the bytes of segments there
    /// before and after.
    pub(super) fn overwrite_range(
        &mut self,
        start: u64,
        end: u64,
        origin: Option<SegmentOrigin>,
    ) -> (u64, u64) {
        // The last segment that begins before the place may reach into it …
        let first = self.segments.range(..start).next_back().map_or(start, |(at, _)| *at);
        let touched: Vec<(u64, ContentSegment)> = self
            .segments
            .range(first..end)
            .filter(|(_, segment)| segment.end > start)
            .map(|(at, segment)| (*at, *segment))
            .collect();
        let before = touched.iter().map(|(at, segment)| segment.end - at).sum();
        let (mut after, mut merged) = (0, (start, end));
        for (at, segment) in touched {
            self.segments.remove(&at);
            let alike = origin == Some(segment.origin);
            if alike {
                merged = (merged.0.min(at), merged.1.max(segment.end));
                continue;
            }
            if at < start {
                self.segments.insert(at, ContentSegment { end: start, ..segment });
                after += start - at;
            }
            if segment.end > end {
                self.segments.insert(end, segment);
                after += segment.end - end;
            }
        }
        if let Some(origin) = origin {
            // A segment of the same origin that ends where this begins is joined with it: an appended file is one
            // segment.
            let segment_before =
                self.segments.range(..merged.0).next_back().map(|(at, segment)| (*at, *segment));
            let mut from = merged.0;
            after += merged.1 - merged.0;
            if let Some((at, segment)) = segment_before
                && segment.end == merged.0
                && segment.origin == origin
            {
                from = at;
            }
            self.segments.insert(from, ContentSegment { end: merged.1, origin });
            self.size = self.size.max(end);
        }
        (before, after)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::{FileContent, SegmentOrigin};

    proptest! {
        #[test]
        fn segments_are_what_a_list_of_bytes_says(
            steps in proptest::collection::vec((0..40_u64, 1..20_u64, any::<bool>()), 1..40)
        ) {
            let (mut file, mut bytes) = (FileContent::default(), vec![None; 64]);
            let ours = SegmentOrigin { file: 0, shift: 0, written: 1 };
            for (start, length, written) in steps {
                let filled = |bytes: &[Option<bool>]| bytes.iter().flatten().count() as i64;
                let was = filled(&bytes);
                let end = if written { start + length } else { u64::MAX };
                let (before, after) = file.overwrite_range(start, end, written.then_some(ours));
                for at in start..end.min(64) {
                    bytes[at as usize] = written.then_some(true);
                }
                prop_assert_eq!(filled(&bytes) - was, after as i64 - before as i64);
            }
            for (at, byte) in bytes.iter().enumerate() {
                let here = file.segments.range(..=at as u64).next_back();
                let here = here.filter(|(_, segment)| segment.end > at as u64);
                prop_assert_eq!(here.map(|(_, segment)| segment.origin.written == 1), *byte);
            }
        }
    }
}
