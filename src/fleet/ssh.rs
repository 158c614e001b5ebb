//! Sites without a scheduler: each in a thread of its own, over ssh, with its blocks copied by rsync. What is under way ends with
//! the head: its ssh and rsync by a parent-death signal, and a site's block because its standard input then does.

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::study::BLOCK_ATTEMPTS;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::talk::print_line;
use fsverdict_linux::sandbox::program::{Program, ProgramError, require_success};
use fsverdict_linux::sandbox::{Isolation, Sandbox, make_inheritable};
use fsverdict_text::{FolderHandle, Hinted, Reason, duration_text, quoted};

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::SiteEntry;
use super::shard::{LONGEST_SHARD, Shards};

/// Never a question, and an end where nobody answers.
const SSH: [&str; 7] =
    ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=30"];

/// What is done over a connection besides blocks takes no longer.
const SHORT: Duration = Duration::from_secs(300);
/// A file of bounded size that has not come by then comes by drips.
const COPY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) struct Ssh {
    run: FolderHandle,
    /// What the folder of the run is called at a site that names no other.
    path: PathBuf,
    /// How long a block may take where the inventory does not say so.
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

/// Longer than a block of this plan can take: each trial of each attempt as often as it may be tried, and as long again for what
/// lies between.
fn usual_limit(plan: &Plan) -> Duration {
    let trials = u32::try_from(plan.candidates.len()).unwrap_or(u32::MAX).saturating_mul(BLOCK_ATTEMPTS * 5);
    plan.protocol.timeout.saturating_mul(trials).saturating_mul(2).saturating_add(COPY)
}

impl FleetEngine for Ssh {
    fn serve(&mut self, wanted: &[BlockRequest<'_>]) -> Result<bool, FleetError> {
        if self.threads.is_empty() {
            for one in wanted {
                let (site, blocks) = (one.site.clone(), one.blocks.clone());
                let limit = site.within.unwrap_or(self.usual_limit);
                let (run, path, stop) = (self.run.clone(), self.path.clone(), Arc::clone(&self.stop));
                self.threads.push(std::thread::spawn(move || {
                    for block in blocks {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        // Once more: a line may break.
                        let at = || at(&site, &run, &path, block, limit);
                        if let Err(error) = at().or_else(|_| at()) {
                            print_line(&error.reason().after(format!("site {}: ", site.name)).to_string());
                            return;
                        }
                    }
                }));
            }
        }
        Ok(self.threads.iter().any(|thread| !thread.is_finished()))
    }

    /// What is under way there goes on to its end, and is fetched.
    fn cancel(&mut self, _sites: &[SiteEntry]) -> Result<(), FleetError> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
        Ok(())
    }
}

/// Brings the site what all others have found, has it do a block, and fetches that, and nothing else.
fn at(
    site: &SiteEntry,
    folder: &FolderHandle,
    path: &Path,
    block: u32,
    limit: Duration,
) -> Result<(), FleetError> {
    let host = site.host();
    let there = site.folder.clone().unwrap_or_else(|| path.to_owned());
    let on_host = |line: &str, limit: Duration| {
        let program = Program::new(SSH.into_iter().chain(["--", host.as_str(), line]));
        run(program.with_open_input().with_time_limit(limit), Vec::new())
    };
    on_host(&format!("mkdir -p -- {}", quoted(&there.to_string_lossy())), SHORT.min(limit))?;
    let remote = |below: &str| format!("{host}:{}/{below}", there.display());
    let blocks = [
        "-r",
        "--include=/plan.json",
        "--include=/fleet.json",
        "--include=/sites/",
        "--include=/sites/*/",
        "--include=/sites/*/block-*.jsonl",
        "--exclude=*",
    ];
    let lent = LentFolder::new(folder)?;
    copy(&blocks, &lent.path(), &remote(""), &lent, COPY.min(limit))?;
    on_host(&site.block(&there, &block.to_string(), &["--attended"]), limit)?;
    let shards = Shards::of(folder);
    let own = LentFolder::new(&shards.make_folder(&site.name)?)?;
    let from = remote(&format!("sites/{}/{}", site.name, Shards::whole_name(block)));
    copy(&[], &from, &own.path(), &own, COPY.min(limit))?;
    if shards.has(&site.name, block) {
        return Ok(());
    }
    let text = format!(
        "{} is no block: it is not there, no regular file, or larger than {} MiB",
        quoted(&from),
        LONGEST_SHARD >> 20
    );
    Err(FleetError::Engine(Reason::new(text, "look at it there")))
}

/// A folder that rsync is given by its descriptor: whatever its name leads to by then, it is the folder that was opened.
struct LentFolder {
    _descriptor: OwnedFd,
    number: RawFd,
}

impl LentFolder {
    fn new(folder: &FolderHandle) -> Result<Self, FleetError> {
        let descriptor = folder.as_fd().try_clone_to_owned().map_err(FleetError::io(folder.path()))?;
        let number =
            make_inheritable(descriptor.as_fd()).map_err(|error| FleetError::Engine(Reason::plain(error)))?;
        Ok(LentFolder { _descriptor: descriptor, number })
    }

    /// What rsync calls it.
    fn path(&self) -> String {
        format!("/proc/self/fd/{}/", self.number)
    }
}

/// Copies regular files of bounded size, and nothing of them but content and time: neither links nor devices, nor whose they
/// are, nor what they may do.
fn copy(which: &[&str], from: &str, to: &str, lent: &LentFolder, limit: Duration) -> Result<(), FleetError> {
    let (rsh, size) = (format!("--rsh={}", SSH.join(" ")), format!("--max-size={LONGEST_SHARD}"));
    let plain = ["rsync", "-t", "-s", "--no-links", "--no-devices", "--no-specials", "--chmod=F644,D755"];
    let own = ["--timeout=600", &rsh, &size];
    let program = Program::new([&plain, own.as_slice(), which, &["--", from, to]].concat());
    run(program.with_time_limit(limit), vec![lent.number])
}

/// Runs it with these descriptors, and takes it with us: whatever ends this process ends that, too.
fn run(program: Program, keeps: Vec<RawFd>) -> Result<(), FleetError> {
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
