//! The content of generated files: each 64 KiB consist of a stamp and a slice of a shared pool, so that no file's
//! content is built in memory.
//!
//! The stamp says which file, which generation and which place; the slice begins at an offset of the pool that
//! depends on the same. So no two files share an extent, a block that ends up in the wrong place is noticed, and
//! writing costs one `writev` from memory that is already there.

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::random::{RandomStream, mix_bits, scale_to_limit};

/// Each run of this many bytes of a file has its own stamp and its own slice of the pool.
pub(crate) const CHUNK: u64 = 64 * 1024;
const STAMP: usize = 16;
/// Distinct offsets into the pool, in bytes.
const POOL: u64 = 4 * 1024 * 1024;
/// A compressible pool alternates noise and zeros with this period, so that every block of a file has its share.
const PERIOD: usize = 1024;
/// Chunks written by one system call.
const BATCH: usize = 4;
/// The most bytes one call of [`Content::write_some`] writes; readers use the same size.
pub(crate) const TRANSFER: usize = BATCH * CHUNK as usize;

/// Which bytes a file holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    /// Files with the same identity hold the same bytes.
    pub(crate) identity: u32,
    /// 0 when first written, one more each time it is overwritten.
    pub(crate) generation: u32,
    /// Bytes.
    pub(crate) size: u64,
}

#[derive(Clone, Copy, Default)]
struct ContentHead {
    stamp: [u8; STAMP],
    offset: usize,
}

/// The pool that all files of a dataset draw from.
#[derive(Debug)]
pub(crate) struct Content {
    pool: Vec<u8>,
    seed: u64,
}

impl Content {
    /// A pool of which a compressor can remove the share `compressible` (0 to 1).
    pub(crate) fn new(seed: u64, compressible: f64) -> Self {
        let mut pool = vec![0; (POOL + CHUNK) as usize];
        let mut stream = RandomStream::new(seed, "content");
        let noise = libm::round((1.0 - compressible.clamp(0.0, 1.0)) * PERIOD as f64) as usize;
        if noise == PERIOD {
            stream.fill_bytes(&mut pool);
        } else {
            pool.chunks_mut(PERIOD).for_each(|period| stream.fill_bytes(&mut period[..noise]));
        }
        Self { pool, seed: mix_bits(seed) }
    }

    /// The number that all it holds follows from.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    fn head_of_chunk(&self, body: &Body, chunk: u64) -> ContentHead {
        let which =
            mix_bits(self.seed ^ mix_bits((u64::from(body.identity) << 32) | u64::from(body.generation)));
        let place = mix_bits(which.wrapping_add(chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let mut stamp = [0; STAMP];
        stamp[..8].copy_from_slice(&place.to_le_bytes());
        stamp[8..].copy_from_slice(&((u64::from(body.generation) << 40) ^ chunk).to_le_bytes());
        ContentHead { stamp, offset: scale_to_limit(place, POOL) as usize }
    }

    /// The two parts of a chunk from byte `position` of the file on.
    fn slices_of_chunk<'a>(
        &'a self,
        head: &'a ContentHead,
        chunk: u64,
        size: u64,
        position: u64,
    ) -> [&'a [u8]; 2] {
        let start = chunk * CHUNK;
        let from = position.saturating_sub(start) as usize;
        let to = CHUNK.min(size - start) as usize;
        let stamped = to.min(STAMP);
        let stamp = &head.stamp[from.min(stamped)..stamped];
        let slice = &self.pool[head.offset + from.max(stamped)..head.offset + to];
        [stamp, slice]
    }

    /// Writes up to [`TRANSFER`] bytes from `position` on to where `file` stands; returns how many went.
    pub(crate) fn write_some(
        &self,
        file: BorrowedFd<'_>,
        body: &Body,
        position: u64,
    ) -> Result<usize, Errno> {
        let first = position / CHUNK;
        let chunks = (body.size.div_ceil(CHUNK) - first).min(BATCH as u64) as usize;
        let mut heads = [ContentHead::default(); BATCH];
        for (at, head) in heads.iter_mut().take(chunks).enumerate() {
            *head = self.head_of_chunk(body, first + at as u64);
        }
        let mut slices = [IoSlice::new(&[]); 2 * BATCH];
        for (at, head) in heads.iter().take(chunks).enumerate() {
            let [stamp, slice] = self.slices_of_chunk(head, first + at as u64, body.size, position);
            slices[2 * at] = IoSlice::new(stamp);
            slices[2 * at + 1] = IoSlice::new(slice);
        }
        loop {
            match rustix::io::writev(file, &slices[..2 * chunks]) {
                Ok(0) => return Err(Errno::NOSPC),
                Err(Errno::INTR) => {}
                other => return other,
            }
        }
    }

    /// The bytes of a file from `position` on, as many as `buffer` takes; it ends within the file.
    pub(crate) fn fill_range(&self, body: &Body, position: u64, buffer: &mut [u8]) {
        let (mut at, mut rest) = (position, buffer);
        while !rest.is_empty() && at < body.size {
            let chunk = at / CHUNK;
            let head = self.head_of_chunk(body, chunk);
            for part in self.slices_of_chunk(&head, chunk, body.size, at) {
                let count = part.len().min(rest.len());
                let (here, later) = rest.split_at_mut(count);
                here.copy_from_slice(&part[..count]);
                at += count as u64;
                rest = later;
            }
        }
    }

