//! Reports the progress of a kernel on its way into the cache, and runs its trial there.

use std::path::Path;

use rustix::fs::OFlags;

use super::compile::Progress;
use super::error::{KernelBuildError, file_error};
use super::missing_options::MissingOption;
use super::outcome::{KernelTrial, Subject};
use fsverdict_folders::open_own;
use fsverdict_linux::host::foreign::neutralise;

/// Lines of a record that an error shows, and letters of a line.
const LAST_LINES: usize = 10;
const LONGEST_LINE: usize = 200;

/// Follows a kernel on its way into the cache: shows progress and runs the trial.
pub trait Attendant {
    /// How far it is.
    fn report_progress(&mut self, progress: &Progress);

    /// Reports the options of a laboratory kernel that the sources do not know, before anything is compiled.
    fn report_missing_options(&mut self, release: &str, lacking: &[MissingOption]);

    /// Tries a kernel: how it did, and the record of it for people.
    fn try_out(&mut self, subject: Subject<'_>) -> (KernelTrial, String);
}

/// Has a kernel tried. The record of a trial that failed is written to `log`.
pub(super) fn run_kernel_trial(
    log: &Path,
    subject: Subject<'_>,
    attendant: &mut dyn Attendant,
) -> Result<KernelTrial, KernelBuildError> {
    let (trial, record) = attendant.try_out(subject);
    match &trial {
        KernelTrial::Passed(_) => {
            let _ = std::fs::remove_file(log);
        }
        KernelTrial::Failed(_) => {
            let write = |mut file: std::fs::File| std::io::Write::write_all(&mut file, record.as_bytes());
            open_own(log, OFlags::TRUNC).and_then(write).map_err(file_error("write", log))?;
        }
    }
    Ok(trial)
}

/// Returns a trial that passed; for one that failed, an error that names its record and a way out.
pub(super) fn require_passed_trial(
    trial: KernelTrial,
    name: &str,
    log: &Path,
    way_on: &'static str,
) -> Result<KernelTrial, KernelBuildError> {
    match trial {
        KernelTrial::Passed(_) => Ok(trial),
        KernelTrial::Failed(failure) => Err(KernelBuildError::Trial {
            failed: format!("{name} failed its trial: {}: {}", failure.what, failure.reason),
            log: log.to_owned(),
            way_on,
        }),
    }
}

/// Returns the trial of a kernel from elsewhere that passed; for one that failed, an error with the end of its record,
/// since nothing of such a kernel is kept.
pub(super) fn require_passed_import(
    trial: KernelTrial,
    name: &str,
    record: &str,
) -> Result<KernelTrial, KernelBuildError> {
    let KernelTrial::Failed(failure) = trial else { return Ok(trial) };
    let lines: Vec<&str> = record.trim_end().lines().collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
    let shown = |line: &&str| neutralise(line).chars().take(LONGEST_LINE).collect::<String>();
    Err(KernelBuildError::ImportTrial {
        failed: format!("{name} failed its trial: {}: {}", failure.what, failure.reason),
        lines: last.iter().map(shown).collect::<Vec<_>>().join("\n"),
    })
}
