//! Collects the facts for a journal's first line: this machine, its kernel, the versions of the tools that the plan uses.

use std::collections::BTreeMap;

use fsverdict_judgement::journal::Facts;
use fsverdict_judgement::plan::Plan;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::program::Program;
use fsverdict_stack::filesystem::Tool;

/// Collects the properties of this machine that could explain a difference between two runs.
pub(super) fn collect_facts(plan: &Plan) -> Facts {
    let mut facts = fsverdict_linux::host::environment::collect_environment(&Root::default());
    facts.insert("fsverdict.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    for (program, tool) in tools_of_plan(plan) {
        if let Some(line) = read_version(&tool) {
            facts.insert(format!("tool.{program}"), line);
        }
    }
    facts
}

fn tools_of_plan(plan: &Plan) -> BTreeMap<&'static str, Tool> {
    let of_candidate = plan.candidates.iter().flat_map(|candidate| {
        let filesystem = fsverdict_stack::filesystem::find_filesystem(&candidate.filesystem)
            .into_iter()
            .flat_map(fsverdict_stack::filesystem::Filesystem::tools);
        filesystem
            .chain(fsverdict_stack::layer::layers_of(candidate).flat_map(|layer| layer.tools.iter().copied()))
    });
    of_candidate.map(|tool| (tool.program, tool)).collect()
}

fn read_version(tool: &Tool) -> Option<String> {
    let argv = [tool.program].into_iter().chain(tool.version.iter().copied());
    let record = Program::new(argv).with_time_limit(std::time::Duration::from_secs(5)).run("version").ok()?;
    Tool::version_line(&format!("{}\n{}", record.stdout, record.stderr)).map(str::to_owned)
}
