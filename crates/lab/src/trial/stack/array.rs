//! A candidate's devices, one of which is missing, or is made anew, or all of which are compared, while phases go on.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_judgement::plan::ArrayState;
use fsverdict_linux::sandbox::program::{Program, require_success};

use super::super::error::TrialError;
use super::super::redundancy::{Profiles, Redundancy};
use super::super::tools::{EMPTY, Trade};
use super::Stack;

/// How often it is looked whether an array has come to its end, at first; later less often, for less than a hundredth of the time.
const LOOK: Duration = Duration::from_millis(50);
/// The node by which btrfs is told which devices there are.
pub(super) const BTRFS_CONTROL: &str = "/dev/btrfs-control";

/// What goes on beside a phase, in a thread of its own.
pub(super) struct WorkBeside {
    began: Instant,
    ended: JoinHandle<Result<WorkEnd, TrialError>>,
}

/// When it was over, and by which programs.
struct WorkEnd {
    at: Instant,
    records: Vec<CommandRecord>,
}

impl Stack<'_> {
    pub(super) fn redundancy(&self) -> Result<Redundancy, TrialError> {
        let found = Redundancy::of(self.candidate, &self.arrangement);
        found.ok_or_else(|| {
            TrialError::Host(format!("{} keeps its data once: no device can be missing", self.candidate.name))
        })
    }

    /// Whether the filesystem itself has to do without a device.
    pub(super) fn mounts_degraded(&self) -> bool {
        self.missing.is_some() && matches!(self.redundancy(), Ok(Redundancy::Own(_)))
    }

    /// The node of the array at this site.
    fn array_node(&self, site: usize) -> Result<PathBuf, TrialError> {
        let node = self.layers.node(super::super::arrangement::Below::Site(site), &self.devices);
        node.ok_or_else(|| TrialError::Host("the array is not open".to_owned()))
    }

    fn tool(&mut self, step: &str, argv: &[&str]) -> Result<(), TrialError> {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        self.tools.must(self.sink, step, Trade::Layering, argv)
    }

    /// The last of the devices is missing from now on; nothing where it is already. What was on it is of no use any more.
    pub(in super::super) fn take_out(&mut self) -> Result<(), TrialError> {
        if self.missing.is_some() {
            return Ok(());
        }
        match self.redundancy()? {
            Redundancy::Array { site, member } => {
                let node = self.array_node(site)?;
                let member = self.layers.node(member, &self.devices).unwrap_or_default();
                let (node, path) =
                    (node.to_string_lossy().into_owned(), member.to_string_lossy().into_owned());
                self.tool("let a device fail", &["mdadm", &node, "--fail", &path])?;
                self.tool("take it out", &["mdadm", &node, "--remove", &path])?;
                self.tool("forget what was on it", &["mdadm", "--zero-superblock", &path])?;
                self.missing = Some(member);
            }
            Redundancy::Own(_) => {
                let own: Vec<PathBuf> =
                    self.tops().into_iter().filter(|top| !top.apart).map(|top| top.path).collect();
                self.unmount()?;
                // Each by its name: others' devices are not ours to be forgotten.
                for path in &own {
                    let path = path.to_string_lossy();
                    self.tool("forget a device", &["btrfs", "device", "scan", "--forget", &path])?;
                }
                if let Some(last) = own.last() {
                    // As of an array: else it would be taken for a part of what is mounted.
                    self.tool(
                        "forget what was on it",
                        &["wipefs", "--all", "--quiet", &last.to_string_lossy()],
                    )?;
                }
                self.missing = own.last().cloned();
                self.mount()?;
            }
        }
        Ok(())
    }

    /// Nothing is missing any more; nothing where nothing was.
    pub(in super::super) fn put_back(&mut self) -> Result<(), TrialError> {
        if self.missing.is_none() {
            return Ok(());
        }
        self.begin_beside(ArrayState::Rebuilding)?;
        self.finish_beside().map(drop)
    }

    /// What goes on beside the next phase begins.
    pub(in super::super) fn begin_beside(&mut self, state: ArrayState) -> Result<(), TrialError> {
        let missing = self.missing.clone().unwrap_or_default();
        let missing = missing.to_string_lossy();
        let (began, mount) = (Instant::now(), self.filesystem_mount());
        let ended = match (self.redundancy()?, state) {
            (_, ArrayState::Degraded) => return Ok(()),
            (Redundancy::Array { site, .. }, ArrayState::Rebuilding) => {
                let node = self.array_node(site)?;
                self.tool("put an empty device in", &["mdadm", &node.to_string_lossy(), "--add", &missing])?;
                watch(&node, self.limit, |folder| reads(folder, "degraded", "0") && is_idle(folder))
            }
            (Redundancy::Array { site, .. }, ArrayState::Scrubbing) => {
                let node = self.array_node(site)?;
                std::fs::write(md_folder(&node).join("sync_action"), "check")
                    .map_err(TrialError::io("begin to compare what is on the devices"))?;
                watch(&node, self.limit, is_idle)
            }
            (Redundancy::Own(Profiles { data, metadata }), ArrayState::Rebuilding) => {
                let number = self.arrangement.own().count().to_string();
                let convert = [format!("-dconvert={data},soft"), format!("-mconvert={metadata},soft")];
                let [data, metadata] = &convert;
                // What was written while one was missing is there once; the second makes of it what it should be.
                let lines: [&[&str]; 2] = [
                    &["btrfs", "replace", "start", "-B", "-f", &number, &missing, mount],
                    &["btrfs", "balance", "start", data, metadata, mount],
                ];
                run_all("rebuild", &lines, self.limit)
            }
            (Redundancy::Own(_), ArrayState::Scrubbing) => {
                run_all("scrub", &[&["btrfs", "scrub", "start", "-B", mount]], self.limit)
            }
        };
        self.beside = Some(WorkBeside { began, ended });
        Ok(())
    }

    /// Waits until it is over; the seconds that it took.
    pub(in super::super) fn finish_beside(&mut self) -> Result<f64, TrialError> {
        let Some(WorkBeside { began, ended }) = self.beside.take() else { return Ok(0.0) };
        let ended = ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        for record in ended.records {
            self.sink.command(&record);
            require_success(record)?;
        }
        self.missing = None;
        Ok(ended.at.duration_since(began).as_secs_f64())
    }
}

