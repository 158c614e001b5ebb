//! From the bare device up to the mounted filesystem, step by step, and down again.
//!
//! Whatever was put up is remembered, so that it can be taken down in reverse order whatever happened; every error
//! on the way down is reported and none hides the cause.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::filesystem::Filesystem;
use crate::host::program::{Program, succeeded};
use crate::host::{caches, mounts};
use crate::journal::CommandRecord;
use crate::layer::Encryption;
use crate::plan::Candidate;

use super::error::TrialError;
use super::sink::Sink;

/// Where the filesystem under test is mounted, below the agent's own tmpfs.
pub(super) const MOUNT: &str = "/tmp/fsverdict/mount";
/// The key of encrypted layers. It protects nothing: the data are ours and go with the trial.
const KEY_FILE: &str = "/tmp/fsverdict/key";

/// A candidate's stack of device, encryption and filesystem.
pub(super) struct Stack<'a> {
    pub(super) sink: &'a mut Sink,
    candidate: &'a Candidate,
    filesystem: &'static Filesystem,
    encryption: &'static Encryption,
    limit: Duration,
    /// The device the guard cleared, or the loop device on top of the image.
    bottom: PathBuf,
    mapping: String,
    opened: bool,
    mounted: bool,
    cleaner: bool,
}

impl<'a> Stack<'a> {
    pub(super) fn new(
        sink: &'a mut Sink,
        candidate: &'a Candidate,
        bottom: PathBuf,
        limit: Duration,
    ) -> Result<Self, TrialError> {
        let unknown = |what: &str, name: &str| TrialError::Unknown(format!("{what} `{name}`"));
        let filesystem = crate::filesystem::find(&candidate.filesystem)
            .ok_or_else(|| unknown("filesystem", &candidate.filesystem))?;
        let encryption = crate::layer::find_encryption(&candidate.encryption)
            .ok_or_else(|| unknown("encryption", &candidate.encryption))?;
        std::fs::create_dir_all(MOUNT).map_err(TrialError::io("make the mount point"))?;
        // Unique on the machine, so that `fsverdict clean` can tell ours and two runs do not collide.
        let mapping = format!("fsverdict-{}", bottom.file_name().unwrap_or_default().to_string_lossy());
        let (opened, mounted, cleaner) = (false, false, false);
        Ok(Stack { sink, candidate, filesystem, encryption, limit, bottom, mapping, opened, mounted, cleaner })
    }

    pub(super) fn filesystem(&self) -> &'static Filesystem {
        self.filesystem
    }

    /// The device the filesystem lies on.
    pub(super) fn top(&self) -> PathBuf {
        if self.encryption.is_none() { self.bottom.clone() } else { Path::new("/dev/mapper").join(&self.mapping) }
    }

    /// Name of the bottom device in `/sys/class/block`.
    pub(super) fn device_name(&self) -> String {
        let real = std::fs::canonicalize(&self.bottom).unwrap_or_else(|_| self.bottom.clone());
        real.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Runs one program of the trial, traced, within the time limit.
    pub(super) fn tool(&mut self, step: &str, argv: Vec<String>) -> Result<CommandRecord, TrialError> {
        let record = Program::new(argv).limit(self.limit).run(step)?;
        self.sink.command(&record);
        Ok(record)
    }

    fn must(&mut self, step: &str, argv: Option<Vec<String>>) -> Result<(), TrialError> {
        match argv {
            Some(argv) => succeeded(self.tool(step, argv)?).map(drop).map_err(TrialError::from),
            None => Ok(()),
        }
    }

    /// Encrypts the device and opens it.
    pub(super) fn encrypt(&mut self) -> Result<(), TrialError> {
        if self.encryption.is_none() {
            return Ok(());
        }
        std::fs::write(KEY_FILE, "fsverdict: not a secret").map_err(TrialError::io("write the key file"))?;
        let bottom = self.bottom.to_string_lossy().into_owned();
        self.must("encrypt", self.encryption.format_argv(&bottom, KEY_FILE))?;
        self.must("open encryption", self.encryption.open_argv(&bottom, &self.mapping, KEY_FILE))?;
        self.opened = true;
        Ok(())
    }

    pub(super) fn mkfs(&mut self) -> Result<(), TrialError> {
        let argv = self.filesystem.mkfs_argv(&self.top().to_string_lossy(), &self.candidate.mkfs);
        self.must("mkfs", Some(argv))
    }

    /// Mounts it; the mapping below is marked for removal with its last user, so that a crash leaves nothing.
    pub(super) fn mount(&mut self) -> Result<(), TrialError> {
        let mount = self.filesystem.mount(&self.candidate.mount);
        let device = self.top().to_string_lossy().into_owned();
        self.must("mount", Some(mount.argv(&device, MOUNT)))?;
        self.mounted = true;
        self.must("mark encryption for removal", self.encryption.close_argv(&self.mapping, true))?;
        if let Some(cleaner) = mount.cleaner {
            self.must("start the cleaner", Some(cleaner.argv(&device, MOUNT)))?;
            self.cleaner = true;
        }
        Ok(())
    }

    pub(super) fn unmount(&mut self) -> Result<(), TrialError> {
        if self.cleaner {
            self.stop_cleaner();
        }
        let argv = self.encryption.close_argv(&self.mapping, true).map(|mut argv| {
            argv.iter_mut().filter(|word| *word == "--deferred").for_each(|word| *word = "--cancel-deferred".into());
            argv
        });
        self.must("keep encryption open", argv)?;
        self.must("unmount", Some(["umount", MOUNT].map(str::to_owned).into()))?;
        self.mounted = false;
        Ok(())
    }

    fn stop_cleaner(&mut self) {
        let name = self.filesystem.cleaner.map_or("", |cleaner| cleaner.tool.program);
        for process in crate::host::procfs::processes_named(name) {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        self.cleaner = false;
    }

    /// Unmounts, forgets what is cached, mounts again.
    pub(super) fn make_cold(&mut self) -> Result<(), TrialError> {
        rustix::fs::sync();
        self.unmount()?;
        caches::drop_caches(&crate::host::root::Root::new("/")).map_err(|error| TrialError::Host(error.to_string()))?;
        self.mount()
    }

    /// Makes everything written to the mounted filesystem durable.
    pub(super) fn sync(&self) -> Result<(), TrialError> {
        let folder = open_folder(Path::new(MOUNT))?;
        rustix::fs::syncfs(&folder).map_err(|errno| TrialError::io("make the data durable")(errno.into()))
    }

    /// Makes everything written to the device itself durable.
    pub(super) fn sync_device(&self) -> Result<(), TrialError> {
        let device = std::fs::File::open(self.top()).map_err(TrialError::io("open the device"))?;
        device.sync_all().map_err(TrialError::io("make the device's data durable"))
    }

    /// The mount as the kernel resolved it.
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
        if self.opened {
            let argv = self.encryption.close_argv(&self.mapping, self.mounted);
            match self.must("close encryption", argv) {
                Ok(()) => self.opened = false,
                Err(error) => complaints.push(format!("close encryption: {error}")),
            }
        }
        complaints
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, TrialError> {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| TrialError::io("open the mount point")(errno.into()))
}
