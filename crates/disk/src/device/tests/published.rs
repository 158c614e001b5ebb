//! Holds `nvme-pcie4` to the published rates of the drives that it stands for (its file names the source).

use super::super::{Action, Completion};
use super::{carry_out, device, model, places, seconds, sequence, within};

/// Bytes that the device is filled with before it is read.
const FILLED: u64 = 1 << 30;
/// Requests of 128 KiB.
const PER_MIB: u64 = 8;

/// Seconds that `requests` take at this queue depth on a device that was filled from end to end before.
fn after_filling(depth: usize, requests: Vec<(Action, u64, u32)>) -> f64 {
    let fill = || sequence(Action::Write, FILLED / (1 << 20) * PER_MIB, 256);
    let run = |requests: Vec<_>| -> Vec<Completion> {
        carry_out(&mut device(model("nvme-pcie4"), None, 2 << 30), depth, requests)
    };
    let alone = seconds(&run(fill().collect()));
    seconds(&run(fill().chain(requests).collect())) - alone
}

fn reads(count: u64) -> Vec<(Action, u64, u32)> {
    places(7, count, FILLED, 8).map(|sector| (Action::Read, sector, 8)).collect()
}

#[test]
fn the_rates_of_the_published_drives_are_met() {
    let writes: Vec<_> = sequence(Action::Write, 8000, 256).collect();
    let took = seconds(&carry_out(&mut device(model("nvme-pcie4"), None, 2 << 30), 8, writes));
    within("sequential writes, MB/s", 8000.0 * 0.131_072 / took, 5400.0, 0.05).unwrap();
    // 18 300 reads a second with one reader, of whose 54.6 µs some 8 are the processor's.
    let one = after_filling(1, reads(4000)) / 4000.0 * 1e6;
    within("a read alone, µs", one, 54.6 - 8.0, 0.03).unwrap();
    let sixteen = 20_000.0 / after_filling(16, reads(20_000));
    within("reads a second with sixteen readers", sixteen, 335_000.0, 0.12).unwrap();
}

#[test]
fn sixteen_writes_and_a_journal_commit_take_the_published_time() {
    // What ext4 asks for: the data, a flush, the commit, a flush.
    let batch = |number: u64| {
        let data = places(number, 16, FILLED, 8).map(|sector| (Action::Write, sector, 8));
        let flush = (Action::Flush, 0, 0);
        data.chain([flush, (Action::Write, 4_000_000 + number * 16, 16), flush]).collect::<Vec<_>>()
    };
    let requests: Vec<_> = (0..100).flat_map(batch).collect();
    let took = seconds(&carry_out(&mut device(model("nvme-pcie4"), None, 4 << 30), 1, requests));
    within("16 writes with an fdatasync, ms", took / 100.0 * 1e3, 16.0 / 2663.0 * 1e3, 0.1).unwrap();
}
