//! Runs sequences in batches: prepares and syncs their files, makes their calls one after the other, compares the result with
//! the model, and removes the files.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::dataset::{IoFailure, Listing, mix_bits, open_directory, open_directory_below, open_path};
use fsverdict_judgement::journal::{SequenceBatch, SequenceCalls};
use fsverdict_judgement::plan::Operation;
use fsverdict_linux::host::syscall::bring_to_rest;

use super::calls::{is_refusal, make_call, set_attribute};
use super::contents::fill_pattern;
use super::enumerate::{CallSequence, SequenceBounds};
use super::judge_sequence::{SequenceProgress, judge_sequence, sequence_history};
use super::model::{ATTRIBUTE, BAR, FOO, SequenceModel};
use super::place::SequencePlace;
use super::step::SequenceCall;
use super::{BATCH, FOLDER, folder_of};
use crate::workload::latency::{LatencyRecorder, to_recorded_calls};
use crate::workload::save::now_ns;
use crate::workload::{OperationResult, WorkError};

/// A part of the sequences within the bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceWork {
    pub bounds: SequenceBounds,
    /// The number of the part, from 0.
    pub part: u32,
    /// Runs only this sequence of the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<OneSequence>,
}

/// A single sequence, or some of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneSequence {
    pub number: u32,
    /// The positions of its selected calls, from 0.
    pub calls: Vec<u32>,
}

/// The calls that were made, and the time of each guarantee.
#[derive(Debug)]
pub struct SequencesDone {
    pub done: OperationResult,
    pub batches: Vec<SequenceBatch>,
}

/// The number of sequences in a part: their log is replayed in a second.
const PART: usize = 2048;

impl SequenceWork {
    /// The number of parts.
    pub fn count_parts(bounds: SequenceBounds) -> u32 {
        bounds.count_sequences().div_ceil(PART).max(1) as u32
    }

    /// The sequences of the part, with the number of the first.
    pub(super) fn sequences(&self) -> (u32, Vec<CallSequence>) {
        if let Some(OneSequence { number, calls }) = &self.only {
            let whole = self.bounds.all_sequences().into_iter().nth(*number as usize);
            let numbered = |whole: CallSequence| CallSequence {
                calls: calls.iter().filter_map(|call| whole.calls.get(*call as usize).copied()).collect(),
            };
            return (*number, whole.map(numbered).into_iter().collect());
        }
        let first = self.part as usize * PART;
        let sequences: Vec<CallSequence> =
            self.bounds.all_sequences().into_iter().skip(first).take(PART).collect();
        (first as u32, sequences)
    }
}

/// The seed for the contents of a sequence.
pub(super) fn sequence_identity(bounds: SequenceBounds, number: u32) -> u64 {
    mix_bits(bounds.seed ^ mix_bits(u64::from(number))) << 8
}

/// Runs a part's sequences below this mount point. If the filesystem refuses a call, its sequence ends there. A batch
/// may start from a frozen filesystem only if no one else uses it: in a guest.
pub fn carry_out(mount: &Path, work: &SequenceWork, may_rest: bool) -> Result<SequencesDone, WorkError> {
    let failed = |call: &'static str, errno| io_error(call, FOLDER.to_owned(), errno);
    let mount = open_path(mount).map_err(|errno| failed("open the mount point", errno))?;
    let folder = open_directory_below(mount.as_fd(), Path::new(FOLDER), true)
        .map_err(|errno| failed("make the folder of sequences", errno))?;
    let (first, sequences) = work.sequences();
    let mut latency = LatencyRecorder::new("sequence")?;
    let (mut batches, mut files) = (Vec::new(), 0);
    for (batch, sequences) in sequences.chunks(BATCH).enumerate() {
        let first = first + (batch * BATCH) as u32;
        let batch = SequencesOfBatch { folder: &folder, bounds: work.bounds, first, sequences, may_rest };
        let batch = batch.carry_out(&mut latency)?;
        files += batch.calls.len() as u64;
        batches.push(batch);
    }
    let calls = to_recorded_calls(&[&latency]);
    let result = OperationResult {
        logical_bytes: 0,
        read_besides: 0,
        files,
        held: None,
        calls,
        main_call: "sequence",
    };
    Ok(SequencesDone { done: result, batches })
}

