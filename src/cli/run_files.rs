//! Every file that a command reads or writes in the folder of a run: one table, over which the tests of attacks iterate.

use crate::fleet::{ROSTER, RUN_KEY, SITES, Shards, Site, slurm_log_name};
use crate::study::PLAN_FILE;
use fsverdict_faults::{CUTS, TRIED_IN as MINIMISE};
use fsverdict_judgement::journal::FILE_NAME;
use fsverdict_lab::lab::TRACES;

use super::run_report::{REPORTS, name_of_report};

/// A file in the folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFile {
    /// The folders below that of the run in which it lies, outermost first.
    pub folders: Vec<String>,
    pub name: String,
}

impl RunFile {
    /// Its path below the folder of the run.
    pub fn path(&self) -> String {
        let parts = self.folders.iter().chain([&self.name]);
        parts.map(String::as_str).collect::<Vec<_>>().join("/")
    }
}

/// The files of a run with this candidate and this site: each kind once, with number 1 where there are several.
pub fn run_files(candidate: &str, site: &Site) -> Vec<RunFile> {
    let file = |folders: &[&str], name: String| RunFile {
        folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        name,
    };
    let in_run = [PLAN_FILE, FILE_NAME, ROSTER, RUN_KEY].into_iter().map(str::to_owned);
    let reports = REPORTS.iter().map(|form| name_of_report(*form).to_owned());
    let mut files: Vec<RunFile> =
        in_run.chain(reports).chain([slurm_log_name(site)]).map(|name| file(&[], name)).collect();
    let site = site.to_string();
    for name in [Shards::whole_name(1), Shards::partial_name(1)] {
        files.push(file(&[SITES, &site], name));
    }
    for name in [format!("1-{candidate}-1.trace"), format!("1-{candidate}-1.2.trace")] {
        files.push(file(&[TRACES], name));
    }
    for kind in ["writes", "device-2.writes", "json", "found", "looked", "rot.json"] {
        files.push(file(&[CUTS], format!("{candidate}.{kind}")));
        if !["found", "rot.json"].contains(&kind) {
            files.push(file(&[CUTS, MINIMISE], format!("{candidate}.{kind}")));
        }
    }
    files
}
