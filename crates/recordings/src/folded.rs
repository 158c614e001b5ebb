//! Places on a large device, laid side by side as far as something was asked of them, so that they can be replayed in a small file.

use std::collections::BTreeSet;

/// Pieces of a device that are kept whole at most and at least, in bytes.
const LARGEST_PIECE: u64 = 16 << 20;
const SMALLEST_PIECE: u64 = 4096;

/// Where places of a device lie in the file that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoldedPlaces {
    /// Bytes of a piece; none where all is as it was.
    piece: Option<u64>,
    /// The pieces of which something was asked, in order.
    touched: Vec<u64>,
    pub(super) size: u64,
}

impl FoldedPlaces {
    /// Folds requests, given as first byte and the byte after the last, into `at_most` bytes if they reach further.
    /// Order, adjacency and repetition are preserved; distances are not.
    pub(super) fn from_requests(requests: &[(u64, u64)], at_most: u64) -> Option<Self> {
        let extent = requests.iter().map(|(_, end)| *end).max().unwrap_or(0);
        if extent <= at_most {
            return Some(FoldedPlaces { piece: None, touched: Vec::new(), size: extent });
        }
        let mut piece = LARGEST_PIECE;
        while piece >= SMALLEST_PIECE {
            let mut touched = BTreeSet::new();
            let most = (at_most / piece) as usize;
            for (start, end) in requests {
                // A request is bounded, so that it touches few.
                touched.extend(start / piece..end.div_ceil(piece));
                if touched.len() > most {
                    break;
                }
            }
            if touched.len() <= most {
                let size = touched.len() as u64 * piece;
                return Some(FoldedPlaces {
                    piece: Some(piece),
                    touched: touched.into_iter().collect(),
                    size,
                });
            }
            piece /= 2;
        }
        None
    }

    pub(super) fn folded_offset(&self, offset: u64) -> u64 {
        let Some(piece) = self.piece else { return offset };
        let at = self.touched.partition_point(|touched| *touched < offset / piece);
        at as u64 * piece + offset % piece
    }

    /// A note on the folding for the reader of the results.
    pub(super) fn describe_folding(&self, extent: u64) -> Option<String> {
        let piece = self.piece?;
        Some(format!(
            "Folded: the {} pieces of {} that something was asked of lie side by side, in their order; the whole reaches over {}. Distances are shorter.",
            self.touched.len(),
            fsverdict_text::Bytes(piece),
            fsverdict_text::Bytes(extent)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::FoldedPlaces;

    #[test]
    fn what_fits_stays_and_what_does_not_keeps_its_order_and_neighbours() {
        let near = FoldedPlaces::from_requests(&[(4096, 8192), (0, 4096)], 1 << 20).unwrap();
        assert_eq!((near.size, near.folded_offset(4096), near.describe_folding(8192)), (8192, 4096, None));
        let gib = 1 << 30;
        let requests =
            [(500 * gib, 500 * gib + 8192), (500 * gib + 8192, 500 * gib + 12_288), (gib, gib + 4096)];
        let far = FoldedPlaces::from_requests(&requests, 64 << 20).unwrap();
        let places = requests.map(|(start, _)| far.folded_offset(start));
        assert_eq!(places[1], places[0] + 8192);
        assert!(places[2] < places[0] && far.size <= 64 << 20, "{places:?} {}", far.size);
        assert!(FoldedPlaces::from_requests(&requests, 4096).is_none());
    }
}
