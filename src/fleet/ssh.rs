//! Sites without a scheduler: each in a thread of its own, over ssh, with its blocks copied by rsync.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::host::program::{Program, succeeded};
use crate::host::talk::say;
use crate::plan::quoted;

use super::FleetError;
use super::engine::{Engine, Wanted};
use super::inventory::SiteEntry;

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

impl Engine for Ssh {
    fn serve(&mut self, wanted: &[Wanted<'_>]) -> Result<bool, FleetError> {
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
                            say(&format!("site {}: {error}", site.name));
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

/// Brings the site what all others have found, has it do a block, and fetches that.
fn at(site: &SiteEntry, folder: &Path, block: u32) -> Result<(), FleetError> {
    let host = site.ssh.clone().unwrap_or_else(|| site.name.to_string());
    let there = site.folder.clone().unwrap_or_else(|| folder.to_owned());
    let remote = |below: &str| format!("{host}:{}/{below}", there.display());
    let local = |below: &str| format!("{}/{below}", folder.display());
    let make = format!("mkdir -p {}", quoted(&there.to_string_lossy()));
    run(SSH.into_iter().chain([host.as_str(), make.as_str()]))?;
    let rsh = format!("--rsh={}", SSH.join(" "));
    let copy = ["rsync", "-a", "-s", &rsh, "--exclude=*.partial", "--exclude=traces"];
    let (here, away) = (local(""), remote(""));
    run(copy.into_iter().chain([
        "--include=/plan.json",
        "--include=/fleet.json",
        "--include=/sites/***",
        "--exclude=*",
        &here,
        &away,
    ]))?;
    let line = site.block(&there, &block.to_string());
    run(SSH.into_iter().chain([host.as_str(), line.as_str()]))?;
    let own = format!("sites/{}/", site.name);
    std::fs::create_dir_all(local(&own)).map_err(FleetError::io(folder))?;
    run(copy.into_iter().chain([remote(&own).as_str(), local(&own).as_str()]))
}

fn run<'a>(argv: impl Iterator<Item = &'a str>) -> Result<(), FleetError> {
    let failed = |error: crate::host::program::ProgramError| FleetError::Engine(error.to_string());
    succeeded(Program::new(argv).run("ssh").map_err(failed)?).map(drop).map_err(failed)
}
