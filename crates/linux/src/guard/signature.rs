//! Recognises the content of a device: filesystems, partition tables, LUKS, LVM, md, swap, or unknown data.
//!
//! libblkid knows the marks of everything Linux can hold, so `wipefs` and `blkid` (util-linux) are asked, both only
//! to look. They cannot know raw data; a sample of the device is read for that and digested, so that a later
//! change is noticed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3;

use crate::host::identity::{DeviceIdentity, DeviceNameKind};
use crate::sandbox::program::{Program, ProgramError, require_success};
use fsverdict_judgement::journal::CommandRecord;
use fsverdict_text::Hinted;

const EDGE: u64 = 1 << 20;
const PAGE: u64 = 4096;
const PAGES_BETWEEN: u64 = 254;
/// A tool that takes longer is stuck on a broken device.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of an answer is kept: more than any device with marks can fill.
const ANSWER: usize = 1 << 20;

/// A signature found on a device.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Signature {
    /// libblkid's name for it (`ext4`, `crypto_LUKS`, `LVM2_member`, `linux_raid_member`, `swap`, `gpt`, `dos` …).
    #[serde(rename = "type")]
    pub kind: String,
    /// `filesystem`, `partition-table`, `raid`, `crypto` or `other`.
    pub usage: Option<String>,
    pub label: Option<String>,
    pub uuid: Option<String>,
}

impl Signature {
    /// For people: `ext4 "backup" (uuid 0f1e…)`.
    pub(super) fn describe(&self) -> String {
        let description = match (self.usage.as_deref(), self.kind.as_str()) {
            (Some("partition-table"), kind) => format!("{kind} partition table"),
            (_, kind) => kind.to_owned(),
        };
        let label = self.label.as_deref().map(|label| format!(" \"{label}\"")).unwrap_or_default();
        let uuid = self.uuid.as_deref().map(|uuid| format!(" (uuid {uuid})")).unwrap_or_default();
        format!("{description}{label}{uuid}")
    }
}

/// All signatures and data found on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceContents {
    /// The marks, in the order of their place.
    pub signatures: Vec<Signature>,
    /// The value of every byte, where a sample (both ends and pages evenly between) holds nothing but zeros, or nothing
    /// but ones, and there is no mark.
    pub uniform: Option<u8>,
    /// Digest of the size, the marks and the sample, 16 hexadecimal digits.
    pub digest: String,
}

impl DeviceContents {
    /// The identity that the content gives the device: labels and UUIDs.
    pub(super) fn found_names(&self) -> DeviceIdentity {
        let mut identity = DeviceIdentity::default();
        for signature in &self.signatures {
            let kind = match signature.usage.as_deref() {
                Some("partition-table") => DeviceNameKind::TableUuid,
                _ => DeviceNameKind::FilesystemUuid,
            };
            identity.add_if_some(kind, signature.uuid.clone());
        }
        identity.add_name(DeviceNameKind::Contents, &format!("contents-{}", self.digest));
        identity
    }
}

