//! The `native` lab: this machine's kernel. The agent is a child process in a sandbox; root only.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use crate::trial::{Assignment, Staging, TestBench, TrialSpec, agent_sandbox, bytes_to_stage};
use fsverdict_folders::own_users;
use fsverdict_judgement::journal::{Caution, Event};
use fsverdict_judgement::plan::{Candidate, DeviceSource, LabChoice, Plan, StagingChoice, folder_room};
use fsverdict_linux::host::borrowed_scheduler;
use fsverdict_linux::host::own_folder::check_usable;
use fsverdict_linux::host::procfs::known_filesystems;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::host::sysfs::Schedulers;
use fsverdict_linux::sandbox::{Isolation, make_inheritable, possible_isolation};
use fsverdict_stack::layer::{Layer, LayerKind, find_scheduler};
use fsverdict_text::{Hinted, Reason};
use fsverdict_workload::measure::{IDLE_WINDOW, idle_load};

use super::attachment::LentDevice;
use super::drive::run_trial_process;
use super::hidden::hidden_from;
use super::missing_tools::missing_tools;
use super::scheduler_obstacle::scheduler_obstacle;
use super::staged_datasets::StagedDatasets;
use super::stop_watcher::StopWatcher;
use super::trial_end::TrialEnd;
use super::{Attachments, Lab, LabEntry, LabError, Watch};

pub(super) const ENTRY: LabEntry = LabEntry {
    choice: LabChoice::Native,
    summary: "this machine's kernel: on a real device or a scratch image as root, in a folder of yours as any user",
    takes: |source| !source.is_modelled(),
    prepare: |plan, _| Ok(Box::new(Native::prepare_native(plan)?)),
    arrival: None,
};

/// This machine's kernel.
#[derive(Debug)]
pub(super) struct Native {
    known: Vec<String>,
    on_image: bool,
    /// Name in sysfs of the device, or of one of its kind.
    device: String,
    /// Bytes that a trial writes into a folder at least.
    room: u64,
    staging: StagingChoice,
    /// Measured once, right before the first trial.
    idle_load: OnceLock<f64>,
    /// Staged once, right before the first trial that needs it.
    held: OnceLock<StagedDatasets>,
    /// Files of this machine that trials cannot see.
    secrets: Secrets,
}

impl Native {
    /// Checks that native trials are possible here.
    fn prepare_native(plan: &Plan) -> Result<Self, LabError> {
        let root = rustix::process::geteuid().is_root();
        if !root && plan.device.source != DeviceSource::Folders {
            return Err(LabError::NotRoot);
        }
        match possible_isolation() {
            Isolation::None if root => Err(LabError::NoNamespaces),
            Isolation::None => Err(LabError::NoUserNamespaces),
            Isolation::Namespaces | Isolation::UserNamespaces => Self::describe_only(plan),
        }
    }

    /// As `prepare`, but only to describe the lab.
    pub(super) fn describe_only(plan: &Plan) -> Result<Self, LabError> {
        let known = known_filesystems(&Root::new("/")).map_err(|error| LabError::Host(error.to_string()))?;
        let (on_image, device) = match &plan.device.source {
            // Loop devices are all alike; the one an image gets is not known yet.
            DeviceSource::Image(_) | DeviceSource::Model { .. } | DeviceSource::Folders => {
                (true, "loop0".to_owned())
            }
            DeviceSource::Path(path) => (false, kernel_name(path)),
        };
        Ok(Native {
            known,
            on_image,
            device,
            room: folder_room(plan),
            staging: plan.device.staging,
            idle_load: OnceLock::new(),
            held: OnceLock::new(),
            secrets: hidden_from(plan, []),
        })
    }

