//! Finds the programs that a candidate needs and this machine lacks, and says how to install them.

use std::path::{Path, PathBuf};

use fsverdict_judgement::plan::{Candidate, once_each};
use fsverdict_linux::sandbox::program::{find_fetched_program, find_installed_program, find_program};
use fsverdict_stack::filesystem::{Distribution, Filesystem, Package, Tool, find_filesystem};
use fsverdict_stack::layer::layers_of;
use fsverdict_text::Reason;

use super::description::is_seen_by_guests;

pub(super) fn missing_tools(candidate: &Candidate) -> Option<Reason> {
    not_installed(tools_of(candidate))
}

/// The same where further programs lie beside a guest's kernel.
pub(super) fn missing_tools_with(candidate: &Candidate, beside: Option<&Path>) -> Option<Reason> {
    let is_beside = |program: &str| beside.is_some_and(|folder| folder.join(program).is_file());
    let tools = tools_of(candidate).filter(|tool| !is_beside(tool.program));
    not_installed(tools).or_else(|| unseen_tools(candidate))
}

/// The folders of fetched programs that a candidate needs because the system has none of their name.
pub(super) fn fetched_folders_of(candidate: &Candidate) -> Vec<PathBuf> {
    let missing = tools_of(candidate).filter(|tool| find_installed_program(tool.program).is_none());
    let programs = missing.filter_map(|tool| find_fetched_program(tool.program));
    once_each(programs.filter_map(|program| Some(program.parent()?.to_owned())))
}

/// Fetched programs that lie where guests have mounts of their own.
fn unseen_tools(candidate: &Candidate) -> Option<Reason> {
    let folder = fetched_folders_of(candidate).into_iter().find(|folder| !is_seen_by_guests(folder))?;
    Some(Reason::new(
        format!("guests do not see the fetched programs in {}", folder.display()),
        "set XDG_CACHE_HOME to another folder, below /var/tmp say, and fetch them again",
    ))
}

/// The programs that a candidate's filesystem and layers need.
pub(super) fn tools_of(candidate: &Candidate) -> impl Iterator<Item = Tool> {
    let filesystem = find_filesystem(&candidate.filesystem).into_iter().flat_map(Filesystem::tools);
    let layers = layers_of(candidate);
    filesystem.chain(layers.flat_map(|layer| layer.tools.iter().copied()))
}

/// Which of these programs are not here, and how they come here.
pub fn not_installed(tools: impl Iterator<Item = Tool>) -> Option<Reason> {
    let missing = tools.filter(|tool| find_program(tool.program).is_none());
    let missing = once_each(missing);
    missing.first()?;
    let programs = missing.iter().map(|tool| tool.program).collect::<Vec<_>>().join(", ");
    Some(Reason::new(format!("not installed: {programs}"), how_to_install(&missing)))
}

/// One command for all that the distribution has, and for the rest where to find it.
fn how_to_install(missing: &[Tool]) -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let Some(distribution) = Distribution::from_os_release(&release) else {
        let programs: Vec<&str> = missing.iter().map(|tool| tool.program).collect();
        return format!("install the packages that have {}", programs.join(", "));
    };
    let (mut official, mut elsewhere) = (Vec::new(), Vec::new());
    for tool in missing {
        let (list, name) = match tool.packages.package_on(distribution) {
            Package::Official(name) => (&mut official, name),
            Package::Elsewhere(note) => (&mut elsewhere, note),
        };
        if !list.contains(&name) {
            list.push(name);
        }
    }
    if !official.is_empty() {
        official.insert(0, distribution.install_command());
    }
    let command = Some(official.join(" ")).filter(|command| !command.is_empty());
    command.into_iter().chain(elsewhere.into_iter().map(str::to_owned)).collect::<Vec<_>>().join("; ")
}
