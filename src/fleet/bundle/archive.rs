//! Writes and reads the bundle's file: a compressed tar archive with a plan and a journal in one folder, which tar(1)
//! unpacks into the folder of a run. Reading it writes no files and follows no path that the archive contains.

use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use rustix::fs::{CWD, OFlags};
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::study::{LONGEST_PLAN, PLAN_FILE};
use fsverdict_folders::{Links, open_regular};
use fsverdict_judgement::journal::{FILE_NAME, JournalError, Record, Run};
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{Hinted, Reason};

use super::BundleError;

/// The maximum size of a journal in bytes. A bundle may come from an untrusted source, and a few kilobytes can unpack to
/// terabytes.
const LONGEST_JOURNAL: u64 = 1 << 30;
/// The number of bytes to which every bundle may unpack, and the number of further bytes for each byte of the bundle.
/// Journals are compressed to about a tenth.
const UNPACKED: u64 = 16 << 20;
const UNPACKED_PER_BYTE: u64 = 64;

/// The maximum size of the journal in a bundle of this many bytes.
fn longest_journal(size: u64) -> u64 {
    LONGEST_JOURNAL.min(UNPACKED.saturating_add(UNPACKED_PER_BYTE.saturating_mul(size)))
}

/// The archive of a plan and its journal, in a folder of this name.
pub(super) fn pack(name: &str, plan: &Plan, records: &[Record]) -> Result<Vec<u8>, BundleError> {
    let plan = serde_json::to_vec_pretty(plan).map_err(BundleError::Name)?;
    let mut journal = Vec::new();
    for record in records {
        serde_json::to_writer(&mut journal, record).map_err(BundleError::Name)?;
        journal.push(b'\n');
    }
    let pack = || -> std::io::Result<Vec<u8>> {
        let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        for (file, content) in [(PLAN_FILE, &plan), (FILE_NAME, &journal)] {
            let mut header = Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, Path::new(name).join(file), content.as_slice())?;
        }
        archive.into_inner()?.finish()
    };
    let packed = pack().map_err(BundleError::Pack)?;
    if plan.len() as u64 > LONGEST_PLAN || journal.len() as u64 > longest_journal(packed.len() as u64) {
        return Err(BundleError::TooLarge);
    }
    Ok(packed)
}

pub fn open_bundle(path: &Path) -> Result<(Plan, Run), BundleError> {
    let io = |error: std::io::Error| BundleError::NotAPack {
        path: path.to_owned(),
        reason: Reason::plain(error.to_string()),
    };
    let file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    read_archive(path, BufReader::new(file), size)
}

/// Reads a bundle from its bytes; errors name this path.
pub fn read_bundle(path: &Path, bytes: &[u8]) -> Result<(Plan, Run), BundleError> {
    read_archive(path, bytes, bytes.len() as u64)
}

/// Reads a bundle of this many bytes; errors name this path.
fn read_archive(path: &Path, bytes: impl BufRead, size: u64) -> Result<(Plan, Run), BundleError> {
    let not = |reason: Reason| BundleError::NotAPack { path: path.to_owned(), reason };
    let wrong = |reason: String| not(Reason::plain(reason));
    let io = |error: std::io::Error| wrong(error.to_string());
    let longest_journal = longest_journal(size);
    let longest = LONGEST_PLAN + longest_journal + (1 << 20);
    let mut archive = Archive::new(GzDecoder::new(bytes).take(longest));
    // Raw entries: otherwise names that are longer than a header would be read into memory without a limit.
    let mut entries = archive.entries().map_err(io)?.raw(true);
    let mut next = |name: &str, longest: u64| {
        let entry = entries.next().ok_or_else(|| wrong(format!("it ends before its {name}")))?.map_err(io)?;
        check_entry(&entry, name, longest).map_err(wrong)?;
        Ok::<_, BundleError>(entry)
    };
    let mut text = Vec::new();
    next(PLAN_FILE, LONGEST_PLAN)?.read_to_end(&mut text).map_err(io)?;
    let plan: Plan =
        serde_json::from_slice(&text).map_err(|error| wrong(format!("its {PLAN_FILE}: {error}")))?;
    let journal = BufReader::with_capacity(1 << 17, next(FILE_NAME, longest_journal)?);
    let run = Run::read_from(&plan, &path.join(FILE_NAME), journal).map_err(|error| match error {
        later @ JournalError::TooNew { .. } => later.into(),
        other => not(other.reason()),
    })?;
    if run.torn {
        return Err(wrong("its journal was cut short".to_owned()));
    }
    // Reads to the end, which holds the checksum.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(io)?;
    Ok((plan, run))
}

/// Checks that an entry is the expected file, directly in a folder; the error describes the entry.
fn check_entry(entry: &Entry<'_, impl Read>, name: &str, longest: u64) -> Result<(), String> {
    let path = entry.path().map_err(|error| error.to_string())?;
    let parts: Vec<Component<'_>> = path.components().collect();
    let shown = path.display().to_string();
    let shown: String = shown.chars().filter(|c| !c.is_control()).take(200).collect();
    match parts.as_slice() {
        [Component::Normal(_), Component::Normal(file)] if *file == name => {}
        _ => return Err(format!("it holds `{shown}` where `FOLDER/{name}` is to be")),
    }
    if entry.header().entry_type() != EntryType::Regular {
        return Err(format!("`{shown}` in it is not a file"));
    }
    if entry.size() > longest {
        return Err(format!(
            "`{shown}` in it is larger than the {} MiB that a bundle of this size may hold",
            longest >> 20
        ));
    }
    Ok(())
}
