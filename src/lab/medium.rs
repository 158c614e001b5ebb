//! What is under a filesystem under test: a scratch image made anew for every trial, or a block device the guard cleared.
//! It says its size, what it is and what a reader must know of it, and how it is attached; a lab says which ways it takes.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::device::trace::TraceFile;
use crate::host::guard::{HeldLease, LeaseTicket, Refusal};
use crate::host::image::{self, ImageError};
use crate::host::root::Root;
use crate::journal::{Caution, Facts, TrialId};
use crate::plan::DeviceSource;
use crate::reason::Hinted;

const IN_FOLDERS: &str = "in folders nothing is made, mounted or checked, and what their devices were asked for and how much space is \
    taken cannot be told from what others do there; durable is when syncfs returned, which waits for others' data there, too";

/// What must be known of a folder that lies on one of these.
const PECULIAR: [(&str, &str); 2] = [
    // fs/fuse/inode.c, fuse_sync_fs: only virtiofs passes it on.
    (
        ", on fuse",
        "syncfs ends at the program that serves a FUSE filesystem: what is called durable may still be on its way",
    ),
    (", on tmpfs", "a folder on tmpfs lies in memory: its times are those of memory"),
];

/// What is under a filesystem under test.
#[derive(Debug, Clone)]
pub enum Medium {
    /// An unlinked sparse file, made anew for every trial.
    Image {
        /// The folder it lies in, if it had a name.
        folder: PathBuf,
        /// Bytes.
        size: u64,
        /// Bytes that a trial writes into it at most.
        room: u64,
    },
    /// A modelled device, served by a process of ours; what is written lies in an unlinked file, made anew for every trial.
    Modelled {
        /// The model's name; of several, all of them.
        model: String,
        /// Bytes.
        size: u64,
        /// The folder the file lies in, if it had a name.
        folder: PathBuf,
        /// The folder of the run that keeps the traces of its trials, if they are kept.
        traces: Option<PathBuf>,
    },
    /// None of its own: a folder of each candidate, in which a trial has one of its own.
    Folders {
        /// Where they are, and on what.
        facts: Facts,
    },
    Device {
        ticket: LeaseTicket,
        /// Keeps it open, and other runs away, for the length of this one.
        hold: Arc<HeldLease>,
        /// What a reader of the numbers must know of it.
        cautions: Vec<String>,
        /// Its model, serial number and the like.
        facts: Facts,
    },
}

#[derive(Debug)]
pub(super) enum Attachment {
    /// An open file, to be used as a disk.
    File(OwnedFd),
    /// A block device, by the permission to write it, which is checked again right before the first write.
    Device(Box<LeaseTicket>),
    /// By a process that serves it, and is started for it.
    Modelled,
    /// Not at all: the candidate names a folder.
    Folder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    File,
    Device,
    /// As a socket, on which a process of ours serves it.
    Socket,
    /// Not at all: work is done in a folder of this machine's.
    Folder,
}

/// What a lab lacks that cannot attach it so.
impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Way::File => "scratch images",
            Way::Device => "devices of this machine",
            Way::Socket => "modelled devices",
            Way::Folder => "folders of this machine",
        })
    }
}

impl Hinted for Way {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Way::File => "name a device: --device PATH",
            Way::Device => "name a scratch image: --device image:SIZE",
            Way::Socket => "take `--lab uml`, which has them; or name another device: --device image:SIZE",
            Way::Folder => "take `--lab native`, which has them",
        };
        Some(hint.to_owned())
    }
}

impl Way {
    /// How the medium a plan asks for is attached.
    pub fn of(source: &DeviceSource) -> Self {
        match source {
            DeviceSource::Image(_) => Way::File,
            DeviceSource::Path(_) => Way::Device,
            DeviceSource::Folders => Way::Folder,
            DeviceSource::Model { .. } => Way::Socket,
        }
    }
}

