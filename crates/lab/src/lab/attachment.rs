//! Attaches one of the devices of a plan to a lab for the length of a run: a scratch image that is created for every
//! trial, a block device that the guard cleared, a modelled device, or folders. States its size, facts and cautions,
//! and gives each trial its device.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lab::TraceFile;
use crate::trial::TrialDevice;
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{Caution, Facts, TrialId};
use fsverdict_judgement::plan::DeviceSource;
use fsverdict_linux::guard::{ClaimedLease, HeldLease, LeaseTicket, Refusal};
use fsverdict_linux::host::image;
use fsverdict_linux::host::image::ImageError;
use fsverdict_linux::host::own_folder::OwnFolder;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::make_inheritable;
use fsverdict_text::Hinted;

use super::LabError;

const IN_FOLDERS: &str = "in folders nothing is made, mounted or checked, and what their devices were asked for and how much space is \
    taken cannot be told from what others do there; durable is when syncfs returned, which waits for others' data there, too";

/// Cautions about folders on certain filesystems.
const PECULIAR: [(&str, &str); 2] = [
    // fs/fuse/inode.c, fuse_sync_fs: only virtiofs passes it on.
    (
        ", on fuse",
        "syncfs ends at the program that serves a FUSE filesystem: what is called durable may still be on its way",
    ),
    (", on tmpfs", "a folder on tmpfs lies in memory: its times are those of memory"),
];

/// A plan's source, attached.
#[derive(Debug, Clone)]
pub enum Attachment {
    /// An unlinked sparse file, created for every trial.
    Image {
        /// The folder it lies in, if it had a name.
        folder: PathBuf,
        /// Bytes.
        size: u64,
        /// Bytes that a trial writes into it at most.
        room: u64,
    },
    /// A modelled device, served by a process of fsverdict; its data lie in an unlinked file, created for every
    /// trial.
    Modelled {
        /// The model's name, or the names of all models.
        model: String,
        /// Bytes.
        size: u64,
        /// The folder the file lies in, if it had a name.
        folder: PathBuf,
        /// The folder of the run that keeps the traces of its trials, if they are kept.
        traces: Option<FolderHandle>,
    },
    /// None of its own: a folder of each candidate, in which a trial has one of its own.
    Folders {
        /// Paths of the folders, and the filesystems they lie on.
        facts: Facts,
    },
    Device {
        ticket: LeaseTicket,
        /// Keeps it open, and other runs away, for the length of this one.
        hold: Arc<HeldLease>,
        /// Cautions for the reader of the results.
        cautions: Vec<String>,
        /// Its model, serial number and the like.
        facts: Facts,
    },
}

/// A device for the agent of one trial, and the descriptors that must stay open meanwhile.
#[derive(Debug)]
pub(super) struct LentDevice {
    pub(super) device: TrialDevice,
    /// An open file that the agent is to inherit.
    pub(super) file: Option<OwnedFd>,
    pub(super) folder: Option<OwnFolder>,
}

/// Names the kind of a plan's source for a lab that does not support it, with a hint.
pub(super) const fn kind_of(source: &DeviceSource) -> (&'static str, &'static str) {
    match source {
        DeviceSource::Image(_) => ("scratch images", "name a device: --device PATH"),
        DeviceSource::Path(_) => ("devices of this machine", "name a scratch image: --device image:SIZE"),
        DeviceSource::Model { .. } => (
            "modelled devices",
            "take `--lab uml`, which has them; or name another device: --device image:SIZE",
        ),
        DeviceSource::Folders => ("folders of this machine", "take `--lab native`, which has them"),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("cannot open the disk for the trial: {0}")]
    Io(#[from] std::io::Error),
    /// A trace or a log in the folder of the run.
    #[error("cannot use {}: {source}", path.display())]
    RunFile { path: PathBuf, source: std::io::Error },
}

/// A device that is this trial's, and was not written to yet.
#[derive(Debug)]
pub(super) enum ClaimedDisk<'a> {
    Image(OwnedFd),
    Block(Box<ClaimedLease>, &'a HeldLease),
}

impl ClaimedDisk<'_> {
    /// An open file, for a kernel that is given one as its disk: a block device is discarded first.
    pub(super) fn make_bare(self) -> Result<OwnedFd, AttachmentError> {
        match self {
            ClaimedDisk::Image(file) => Ok(file),
            ClaimedDisk::Block(claim, hold) => {
                hold.note_writing();
                let device = claim.describe_device();
                claim.discard().map_err(|source| Refusal::NotDiscarded { device, source })?;
                Ok(claim.file().try_clone()?.into())
            }
        }
    }
}

