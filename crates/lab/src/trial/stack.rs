//! From the bare device up to the mounted filesystem, step by step, and down again.
//!
//! Everything that was set up is recorded, so that it is taken down in reverse order after every outcome; every error
//! on the way down is reported and none hides the cause.

mod above;
mod array;
mod cleaner;
mod host_mapper;
mod lost;
mod mending;
mod pool;
mod pool_state;
mod snapshots;
mod state;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict_judgement::journal::{CommandRecord, DeviceEvent, Event, Facts};
use fsverdict_judgement::plan::Candidate;
use fsverdict_linux::host::kernel_log::{KernelLog, is_device_error};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::sysfs::partition_parent;
use fsverdict_linux::host::{caches, mounts, syscall};
use fsverdict_linux::sandbox::private_devices;
use fsverdict_linux::sandbox::program::RunningProgram;
use fsverdict_stack::filesystem::{DIRECTORY, Filesystem};
use fsverdict_workload::measure::Fresh;

use super::above::{AboveLayer, BELOW};
use super::act::OfLayer;
use super::arrangement::Arrangement;
use super::bare_device::BareDevice;
use super::error::TrialError;
use super::layers::OpenLayers;
use super::programs::{Line, NamedTop, Programs, TrialNames};
use super::sink::Sink;
use super::spec::TrialDevice;
use super::tools::{EMPTY, Tools, Trade};
use above::ShownAbove;
use array::WorkBeside;
use host_mapper::HostMapper;

/// Where the filesystem under test is mounted, below the agent's own tmpfs.
pub(super) const MOUNT: &str = "/tmp/fsverdict/mount";
/// Where the agent's sandbox shows the folder that is worked in instead of a device.
pub(super) const PLACE: &str = "/tmp/fsverdict-place";

/// Prefix of the lines of a reason that quote the kernel.
pub const THE_KERNEL: &str = "the kernel: ";

/// A candidate's stack of device, layers and filesystem.
pub(super) struct Stack<'a> {
    pub(super) sink: &'a mut Sink,
    candidate: &'a Candidate,
    pub(super) filesystem: &'static Filesystem,
    programs: Programs<'a>,
    tools: Tools,
    /// The devices the guard cleared, or the loop devices on top of the images; none where a folder is worked in.
    claims: Vec<BareDevice>,
    /// Their paths, in order.
    devices: Vec<PathBuf>,
    arrangement: Arrangement,
    layers: OpenLayers,
    /// No program may take longer.
    limit: Duration,
    /// The missing one of its devices.
    missing: Option<PathBuf>,
    /// The work on an array beside a phase.
    beside: Option<WorkBeside>,
    mounted: bool,
    /// Whether the kernel knows the pool that the filesystem lies in.
    imported: bool,
    /// At the mount point, where something lies above the filesystem.
    shown: ShownAbove,
    /// The process that serves the folder shown there.
    server: Option<RunningProgram>,
    /// Whether the layers were sealed that are sealed once all data is written.
    sealed: bool,
    cleaner: bool,
    /// Whether it was reported that the cleaner does not behave as asked.
    cleaner_told: bool,
    fresh: Option<Fresh>,
    log: KernelLog,
    /// The same from the beginning of the trial to its end.
    whole_log: KernelLog,
}

impl<'a> Stack<'a> {
    pub(super) fn new(
        sink: &'a mut Sink,
        candidate: &'a Candidate,
        devices: usize,
        limit: Duration,
    ) -> Result<Self, TrialError> {
        let filesystem = match candidate.path {
            Some(_) => &DIRECTORY,
            None => fsverdict_stack::filesystem::find_filesystem(&candidate.filesystem)
                .ok_or_else(|| TrialError::Unknown(format!("filesystem `{}`", candidate.filesystem)))?,
        };
        let arrangement = Arrangement::for_candidate(candidate, devices);
        let layers = OpenLayers::for_candidate(candidate, &arrangement)?;
        for folder in [MOUNT, BELOW, EMPTY] {
            std::fs::create_dir_all(folder).map_err(TrialError::io_error("make the mount point"))?;
        }
        Ok(Stack {
            sink,
            candidate,
            filesystem,
            programs: Programs { candidate, filesystem },
            tools: Tools::new(limit),
            claims: Vec::new(),
            devices: Vec::new(),
            arrangement,
            layers,
            limit,
            missing: None,
            beside: None,
            mounted: false,
            imported: false,
            shown: ShownAbove::Nothing,
            server: None,
            sealed: false,
            cleaner: false,
            cleaner_told: false,
            fresh: None,
            // Before there is a /dev without it.
            log: KernelLog::open(),
            whole_log: KernelLog::open(),
        })
    }

