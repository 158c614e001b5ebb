//! Reads the layout of an image in a process of its own: this program in a sandbox that has two descriptors open for reading, no
//! network, no file it could write, and limits of memory and time.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};

use fsverdict_judgement::journal::{CommandRecord, ReadingStopped, StopReason};

use super::image_reader::ImageReader;
use super::layout::{ImageLayout, has_reader};
use super::layout_lines::ReceivedLayout;
use super::layout_step::{COMMAND, LayoutTask};
use fsverdict_folders::path_by_number;
use fsverdict_linux::host::procfs::THIS_PROGRAM;
use fsverdict_linux::sandbox::program::{LineHearer, Program, ProgramError};
use fsverdict_linux::sandbox::{Capabilities, Devices, Sandbox, make_inheritable, possible_isolation};

/// The signals with which resource limits end a process: SIGABRT when an allocation fails (the Rust runtime aborts),
/// SIGXCPU and SIGKILL when the processor time is used up.
const ABORT: i32 = 6;
const PROCESSOR_TIME: i32 = 24;
/// How long the last line of a process that has ended may be under way.
const LAST_LINE: Duration = Duration::from_secs(30);
/// The Rust runtime's message after a failed allocation.
const NO_MEMORY: &str = "memory allocation of";

/// How much a reader may take.
#[derive(Debug, Clone, Copy)]
pub struct LayoutLimits {
    pub memory_mib: u64,
    /// Seconds of processor time.
    pub processor_s: u64,
    /// Seconds on the clock.
    pub wall_s: u64,
}

impl LayoutLimits {
    /// Limits for an image of which this many blocks were written. The readers of sound images stay far below.
    pub fn for_written(blocks: usize) -> LayoutLimits {
        let blocks = blocks as u64;
        let processor_s = 30 + blocks / 16384;
        LayoutLimits { memory_mib: 512 + blocks / 1024, processor_s, wall_s: 4 * processor_s }
    }
}

/// How a layout is read in a process of its own.
#[derive(Debug)]
pub struct LayoutProcess {
    program: String,
    sandbox: Option<Sandbox>,
    limits: LayoutLimits,
}

/// A reader's process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("cannot pass the image to the process that reads its layout: {0}")]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Sandbox(#[from] fsverdict_linux::sandbox::SandboxError),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl LayoutProcess {
    /// This program, in a sandbox.
    pub fn new(limits: LayoutLimits) -> LayoutProcess {
        let mut sandbox = Sandbox::new(possible_isolation(), Vec::<String>::new());
        sandbox.capabilities = Capabilities::Nothing;
        sandbox.devices = Devices::Bare;
        LayoutProcess { program: THIS_PROGRAM.to_owned(), sandbox: Some(sandbox), limits }
    }

    /// Another program without a sandbox: for tests of a misbehaving reader.
    pub fn without_sandbox(program: &str, limits: LayoutLimits) -> LayoutProcess {
        LayoutProcess { program: program.to_owned(), sandbox: None, limits }
    }

    /// Reads the layout of this filesystem. However the process ends, the result says so.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn read_layout(
        &self,
        filesystem: &str,
        image: &File,
        size_bytes: u64,
        written: &[u64],
    ) -> Result<ImageLayout, LayoutError> {
        if !has_reader(filesystem) {
            return Ok(ImageLayout::default());
        }
        let image_file = reopen_to_read(image.as_fd())?;
        let list = reopen_to_read(list_of(written)?.as_fd())?;
        let task = LayoutTask {
            filesystem: filesystem.to_owned(),
            image: make_inheritable(image_file.as_fd())?,
            size_bytes,
            written: make_inheritable(list.as_fd())?,
            memory_mib: self.limits.memory_mib,
            processor_s: self.limits.processor_s,
        };
        let reader = ImageReader::new(image, size_bytes, written);
        let most = reader.describable_blocks() + written.len() as u64;
        let received = Arc::new(Mutex::new(ReceivedLayout::new(reader.device_blocks(), most)));
        let (ended, has_ended) = mpsc::channel();
        let argv = [self.program.clone(), COMMAND.to_owned()].into_iter().chain(task.to_arguments());
        let program = Program::new(argv)
            .with_time_limit(Duration::from_secs(self.limits.wall_s))
            .heard_by(hearer_into(Arc::clone(&received), ended));
        let program = match &self.sandbox {
            Some(sandbox) => {
                let keeps = vec![task.image, task.written];
                program.inside(Sandbox { keeps, ..sandbox.clone() })
            }
            None => program,
        };
        let record = program.run("layout")?;
        let stop = |reason: StopReason| ImageLayout {
            is_known: true,
            stopped: Some(ReadingStopped::without_block(reason)),
            ..ImageLayout::default()
        };
        if let Some(reason) = self.how_it_failed(&record) {
            return Ok(stop(reason));
        }
        drop(program);
        let is_whole = has_ended.recv_timeout(LAST_LINE).unwrap_or(false);
        let layout = received.lock().ok().and_then(|mut received| received.take_layout());
        Ok(layout.filter(|_| is_whole).unwrap_or_else(|| stop(StopReason::InvalidResult)))
    }

    /// Why a process did not end well; `None` where it did.
    fn how_it_failed(&self, record: &CommandRecord) -> Option<StopReason> {
        let signal = record.signal.or(record.exit.filter(|exit| *exit > 128).map(|exit| exit - 128));
        match (signal, record.exit) {
            (Some(ABORT), _) if record.stderr.contains(NO_MEMORY) => {
                Some(StopReason::MemoryLimit { mib: self.limits.memory_mib })
            }
            (Some(PROCESSOR_TIME), _) => {
                Some(StopReason::ProcessorTimeLimit { seconds: self.limits.processor_s })
            }
            (Some(signal), _) => Some(StopReason::KilledBySignal { signal }),
            (None, None) => Some(StopReason::WallTimeLimit { seconds: self.limits.wall_s }),
            (None, Some(0)) => None,
            (None, Some(_)) => Some(StopReason::InvalidResult),
        }
    }
}

/// Takes each line of the process, and says once whether all of them were valid to the last.
fn hearer_into(received: Arc<Mutex<ReceivedLayout>>, ended: mpsc::Sender<bool>) -> LineHearer {
    let failed = Mutex::new(false);
    LineHearer::new(move |line| {
        let (Ok(mut received), Ok(mut failed)) = (received.lock(), failed.lock()) else { return };
        if *failed {
            return;
        }
        match received.add_line(line) {
            Ok(false) => {}
            Ok(true) => drop(ended.send(true)),
            Err(_) => {
                *failed = true;
                let _ = received.take_layout();
                let _ = ended.send(false);
            }
        }
    })
}

/// The same file through a descriptor that cannot write.
fn reopen_to_read(file: std::os::fd::BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    Ok(open(path_by_number(file), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The numbers of blocks in a file without a name.
fn list_of(written: &[u64]) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("written-blocks", MemfdFlags::CLOEXEC)?);
    let bytes: Vec<u8> = written.iter().flat_map(|block| block.to_le_bytes()).collect();
    file.write_all(&bytes)?;
    Ok(file)
}