/// The error of a lab that was given a source that it does not support.
fn unsupported_source() -> AttachmentError {
    std::io::Error::from(std::io::ErrorKind::Unsupported).into()
}

impl Hinted for AttachmentError {
    fn hint(&self) -> Option<String> {
        match self {
            AttachmentError::Image(error) => error.hint(),
            AttachmentError::Refused(refusal) => refusal.hint(),
            AttachmentError::Io(source) | AttachmentError::RunFile { source, .. } => source.hint(),
        }
    }
}

impl Attachment {
    /// The device for a trial's agent on this machine's kernel; `path` is the candidate's folder.
    pub(super) fn lend_device(&self, path: Option<&Path>) -> Result<LentDevice, LabError> {
        let alone = |device| LentDevice { device, file: None, folder: None };
        match (self, path) {
            (Attachment::Image { folder, size, room }, _) => {
                let file = image::create_image(folder, *size, *room).map_err(AttachmentError::from)?;
                let device = TrialDevice::from_image(make_inheritable(file.as_fd())?);
                Ok(LentDevice { file: Some(file), ..alone(device) })
            }
            (Attachment::Device { .. }, _) => Ok(alone(TrialDevice::Block { ticket: self.lease_ticket()? })),
            (Attachment::Folders { .. }, Some(path)) => {
                let folder = OwnFolder::create_folder(path)?;
                let device = TrialDevice::Folder { path: folder.path().to_owned() };
                Ok(LentDevice { folder: Some(folder), ..alone(device) })
            }
            (Attachment::Folders { .. } | Attachment::Modelled { .. }, _) => Err(unsupported_source().into()),
        }
    }

