//! From the bare device up to the mounted filesystem, step by step, and down again.
//!
//! Whatever was put up is remembered, so that it can be taken down in reverse order whatever happened; every error
//! on the way down is reported and none hides the cause.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FileType;

use crate::filesystem::{DIRECTORY, Filesystem};
use crate::host::cell::{Workshop, make_node, private_devices};
use crate::host::kernel_log::KernelLog;
use crate::host::procfs::processes_named;
use crate::host::program::{Program, succeeded};
use crate::host::root::Root;
use crate::host::{caches, mounts, syscall};
use crate::journal::CommandRecord;
use crate::layer::Encryption;
use crate::measure::Fresh;
use crate::plan::Candidate;

use super::bare_device::BareDevice;
use super::error::TrialError;
use super::mapping::{device_number, gone_within, mapping_node};
use super::sink::Sink;

/// Where the filesystem under test is mounted, below the agent's own tmpfs.
pub(super) const MOUNT: &str = "/tmp/fsverdict/mount";
/// Where the agent's cell shows the folder that is worked in instead of a device.
pub(super) const PLACE: &str = "/tmp/fsverdict-place";
/// The folder tools start in.
const EMPTY: &str = "/tmp/fsverdict/empty";
/// The key of encrypted layers. It protects nothing: the data are ours and go with the trial.
const KEY_FILE: &str = "/tmp/fsverdict/key";
/// Where cryptsetup talks to the kernel's device mapper.
const MAPPER: &str = "/dev/mapper/control";

/// How the lines of a reason begin that the kernel said.
pub const THE_KERNEL: &str = "the kernel: ";

/// A candidate's stack of device, encryption and filesystem.
pub(super) struct Stack<'a> {
    pub(super) sink: &'a mut Sink,
    candidate: &'a Candidate,
    pub(super) filesystem: &'static Filesystem,
    encryption: &'static Encryption,
    limit: Duration,
    /// The device the guard cleared, or the loop device on top of the image; none where a folder is worked in.
    claim: Option<&'a BareDevice>,
    mapping: String,
    /// The kernel's own node of the opened mapping: the one below /dev/mapper goes when its removal is asked for.
    opened: Option<PathBuf>,
    mounted: bool,
    cleaner: bool,
    /// That it does otherwise than asked was told.
    cleaner_told: bool,
    held: Option<File>,
    fresh: Option<Fresh>,
    log: KernelLog,
    /// Where programs are started from whose options a plan can choose; none before [`Stack::shut_in`].
    workshops: Option<Workshops>,
}

/// Where tools are started from.
struct Workshops {
    /// mount and umount, and what needs the mounted filesystem.
    mounting: Workshop,
    /// mkfs and fsck.
    formatting: Workshop,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trade {
    Layering,
    Formatting,
    Mounting,
}

impl<'a> Stack<'a> {
    pub(super) fn new(
        sink: &'a mut Sink,
        candidate: &'a Candidate,
        claim: Option<&'a BareDevice>,
        limit: Duration,
    ) -> Result<Self, TrialError> {
        let unknown = |what: &str, name: &str| TrialError::Unknown(format!("{what} `{name}`"));
        let filesystem = match candidate.path {
            Some(_) => &DIRECTORY,
            None => crate::filesystem::find(&candidate.filesystem)
                .ok_or_else(|| unknown("filesystem", &candidate.filesystem))?,
        };
        let encryption = crate::layer::find_encryption(&candidate.encryption)
            .ok_or_else(|| unknown("encryption", &candidate.encryption))?;
        for folder in [MOUNT, EMPTY] {
            std::fs::create_dir_all(folder).map_err(TrialError::io("make the mount point"))?;
        }
        // Unique on the machine, so that `fsverdict clean` can tell ours and two runs do not collide.
        let device = claim.and_then(|claim| claim.path.file_name()).unwrap_or_default();
        let mapping = format!("fsverdict-{}", device.to_string_lossy());
        Ok(Stack {
            sink,
            candidate,
            filesystem,
            encryption,
            limit,
            claim,
            mapping,
            opened: None,
            mounted: false,
            cleaner: false,
            cleaner_told: false,
            held: None,
            fresh: None,
            // Before there is a /dev without it.
            log: KernelLog::open(),
            workshops: None,
        })
    }

    pub(super) fn step(&mut self, step: &str) {
        self.log.forget();
        self.sink.step(step);
    }

    /// What the kernel has said since then of what this stack is made of, as lines after an error's own.
    pub(super) fn said_by_kernel(&mut self) -> String {
        let bottom = self.device_name().unwrap_or_default();
        let top = self.top().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let words = [bottom, top, self.filesystem.name.to_owned()];
        self.log.lines(&words).iter().map(|line| format!("\n{THE_KERNEL}{line}")).collect()
    }

