//! Reads the kernel's messages about a device during an operation (`/dev/kmsg`, kernel
//! Documentation/ABI/testing/dev-kmsg).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use super::foreign::neutralise;

/// More lines than this are not kept: the last ones say most.
const MOST_LINES: usize = 6;

/// The bits of a priority that are its level, and the last level that is more than a notice (syslog(3)).
const LEVEL: u32 = 7;
const WARNING: u32 = 4;

/// The kernel's log from a given moment on.
#[derive(Debug)]
pub struct KernelLog {
    /// None where this user may not read it.
    file: Option<File>,
    /// How many records were read.
    records: usize,
}

impl KernelLog {
    /// Starts at the current end of the log.
    #[allow(clippy::cast_possible_wrap, reason = "flags of a few bits")]
    pub fn open() -> Self {
        let flags = OFlags::NONBLOCK.bits() as i32;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg").ok();
        if file.as_mut().is_some_and(|file| file.seek(SeekFrom::End(0)).is_err()) {
            file = None;
        }
        KernelLog { file, records: 0 }
    }

    pub fn skip_to_end(&mut self) {
        if let Some(file) = &mut self.file {
            let _ = file.seek(SeekFrom::End(0));
        }
    }

    /// How many records were read, of any level.
    pub fn count_records(&self) -> usize {
        self.records
    }

    /// Everything said since then, with its level (syslog(3)).
    pub fn read_all(&mut self) -> Vec<LogLine> {
        self.read_records().iter().filter_map(|record| LogLine::parse_record(record)).collect()
    }

    /// The last lines since then that hold the first of these words that any holds, in either case.
    pub fn read_matching(&mut self, words: &[String]) -> Vec<String> {
        let lines = self.read_rest();
        let about = |word: &String| -> Vec<String> {
            let word = word.to_lowercase();
            let matching =
                lines.iter().filter(|line| !word.is_empty() && line.to_lowercase().contains(&word));
            matching.cloned().collect()
        };
        let mut chosen = words.iter().map(about).find(|found| !found.is_empty()).unwrap_or_default();
        chosen.drain(..chosen.len().saturating_sub(MOST_LINES));
        chosen
    }

    fn read_rest(&mut self) -> Vec<String> {
        self.read_records().iter().filter_map(|record| parse_message(record)).collect()
    }

    /// One read returns one record; overwritten records are skipped.
    fn read_records(&mut self) -> Vec<String> {
        let Some(file) = &mut self.file else { return Vec::new() };
        let mut lines = Vec::new();
        let mut record = [0; 8192];
        loop {
            match file.read(&mut record) {
                Ok(length @ 1..) => {
                    self.records += 1;
                    lines.push(String::from_utf8_lossy(&record[..length]).into_owned());
                }
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
                Ok(_) | Err(_) => return lines,
            }
        }
    }
}

/// A line of the kernel's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    level: u32,
    pub text: String,
}

impl LogLine {
    fn parse_record(record: &str) -> Option<LogLine> {
        let (head, text) = record.split_once(';')?;
        let priority: u32 = head.split(',').next()?.parse().ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| LogLine { level: priority & LEVEL, text: neutralise(line) })
    }

    /// Whether it is a warning, or worse.
    pub fn is_warning(&self) -> bool {
        self.level <= WARNING
    }

    /// Whether it is an error, or worse.
    pub fn is_error(&self) -> bool {
        self.level < WARNING
    }
}

/// Whether a line reports a failed read or write of the device of this name. The block layer (`print_req_error` in
/// block/blk-mq.c) and the buffer cache (`buffer_io_error` in fs/buffer.c) report them; both are rate limited for the
/// whole machine, so reports of filesystems about the same requests count too: `iomap_finish_ioend` in fs/iomap,
/// `ext4_end_bio` in fs/ext4/page-io.c and `xfs_buf_ioerror_alert` in fs/xfs/xfs_buf.c. A failed discard loses no data,
/// and many disks fail it.
pub fn is_device_error(line: &str, name: &str) -> bool {
    let of_block_layer = [format!(" error, dev {name}, "), format!("I/O error on dev {name}, ")]
        .iter()
        .any(|words| line.contains(words));
    let of_filesystem = line.starts_with(&format!("{name}: writeback error on inode "))
        || line.contains(&format!("(device {name}): ext4_end_bio:")) && line.contains("I/O error")
        || line.contains(&format!("XFS ({name}): ")) && line.contains(" I/O error");
    let harmless = ["operation not supported error", "(DISCARD)", "(WRITE_ZEROES)", "(SECURE_ERASE)"];
    (of_block_layer || of_filesystem) && !harmless.iter().any(|word| line.contains(word))
}

/// The message of a record: `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;MESSAGE`, and continuation lines about the device.
/// Notices and lower levels (such as a mount) explain no failure.
fn parse_message(record: &str) -> Option<String> {
    LogLine::parse_record(record).filter(|line| line.level <= WARNING).map(|line| line.text)
}

#[cfg(test)]
mod tests {
    use super::{KernelLog, is_device_error, parse_message};

    #[test]
    fn an_error_of_the_device_is_told_from_what_loses_nothing() {
        let of_request = "I/O error, dev sda, sector 8 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2";
        for (line, name, is) in [
            (of_request, "sda", true),
            (of_request, "sda1", false),
            (of_request, "sd", false),
            ("blk_update_request: I/O error, dev sda, sector 8", "sda", true),
            ("critical medium error, dev sda, sector 8 op 0x0:(READ) flags 0x0", "sda", true),
            ("critical space allocation error, dev loop0, sector 8 op 0x1:(WRITE)", "loop0", true),
            ("Buffer I/O error on dev sda1, logical block 0, lost async page write", "sda1", true),
            ("critical target error, dev sda, sector 8 op 0x3:(DISCARD) flags 0x800", "sda", false),
            ("operation not supported error, dev sda, sector 8 op 0x9:(WRITE_ZEROES)", "sda", false),
            ("EXT4-fs error (device sda): ext4_lookup:1: inode #2", "sda", false),
            ("loop4: writeback error on inode 136, offset 0, sector 9952", "loop4", true),
            ("loop40: writeback error on inode 136, offset 0, sector 9952", "loop4", false),
            ("EXT4-fs warning (device sda): ext4_end_bio:342: I/O error 10 writing to inode 12", "sda", true),
            (
                "XFS (sda): metadata I/O error in \"xfs_buf_ioend+0x1\" at daddr 0x8 len 8 error 5",
                "sda",
                true,
            ),
            ("XFS (sda): log I/O error -5", "sda", true),
            ("XFS (sda): Corruption detected. Unmount and run xfs_repair", "sda", false),
        ] {
            assert_eq!(is_device_error(line, name), is, "{line}");
        }
    }

    #[test]
    fn a_record_holds_a_message_and_more() {
        assert_eq!(parse_message("6,340,5140901,-;EXT4-fs (loop0): mounted filesystem"), None);
        let record = "3,339,5140900,-;EXT4-fs (loop0): Unrecognized mount option \"x;y\"\n SUBSYSTEM=block\n";
        assert_eq!(parse_message(record).unwrap(), "EXT4-fs (loop0): Unrecognized mount option \"x;y\"");
        assert_eq!(parse_message("no record"), None);
    }

    #[test]
    fn a_log_that_is_read_to_its_end_ends() {
        let mut log = KernelLog::open();
        log.skip_to_end();
        assert!(log.read_matching(&["surely in no line".to_owned()]).len() <= super::MOST_LINES);
    }
}
