//! Reading ahead in flash: after a read that goes on where an earlier one ended, the pages behind it are read into the
//! controller's buffer.

use std::collections::{HashMap, VecDeque};

use super::super::super::cache::Extent;

/// Streams of reads that are followed at once.
const MOST_STREAMS: usize = 8;
/// The buffer holds so many times what is read ahead for one stream.
const BUFFERED_STREAMS: u64 = 4;

/// The end of the last read of a stream, and the end of what was read ahead for it, in sectors.
#[derive(Debug, Clone, Copy)]
struct ReadStream {
    end: u64,
    ahead_end: u64,
}

/// Followed streams, and the pages in the buffer.
#[derive(Debug)]
pub(super) struct ReadAhead {
    ahead_sectors: u64,
    most_pages: usize,
    /// The stream that was read last comes last.
    streams: VecDeque<ReadStream>,
    /// Times at which buffered pages are there.
    pages: HashMap<u64, u64>,
    /// Buffered pages, in the order in which they were read. Some are no longer buffered.
    order: VecDeque<u64>,
}

impl ReadAhead {
    /// A device that reads `ahead_sectors` ahead: 0 if it does not.
    pub(super) fn new(ahead_sectors: u64, page_sectors: u64) -> ReadAhead {
        let most_pages = (BUFFERED_STREAMS * ahead_sectors.div_ceil(page_sectors)) as usize;
        ReadAhead {
            ahead_sectors,
            most_pages,
            streams: VecDeque::new(),
            pages: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Follows a read; returns what is to be read ahead of it, which is empty if the read begins a stream.
    pub(super) fn follow(&mut self, Extent { sector, sectors }: Extent) -> Extent {
        let end = sector + sectors;
        let nothing = Extent { sector: end, sectors: 0 };
        if self.ahead_sectors == 0 {
            return nothing;
        }
        let known = self.streams.iter().position(|stream| stream.end == sector);
        let known = known.and_then(|index| self.streams.remove(index));
        let Some(ReadStream { ahead_end, .. }) = known else {
            if self.streams.len() >= MOST_STREAMS {
                self.streams.pop_front();
            }
            self.streams.push_back(ReadStream { end, ahead_end: end });
            return nothing;
        };
        let (begin, ahead_end) = (ahead_end.max(end), end + self.ahead_sectors);
        self.streams.push_back(ReadStream { end, ahead_end });
        Extent { sector: begin, sectors: ahead_end - begin }
    }

    /// The time at which a page is in the buffer; `None` if it is not read ahead.
    pub(super) fn ready_ns(&self, page: u64) -> Option<u64> {
        self.pages.get(&page).copied()
    }

    /// Adds a page to the buffer; the oldest one is dropped if it is full.
    pub(super) fn insert(&mut self, page: u64, ready_ns: u64) {
        if self.pages.insert(page, ready_ns).is_none() {
            self.order.push_back(page);
        }
        while self.order.len() > self.most_pages {
            let Some(oldest) = self.order.pop_front() else { break };
            self.pages.remove(&oldest);
        }
    }

    /// Drops a page that was programmed again.
    pub(super) fn remove(&mut self, page: u64) {
        if self.pages.remove(&page).is_some() {
            self.order.retain(|other| *other != page);
        }
    }
}
