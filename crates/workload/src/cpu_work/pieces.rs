//! The pieces of work with which a processor is calibrated: trees, one large file, small files in one directory. They do the
//! same natively and in a guest, so that their native CPU time can be compared with the counts of the guest's kernel.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A piece of work. `cold` work begins with an empty page cache.
#[derive(Debug, Clone, Copy)]
pub struct CpuPiece {
    pub name: &'static str,
    pub cold: bool,
    work: fn(&Path) -> Result<()>,
}

/// All pieces in the order in which they are done: later pieces use the files of earlier ones.
pub const CPU_PIECES: &[CpuPiece] = &[
    CpuPiece { name: "tree_write", cold: false, work: write_tree },
    CpuPiece { name: "tree_read", cold: true, work: read_tree },
    CpuPiece { name: "tree_stat", cold: true, work: stat_tree },
    CpuPiece { name: "tree_remove", cold: false, work: remove_tree },
    CpuPiece { name: "big_write", cold: false, work: |folder| write_big(folder, 0) },
    CpuPiece { name: "big_read", cold: true, work: |folder| read_file(&folder.join(BIG), &mut [0; PIECE]) },
    CpuPiece { name: "big_rewrite", cold: false, work: |folder| write_big(folder, 2048) },
    CpuPiece { name: "random_read", cold: true, work: read_randomly },
    CpuPiece { name: "random_write", cold: false, work: write_randomly },
    CpuPiece { name: "log_fsync", cold: false, work: append_and_sync },
    CpuPiece { name: "small_fill", cold: false, work: fill_directory },
    CpuPiece { name: "small_list", cold: true, work: list_directory },
    CpuPiece { name: "small_save", cold: false, work: replace_files },
    CpuPiece { name: "small_empty", cold: false, work: empty_directory },
    CpuPiece { name: "big_remove", cold: false, work: |folder| std::fs::remove_file(folder.join(BIG)) },
];

const BIG: &str = "big";
const SMALL: &str = "small";
const PIECE: usize = 128 << 10;
const PAGE: usize = 4096;
const BIG_BYTES: usize = 96 << 20;
const DIRECTORIES: usize = 160;
const FILES_PER_DIRECTORY: usize = 20;
const SMALL_FILES: usize = 6000;
const RANDOM_ACCESSES: usize = 3000;
const LOG_RECORDS: usize = 400;
const REPLACED_FILES: usize = 300;

impl CpuPiece {
    /// Finds the piece of this name.
    pub fn find(name: &str) -> Option<&'static CpuPiece> {
        CPU_PIECES.iter().find(|piece| piece.name == name)
    }

    /// Does the work in this folder.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn run(&self, folder: &Path) -> Result<()> {
        (self.work)(folder)
    }
}

/// Pseudo-random numbers (xorshift), the same in every process.
struct PieceNumbers(u64);

