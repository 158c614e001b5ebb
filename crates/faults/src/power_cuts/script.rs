//! Writes a state as a shell script, which builds the image on any machine, mounts it and shows the loss.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzEncoder;

use crate::error::FaultError;
use fsverdict_disk::crash::StateImage;
use fsverdict_disk::device::Store;
use fsverdict_judgement::plan::Candidate;
use fsverdict_lab::lab::LabError;
use fsverdict_stack::filesystem::find_filesystem;
use fsverdict_workload::workload::SequencesRecord;

use super::record::CutRecord;
use super::script_text::{ListingComparison, PIECE, ScriptParts};
use super::smaller::MinimisedState;
use super::{PowerCutting, to_fault_error};

impl PowerCutting<'_> {
    /// The program of a state that was recorded last.
    pub(super) fn write_script(
        &self,
        candidate: &Candidate,
        state: &MinimisedState,
        record: &CutRecord,
        at_ns: u64,
    ) -> Result<String, FaultError> {
        let size = self.plan.models_of(candidate).first().map_or(0, |model| model.size.0);
        let image = tempfile::tempfile().map_err(LabError::from)?;
        let mut store =
            Store::new(image.try_clone().map_err(LabError::from)?, size).map_err(to_fault_error)?;
        let log = self.read_log(candidate, state.name.part)?;
        StateImage::new(log, self.loss_rule_of_first_device(candidate)?)
            .write_state(&mut store, state.name.state)
            .map_err(to_fault_error)?;
        drop(store);
        let (pieces, packed) = pack_image(&image).map_err(LabError::from)?;
        let comments = write_comments(candidate, state, record, at_ns);
        let kind = find_filesystem(&candidate.filesystem)
            .map_or(candidate.filesystem.clone(), |filesystem| filesystem.mount_options(&[]).kind.to_owned());
        let (must, comparison) = self.list_expected(record, state.name.part, at_ns)?;
        let is_of_blocks = state.finding.broken.iter().any(|promise| promise == "allocation");
        let alone = record.promises.sequences.as_ref().filter(|sequences| sequences.work.only.is_some());
        let sequences = alone.filter(|_| is_of_blocks);
        let least = sequences.map(SequencesRecord::least_held).unwrap_or_default();
        let options = candidate.mount.clone();
        let parts = ScriptParts { comments, size, kind, options, must, least, pieces, packed, comparison };
        parts.write_script().map_err(FaultError::Refused)
    }

    /// The expected content, one line per file, and how the script compares it.
    fn list_expected(
        &self,
        record: &CutRecord,
        part: u32,
        at_ns: u64,
    ) -> Result<(Vec<String>, ListingComparison), FaultError> {
        if let Some(sequences) = &record.promises.sequences {
            let is_alone = sequences.work.only.is_some();
            let of_others = (Vec::new(), ListingComparison::AmongOthers);
            return Ok(if is_alone {
                (sequences.list_final_states(), ListingComparison::Exactly)
            } else {
                of_others
            });
        }
        let mut must = Vec::new();
        for folder in &record.promises.folders {
            if let Some(dataset) = self.prepare_dataset(&folder.dataset, part)? {
                must.extend(folder.list_expected(&dataset, at_ns));
            }
        }
        let comparison = if must.is_empty() { ListingComparison::Nothing } else { ListingComparison::OneOf };
        Ok((must, comparison))
    }
}

/// The comments at the beginning of the script.
fn write_comments(
    candidate: &Candidate,
    state: &MinimisedState,
    record: &CutRecord,
    at_ns: u64,
) -> Vec<String> {
    let mut lines = vec![
        format!("{}: {}", candidate.name, state.finding.seen),
        String::new(),
        format!(
            "Power was cut {:.6} s after the start of a modelled device ({}). What had been done on a fresh filesystem:",
            at_ns as f64 / 1e9,
            state.name
        ),
    ];
    lines.extend(state.did.iter().map(|call| format!("    {call}")));
    if record.promises.sequences.is_some() {
        lines.push(
            "each in the folder of its sequence, where the directories A, with the files foo and bar, and B were there and synced."
                .to_owned(),
        );
    }
    match state.lost.as_slice() {
        [] => lines.push("No write was lost that had been completed or was underway.".to_owned()),
        lost => {
            lines.push("Writes that no flush had made durable, and that were lost:".to_owned());
            lines.extend(lost.iter().map(|loss| format!("    {loss}")));
        }
    }
    lines.push(format!("mkfs options: {:?}; mount options: {:?}", candidate.mkfs, candidate.mount));
    lines.push(String::new());
    lines.push(
        "Makes the image; as root mounts a copy of it, too, and compares. Needs dd (of coreutils), gzip, base64, and the kernel's driver. Made by fsverdict crash --script."
            .to_owned(),
    );
    lines
}

/// Where in the image there is something, in pieces, and all of it, compressed, as text.
fn pack_image(image: &File) -> io::Result<(Vec<(u64, u64)>, String)> {
    let length = image.metadata()?.len();
    let (mut pieces, mut held): (Vec<(u64, u64)>, Vec<u8>) = Default::default();
    let mut piece = vec![0; PIECE as usize];
    let mut file = image.try_clone()?;
    let mut at = 0;
    while at < length {
        // Holes are skipped.
        match rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) {
            Ok(data) => at = data / PIECE * PIECE,
            Err(rustix::io::Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        }
        let end = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(at))?.max(at + 1);
        while at < end {
            piece.fill(0);
            let wanted = (length - at).min(PIECE) as usize;
            let room = piece.get_mut(..wanted).unwrap_or_default();
            image.read_exact_at(room, at)?;
            if piece.iter().any(|byte| *byte != 0) {
                let number = at / PIECE;
                match pieces.last_mut() {
                    Some((first, count)) if *first + *count == number => *count += 1,
                    _ => pieces.push((number, 1)),
                }
                held.extend_from_slice(&piece);
            }
            at += PIECE;
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let mut packed = Vec::new();
    GzEncoder::new(held.as_slice(), Compression::best()).read_to_end(&mut packed)?;
    let mut text = String::new();
    for line in STANDARD.encode(&packed).as_bytes().chunks(120) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    Ok((pieces, text))
}