/// Reasons why the content of a device could not be determined.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    #[error(transparent)]
    Tool(#[from] ProgramError),
    #[error("cannot parse the output of `{command}`: {reason}")]
    Unclear { command: String, reason: String },
    #[error("it could not be read: {0}")]
    Unreadable(#[from] io::Error),
}

impl Hinted for SignatureError {
    fn hint(&self) -> Option<String> {
        match self {
            SignatureError::Tool(ProgramError::Missing { program }) => {
                Some(format!("install util-linux, which contains `{program}`"))
            }
            SignatureError::Unreadable(_) => {
                Some("a device that cannot be read may be broken; see `dmesg`".to_owned())
            }
            SignatureError::Tool(_) | SignatureError::Unclear { .. } => None,
        }
    }
}

/// Determines the content of an open device (or image file) of `size` bytes. Reads only.
///
/// # Errors
/// When a tool is missing or fails, or the device cannot be read; never taken for "nothing there".
pub(super) fn read_contents(device: &File, size: u64) -> Result<DeviceContents, SignatureError> {
    let mut signatures = read_signatures(device.as_fd())?;
    if signatures.iter().any(|mark| mark.usage.as_deref() == Some("partition-table") && mark.uuid.is_none()) {
        let table = table_uuid(device.as_fd())?;
        for mark in signatures.iter_mut().filter(|mark| mark.usage.as_deref() == Some("partition-table")) {
            mark.uuid.clone_from(&table);
        }
    }
    let (uniform, sample) = sample_content(device, size)?;
    let uniform = uniform.filter(|_| signatures.is_empty());
    let mut hasher = Xxh3::new();
    hasher.update(&size.to_le_bytes());
    for signature in &signatures {
        hasher.update(signature.describe().as_bytes());
        hasher.update(&[0]);
    }
    hasher.update(&sample.to_le_bytes());
    Ok(DeviceContents { signatures, uniform, digest: format!("{:016x}", hasher.digest()) })
}

#[derive(Deserialize)]
struct WipefsAnswer {
    #[serde(default)]
    signatures: Vec<Signature>,
}

fn read_signatures(device: BorrowedFd<'_>) -> Result<Vec<Signature>, SignatureError> {
    // Without --all or --offset, wipefs only lists; --no-act is there so that no slip can make it act.
    let arguments = ["wipefs", "--no-act", "--json", "--output", "OFFSET,TYPE,USAGE,UUID,LABEL"];
    let record = require_success(run_probe(&arguments, device)?)?;
    parse_wipefs(record.stdout.as_bytes()).map_err(|error| SignatureError::Unclear {
        command: record.argv.join(" "),
        reason: error.to_string(),
    })
}

/// wipefs says nothing at all, not even `{}`, in some versions when there is nothing.
fn parse_wipefs(answer: &[u8]) -> Result<Vec<Signature>, serde_json::Error> {
    if answer.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let answer: WipefsAnswer = serde_json::from_slice(answer)?;
    let mut signatures: Vec<Signature> = Vec::new();
    for mut signature in answer.signatures {
        for text in [&mut signature.usage, &mut signature.label, &mut signature.uuid] {
            text.take_if(|text| text.is_empty());
        }
        // Backup copies (GPT's second header, btrfs' mirrors) are the same thing once more.
        if !signatures.contains(&signature) {
            signatures.push(signature);
        }
    }
    Ok(signatures)
}

fn table_uuid(device: BorrowedFd<'_>) -> Result<Option<String>, SignatureError> {
    let record = run_probe(&["blkid", "--probe", "--output", "export"], device)?;
    // 2: nothing found; 8: several things at once. Both leave the table without a UUID, no more.
    let record = if matches!(record.exit, Some(2 | 8)) { record } else { require_success(record)? };
    Ok(record.stdout.lines().find_map(|line| line.strip_prefix("PTUUID=")).map(str::to_owned))
}

fn run_probe(arguments: &[&str], device: BorrowedFd<'_>) -> Result<CommandRecord, SignatureError> {
    // The tool reads through our descriptor, so that it examines the open device even if the path has changed.
    let ourselves = std::fs::read_link("/proc/self")?;
    let path = format!("/proc/{}/fd/{}", ourselves.display(), device.as_raw_fd());
    let argv = arguments.iter().copied().chain([path.as_str()]);
    Ok(Program::new(argv).with_time_limit(PATIENCE).with_output_limit(ANSWER).run("examine the device")?)
}

/// The value of all bytes of the sample, if it is all zeros or all ones; and its digest.
fn sample_content(device: &File, size: u64) -> io::Result<(Option<u8>, u64)> {
    // Writes through another path to the same bytes must be visible, so this device's cache must not be used. Failed
    // advice is no error: then the kernel keeps the cache coherent.
    let _ = rustix::fs::fadvise(device, 0, None, rustix::fs::Advice::DontNeed);
    let mut hasher = Xxh3::new();
    let mut values_seen = [false; 256];
    let mut buffer = vec![0; EDGE as usize];
    let mut take = |start: u64, length: u64| -> io::Result<()> {
        let part = &mut buffer[..length.min(EDGE) as usize];
        device.read_exact_at(part, start)?;
        hasher.update(part);
        for byte in part.iter() {
            values_seen[usize::from(*byte)] = true;
        }
        Ok(())
    };
    if size <= 2 * EDGE + PAGES_BETWEEN * PAGE {
        let mut start = 0;
        while start < size {
            take(start, EDGE.min(size - start))?;
            start += EDGE;
        }
    } else {
        take(0, EDGE)?;
        let stride = (size - 2 * EDGE) / PAGES_BETWEEN;
        for page in 0..PAGES_BETWEEN {
            take((EDGE + page * stride) / PAGE * PAGE, PAGE)?;
        }
        take(size - EDGE, EDGE)?;
    }
    let mut values = (0..=u8::MAX).filter(|value| values_seen[usize::from(*value)]);
    let uniform = match (values.next(), values.next()) {
        (Some(value @ (0 | u8::MAX)), None) => Some(value),
        _ => None,
    };
    Ok((uniform, hasher.digest()))
}

#[cfg(test)]
mod tests {
    use super::{Signature, SignatureError, parse_wipefs, read_contents};
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    fn image(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn a_blank_image_is_blank_and_a_single_byte_anywhere_sampled_is_seen() {
        let size = 300 << 20;
        let file = image(size);
        let contents = read_contents(&file, size).unwrap();
        assert!(contents.uniform == Some(0) && contents.signatures.is_empty());
        for place in [0, 511, (1 << 20) - 1, size - 1] {
            file.write_all_at(b"x", place).unwrap();
            let marked = read_contents(&file, size).unwrap();
            assert!(marked.uniform.is_none(), "a byte at {place}");
            assert_ne!(marked.digest, contents.digest);
            file.write_all_at(&[0], place).unwrap();
        }
        assert_eq!(read_contents(&file, size).unwrap(), contents);
    }

    #[test]
    fn a_filesystem_in_an_image_is_named_with_label_and_uuid() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        File::create(&path).unwrap().set_len(8 << 20).unwrap();
        let uuid = "0c2f6b3e-5d0f-4f0b-9a39-6f1d2f3a4b5c";
        let status = Command::new("/usr/sbin/mkfs.ext4")
            .args(["-q", "-L", "backup", "-U", uuid])
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success());
        let contents = read_contents(&File::open(&path).unwrap(), 8 << 20).unwrap();
        assert_eq!(contents.signatures.len(), 1);
        assert_eq!(contents.signatures[0].describe(), format!("ext4 \"backup\" (uuid {uuid})"));
        assert!(contents.found_names().accepts(uuid));
        assert_eq!(contents.found_names().preferred(), Some(uuid));
    }

    #[test]
    fn a_partition_table_brings_its_own_uuid() {
        let size = 8 << 20;
        let file = image(size);
        crate::guard::fake::write_partition_table(&file, 0xfeed_beef, 2048, 8192);
        let contents = read_contents(&file, size).unwrap();
        assert_eq!(contents.signatures[0].describe(), "dos partition table (uuid feedbeef)");
        assert!(contents.found_names().accepts("feedbeef"));
    }

    /// Four uberblocks make a label of ZFS for libblkid (libblkid/src/superblocks/zfs.c).
    #[test]
    fn a_member_of_a_pool_is_named() {
        let size = 80 << 20;
        let file = image(size);
        for number in 0..4_u64 {
            let fields = [0x00ba_b10c, 5000, 4 + number, 1, 1_700_000_000];
            let uberblock: Vec<u8> = fields.into_iter().flat_map(u64::to_le_bytes).collect();
            file.write_all_at(&uberblock, (128 << 10) + (number << 10)).unwrap();
        }
        let contents = read_contents(&file, size).unwrap();
        assert!(contents.uniform.is_none());
        assert!(
            contents.signatures.iter().any(|signature| signature.kind == "zfs_member"),
            "{:?}",
            contents.signatures
        );
    }

    #[test]
    fn answers_of_wipefs_are_read_strictly() {
        assert_eq!(parse_wipefs(b"").unwrap(), []);
        assert_eq!(parse_wipefs(b"{\"signatures\": [\n\n]}").unwrap(), []);
        let twice = br#"{"signatures": [
            {"offset":"0x10040", "type":"btrfs", "usage":"filesystem", "uuid":"u-1", "label":null},
            {"offset":"0x4010040", "type":"btrfs", "usage":"filesystem", "uuid":"u-1", "label":null}]}"#;
        let btrfs = Signature {
            kind: "btrfs".to_owned(),
            usage: Some("filesystem".to_owned()),
            label: None,
            uuid: Some("u-1".to_owned()),
        };
        assert_eq!(parse_wipefs(twice).unwrap(), [btrfs]);
        assert!(parse_wipefs(b"wipefs: cannot").is_err());
        assert!(parse_wipefs(br#"{"signatures": [{"offset": "0x0"}]}"#).is_err());
    }

    #[test]
    fn a_device_shorter_than_it_says_is_an_error_not_blank() {
        let error = read_contents(&image(4096), 8192).unwrap_err();
        assert!(matches!(error, SignatureError::Unreadable(_)), "{error}");
    }
}
