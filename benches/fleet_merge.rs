//! What merging a large fleet costs: forty sites with thirty blocks of sixteen candidates each, merged and rendered by the
//! program itself. It is to take less than 10 s.
//!
//! `cargo bench --bench fleet_merge` takes some seconds and 400 MB in the temporary folder.

#![allow(clippy::unwrap_used, reason = "a measurement that fails has nothing to clean up but its own folder")]

#[path = "../tests/common/shards.rs"]
mod shards;

use std::process::{Command, Stdio};
use std::time::Instant;

const SITES: u32 = 40;
const BLOCKS: u32 = 30;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    shards::shared_run(&run, (SITES * BLOCKS) as usize);
    for site in 1..=SITES {
        let name = format!("lab{site}");
        (1..=BLOCKS).for_each(|block| shards::shard(&run, (&name, block), ("", 1.0)));
    }
    for arguments in [&["merge", "--settled"][..], &["merge"]] {
        let started = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fsverdict"));
        let status = command.args(arguments).arg(&run).stdout(Stdio::null()).stderr(Stdio::null()).status();
        println!("{}: {:.2} s, {}", arguments.join(" "), started.elapsed().as_secs_f64(), status.unwrap());
    }
}
