//! Writes a tree with several threads: first one creates the directories; then all write files; then one adds the hard
//! links and symbolic links.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::Mode;

use super::descriptor::open_directory;
use super::error::IoFailure;
use super::tree::{Directory, EntryKind, PATH_LIMIT, Tree};
use super::write::{DirectoryPlace, Manner, NewTree, TreeSource, WrittenTotals, write_entries};

use super::write_probe::{Call, WriteProbe};

/// One of several threads, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadPart {
    pub(crate) thread: usize,
    pub(crate) of: usize,
}

/// Makes all directories below the root.
pub(crate) fn write_directories(
    tree: &Tree,
    root: BorrowedFd<'_>,
    probe: &mut impl WriteProbe,
) -> Result<(), IoFailure> {
    for (number, directory) in tree.directories.iter().enumerate().skip(1) {
        let mut buffer = [0; PATH_LIMIT];
        let failed = |errno| IoFailure::new("make the directory", tree.directory_path(number), errno);
        let path = tree
            .directory_path_into(number, &mut buffer)
            .ok_or_else(|| failed(rustix::io::Errno::NAMETOOLONG))?;
        probe.begin();
        let made = rustix::fs::mkdirat(root, path, Mode::from_raw_mode((directory.mode | 0o700).into()));
        probe.end(Call::MakeDirectory);
        made.map_err(failed)?;
    }
    Ok(())
}

/// Writes one thread's share of the files into existing directories: if there are many directories, all files of every
/// n-th directory, so that threads rarely meet; else every n-th file.
pub(crate) fn write_files(
    writing: &NewTree<'_>,
    part: ThreadPart,
    probe: &mut impl WriteProbe,
) -> Result<WrittenTotals, IoFailure> {
    let (ThreadPart { thread, of }, tree) = (part, writing.tree);
    let by_directory = tree.directories.len() >= 8 * of;
    let wanted = |number: usize, entry: usize| {
        let file = tree.entries.get(entry).is_some_and(|entry| entry.kind == EntryKind::File);
        file && if by_directory { number % of == thread } else { entry % of == thread }
    };
    each_directory(writing, wanted, probe)
}

/// Makes hard and symbolic links, once all files are there.
pub(crate) fn write_links(
    writing: &NewTree<'_>,
    probe: &mut impl WriteProbe,
) -> Result<WrittenTotals, IoFailure> {
    let wanted =
        |_, entry: usize| writing.tree.entries.get(entry).is_some_and(|entry| entry.kind != EntryKind::File);
    each_directory(writing, wanted, probe)
}

fn each_directory(
    writing: &NewTree<'_>,
    wanted: impl Fn(usize, usize) -> bool,
    probe: &mut impl WriteProbe,
) -> Result<WrittenTotals, IoFailure> {
    let (NewTree { tree, source, root, manner }, mut written) = (*writing, WrittenTotals::default());
    for (number, directory) in tree.directories.iter().enumerate() {
        let Directory { first, count, .. } = *directory;
        let mut entries = (first as usize)..(first as usize + count as usize);
        if !entries.any(|entry| wanted(number, entry)) {
            continue;
        }
        let mut buffer = [0; PATH_LIMIT];
        let failed = |errno| IoFailure::new("open the directory", tree.directory_path(number), errno);
        let path = if number == 0 {
            c"."
        } else {
            tree.directory_path_into(number, &mut buffer)
                .ok_or_else(|| failed(rustix::io::Errno::NAMETOOLONG))?
        };
        let here = open_directory(root, path).map_err(failed)?;
        let staged = match source {
            TreeSource::Folder(staged) => Some(open_directory(staged, path).map_err(failed)?),
            TreeSource::Generated { .. } => None,
        };
        let former = match manner {
            Manner::Next { former, .. } => Some(open_directory(former, path).map_err(failed)?),
            _ => None,
        };
        let place = DirectoryPlace {
            directory,
            here: here.as_fd(),
            staged: staged.as_ref().map(AsFd::as_fd),
            former: former.as_ref().map(AsFd::as_fd),
        };
        let one = write_entries(writing, &place, &|entry| wanted(number, entry), probe)?;
        written.files += one.files;
        written.bytes += one.bytes;
    }
    Ok(written)
}