    /// The staged datasets of the run, if its trials need any.
    fn stage_once(
        &self,
        spec: &TrialSpec,
        attachments: &Attachments,
        watch: Watch<'_>,
    ) -> Result<Option<&StagedDatasets>, LabError> {
        // Each trial in a folder stages its own copy: an ordinary user cannot join the mounts of another namespace,
        // and those of the staging process are read-only, including the user's folder.
        if spec.candidate.path.is_some() {
            return Ok(None);
        }
        if self.held.get().is_none() {
            let bytes = bytes_to_stage(&spec.datasets, &spec.phases).map_err(|failure| {
                let hint = "make it readable to you, or state how much of it to take (size = \"1GiB\")";
                LabError::Staging(Reason::new(failure, hint))
            })?;
            let Some(bytes) = bytes else { return Ok(None) };
            watch(Event::StepStarted { step: "stage".to_owned() });
            let held = StagedDatasets::stage_for_run(
                spec,
                &self.secrets,
                self.staging,
                bytes,
                &attachments.scratch_folder()?,
            )?;
            let _ = self.held.set(held);
        }
        Ok(self.held.get())
    }

    fn has_driver(&self, filesystem: &str) -> bool {
        self.known.iter().any(|known| known == filesystem) || can_load_module(filesystem)
    }

    /// A scheduler that this device cannot be set to. One that cannot be asked for yet is for the trial to find out.
    fn scheduler_obstacle(&self, wanted: &str) -> Option<Reason> {
        let offered = Schedulers::read_schedulers(&Root::default(), &self.device).ok()??.available;
        // The kernel loads a module when the scheduler is set.
        let module = find_scheduler(wanted).and_then(|scheduler| scheduler.driver);
        if module.is_some_and(|(_, module)| can_load_module(module)) {
            return None;
        }
        let whom = if self.on_image { "a loop device here" } else { self.device.as_str() };
        scheduler_obstacle(wanted, whom, &offered)
    }
}

