//! Tests traces in every form: a model's own trace replays exactly, and faults name their line.

use std::fmt::Write;

use proptest::prelude::{any, prop, proptest};

use super::measured::request_kinds;
use super::{Measured, TraceFault, read_recording, replay_trace};
use crate::device::trace::{Flags, TraceWriter, Traced};
use crate::device::{Action, Completion, Device, Model, Request, random};

const SIZE: u64 = 64 << 30;

/// Requests on a device of the model with `depth` in flight, with pauses; reads and writes, some of them sequential.
fn trace_of(model: &Model, depth: usize, count: u64) -> Vec<Completion> {
    let mut device = Device::new(model, model.capacity() / 512 * 512, 1).unwrap();
    let (mut done, mut now_ns, mut sector) = (Vec::new(), 0, 0);
    for id in 0..count {
        while id as usize - done.len() >= depth {
            now_ns = device.next_event().unwrap();
            device.advance(now_ns, &mut done);
        }
        now_ns += if id == 0 { 0 } else { random::uniform_below(3, id, 40_000_000) };
        while let Some(next_ns) = device.next_event().filter(|next_ns| *next_ns <= now_ns) {
            device.advance(next_ns, &mut done);
        }
        sector = if id % 3 == 0 { random::uniform_below(1, id, SIZE / 512 / 8) * 8 } else { sector + 8 };
        let operation = if id % 4 == 0 { Action::Write } else { Action::Read };
        device.submit(now_ns, Request { id, operation, sector, sectors: 8 });
    }
    while let Some(next_ns) = device.next_event() {
        device.advance(next_ns, &mut done);
    }
    done
}

fn times(trace: &[Measured]) -> Vec<f64> {
    trace.iter().map(|measured| measured.record.latency_ns().unwrap() as f64).collect()
}

#[test]
fn a_model_answers_its_own_trace_as_it_is() {
    for (name, depth) in [("hdd-7200", 1), ("hdd-7200", 4), ("sata-ssd", 8), ("usb-disk-5400", 2)] {
        let model = Model::named(name).unwrap();
        let mut bytes = Vec::new();
        let mut writer = TraceWriter::new(&mut bytes, u64::MAX).unwrap();
        for completion in trace_of(&model, depth, 300) {
            writer.record(&Traced::done(&completion, Flags::default())).unwrap();
        }
        writer.finish().unwrap();
        let trace = read_recording(&bytes).unwrap();
        assert_eq!(trace.len(), 300);
        assert_eq!(replay_trace(&model, &trace).unwrap(), times(&trace), "{name} at depth {depth}");
        let other = Model::named("ideal").unwrap();
        assert_ne!(replay_trace(&other, &trace).unwrap(), times(&trace));
    }
}

#[test]
fn one_request_at_a_time_is_issued_waited_for_and_thought_about() {
    let model = Model::named("hdd-7200").unwrap();
    let mut done = trace_of(&model, 1, 100);
    done.sort_by_key(|completion| completion.submitted_ns);
    let mut text = "# R or W, sector, sectors, µs, µs\n".to_owned();
    for pair in done.windows(2) {
        let Completion { request, submitted_ns, completed_ns } = pair[0];
        let kind = if request.operation == Action::Read { "R" } else { "W Late" };
        let us = |ns: u64| ns as f64 / 1e3;
        let (took, think) = (us(completed_ns - submitted_ns), us(pair[1].submitted_ns - completed_ns));
        writeln!(text, "{kind} {} {} {took:.3} {think:.3}", request.sector, request.sectors).unwrap();
    }
    let trace = read_recording(text.as_bytes()).unwrap();
    // The pause before the first request is not in such a trace, so that the platter's angle differs.
    let (said, real) = (replay_trace(&model, &trace).unwrap(), times(&trace));
    let off = said.iter().zip(&real).filter(|(time, other)| (**time - **other).abs() > 2.0).count();
    assert!(off <= 60, "{off} of {}", real.len());
    assert_eq!(trace[0].word, "late");
    let all: std::collections::BTreeSet<String> = request_kinds(&trace).into_iter().collect();
    assert_eq!(
        all.iter().map(String::as_str).collect::<Vec<_>>(),
        ["read elsewhere", "read onwards", "write elsewhere", "write onwards"]
    );
}

#[test]
fn words_that_tell_requests_apart_are_their_kinds() {
    let text = "R Hit 0 8 500 10\nR Miss 8 8 9000 10\nW Hit 16 8 700 10\nW Hit 100 8 700 10\n";
    let all = request_kinds(&read_recording(text.as_bytes()).unwrap());
    assert_eq!(all, ["read hit", "read miss", "write onwards", "write elsewhere"]);
}

