//! The devices under a stack: claims them, names and describes them, checks that they are the cleared ones, and releases
//! them.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use fsverdict_judgement::journal::{DeviceEvent, Event, Facts};
use fsverdict_linux::host::kernel_log::is_device_error;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::syscall;
use fsverdict_linux::host::sysfs::partition_parent;

use super::super::bare_device::BareDevice;
use super::super::error::TrialError;
use super::super::mapping::wait_until_unclaimed;
use super::super::programs::NamedTop;
use super::super::spec::TrialDevice;
use super::{Stack, THE_KERNEL};

/// Time limit for the kernel to let go of a device; a tick is 1 to 10 ms.
const RELEASE_LIMIT: Duration = Duration::from_secs(1);

impl Stack<'_> {
    /// Claims the devices, and makes sure that they are the cleared ones.
    pub(in super::super) fn claim_devices(&mut self, devices: &[TrialDevice]) -> Result<(), TrialError> {
        for (number, device) in (1..).zip(devices) {
            let claim = BareDevice::claim_device(number, device, self.sink)?;
            self.devices.push(claim.path.clone());
            self.claims.push(claim);
        }
        // The conductor must know that changes of the devices may be this trial's from here on.
        self.sink.send_event(&Event::Device(DeviceEvent::FirstWrite));
        let used = (1..=devices.len()).filter(|device| self.arrangement.uses_device(*device)).count();
        if used < devices.len() {
            let text = format!("{} uses {used} of {} devices", self.candidate.name, devices.len());
            self.sink.send_caution("", text);
        }
        Ok(())
    }

    /// Does something with each device that was claimed; an error where a folder is worked in.
    pub(in super::super) fn each_bare(
        &mut self,
        act: impl FnMut(&mut BareDevice) -> Result<(), TrialError>,
    ) -> Result<(), TrialError> {
        if self.claims.is_empty() {
            return Err(TrialError::Host("a folder has no device".to_owned()));
        }
        self.claims.iter_mut().try_for_each(act)
    }

    /// Reports facts about the devices in their current state, with numbers from the second device on.
    pub(in super::super) fn describe_device(&mut self) {
        let mut facts = Facts::new();
        for (number, claim) in (1..).zip(&mut self.claims) {
            let named = |name: String| match number {
                1 => name,
                number => name.replacen("device.", &format!("device.{number}."), 1),
            };
            facts.extend(claim.current_facts().into_iter().map(|(name, value)| (named(name), value)));
        }
        self.sink.send_facts(facts);
    }

    /// The errors that the kernel reported of the devices themselves in all of the trial, with the number of the device.
    pub(in super::super) fn device_errors(&mut self) -> Vec<DeviceEvent> {
        let said = self.whole_log.read_all();
        let errors = (1..).zip(self.device_names()).filter_map(|(device, name)| {
            let disk = partition_parent(&Root::default(), &name);
            let names = [Some(name), disk];
            let is_error = |line: &str| names.iter().flatten().any(|name| is_device_error(line, name));
            let line = said.iter().find(|line| is_error(&line.text))?;
            Some(DeviceEvent::Failed { device, found: format!("{THE_KERNEL}{}", line.text) })
        });
        errors.collect()
    }

    /// The device of the filesystem, of several the first; an empty path in a folder.
    pub(in super::super) fn top_device(&self) -> PathBuf {
        self.top_devices().into_iter().next().map(|top| top.path).unwrap_or_default()
    }

    /// The topmost nodes on the devices as far as layers are open: the filesystem's, and those that options name,
    /// without missing ones.
    pub(super) fn top_devices(&self) -> Vec<NamedTop> {
        self.known_devices().filter(|top| self.missing.as_ref() != Some(&top.path)).collect()
    }

    /// The same with the missing ones.
    pub(super) fn known_devices(&self) -> impl Iterator<Item = NamedTop> {
        self.arrangement.tops.iter().filter_map(|top| {
            let under = |number: usize| self.devices.get(number.checked_sub(1)?).cloned();
            let path = self.layers.node_below(top.is, &self.devices).or_else(|| under(top.device))?;
            Some(NamedTop { device: top.device, apart: top.apart, path })
        })
    }

    /// Names of the bottom devices in `/sys/class/block`; others' work is on that below a folder, too.
    pub(in super::super) fn device_names(&self) -> Vec<String> {
        let name = |path: &PathBuf| {
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            real.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        self.devices.iter().map(name).collect()
    }

    /// Waits until the kernel has let go of the devices of the unmounted filesystem. What one of the kernel's threads closes
    /// is closed at the next tick (`fput` in fs/file_table.c), and programs refuse or skip a device that is in use until then:
    /// OpenZFS reopens its devices in a thread when a scrub begins, so that a pool which is exported within the same tick is
    /// not found by an import. If a device is not released in time, the next program reports it.
    pub(super) fn wait_until_released(&self) {
        if self.mounted || self.imported {
            return;
        }
        for top in self.top_devices() {
            wait_until_unclaimed(&top.path, RELEASE_LIMIT);
        }
    }

    /// Checks, before the device is written, mounted or checked, that it is the one that was cleared, and has the kernel let
    /// go of it first.
    pub(in super::super) fn check_device(&self) -> Result<(), TrialError> {
        self.wait_until_released();
        let claimed = self.mounted || self.layers.open_nodes().next().is_some();
        self.claims.iter().try_for_each(|claim| claim.require_unchanged(claimed))
    }

    /// Drops the cached pages of the unmounted device and of every layer. Files, names and attributes went with the
    /// mount; the caches of other filesystems stay, because dropping them takes time and slows their users.
    pub(in super::super) fn forget_device(&self) -> Result<(), TrialError> {
        for device in self.layers.open_nodes().chain(self.devices.iter().map(PathBuf::as_path)) {
            File::open(device)
                .and_then(|open| Ok(syscall::forget_buffers(open)?))
                .map_err(TrialError::io_error("put the device out of the cache"))?;
        }
        self.claims
            .iter()
            .try_for_each(BareDevice::forget_image)
            .map_err(TrialError::io_error("put the image out of the cache"))
    }

    pub(in super::super) fn release_devices(&mut self) -> Result<(), TrialError> {
        // Releases each of them, even if another failed.
        let released = std::mem::take(&mut self.claims).into_iter().map(BareDevice::release_device);
        released.fold(Ok(()), Result::and)
    }
}
