//! Stages the datasets of a run: in memory if they fit, otherwise on a scratch disk; in the native lab once for all
//! trials.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::trial::{Assignment, STAGED, Staging, TestBench, TrialDevice, TrialSpec, staging_sandbox};
use fsverdict_folders::own_users;
use fsverdict_judgement::plan::StagingChoice;
use fsverdict_linux::host::image;
use fsverdict_linux::host::procfs::read_memory;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::sandbox::{FROM_OUTSIDE, make_inheritable};
use fsverdict_text::Reason;

use super::LabError;
use super::interruption::{ATTEMPTS, Interruption, describe_interruptions, terminating_signal};

/// Datasets that lie in the mounts of a process that is no more, for every trial to start from.
#[derive(Debug)]
pub(super) struct StagedDatasets {
    /// Open, it keeps the mounts; they are gone with the conductor.
    namespace: OwnedFd,
    on_disk: Option<PathBuf>,
}

/// How one try of staging ended.
enum StagingEnd {
    Held(StagedDatasets),
    /// By this signal, from outside.
    Killed(i32),
}

impl StagedDatasets {
    /// Stages the datasets as [`StagedDatasets::stage_once`] does, and again if the staging process was killed.
    pub(super) fn stage_for_run(
        spec: &TrialSpec,
        secrets: &Secrets,
        choice: StagingChoice,
        bytes: u64,
        folder: &Path,
    ) -> Result<Self, LabError> {
        let mut signals = Vec::new();
        while signals.len() < ATTEMPTS {
            match Self::stage_once(spec, secrets, choice, bytes, folder)? {
                StagingEnd::Held(held) => return Ok(held),
                StagingEnd::Killed(signal) => signals.push(Interruption::Signal(signal)),
            }
        }
        let text = format!("the process that stages the datasets was {}", describe_interruptions(&signals));
        let hint = "find out which process ended it (`dmesg` names what ran out of memory)";
        Err(LabError::Machine(Reason::new(text, hint)))
    }

    /// Stages the datasets of `spec`, at most `bytes`, in a sandbox without the secret files; beside images in
    /// `folder` if memory is too small.
    fn stage_once(
        spec: &TrialSpec,
        secrets: &Secrets,
        choice: StagingChoice,
        bytes: u64,
        folder: &Path,
    ) -> Result<StagingEnd, LabError> {
        let disk = if in_memory(choice, bytes) { None } else { Some(disk_for(bytes, folder)?) };
        let staging = match &disk {
            Some(disk) => Staging::Disk {
                device: TrialDevice::from_image(make_inheritable(disk.as_fd())?),
                folder: folder.to_owned(),
            },
            None => Staging::Memory,
        };
        let bench = TestBench {
            // Nothing is formatted while datasets are staged.
            devices: Vec::new(),
            staging,
            idle_load: 0.0,
            modules: None,
            laboratory_modules: None,
            programs: None,
            selected: BTreeMap::new(),
            device_rate: None,
            counts_computation: false,
        };
        let assignment = Assignment { spec: spec.clone(), bench };
        let mut sandbox = staging_sandbox(&assignment);
        sandbox.secrets = secrets.clone();
        sandbox.link_owners = Some(own_users());
        let mut command = sandbox.command()?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = serde_json::to_vec(&assignment).map_err(std::io::Error::from)?;
        line.push(b'\n');
        let input = child.stdin.take();
        let mut said = String::new();
        if let (Some(mut input), Some(output)) = (input.as_ref(), child.stdout.take()) {
            // A process that ended early is recognised by its missing answer.
            let _ = input.write_all(&line);
            let mut output = BufReader::new(output);
            while output.read_line(&mut said)? > 0 && said.trim_end() != STAGED {}
        }
        let namespace = std::fs::File::open(format!("/proc/{}/ns/mnt", child.id()));
        drop(input);
        let status = child.wait()?;
        if let Some(signal) = terminating_signal(status).filter(|signal| FROM_OUTSIDE.contains(signal)) {
            return Ok(StagingEnd::Killed(signal));
        }
        if said.trim_end() != STAGED || !status.success() {
            let said = said.trim_end();
            let error = serde_json::from_str(said).ok();
            return Err(LabError::Staging(error.unwrap_or_else(|| match said {
                "" => Reason::plain(format!("it ended with {status}")),
                said => Reason::plain(said),
            })));
        }
        let namespace = namespace?.into();
        Ok(StagingEnd::Held(StagedDatasets { namespace, on_disk: disk.map(|_| folder.to_owned()) }))
    }

    /// A descriptor of the mounts for one more sandbox, with the description for its agent.
    pub(super) fn lend_mounts(&self) -> std::io::Result<(OwnedFd, Staging)> {
        Ok((self.namespace.try_clone()?, Staging::Held { on_disk: self.on_disk.clone() }))
    }
}

/// Whether data of this many bytes are staged in memory: by default if at least half of the free memory is left for
/// caches, which are part of the measurement.
pub(super) fn in_memory(choice: StagingChoice, bytes: u64) -> bool {
    match choice {
        StagingChoice::Memory => true,
        StagingChoice::Disk => false,
        StagingChoice::Auto => {
            read_memory(&Root::default()).is_ok_and(|memory| bytes <= memory.available / 2)
        }
    }
}

/// Creates a scratch disk for datasets of this size; the process that stages them formats it.
pub(super) fn disk_for(bytes: u64, folder: &Path) -> Result<OwnedFd, LabError> {
    /// Space for the filesystem's own structures.
    const MARGIN: u64 = 256 << 20;
    let size = bytes.saturating_add(bytes / 5).saturating_add(MARGIN).next_multiple_of(1 << 20);
    Ok(image::create_image(folder, size, size).map_err(super::attachment::AttachmentError::from)?)
}