#[test]
fn logs_of_fio_and_blkparse_are_read() {
    let fio = "2, 1500000, 0, 4096, 8192, 0\n12, 9000000, 1, 8192, 0, 0\n12, 500000, 3, 0, 0, 0\n";
    let trace = read_recording(fio.as_bytes()).unwrap();
    let short: Vec<_> = trace
        .iter()
        .map(|measured| (measured.record.operation, measured.record.sector, measured.record.sectors))
        .collect();
    assert_eq!(short, [(Action::Read, 16, 8), (Action::Write, 0, 16), (Action::Flush, 0, 0)]);
    assert_eq!(times(&trace), [1_500_000.0, 9_000_000.0, 500_000.0]);
    // This line has the time of issue, as `log_issue_time` gives it.
    let trace = read_recording(b"2, 1500000, 0, 4096, 8192, 0, 1700000000000000000\n").unwrap();
    assert_eq!(times(&trace), [1_500_000.0]);
    let blkparse = "\
  8,0    1        1     0.000000000   100  Q   R 2048 + 8 [fio]
  8,0    1        2     0.000010000   100  D   R 2048 + 8 [fio]
  8,0    1        3     0.004010000     0  C   R 2048 + 8 [0]
  8,0    1        4     0.005000000   100  D  WS 64 + 16 [fio]
  8,0    1        5     0.006000000     0  C  WS 64 + 16 [0]
  8,0    1        6     0.007000000   100  D FFN [kworker]
  8,0    1        7     0.009000000     0  C FFN 0 [0]
  8,0    1        8     0.010000000     0  C   R 4096 + 8 [0]
CPU1 (sda):
 Reads Queued:           1,        4KiB  Writes Queued:           1,        8KiB
";
    let trace = read_recording(blkparse.as_bytes()).unwrap();
    assert_eq!(times(&trace), [4_000_000.0, 1_000_000.0, 2_000_000.0]);
    assert_eq!(request_kinds(&trace), ["read elsewhere", "write elsewhere", "flush"]);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        ("R 0 8 500 10\nX 0 8 500 10\n", "line 2: R or W is wanted first, not \"X\""),
        (
            "R 0 8 500\n",
            "line 1: sector, sectors, µs taken and µs until the next are wanted; there are 3 numbers",
        ),
        ("R 0 8 nan 10\n", "line 1: \"nan\" is no time"),
        ("R 0 8 -1 10\n", "line 1: \"-1\" is no time"),
        ("R 0 99999999 1 10\n", "line 1: no request is of 99999999 sectors from 0 on"),
        ("1, 2, 0, 4096\n", "line 1: a log of fio's without offsets: run it with --log_offset=1"),
        ("1, 2, 7, 4096, 0, 0\n", "line 1: there is no direction \"7\""),
        ("fio version 3 iolog\n", "fio's iolog has the requests, but not their times"),
        ("hello\n", "its format is unknown"),
        ("\n", "it is empty"),
        ("R 0 8 7e16 1\n", "line 1: \"7e16\" is no time"),
        ("R 0 8 1 2e14\nR 0 8 1 1\n", "it takes more than three years"),
        (
            "8,0 1 1 0.1 1 Q R 0 + 8 [x]\n",
            "no request of 8,0 has a beginning and an end: 1 queued (Q), 0 issued (D), 0 completed (C)",
        ),
    ] {
        assert_eq!(read_recording(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
    }
    let fault = read_recording(b"\xff\xfe\x00").unwrap_err();
    assert!(matches!(fault, TraceFault::Whole { .. }), "{fault}");
    let beyond = read_recording(b"R 99999999999 8 500 10\n").unwrap();
    let error = replay_trace(&Model::named("usb-stick").unwrap(), &beyond).unwrap_err().to_string();
    assert!(
        error.starts_with("request 1 ends at sector 100000000007, and the model usb-stick holds "),
        "{error}"
    );
}

proptest! {
    /// Any lines are read or refused, and what is read can be replayed.
    #[test]
    fn no_trace_is_too_strange(lines in prop::collection::vec((any::<bool>(), 0..1_u64 << 24, 0..300_u64, 0.0..1e9_f64, 0.0..1e12_f64), 1..20), word in "[RW 0-9.,+eDC-]{0,30}") {
        let _ = read_recording(word.as_bytes());
        let _ = read_recording(format!("R {word}").as_bytes());
        let _ = read_recording(format!("8,0 1 1 {word}").as_bytes());
        let line = |(reads, sector, sectors, took, think): &(bool, u64, u64, f64, f64)| {
            format!("{} {sector} {sectors} {took} {think}\n", if *reads { 'R' } else { 'W' })
        };
        let text: String = lines.iter().map(line).collect();
        if let Ok(trace) = read_recording(text.as_bytes()) {
            let took = replay_trace(&Model::named("usb-stick").unwrap(), &trace).unwrap();
            assert_eq!(took.len(), trace.len());
        }
    }
}
