//! From the bare device up to the mounted filesystem, step by step, and down again.
//!
//! Whatever was put up is remembered, so that it can be taken down in reverse order whatever happened; every error
//! on the way down is reported and none hides the cause.

mod cleaner;
mod host_mapper;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::filesystem::{DIRECTORY, Filesystem};
use crate::host::kernel_log::KernelLog;
use crate::host::root::Root;
use crate::host::{caches, mounts, syscall};
use crate::measure::Fresh;
use crate::sandbox::private_devices;
use fsverdict_judgement::journal::CommandRecord;
use fsverdict_judgement::plan::Candidate;

use super::act::OfLayer;
use super::bare_device::BareDevice;
use super::error::TrialError;
use super::layers::OpenLayers;
use super::programs::{Line, Programs, TrialNames};
use super::sink::Sink;
use super::spec::TrialDevice;
use super::tools::{EMPTY, Tools, Trade};
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
    /// The device the guard cleared, or the loop device on top of the image; none where a folder is worked in.
    claim: Option<BareDevice>,
    layers: OpenLayers,
    mounted: bool,
    cleaner: bool,
    /// That it does otherwise than asked was told.
    cleaner_told: bool,
    fresh: Option<Fresh>,
    log: KernelLog,
}

impl<'a> Stack<'a> {
    pub(super) fn new(
        sink: &'a mut Sink,
        candidate: &'a Candidate,
        limit: Duration,
    ) -> Result<Self, TrialError> {
        let filesystem = match candidate.path {
            Some(_) => &DIRECTORY,
            None => crate::filesystem::find(&candidate.filesystem)
                .ok_or_else(|| TrialError::Unknown(format!("filesystem `{}`", candidate.filesystem)))?,
        };
        let layers = OpenLayers::of(candidate)?;
        for folder in [MOUNT, EMPTY] {
            std::fs::create_dir_all(folder).map_err(TrialError::io("make the mount point"))?;
        }
        Ok(Stack {
            sink,
            candidate,
            filesystem,
            programs: Programs { candidate, filesystem },
            tools: Tools::new(limit),
            claim: None,
            layers,
            mounted: false,
            cleaner: false,
            cleaner_told: false,
            fresh: None,
            // Before there is a /dev without it.
            log: KernelLog::open(),
        })
    }

    /// Makes sure that the device is ours.
    pub(super) fn claim(&mut self, devices: &[TrialDevice]) -> Result<(), TrialError> {
        let [device] = devices else {
            let count = devices.len();
            return Err(TrialError::Host(format!("a filesystem lies on one device, and {count} were given")));
        };
        self.claim = Some(BareDevice::take(device, self.sink)?);
        Ok(())
    }

    /// The device that was claimed; an error where a folder is worked in.
    pub(super) fn bare(&mut self) -> Result<&mut BareDevice, TrialError> {
        self.claim.as_mut().ok_or_else(|| TrialError::Host("a folder has no device".to_owned()))
    }

    /// Tells what is known of the device as it is now.
    pub(super) fn describe_device(&mut self) {
        let facts = self.claim.as_mut().map(BareDevice::facts).unwrap_or_default();
        self.sink.facts(facts);
    }

    pub(super) fn step(&mut self, step: &str) {
        self.log.forget();
        self.sink.step(step);
    }

