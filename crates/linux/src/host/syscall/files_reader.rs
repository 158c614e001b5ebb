//! Reads many small files at once with io_uring(7): instead of six system calls for each file, four for dozens of
//! files, and all their requests reach the device together. In a guest each system call costs its host two stops.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

use io_uring::{IoUring, opcode, squeue, types};
use rustix::fs::{AtFlags, FileType, OFlags, Statx, StatxFlags};

/// How many files are read at once.
pub const AT_ONCE: usize = 64;

/// Files that may be longer, in bytes, are left to ordinary reads.
const LONGEST: usize = 64 << 10;

const _: () = assert!(size_of::<Statx>() == 256);

/// Reads the small files of a folder, [`AT_ONCE`] at a time.
pub struct FilesReader {
    /// None where io_uring is forbidden, or broke: then no file is read.
    ring: Option<IoUring>,
    places: Vec<Place>,
}

/// One file on its way. The kernel writes to `status` and into `buffer` while a call is under way, in which neither is touched.
struct Place {
    status: MaybeUninit<Statx>,
    buffer: Vec<u8>,
    file: Option<OwnedFd>,
    /// The result of its last call: a negative number is an errno.
    answer: i32,
    /// How much of the buffer is the file; none where it was not read whole.
    length: Option<usize>,
}

impl Default for FilesReader {
    fn default() -> Self {
        let place = |_| Place {
            status: MaybeUninit::zeroed(),
            buffer: Vec::new(),
            file: None,
            answer: 0,
            length: None,
        };
        FilesReader { ring: IoUring::new(AT_ONCE as u32).ok(), places: (0..AT_ONCE).map(place).collect() }
    }
}

impl FilesReader {
    /// Reads the files of the first [`AT_ONCE`] of these names, each with its maximum length in bytes.
    pub fn read_files(&mut self, folder: BorrowedFd<'_>, names: &[(&CStr, u64)]) {
        for place in &mut self.places {
            place.length = None;
        }
        if self.read_at_once(folder, names).is_err() {
            self.give_up();
        }
    }

    /// The file at this position of the last list: its status and content. `None` if it is not a regular file, is too
    /// long, or could not be read: open it to learn the reason.
    #[must_use]
    pub fn file_at(&self, at: usize) -> Option<(&Statx, &[u8])> {
        let place = self.places.get(at)?;
        let content = place.buffer.get(..place.length?)?;
        Some((place.status(), content))
    }

    fn read_at_once(&mut self, folder: BorrowedFd<'_>, names: &[(&CStr, u64)]) -> io::Result<()> {
        let folder = types::Fd(folder.as_raw_fd());
        let names = names.get(..names.len().min(AT_ONCE)).unwrap_or_default();
        let short = |(at, (_, most)): (usize, &(&CStr, u64))| (*most <= LONGEST as u64).then_some(at);
        let mut pending: Vec<usize> = names.iter().enumerate().filter_map(short).collect();
        self.submit_all(&pending, |at, place| {
            let status = place.status.as_mut_ptr().cast();
            let (flags, mask) = (AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS);
            let look = opcode::Statx::new(folder, names[at].0.as_ptr(), status);
            look.flags(flags.bits() as i32).mask(mask.bits()).build()
        })?;
        pending.retain(|at| {
            let place = &self.places[*at];
            let is_file = || FileType::from_raw_mode(place.status().stx_mode.into()) == FileType::RegularFile;
            place.answer == 0 && is_file() && place.status().stx_size <= names[*at].1
        });
        self.submit_all(&pending, |at, _| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            opcode::OpenAt::new(folder, names[at].0.as_ptr()).flags(flags.bits() as i32).build()
        })?;
        for at in &pending {
            let place = &mut self.places[*at];
            // SAFETY: the kernel opened it for this call, and it has no other owner.
            place.file = (place.answer >= 0).then(|| unsafe { OwnedFd::from_raw_fd(place.answer) });
            // One byte more than the expected size: a longer file does not match its status.
            place.buffer.resize(place.status().stx_size as usize + 1, 0);
        }
        pending.retain(|at| self.places[*at].file.is_some());
        self.submit_all(&pending, |_, place| {
            let file = place.file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            let (buffer, length) = (place.buffer.as_mut_ptr(), place.buffer.len() as u32);
            opcode::Read::new(types::Fd(file), buffer, length).build()
        })?;
        for at in &pending {
            let place = &mut self.places[*at];
            place.length =
                usize::try_from(place.answer).ok().filter(|count| *count as u64 == place.status().stx_size);
        }
        self.submit_all(&pending, |_, place| {
            let file = place.file.take().map_or(-1, IntoRawFd::into_raw_fd);
            opcode::Close::new(types::Fd(file)).build()
        })
    }

    /// Makes one call for each of these places at once, and waits until all have ended.
    fn submit_all(
        &mut self,
        places: &[usize],
        entry: impl Fn(usize, &mut Place) -> squeue::Entry,
    ) -> io::Result<()> {
        let Some(ring) = &mut self.ring else { return Err(io::ErrorKind::Unsupported.into()) };
        for at in places {
            let entry = entry(*at, &mut self.places[*at]).user_data(*at as u64);
            // SAFETY: names are read before the submission returns. Statuses and buffers are on the heap, belong to
            // this reader, are not accessed before all calls have ended, and are leaked if that cannot be waited for.
            unsafe { ring.submission().push(&entry) }.map_err(|_| io::ErrorKind::ResourceBusy)?;
        }
        let mut underway = places.len();
        while underway > 0 {
            match ring.submit_and_wait(underway) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for done in ring.completion() {
                underway -= 1;
                let place = usize::try_from(done.user_data()).ok().and_then(|at| self.places.get_mut(at));
                if let Some(place) = place {
                    place.answer = done.result();
                }
            }
        }
        Ok(())
    }

    /// The kernel may still write there: the memory is given up rather than used by somebody else.
    fn give_up(&mut self) {
        if self.ring.take().is_some() {
            std::mem::take(&mut self.places).leak();
        }
    }
}

