//! Reports the progress of a kernel on its way into the cache, and runs its trial there.

use std::path::Path;

use rustix::fs::OFlags;

use super::compile::Progress;
use super::error::{KernelBuildError, file_error};
use super::lacks::MissingOption;
use super::outcome::{KernelTrial, Subject};
use fsverdict_linux::host::beneath::open_own;

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
