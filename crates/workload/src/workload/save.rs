//! `directory.save` and `directory.replace`: each file of a directory is rewritten, with or without a guarantee that
//! its content survives a power cut.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::dataset::{Body, Content, TreeSource};
use fsverdict_judgement::journal::Save;

use super::latency::{LatencyRecorder, to_recorded_calls};
use super::{OperationResult, WorkError, Workplace};

/// The suffix of a file's temporary name while its new content is written.
pub(super) const BESIDE: &[u8] = b".new";

/// Writes every file under another name and renames it over the old one; a careful program waits for the content to be durable
/// before that, and for the name after it (fsync(2): a new name in a directory needs an fsync of the directory). A careless one does so
/// for every `sync_every`th alone, if at all: beside it another program is careful.
pub(crate) fn save_files(site: &mut Workplace<'_>, careful: bool) -> Result<OperationResult, WorkError> {
    let target = site.open_target()?;
    let generation = site.known_entry().generation + 1;
    let mut latency = LatencyRecorder::new("save")?;
    let (mut saves, mut bytes) = (Vec::new(), 0);
    let staged = site.open_staged()?;
    let TreeSource::Generated { content, .. } = site.source(staged.as_ref(), generation)? else {
        return Err(site.not_written_error());
    };
    let tree = site.expected_tree()?;
    let every = u64::from(site.sync_every);
    for (number, entry) in (0_u32..).zip(&tree.entries) {
        let careful = careful || every > 0 && (u64::from(number) + 1).is_multiple_of(every);
        let name = tree.name_at(entry.name);
        let saving = Saving { directory: target.as_fd(), name, careful };
        let body = Body { identity: entry.what, generation, size: entry.size };
        let (started, began_ns) = (Instant::now(), now_ns());
        saving.save_file(content, &body).map_err(|errno| site.io_failure("save a file in", errno))?;
        saves.push(Save { file: number, generation, began_ns, saved_ns: now_ns(), careful });
        latency.record_since(started);
        bytes += entry.size;
        std::thread::sleep(site.pause);
    }
    let files = saves.len() as u64;
    site.ledger.saves = saves;
    site.note_overwritten();
    Ok(OperationResult {
        logical_bytes: bytes,
        files,
        held: None,
        read_besides: 0,
        calls: to_recorded_calls(&[&latency]),
        main_call: "save",
    })
}

/// On the clock that the device keeps in simulated time.
pub(super) fn now_ns() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

struct Saving<'a> {
    directory: BorrowedFd<'a>,
    name: &'a CStr,
    careful: bool,
}

impl Saving<'_> {
    fn save_file(&self, content: &Content, body: &Body) -> Result<(), Errno> {
        let beside = CString::new([self.name.to_bytes(), BESIDE].concat()).map_err(|_| Errno::INVAL)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.directory, &beside, flags, Mode::from_raw_mode(0o644))?;
        content.write_all(file.as_fd(), body)?;
        if self.careful {
            rustix::fs::fsync(&file)?;
        }
        drop(file);
        rustix::fs::renameat(self.directory, &beside, self.directory, self.name)?;
        if self.careful { rustix::fs::fsync(self.directory) } else { Ok(()) }
    }
}
