//! What trials must not see of this machine, and what they need to see of it all the same.

use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::{Dataset, Plan};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::secrets::Secrets;

/// What is hidden from the trials of a plan, but for `needed`. An ordinary user's trials read what that user may, and
/// nothing needs hiding.
pub fn hidden_from(plan: &Plan, needed: impl IntoIterator<Item = PathBuf>) -> Secrets {
    let folders = plan.datasets.values().filter_map(folder);
    let places = plan.candidates.iter().filter_map(|candidate| candidate.path.as_ref());
    hidden_but_for(folders.chain(places).cloned().chain(needed).collect(), &plan.reads)
}

/// What is hidden from programs that are no trial, but for `needed` and all that lies below `opened`.
pub(super) fn hidden_but_for(mut needed: Vec<PathBuf>, opened: &[PathBuf]) -> Secrets {
    if !rustix::process::geteuid().is_root() {
        return Secrets::default();
    }
    // Tools are found there, and whoever started us chose them.
    let programs = std::env::var_os("PATH").unwrap_or_default();
    needed.extend(std::env::split_paths(&programs).filter(|folder| folder.is_absolute()));
    Secrets::find_secrets(&Root::default(), &needed, opened)
}

/// What the datasets of a plan lack, in sentences.
pub fn lacking(plan: &Plan) -> Vec<String> {
    let hidden = hidden_from(plan, []);
    let of = |(name, dataset): (&String, &Dataset)| {
        let within: Vec<&Path> = hidden.secrets_in(folder(dataset)?).collect();
        let first = within.first()?.display();
        let more = if within.len() > 1 { format!(" and {} more", within.len() - 1) } else { String::new() };
        Some(format!(
            "dataset `{name}`: what only root may read is empty or missing in it ({first}{more}); `reads` in the plan names what is to be seen"
        ))
    };
    plan.datasets.iter().filter_map(of).collect()
}

fn folder(dataset: &Dataset) -> Option<&PathBuf> {
    match dataset {
        Dataset::Folder { path, .. } => Some(path),
        _ => None,
    }
}
