//! Runs blocks over ssh at sites without a scheduler: one thread for each site, and rsync copies the blocks. Running
//! blocks end together with the conducting process: ssh and rsync receive a parent-death signal, and a site's block ends
//! because its standard input is closed.

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::study::BLOCK_ATTEMPTS;
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::sandbox::program::{Program, ProgramError, require_success};
use fsverdict_linux::sandbox::{Isolation, Sandbox, make_inheritable};
use fsverdict_text::{Hinted, Reason, duration_text, quoted};

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::SiteEntry;
use super::shard::{LONGEST_SHARD, Shards};

/// The ssh command line: ssh asks no question, and ends if the site does not answer.
const SSH: [&str; 7] =
    ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=30"];

/// The time limit of every command over a connection that is not a block.
const SHORT: Duration = Duration::from_secs(300);
/// The time limit of copying: a file of bounded size that takes longer does not arrive at a usable rate.
const COPY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) struct Ssh {
    run: FolderHandle,
    /// The path of the run's folder at sites for which the inventory names no other.
    path: PathBuf,
    /// The time limit of a block if the inventory states none.
    usual_limit: Duration,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Ssh {
    pub(super) fn new(run: &FolderHandle, path: &Path, plan: &Plan) -> Self {
        Ssh {
            run: run.clone(),
            path: path.to_owned(),
            usual_limit: usual_limit(plan),
            stop: Arc::default(),
            threads: Vec::new(),
        }
    }
}

/// A time limit that no block of this plan reaches: the timeouts of all trials, of all attempts and of all tries, and as
/// long again for the work between trials.
fn usual_limit(plan: &Plan) -> Duration {
    let trials = u32::try_from(plan.candidates.len()).unwrap_or(u32::MAX).saturating_mul(BLOCK_ATTEMPTS * 5);
    plan.protocol.timeout.saturating_mul(trials).saturating_mul(2).saturating_add(COPY)
}

impl FleetEngine for Ssh {
    fn start_blocks(&mut self, requests: &[BlockRequest<'_>]) -> Result<bool, FleetError> {
        if self.threads.is_empty() {
            for request in requests {
                let (site, blocks) = (request.site.clone(), request.blocks.clone());
                let limit = site.within.unwrap_or(self.usual_limit);
                let (run, path, stop) = (self.run.clone(), self.path.clone(), Arc::clone(&self.stop));
                self.threads.push(std::thread::spawn(move || {
                    for block in blocks {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        // A connection may break, so the block is tried twice.
                        let run_block = || run_block_at(&site, &run, &path, block, limit);
                        if let Err(error) = run_block().or_else(|_| run_block()) {
                            print_line(&error.reason().after(format!("site {}: ", site.name)).to_string());
                            return;
                        }
                    }
                }));
            }
        }
        Ok(self.threads.iter().any(|thread| !thread.is_finished()))
    }

    /// Blocks that are in progress continue to their ends and are fetched.
    fn cancel_blocks(&mut self, _sites: &[SiteEntry]) -> Result<(), FleetError> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        Ok(())
    }
}

/// Copies the blocks of all sites to this site, conducts a block there, and fetches only that block.
fn run_block_at(
    site: &SiteEntry,
    folder: &FolderHandle,
    path: &Path,
    block: u32,
    limit: Duration,
) -> Result<(), FleetError> {
    let there = site.folder.clone().unwrap_or_else(|| path.to_owned());
    let place = SitePlace::new(site, there, limit);
    place.send(
        folder,
        &[
            "-r",
            "--include=/plan.json",
            "--include=/fleet.json",
            "--include=/run-id",
            "--include=/sites/",
            "--include=/sites/*/",
            "--include=/sites/*/block-*.jsonl",
            "--exclude=*",
        ],
    )?;
    place.run(&site.block_command(&place.folder, &block.to_string(), &["--attended"]), limit)?;
    let shards = Shards::new(folder);
    let below = format!("sites/{}/{}", site.name, Shards::whole_name(block));
    let from = place.fetch(&below, &shards.make_folder(&site.name)?)?;
    if let Some(other) = shards.remove_other_run(&site.name, block)? {
        return Err(FleetError::OfOtherRun { site: site.name.to_string(), block, other });
    }
    if shards.has_block(&site.name, block) {
        return Ok(());
    }
    let text = format!(
        "the journal of block {block} was not fetched: {} does not exist, is not a regular file, or is larger than {} MiB",
        quoted(&from),
        LONGEST_SHARD >> 20
    );
    Err(FleetError::Engine(Reason::new(text, "look at it there")))
}

/// Copies a run with its journal to this site, carries it out there from where it stands, and fetches its journal, also
/// that of a run that was interrupted. `path` is the run's folder at sites for which the inventory names no other.
pub(super) fn carry_out_run_at(
    site: &SiteEntry,
    run: &FolderHandle,
    path: &Path,
    limit: Duration,
) -> Result<(), FleetError> {
    let there = match (&site.folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    };
    let place = SitePlace::new(site, there, limit);
    let files = ["-r", "-u", "--include=/plan.json", "--include=/journal.jsonl", "--exclude=*"];
    place.send(run, &files)?;
    let ended = place.run(&site.resume_command(&place.folder, &["--attended"]), limit);
    place.fetch("journal.jsonl", run)?;
    ended
}

/// A folder at a site, and the time limit of whatever is done there.
struct SitePlace {
    host: String,
    folder: PathBuf,
    limit: Duration,
}

impl SitePlace {
    fn new(site: &SiteEntry, folder: PathBuf, limit: Duration) -> Self {
        SitePlace { host: site.ssh_destination(), folder, limit }
    }

    /// Runs a command line at the site. Its standard input ends with this process.
    fn run(&self, line: &str, limit: Duration) -> Result<(), FleetError> {
        let program = Program::new(SSH.into_iter().chain(["--", self.host.as_str(), line]));
        run_program(program.with_open_input().with_time_limit(limit), Vec::new())
    }

    fn remote(&self, below: &str) -> String {
        format!("{}:{}/{below}", self.host, self.folder.display())
    }

    /// Copies those files of `folder` to the site that these options of rsync choose.
    fn send(&self, folder: &FolderHandle, which: &[&str]) -> Result<(), FleetError> {
        let make = format!("mkdir -p -- {}", quoted(&self.folder.to_string_lossy()));
        self.run(&make, SHORT.min(self.limit))?;
        let lent = LentFolder::new(folder)?;
        copy_files(which, &lent.path(), &self.remote(""), &lent, COPY.min(self.limit))
    }

    /// Copies one file from the site into `folder`, and returns its address there.
    fn fetch(&self, below: &str, folder: &FolderHandle) -> Result<String, FleetError> {
        let lent = LentFolder::new(folder)?;
        let from = self.remote(below);
        copy_files(&[], &from, &lent.path(), &lent, COPY.min(self.limit))?;
        Ok(from)
    }
}

/// A folder that is passed to rsync as a descriptor, so that rsync uses the opened folder even if another one has its
/// name by then.
struct LentFolder {
    _descriptor: OwnedFd,
    number: RawFd,
}

impl LentFolder {
    fn new(folder: &FolderHandle) -> Result<Self, FleetError> {
        let descriptor = folder.as_fd().try_clone_to_owned().map_err(FleetError::io_error(folder.path()))?;
        let number =
            make_inheritable(descriptor.as_fd()).map_err(|error| FleetError::Engine(Reason::plain(error)))?;
        Ok(LentFolder { _descriptor: descriptor, number })
    }

    /// The path by which rsync opens the folder.
    fn path(&self) -> String {
        format!("/proc/self/fd/{}/", self.number)
    }
}

/// Copies regular files of bounded size with their content and modification time only: no links, no devices, no owners
/// and no permissions.
fn copy_files(
    which: &[&str],
    from: &str,
    to: &str,
    lent: &LentFolder,
    limit: Duration,
) -> Result<(), FleetError> {
    let (rsh, size) = (format!("--rsh={}", SSH.join(" ")), format!("--max-size={LONGEST_SHARD}"));
    let plain = ["rsync", "-t", "-s", "--no-links", "--no-devices", "--no-specials", "--chmod=F644,D755"];
    let options = ["--timeout=600", &rsh, &size];
    let program = Program::new([&plain, options.as_slice(), which, &["--", from, to]].concat());
    run_program(program.with_time_limit(limit), vec![lent.number])
}

/// Runs a program with these descriptors. The program is killed when this process ends.
fn run_program(program: Program, keeps: Vec<RawFd>) -> Result<(), FleetError> {
    let failed = |error: ProgramError| FleetError::Engine(error.reason());
    let mut leash = Sandbox::new(Isolation::None, [""; 0]);
    leash.keeps = keeps;
    let record = program.inside(leash).run("ssh").map_err(failed)?;
    if let (None, None) = (record.exit, record.signal) {
        let words = format!(
            "it did not answer within {}",
            duration_text(Duration::from_secs_f64(record.seconds.round()))
        );
        let hint = "`within = \"6h\"` in the inventory gives the site longer for a block";
        return Err(FleetError::Engine(Reason::new(words, hint)));
    }
    require_success(record).map(drop).map_err(failed)
}
