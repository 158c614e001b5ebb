//! Slurm places blocks: an array of jobs for each site, one after the other, with the machine to itself. The jobs are known by
//! their name, so that whoever comes back after a crash of the head finds them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict_linux::sandbox::program::{Program, require_success};
use fsverdict_text::{FolderHandle, Hinted};

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::SiteEntry;
use super::run_key::RunKey;
use super::site::Site;

/// Slurm's own commands answer within this, or its head is down.
const LIMIT: Duration = Duration::from_secs(60);

/// What is missing when all jobs have ended is submitted again, this often in all.
const ATTEMPTS: u32 = 2;

#[derive(Debug)]
pub(super) struct Slurm {
    run: FolderHandle,
    /// The folder's path, by which all nodes know it.
    path: PathBuf,
    key: RunKey,
    /// How often this process has submitted what was missing.
    submitted: u32,
}

impl Slurm {
    pub(super) fn new(run: &FolderHandle, path: &Path) -> Result<Self, FleetError> {
        Ok(Slurm { run: run.clone(), path: path.to_owned(), key: RunKey::given_to(run)?, submitted: 0 })
    }

    /// No two runs have a name in common, whatever their folders are called; and it has no comma, which makes a list.
    fn name(&self, site: &SiteEntry) -> String {
        format!("fsverdict-{}-{}", self.key, site.name)
    }

    /// Whether anything of a site's is queued or running.
    fn queued(&self, site: &SiteEntry) -> Result<bool, FleetError> {
        Ok(!slurm(&["squeue", "--noheader", "--name", &self.name(site)])?.trim().is_empty())
    }

    fn submit(&self, wanted: &BlockRequest<'_>) -> Result<(), FleetError> {
        let numbers: Vec<String> = wanted.blocks.iter().map(u32::to_string).collect();
        let node = wanted.site.node();
        let line = wanted.site.block(&self.path, "$SLURM_ARRAY_TASK_ID", &[]);
        let name = log_name(&wanted.site.name);
        // Slurm appends to it, on another machine: not to what a link leads to, nor to a file that has another name, too.
        let log = self.run.file(name.as_str());
        if log.is_taken() && log.open().is_err() {
            return Err(FleetError::InTheWay(log.path()));
        }
        let log = self.path.join(name);
        // What follows a % is Slurm's to replace.
        let log = log.to_string_lossy().replace('%', "%%");
        slurm(&[
            "sbatch",
            "--parsable",
            &format!("--job-name={}", self.name(wanted.site)),
            &format!("--nodelist={node}"),
            "--exclusive",
            "--mem=0",
            &format!("--array={}%1", numbers.join(",")),
            "--requeue",
            "--open-mode=append",
            &format!("--output={log}"),
            // A second time where it was killed: Slurm does a job again that its node lost, and no other.
            &format!("--wrap={line} || {line}"),
        ])
        .map(drop)
    }
}

/// What the output of a site's jobs is called in the folder of the run.
pub fn log_name(site: &Site) -> String {
    format!("slurm-{site}.log")
}

impl FleetEngine for Slurm {
    fn serve(&mut self, wanted: &[BlockRequest<'_>]) -> Result<bool, FleetError> {
        for one in wanted.iter().filter(|one| !one.blocks.is_empty()) {
            if self.queued(one.site)? {
                return Ok(true);
            }
        }
        if self.submitted == ATTEMPTS || wanted.iter().all(|one| one.blocks.is_empty()) {
            return Ok(false);
        }
        self.submitted += 1;
        wanted.iter().filter(|one| !one.blocks.is_empty()).try_for_each(|one| self.submit(one))?;
        Ok(true)
    }

    fn cancel(&mut self, sites: &[SiteEntry]) -> Result<(), FleetError> {
        sites.iter().try_for_each(|site| slurm(&["scancel", "--name", &self.name(site)]).map(drop))
    }
}

fn slurm(argv: &[&str]) -> Result<String, FleetError> {
    let failed = |error: fsverdict_linux::sandbox::program::ProgramError| FleetError::Engine(error.reason());
    let record = Program::new(argv.iter().copied()).with_time_limit(LIMIT).run("slurm").map_err(failed)?;
    require_success(record).map(|record| record.stdout).map_err(failed)
}