impl Place {
    fn status(&self) -> &Statx {
        // SAFETY: it began as zeroes, and the kernel writes whole ones; its numbers may have any value.
        unsafe { self.status.assume_init_ref() }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{CStr, CString};
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::{AT_ONCE, FilesReader};

    #[test]
    fn small_files_are_read_whole_and_what_is_none_is_left() {
        let mut reader = FilesReader::default();
        if reader.ring.is_none() {
            // Past libtest, in the words that scripts/test-tiers counts.
            let line = concat!("NOT RUN ", file!(), ":", line!(), ": io_uring is forbidden here\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("empty"), b"").unwrap();
        std::fs::write(at("short"), b"0123456789").unwrap();
        std::fs::write(at("large"), vec![7; 300_000]).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("short", at("link")).unwrap();
        let folder = std::fs::File::open(place.path()).unwrap();
        let names: [(&CStr, u64); 9] = [
            (c"short", 10),
            (c"gone", 10),
            (c"empty", 0),
            (c"folder", 10_000),
            (c"link", 10),
            (c"short", 9),
            (c"large", 400_000),
            (c"large", 10_000),
            (c"short", 50),
        ];
        reader.read_files(folder.as_fd(), &names);
        let found: Vec<_> = (0..names.len()).map(|at| reader.file_at(at).map(|(_, bytes)| bytes)).collect();
        let short: Option<&[u8]> = Some(b"0123456789");
        assert_eq!(found, [short, None, Some(&[]), None, None, None, None, None, short]);
        assert_eq!(reader.file_at(0).unwrap().0.stx_size, 10);
        // Another list forgets the first, and nothing of it stays open.
        reader.read_files(folder.as_fd(), &[(c"gone", 10)]);
        assert!(reader.file_at(0).is_none() && reader.file_at(2).is_none() && reader.file_at(8).is_none());
        let many: Vec<CString> = (0..2 * AT_ONCE).map(|n| CString::new(format!("n{n}")).unwrap()).collect();
        many.iter().for_each(|name| std::fs::write(at(name.to_str().unwrap()), name.to_bytes()).unwrap());
        for names in many.chunks(AT_ONCE) {
            let list: Vec<(&CStr, u64)> = names.iter().map(|name| (name.as_c_str(), 8)).collect();
            reader.read_files(folder.as_fd(), &list);
            for (at, name) in names.iter().enumerate() {
                assert_eq!(reader.file_at(at).unwrap().1, name.to_bytes());
            }
        }
        let open = |name: &CStr| {
            let path = place.path().join(name.to_str().unwrap());
            let ours = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            ours.filter_map(|entry| std::fs::read_link(entry.path()).ok()).filter(|to| *to == path).count()
        };
        assert_eq!(many.iter().map(|name| open(name)).sum::<usize>(), 0);
    }

    #[test]
    fn a_reader_without_a_ring_reads_nothing_and_says_so() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("short"), b"0123456789").unwrap();
        let folder = std::fs::File::open(place.path()).unwrap();
        let mut reader = FilesReader::default();
        reader.give_up();
        reader.read_files(folder.as_fd(), &[(c"short", 10)]);
        assert!(reader.file_at(0).is_none());
    }
}
