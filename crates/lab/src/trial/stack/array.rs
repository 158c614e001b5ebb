//! Takes a device out of a candidate's array, rebuilds it, or compares all devices, while phases run.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_judgement::plan::ArrayState;
use fsverdict_linux::sandbox::program::{Program, require_success};
use fsverdict_stack::filesystem::CopyNames;

use super::super::error::TrialError;
use super::super::redundancy::Redundancy;
use super::super::tools::{EMPTY, Trade};
use super::Stack;

/// How often it is looked whether an array has come to its end, at first; later less often, for less than a hundredth of the time.
const LOOK: Duration = Duration::from_millis(50);

/// Work on an array beside a phase, in a thread of its own.
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
    pub(super) fn require_redundancy(&self) -> Result<Redundancy, TrialError> {
        let found = Redundancy::of_candidate(self.candidate, &self.arrangement);
        found.ok_or_else(|| {
            TrialError::Host(format!("{} keeps its data once: no device can be missing", self.candidate.name))
        })
    }

    /// Whether the filesystem itself has to do without a device.
    pub(super) fn mounts_degraded(&self) -> bool {
        self.missing.is_some()
            && self.require_redundancy().is_ok_and(|redundancy| redundancy.is_of_filesystem())
    }

    /// The node of the array at this site.
    fn array_node(&self, site: usize) -> Result<PathBuf, TrialError> {
        let node = self.layers.node_below(super::super::arrangement::Below::Site(site), &self.devices);
        node.ok_or_else(|| TrialError::Host("the array is not open".to_owned()))
    }

    fn run_tool(&mut self, step: &str, argv: &[&str]) -> Result<(), TrialError> {
        self.tools.run_required(self.sink, step, Trade::Layering, to_owned_words(argv))
    }

    /// Takes the last device out, if it is not out yet. Its content is not used again.
    pub(in super::super) fn take_out(&mut self) -> Result<(), TrialError> {
        if self.missing.is_some() {
            return Ok(());
        }
        match self.require_redundancy()? {
            Redundancy::Array { site, member } => {
                let node = self.array_node(site)?;
                let member = self.layers.node_below(member, &self.devices).unwrap_or_default();
                let (node, path) =
                    (node.to_string_lossy().into_owned(), member.to_string_lossy().into_owned());
                self.run_tool("let a device fail", &["mdadm", &node, "--fail", &path])?;
                self.run_tool("take it out", &["mdadm", &node, "--remove", &path])?;
                self.run_tool("forget what was on it", &["mdadm", "--zero-superblock", &path])?;
                self.missing = Some(member);
            }
            Redundancy::Own(profiles) => {
                let array_nodes: Vec<PathBuf> =
                    self.top_devices().into_iter().filter(|top| !top.apart).map(|top| top.path).collect();
                self.unmount_filesystem()?;
                let mount = self.filesystem_mount();
                let forget = self.filesystem.copies.map_or(&[][..], |copies| copies.forget);
                for (index, path) in array_nodes.iter().enumerate().filter(|_| !forget.is_empty()) {
                    let device = &path.to_string_lossy();
                    let names = CopyNames { device, number: index + 1, mount, profiles: &profiles };
                    let words = names.put_in(forget);
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    self.run_tool("forget a device", &words)?;
                }
                if let Some(last) = array_nodes.last() {
                    // Wiped, because it would otherwise be taken for a part of the mounted filesystem.
                    self.run_tool(
                        "forget what was on it",
                        &["wipefs", "--all", "--quiet", &last.to_string_lossy()],
                    )?;
                }
                self.missing = array_nodes.last().cloned();
                self.mount_filesystem()?;
            }
            Redundancy::Pool(pool) => {
                let last = self.top_devices().into_iter().rfind(|top| !top.apart);
                self.unmount_filesystem()?;
                self.wait_until_released();
                if let Some(last) = last {
                    let node = self.node_in_pool(&last.path);
                    let words: Vec<&str> = pool.forget.iter().copied().chain([node.as_str()]).collect();
                    self.run_tool("forget what was on it", &words)?;
                    self.missing = Some(last.path);
                }
                self.mount_filesystem()?;
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

    /// Starts the work beside the next phase.
    pub(in super::super) fn begin_beside(&mut self, state: ArrayState) -> Result<(), TrialError> {
        let missing = self.missing.clone().unwrap_or_default();
        let missing = missing.to_string_lossy();
        let (began, mount) = (Instant::now(), self.filesystem_mount());
        let ended = match (self.require_redundancy()?, state) {
            (_, ArrayState::Degraded) => return Ok(()),
            (Redundancy::Array { site, .. }, ArrayState::Rebuilding) => {
                let node = self.array_node(site)?;
                self.run_tool(
                    "put an empty device in",
                    &["mdadm", &node.to_string_lossy(), "--add", &missing],
                )?;
                wait_for_array(&node, self.limit, |folder| {
                    file_reads(folder, "degraded", "0") && is_idle(folder)
                })
            }
            (Redundancy::Array { site, .. }, ArrayState::Scrubbing) => {
                let node = self.array_node(site)?;
                std::fs::write(md_folder(&node).join("sync_action"), "check")
                    .map_err(TrialError::io_error("begin to compare what is on the devices"))?;
                wait_for_array(&node, self.limit, is_idle)
            }
            (Redundancy::Own(profiles), state) => {
                let number = self.arrangement.filesystem_devices().count();
                let names = CopyNames { device: &missing, number, mount, profiles: &profiles };
                let copies = self.filesystem.copies;
                let (step, lines) = match state {
                    ArrayState::Scrubbing => {
                        ("scrub", copies.and_then(|copies| copies.scrub).into_iter().collect())
                    }
                    _ => ("rebuild", copies.map_or(Vec::new(), |copies| copies.rebuild.to_vec())),
                };
                run_all(step, lines.into_iter().map(|line| names.put_in(line)).collect(), self.limit)
            }
            (Redundancy::Pool(pool), ArrayState::Rebuilding) => {
                let (name, node) = (self.pool_name(), self.node_in_pool(Path::new(&*missing)));
                let line = [pool.replace, &[&name, &node]].concat();
                run_all("rebuild", vec![to_owned_words(&line)], self.limit)
            }
            (Redundancy::Pool(pool), ArrayState::Scrubbing) => {
                let name = self.pool_name();
                run_all("scrub", vec![to_owned_words(&[pool.scrub, &[&name]].concat())], self.limit)
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
            self.sink.send_command(&record);
            require_success(record)?;
        }
        self.missing = None;
        Ok(ended.at.duration_since(began).as_secs_f64())
    }
}

/// Runs these programs one after the other, up to the first that fails.
fn run_all(
    step: &'static str,
    lines: Vec<Vec<String>>,
    limit: Duration,
) -> JoinHandle<Result<WorkEnd, TrialError>> {
    let programs: Vec<Program> = lines
        .into_iter()
        .map(|line| Program::new(line).with_time_limit(limit).in_folder(Path::new(EMPTY)))
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

fn to_owned_words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Looks after an array until this is so.
fn wait_for_array(
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
    file_reads(folder, "sync_action", "idle")
}

fn file_reads(folder: &Path, file: &str, wanted: &str) -> bool {
    std::fs::read_to_string(folder.join(file)).is_ok_and(|text| text.trim() == wanted)
}
