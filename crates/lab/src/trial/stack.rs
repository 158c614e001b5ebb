//! From the bare device up to the mounted filesystem, step by step, and down again.
//!
//! Whatever was put up is remembered, so that it can be taken down in reverse order whatever happened; every error
//! on the way down is reported and none hides the cause.

mod above;
mod array;
mod cleaner;
mod host_mapper;
mod lost;
mod mending;
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
use array::{BTRFS_CONTROL, WorkBeside};
use host_mapper::HostMapper;

/// Where the filesystem under test is mounted, below the agent's own tmpfs.
pub(super) const MOUNT: &str = "/tmp/fsverdict/mount";
/// Where the agent's sandbox shows the folder that is worked in instead of a device.
pub(super) const PLACE: &str = "/tmp/fsverdict-place";

/// How the lines of a reason begin that the kernel said.
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
    /// What of its devices is missing.
    missing: Option<PathBuf>,
    /// What goes on beside a phase.
    beside: Option<WorkBeside>,
    mounted: bool,
    /// At the mount point, where something lies above the filesystem.
    shown: ShownAbove,
    /// What serves what is shown there.
    server: Option<RunningProgram>,
    /// Whether layers were sealed that are once all is written.
    sealed: bool,
    cleaner: bool,
    /// That it does otherwise than asked was told.
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
        let arrangement = Arrangement::of(candidate, devices);
        let layers = OpenLayers::of(candidate, &arrangement)?;
        for folder in [MOUNT, BELOW, EMPTY] {
            std::fs::create_dir_all(folder).map_err(TrialError::io("make the mount point"))?;
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

    /// Makes sure that the devices are ours.
    pub(super) fn claim(&mut self, devices: &[TrialDevice]) -> Result<(), TrialError> {
        for (number, device) in (1..).zip(devices) {
            let claim = BareDevice::take(number, device, self.sink)?;
            self.devices.push(claim.path.clone());
            self.claims.push(claim);
        }
        // Whoever lent them must know that what happens to them from here on may be ours.
        self.sink.send(&Event::Device(DeviceEvent::FirstWrite));
        let used = (1..=devices.len()).filter(|device| self.arrangement.uses(*device)).count();
        if used < devices.len() {
            let text = format!("{} uses {used} of {} devices", self.candidate.name, devices.len());
            self.sink.caution("", text);
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

    /// Tells what is known of the devices as they are now, of the second and those after it with their numbers.
    pub(super) fn describe_device(&mut self) {
        let mut facts = Facts::new();
        for (number, claim) in (1..).zip(&mut self.claims) {
            let named = |name: String| match number {
                1 => name,
                number => name.replacen("device.", &format!("device.{number}."), 1),
            };
            facts.extend(claim.facts().into_iter().map(|(name, value)| (named(name), value)));
        }
        self.sink.facts(facts);
    }

    pub(super) fn step(&mut self, step: &str) {
        self.log.skip_to_end();
        self.sink.step(step);
    }

    /// What the kernel has said since then of what this stack is made of, as lines after an error's own.
    pub(super) fn said_by_kernel(&mut self) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let devices = self.device_names().into_iter().chain(self.layers.nodes().map(name));
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

    /// The device the filesystem lies on, of several the first; an empty path in a folder.
    pub(super) fn top(&self) -> PathBuf {
        self.tops().into_iter().next().map(|top| top.path).unwrap_or_default()
    }

    /// What lies on the devices as far as layers are open: what the filesystem gets, and what an option names, without what is
    /// missing.
    fn tops(&self) -> Vec<NamedTop> {
        let tops = self.arrangement.tops.iter().filter_map(|top| {
            let under = |number: usize| self.devices.get(number.checked_sub(1)?).cloned();
            let path = self.layers.node(top.is, &self.devices).or_else(|| under(top.device))?;
            Some(NamedTop { device: top.device, apart: top.apart, path })
        });
        tops.filter(|top| self.missing.as_ref() != Some(&top.path)).collect()
    }

    /// What programs are told of this place.
    fn names(&self) -> TrialNames {
        TrialNames {
            tops: self.tops(),
            degraded: self.mounts_degraded(),
            sealed: self.sealed,
            mount: self.filesystem_mount(),
        }
    }

    fn argv(&self, line: Line) -> Option<Vec<String>> {
        self.programs.argv(line, &self.names())
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
        let used = (1..).zip(&self.claims).filter(|(device, _)| self.arrangement.uses(*device));
        let sizes = used.map(|(_, claim)| claim.size()).collect::<Result<Vec<_>, _>>();
        let size = sizes.map_err(TrialError::io("ask for the size of the device"))?.into_iter().sum();
        self.fresh = Some(Fresh::before_phase(Path::new(MOUNT), size)?);
        Ok(())
    }

    pub(super) fn fresh(&self) -> Option<&Fresh> {
        self.fresh.as_ref()
    }

    /// From here on there is no disk but this stack's, neither for us nor for any tool, whatever its options name: those
    /// of mkfs and mount are the plan's. The claim, and staging, needed others.
    pub(super) fn shut_in(&mut self) -> Result<(), TrialError> {
        if self.claims.is_empty() {
            return Ok(private_devices(&[])?);
        }
        let mut kept: Vec<&Path> = self.devices.iter().map(PathBuf::as_path).collect();
        let control = Some(Path::new(BTRFS_CONTROL)).filter(|_| self.filesystem.takes_several);
        let above = AboveLayer::of(self.candidate);
        let of_above = above.iter().flat_map(AboveLayer::needs);
        for node in self.layers.needs().chain(of_above).chain(control).filter(|node| node.exists()) {
            if !kept.contains(&node) {
                kept.push(node);
            }
        }
        private_devices(&kept)?;
        self.tools.shut_in()
    }

    /// Runs the program of this line, if this candidate has one; it must end well.
    fn must(&mut self, line: Line) -> Result<(), TrialError> {
        match self.argv(line) {
            Some(argv) => self.tools.must(self.sink, line.step(), trade(line), argv),
            None => Ok(()),
        }
    }

    pub(super) fn layer(&mut self, at: usize, act: OfLayer) -> Result<(), TrialError> {
        if act == OfLayer::Make {
            self.check_device()?;
        }
        if self.claims.is_empty() {
            return Ok(());
        }
        let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
        self.layers.act(at, act, &self.devices, &mut mapper)
    }

    /// Seals the layers that are once all is written, with nothing mounted.
    pub(super) fn seal(&mut self) -> Result<(), TrialError> {
        let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
        self.layers.seal(&self.devices, &mut mapper)?;
        self.sealed = true;
        Ok(())
    }

    pub(super) fn mkfs(&mut self) -> Result<(), TrialError> {
        self.must(Line::Apart)?;
        self.must(Line::Mkfs)
    }

    /// The record of the checker, whatever it says; none where the filesystem has none.
    pub(super) fn check(&mut self, name: &str) -> Result<Option<CommandRecord>, TrialError> {
        let argv = self.argv(Line::Check);
        argv.map(|argv| self.tools.run(self.sink, name, Trade::Formatting, argv)).transpose()
    }

    pub(super) fn mount(&mut self) -> Result<(), TrialError> {
        if self.in_folder() {
            let shown = mounts::bind_mount(Path::new(PLACE), Path::new(MOUNT));
            self.mounted = shown.is_ok();
            return shown.map_err(TrialError::host);
        }
        self.must(Line::Mount)?;
        self.mounted = true;
        self.must(Line::Cleaner)?;
        self.cleaner = self.programs.cleaner().is_some();
        self.show_above()
    }

    /// Makes the unmounted filesystem once more, on a device that is told to forget what is on it; a disk may not know how.
    pub(super) fn make_anew(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        for top in self.tops() {
            let open = std::fs::OpenOptions::new().write(true).open(&top.path);
            let file = open.map_err(TrialError::io("open the device"))?;
            let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
                .map_err(|errno| TrialError::io("learn the size of the device")(errno.into()))?;
            let discarded = syscall::discard_range(&file, size).is_ok().to_string();
            self.sink.facts(Facts::from([("device.discarded_again".to_owned(), discarded)]));
        }
        self.mkfs()
    }

    /// Mounts what was unmounted a moment ago: somebody may have put something else in its place.
    pub(super) fn mount_again(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        self.mount()
    }

    /// Makes sure that what is about to be written, mounted or checked is the device that was cleared.
    pub(super) fn check_device(&self) -> Result<(), TrialError> {
        let claimed = self.mounted || self.layers.nodes().next().is_some();
        self.claims.iter().try_for_each(|claim| claim.check(claimed))
    }

    pub(super) fn unmount(&mut self) -> Result<(), TrialError> {
        self.hide_above()?;
        self.watch_cleaner();
        if self.cleaner {
            self.stop_cleaner();
        }
        self.must(Line::Unmount)?;
        self.mounted = false;
        Ok(())
    }

    /// Puts what is cached of the unmounted device, of every layer, out of memory. Files, names and attributes went with the
    /// mount; the caches of the machine's other filesystems stay: emptying them would take its time, and cost those who
    /// use them.
    pub(super) fn forget_device(&self) -> Result<(), TrialError> {
        for device in self.layers.nodes().chain(self.devices.iter().map(PathBuf::as_path)) {
            File::open(device)
                .and_then(|open| Ok(syscall::forget_buffers(open)?))
                .map_err(TrialError::io("put the device out of the cache"))?;
        }
        self.claims
            .iter()
            .try_for_each(BareDevice::forget_image)
            .map_err(TrialError::io("put the image out of the cache"))
    }

    /// What can be had of a cold start in a folder, which stays mounted.
    pub(super) fn forget_folder(&mut self, phase: &str) -> Result<(), TrialError> {
        self.sync()?;
        if caches::drop_caches(&Root::new("/")).is_ok() {
            return Ok(());
        }
        let text = "not quite cold: without root the contents of files were put out of the cache, but not names and attributes";
        self.sink.caution(phase, text);
        caches::forget_contents(Path::new(MOUNT)).map_err(TrialError::io("put files out of the cache"))
    }

    /// Makes everything written to the mounted filesystem durable: syncfs, and then a flush of the device itself,
    /// because some filesystems (jfs, and ext2 with its own driver) sync without flushing the device's cache.
    pub(super) fn sync(&mut self) -> Result<(), TrialError> {
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
        if self.mounted { self.unmount().and(finished) } else { finished }
    }

    pub(super) fn release(&mut self) -> Result<(), TrialError> {
        // Each of them, whatever becomes of the one before.
        let released = std::mem::take(&mut self.claims).into_iter().map(BareDevice::release);
        released.fold(Ok(()), Result::and)
    }
}

/// Where the program of a line is started from.
const fn trade(line: Line) -> Trade {
    match line {
        Line::Apart | Line::Mkfs | Line::Check => Trade::Formatting,
        Line::Mount | Line::Cleaner | Line::Unmount => Trade::Mounting,
    }
}

fn sync_all(folder: &OwnedFd) -> Result<(), TrialError> {
    rustix::fs::syncfs(folder).map_err(|errno| TrialError::io("make the data durable")(errno.into()))
}

fn open_folder(path: &Path) -> Result<OwnedFd, TrialError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| TrialError::io("open the mount point")(errno.into()))
}
