//! Conducts one trial in a guest: draws its devices and sizes, starts the kernel in a sandbox, and follows it to its end.

use std::os::fd::{AsFd, OwnedFd};

use crate::trial::{Assignment, Drawn, QueueLimits, Staging, TestBench, TrialDevice, TrialSpec};
use fsverdict_disk::backend::Clock;
use fsverdict_disk::device::{Draw, Limits};
use fsverdict_folders::own_users;
use fsverdict_judgement::journal::{Caution, Event, Facts, Learnt, TrialId};
use fsverdict_judgement::plan::{Candidate, once_each};
use fsverdict_linux::host::placement::Placement;
use fsverdict_linux::sandbox::{Sandbox, make_inheritable};
use fsverdict_text::DrawnNumbers;

use super::backend::{Backend, GuestSockets};
use super::backend_reports::{Trail, add_backend_reports};
use super::description::covered_folder;
use super::device_process::DeviceProcess;
use super::drive::run_trial_process;
use super::free_cpu;
use super::guest_command::{DiskService, GuestCommand, GuestInputs, GuestTraits, TrialRequest};
use super::guests::{GuestSizes, Guests, MEMORY_FOLDER};
use super::kernel::kernel_sandbox;
use super::modelled::{Modelled, disk_name, fastest_together, serve_devices};
use super::processors::drawn_prices;
use super::staged_datasets::disk_for;
use super::stop_watcher::StopWatcher;
use super::traced::{Spans, TracedDevice};
use super::trial_end::{TrialEnd, at_step};
use super::{Attachments, LabError};

fn drawn_facts(drawn: &Drawn, memory: u64, size: u64, numbers: &DrawnNumbers) -> Facts {
    let fact = |name: &str, value: String| (format!("drawn.{name}"), value);
    let of_device = numbers.iter().map(|(key, number)| fact(&format!("device.{key}"), number.to_string()));
    let of_block = [
        fact("memory", memory.to_string()),
        fact("size", size.to_string()),
        fact("pause", format!("{:.6}", drawn.pause.as_secs_f64())),
        fact("names", format!("{:016x}", drawn.names)),
    ];
    of_block.into_iter().chain(of_device).collect()
}

/// A caution about devices of different queue depths: the guest's driver has one depth for all.
fn uneven_depths(limits: &[Limits]) -> Option<String> {
    let (least, most) = (
        limits.iter().map(|disk| disk.queue_depth).min()?,
        limits.iter().map(|disk| disk.queue_depth).max()?,
    );
    (least < most).then(|| {
        format!(
            "the devices take {least} and {most} requests at once, and the guest's driver gives up to {most} to each: what waits for the one with fewer waits inside it, where the kernel can no longer put requests together"
        )
    })
}

