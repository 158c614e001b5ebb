//! The meter and the settling against a real kernel: what it counts on a loop device must agree with what was done.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::{Disk, Place, tool, unmount};
use fsverdict_linux::host::root::Root;
use fsverdict_workload::measure::{Fresh, MeasureError, Meter, SettleLimits, WorkDone, wait_until_settled};

const MIB: u64 = 1 << 20;

/// An ext4 on a disk of the test's own.
struct Mounted {
    target: PathBuf,
    disk: Disk,
}

impl Mounted {
    fn new(place: &Place) -> Mounted {
        let disk = Disk::new(place, "image", 128 * MIB);
        let target = place.path().join("mounted");
        std::fs::create_dir(&target).unwrap();
        // Nothing may be left to initialise in the background.
        tool(&["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &disk.device]);
        tool(&["mount", &disk.device, target.to_str().unwrap()]);
        Mounted { target, disk }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.target);
    }
}

#[test]
fn loop_counts_agree_with_what_was_written() {
    let place = Place::new();
    let mounted = Mounted::new(&place);
    let device = [mounted.disk.name()];
    let root = Root::default();
    let meter = Meter::new(&root, &device, 0.0).unwrap();
    assert!(meter.cautions.is_empty());
    let calm = wait_until_settled(&root, &device, &SettleLimits::default()).unwrap();
    assert!(!calm.timed_out, "nothing writes to it yet");

    let target = &mounted.target;
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
    let fresh = Fresh::before_phase(target, 1 << 30).unwrap();
    let ((), clocked) = meter.clock("write", "fresh", &mut None, write, sync).unwrap();
    let work = WorkDone { bytes_written: 16 * MIB, files: 1, ..WorkDone::default() };
    let observation = clocked.finish(work, Some(&fresh)).unwrap();

    let logical = (16 * MIB) as f64;
    let written = observation.value("device_written").unwrap();
    assert!(written >= logical && written < 1.5 * logical, "{written}");
    assert!(observation.value("write_amplification").unwrap() >= 1.0);
    assert!(observation.value("device_flushes").unwrap() >= 1.0, "a commit of the journal flushes");
    let grown = observation.value("space_grown").unwrap();
    assert!(grown >= logical && grown < 1.5 * logical, "{grown}");
    assert!(observation.value("space_lost").unwrap() > 0.0);
    assert!(observation.value("cpu").unwrap() > 0.0);
    assert!(observation.value("durable").unwrap() > observation.value("returned").unwrap());
    println!("{observation:#?}");

    let settled = wait_until_settled(&root, &device, &SettleLimits::default()).unwrap();
    assert!(!settled.timed_out);
    let hasty = SettleLimits { timeout: Duration::ZERO, ..SettleLimits::default() };
    assert!(
        wait_until_settled(&root, &device, &hasty).unwrap().timed_out,
        "quiet takes some time to be seen"
    );
}