fn kernel_name(device: &Path) -> String {
    let real = std::fs::canonicalize(device).unwrap_or_else(|_| device.to_owned());
    real.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether the kernel itself offers the device mapper; a node below `/dev/mapper` proves nothing.
fn has_device_mapper() -> bool {
    Root::default()
        .text("proc/misc")
        .is_ok_and(|text| text.lines().any(|line| line.ends_with(" device-mapper")))
}

/// Whether this kernel could load the module; asking changes nothing.
fn can_load_module(module: &str) -> bool {
    let probe = fsverdict_linux::sandbox::program::Program::new(["modprobe", "--dry-run", "--quiet", module])
        .run("probe");
    probe.is_ok_and(|record| record.exit == Some(0))
}

impl Lab for Native {
    fn name(&self) -> &'static str {
        ENTRY.name()
    }

    fn fidelity(&self) -> String {
        "native kernel".to_owned()
    }

    fn facts(&self) -> fsverdict_judgement::journal::Facts {
        fsverdict_judgement::journal::Facts::new()
    }

    fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason> {
        if let Some(folder) = &candidate.path {
            return check_usable(folder, self.room).err().map(|error| error.reason());
        }
        if fsverdict_stack::filesystem::find_filesystem(&candidate.filesystem)
            .is_some_and(|filesystem| filesystem.pool.is_some())
        {
            // A pool belongs to the whole kernel, not to a mount namespace, and outlives the trial that imported it.
            return Some(Reason::new(
                format!(
                    "{} is not tried in this machine's own kernel, whether that has it or not: a trial that is \
                     killed would leave its pool here, beside yours",
                    candidate.filesystem
                ),
                "the kernel of a guest takes it with it: --lab uml, after `fsverdict kernel build --with zfs`, or --lab \
                 vm with a kernel that has the module; to compare a pool of yours as it is, name a folder on it: \
                 filesystem = \"directory\", path = \"/tank/folder\"",
            ));
        }
        let sandbox = "the uml lab may have it: --lab uml";
        if !self.has_driver(&candidate.filesystem) {
            let lacking = format!("this kernel has no driver for {}", candidate.filesystem);
            return Some(Reason::new(lacking, sandbox));
        }
        if let Some(layer) =
            fsverdict_stack::layer::layers_of(candidate).find(|layer| !layer.kind.goes_by_itself())
        {
            // The kernel removes a mapping with its last user, and stops no array and no volume by itself.
            let what = if layer.kind == LayerKind::Array { "array" } else { "volume" };
            let lacking =
                format!("a trial that is killed would leave its {what} ({}) on this machine", layer.name);
            return Some(Reason::new(lacking, "a guest's kernel takes it with it: --lab uml, or --lab vm"));
        }
        if let Some(layer) = fsverdict_stack::layer::layers_of(candidate)
            .find(|layer| layer.kind.is_above() && !self.has_driver(layer.driver))
        {
            return Some(Reason::new(format!("this kernel has no driver for {}", layer.driver), sandbox));
        }
        let lacks_driver =
            |layer: &&Layer| !layer.kind.is_above() && !has_device_mapper() && !can_load_module(layer.driver);
        if let Some(layer) = fsverdict_stack::layer::layers_of(candidate).find(lacks_driver) {
            let lacking = format!("this kernel has no device mapper, which {} needs", layer.name);
            return Some(Reason::new(lacking, sandbox));
        }
        let scheduler = candidate.scheduler.as_deref().and_then(|wanted| self.scheduler_obstacle(wanted));
        scheduler.or_else(|| missing_tools(candidate))
    }

    fn command_line(&self) -> Vec<String> {
        ["fsverdict", "agent"].map(str::to_owned).into()
    }

    fn run_trial(
        &self,
        spec: &TrialSpec,
        attachments: &Attachments,
        _job: usize,
        watch: Watch<'_>,
    ) -> Result<TrialEnd, LabError> {
        let mut inherited: Vec<OwnedFd> = Vec::new();
        let idle_load =
            *self.idle_load.get_or_init(|| idle_load(&Root::default(), IDLE_WINDOW).unwrap_or(0.0));
        let (mut devices, mut folders) = (Vec::new(), Vec::new());
        for LentDevice { device, file, folder } in attachments.lend_devices(spec.candidate.path.as_deref())? {
            devices.push(device);
            inherited.extend(file);
            folders.extend(folder);
        }
        let mut joins = None;
        let staging = match self.stage_once(spec, attachments, watch)? {
            Some(held) => {
                let (namespace, staging) = held.lend_mounts()?;
                joins = Some(make_inheritable(namespace.as_fd())?);
                inherited.push(namespace);
                staging
            }
            None => Staging::Memory,
        };
        let bench = TestBench {
            devices,
            staging,
            idle_load,
            modules: None,
            laboratory_modules: None,
            programs: None,
            selected: BTreeMap::new(),
            device_rate: None,
            counts_computation: false,
        };
        let assignment = Assignment { spec: spec.clone(), bench };
        let (events, sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let (reader, writer) = std::io::pipe()?;
        let mut sandbox = agent_sandbox(&assignment);
        // The mounts it joins have their covers.
        if joins.is_none() {
            sandbox.secrets = self.secrets.clone();
        }
        sandbox.joins = joins;
        sandbox.link_owners = Some(own_users());
        let stops = StopWatcher::new(&mut sandbox, &mut inherited)?;
        let mut command = sandbox.command()?;
        // Standard output is the console; events go their own way.
        command
            .env(crate::trial::EVENTS_VARIABLE, make_inheritable(sender.as_fd())?.to_string())
            .stdin(reader);
        inherited.push(sender);
        // The description may exceed a pipe's buffer, so a thread writes it.
        let description = serde_json::to_vec(&assignment).map_err(std::io::Error::from)?;
        std::thread::spawn(move || std::io::Write::write_all(&mut { writer }, &description));
        let mut watch_devices = |event| match event {
            Event::Device(event) => attachments.note_device_event(&event),
            other => watch(other),
        };
        let end = run_trial_process(command, events, &stops, spec, &mut watch_devices, inherited, None)?;
        if let Some(own) = folders.pop() {
            let path = own.path().to_owned();
            if let Err(error) = own.remove() {
                let text = format!(
                    "{} could not be removed: {error}; `fsverdict clean` tries again",
                    path.display()
                );
                watch(Event::Caution(Caution::new(text)));
            }
            return Ok(end);
        }
        // An agent that was killed could not.
        for (name, _) in borrowed_scheduler::left_behind(&Root::default()) {
            borrowed_scheduler::put_back(&Root::default(), &name)?;
        }
        Ok(end)
    }
}