fn io_error(call: &'static str, path: String, errno: Errno) -> WorkError {
    WorkError::Io { operation: Operation::Sequences.name(), failure: IoFailure::new(call, path, errno) }
}

struct SequencesOfBatch<'a> {
    folder: &'a OwnedFd,
    bounds: SequenceBounds,
    first: u32,
    sequences: &'a [CallSequence],
    may_rest: bool,
}

impl SequencesOfBatch<'_> {
    fn carry_out(&self, latency: &mut LatencyRecorder) -> Result<SequenceBatch, WorkError> {
        let mut roots = Vec::with_capacity(self.sequences.len());
        for number in self.numbers() {
            roots.push(
                self.prepare_folder(number).map_err(|errno| io_error("prepare", folder_of(number), errno))?,
            );
        }
        rustix::fs::syncfs(self.folder).map_err(|errno| io_error("sync", FOLDER.to_owned(), errno))?;
        // The journal entries of earlier batches would be replayed in each state of this batch, hundreds of useless
        // requests.
        if self.may_rest
            && let Err(errno) = bring_to_rest(self.folder)
            && !is_refusal(errno)
        {
            return Err(io_error("bring to rest", FOLDER.to_owned(), errno));
        }
        let mut batch =
            SequenceBatch { first: self.first, ready_ns: now_ns(), until_ns: 0, calls: Vec::new() };
        for ((number, sequence), root) in self.numbers().zip(self.sequences).zip(&roots) {
            let started = Instant::now();
            batch.calls.push(self.run_sequence(number, sequence, root)?);
            latency.record_since(started);
        }
        let mut listing = Listing::new();
        for (((number, sequence), root), calls) in
            self.numbers().zip(self.sequences).zip(&roots).zip(&batch.calls)
        {
            self.compare_with_model(number, sequence, root, calls, &mut listing)?;
        }
        batch.until_ns = now_ns();
        drop(roots);
        for number in self.numbers() {
            let name = folder_of(number);
            remove_folder(self.folder, &name, &mut listing)
                .map_err(|errno| io_error("remove", name, errno))?;
        }
        Ok(batch)
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.first..self.first + self.sequences.len() as u32
    }

    /// The files that every sequence starts with.
    fn prepare_folder(&self, number: u32) -> Result<OwnedFd, Errno> {
        let name = folder_of(number);
        let directory = Mode::from_raw_mode(0o755);
        rustix::fs::mkdirat(self.folder, &name, directory)?;
        let root = open_directory_below(self.folder.as_fd(), Path::new(&name), false)?;
        for at in [SequencePlace::A, SequencePlace::B] {
            rustix::fs::mkdirat(&root, at.path(), directory)?;
        }
        // The contents match the first and the second write of the model.
        let identity = sequence_identity(self.bounds, number);
        for (at, length, with) in [(SequencePlace::AFoo, FOO, 1), (SequencePlace::ABar, BAR, 2)] {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&root, at.path(), flags, Mode::from_raw_mode(0o644))?;
            let mut bytes = vec![0; length as usize];
            fill_pattern(&mut bytes, identity ^ with, 0);
            let mut written = 0;
            while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
                written += rustix::io::write(&file, rest)?;
            }
        }
        match set_attribute(root.as_fd(), SequencePlace::AFoo, ATTRIBUTE) {
            Err(errno) if !is_refusal(errno) => Err(errno),
            _ => Ok(root),
        }
    }

    fn run_sequence(
        &self,
        number: u32,
        sequence: &CallSequence,
        root: &OwnedFd,
    ) -> Result<SequenceCalls, WorkError> {
        let mut model = SequenceModel::with_prepared_files(sequence_identity(self.bounds, number));
        let mut calls = SequenceCalls { began_ns: now_ns(), done_ns: Vec::new(), refused: false };
        let mut open = None;
        for one in &sequence.calls {
            match make_call(root.as_fd(), *one, &model, &mut open) {
                Ok(()) => calls.done_ns.push(now_ns()),
                Err(errno) if is_refusal(errno) => {
                    calls.refused = true;
                    break;
                }
                Err(errno) => return Err(io_error("do", format!("{one} of sequence {number}"), errno)),
            }
            if let SequenceCall::Step(step) = one {
                model.apply_step(*step);
            }
        }
        Ok(calls)
    }

    /// Compares the state before any power cut with the model, which detects errors of the model or of the filesystem.
    fn compare_with_model(
        &self,
        number: u32,
        sequence: &CallSequence,
        root: &OwnedFd,
        calls: &SequenceCalls,
        listing: &mut Listing,
    ) -> Result<(), WorkError> {
        let progress = SequenceProgress { is_synced: true, ..progress_at(sequence, calls, u64::MAX) };
        let identity = sequence_identity(self.bounds, number);
        let history = sequence_history(sequence, identity, progress);
        let mut errors = Vec::new();
        // A directory that was opened before names were made need not list them (btrfs does not).
        let root = open_directory_below(root.as_fd(), Path::new(""), false)
            .map_err(|errno| io_error("open", folder_of(number), errno))?;
        let broken = judge_sequence(&history, identity, root.as_fd(), listing, &mut errors);
        // Blocks are counted once they are written.
        let broken = broken.into_iter().find(|(promise, _)| *promise != "allocation");
        let first_fault = broken.map(|(_, seen)| seen).or(errors.into_iter().next());
        first_fault.map_or(Ok(()), |saw| {
            let expected = describe_calls(sequence, calls.done_ns.len());
            Err(WorkError::Miscounted {
                operation: Operation::Sequences.name(),
                at: folder_of(number),
                saw,
                expected: format!("what is left by: {expected}"),
            })
        })
    }
}

