//! What merging a large fleet costs, and how that grows: up to forty sites with thirty blocks of sixteen candidates each, merged
//! and rendered by the program itself. Forty are to take less than 3 s.
//!
//! `cargo bench --bench fleet_merge` takes some seconds and 400 MB in the temporary folder; a path behind `--` names another
//! program to measure.

#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to clean up but its own folder")]

#[path = "../tests/common/shards.rs"]
mod shards;
#[path = "common/spent.rs"]
mod spent;

use std::process::{Command, Stdio};

const SITES: [u32; 4] = [5, 10, 20, 40];
const BLOCKS: u32 = 30;

fn main() {
    let program = spent::program(env!("CARGO_BIN_EXE_fsverdict"));
    for sites in SITES {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        shards::shared_run(&run, (sites * BLOCKS) as usize);
        for site in 1..=sites {
            let name = format!("lab{site}");
            (1..=BLOCKS).for_each(|block| shards::shard(&run, (&name, block), ("", 1.0)));
        }
        for arguments in [&["merge", "--settled"][..], &["merge"]] {
            let mut command = Command::new(&program);
            command.args(arguments).arg(&run).stdout(Stdio::null()).stderr(Stdio::null());
            let (status, wall, spent) = spent::over(|| command.status().unwrap());
            println!("{sites:2} sites, {}: {wall:.2} s, {spent:.2} s of CPU, {status}", arguments.join(" "));
        }
    }
}
