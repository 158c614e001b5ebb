//! Tests of traces: writing, reading, damage, metrics, and exports that other programs read.

use std::process::Command;

use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

use super::super::tests::{carry_out, places};
use super::super::{Action, Device, Model, Request};
use super::{Flags, Metrics, Submitter, TraceError, TraceFormat, TraceReader, TraceWriter, Traced, export};

fn record() -> impl Strategy<Value = Traced> {
    let operation = prop::sample::select(Action::ALL.to_vec());
    (any::<u64>(), prop::option::of(any::<u32>()), operation, any::<u64>(), any::<u32>(), any::<[bool; 3]>())
        .prop_map(|(submitted_ns, latency, operation, sector, sectors, [failed, told, ours])| {
            let submitted_ns = submitted_ns >> 1;
            let flags = if failed { Flags::FAILED } else { Flags::default() };
            let completed_ns = latency.map(|latency| submitted_ns + u64::from(latency));
            let by = if ours { Submitter::kernel_thread("jbd2") } else { Submitter::process("rsync") };
            let by = told.then_some(by);
            Traced { submitted_ns, completed_ns, operation, sector, sectors, flags, by }
        })
}

fn written(records: &[Traced], bound: u64) -> (Vec<u8>, super::TraceSize) {
    let mut writer = TraceWriter::new(Vec::new(), bound).unwrap();
    for record in records {
        writer.record(record).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Vec<Traced>, TraceError> {
    TraceReader::new(bytes)?.collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(record(), 0..300)) {
        let (bytes, written) = written(&records, u64::MAX);
        prop_assert_eq!(written.bytes, bytes.len() as u64);
        prop_assert_eq!((written.records, written.left_out), (records.len() as u64, 0));
        prop_assert_eq!(read(&bytes).unwrap(), records);
    }

    #[test]
    fn damage_is_an_error_and_no_panic(records in prop::collection::vec(record(), 1..50), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let (mut bytes, _) = written(&records, u64::MAX);
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(read) = read(&bytes) {
            prop_assert!(read.len() <= 1 << 24);
        }
    }
}

/// A trace of random reads, writes and flushes on a modelled disk with a queue.
fn real(count: u64) -> Vec<Traced> {
    let mut device = Device::new(&Model::named("hdd-7200").unwrap(), 1 << 30, 1).unwrap();
    let requests = places(1, count, 1 << 30, 8).enumerate().map(|(index, sector)| match index % 10 {
        0..4 => (Action::Read, sector, 8),
        9 if index % 100 == 99 => (Action::Flush, 0, 0),
        _ => (Action::Write, sector, 8),
    });
    carry_out(&mut device, 8, requests).iter().map(|done| Traced::done(done, Flags::default())).collect()
}

#[test]
fn a_trace_whose_end_is_missing_lacks_its_end_only() {
    let records = real(30_000);
    let (bytes, _) = written(&records, u64::MAX);
    let cut = read(&bytes[..bytes.len() - 100]).unwrap();
    assert!(cut.len() > records.len() / 3 && cut.len() < records.len(), "{}", cut.len());
    assert_eq!(cut, records[..cut.len()]);
    for (bytes, expected) in
        [(&b""[..], "no trace"), (b"fsvtrac9", "no trace"), (b"fsvtrac1\xff\xff\xff\xff", "damaged after 0")]
    {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A reader that does not know submitters would take one for the next request.
#[test]
fn a_piece_says_whether_it_tells_of_submitters() {
    let untold = at(5, 6, Action::Read, 16);
    let told = Traced { by: Some(Submitter::process("rsync")), ..untold };
    for (record, tells) in [(untold, false), (told, true)] {
        let (bytes, _) = written(&[record], u64::MAX);
        assert_eq!(u32::from_le_bytes(bytes[8..12].try_into().unwrap()) >> 31 == 1, tells);
        assert_eq!(read(&bytes).unwrap(), [record]);
    }
}

#[test]
fn a_trace_is_small_and_bounded() {
    let records = real(100_000);
    let (bytes, _) = written(&records, u64::MAX);
    // Random places cannot be compressed: 21 bits of sector, and times.
    assert!(bytes.len() < 14 * records.len(), "{} bytes each", bytes.len() / records.len());
    let (bytes, bounded) = written(&records, 200_000);
    assert!(bytes.len() < 300_000, "{}", bytes.len());
    assert_eq!(bounded.records + bounded.left_out, records.len() as u64);
    assert_eq!(read(&bytes).unwrap(), records[..bounded.records as usize]);
}

fn at(submitted_ns: u64, completed_ns: u64, operation: Action, sector: u64) -> Traced {
    let sectors = if operation == Action::Flush { 0 } else { 8 };
    let flags = Flags::default();
    Traced { submitted_ns, completed_ns: Some(completed_ns), operation, sector, sectors, flags, by: None }
}

#[test]
fn metrics_are_what_can_be_counted_by_hand() {
    use Action::{Flush, Read, Write};
    let records = [
        at(0, 100, Write, 0),
        at(50, 150, Write, 8),
        at(50, 250, Read, 1000),
        at(400, 500, Flush, 0),
        at(500, 700, Write, 0),
    ];
    let metrics = Metrics::new(&records);
    assert_eq!(
        (metrics.share(Write).requests, metrics.share(Write).bytes, metrics.share(Write).sequential),
        (3, 12_288, 1)
    );
    assert_eq!((metrics.seeks, metrics.seek_sectors), (2, 984 + 1008));
    assert_eq!(metrics.sequential_share(), Some(1.0 / 3.0));
    assert_eq!((metrics.span_ns, metrics.most_depth, metrics.underway), (700, 3, 0));
    // 100 + 100 + 200 + 100 + 200 over 250 + 300 busy nanoseconds.
    assert!((metrics.mean_depth - 700.0 / 550.0).abs() < 1e-9);
    assert_eq!(
        [0.0, 0.5, 0.99].map(|share| metrics.share(Write).latency_ns(share)),
        [Some(100), Some(100), Some(200)]
    );
    assert_eq!(Metrics::new(&[]).share(Read).latency_ns(0.5), None);
}

#[test]
fn what_is_underway_is_kept_as_such() {
    let mut device = Device::new(&Model::named("hdd-7200").unwrap(), 1 << 30, 1).unwrap();
    for id in 0..40 {
        device.submit(id, Request { id, operation: Action::Read, sector: id * 1000, sectors: 8 });
    }
    let records: Vec<Traced> =
        device.pending_requests().map(|(at_ns, request)| Traced::underway(at_ns, request)).collect();
    assert_eq!(records.len(), 40);
    let (bytes, _) = written(&records, u64::MAX);
    assert_eq!(read(&bytes).unwrap(), records);
    assert_eq!(Metrics::new(&records).underway, 40);
}

/// Runs a program on an export; returns its standard output.
fn run(program: &str, arguments: &[&str], folder: &std::path::Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; make setup installs it"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn blkparse_reads_every_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = real(2000);
    records.push(at(u64::from(u32::MAX) * 10, u64::from(u32::MAX) * 10 + 5, Action::Discard, 4096));
    let mut file = std::fs::File::create(folder.path().join("vda.blktrace.0")).unwrap();
    export(&records, TraceFormat::Blktrace, "", &mut file).unwrap();
    let seen = run("blkparse", &["-i", "vda", "-f", "%a %d %S %n %T.%t\\n"], folder.path());
    for (action, done) in [("Q", false), ("D", false), ("C", true)] {
        let mut expected: Vec<String> = records
            .iter()
            .map(|record| {
                let rwbs = ["R", "W", "FW", "D", "W"][record.operation as usize];
                let at_ns = if done { record.completed_ns.unwrap() } else { record.submitted_ns };
                // blkparse counts from the first event.
                let at_ns = at_ns - records.iter().map(|record| record.submitted_ns).min().unwrap();
                format!(
                    "{action} {rwbs} {} {} {}.{:09}",
                    record.sector,
                    record.sectors,
                    at_ns / 1_000_000_000,
                    at_ns % 1_000_000_000
                )
            })
            .collect();
        let mut lines: Vec<String> = seen
            .lines()
            .filter(|line| line.starts_with(&format!("{action} ")))
            .map(|line| line.trim().to_owned())
            .collect();
        expected.sort();
        lines.sort();
        let wrong = lines.iter().zip(&expected).find(|(seen, expected)| seen != expected);
        assert_eq!((lines.len(), wrong), (expected.len(), None));
    }
}

#[test]
fn fio_does_every_request_again() {
    let folder = tempfile::tempdir().unwrap();
    let records = real(500);
    std::fs::File::create(folder.path().join("disk")).unwrap().set_len(1 << 30).unwrap();
    let mut file = std::fs::File::create(folder.path().join("log")).unwrap();
    export(&records, TraceFormat::Iolog, "disk", &mut file).unwrap();
    let out = run(
        "fio",
        &[
            "--name=again",
            "--read_iolog=log",
            "--replay_no_stall=1",
            "--ioengine=psync",
            "--output-format=json",
        ],
        folder.path(),
    );
    let found: serde_json::Value = serde_json::from_str(&out[out.find('{').unwrap()..]).unwrap();
    let metrics = Metrics::new(&records);
    for (name, operation) in [("read", Action::Read), ("write", Action::Write)] {
        let share = metrics.share(operation);
        assert_eq!(found["jobs"][0][name]["total_ios"], share.requests, "{name}");
        assert_eq!(found["jobs"][0][name]["io_bytes"], share.bytes, "{name}");
    }
    assert_eq!(found["jobs"][0]["sync"]["total_ios"], metrics.share(Action::Flush).requests);
}

#[test]
fn a_table_has_a_line_for_each() {
    let mut out = Vec::new();
    let mut open = at(7, 9, Action::Read, 1);
    open.completed_ns = None;
    export(&[at(5, 6, Action::WriteZeroes, 16), open], TraceFormat::Csv, "", &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "submitted_ns,completed_ns,operation,sector,sectors,failed,submitter\n5,6,write_zeroes,16,8,false,\n7,,read,1,8,false,\n"
    );
}
