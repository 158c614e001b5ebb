//! Sites without a scheduler: each in a thread of its own, over ssh, with its blocks copied by rsync. What is under way ends with
//! the head: its ssh and rsync by a parent-death signal, and a site's block because its standard input then does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::host::talk::say;
use crate::sandbox::program::{Program, ProgramError, succeeded};
use crate::sandbox::{Isolation, Sandbox};
use crate::study::BLOCK_ATTEMPTS;
use fsverdict_judgement::plan::Plan;
use fsverdict_text::{Hinted, Reason, duration_text, quoted};

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
    folder: PathBuf,
    /// How long a block may take where the inventory does not say so.
    usual_limit: Duration,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Ssh {
    pub(super) fn new(folder: &Path, plan: &Plan) -> Self {
        Ssh {
            folder: folder.to_owned(),
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
                let (folder, stop) = (self.folder.clone(), Arc::clone(&self.stop));
                self.threads.push(std::thread::spawn(move || {
                    for block in blocks {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        // Once more: a line may break.
                        let at = || at(&site, &folder, block, limit);
                        if let Err(error) = at().or_else(|_| at()) {
                            say(&error.reason().after(format!("site {}: ", site.name)).to_string());
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
fn at(site: &SiteEntry, folder: &Path, block: u32, limit: Duration) -> Result<(), FleetError> {
    let host = site.host();
    let there = site.folder.clone().unwrap_or_else(|| folder.to_owned());
    let on_host = |line: &str, limit: Duration| {
        run(Program::new(SSH.into_iter().chain(["--", host.as_str(), line])).listening().limit(limit))
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
    copy(&blocks, &format!("{}/", folder.display()), &remote(""), COPY.min(limit))?;
    on_host(&site.block(&there, &block.to_string(), &["--attended"]), limit)?;
    let shards = Shards::of(folder);
    let own = shards.make_folder(&site.name)?;
    let whole = shards.whole(&site.name, block);
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let from = remote(&format!("sites/{}/{name}", site.name));
    copy(&[], &from, &format!("{}/", own.display()), COPY.min(limit))?;
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

/// Copies regular files of bounded size, and nothing of them but content and time: neither links nor devices, nor whose they
/// are, nor what they may do.
fn copy(which: &[&str], from: &str, to: &str, limit: Duration) -> Result<(), FleetError> {
    let (rsh, size) = (format!("--rsh={}", SSH.join(" ")), format!("--max-size={LONGEST_SHARD}"));
    let plain = ["rsync", "-t", "-s", "--no-links", "--no-devices", "--no-specials", "--chmod=F644,D755"];
    let own = ["--timeout=600", &rsh, &size];
    run(Program::new([&plain, own.as_slice(), which, &["--", from, to]].concat()).limit(limit))
}

/// Runs it, and takes it with us: whatever ends this process ends that, too.
fn run(program: Program) -> Result<(), FleetError> {
    let failed = |error: ProgramError| FleetError::Engine(error.reason());
    let leash = Sandbox::new(Isolation::None, [""; 0]);
    let record = program.inside(leash).run("ssh").map_err(failed)?;
    if let (None, None) = (record.exit, record.signal) {
        let words = format!(
            "it did not answer within {}",
            duration_text(Duration::from_secs_f64(record.seconds.round()))
        );
        let hint = "`within = \"6h\"` in the inventory gives the site longer for a block";
        return Err(FleetError::Engine(Reason::new(words, hint)));
    }
    succeeded(record).map(drop).map_err(failed)
}
