//! How much of each file lies in one piece on the device: Smith and Seltzer's layout score ("File System Aging: Increasing the
//! Relevance of File System Benchmarks", SIGMETRICS 1997), the share of blocks of files that follow the block before them.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use fsverdict_linux::host::syscall::{FileExtent, file_extents};

use super::walk::{Visitor, walk_tree};
use super::{WorkError, Workplace};

/// The block size in bytes for counting: the default of all filesystems here.
const BLOCK: u64 = 4096;
/// Pieces of one file that are looked at; a file of more is in no piece that matters.
const MOST_PIECES: usize = 1 << 20;

#[derive(Default)]
struct LayoutVisitor {
    /// Blocks that have one before them in their file …
    second: u64,
    /// … and lie right behind it.
    following: u64,
    /// Where the kernel does not tell where files lie.
    untold: bool,
}

/// The layout score of all files below the site's folder, 0 to 1; `None` where the filesystem does not tell (FIEMAP), or no
/// file has a second block.
///
/// # Errors
/// When the folder cannot be read.
pub fn layout_score(site: &Workplace<'_>) -> Result<Option<f64>, WorkError> {
    let mut visitor = LayoutVisitor::default();
    let root = site.open_target()?;
    let walked = walk_tree(root, &mut visitor);
    if visitor.untold {
        return Ok(None);
    }
    walked.map_err(|failure| site.io_failure_below(failure))?;
    Ok((visitor.second > 0).then(|| visitor.following as f64 / visitor.second as f64))
}

impl Visitor for LayoutVisitor {
    const VERB: &'static str = "ask for the extents of";

    fn visit_file(&mut self, directory: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Result<(), Errno> {
        if kind != FileType::RegularFile {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, name, flags, Mode::empty())?;
        let (mut from, mut before) = (0, None);
        for _ in 0..MOST_PIECES {
            let extents = file_extents(file.as_fd(), from).inspect_err(|_| self.untold = true)?;
            let Some(last) = extents.last() else { return Ok(()) };
            let next = last.logical.saturating_add(last.length);
            for extent in &extents {
                self.count_extent(extent, before);
                before = Some(*extent);
            }
            if last.is_last || next <= from {
                return Ok(());
            }
            from = next;
        }
        Ok(())
    }

    fn leave_directory(&mut self, _: BorrowedFd<'_>, _: &CStr) -> Result<(), Errno> {
        Ok(())
    }
}

impl LayoutVisitor {
    fn count_extent(&mut self, extent: &FileExtent, before: Option<FileExtent>) {
        if !extent.is_placed {
            return;
        }
        let blocks = extent.length.div_ceil(BLOCK);
        self.second += blocks.saturating_sub(1);
        self.following += blocks.saturating_sub(1);
        if let Some(before) = before.filter(|before| before.is_placed) {
            self.second += 1;
            self.following += u64::from(before.physical.checked_add(before.length) == Some(extent.physical));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FileExtent, LayoutVisitor};

    #[test]
    fn a_block_counts_that_lies_right_behind_the_one_before() {
        let mut seen = LayoutVisitor::default();
        let extent = |physical: u64, blocks: u64| FileExtent {
            logical: 0,
            physical: physical * 4096,
            length: blocks * 4096,
            is_placed: true,
            is_last: false,
        };
        // Eight blocks in three pieces, of which the second follows the first: six of seven.
        let pieces = [extent(10, 3), extent(13, 2), extent(40, 3)];
        let mut before = None;
        for piece in pieces {
            seen.count_extent(&piece, before);
            before = Some(piece);
        }
        assert_eq!((seen.following, seen.second), (6, 7));
        // What lies nowhere yet is no piece.
        seen.count_extent(&FileExtent { is_placed: false, ..extent(1, 5) }, before);
        assert_eq!((seen.following, seen.second), (6, 7));
    }
}