    pub(crate) fn write_all(&self, file: BorrowedFd<'_>, body: &Body) -> Result<(), Errno> {
        let mut position = 0;
        while position < body.size {
            position += self.write_some(file, body, position)? as u64;
        }
        Ok(())
    }

    /// The first byte of `found`, which stood at `position` of the file, that is not as written.
    pub(crate) fn first_difference(&self, body: &Body, position: u64, found: &[u8]) -> Option<u64> {
        let end = (position + found.len() as u64).min(body.size);
        let mut at = position;
        let mut rest = found;
        while at < end {
            let chunk = at / CHUNK;
            let head = self.head_of_chunk(body, chunk);
            for part in self.slices_of_chunk(&head, chunk, body.size, at) {
                let (here, later) = rest.split_at(part.len().min(rest.len()));
                if here != &part[..here.len()] {
                    let same = here.iter().zip(part).take_while(|(found, meant)| found == meant).count();
                    return Some(at + same as u64);
                }
                at += here.len() as u64;
                rest = later;
            }
        }
        (!rest.is_empty()).then_some(at)
    }

    /// Hands over all bytes of a file in order, in pieces.
    pub(crate) fn for_each_piece(&self, body: &Body, mut take: impl FnMut(&[u8])) {
        for chunk in 0..body.size.div_ceil(CHUNK) {
            let head = self.head_of_chunk(body, chunk);
            self.slices_of_chunk(&head, chunk, body.size, chunk * CHUNK).into_iter().for_each(&mut take);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::{Read, Seek};
    use std::os::fd::AsFd;

    use super::{Body, Content};

    fn bytes(content: &Content, body: &Body) -> Vec<u8> {
        let mut all = Vec::new();
        content.for_each_piece(body, |piece| all.extend_from_slice(piece));
        all
    }

    fn body(identity: u32, generation: u32, size: u64) -> Body {
        Body { identity, generation, size }
    }

    #[test]
    fn what_is_written_is_what_is_compared_at_every_kind_of_size() {
        let content = Content::new(3, 0.3);
        for size in [0, 1, 15, 16, 17, 4096, 65_535, 65_536, 65_537, 262_143, 262_145, 1_000_000] {
            let body = body(5, 2, size);
            let mut file = tempfile::tempfile().unwrap();
            content.write_all(file.as_fd(), &body).unwrap();
            let mut found = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut found).unwrap();
            assert_eq!(found.len() as u64, size);
            assert_eq!(found, bytes(&content, &body));
            for start in [0, size / 3, size.saturating_sub(1)] {
                assert_eq!(content.first_difference(&body, start, &found[start as usize..]), None);
            }
            if size > 0 {
                let at = size as usize * 2 / 3;
                found[at] ^= 1;
                assert_eq!(content.first_difference(&body, 0, &found), Some(at as u64));
            }
        }
    }

    #[test]
    fn a_part_of_a_file_is_what_stands_there_in_the_whole() {
        let content = Content::new(7, 0.3);
        let body = body(5, 2, 300_000);
        let whole = bytes(&content, &body);
        for (from, length) in [
            (0, 16),
            (0, 300_000),
            (10, 2300),
            (65_530, 20),
            (65_536, 4096),
            (131_000, 150_000),
            (299_999, 1),
        ] {
            let mut part = vec![1; length];
            content.fill_range(&body, from as u64, &mut part);
            assert!(part == whole[from..from + length], "{from} {length}");
        }
    }

    #[test]
    fn no_two_blocks_of_a_big_file_or_of_many_files_are_the_same() {
        let content = Content::new(1, 0.0);
        let mut seen = HashSet::new();
        let big = bytes(&content, &body(0, 0, 32 << 20));
        let blocks = big.chunks(4096).map(<[u8]>::to_vec);
        let small = (1..2000).map(|identity| bytes(&content, &body(identity, 0, 4096)));
        let again = (1..2000).map(|identity| bytes(&content, &body(identity, 1, 4096)));
        let mut total = 0;
        for block in blocks.chain(small).chain(again) {
            total += 1;
            seen.insert(block);
        }
        // 4 Mi offsets, some 12 000 draws: a few blocks inside chunks may meet by chance, stamped ones never.
        assert!(total - seen.len() < 40, "{} of {total} blocks are repeated", total - seen.len());
    }

    #[test]
    fn the_compressible_share_is_in_every_block() {
        for share in [0.0, 0.25, 0.5, 0.9, 1.0] {
            let content = Content::new(1, share);
            let all = bytes(&content, &body(9, 0, 1 << 20));
            for block in all.chunks(4096) {
                let zeros = block.iter().filter(|byte| **byte == 0).count() as f64 / 4096.0;
                let by_chance = (1.0 - share) / 256.0;
                assert!((zeros - share - by_chance).abs() < 0.02, "asked {share}, found {zeros}");
            }
        }
    }
}
