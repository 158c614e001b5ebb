//! The meter and the settling against a real kernel: what it counts on a loop device must agree with what was done.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic in its helpers too")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fsverdict::host::root::Root;
use fsverdict::journal::Observation;
use fsverdict::measure::{MeasureError, Meter, SettleLimits, WorkDone, settle};

const MIB: u64 = 1 << 20;

/// An ext4 on a loop device that goes away with its last user.
struct Mounted {
    folder: tempfile::TempDir,
    device: String,
}

impl Mounted {
    fn new() -> Mounted {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(128 * MIB).unwrap();
        let target = folder.path().join("mounted");
        std::fs::create_dir(&target).unwrap();
        // Nothing may be left to initialise in the background.
        run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"], &[&image]);
        run("mount", &["-o", "loop"], &[&image, &target]);
        let shown = Command::new("losetup").arg("-nO").arg("NAME").arg("-j").arg(&image).output().unwrap();
        let device = String::from_utf8(shown.stdout).unwrap().trim().trim_start_matches("/dev/").to_owned();
        Mounted { folder, device }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[], &[&self.target()]);
    }
}

fn run(program: &str, options: &[&str], paths: &[&Path]) {
    let output = Command::new(program).args(options).args(paths).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn value(observation: &Observation, name: &str) -> f64 {
    let found = observation.measurements.iter().find(|one| one.metric == name);
    found.unwrap_or_else(|| panic!("{name} is missing")).value
}

#[test]
fn loop_counts_agree_with_what_was_written() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: needs root for a loop device");
        return;
    }
    let mounted = Mounted::new();
    let root = Root::default();
    let meter = Meter::new(&root, Some(&mounted.device), 0.0).unwrap();
    assert!(meter.cautions().is_empty());
    let calm = settle(&root, Some(&mounted.device), &SettleLimits::default()).unwrap();
    assert!(!calm.timed_out, "nothing writes to it yet");

    let target = mounted.target();
    let write = |file: &mut Option<File>| {
        let file = file.insert(File::create(target.join("file")).unwrap());
        let piece: Vec<u8> = (0..MIB).map(|index| (index % 251) as u8).collect();
        (0..16).for_each(|_| file.write_all(&piece).unwrap());
        Ok::<(), MeasureError>(())
    };
    let sync = |file: &mut Option<File>| {
        rustix::fs::syncfs(file.as_ref().unwrap()).unwrap();
        Ok(())
    };
    let ((), clocked) = meter.clock("write", "fresh", &mut None, write, sync).unwrap();
    let work = WorkDone { bytes_written: 16 * MIB, files: 1, ..WorkDone::default() };
    let observation = clocked.finish(work, Some(&target)).unwrap();

    let logical = (16 * MIB) as f64;
    let written = value(&observation, "device_written");
    assert!(written >= logical && written < 1.5 * logical, "{written}");
    assert!(value(&observation, "write_amplification") >= 1.0);
    assert!(value(&observation, "device_flushes") >= 1.0, "a commit of the journal flushes");
    assert!(value(&observation, "space_used") >= logical);
    assert!(value(&observation, "cpu") > 0.0);
    assert!(value(&observation, "durable") > value(&observation, "returned"));
    println!("{observation:#?}");

    let settled = settle(&root, Some(&mounted.device), &SettleLimits::default()).unwrap();
    assert!(!settled.timed_out);
    let hasty = SettleLimits { timeout: Duration::ZERO, ..SettleLimits::default() };
    assert!(
        settle(&root, Some(&mounted.device), &hasty).unwrap().timed_out,
        "quiet takes some time to be seen"
    );
}
