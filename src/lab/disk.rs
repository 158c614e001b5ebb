//! What a lab is given to format: a scratch image made anew for every trial, or a block device the guard cleared.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use crate::host::guard::{Hold, Refusal, Ticket};
use crate::host::image::{self, ImageError};
use crate::host::root::Root;
use crate::journal::{Caution, Facts};

/// A disk for trials.
#[derive(Debug, Clone)]
pub enum Disk {
    /// An unlinked sparse file, made anew for every trial.
    Image {
        /// The folder it lies in, if it had a name.
        folder: PathBuf,
        /// Bytes.
        size: u64,
        /// Bytes that a trial writes into it at most.
        room: u64,
    },
    /// A block device.
    Device {
        /// The permission to write it.
        ticket: Ticket,
        /// Keeps it open, and other runs away, for the length of this one.
        hold: Arc<Hold>,
        /// What a reader of the numbers must know of it.
        cautions: Vec<String>,
        /// Its model, serial number and the like.
        facts: Facts,
    },
}

/// A disk cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The scratch image cannot be made.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The device may not be written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A descriptor could not be copied.
    #[error("cannot open the disk for the trial: {0}")]
    Io(#[from] std::io::Error),
}

impl Disk {
    /// Opens it for one trial: a new image, or the device, discarded, for nobody else.
    pub(super) fn open(&self) -> Result<OwnedFd, DiskError> {
        match self {
            Disk::Image { folder, size, room } => Ok(image::create(folder, *size, *room)?),
            Disk::Device { ticket, .. } => {
                self.check_unused()?;
                let claim = ticket.redeem(&Root::default())?;
                claim.discard()?;
                Ok(claim.file().try_clone()?.into())
            }
        }
    }

    /// Makes sure that nobody uses it: asked before each trial, since an agent in its cell cannot see everybody.
    pub(super) fn check_unused(&self) -> Result<(), DiskError> {
        match self {
            Disk::Image { .. } => Ok(()),
            Disk::Device { hold, .. } => Ok(hold.check_unused(&Root::default())?),
        }
    }

    /// Where further scratch images may lie.
    pub(super) fn scratch_folder(&self) -> Result<PathBuf, DiskError> {
        match self {
            Disk::Image { folder, .. } => Ok(folder.clone()),
            Disk::Device { .. } => Ok(image::scratch_folder(None)?),
        }
    }

    /// The same disk once a trial has written to it: what is on it now is ours.
    #[must_use]
    pub fn after_first_write(self) -> Self {
        match self {
            Disk::Device { ticket, hold, cautions, facts } => {
                Disk::Device { ticket: ticket.after_first_write(), hold, cautions, facts }
            }
            image @ Disk::Image { .. } => image,
        }
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Disk::Image { size, .. } => *size,
            Disk::Device { ticket, .. } => ticket.size,
        }
    }

    /// What it is.
    pub fn facts(&self) -> Facts {
        match self {
            Disk::Image { folder, size, .. } => [
                ("device.kind".to_owned(), "scratch image, sparse, made anew for every trial".to_owned()),
                ("device.folder".to_owned(), folder.display().to_string()),
                ("device.size".to_owned(), size.to_string()),
            ]
            .into(),
            Disk::Device { ticket, facts, .. } => {
                let mut facts = facts.clone();
                facts.insert("device.kind".to_owned(), "block device".to_owned());
                facts.insert("device.path".to_owned(), ticket.path.display().to_string());
                facts.insert("device.size".to_owned(), ticket.size.to_string());
                facts
            }
        }
    }

    /// What a reader of the numbers must know of it.
    pub fn cautions(&self) -> Vec<Caution> {
        let texts = match self {
            Disk::Image { folder, .. } => image::tmpfs_caution(folder).ok().flatten().into_iter().collect(),
            Disk::Device { cautions, .. } => cautions.clone(),
        };
        texts.into_iter().map(|text| Caution { phase: String::new(), text }).collect()
    }
}
