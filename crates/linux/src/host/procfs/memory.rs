//! `/proc/meminfo` and `/proc/pressure/io`.

use std::path::Path;

use crate::host::root::{ParserPosition, ReadError, Root};

/// Memory of the machine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    pub total: u64,
    /// Memory that programs can get without swapping.
    pub available: u64,
    /// Cached file data not yet sent to a device, of all filesystems.
    pub dirty: u64,
    /// Cached file data on its way to a device, of all filesystems.
    pub writeback: u64,
}

impl Memory {
    /// Reads a `/proc/meminfo`; `file` is named in errors.
    pub fn parse(text: &str, file: &Path) -> Result<Memory, ReadError> {
        let (mut total, mut available, mut dirty, mut writeback) = (None, None, None, None);
        for (index, line) in text.lines().enumerate() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let wanted = match name {
                "MemTotal" => &mut total,
                "MemAvailable" => &mut available,
                "Dirty" => &mut dirty,
                "Writeback" => &mut writeback,
                _ => continue,
            };
            let place = ParserPosition { file, line: index + 1 };
            let kibibytes: u64 = place.next_number(name, &mut value.split_ascii_whitespace())?;
            *wanted = Some(kibibytes * 1024);
        }
        let missing = |item| ParserPosition { file, line: 0 }.missing(item);
        Ok(Memory {
            total: total.ok_or_else(|| missing("MemTotal"))?,
            available: available.ok_or_else(|| missing("MemAvailable"))?,
            dirty: dirty.ok_or_else(|| missing("Dirty"))?,
            writeback: writeback.ok_or_else(|| missing("Writeback"))?,
        })
    }

    /// Bytes that are not yet safe on some device.
    pub fn unwritten_bytes(&self) -> u64 {
        self.dirty + self.writeback
    }
}

pub fn read_memory(root: &Root) -> Result<Memory, ReadError> {
    Memory::parse(&root.text("proc/meminfo")?, &root.path("proc/meminfo"))
}

/// How many processes the kernel has killed since it started because memory ran out, of the machine or of a control group
/// (`/proc/vmstat`, since Linux 4.13; mm/oom_kill.c counts both).
pub fn oom_kills(root: &Root) -> Option<u64> {
    let text = root.text("proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Microseconds since start in which some task was stalled on I/O, from a `/proc/pressure/io`.
pub fn io_pressure(text: &str, file: &Path) -> Result<u64, ReadError> {
    for (index, line) in text.lines().enumerate() {
        let Some(averages) = line.strip_prefix("some ") else { continue };
        let place = ParserPosition { file, line: index + 1 };
        let total = averages.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="));
        return place.number("the total stall time", total.unwrap_or_default());
    }
    Err(ParserPosition { file, line: 0 }.missing("the line that begins with some"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Memory, io_pressure, read_memory};
    use crate::host::root::{Root, fake_root};

    const MEMINFO: &str = "MemTotal:        2048 kB\nMemFree:          100 kB\nMemAvailable:    1024 kB\nDirty:             12 kB\nWriteback:          3 kB\nWritebackTmp:       9 kB\nHugePages_Total:       0\n";

    #[test]
    fn reads_bytes() {
        let (_folder, root) = fake_root(&[("proc/meminfo", MEMINFO)]);
        let now = read_memory(&root).unwrap();
        assert_eq!(now, Memory { total: 2 << 20, available: 1 << 20, dirty: 12 << 10, writeback: 3 << 10 });
        assert_eq!(now.unwritten_bytes(), 15 << 10);
    }

    #[test]
    fn tells_what_is_missing_or_malformed() {
        let file = Path::new("/proc/meminfo");
        let shown = Memory::parse("MemTotal: 1 kB\n", file).unwrap_err().to_string();
        assert_eq!(shown, "/proc/meminfo: MemAvailable is missing");
        let shown = Memory::parse("MemTotal: 1 kB\nDirty: -3 kB\n", file).unwrap_err().to_string();
        assert_eq!(shown, "/proc/meminfo, line 2: Dirty should be a whole number, but it is \"-3\"");
    }

    #[test]
    fn reads_pressure() {
        let file = Path::new("/proc/pressure/io");
        let text = "some avg10=2.20 avg60=1.90 avg300=1.93 total=14201093\nfull avg10=0.60 avg60=1.34 avg300=1.71 total=13108094\n";
        assert_eq!(io_pressure(text, file).unwrap(), 14_201_093);
        assert!(io_pressure("full total=1\n", file).unwrap_err().to_string().contains("is missing"));
        let shown = io_pressure("some avg10=1\n", file).unwrap_err().to_string();
        assert!(shown.contains("line 1: the total stall time"), "{shown}");
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        let now = read_memory(&root).unwrap();
        assert!(now.total > now.available);
        if let Some(text) = root.optional("proc/pressure/io").unwrap() {
            io_pressure(&text, Path::new("/proc/pressure/io")).unwrap();
        }
    }
}
