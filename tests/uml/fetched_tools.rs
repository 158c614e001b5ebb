//! Tools that `fsverdict tools` fetched are found in a guest, where the system has none of their name.

use std::fs;

use crate::common::fetched::{TOOL, tools, write_script};
use crate::common::{Place, not_run};

const PLAN: &str = r#"
title        = "Fetched tools"
lab          = "uml"
cpu          = "free"
device       = { model = "sata-ssd", size = "512MiB" }
protocol     = { blocks = 1, timeout = "300s", circumstances = "fixed", seed = 3 }
dataset.tree = { profile = "mixed", files = 20, directories = 4, size = "512KiB" }
phase        = [{ name = "write", operation = "tree.write", dataset = "tree" }]
matrix.filesystem = ["bcachefs"]
"#;

#[test]
fn uml_simulated_fetched_tools_are_found_by_guests_and_cautioned_about() {
    let place = Place::new();
    if place.any("sh", &["-c", "command -v mkfs.bcachefs"]).code == Some(0) {
        return not_run("mkfs.bcachefs is installed, and goes before fetched tools");
    }
    let set = tools(&place).join("bcachefs");
    for program in ["bcachefs", "mkfs.bcachefs"] {
        write_script(&set.join("bin").join(program), &TOOL.replace("$NAME", program));
    }
    // The stand-in makes no filesystem, so that the mount fails; that it is found and started in the guest is what counts.
    place.run(PLAN, &[]);
    let journal = place.journal();
    let made = journal.all("command").find(|event| event["step"] == "mkfs").unwrap();
    assert_eq!(made["exit"], 0, "{made}");
    assert!(made["stdout"].as_str().unwrap().starts_with("fetched 9.9.9 as mkfs.bcachefs -f"), "{made}");
    let cautioned =
        journal.all("caution").any(|event| event["text"].as_str().unwrap().contains("is older than"));
    assert!(cautioned, "the driver of a laboratory kernel is older than today's");
    // A folder that others may write to is not used: root starts programs from it.
    let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
    fs::set_permissions(set.join("bin"), open).unwrap();
    if !std::path::Path::new("/var/cache/fsverdict/tools/bcachefs").exists() {
        let mut words = vec!["not installed: mkfs.bcachefs"];
        words.extend(
            std::path::Path::new("/etc/debian_version").exists().then_some("fsverdict tools bcachefs"),
        );
        let plan = place.plan("plan", PLAN);
        let seen = place.fsverdict(&["doctor", &plan]);
        let shown = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|word| shown.contains(word)), "{shown}");
    }
}
