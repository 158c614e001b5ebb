//! The device of a trial: claims it, discards its content, sets its scheduler, measures it for calibration, and gives it
//! back.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use fsverdict_disk::calibrate::{Grid, Raw, measure_grid};
use fsverdict_judgement::journal::{Facts, Learnt};
use fsverdict_linux::guard::{ClaimedLease, HeldLease, Refusal};
use fsverdict_linux::host::borrowed_scheduler::BorrowedScheduler;
use fsverdict_linux::host::environment::device_facts;
use fsverdict_linux::host::loop_device::{LoopDevice, LoopOptions};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::syscall::own_descriptor;
use fsverdict_linux::host::sysfs::Schedulers;
use fsverdict_text::{Hinted, Reason};

use super::error::TrialError;
use super::sink::Sink;
use super::spec::TrialDevice;

pub(super) struct BareDevice {
    /// From 1.
    number: usize,
    pub(super) path: PathBuf,
    name: String,
    /// The kernel detaches a loop device when it is closed here and nothing uses it. With it, its image.
    attached: Option<(LoopDevice, OwnedFd)>,
    /// A real device, until it was discarded …
    claimed: Option<ClaimedLease>,
    /// … and afterwards: the lease keeps the device open, so that its number cannot refer to another device.
    hold: Option<HeldLease>,
    scheduler: Option<BorrowedScheduler>,
    /// Facts found so far.
    facts: Facts,
}

impl BareDevice {
    /// Claims the device, and makes sure that it is the cleared one.
    pub(super) fn claim_device(
        number: usize,
        device: &TrialDevice,
        sink: &mut Sink,
    ) -> Result<Self, TrialError> {
        let mut facts = Facts::new();
        let (path, attached, claimed) = match device {
            TrialDevice::Guest { path, .. } => (path.clone(), None, None),
            TrialDevice::Folder { .. } => {
                return Err(TrialError::Host("a folder is no device to claim".to_owned()));
            }
            TrialDevice::Image { descriptor, owner } => {
                let image = own_descriptor(*descriptor)
                    .ok_or_else(|| TrialError::Host("no image was handed over".to_owned()))?;
                let options = LoopOptions { owner: *owner, ..LoopOptions::default() };
                let attached = LoopDevice::attach_image(image.as_fd(), &options)
                    .map_err(|error| TrialError::Refused(error.reason()))?;
                facts.insert("device.direct_io".to_owned(), attached.direct_io().to_string());
                attached.caution().into_iter().for_each(|caution| sink.send_caution("", caution));
                (attached.path().to_owned(), Some((attached, image)), None)
            }
            TrialDevice::Block { ticket } => {
                // Everything the guard saw is looked at again here, right before the first write.
                let claim = ticket.redeem(&Root::default());
                let claim = claim.map_err(|error| TrialError::Device { device: number, error })?;
                (ticket.path.clone(), None, Some(claim))
            }
        };
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(BareDevice { number, path, name, attached, claimed, hold: None, scheduler: None, facts })
    }

    /// Discards the content of a real device; images and guests' devices are new with each trial.
    pub(super) fn discard_all(&mut self) -> Result<(), TrialError> {
        let Some(claim) = self.claimed.take() else { return Ok(()) };
        let device = claim.describe_device();
        let discarded =
            claim.discard().map_err(|source| self.refusal_error(Refusal::NotDiscarded { device, source }))?;
        self.facts.insert("device.discarded".to_owned(), discarded.to_string());
        // mkfs and mount claim it themselves from here on.
        self.hold =
            Some(HeldLease::from_claim(&Root::default(), claim).map_err(|error| self.refusal_error(error))?);
        Ok(())
    }

    /// The facts about it with its current settings: those during the trial, not those before it.
    pub(super) fn current_facts(&mut self) -> Facts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.extend(device_facts(&Root::default(), &self.name));
        facts
    }

    /// Checks, before something writes to the device, that it is the one that was cleared and that no other program
    /// uses it, unless a layer of this trial has `claimed` it.
    pub(super) fn require_unchanged(&self, claimed: bool) -> Result<(), TrialError> {
        let Some(hold) = &self.hold else { return Ok(()) };
        let root = Root::default();
        let checked = if claimed { hold.check_unchanged(&root) } else { hold.check_free(&root) };
        let checked = checked.and_then(|device| hold.check_before_first_write(&root, &device));
        checked.map_err(|error| self.refusal_error(error))
    }

    /// That this device cannot be used any more.
    fn refusal_error(&self, error: Refusal) -> TrialError {
        TrialError::Device { device: self.number, error }
    }

    /// Its size in bytes.
    pub(super) fn size(&self) -> std::io::Result<u64> {
        File::open(&self.path)?.seek(SeekFrom::End(0))
    }

    /// Drops the cached pages of the image below a loop device; without direct I/O the loop device reads through
    /// them.
    pub(super) fn forget_image(&self) -> std::io::Result<()> {
        let Some((_, image)) = &self.attached else { return Ok(()) };
        Ok(rustix::fs::fadvise(image, 0, None, rustix::fs::Advice::DontNeed)?)
    }

    /// Sets the I/O scheduler, remembering the one before.
    pub(super) fn set_scheduler(&mut self, wanted: &str) -> Result<(), TrialError> {
        let root = Root::default();
        // Asked, not looked up: the kernel may have to load a module first.
        let borrowed = BorrowedScheduler::set_scheduler(&root, &self.name, wanted).map_err(|error| {
            let offered = Schedulers::read_schedulers(&root, &self.name)
                .ok()
                .flatten()
                .map_or(Vec::new(), |memory| memory.available);
            let offered =
                if offered.is_empty() { "none to choose from".to_owned() } else { offered.join(", ") };
            let reason = format!("{} cannot be set to the I/O scheduler `{wanted}`: {error}", self.name);
            TrialError::Refused(Reason::new(reason, format!("it has {offered}")))
        })?;
        self.scheduler = Some(borrowed);
        Ok(())
    }

    /// Gives the device back as it was found, but for its content.
    pub(super) fn release_device(self) -> Result<(), TrialError> {
        let scheduler = self.scheduler.map_or(Ok(()), |borrowed| borrowed.give_back(&Root::default()));
        scheduler.map_err(TrialError::io_error("set the I/O scheduler"))
    }
}

/// Measures one half of the grid on the device, and reports the times.
pub(super) fn calibrate_device(device: &Path, grid: Grid, sink: &mut Sink) -> Result<(), TrialError> {
    let mut disk =
        Raw::open_device(device, grid == Grid::Writing).map_err(TrialError::io_error("open the device"))?;
    let grid_times = measure_grid(&mut disk, grid).map_err(TrialError::io_error("measure the device"))?;
    let calibration = serde_json::to_value(grid_times)
        .map_err(|error| TrialError::io_error("report the times")(error.into()))?;
    sink.send_learnt(Facts::new(), Learnt { calibration: Some(calibration), ..Learnt::default() });
    Ok(())
}