/// The progress of a sequence at this nanosecond.
pub(super) fn progress_at(sequence: &CallSequence, calls: &SequenceCalls, now_ns: u64) -> SequenceProgress {
    let returned = calls.done_ns.iter().filter(|done| **done <= now_ns).count();
    let begun = if calls.began_ns <= now_ns { (returned + 1).min(sequence.calls.len()) } else { 0 };
    SequenceProgress {
        returned,
        begun,
        is_synced: false,
        refused: calls.refused.then_some(calls.done_ns.len()),
    }
}

/// The first calls of a sequence in words.
pub(super) fn describe_calls(sequence: &CallSequence, calls: usize) -> String {
    let call_names: Vec<String> = sequence.calls.iter().take(calls).map(ToString::to_string).collect();
    call_names.join("; ")
}

/// Removes a folder with its content, without following links.
pub(super) fn remove_folder(folder: &OwnedFd, name: &str, listing: &mut Listing) -> Result<(), Errno> {
    let root = open_directory_below(folder.as_fd(), Path::new(name), false)?;
    empty_directory(&root, listing, 0)?;
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

fn empty_directory(directory: &OwnedFd, listing: &mut Listing, depth: u32) -> Result<(), Errno> {
    let mut names = Vec::new();
    listing.for_each_entry(
        directory.as_fd(),
        |errno| errno,
        |name, kind| {
            names.push((name.to_owned(), kind));
            Ok(())
        },
    )?;
    for (name, _) in names {
        match rustix::fs::unlinkat(directory, &name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) if depth < 8 => {
                empty_directory(&open_directory(directory.as_fd(), &name)?, listing, depth + 1)?;
                rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
            }
            other => other?,
        }
    }
    Ok(())
}
