//! Sites without a scheduler: each in a thread of its own, over ssh, with its blocks copied by rsync. What is under way ends with
//! the head: its ssh and rsync by a parent-death signal, and a site's block because its standard input then does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::host::talk::say;
use crate::sandbox::program::{Program, succeeded};
use crate::sandbox::{Isolation, Sandbox};
use fsverdict_text::{Hinted, Reason, quoted};

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::SiteEntry;
use super::shard::{LONGEST_SHARD, Shards};

/// Never a question, and an end where nobody answers.
const SSH: [&str; 7] =
    ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=30"];

#[derive(Debug)]
pub(super) struct Ssh {
    folder: PathBuf,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Ssh {
    pub(super) fn new(folder: &Path) -> Self {
        Ssh { folder: folder.to_owned(), stop: Arc::default(), threads: Vec::new() }
    }
}

impl FleetEngine for Ssh {
    fn serve(&mut self, wanted: &[BlockRequest<'_>]) -> Result<bool, FleetError> {
        if self.threads.is_empty() {
            for one in wanted {
                let (site, blocks) = (one.site.clone(), one.blocks.clone());
                let (folder, stop) = (self.folder.clone(), Arc::clone(&self.stop));
                self.threads.push(std::thread::spawn(move || {
                    for block in blocks {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        // Once more: a line may break.
                        if let Err(error) = at(&site, &folder, block).or_else(|_| at(&site, &folder, block)) {
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
fn at(site: &SiteEntry, folder: &Path, block: u32) -> Result<(), FleetError> {
    let host = site.host();
    let there = site.folder.clone().unwrap_or_else(|| folder.to_owned());
    let on_host =
        |line: &str| run(Program::new(SSH.into_iter().chain(["--", host.as_str(), line])).listening());
    on_host(&format!("mkdir -p -- {}", quoted(&there.to_string_lossy())))?;
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
    copy(&blocks, &format!("{}/", folder.display()), &remote(""))?;
    on_host(&site.block(&there, &block.to_string(), &["--attended"]))?;
    let shards = Shards::of(folder);
    let own = shards.make_folder(&site.name)?;
    let whole = shards.whole(&site.name, block);
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
    let from = remote(&format!("sites/{}/{name}", site.name));
    copy(&[], &from, &format!("{}/", own.display()))?;
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
fn copy(which: &[&str], from: &str, to: &str) -> Result<(), FleetError> {
    let (rsh, size) = (format!("--rsh={}", SSH.join(" ")), format!("--max-size={LONGEST_SHARD}"));
    let plain = ["rsync", "-t", "-s", "--no-links", "--no-devices", "--no-specials", "--chmod=F644,D755"];
    let own = ["--timeout=600", &rsh, &size];
    run(Program::new([&plain, own.as_slice(), which, &["--", from, to]].concat()))
}

/// Runs it, and takes it with us: whatever ends this process ends that, too.
fn run(program: Program) -> Result<(), FleetError> {
    let failed = |error: crate::sandbox::program::ProgramError| FleetError::Engine(error.reason());
    let leash = Sandbox::new(Isolation::None, [""; 0]);
    succeeded(program.inside(leash).run("ssh").map_err(failed)?).map(drop).map_err(failed)
}