impl Attachment {
    /// For a kernel that is given an open file as its disk: a block device is checked and discarded first.
    pub(super) fn open(self) -> Result<OwnedFd, MediumError> {
        match self {
            Attachment::File(file) => Ok(file),
            Attachment::Modelled | Attachment::Folder => {
                Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into())
            }
            Attachment::Device(ticket) => {
                let claim = ticket.redeem(&Root::default())?;
                claim.discard()?;
                Ok(claim.file().try_clone()?.into())
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum MediumError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("cannot open the disk for the trial: {0}")]
    Io(#[from] std::io::Error),
}

impl Hinted for MediumError {
    fn hint(&self) -> Option<String> {
        match self {
            MediumError::Image(error) => error.hint(),
            MediumError::Refused(refusal) => refusal.hint(),
            MediumError::Io(_) => None,
        }
    }
}

impl Medium {
    pub(super) fn attach(&self) -> Result<Attachment, MediumError> {
        match self {
            Medium::Image { folder, size, room } => {
                Ok(Attachment::File(image::create(folder, *size, *room)?))
            }
            Medium::Modelled { .. } => Ok(Attachment::Modelled),
            Medium::Folders { .. } => Ok(Attachment::Folder),
            // That nobody uses it is asked here, before each trial: an agent in its sandbox cannot see everybody.
            Medium::Device { ticket, hold, .. } => {
                hold.check_unused(&Root::default())?;
                Ok(Attachment::Device(Box::new(ticket.clone())))
            }
        }
    }

    /// Whether a candidate had what it was to be tried on: others may have filled the disk that a scratch image lies on
    /// meanwhile, or taken the device away, which says nothing about a candidate that failed for it.
    pub fn is_there(&self) -> Result<(), MediumError> {
        match self {
            Medium::Image { folder, size, room } => Ok(image::look(Some(folder), *size, *room)?),
            Medium::Device { hold, .. } => Ok(hold.check(&Root::default()).map(drop)?),
            Medium::Modelled { .. } | Medium::Folders { .. } => Ok(()),
        }
    }

    /// What results on it stand on, to follow what the lab says of itself.
    pub fn fidelity(&self) -> &'static str {
        match self {
            Medium::Image { .. } => {
                "on a scratch image: what a filesystem costs, not what your disk does with it"
            }
            Medium::Modelled { .. } => "on a modelled device: its own seconds, not those of a drive you have",
            Medium::Device { ticket, .. } if ticket.is_loop() => {
                "on a loop device over a file: what a filesystem costs, not what a disk does with it"
            }
            Medium::Device { .. } => "on a real device",
            Medium::Folders { .. } => {
                "in folders as they are: what lies below them, and who else uses it, counts too"
            }
        }
    }

    /// The same medium, with the traces of a modelled device in the folder of this run.
    pub fn with_traces_in(mut self, run: &Path) -> Self {
        if let Medium::Modelled { traces, .. } = &mut self {
            *traces = Some(run.to_owned());
        }
        self
    }

    /// An empty file for what a trial writes to a modelled device.
    pub(super) fn store(&self) -> Result<OwnedFd, MediumError> {
        Ok(image::create_store(&self.scratch_folder()?)?)
    }

    /// The file for a trial's trace, made anew; none where the device is not modelled.
    pub(super) fn trace(&self, trial: &TrialId) -> Result<Option<OwnedFd>, MediumError> {
        let Medium::Modelled { traces: Some(run), .. } = self else { return Ok(None) };
        let TrialId { block, candidate, attempt } = trial;
        Ok(Some(TraceFile::create(run, candidate, *block, *attempt)?.into()))
    }

    /// Where a trial's trace lies, if it is kept.
    pub(super) fn trace_path(&self, trial: &TrialId) -> Option<PathBuf> {
        let Medium::Modelled { traces: Some(run), .. } = self else { return None };
        Some(TraceFile::of(run, &trial.candidate, trial.block, trial.attempt).path)
    }

    /// Where further scratch images may lie.
    pub(super) fn scratch_folder(&self) -> Result<PathBuf, MediumError> {
        match self {
            Medium::Image { folder, .. } | Medium::Modelled { folder, .. } => Ok(folder.clone()),
            Medium::Device { .. } | Medium::Folders { .. } => Ok(image::scratch_folder(None)?),
        }
    }

    /// The same medium once a trial has written to it: what is on it now is ours, and stays as it is until the next trial.
    pub fn after_trial(self, ended_well: bool) -> Self {
        match self {
            Medium::Device { ticket, hold, cautions, facts } => {
                hold.remember(ended_well);
                Medium::Device { ticket: ticket.after_first_write(), hold, cautions, facts }
            }
            other => other,
        }
    }

    /// In bytes.
    pub fn size(&self) -> u64 {
        match self {
            Medium::Image { size, .. } | Medium::Modelled { size, .. } => *size,
            Medium::Device { ticket, .. } => ticket.size,
            // Nobody knows; each is asked for its free space.
            Medium::Folders { .. } => u64::MAX,
        }
    }

    pub fn facts(&self) -> Facts {
        match self {
            Medium::Image { folder, size, .. } => [
                ("device.kind".to_owned(), "scratch image, sparse, made anew for every trial".to_owned()),
                ("device.folder".to_owned(), folder.display().to_string()),
                ("device.size".to_owned(), size.to_string()),
            ]
            .into(),
            Medium::Modelled { model, size, folder, .. } => [
                ("device.kind".to_owned(), format!("modelled: {model}")),
                ("device.folder".to_owned(), folder.display().to_string()),
                ("device.size".to_owned(), size.to_string()),
            ]
            .into(),
            Medium::Folders { facts } => facts.clone(),
            Medium::Device { ticket, facts, .. } => {
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
            Medium::Image { folder, .. } => image::tmpfs_caution(folder).ok().flatten().into_iter().collect(),
            Medium::Modelled { .. } => Vec::new(),
            Medium::Folders { facts } => {
                let lies = |on: &str| facts.values().any(|told| told.contains(on));
                let also = PECULIAR.iter().filter(|(on, _)| lies(on)).map(|(_, text)| (*text).to_owned());
                [IN_FOLDERS.to_owned()].into_iter().chain(also).collect()
            }
            Medium::Device { cautions, .. } => cautions.clone(),
        };
        texts.into_iter().map(|text| Caution { phase: String::new(), text }).collect()
    }
}
