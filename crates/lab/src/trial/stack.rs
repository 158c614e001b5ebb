//! From the bare device up to the mounted filesystem, step by step, and down again.
//!
//! Everything that was set up is recorded, so that it is taken down in reverse order after every outcome; every error
//! on the way down is reported and none hides the cause.

mod above;
mod array;
mod cleaner;
mod damaged_devices;
mod devices;
mod host_mapper;
mod mounting;
mod pool;
mod pool_state;
mod snapshots;
mod state;
mod streams;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_judgement::plan::Candidate;
use fsverdict_linux::host::kernel_log::KernelLog;
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
pub(super) use super::programs::MOUNT;
use super::programs::{Line, Programs, TrialNames};
use super::sink::Sink;
use super::tools::{EMPTY, Tools, Trade};
use above::ShownAbove;
use array::WorkBeside;
use host_mapper::HostMapper;

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
    /// The stream of the snapshot that was sent last, in memory.
    stream: Option<Arc<File>>,
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
            stream: None,
            cleaner: false,
            cleaner_told: false,
            fresh: None,
            // Before there is a /dev without it.
            log: KernelLog::open(),
            whole_log: KernelLog::open(),
        })
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

    /// Whether a folder of the user's is worked in: there is no device, and nothing is made, mounted or checked.
    pub(super) fn in_folder(&self) -> bool {
        self.candidate.path.is_some()
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
