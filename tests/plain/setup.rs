//! `scripts/packages` repeats which package holds which tool; these tests compare it with the registries.

use std::path::{Path, PathBuf};
use std::process::Command;

use fsverdict_stack::filesystem::{Distribution, Package, Tool, registry};
use fsverdict_stack::layer;
use fsverdict_workload::workload::adapters;

const LEVELS: [&str; 9] = ["build", "demo", "labs", "native", "uml", "vm", "layers", "programs", "tests"];

/// One row of the table.
struct Need {
    levels: Vec<String>,
    commands: Vec<String>,
    packages: [String; 4],
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/setup")
}

fn read_table() -> Vec<Need> {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/packages");
    std::fs::read_to_string(table)
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<&str> = line.split('|').collect();
            assert_eq!(columns.len(), 8, "{line}");
            assert!(["required", "wanted", "optional"].contains(&columns[0]), "{line}");
            let words = |column: usize| columns[column].split(' ').map(str::to_owned).collect::<Vec<_>>();
            let (levels, commands) = (words(1), words(2));
            assert!(levels.iter().all(|level| LEVELS.contains(&level.as_str())), "{line}");
            Need { levels, commands, packages: [4, 5, 6, 7].map(|column| columns[column].to_owned()) }
        })
        .collect()
}

fn tools() -> Vec<Tool> {
    let of_filesystems = registry().iter().flat_map(|filesystem| {
        filesystem.tools().chain(filesystem.cleaner.as_ref().map(|cleaner| cleaner.tool))
    });
    let of_layers = layer::registry().iter().flat_map(|layer| layer.tools.iter().copied());
    of_filesystems
        .chain(of_layers)
        .chain(adapters().iter().map(fsverdict_workload::workload::Adapter::tool))
        .collect()
}

#[test]
fn setup_installs_every_tool_of_the_registries_from_the_same_packages() {
    let needs = read_table();
    let tools = tools();
    assert!(tools.len() > 15, "the registries were not walked");
    for tool in tools {
        let need = needs
            .iter()
            .find(|need| need.commands.iter().any(|command| command == tool.program))
            .unwrap_or_else(|| panic!("scripts/packages does not know {}", tool.program));
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

#[test]
fn the_demo_has_the_filesystems_of_its_plan_and_no_server() {
    let table = read_table();
    let has = |level: &str, command: &str| {
        table.iter().any(|need| {
            need.levels.iter().any(|of_need| of_need == level)
                && need.commands.iter().any(|of_need| of_need == command)
        })
    };
    let plan =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("presets/demo.toml")).unwrap();
    let line =
        plan.lines().find_map(|line| line.strip_prefix("filesystem = [\"")?.strip_suffix("\"]")).unwrap();
    let filesystems: Vec<&str> = line.split("\", \"").collect();
    assert!(filesystems.len() > 3, "{line}");
    for name in filesystems {
        assert!(
            has("demo", registry().iter().find(|known| known.name == name).unwrap().mkfs.program),
            "{name}"
        );
    }
    for (server, level) in [("sshd", "tests"), ("slurmd", "tests"), ("mdadm", "layers"), ("lvs", "layers")] {
        assert!(has(level, server) && !has("demo", server), "{server}");
    }
    assert!(has("vm", "qemu-system-x86_64") && !has("demo", "qemu-system-x86_64"));
}