impl PieceNumbers {
    fn new() -> Self {
        PieceNumbers(88_172_645_463_325_252)
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The offset of a page of the large file.
    fn page(&mut self) -> u64 {
        self.draw() % (BIG_BYTES / PAGE) as u64 * PAGE as u64
    }
}

/// Content: 512 random bytes and 512 zeros in turn, so that a compressor halves it. There is a page more than a piece has.
fn content() -> Vec<u8> {
    let mut numbers = PieceNumbers::new();
    let mut content = vec![0; PIECE + PAGE];
    for (at, word) in content.chunks_exact_mut(8).enumerate() {
        if (at * 8) & 512 == 0 {
            word.copy_from_slice(&numbers.draw().to_le_bytes());
        }
    }
    content
}

/// So many bytes of the content, other ones for each number.
fn part(content: &[u8], number: usize, length: usize) -> Result<&[u8]> {
    let start = number * 8 % PAGE;
    content.get(start..start + length).ok_or_else(|| Error::other("more than the content has"))
}

/// 300 bytes to 64 KiB, most of them small.
fn size_of_file(number: usize) -> usize {
    let hash = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    300 + (hash >> 40) as usize % 1000 * (1 << ((hash >> 20) % 7))
}

fn new_file(path: &Path) -> Result<File> {
    File::create_new(path)
}

fn read_file(path: &Path, buffer: &mut [u8]) -> Result<()> {
    let mut file = File::open(path)?;
    while file.read(buffer)? > 0 {}
    Ok(())
}

fn directories(folder: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let tree = folder.join("tree");
    (0..DIRECTORIES).map(move |number| tree.join(format!("d{number:03}")))
}

fn write_tree(folder: &Path) -> Result<()> {
    let content = content();
    std::fs::create_dir(folder.join("tree"))?;
    for (number, directory) in directories(folder).enumerate() {
        std::fs::create_dir(&directory)?;
        for file in 0..FILES_PER_DIRECTORY {
            let size = size_of_file(number * FILES_PER_DIRECTORY + file);
            let mut new = new_file(&directory.join(format!("file-{file:04}")))?;
            new.write_all(part(&content, number, size)?)?;
        }
    }
    Ok(())
}

/// Does something with each file of the tree, in the order in which its directory lists it.
fn each_file(folder: &Path, mut work: impl FnMut(&Path) -> Result<()>) -> Result<()> {
    for directory in directories(folder) {
        for entry in std::fs::read_dir(&directory)? {
            work(&entry?.path())?;
        }
    }
    Ok(())
}

fn read_tree(folder: &Path) -> Result<()> {
    let mut buffer = vec![0; PIECE];
    each_file(folder, |file| read_file(file, &mut buffer))
}

fn stat_tree(folder: &Path) -> Result<()> {
    each_file(folder, |file| file.symlink_metadata().map(drop))
}

fn remove_tree(folder: &Path) -> Result<()> {
    each_file(folder, |file| std::fs::remove_file(file))?;
    directories(folder).try_for_each(std::fs::remove_dir)
}

fn write_big(folder: &Path, shift: usize) -> Result<()> {
    let content = content();
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(folder.join(BIG))?;
    (0..BIG_BYTES / PIECE).try_for_each(|at| file.write_all(part(&content, at + shift / 8, PIECE)?))
}

fn read_randomly(folder: &Path) -> Result<()> {
    let (file, mut numbers, mut page) = (File::open(folder.join(BIG))?, PieceNumbers::new(), [0; PAGE]);
    (0..RANDOM_ACCESSES).try_for_each(|_| file.read_exact_at(&mut page, numbers.page()))
}

fn write_randomly(folder: &Path) -> Result<()> {
    let file = OpenOptions::new().write(true).open(folder.join(BIG))?;
    let (content, mut numbers) = (content(), PieceNumbers::new());
    (0..RANDOM_ACCESSES).try_for_each(|at| file.write_all_at(part(&content, at, PAGE)?, numbers.page()))
}

fn append_and_sync(folder: &Path) -> Result<()> {
    let (content, mut file) = (content(), new_file(&folder.join("log"))?);
    for _ in 0..LOG_RECORDS {
        file.write_all(part(&content, 0, PAGE)?)?;
        file.sync_data()?;
    }
    Ok(())
}

fn small_file(folder: &Path, number: usize) -> std::path::PathBuf {
    folder.join(SMALL).join(format!("name-{number:06}"))
}

fn fill_directory(folder: &Path) -> Result<()> {
    let content = content();
    std::fs::create_dir(folder.join(SMALL))?;
    (0..SMALL_FILES)
        .try_for_each(|number| new_file(&small_file(folder, number))?.write_all(part(&content, 0, 1024)?))
}

fn list_directory(folder: &Path) -> Result<()> {
    std::fs::read_dir(folder.join(SMALL))?.try_for_each(|entry| entry?.metadata().map(drop))
}

fn replace_files(folder: &Path) -> Result<()> {
    let (content, new) = (content(), folder.join(SMALL).join("new"));
    for number in 0..REPLACED_FILES {
        let mut file = File::create(&new)?;
        file.write_all(part(&content, 0, 2000)?)?;
        file.sync_all()?;
        std::fs::rename(&new, small_file(folder, number * 7))?;
    }
    Ok(())
}

fn empty_directory(folder: &Path) -> Result<()> {
    std::fs::read_dir(folder.join(SMALL))?.try_for_each(|entry| std::fs::remove_file(entry?.path()))
}

#[cfg(test)]
mod tests {
    use super::{BIG_BYTES, CPU_PIECES, CpuPiece, content};

    #[test]
    fn the_pieces_find_what_earlier_ones_left_and_leave_two_files() {
        let folder = tempfile::tempdir().unwrap();
        let size = |name: &str| std::fs::metadata(folder.path().join(name)).map(|file| file.len()).ok();
        for piece in CPU_PIECES {
            piece.run(folder.path()).unwrap_or_else(|error| panic!("{}: {error}", piece.name));
            if piece.name == "big_write" {
                assert_eq!(size("big"), Some(BIG_BYTES as u64));
            }
        }
        assert_eq!((size("big"), size("log")), (None, Some(400 * 4096)));
        assert!(std::fs::read_dir(folder.path().join("small")).unwrap().next().is_none());
    }

    #[test]
    fn half_of_the_content_is_zeros_and_an_unknown_piece_is_none() {
        let content = content();
        let zeros = content.iter().filter(|byte| **byte == 0).count();
        assert!((content.len() / 2..content.len() * 11 / 20).contains(&zeros));
        assert!(CpuPiece::find("tree_write").is_some() && CpuPiece::find("tree").is_none());
    }
}
