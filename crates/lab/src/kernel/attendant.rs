//! Who sees to a kernel on its way into the cache, and tries it there.

use std::path::Path;

use rustix::fs::OFlags;

use super::compile::Progress;
use super::error::{KernelBuildError, file};
use super::lacks::Lack;
use super::outcome::{KernelTrial, Subject};
use fsverdict_linux::host::beneath::open_own;

/// Who sees to a kernel on its way into the cache.
pub trait Attendant {
    /// How far it is.
    fn hear(&mut self, progress: &Progress);

    /// What the sources lack of what a laboratory kernel has: told before anything is compiled.
    fn lacks(&mut self, release: &str, lacking: &[Lack]);

    /// Tries a kernel: how it did, and the record of it for people.
    fn try_out(&mut self, subject: Subject<'_>) -> (KernelTrial, String);
}

/// Has a kernel tried. The record of a trial that failed is written to `log`.
pub(super) fn tried(
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
            open_own(log, OFlags::TRUNC).and_then(write).map_err(file("write", log))?;
        }
    }
    Ok(trial)
}

/// A trial that passed; an error of one that failed, with where its record is and what to do.
pub(super) fn passed(
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