/// Runs these programs one after the other, up to the first that fails.
fn run_all(
    step: &'static str,
    lines: &[&[&str]],
    limit: Duration,
) -> JoinHandle<Result<WorkEnd, TrialError>> {
    let programs: Vec<Program> = lines
        .iter()
        .map(|line| Program::new(line.iter().copied()).with_time_limit(limit).in_folder(Path::new(EMPTY)))
        .collect();
    std::thread::spawn(move || {
        let mut records = Vec::new();
        for program in programs {
            let record = program.run(step)?;
            let failed = record.exit != Some(0);
            records.push(record);
            if failed {
                break;
            }
        }
        Ok(WorkEnd { at: Instant::now(), records })
    })
}

/// Looks after an array until this is so.
fn watch(
    node: &Path,
    limit: Duration,
    is_over: fn(&Path) -> bool,
) -> JoinHandle<Result<WorkEnd, TrialError>> {
    let folder = md_folder(node);
    std::thread::spawn(move || {
        let began = Instant::now();
        while !is_over(&folder) {
            if began.elapsed() > limit {
                let text = "the array was not in step again within the time of a trial";
                return Err(TrialError::Host(text.to_owned()));
            }
            std::thread::sleep(LOOK.max(began.elapsed() / 200));
        }
        Ok(WorkEnd { at: Instant::now(), records: Vec::new() })
    })
}

fn md_folder(node: &Path) -> PathBuf {
    Path::new("/sys/block").join(node.file_name().unwrap_or_default()).join("md")
}

fn is_idle(folder: &Path) -> bool {
    reads(folder, "sync_action", "idle")
}

fn reads(folder: &Path, file: &str, wanted: &str) -> bool {
    std::fs::read_to_string(folder.join(file)).is_ok_and(|text| text.trim() == wanted)
}
