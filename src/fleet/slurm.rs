//! Runs blocks through Slurm: an array of exclusive jobs for each site, one after the other. Jobs are found by their name,
//! so that a new conducting process finds them after a crash of the first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict_folders::FolderHandle;
use fsverdict_linux::sandbox::program::{Program, require_success};
use fsverdict_text::Hinted;

use super::FleetError;
use super::engine::{BlockRequest, FleetEngine};
use super::inventory::SiteEntry;
use super::run_key::RunKey;
use super::site::Site;

/// The time limit of Slurm's own commands; when it is exceeded, Slurm's controller is down.
const LIMIT: Duration = Duration::from_secs(60);

/// How often missing blocks are submitted in total: blocks that are missing when all jobs have ended are submitted again.
const ATTEMPTS: u32 = 2;

#[derive(Debug)]
pub(super) struct Slurm {
    run: FolderHandle,
    /// The folder's path, which is the same on all nodes.
    path: PathBuf,
    key: RunKey,
    /// How often this process has submitted missing blocks.
    submitted: u32,
}

impl Slurm {
    pub(super) fn new(run: &FolderHandle, path: &Path) -> Result<Self, FleetError> {
        Ok(Slurm { run: run.clone(), path: path.to_owned(), key: RunKey::read_or_create(run)?, submitted: 0 })
    }

    /// The name of a site's jobs. It contains the run's key, so that no two runs share a name, and no comma, which would
    /// separate two names.
    fn job_name(&self, site: &SiteEntry) -> String {
        format!("fsverdict-{}-{}", self.key, site.name)
    }

    /// Whether any job of the site is queued or running.
    fn has_jobs(&self, site: &SiteEntry) -> Result<bool, FleetError> {
        Ok(!queued_jobs(&[self.job_name(site)])?.is_empty())
    }

    fn submit_jobs(&self, wanted: &BlockRequest<'_>) -> Result<(), FleetError> {
        let numbers: Vec<String> = wanted.blocks.iter().map(u32::to_string).collect();
        let line = wanted.site.block_command(&self.path, "$SLURM_ARRAY_TASK_ID", &[]);
        let array = format!("--array={}%1", numbers.join(","));
        submit_job(&self.run, wanted.site, &self.job_name(wanted.site), &line, &[&array])
    }
}

/// Submits a job with this command line for the run in this folder, alone on the node of its site.
fn submit_job(
    run: &FolderHandle,
    site: &SiteEntry,
    name: &str,
    line: &str,
    more: &[&str],
) -> Result<(), FleetError> {
    // Slurm appends to the log on another machine, so the log must be no symbolic link and no file with further names.
    let log = run.file(log_name(&site.name).as_str());
    if log.is_taken() && log.open().is_err() {
        return Err(FleetError::InTheWay(log.path()));
    }
    let log = std::path::absolute(log.path()).map_err(FleetError::io_error(run.path()))?;
    // Slurm replaces patterns that begin with %.
    let log = log.to_string_lossy().replace('%', "%%");
    let (name, node) = (format!("--job-name={name}"), format!("--nodelist={}", site.slurm_node()));
    let output = format!("--output={log}");
    // The command is started a second time if it was killed: Slurm requeues only jobs that lost their node.
    let wrap = format!("--wrap={line} || {line}");
    let usual = ["sbatch", "--parsable", &name, &node, "--exclusive", "--mem=0", "--requeue"];
    run_slurm(&[&usual, more, &["--open-mode=append", &output, &wrap]].concat()).map(drop)
}

/// Submits a whole run as one job of this site.
pub(super) fn submit_run(
    site: &SiteEntry,
    run: &FolderHandle,
    path: &Path,
    name: &str,
) -> Result<(), FleetError> {
    submit_job(run, site, name, &site.resume_command(path, &[]), &[])
}

/// Those of these jobs, by their names, that are queued or running.
pub(super) fn queued_jobs(names: &[String]) -> Result<Vec<String>, FleetError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let listed = run_slurm(&["squeue", "--noheader", "--format=%j", "--name", &names.join(",")])?;
    Ok(listed.lines().map(|line| line.trim().to_owned()).collect())
}

/// The name of the file in the run's folder that receives the output of a site's jobs.
pub fn log_name(site: &Site) -> String {
    format!("slurm-{site}.log")
}

impl FleetEngine for Slurm {
    fn start_blocks(&mut self, requests: &[BlockRequest<'_>]) -> Result<bool, FleetError> {
        for one in requests.iter().filter(|one| !one.blocks.is_empty()) {
            if self.has_jobs(one.site)? {
                return Ok(true);
            }
        }
        if self.submitted == ATTEMPTS || requests.iter().all(|one| one.blocks.is_empty()) {
            return Ok(false);
        }
        self.submitted += 1;
        requests.iter().filter(|one| !one.blocks.is_empty()).try_for_each(|one| self.submit_jobs(one))?;
        Ok(true)
    }

    fn cancel_blocks(&mut self, sites: &[SiteEntry]) -> Result<(), FleetError> {
        sites.iter().try_for_each(|site| run_slurm(&["scancel", "--name", &self.job_name(site)]).map(drop))
    }
}

fn run_slurm(argv: &[&str]) -> Result<String, FleetError> {
    let failed = |error: fsverdict_linux::sandbox::program::ProgramError| FleetError::Engine(error.reason());
    let record = Program::new(argv.iter().copied()).with_time_limit(LIMIT).run("slurm").map_err(failed)?;
    require_success(record).map(|record| record.stdout).map_err(failed)
}