    /// Claims the devices, and makes sure that they are the cleared ones.
    pub(super) fn claim_devices(&mut self, devices: &[TrialDevice]) -> Result<(), TrialError> {
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
    pub(super) fn each_bare(
        &mut self,
        act: impl FnMut(&mut BareDevice) -> Result<(), TrialError>,
    ) -> Result<(), TrialError> {
        if self.claims.is_empty() {
            return Err(TrialError::Host("a folder has no device".to_owned()));
        }
        self.claims.iter_mut().try_for_each(act)
    }

    /// Reports facts about the devices in their current state, with numbers from the second device on.
    pub(super) fn describe_device(&mut self) {
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

    pub(super) fn begin_step(&mut self, step: &str) {
        self.log.skip_to_end();
        self.sink.send_step(step);
    }

    /// The kernel's messages since then about the devices of this stack, as lines to append to an error.
    pub(super) fn said_by_kernel(&mut self) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let devices = self.device_names().into_iter().chain(self.layers.open_nodes().map(name));
        let words: Vec<String> = devices.chain([self.filesystem.name.to_owned()]).collect();
        self.log.read_matching(&words).iter().map(|line| format!("\n{THE_KERNEL}{line}")).collect()
    }

    /// The errors that the kernel reported of the devices themselves in all of the trial, with the number of the device.
    pub(super) fn device_errors(&mut self) -> Vec<DeviceEvent> {
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

    /// Whether a folder of the user's is worked in: there is no device, and nothing is made, mounted or checked.
    pub(super) fn in_folder(&self) -> bool {
        self.candidate.path.is_some()
    }

    /// The device of the filesystem, of several the first; an empty path in a folder.
    pub(super) fn top_device(&self) -> PathBuf {
        self.top_devices().into_iter().next().map(|top| top.path).unwrap_or_default()
    }

    /// The topmost nodes on the devices as far as layers are open: the filesystem's, and those that options name,
    /// without missing ones.
    fn top_devices(&self) -> Vec<NamedTop> {
        self.known_devices().filter(|top| self.missing.as_ref() != Some(&top.path)).collect()
    }

    /// The same with the missing ones.
    fn known_devices(&self) -> impl Iterator<Item = NamedTop> {
        self.arrangement.tops.iter().filter_map(|top| {
            let under = |number: usize| self.devices.get(number.checked_sub(1)?).cloned();
            let path = self.layers.node_below(top.is, &self.devices).or_else(|| under(top.device))?;
            Some(NamedTop { device: top.device, apart: top.apart, path })
        })
    }

    /// The names that programs are given for this place.
    fn trial_names(&self) -> TrialNames {
        TrialNames {
            tops: self.top_devices().into_iter().map(|top| self.named_for_pool(top)).collect(),
            names_pool: self.device_that_names_pool(),
            degraded: self.mounts_degraded(),
            sealed: self.sealed,
            mount: self.filesystem_mount(),
        }
    }

    fn argv_for(&self, line: Line) -> Option<Vec<String>> {
        self.programs.argv_for(line, &self.trial_names())
    }

    /// Names of the bottom devices in `/sys/class/block`; others' work is on that below a folder, too.
    pub(super) fn device_names(&self) -> Vec<String> {
        let name = |path: &PathBuf| {
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            real.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        self.devices.iter().map(name).collect()
    }

    /// Remembers how the filesystem is that was just made and mounted; a folder's space is not the trial's alone.
    pub(super) fn note_fresh(&mut self) -> Result<(), TrialError> {
        if self.claims.is_empty() {
            return Ok(());
        }
        let used = (1..).zip(&self.claims).filter(|(device, _)| self.arrangement.uses_device(*device));
        let sizes = used.map(|(_, claim)| claim.size()).collect::<Result<Vec<_>, _>>();
        let size = sizes.map_err(TrialError::io_error("ask for the size of the device"))?.into_iter().sum();
        self.fresh = Some(Fresh::before_phase(Path::new(MOUNT), size)?);
        Ok(())
    }

    pub(super) fn fresh_copy(&self) -> Option<&Fresh> {
        self.fresh.as_ref()
    }

    /// From here on only this stack's disks are visible, to the agent and to every tool, even if its options name
    /// others: options of mkfs and mount come from the plan. Claiming and staging needed other disks.
    pub(super) fn shut_in(&mut self) -> Result<(), TrialError> {
        if self.claims.is_empty() {
            return Ok(private_devices(&[])?);
        }
        let mut kept: Vec<&Path> = self.devices.iter().map(PathBuf::as_path).collect();
        let control = self.filesystem.nodes.iter().map(Path::new);
        let above = AboveLayer::of_candidate(self.candidate);
        let of_above = above.iter().flat_map(AboveLayer::needed_nodes);
        for node in self.layers.needed_nodes().chain(of_above).chain(control).filter(|node| node.exists()) {
            if !kept.contains(&node) {
                kept.push(node);
            }
        }
        private_devices(&kept)?;
        self.tools.shut_in()
    }

    /// Runs the program of this line, if this candidate has one; it must end well.
    fn run_required(&mut self, line: Line) -> Result<(), TrialError> {
        match self.argv_for(line) {
            Some(argv) => self.tools.run_required(self.sink, line.step_name(), trade_of(line), argv),
            None => Ok(()),
        }
    }

    pub(super) fn run_layer_act(&mut self, at: usize, act: OfLayer) -> Result<(), TrialError> {
        if act == OfLayer::Make {
            self.check_device()?;
        }
        if self.claims.is_empty() {
            return Ok(());
        }
        let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
        self.layers.run_layer_act(at, act, &self.devices, &mut mapper)
    }

    /// Seals the layers that are once all is written, with nothing mounted.
    pub(super) fn seal_layers(&mut self) -> Result<(), TrialError> {
        let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
        self.layers.seal_layers(&self.devices, &mut mapper)?;
        self.sealed = true;
        Ok(())
    }

    pub(super) fn run_mkfs(&mut self) -> Result<(), TrialError> {
        self.run_required(Line::Apart)?;
        self.make_pool_nodes()?;
        self.run_required(Line::Mkfs)?;
        self.imported = self.filesystem.pool.is_some();
        self.export_pool()
    }

    /// Runs the checker and returns its record, also of a failure; `None` if the filesystem has no checker.
    pub(super) fn run_checker(&mut self, name: &str) -> Result<Option<CommandRecord>, TrialError> {
        self.import_pool()?;
        self.run_required(Line::Scrub)?;
        let argv = self.argv_for(Line::Check);
        let checked =
            argv.map(|argv| self.tools.run_program(self.sink, name, Trade::Formatting, argv)).transpose()?;
        self.export_pool()?;
        Ok(checked)
    }

    pub(super) fn mount_filesystem(&mut self) -> Result<(), TrialError> {
        if self.in_folder() {
            let shown = mounts::bind_mount(Path::new(PLACE), Path::new(MOUNT));
            self.mounted = shown.is_ok();
            return shown.map_err(TrialError::host_error);
        }
        self.import_pool()?;
        self.run_required(Line::Mount)?;
        self.mounted = true;
        self.run_required(Line::Cleaner)?;
        self.cleaner = self.programs.cleaner().is_some();
        self.show_above()
    }

    /// Makes the unmounted filesystem again on a discarded device; a disk may not support discarding.
    pub(super) fn make_anew(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        for top in self.top_devices() {
            let open = std::fs::OpenOptions::new().write(true).open(&top.path);
            let file = open.map_err(TrialError::io_error("open the device"))?;
            let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
                .map_err(|errno| TrialError::io_error("learn the size of the device")(errno.into()))?;
            let discarded = syscall::discard_range(&file, size).is_ok().to_string();
            self.sink.send_facts(Facts::from([("device.discarded_again".to_owned(), discarded)]));
        }
        self.run_mkfs()
    }

    /// Mounts the filesystem again after a moment in which another program may have replaced the device.
    pub(super) fn mount_again(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        self.mount_filesystem()
    }

    /// Checks, before the device is written, mounted or checked, that it is the one that was cleared.
    pub(super) fn check_device(&self) -> Result<(), TrialError> {
        let claimed = self.mounted || self.layers.open_nodes().next().is_some();
        self.claims.iter().try_for_each(|claim| claim.require_unchanged(claimed))
    }

    pub(super) fn unmount_filesystem(&mut self) -> Result<(), TrialError> {
        self.hide_above()?;
        self.watch_cleaner();
        if self.cleaner {
            self.stop_cleaner();
        }
        self.run_required(Line::Unmount)?;
        self.mounted = false;
        self.export_pool()
    }

    /// Drops the cached pages of the unmounted device and of every layer. Files, names and attributes went with the
    /// mount; the caches of other filesystems stay, because dropping them takes time and slows their users.
    pub(super) fn forget_device(&self) -> Result<(), TrialError> {
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

    /// Prepares a cold start in a folder as far as possible: the folder stays mounted.
    pub(super) fn forget_folder(&mut self, phase: &str) -> Result<(), TrialError> {
        self.sync_filesystem()?;
        if caches::drop_caches(&Root::new("/")).is_ok() {
            return Ok(());
        }
        let text = "not quite cold: without root the contents of files were put out of the cache, but not names and attributes";
        self.sink.send_caution(phase, text);
        caches::forget_contents(Path::new(MOUNT)).map_err(TrialError::io_error("put files out of the cache"))
    }

    /// Makes everything written to the mounted filesystem durable: syncfs, and then a flush of the device itself,
    /// because some filesystems (jfs, and ext2 with its own driver) sync without flushing the device's cache.
    pub(super) fn sync_filesystem(&mut self) -> Result<(), TrialError> {
        let folder = open_folder(Path::new(MOUNT))?;
        sync_all(&folder)?;
        if self.server.is_some() {
            // FUSE hands a sync of all on to virtiofs alone (`fuse_sync_fs` in fs/fuse/inode.c).
            sync_all(&open_folder(Path::new(BELOW))?)?;
        }
        if self.in_folder() { Ok(()) } else { self.sync_device() }
    }

    pub(super) fn resolved_mount(&self) -> Option<fsverdict_linux::host::procfs::Mount> {
        mounts::mount_at(Path::new(self.filesystem_mount()))
    }

    /// After an error it may still be mounted.
    pub(super) fn unmount_left(&mut self) -> Result<(), TrialError> {
        // A program of it would keep the filesystem busy.
        let finished = self.finish_beside().map(drop);
        let unmounted = if self.mounted { self.unmount_filesystem() } else { Ok(()) };
        unmounted.and(self.export_pool()).and(finished)
    }

    pub(super) fn release_devices(&mut self) -> Result<(), TrialError> {
        // Releases each of them, even if another failed.
        let released = std::mem::take(&mut self.claims).into_iter().map(BareDevice::release_device);
        released.fold(Ok(()), Result::and)
    }
}

/// Where the program of a line is started from.
const fn trade_of(line: Line) -> Trade {
    match line {
        Line::Apart | Line::Mkfs | Line::Scrub | Line::Check => Trade::Formatting,
        Line::Import | Line::Export | Line::SyncPool | Line::Mount | Line::Cleaner | Line::Unmount => {
            Trade::Mounting
        }
    }
}

fn sync_all(folder: &OwnedFd) -> Result<(), TrialError> {
    rustix::fs::syncfs(folder).map_err(|errno| TrialError::io_error("make the data durable")(errno.into()))
}

fn open_folder(path: &Path) -> Result<OwnedFd, TrialError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| TrialError::io_error("open the mount point")(errno.into()))
}
