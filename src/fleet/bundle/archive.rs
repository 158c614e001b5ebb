//! The file: a compressed tar archive with a plan and a journal in one folder, which tar(1) unpacks into the folder of a run. It is
//! read as it comes, and nothing of it is ever written anywhere: no path in it, whatever it says, is followed.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rustix::fs::{CWD, OFlags};
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::study::{LONGEST_PLAN, PLAN_FILE};
use fsverdict_judgement::journal::{FILE_NAME, JournalError, Record, Run};
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::output_file::{Existing, OutputFile};
use fsverdict_text::{Hinted, Links, Reason, open_regular};

use super::BundleError;

/// A plan, and a journal, is no longer than this, in bytes: a bundle may come from anybody, and a few kilobytes can unpack to
/// terabytes.
const LONGEST_JOURNAL: u64 = 1 << 30;
/// Bytes that any bundle may unpack to, and how many more for each of its own. Journals are compressed to about a tenth.
const UNPACKED: u64 = 16 << 20;
const UNPACKED_PER_BYTE: u64 = 64;

/// How many bytes the journal in a bundle of this many bytes may have.
fn longest_journal(size: u64) -> u64 {
    LONGEST_JOURNAL.min(UNPACKED.saturating_add(UNPACKED_PER_BYTE.saturating_mul(size)))
}

/// Writes a new archive; its bytes.
pub(super) fn write(path: &Path, name: &str, plan: &Plan, records: &[Record]) -> Result<u64, BundleError> {
    let failed = |source: std::io::Error| BundleError::Write { path: path.to_owned(), source };
    let plan = serde_json::to_vec_pretty(plan).map_err(BundleError::Name)?;
    let mut journal = Vec::new();
    for record in records {
        serde_json::to_writer(&mut journal, record).map_err(BundleError::Name)?;
        journal.push(b'\n');
    }
    if plan.len() as u64 > LONGEST_PLAN || journal.len() as u64 > LONGEST_JOURNAL {
        let source =
            std::io::Error::new(std::io::ErrorKind::FileTooLarge, "no bundle of this size would be read");
        return Err(failed(source));
    }
    let write = || -> std::io::Result<u64> {
        let output = OutputFile::create(path, Existing::Keep)?;
        let mut archive = Builder::new(GzEncoder::new(BufWriter::new(output.file()), Compression::best()));
        for (file, content) in [(PLAN_FILE, &plan), (FILE_NAME, &journal)] {
            let mut header = Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, Path::new(name).join(file), content.as_slice())?;
        }
        archive.into_inner()?.finish()?.flush()?;
        let size = output.file().metadata()?.len();
        if journal.len() as u64 > longest_journal(size) {
            let what = "a journal that is compressed so far would not be read again";
            return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, what));
        }
        output.finish()?;
        Ok(size)
    };
    write().map_err(failed)
}

pub fn open(path: &Path) -> Result<(Plan, Run), BundleError> {
    let not = |reason: Reason| BundleError::NotAPack { path: path.to_owned(), reason };
    let wrong = |reason: String| not(Reason::plain(reason));
    let io = |error: std::io::Error| wrong(error.to_string());
    let file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow).map_err(io)?;
    let longest_journal = longest_journal(file.metadata().map_err(io)?.len());
    let longest = LONGEST_PLAN + longest_journal + (1 << 20);
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(file)).take(longest));
    // As they are: else names longer than a header would be read into memory, however long.
    let mut entries = archive.entries().map_err(io)?.raw(true);
    let mut next = |name: &str, longest: u64| {
        let entry = entries.next().ok_or_else(|| wrong(format!("it ends before its {name}")))?.map_err(io)?;
        fitting(&entry, name, longest).map_err(wrong)?;
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
    // To the end, where the checksum is.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(io)?;
    Ok((plan, run))
}

/// Whether an entry is the file that is expected, in a folder; else what it is.
fn fitting(entry: &Entry<'_, impl Read>, name: &str, longest: u64) -> Result<(), String> {
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