impl Guests {
    /// Runs one trial. `driver` is the module of the disk's driver, if the guest must load it; `start` builds the
    /// lab's command that starts the kernel.
    pub(super) fn run_guest_trial(
        &self,
        request: &TrialRequest<'_>,
        traits: GuestTraits,
        driver: Option<&str>,
        start: impl FnOnce(GuestInputs<'_>) -> Result<GuestCommand, LabError>,
        watch: &mut dyn FnMut(Event),
    ) -> Result<TrialEnd, LabError> {
        let TrialRequest { spec, attachments, job } = *request;
        let placement =
            *self.placements.get(job).ok_or_else(|| std::io::Error::from(rustix::io::Errno::NODEV))?;
        let (memory_factor, size_factor) = spec.drawn.map_or((1.0, 1.0), |drawn| (drawn.memory, drawn.size));
        let sizes = self.guest_sizes(Some(&spec.candidate), memory_factor);
        let draw = spec.drawn.and_then(|drawn| drawn.device);
        let modelled = self.modelled_devices(&spec.candidate).into_iter();
        let modelled: Vec<Modelled<'_>> =
            modelled.map(|modelled| modelled.drawn_by(draw).of_size(size_factor)).collect();
        if let Some(drawn) = &spec.drawn {
            report_drawn(drawn, sizes.memory, &modelled, watch)?;
        }
        let prices = self.report_prices(&spec.candidate, draw, watch);
        let (staging_disk, staging) = self.prepare_staging(&sizes, traits, attachments)?;
        let limits = modelled.iter().map(Modelled::queue_limits).collect::<Result<Vec<_>, _>>()?;
        self.warn_of_simulated_time(spec, &limits, watch);
        let bench = TestBench { staging, ..self.test_bench(request, traits, driver, &modelled, &limits)? };
        let (events, sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(std::io::Error::from)?;
        let (mut backend, disks, served) = if modelled.is_empty() {
            (None, attachments.open_disks()?, None)
        } else {
            let (backend, GuestSockets { disks, clock }) =
                serve_devices(&modelled, &spec.trial, attachments, placement, spec.limit)?;
            (Some(backend), disks, Some(DiskService { models: &modelled, clock }))
        };
        let started = start(GuestInputs {
            kernel: self.kernel_for(&spec.candidate),
            trial: &spec.trial,
            memory: sizes.memory,
            assignment: &Assignment { spec: spec.clone(), bench },
            disks,
            served,
            staging: staging_disk,
            prices,
            events: sender,
        })?;
        let (sandbox, inherited) = self.guest_sandbox(spec, traits, started)?;
        let mut follower = GuestFollower::new(spec, self.clock);
        let end = follower.run_guest(sandbox, inherited, events, placement, backend.as_mut(), watch)?;
        let Some(backend) = backend else { return Ok(end) };
        // A modelled device fails where the plan says so, and the trial measures how the candidate reacts.
        let end = TrialEnd { device_error: None, ..end };
        let devices = match traits.same_clock {
            true => traced_devices(&modelled, attachments, &spec.trial)?,
            false => Vec::new(),
        };
        let trail = Trail { spans: &follower.spans, devices };
        add_backend_reports(backend, end, follower.last_step().as_deref(), traits.timed, trail, watch)
    }

    /// Draws the prices of computation and reports them; returns the kernel's word that sets them.
    fn report_prices(
        &self,
        candidate: &Candidate,
        draw: Option<Draw>,
        watch: &mut dyn FnMut(Event),
    ) -> Option<String> {
        let model = self.processor_model(candidate)?;
        let prices = model.prices(draw);
        let facts = drawn_prices(&prices, draw);
        if !facts.is_empty() {
            watch(Event::Facts { facts, learnt: Learnt::default() });
        }
        Some(model.kernel_word(&prices))
    }

    /// Where datasets are staged, with the scratch disk for them if they do not fit into memory.
    fn prepare_staging(
        &self,
        sizes: &GuestSizes,
        traits: GuestTraits,
        attachments: &Attachments,
    ) -> Result<(Option<OwnedFd>, Staging), LabError> {
        let Some(bytes) = sizes.on_disk else { return Ok((None, Staging::Memory)) };
        let folder = attachments.scratch_folder()?;
        let path = (traits.staging)(self.plan.device.count()).into();
        let device = TrialDevice::Guest { path, queue: None };
        Ok((Some(disk_for(bytes, &folder)?), Staging::Disk { device, folder }))
    }

    /// Reports cautions about free computation and uneven queue depths, in simulated time.
    fn warn_of_simulated_time(&self, spec: &TrialSpec, limits: &[Limits], watch: &mut dyn FnMut(Event)) {
        if self.clock != Clock::Simulated {
            return;
        }
        let is_free = self.processor_model(&spec.candidate).is_none();
        let free = limits.iter().filter(|_| is_free);
        let cautions = free.flat_map(|limits| free_cpu::free_cpu_cautions(spec, limits));
        let uneven = uneven_depths(limits).map(Caution::new);
        for caution in once_each(cautions.chain(uneven)) {
            watch(Event::Caution(caution));
        }
    }

    /// The bench of a trial, with datasets staged in memory.
    fn test_bench(
        &self,
        request: &TrialRequest<'_>,
        traits: GuestTraits,
        driver: Option<&str>,
        modelled: &[Modelled<'_>],
        limits: &[Limits],
    ) -> Result<TestBench, LabError> {
        let candidate = &request.spec.candidate;
        let device = |number: usize| TrialDevice::Guest {
            path: if modelled.is_empty() { (traits.disk)(number) } else { disk_name(number) }.into(),
            queue: limits.get(number - 1).map(|limits| QueueLimits {
                rotational: limits.rotational,
                max_sectors_kb: limits.max_sectors_kb,
            }),
        };
        Ok(TestBench {
            devices: (1..=request.attachments.iter().count()).map(device).collect(),
            staging: Staging::Memory,
            idle_load: 0.0,
            modules: self.kernel_for(candidate).modules_for(candidate, driver),
            laboratory_modules: self.guest_modules(candidate),
            programs: self.program_folders(candidate),
            selected: self.folder_selections(),
            device_rate: fastest_together(modelled)?,
            counts_computation: self.processor_model(candidate).is_some(),
        })
    }

    /// The sandbox of a guest's kernel, and the descriptors that its command inherits.
    fn guest_sandbox(
        &self,
        spec: &TrialSpec,
        traits: GuestTraits,
        started: GuestCommand,
    ) -> Result<(Sandbox, Vec<OwnedFd>), LabError> {
        let mut sandbox = kernel_sandbox(self.isolation, self.find_secrets()?.clone(), started.argv);
        sandbox.devices = traits.devices;
        sandbox.link_owners = Some(own_users());
        sandbox.keeps =
            started.lent.iter().map(|lent| make_inheritable(lent.as_fd())).collect::<Result<_, _>>()?;
        // Users' folders may lie where the sandbox covers the path, as disks do that a desktop mounts below /run.
        let modules = self.shown_modules(self.kernel_for(&spec.candidate));
        let folders = spec.datasets.values().filter_map(covered_folder);
        sandbox.shown = folders.chain(started.shown).chain(modules).collect();
        Ok((sandbox, started.lent))
    }
}

/// Follows the events of a guest's trial.
struct GuestFollower<'a> {
    spec: &'a TrialSpec,
    clock: Clock,
    /// The step it is at; empty before the first.
    step: String,
    spans: Spans,
}

impl<'a> GuestFollower<'a> {
    fn new(spec: &'a TrialSpec, clock: Clock) -> Self {
        let filesystem = fsverdict_stack::filesystem::find_filesystem(&spec.candidate.filesystem);
        let spans = Spans::with_jobs(filesystem.map_or(&[], |known| known.background));
        GuestFollower { spec, clock, step: String::new(), spans }
    }

    /// Runs the kernel in its sandbox to the end of the trial, and passes the guest's events to `watch`.
    fn run_guest(
        &mut self,
        mut sandbox: Sandbox,
        mut inherited: Vec<OwnedFd>,
        events: OwnedFd,
        placement: Placement,
        backend: Option<&mut Backend>,
        watch: &mut dyn FnMut(Event),
    ) -> Result<TrialEnd, LabError> {
        let stops = StopWatcher::new(&mut sandbox, &mut inherited)?;
        /// Where User-Mode Linux and QEMU put the guest's memory.
        const TEMPORARY_FOLDER: &str = "TMPDIR";
        sandbox.variables = vec![TEMPORARY_FOLDER.to_owned()];
        let mut command = sandbox.command()?;
        command.env(TEMPORARY_FOLDER, MEMORY_FOLDER).stdin(std::process::Stdio::null());
        let (spec, clock) = (self.spec, self.clock);
        let mut watch_steps = |event: Event| self.take_event(event, watch);
        let device_process = DeviceProcess { placement, backend, clock };
        run_trial_process(command, events, &stops, spec, &mut watch_steps, inherited, Some(device_process))
    }

    fn take_event(&mut self, mut event: Event, watch: &mut dyn FnMut(Event)) {
        if self.clock == Clock::Simulated {
            free_cpu::remove_cpu_time(&mut event);
        }
        if let Event::StepStarted { step } = &event {
            self.step.clone_from(step);
        }
        self.spans.note_event(&event);
        // Device events of a guest are ignored: it has no leases.
        if !matches!(event, Event::Device(_)) {
            watch(event);
        }
    }

    /// Describes the last step, if there was one.
    fn last_step(&self) -> Option<String> {
        (!self.step.is_empty()).then(|| at_step(self.spec, &self.step))
    }
}

/// Reports the numbers that were drawn for a trial and its devices.
fn report_drawn(
    drawn: &Drawn,
    memory: u64,
    modelled: &[Modelled<'_>],
    watch: &mut dyn FnMut(Event),
) -> Result<(), LabError> {
    let Some(first) = modelled.first() else { return Ok(()) };
    let numbers = first.drawn_numbers()?;
    let mut facts = drawn_facts(drawn, memory, first.size, &numbers);
    for modelled in modelled.iter().skip(1) {
        let key = |key: &str| format!("drawn.device.{}.{key}", modelled.number);
        facts.extend(modelled.drawn_numbers()?.iter().map(|(name, number)| (key(name), number.to_string())));
    }
    watch(Event::Facts { facts, learnt: Learnt { drawn: numbers, ..Learnt::default() } });
    Ok(())
}

/// The devices of a trial with the traces that are kept of them.
fn traced_devices(
    modelled: &[Modelled<'_>],
    attachments: &Attachments,
    trial: &TrialId,
) -> Result<Vec<TracedDevice>, LabError> {
    let traced = |modelled: &Modelled<'_>| -> Result<Option<TracedDevice>, LabError> {
        let Some(trace) = attachments.trace_file(trial, modelled.number) else { return Ok(None) };
        Ok(Some(TracedDevice { trace, device: modelled.device_for(trial)? }))
    };
    let devices = modelled.iter().map(traced).collect::<Result<Vec<_>, _>>()?;
    Ok(devices.into_iter().flatten().collect())
}