    /// The device, claimed for a kernel that is given an open file as its disk.
    pub(super) fn claim_disk(&self) -> Result<ClaimedDisk<'_>, AttachmentError> {
        match self {
            Attachment::Image { folder, size, room } => {
                Ok(ClaimedDisk::Image(image::create_image(folder, *size, *room)?))
            }
            Attachment::Device { hold, .. } => {
                let ticket = self.lease_ticket()?;
                Ok(ClaimedDisk::Block(hold.redeem(&Root::default(), &ticket)?.into(), hold))
            }
            Attachment::Folders { .. } | Attachment::Modelled { .. } => Err(unsupported_source()),
        }
    }

    /// The permission to write a block device, which the agent checks again right before its first write. Whether the
    /// device is unused is checked here, before each trial: an agent in its sandbox cannot see all processes.
    fn lease_ticket(&self) -> Result<LeaseTicket, AttachmentError> {
        let Attachment::Device { hold, .. } = self else { return Err(unsupported_source()) };
        Ok(hold.check_unused(&Root::default())?)
    }

    /// The lease of a block device, if this is one.
    pub(super) fn lease(&self) -> Option<&HeldLease> {
        let Attachment::Device { hold, .. } = self else { return None };
        Some(hold)
    }

    /// Checks that the device is still usable: other programs may have filled the disk below a scratch image, or the
    /// device may have been removed. A candidate that failed for such a reason is not at fault.
    pub(super) fn is_there(&self) -> Result<(), AttachmentError> {
        match self {
            Attachment::Image { folder, size, room } => Ok(image::check_space(Some(folder), *size, *room)?),
            Attachment::Device { hold, .. } => Ok(hold.check_usable(&Root::default())?),
            Attachment::Modelled { .. } | Attachment::Folders { .. } => Ok(()),
        }
    }

    /// The basis of results on this device, as a continuation of the lab's own statement.
    pub(super) fn fidelity(&self) -> &'static str {
        match self {
            Attachment::Image { .. } => {
                "on a scratch image: what a filesystem costs, not what your disk does with it"
            }
            Attachment::Modelled { .. } => {
                "on a modelled device: its own seconds, not those of a drive you have"
            }
            Attachment::Device { ticket, .. } if ticket.is_loop() => {
                "on a loop device over a file: what a filesystem costs, not what a disk does with it"
            }
            Attachment::Device { .. } => "on a real device",
            Attachment::Folders { .. } => {
                "in folders as they are: what lies below them, and who else uses it, counts too"
            }
        }
    }

    /// The same, with the traces of a modelled device in the folder of this run.
    pub(super) fn with_traces_in(mut self, run: &FolderHandle) -> Self {
        if let Attachment::Modelled { traces, .. } = &mut self {
            *traces = Some(run.clone());
        }
        self
    }

    /// Creates an empty file for the data of a modelled device.
    pub(super) fn create_store(&self) -> Result<OwnedFd, AttachmentError> {
        Ok(image::create_store(&self.scratch_folder()?)?)
    }

    /// The file of a trial's trace of the device of this number; none where it is not kept.
    pub(super) fn trace_file(&self, trial: &TrialId, number: usize) -> Option<TraceFile> {
        let Attachment::Modelled { traces: Some(run), .. } = self else { return None };
        Some(TraceFile::of_device(run, &trial.candidate, trial.block, trial.attempt, number))
    }

    /// Where further scratch images may lie.
    pub(super) fn scratch_folder(&self) -> Result<PathBuf, AttachmentError> {
        match self {
            Attachment::Image { folder, .. } | Attachment::Modelled { folder, .. } => Ok(folder.clone()),
            Attachment::Device { .. } | Attachment::Folders { .. } => Ok(image::scratch_folder(None)?),
        }
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        match self {
            Attachment::Image { size, .. } | Attachment::Modelled { size, .. } => *size,
            Attachment::Device { ticket, .. } => ticket.size,
            // Unknown: each folder is asked for its free space instead.
            Attachment::Folders { .. } => u64::MAX,
        }
    }

    pub(super) fn facts(&self) -> Facts {
        match self {
            Attachment::Image { folder, size, .. } => [
                ("device.kind".to_owned(), "scratch image, sparse, made for every trial".to_owned()),
                ("device.folder".to_owned(), folder.display().to_string()),
                ("device.size".to_owned(), size.to_string()),
            ]
            .into(),
            Attachment::Modelled { model, size, folder, .. } => [
                ("device.kind".to_owned(), format!("modelled: {model}")),
                ("device.folder".to_owned(), folder.display().to_string()),
                ("device.size".to_owned(), size.to_string()),
            ]
            .into(),
            Attachment::Folders { facts } => facts.clone(),
            Attachment::Device { ticket, facts, .. } => {
                let mut facts = facts.clone();
                facts.insert("device.kind".to_owned(), "block device".to_owned());
                facts.insert("device.path".to_owned(), ticket.path.display().to_string());
                facts.insert("device.size".to_owned(), ticket.size.to_string());
                facts
            }
        }
    }

    /// Cautions for the reader of the results.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let texts = match self {
            Attachment::Image { folder, .. } => {
                image::tmpfs_caution(folder).ok().flatten().into_iter().collect()
            }
            Attachment::Modelled { .. } => Vec::new(),
            Attachment::Folders { facts } => {
                let lies = |on: &str| facts.values().any(|told| told.contains(on));
                let also = PECULIAR.iter().filter(|(on, _)| lies(on)).map(|(_, text)| (*text).to_owned());
                [IN_FOLDERS.to_owned()].into_iter().chain(also).collect()
            }
            Attachment::Device { cautions, .. } => cautions.clone(),
        };
        texts.into_iter().map(Caution::new).collect()
    }
}
