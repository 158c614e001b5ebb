//! The device of a trial: claimed, discarded, its scheduler set, and given back as it was.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::host::environment::device_facts;
use crate::host::loop_device::{LoopDevice, LoopOptions};
use crate::host::root::Root;
use crate::host::syscall::own;
use crate::host::sysfs::{partition_parent, queue_settings};
use crate::journal::Facts;

use super::error::TrialError;
use super::sink::Sink;
use super::spec::TrialDevice;

/// A claimed device.
pub(super) struct Claim {
    path: PathBuf,
    name: String,
    /// Cleared by the kernel when it is closed here and nothing uses it.
    _attached: Option<LoopDevice>,
    former_scheduler: Option<String>,
}

impl Claim {
    /// Makes sure that the device is ours and bare, and sets its I/O scheduler, remembering the one before.
    pub(super) fn take(
        device: &TrialDevice,
        scheduler: Option<&str>,
        sink: &mut Sink,
    ) -> Result<Self, TrialError> {
        let host = |error: &dyn std::fmt::Display| TrialError::Host(error.to_string());
        let mut facts = Facts::new();
        let (path, attached) = match device {
            TrialDevice::Guest { path } => (path.clone(), None),
            TrialDevice::Image { descriptor } => {
                let image = own(*descriptor)
                    .ok_or_else(|| TrialError::Host("no image was handed over".to_owned()))?;
                let attached = LoopDevice::attach(image.as_fd(), &LoopOptions::default())
                    .map_err(|error| host(&error))?;
                facts.insert("device.direct_io".to_owned(), attached.direct_io().to_string());
                attached.caution().into_iter().for_each(|caution| sink.caution("", caution));
                (attached.path().to_owned(), Some(attached))
            }
            TrialDevice::Block { ticket } => {
                // Everything the guard saw is looked at again here, right before the first write.
                let claim = ticket.redeem(&Root::default()).map_err(|error| host(&error))?;
                let discarded = claim.discard().map_err(TrialError::io("discard the device"))?;
                facts.insert("device.discarded".to_owned(), discarded.to_string());
                // mkfs and mount claim it themselves from here on.
                (ticket.path.clone(), None)
            }
        };
        let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut claim = Claim { path, name, _attached: attached, former_scheduler: None };
        claim.set_scheduler(scheduler)?;
        // Told last: a reader wants the settings of the trial, not those before it.
        facts.extend(device_facts(&Root::default(), &claim.name));
        sink.facts(facts);
        Ok(claim)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn set_scheduler(&mut self, scheduler: Option<&str>) -> Result<(), TrialError> {
        let Some(wanted) = scheduler else { return Ok(()) };
        let queue = queue_settings(&Root::new("/"), &self.name)
            .map_err(|error| TrialError::Host(error.to_string()))?;
        let (former, offered) = queue
            .scheduler
            .map_or((None, Vec::new()), |scheduler| (Some(scheduler.current), scheduler.available));
        // Asked, not looked up: the kernel may have to load a module first.
        self.write_scheduler(wanted).map_err(|error| {
            TrialError::Host(format!(
                "{} cannot be set to the I/O scheduler `{wanted}`: {error}\nhint: it has {}",
                self.name,
                offered.join(", ")
            ))
        })?;
        self.former_scheduler = former;
        Ok(())
    }

    fn write_scheduler(&self, scheduler: &str) -> Result<(), TrialError> {
        // A partition has no queue of its own.
        let disk = partition_parent(&Root::default(), &self.name).unwrap_or_else(|| self.name.clone());
        let file = Path::new("/sys/class/block").join(disk).join("queue/scheduler");
        std::fs::write(file, scheduler).map_err(TrialError::io("set the I/O scheduler"))
    }

    /// Gives the device back as it was found, but for its content.
    pub(super) fn release(self) -> Result<(), TrialError> {
        self.former_scheduler.as_deref().map_or(Ok(()), |former| self.write_scheduler(former))
    }
}
