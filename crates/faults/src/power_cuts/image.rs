//! A state of a recorded candidate as an image, and its log in a form that others read.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use fsverdict_disk::crash::{LogError, StateImage, export_log};
use fsverdict_disk::device::Store;
use fsverdict_folders::{Existing, OutputFile};
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::{Hinted, Reason};
use fsverdict_workload::dataset::{Prepared, prepare_with_names};

use super::several::on_another;
use super::{CutName, PowerCutting, WrittenState, to_fault_error};
use crate::error::FaultError;

impl PowerCutting<'_> {
    /// Writes the image of a recorded state into a new file, for each further device into its own (`IMAGE.device-2`),
    /// and lists its expected content.
    pub fn write_state(
        &self,
        candidate: &Candidate,
        name: CutName,
        image: &Path,
    ) -> Result<WrittenState, FaultError> {
        let CutName { part, state } = name;
        let (log, record) = (self.read_log(candidate, part)?, self.read_record(candidate, part)?);
        let requests = log.requests().len();
        if state.cut > requests {
            return Err(to_fault_error(format!(
                "{} made {requests} requests, and {state} is after {}",
                candidate.name, state.cut
            )));
        }
        let at_ns = record.moment_ns(&log, state);
        let mut outputs = Vec::new();
        for (device, model) in (1..).zip(self.plan.models_of(candidate)) {
            let (own, there) = match device {
                1 => (self.read_log(candidate, part)?, state),
                _ => {
                    let device_log = self.log_of(candidate, part, device)?;
                    let there = on_another(state, at_ns, device, &device_log);
                    (device_log, there)
                }
            };
            let path = of_device(image, device);
            let output = new_output(&path)?;
            let failed = |error: &dyn std::fmt::Display| unwritten_image(&path, error);
            let file = open_file(&output, &path)?;
            let mut store = Store::new(file, model.size.0).map_err(|error| failed(&error))?;
            let rule = self.loss_rule_of_device(candidate, device)?;
            StateImage::new(own, rule).write_state(&mut store, there).map_err(|error| failed(&error))?;
            drop(store);
            outputs.push((path, output));
        }
        let images = finish_all(outputs)?;
        let mut must = Vec::new();
        for folder in &record.promises.folders {
            if let Some(dataset) = self.prepare_dataset(&folder.dataset, part)? {
                must.extend(folder.describe_at(&dataset, at_ns));
            }
        }
        must.extend(record.promises.describe_at(at_ns));
        Ok(WrittenState { at_s: at_ns as f64 / 1e9, images, must })
    }

    /// A dataset as a part's trial had it; none of which the plan knows nothing.
    pub(super) fn prepare_dataset(&self, name: &str, part: u32) -> Result<Option<Prepared>, FaultError> {
        let datasets = self.datasets();
        let Some(spec) = datasets.get(name) else { return Ok(None) };
        let seed = self.plan.protocol.seed;
        let names = self.drawn_device(part).map_or(seed, |drawn| drawn.names);
        prepare_with_names(name, spec, seed, names).map(Some).map_err(to_fault_error)
    }

    /// Writes the log of a part of a recorded candidate in the form of dm-log-writes into a file that is not there yet, of each
    /// further device into one of its own (`PATH.device-2`); the files.
    pub fn export_log(
        &self,
        candidate: &Candidate,
        part: u32,
        path: &Path,
    ) -> Result<Vec<PathBuf>, FaultError> {
        let of_device = |device: usize| {
            let log = self.log_of(candidate, part, device)?;
            let file = of_device(path, device);
            let output = new_output(&file)?;
            let mut out = BufWriter::new(output.file());
            export_log(&log, &mut out).map_err(|error| match error {
                LogError::Io(error) => image_write_error(&file, &error),
                damaged => to_fault_error(damaged),
            })?;
            out.flush().map_err(|error| image_write_error(&file, &error))?;
            drop(out);
            Ok((file, output))
        };
        finish_all((1..=self.device_count()).map(of_device).collect::<Result<_, FaultError>>()?)
    }

    /// The parts of a candidate of which there is a log, in order.
    pub fn recorded_parts(&self, candidate: &Candidate) -> Vec<u32> {
        (0..self.parts()).filter(|part| self.log_file(candidate, *part, 1).is_there()).collect()
    }
}

/// The file of the device of this number beside that of the first.
fn of_device(first: &Path, device: usize) -> PathBuf {
    if device == 1 { first.to_owned() } else { PathBuf::from(format!("{}.device-{device}", first.display())) }
}

/// An image or a log to be written; an existing file is not overwritten, since it may still be needed.
pub(crate) fn new_output(path: &Path) -> Result<OutputFile, FaultError> {
    OutputFile::create(path, Existing::Keep).map_err(|error| image_write_error(path, &error))
}

/// The file of an image, for a store that owns one.
pub(crate) fn open_file(output: &OutputFile, path: &Path) -> Result<File, FaultError> {
    output.file().try_clone().map_err(|error| image_write_error(path, &error))
}

/// Gives the files their names, all of them being whole; the paths.
pub(crate) fn finish_all(outputs: Vec<(PathBuf, OutputFile)>) -> Result<Vec<PathBuf>, FaultError> {
    let finish = |(path, output): (PathBuf, OutputFile)| {
        output.finish().map_err(|error| image_write_error(&path, &error))?;
        Ok(path)
    };
    outputs.into_iter().map(finish).collect()
}

/// An image could not be written to its end.
pub(crate) fn unwritten_image(path: &Path, error: &dyn std::fmt::Display) -> FaultError {
    let hint =
        "the image needs as much space as its candidate wrote: make room there, or name another folder";
    FaultError::Refused(Reason::new(format!("cannot make {}: {error}", path.display()), hint))
}

fn image_write_error(path: &Path, error: &std::io::Error) -> FaultError {
    let hint = error.hint().unwrap_or_else(|| match error.kind() {
        ErrorKind::AlreadyExists => "remove it, or name another file".to_owned(),
        _ => "name a file in a writable folder".to_owned(),
    });
    FaultError::Refused(Reason::new(format!("cannot make {}: {error}", path.display()), hint))
}