    /// Whether a folder of the user's is worked in: there is no device, and nothing is made, mounted or checked.
    pub(super) fn in_folder(&self) -> bool {
        self.claim.is_none()
    }

    /// The device the filesystem lies on; an empty path in a folder.
    pub(super) fn top(&self) -> PathBuf {
        let bottom = || self.claim.map(|claim| claim.path.to_owned());
        self.opened.clone().or_else(bottom).unwrap_or_default()
    }

    /// Name of the bottom device in `/sys/class/block`; others' work is on that below a folder, too.
    pub(super) fn device_name(&self) -> Option<String> {
        let bottom = &self.claim?.path;
        let real = std::fs::canonicalize(bottom).unwrap_or_else(|_| bottom.to_owned());
        Some(real.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    /// Remembers how the filesystem is that was just made and mounted; a folder's space is not the trial's alone.
    pub(super) fn note_fresh(&mut self) -> Result<(), TrialError> {
        let Some(claim) = self.claim else { return Ok(()) };
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
        let mapper = Path::new(MAPPER);
        let Some(claim) = self.claim else { return Ok(private_devices(&[])?) };
        let mut kept = vec![claim.path.as_path()];
        if !self.encryption.is_none() && mapper.exists() {
            kept.push(mapper);
        }
        private_devices(&kept)?;
        self.workshops =
            Some(Workshops { mounting: Workshop::for_mounting()?, formatting: Workshop::for_formatting()? });
        Ok(())
    }

    /// Runs one program of the trial, traced, within the time limit.
    pub(super) fn tool(
        &mut self,
        step: &str,
        trade: Trade,
        argv: Vec<String>,
    ) -> Result<CommandRecord, TrialError> {
        // In an empty folder: a stray word among a plan's mkfs options must not name a file.
        let mut program = Program::new(argv).limit(self.limit).folder(Path::new(EMPTY));
        let workshop = self.workshops.as_ref().and_then(|workshops| match trade {
            Trade::Layering => None,
            Trade::Formatting => Some(&workshops.formatting),
            Trade::Mounting => Some(&workshops.mounting),
        });
        if let Some(workshop) = workshop {
            program = program.from(workshop);
        }
        let record = program.run(step)?;
        self.sink.command(&record);
        Ok(record)
    }

    fn must(&mut self, step: &str, trade: Trade, argv: Option<Vec<String>>) -> Result<(), TrialError> {
        match argv {
            Some(argv) => succeeded(self.tool(step, trade, argv)?).map(drop).map_err(TrialError::from),
            None => Ok(()),
        }
    }

    pub(super) fn encrypt(&mut self) -> Result<(), TrialError> {
        if self.encryption.is_none() {
            return Ok(());
        }
        std::fs::write(KEY_FILE, "fsverdict: not a secret").map_err(TrialError::io("write the key file"))?;
        let bottom = self.top().to_string_lossy().into_owned();
        self.check_device()?;
        self.must("encrypt", Trade::Layering, self.encryption.format_argv(&bottom, KEY_FILE))?;
        self.must(
            "open encryption",
            Trade::Layering,
            self.encryption.open_argv(&bottom, &self.mapping, KEY_FILE),
        )?;
        let node = mapping_node(&self.mapping)
            .ok_or_else(|| TrialError::Host(format!("cryptsetup made no device `{}`", self.mapping)))?;
        let number = device_number(&node)
            .ok_or_else(|| TrialError::Host(format!("{} has no device number", node.display())))?;
        make_node(&node, FileType::BlockDevice, number).map_err(TrialError::host)?;
        self.opened = Some(node);
        // Held open here and marked for removal with its last user: a crash leaves nothing, an unmount changes nothing.
        self.held = Some(File::open(self.top()).map_err(TrialError::io("hold the encrypted device"))?);
        self.must(
            "mark encryption for removal",
            Trade::Layering,
            self.encryption.close_deferred_argv(&self.mapping),
        )?;
        if let Some(argv) = self.encryption.status_argv(&self.mapping) {
            self.tool("describe encryption", Trade::Layering, argv)?;
        }
        Ok(())
    }

    pub(super) fn mkfs(&mut self) -> Result<(), TrialError> {
        let argv = self.filesystem.mkfs_argv(&self.top().to_string_lossy(), &self.candidate.mkfs);
        self.must("mkfs", Trade::Formatting, Some(argv))
    }

    pub(super) fn mount(&mut self) -> Result<(), TrialError> {
        if self.in_folder() {
            let shown = mounts::bind(Path::new(PLACE), Path::new(MOUNT));
            self.mounted = shown.is_ok();
            return shown.map_err(TrialError::host);
        }
        let mount = self.filesystem.mount(&self.candidate.mount);
        let device = self.top().to_string_lossy().into_owned();
        self.must("mount", Trade::Mounting, Some(mount.argv(&device, MOUNT)))?;
        self.mounted = true;
        if let Some(cleaner) = mount.cleaner {
            self.must("start the cleaner", Trade::Mounting, Some(cleaner.argv(&device, MOUNT)))?;
            self.cleaner = true;
        }
        Ok(())
    }

    /// Mounts what was unmounted a moment ago: somebody may have put something else in its place.
    pub(super) fn mount_again(&mut self) -> Result<(), TrialError> {
        self.check_device()?;
        self.mount()
    }

    /// Makes sure that what is about to be written, mounted or checked is the device that was cleared.
    pub(super) fn check_device(&self) -> Result<(), TrialError> {
        self.claim.map_or(Ok(()), |claim| claim.check(self.mounted || self.opened.is_some()))
    }

    pub(super) fn unmount(&mut self) -> Result<(), TrialError> {
        self.watch_cleaner();
        if self.cleaner {
            self.stop_cleaner();
        }
        // Without helpers, as it was mounted: a helper would look for a cleaner that fsverdict started itself.
        self.must("unmount", Trade::Mounting, Some(["umount", "-i", MOUNT].map(str::to_owned).into()))?;
        self.mounted = false;
        Ok(())
    }

    /// Tells, once, of a cleaner that ended by itself (without a writable /dev/shm it says that it runs, and dies), and
    /// of one that somebody else started; that one is stopped, too.
    fn watch_cleaner(&mut self) {
        let Some(known) = self.filesystem.cleaner else { return };
        let runs = self.cleaner_runs();
        if runs == self.cleaner {
            return;
        }
        let text = if runs {
            "was running though nobody asked for it"
        } else {
            "was asked for and started, but had ended by itself"
        };
        self.cleaner = runs;
        if !std::mem::replace(&mut self.cleaner_told, true) {
            self.sink.caution("", format!("the garbage collector {} {text}", known.tool.program));
        }
    }

    /// Ends the cleaner, which keeps the filesystem busy, and waits for its end.
    fn stop_cleaner(&mut self) {
        let name = self.filesystem.cleaner.map_or("", |cleaner| cleaner.tool.program);
        for _ in 0..100 {
            let cleaners = processes_named(&Root::new("/"), name);
            if cleaners.is_empty() {
                break;
            }
            for process in cleaners {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.cleaner = false;
    }

    /// Unmounts, forgets what is cached, mounts again.
    pub(super) fn make_cold(&mut self, phase: &str) -> Result<(), TrialError> {
        if self.in_folder() {
            return self.forget(phase);
        }
        self.unmount()?;
        self.sync_device()?;
        self.forget_device()?;
        self.mount_again()
    }

    /// Puts what is cached of the unmounted device, of every layer, out of memory. Files, names and attributes went with the
    /// mount; the caches of the machine's other filesystems stay: emptying them would take its time, and cost those who
    /// use them.
    pub(super) fn forget_device(&self) -> Result<(), TrialError> {
        let Some(claim) = self.claim else { return Ok(()) };
        for device in self.opened.iter().chain([&claim.path]) {
            File::open(device)
                .and_then(|open| Ok(syscall::forget_buffers(open)?))
                .map_err(TrialError::io("put the device out of the cache"))?;
        }
        claim.forget_image().map_err(TrialError::io("put the image out of the cache"))
    }

    /// What can be had of a cold start in a folder, which stays mounted.
    fn forget(&mut self, phase: &str) -> Result<(), TrialError> {
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

    /// Whether the filesystem's cleaner is among the processes here; what was started may have ended.
    pub(super) fn cleaner_runs(&self) -> bool {
        let known = self.filesystem.cleaner;
        known.is_some_and(|known| !processes_named(&Root::new("/"), known.tool.program).is_empty())
    }

    pub(super) fn resolved_mount(&self) -> Option<crate::host::procfs::Mount> {
        mounts::at(Path::new(MOUNT))
    }

    /// Takes down whatever is still up. Everything that fails is told; nothing is left out because of it.
    pub(super) fn take_down(&mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.mounted
            && let Err(error) = self.unmount()
        {
            complaints.push(format!("unmount: {error}"));
        }
        // The mapping goes with its last user, which is this descriptor.
        self.held = None;
        if self.opened.is_some() && !gone_within(&self.mapping, Duration::from_secs(5)) {
            complaints.push(format!("the encrypted device {} is still there", self.mapping));
        }
        complaints
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, TrialError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| TrialError::io("open the mount point")(errno.into()))
}
