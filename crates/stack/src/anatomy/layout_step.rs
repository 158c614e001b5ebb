//! The hidden step of this program that reads a layout: it takes two open descriptors, limits itself, and writes lines.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::image_reader::ImageReader;
use super::layout::read_layout;
use super::layout_lines::write_layout;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::syscall::own_descriptor;

/// The step of this program that reads a layout.
pub const COMMAND: &str = "image-layout";
/// Bytes of a block's number in the list of written blocks.
const NUMBER: usize = 8;

/// The arguments in order.
#[derive(Debug)]
pub(super) struct LayoutTask {
    pub(super) filesystem: String,
    /// Descriptor of the image, and its length in bytes.
    pub(super) image: i32,
    pub(super) size_bytes: u64,
    /// Descriptor of the numbers of the written blocks, eight little-endian bytes each.
    pub(super) written: i32,
    /// MiB of address space, and seconds of processor time.
    pub(super) memory_mib: u64,
    pub(super) processor_s: u64,
}

impl LayoutTask {
    pub(super) fn to_arguments(&self) -> Vec<String> {
        let numbers = [
            self.image.to_string(),
            self.size_bytes.to_string(),
            self.written.to_string(),
            self.memory_mib.to_string(),
            self.processor_s.to_string(),
        ];
        std::iter::once(self.filesystem.clone()).chain(numbers).collect()
    }

    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<LayoutTask> {
        Some(LayoutTask {
            filesystem: arguments.next()?,
            image: arguments.next()?.parse().ok()?,
            size_bytes: arguments.next()?.parse().ok()?,
            written: arguments.next()?.parse().ok()?,
            memory_mib: arguments.next()?.parse().ok()?,
            processor_s: arguments.next()?.parse().ok()?,
        })
    }

    fn run_task(&self) -> std::io::Result<()> {
        let limit = |resource: Resource, soft: u64, hard: u64| {
            let wanted = Rlimit { current: Some(soft), maximum: Some(hard) };
            setrlimit(resource, wanted).map_err(std::io::Error::from)
        };
        let memory = self.memory_mib.saturating_mul(1 << 20);
        limit(Resource::As, memory, memory)?;
        // SIGXCPU at the first tells the limit from a SIGKILL that somebody else sent.
        limit(Resource::Cpu, self.processor_s, self.processor_s.saturating_add(5))?;
        // It writes to a pipe, and neither a file nor a core.
        limit(Resource::Fsize, 0, 0)?;
        limit(Resource::Core, 0, 0)?;
        let closed = || std::io::Error::other("a descriptor is not open");
        let image = File::from(own_descriptor(self.image).ok_or_else(closed)?);
        let written = read_numbers(&File::from(own_descriptor(self.written).ok_or_else(closed)?))?;
        let image = ImageReader::new(&image, self.size_bytes, &written);
        let layout = read_layout(&self.filesystem, &image);
        let mut output = BufWriter::new(std::io::stdout().lock());
        write_layout(&layout, &mut output)?;
        output.flush()
    }
}

fn read_numbers(file: &File) -> std::io::Result<Vec<u64>> {
    let length = usize::try_from(file.metadata()?.len()).map_err(std::io::Error::other)?;
    let mut bytes = vec![0; length / NUMBER * NUMBER];
    file.read_exact_at(&mut bytes, 0)?;
    let (numbers, _) = bytes.as_chunks::<NUMBER>();
    Ok(numbers.iter().map(|number| u64::from_le_bytes(*number)).collect())
}

/// `fsverdict image-layout`: returns its exit status.
pub fn main(arguments: impl Iterator<Item = String>) -> u8 {
    let Some(task) = LayoutTask::parse(arguments) else {
        print_line("fsverdict: `fsverdict image-layout` is an internal command that only fsverdict starts");
        return 2;
    };
    match task.run_task() {
        Ok(()) => 0,
        Err(error) => {
            print_line(&format!("fsverdict: cannot read the layout of an image: {error}"));
            1
        }
    }
}
