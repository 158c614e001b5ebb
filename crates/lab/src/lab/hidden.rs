//! Chooses the files of this machine that are hidden from trials, and the exceptions that trials need.

use std::path::{Path, PathBuf};

use fsverdict_folders::own_users;
use fsverdict_judgement::plan::{Dataset, Plan};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::sandbox::program::fetched_program_folders;

/// Files that are hidden from the trials of a plan, except `needed`. Trials of an ordinary user can read all files that
/// the user can, and hide nothing.
pub fn hidden_from(plan: &Plan, needed: impl IntoIterator<Item = PathBuf>) -> Secrets {
    let folders = plan.datasets.values().filter_map(dataset_folder);
    let places = plan.candidates.iter().filter_map(|candidate| candidate.path.as_ref());
    hidden_but_for(folders.chain(places).cloned().chain(needed).collect(), &plan.reads)
}

/// Files that are hidden from programs other than trials, except `needed` and everything below `opened`.
pub(super) fn hidden_but_for(mut needed: Vec<PathBuf>, opened: &[PathBuf]) -> Secrets {
    if !rustix::process::geteuid().is_root() {
        return Secrets::default();
    }
    // Tools lie in these folders, which the user of fsverdict chose.
    let programs = std::env::var_os("PATH").unwrap_or_default();
    needed.extend(std::env::split_paths(&programs).filter(|folder| folder.is_absolute()));
    // The libraries of fetched programs lie beside the folder of these.
    needed.extend(fetched_program_folders().filter_map(|folder| Some(folder.parent()?.to_owned())));
    Secrets::find_secrets(&Root::default(), &needed, opened, own_users())
}

/// Sentences about content that the datasets of a plan lack.
pub fn list_missing_content(plan: &Plan) -> Vec<String> {
    let hidden = hidden_from(plan, []);
    let of = |(name, dataset): (&String, &Dataset)| {
        let within: Vec<&Path> = hidden.secrets_in(dataset_folder(dataset)?).collect();
        let first = within.first()?.display();
        let more = if within.len() > 1 { format!(" and {} more", within.len() - 1) } else { String::new() };
        Some(format!(
            "dataset `{name}`: what only root may read is empty or missing in it ({first}{more}); `reads` in the plan names what is to be seen"
        ))
    };
    plan.datasets.iter().filter_map(of).collect()
}

fn dataset_folder(dataset: &Dataset) -> Option<&PathBuf> {
    match dataset {
        Dataset::Folder { path, .. } => Some(path),
        _ => None,
    }
}
