//! Captures the shape of a real folder in numbers that identify no one: counts of files and directories, sizes, depths,
//! lengths of names, shares of links, duplicates and compressible bytes. It keeps no name and no byte of content.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::descriptor::{Listing, open_directory, open_path, stat_entry, type_of};
use super::form::TEN;
use super::transfer::read_some;
use super::tree::PATH_LIMIT;

/// So many numbers stand for the distribution of sizes: its hundredths.
const QUANTILES: usize = 101;
/// Real directory trees are not deeper than this, and each level keeps a descriptor open.
const DEEPEST: usize = 200;
/// More entries than this are not looked at.
const MOST: u64 = 20_000_000;
/// Bytes that are read of a file at most to see how far it can be compressed, and of all files together.
const SAMPLE: usize = 64 * 1024;
const ALL_SAMPLES: u64 = 256 << 20;
/// Files that are as large are compared by these bytes of their beginning, and their size.
const COMPARED: usize = 64 * 1024;
/// Files with more names than this are counted with those of so many.
const MOST_LINKS: usize = 100;

/// The shape of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapturedShape {
    /// Names of regular files, those of the same file counted each.
    pub files: u64,
    /// The folder itself included.
    pub directories: u64,
    pub symlinks: u64,
    /// Sockets, devices and pipes, which no dataset has.
    pub others: u64,
    /// Bytes of all distinct files together.
    pub bytes: u64,
    /// Further names of files that were counted already.
    pub hard_links: u64,
    /// Files that are the same as another, by size and the first 64 KiB.
    pub duplicates: u64,
    /// The share of bytes that a compressor removes, by a sample.
    pub compressible: f64,
    /// Bytes of files at the hundredths of their distribution, the smallest first.
    pub sizes: Vec<u64>,
    /// How many directories lie at each depth, from the folder itself on.
    pub depths: Vec<u64>,
    /// How many names have so many bytes, by tens: 1 to 10, 11 to 20 …
    pub name_lengths: Vec<u64>,
    /// How many files have one name below the folder, two, three …, and the last of them so many or more.
    pub links: Vec<u64>,
    /// How many targets of symbolic links have so many bytes, by tens.
    pub target_lengths: Vec<u64>,
    /// Entries that could not be examined or were too deep.
    pub left_out: u64,
}

/// The state of a capture in progress.
#[derive(Default)]
struct Census {
    shape: CapturedShape,
    sizes: Vec<u64>,
    /// How many names each file has that has several.
    linked: HashMap<(u64, u64), usize>,
    seen: HashMap<(u64, u64), ()>,
    sampled: u64,
    kept: u64,
}

/// A directory that is being gone through.
struct OpenDirectory {
    directory: OwnedFd,
    /// Directories in it that were not entered yet.
    below: Vec<CString>,
}

/// Looks at every file below a folder, on the filesystem that it is on; follows no link, and writes nothing.
///
/// # Errors
/// When the folder itself cannot be read.
pub fn capture_shape(folder: &Path) -> Result<CapturedShape, Errno> {
    let root = open_path(folder)?;
    let device = rustix::fs::fstat(&root)?.st_dev;
    let mut census = Census::default();
    let mut listing = Listing::new();
    let first = census.enter_directory(root, &mut listing, 0)?;
    let mut open = vec![first];
    while let Some(last) = open.last_mut() {
        let Some(name) = last.below.pop() else {
            open.pop();
            continue;
        };
        let inner = open_directory(last.directory.as_fd(), &name);
        let here = inner.and_then(|inner| Ok((rustix::fs::fstat(&inner)?.st_dev, inner)));
        match here {
            Ok((own, inner)) if own == device && open.len() < DEEPEST => {
                let depth = open.len();
                match census.enter_directory(inner, &mut listing, depth) {
                    Ok(entered) => open.push(entered),
                    Err(_) => census.shape.left_out += 1,
                }
            }
            _ => census.shape.left_out += 1,
        }
    }
    Ok(census.into_shape())
}