    /// What the kernel has said since then of what this stack is made of, as lines after an error's own.
    pub(super) fn said_by_kernel(&mut self) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let devices = self.device_name().into_iter().chain(self.layers.nodes().map(name));
        let words: Vec<String> = devices.chain([self.filesystem.name.to_owned()]).collect();
        self.log.lines(&words).iter().map(|line| format!("\n{THE_KERNEL}{line}")).collect()
    }

    /// Whether a folder of the user's is worked in: there is no device, and nothing is made, mounted or checked.
    pub(super) fn in_folder(&self) -> bool {
        self.candidate.path.is_some()
    }

    /// The device the filesystem lies on; an empty path in a folder.
    pub(super) fn top(&self) -> PathBuf {
        self.layers.nodes().next().or(self.bottom()).map(Path::to_owned).unwrap_or_default()
    }

    fn bottom(&self) -> Option<&Path> {
        self.claim.as_ref().map(|claim| claim.path.as_path())
    }

    fn argv(&self, line: Line) -> Option<Vec<String>> {
        let names = TrialNames { top: self.top().to_string_lossy().into_owned(), mount: MOUNT };
        self.programs.argv(line, &names)
    }

    /// Name of the bottom device in `/sys/class/block`; others' work is on that below a folder, too.
    pub(super) fn device_name(&self) -> Option<String> {
        let bottom = self.bottom()?;
        let real = std::fs::canonicalize(bottom).unwrap_or_else(|_| bottom.to_owned());
        Some(real.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    /// Remembers how the filesystem is that was just made and mounted; a folder's space is not the trial's alone.
    pub(super) fn note_fresh(&mut self) -> Result<(), TrialError> {
        let Some(claim) = &self.claim else { return Ok(()) };
        let size = claim.size().map_err(TrialError::io("ask for the size of the device"))?;
        self.fresh = Some(Fresh::of(Path::new(MOUNT), size)?);
        Ok(())
    }

    pub(super) fn fresh(&self) -> Option<&Fresh> {
        self.fresh.as_ref()
    }

    /// From here on there is no disk but this stack's, neither for us nor for any tool, whatever its options name: those
    /// of mkfs and mount are the plan's. The claim, and staging, needed others.
    pub(super) fn shut_in(&mut self) -> Result<(), TrialError> {
        let Some(claim) = &self.claim else { return Ok(private_devices(&[])?) };
        let mut kept = vec![claim.path.as_path()];
        for node in self.layers.needs().filter(|node| node.exists()) {
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
        let Some(claim) = &self.claim else { return Ok(()) };
        let mut mapper = HostMapper { sink: self.sink, tools: &self.tools };
        self.layers.act(at, act, &claim.path, &mut mapper)
    }

    pub(super) fn mkfs(&mut self) -> Result<(), TrialError> {
        self.must(Line::Mkfs)
    }

    /// The record of the checker, whatever it says; none where the filesystem has none.
    pub(super) fn check(&mut self, name: &str) -> Result<Option<CommandRecord>, TrialError> {
        let argv = self.argv(Line::Check);
        argv.map(|argv| self.tools.run(self.sink, name, Trade::Formatting, argv)).transpose()
    }

    pub(super) fn mount(&mut self) -> Result<(), TrialError> {
        if self.in_folder() {
            let shown = mounts::bind(Path::new(PLACE), Path::new(MOUNT));
            self.mounted = shown.is_ok();
            return shown.map_err(TrialError::host);
        }
        self.must(Line::Mount)?;
        self.mounted = true;
        self.must(Line::Cleaner)?;
        self.cleaner = self.programs.cleaner().is_some();
        Ok(())
    }

    /// Mounts what was unmounted a moment ago: somebody may have put something else in its place.
    pub(super) fn mount_again(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        self.mount()
    }

    /// Makes sure that what is about to be written, mounted or checked is the device that was cleared.
    pub(super) fn check_device(&self) -> Result<(), TrialError> {
        self.claim
            .as_ref()
            .map_or(Ok(()), |claim| claim.check(self.mounted || self.layers.nodes().next().is_some()))
    }

    pub(super) fn unmount(&mut self) -> Result<(), TrialError> {
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
        let Some(claim) = &self.claim else { return Ok(()) };
        for device in self.layers.nodes().chain([claim.path.as_path()]) {
            File::open(device)
                .and_then(|open| Ok(syscall::forget_buffers(open)?))
                .map_err(TrialError::io("put the device out of the cache"))?;
        }
        claim.forget_image().map_err(TrialError::io("put the image out of the cache"))
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
        rustix::fs::syncfs(&folder).map_err(|errno| TrialError::io("make the data durable")(errno.into()))?;
        if self.in_folder() { Ok(()) } else { self.sync_device() }
    }

    /// Makes everything written to the device itself durable.
    pub(super) fn sync_device(&mut self) -> Result<(), TrialError> {
        let device = File::open(self.top()).map_err(TrialError::io("open the device"))?;
        device.sync_all().map_err(TrialError::io("make the device's data durable"))
    }

    pub(super) fn resolved_mount(&self) -> Option<crate::host::procfs::Mount> {
        mounts::at(Path::new(MOUNT))
    }

    /// After an error it may still be mounted.
    pub(super) fn unmount_left(&mut self) -> Result<(), TrialError> {
        if self.mounted { self.unmount() } else { Ok(()) }
    }

    pub(super) fn release(&mut self) -> Result<(), TrialError> {
        self.claim.take().map_or(Ok(()), BareDevice::release)
    }
}

/// Where the program of a line is started from.
const fn trade(line: Line) -> Trade {
    match line {
        Line::Mkfs | Line::Check => Trade::Formatting,
        Line::Mount | Line::Cleaner | Line::Unmount => Trade::Mounting,
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, TrialError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| TrialError::io("open the mount point")(errno.into()))
}
