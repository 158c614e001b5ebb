//! What a guest is handed: the description of its trial and its disks, and which of the user's folders it must be shown.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::trial::Assignment;
use fsverdict_judgement::plan::Dataset;
use fsverdict_linux::sandbox::SandboxError;

/// The description's disk is a multiple of this; the kernel looks for partition tables that far into a disk.
const DESCRIPTION_SIZE: usize = 64 * 1024;

/// Where a guest and the sandbox within it have mounts of their own.
const COVERED: [&str; 5] = ["/dev", "/proc", "/run", "/sys", "/tmp"];

/// A user's folder, to be shown where it is.
pub(super) fn covered_folder(dataset: &Dataset) -> Option<(PathBuf, PathBuf)> {
    match dataset {
        Dataset::Folder { path, .. } if ["/run", "/dev"].iter().any(|covered| path.starts_with(covered)) => {
            Some((path.clone(), path.clone()))
        }
        _ => None,
    }
}

/// The folders of `PATH` in which a guest finds what is found here, as a `PATH`; nothing where there is none.
pub(super) fn program_folders() -> Option<String> {
    let path = std::env::var("PATH").ok()?;
    let seen = |folder: &&str| {
        let folder = Path::new(folder);
        folder.is_absolute() && !COVERED.iter().any(|covered| folder.starts_with(covered))
    };
    let folders: Vec<&str> = path.split(':').filter(seen).collect();
    (!folders.is_empty()).then(|| folders.join(":"))
}

/// Which of its own disks (`ubd`, from 0) a guest has the datasets on; the one before has the trial's description.
pub(super) const UBD_OF_STAGING: usize = 2;

/// Which of them is the candidate's of this number, from 1.
pub(super) fn ubd_number(number: usize) -> usize {
    if number <= 1 { 0 } else { UBD_OF_STAGING + number - 1 }
}

/// The words for disks in real time: the candidate's, the trial's description, and datasets.
pub(super) fn ubd_disks(disks: &[i32], description: i32, staging: Option<i32>) -> Vec<String> {
    let of_candidate = |(number, disk)| format!("ubd{}=/proc/self/fd/{disk}", ubd_number(number));
    let mut words: Vec<String> = (1..).zip(disks).map(of_candidate).collect();
    words.insert(words.len().min(1), format!("ubd1r=/proc/self/fd/{description}"));
    words.extend(staging.map(|staging| format!("ubd{UBD_OF_STAGING}=/proc/self/fd/{staging}")));
    words
}

/// The trial's description as a disk: JSON and then zeros up to a whole number of sectors.
pub(super) fn describe(assignment: &Assignment) -> Result<OwnedFd, SandboxError> {
    let failed =
        |source: std::io::Error| SandboxError::System { what: "describe the trial to the guest", source };
    let descriptor = rustix::fs::memfd_create("fsverdict-trial", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|errno| failed(errno.into()))?;
    let mut file = std::fs::File::from(descriptor);
    let mut bytes = serde_json::to_vec(assignment).map_err(|error| failed(error.into()))?;
    bytes.resize((bytes.len() + 1).next_multiple_of(DESCRIPTION_SIZE), 0);
    file.write_all(&bytes).map_err(failed)?;
    Ok(file.into())
}