impl Census {
    fn enter_directory(
        &mut self,
        directory: OwnedFd,
        listing: &mut Listing,
        depth: usize,
    ) -> Result<OpenDirectory, Errno> {
        let mut names = Vec::new();
        listing.for_each_entry(
            directory.as_fd(),
            |errno| errno,
            |name, _| {
                names.push(name.to_owned());
                if names.len() as u64 > MOST { Err(Errno::OVERFLOW) } else { Ok(()) }
            },
        )?;
        self.shape.directories += 1;
        increment_at(&mut self.shape.depths, depth);
        let mut below = Vec::new();
        for name in names {
            increment_at(&mut self.shape.name_lengths, name.as_bytes().len().saturating_sub(1) / TEN);
            let Ok(status) = stat_entry(directory.as_fd(), &name) else {
                self.shape.left_out += 1;
                continue;
            };
            match type_of(&status) {
                FileType::Directory => below.push(name),
                FileType::Symlink => {
                    self.shape.symlinks += 1;
                    // The size of a link is the length of its target, which is not read.
                    let longest = (PATH_LIMIT - 1) as u64;
                    let length = status.stx_size.clamp(1, longest) as usize;
                    increment_at(&mut self.shape.target_lengths, (length - 1) / TEN);
                }
                FileType::RegularFile => {
                    self.shape.files += 1;
                    let inode = (
                        (u64::from(status.stx_dev_major) << 32) | u64::from(status.stx_dev_minor),
                        status.stx_ino,
                    );
                    if status.stx_nlink > 1 {
                        let names = self.linked.entry(inode).or_insert(0);
                        *names += 1;
                        if *names > 1 {
                            self.shape.hard_links += 1;
                            continue;
                        }
                    } else {
                        increment_at(&mut self.shape.links, 0);
                    }
                    self.count_file(&directory, &name, status.stx_size);
                }
                _ => self.shape.others += 1,
            }
            if self.shape.files > MOST {
                return Err(Errno::OVERFLOW);
            }
        }
        Ok(OpenDirectory { directory, below })
    }

    /// Counts a file, and reads its beginning as far as that tells something.
    fn count_file(&mut self, directory: &OwnedFd, name: &CString, size: u64) {
        self.shape.bytes = self.shape.bytes.saturating_add(size);
        self.sizes.push(size);
        if size == 0 {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(file) = rustix::fs::openat(directory, name, flags, Mode::empty()) else {
            self.shape.left_out += 1;
            return;
        };
        let mut beginning = vec![0; COMPARED.min(usize::try_from(size).unwrap_or(COMPARED))];
        let Ok(read) = read_some(file.as_fd(), &mut beginning) else {
            self.shape.left_out += 1;
            return;
        };
        beginning.truncate(read);
        let mut digest = Xxh3::new();
        digest.update(&beginning);
        // Kept only during the capture and never reported.
        if self.seen.insert((size, digest.digest()), ()).is_some() {
            self.shape.duplicates += 1;
        }
        let sample = &beginning[..beginning.len().min(SAMPLE)];
        if self.sampled < ALL_SAMPLES && !sample.is_empty() {
            self.sampled += sample.len() as u64;
            self.kept += compressed_size(sample).min(sample.len()) as u64;
        }
    }

    fn into_shape(mut self) -> CapturedShape {
        self.sizes.sort_unstable();
        let last = self.sizes.len().saturating_sub(1);
        let at = |hundredth: usize| self.sizes.get(hundredth * last / (QUANTILES - 1)).copied();
        self.shape.sizes = (0..QUANTILES).filter_map(at).collect();
        for names in self.linked.values() {
            increment_at(&mut self.shape.links, names.min(&MOST_LINKS) - 1);
        }
        if self.sampled > 0 {
            self.shape.compressible = 1.0 - self.kept as f64 / self.sampled as f64;
        }
        self.shape
    }
}

/// One more at this place.
fn increment_at(counts: &mut Vec<u64>, place: usize) {
    counts.resize(counts.len().max(place + 1), 0);
    counts[place] += 1;
}

/// Bytes that are left of a sample when a fast compressor is done with it.
fn compressed_size(sample: &[u8]) -> usize {
    use std::io::Write;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    match encoder.write_all(sample).and_then(|()| encoder.finish()) {
        Ok(packed) => packed.len(),
        Err(_) => sample.len(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::capture_shape;

    #[test]
    fn a_folder_with_hostile_names_is_counted_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join(OsStr::from_bytes(b"new\nline \xff \x1b[2J"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a\"quote"), vec![0; 5000]).unwrap();
        std::fs::write(inner.join("the same"), vec![0; 5000]).unwrap();
        std::fs::write(inner.join("empty"), b"").unwrap();
        std::fs::hard_link(inner.join("the same"), inner.join("again")).unwrap();
        symlink("/", inner.join("root")).unwrap();
        symlink(folder.path(), folder.path().join("loop")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, inner.join("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let shape = capture_shape(folder.path()).unwrap();
        assert_eq!((shape.files, shape.directories, shape.symlinks, shape.others), (4, 2, 2, 1));
        assert_eq!((shape.bytes, shape.hard_links, shape.duplicates), (10_000, 1, 1));
        assert_eq!((shape.depths, shape.left_out), (vec![1, 1], 0));
        assert!(shape.compressible > 0.9, "{}", shape.compressible);
        assert_eq!((shape.sizes.len(), shape.sizes[0], shape.sizes[100]), (101, 0, 5000));
        assert_eq!(shape.name_lengths.iter().sum::<u64>(), 8);
        assert_eq!((shape.links.as_slice(), shape.target_lengths.iter().sum::<u64>()), (&[2, 1][..], 2));
        assert!(capture_shape(&folder.path().join("loop")).is_err());
    }
}
