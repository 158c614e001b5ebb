//! `scripts/setup` is a shell script and repeats which package holds which tool; here it is held to the registries.

use std::path::{Path, PathBuf};
use std::process::Command;

use fsverdict_stack::filesystem::{Distribution, Package, Tool, registry};
use fsverdict_stack::layer;
use fsverdict_workload::workload::adapters;

/// One line of the script's table.
struct Need {
    commands: Vec<String>,
    packages: [String; 4],
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/setup")
}

fn needs(script: &str) -> Vec<Need> {
    script
        .lines()
        .filter(|line| ["required|", "wanted|", "optional|"].iter().any(|level| line.starts_with(level)))
        .map(|line| {
            let columns: Vec<&str> = line.split('|').collect();
            assert_eq!(columns.len(), 7, "{line}");
            Need {
                commands: columns[1].split(' ').map(str::to_owned).collect(),
                packages: [3, 4, 5, 6].map(|column| columns[column].to_owned()),
            }
        })
        .collect()
}

fn tools() -> Vec<Tool> {
    let of_filesystems = registry().iter().flat_map(|filesystem| {
        filesystem.tools().chain(filesystem.cleaner.as_ref().map(|cleaner| cleaner.tool))
    });
    let of_layers = layer::registry().iter().flat_map(|layer| layer.tools.iter().copied());
    of_filesystems.chain(of_layers).chain(adapters().iter().map(|adapter| adapter.tool())).collect()
}

#[test]
fn setup_installs_every_tool_of_the_registries_from_the_same_packages() {
    let needs = needs(&std::fs::read_to_string(script()).unwrap());
    let tools = tools();
    assert!(tools.len() > 15, "the registries were not walked");
    for tool in tools {
        let need = needs
            .iter()
            .find(|need| need.commands.iter().any(|command| command == tool.program))
            .unwrap_or_else(|| panic!("scripts/setup does not know {}", tool.program));
        for (distribution, offered) in Distribution::ALL.into_iter().zip(&need.packages) {
            if let Package::Official(package) = tool.packages.package_on(distribution) {
                assert_eq!(offered, package, "{} on {:?}", tool.program, distribution);
            }
        }
    }
}

#[test]
fn setup_refuses_what_it_does_not_understand() {
    let output = Command::new(script()).arg("--instal").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage: scripts/setup [--check]"));
}
