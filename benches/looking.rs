//! How many states that cuts of power left are looked at in a second: those of ext4 on the model of a SATA SSD, drawn in the midst of
//! what the presets do, each of them checked by e2fsck. Of sequences of calls little lies in a state; where 200 files of 8 KiB were
//! saved each replays a journal of hundreds of blocks and is read whole. Fifty a second on two processors were asked for.
//!
//! `cargo bench --bench looking` takes some minutes, and builds the laboratory's kernel where there is none; a path behind `--` names
//! another program to measure.

#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to clean up but its own folder")]

#[path = "common/spent.rs"]
mod spent;

use std::path::Path;
use std::process::{Command, Stdio};

/// A plan, and how many states are looked at less and more: the difference is free of what a run takes before it looks.
const PLANS: [(&str, &str, [u32; 2]); 2] = [
    ("among sequences of one call", include_str!("../presets/crash-sequences.toml"), [100, 1500]),
    ("among 200 saved files", include_str!("../presets/power-cut.toml"), [50, 450]),
];

fn main() {
    let program = spent::program(env!("CARGO_BIN_EXE_fsverdict"));
    for (name, text, states) in PLANS {
        let [less, more] = states.map(|states| run(&program, text, states));
        let (looked, wall, cpu) = (more.0 - less.0, more.1 - less.1, more.2 - less.2);
        println!(
            "{name}: {looked} states, {:.1} a second, {:.0} ms of CPU each",
            f64::from(looked) / wall,
            cpu * 1000.0 / f64::from(looked)
        );
    }
}

/// The states that were looked at, the seconds that it took, and those of the processors.
fn run(program: &str, text: &str, states: u32) -> (u32, f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (folder.path().join("plan.toml"), folder.path().join("run"));
    std::fs::write(&plan, text.replace("steps     = 2", "steps     = 1")).unwrap();
    let mut command = Command::new(program);
    command.arg("run").arg(&plan).args(["--fs", "ext4", "--blocks", "1", "--set"]);
    command.arg(format!("faults.power_cuts={states}")).arg("--out").arg(&out);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (status, wall, cpu) = spent::over(|| command.status().unwrap());
    assert!(status.code().is_some_and(|code| code == 0 || code == 3), "{status}");
    (looked_at(&out), wall, cpu)
}

/// Of all candidates: the preset of saved files has two of ext4.
fn looked_at(run: &Path) -> u32 {
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let cuts = journal.lines().filter(|line| line.contains(r#""event":"power_cut""#));
    cuts.map(|line| {
        let states = line.split_once(r#""states":"#).unwrap().1;
        states.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse::<u32>().unwrap()
    })
    .sum()
}
