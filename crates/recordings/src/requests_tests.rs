//! Recordings of requests and iologs: the calls that are made of each member of a class, and an account in which nothing is missing.

use fsverdict_calls::CallWork;
use fsverdict_disk::device::Action;
use fsverdict_disk::device::trace::{Flags, TraceFormat, Traced, export};
use fsverdict_text::Reason;

use super::{CapturedCalls, RecordRequest, read_record};

const ROOM: u64 = 64 << 20;

fn capture(text: &str) -> Result<CapturedCalls, Reason> {
    read_record(text.as_bytes(), &RecordRequest { below: None, at_most: ROOM, device: None })
}

struct CaptureMember {
    name: &'static str,
    text: &'static str,
    /// The calls, without the names before them.
    calls: &'static str,
    /// Requests that are seen and those that are not kept, by a word of the reason.
    seen: u64,
    not_kept: &'static [(&'static str, u64)],
}

fn calls_of(captured: &CapturedCalls) -> String {
    let text = captured.trace.to_string();
    let calls =
        text.lines().filter(|line| !["file", "name", "dir"].contains(&line.split(' ').next().unwrap()));
    calls.map(|line| format!("{line}\n")).collect()
}

fn check(members: &[CaptureMember]) {
    for CaptureMember { name, text, calls, seen, not_kept } in members {
        let captured = capture(text).unwrap_or_else(|reason| panic!("{name}: {reason:?}"));
        assert_eq!(calls_of(&captured), *calls, "{name}");
        let account = &captured.account;
        assert!(account.is_balanced(), "{name}: {account:?}");
        assert_eq!(account.seen, *seen, "{name}: {account:?}");
        assert_eq!(account.not_kept.len(), not_kept.len(), "{name}: {account:?}");
        let cut = if name.contains("two lines in one") { 2 } else { u64::from(name.contains("cut off")) };
        assert_eq!(account.lines.unread, cut, "{name}: {account:?}");
        assert_eq!(account.lines.total, text.lines().count() as u64, "{name}: {account:?}");
        for (word, count) in *not_kept {
            let found = account.not_kept.iter().find(|(reason, _)| reason.contains(word));
            assert_eq!(found.map(|(_, lost)| lost.count), Some(*count), "{name}: {account:?}");
        }
    }
}

#[test]
fn every_line_of_an_iolog_is_a_call_or_counted() {
    check(&[
        CaptureMember {
            name: "names with blanks, which were added, and a comment above",
            text: "# of SPDK\nfio version 3 iolog\n0 trtype=PCIe ns=1 add\n0 trtype=PCIe ns=1 open\n5 trtype=PCIe ns=1 write 0 4096\n9 trtype=PCIe ns=1 close\n",
            calls: "open 1 1 direct\n+5 write 1 0 4096\n+4 close 1\n",
            seen: 1,
            not_kept: &[],
        },
        CaptureMember {
            name: "version 3 counts microseconds from the beginning",
            text: "fio version 3 iolog\n20 a.0.0 add\n120 a.0.0 open\n125 a.0.0 write 0 4096\n50125 a.0.0 read 0 4096\n150125 a.0.0 datasync 0 0\n150200 a.0.0 trim 0 4096\n250125 a.0.0 close\n",
            calls: "open 1 1 direct\n+5 write 1 0 4096\n+50000 read 1 0 4096\n+100000 fdatasync 1\n+100000 close 1\n",
            seen: 4,
            not_kept: &[("discard", 1)],
        },
        CaptureMember {
            name: "version 2 waits microseconds, and fio skips what is less than 100",
            text: "fio version 2 iolog\n/d/x add\n/d/x open\n/d/x write 4096 4096\n/d/x wait 99 0\n/d/x wait 700 0\n/d/x wait 100 0\n/d/x sync 0 0\n/d/x close\n",
            calls: "open 1 1 direct\nwrite 1 4096 4096\n+800 fsync 1\nclose 1\n",
            seen: 2,
            not_kept: &[],
        },
        CaptureMember {
            name: "places that are far apart are laid side by side, of each file apart",
            text: "fio version 3 iolog\n0 /dev/a open\n0 /dev/b open\n0 /dev/a write 0 4096\n0 /dev/a write 3000000000000 4096\n0 /dev/b write 8192 4096\n0 /dev/b read 500000000000 4096\n",
            calls: "open 1 1 direct\nopen 2 2 direct\nwrite 1 0 4096\nwrite 1 32452608 4096\nwrite 2 8192 4096\nread 2 22185984 4096\n",
            seen: 4,
            not_kept: &[],
        },
        CaptureMember {
            name: "a log that is cut off within its last line",
            text: "fio version 3 iolog\n0 x open\n0 x write 0 4096\n10 x wri",
            calls: "open 1 1 direct\nwrite 1 0 4096\n",
            seen: 2,
            not_kept: &[],
        },
        CaptureMember {
            name: "a wait in version 3 is counted, and a second part begins again at 0",
            text: "fio version 3 iolog\n0 x open\n100 x write 0 4096\n5000 x wait 900 0\n5100 x write 4096 4096\nfio version 3 iolog\n0 x add\n50 x sync 0 0\n60 x syncfs 0 0\n",
            calls: "open 1 1 direct\n+100 write 1 0 4096\n+5000 write 1 4096 4096\n+50 fsync 1\n",
            seen: 5,
            not_kept: &[("waits, which fio ignores", 1), ("syncfs", 1)],
        },
        CaptureMember {
            name: "a line cut off within the middle, and two lines in one",
            text: "fio version 3 iolog\n0 x open\n0 x write 0 4096\n10 x write 40\n20 x sync 0 030 x write 0 4096\n40 x sync 0 0\n",
            calls: "open 1 1 direct\nwrite 1 0 4096\n+40 fsync 1\n",
            seen: 4,
            not_kept: &[],
        },
    ]);
}

#[test]
fn every_request_of_a_device_is_a_call_or_counted() {
    check(&[
        CaptureMember {
            name: "writes that are durable at once, flushes and discards",
            text: "8,0 0 1 0.000000 9 D FN [k]\n8,0 0 2 0.001000 0 C FN 0 [0]\n8,0 0 3 0.001000 9 D WFS 8 + 8 [k]\n8,0 0 4 0.002000 0 C WFS 8 + 8 [0]\n8,0 0 5 0.002000 9 D D 4096 + 16777216 [k]\n8,0 0 6 0.002500 0 C D 4096 + 16777216 [0]\n8,0 0 7 0.003000 9 D R 8 + 8 [k]\n8,0 0 8 0.004000 0 C R 8 + 8 [0]\n",
            calls: "open 1 1 direct\nfdatasync 1\nwrite 1 4096 4096\nfdatasync 1\n+1000 read 1 4096 4096\n",
            seen: 4,
            not_kept: &[("discard", 1)],
        },
        CaptureMember {
            name: "a log that begins in the middle, with an error and a driver's command",
            text: "8,0 0 1 0.000000 0 C W 64 + 8 [0]\n8,0 0 2 0.001000 9 D R 8 + 8 [k]\n8,0 0 3 0.002000 0 C R 8 + 8 [65531]\n8,0 0 4 0.003000 9 D N 0 + 8 [k]\n8,0 0 5 0.004000 0 C N 0 + 8 [0]\n8,0 0 6 0.005000 9 D R 8 + 8 [k]\n8,0 0 7 0.006000 0 C R 8 + 8 [0]\n8,0 0 8 0.007000 9 D R 8 + 8 [k]\n",
            calls: "open 1 1 direct\nread 1 4096 4096\n",
            seen: 5,
            not_kept: &[
                ("before the recording began", 1),
                ("failed", 1),
                ("neither", 1),
                ("before the recording ended", 1),
            ],
        },
        CaptureMember {
            name: "perf script of Linux 6.18, with other events",
            text: include_str!("fixtures/perf-6.18.txt"),
            calls: include_str!("fixtures/perf-6.18.calls"),
            seen: 8,
            not_kept: &[],
        },
        CaptureMember {
            name: "biosnoop",
            text: "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n0.001000    my prog        19   sda   W 64         4096      1.00\n0.004000    cp      19   sda   R 64         8192      1.00\n",
            calls: "open 1 1 direct\nwrite 1 32768 4096\n+2000 read 1 32768 8192\n",
            seen: 2,
            not_kept: &[],
        },
    ]);
}

#[test]
fn what_cannot_be_used_is_told_with_its_cause() {
    for (text, cause) in [
        ("fio version 4 iolog\n".to_owned(), "this version of fio's iolog is not supported"),
        (
            "fio version 3 iolog\n0 x open\n0 x write 0 zero\n1 x close\n".to_owned(),
            "line 3: \"zero\" is no whole number",
        ),
        (
            "fio version 3 iolog\n0 x write 0 99999999999\n".to_owned(),
            "line 2: no request is of 99999999999 bytes",
        ),
        (
            "fio version 2 iolog\nx jump 0 1\n".to_owned(),
            "line 2: \"jump\" is nothing that is done to a file",
        ),
        (
            "fio version 2 iolog\n0 x write 0 4096\n".to_owned(),
            "line 2: it has the form of version 3, in which lines begin with a time",
        ),
        (
            "fio version 3 iolog\nx write 0 4096\n".to_owned(),
            "line 2: it has the form of version 2, in which lines have no time",
        ),
        ("1, 0, 4096\n1, 0\n".to_owned(), "an iolog of fio's of version 1"),
        (
            "8,0 0 1 0.0 9 D R 0 + 8 [x]\n8,9 0 2 0.1 0 C R 0 + 8 [0]\n".to_owned(),
            "several devices: 8,0 (0 completed), 8,9",
        ),
        ("0, 173689, 0, 4096, 0\n".to_owned(), "line 1: a log of fio's without offsets"),
    ] {
        let reason = capture(&text).unwrap_err();
        assert!(reason.what.contains(cause), "{text}: {reason:?}");
        // An error in a line is about that line, not about other forms.
        assert!(!reason.what.starts_with("line") || !reason.hint.contains("also supported"), "{reason:?}");
    }
}

#[test]
fn a_log_of_fio_is_of_latencies_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = RecordRequest { below: None, at_most: ROOM, device: None };
    for (name, cause) in [
        ("x_clat.1.log", None),
        ("x_lat.1.log", None),
        ("x_bw.1.log", Some("a log of bandwidths")),
        ("x_bw.log", Some("a log of bandwidths")),
        ("x_slat.1.log", Some("a log of the times of submission")),
        ("x_clat_hist.2.log", Some("a log of histograms")),
        ("x_iops.1.log", Some("a log of requests per second")),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, "5, 100000, 1, 4096, 8192, 0\n").unwrap();
        let found = super::recorded_file(&path, &wanted);
        assert_eq!(found.is_err(), cause.is_some(), "{name}");
        assert!(found.err().is_none_or(|reason| reason.what.contains(cause.unwrap())), "{name}");
    }
}

/// The output of `fsverdict trace --format iolog` is read back as the original requests.
#[test]
fn an_iolog_of_our_own_reads_back_as_it_was() {
    let actions = [Action::Write, Action::Read, Action::Flush, Action::Write, Action::Discard, Action::Read];
    let records: Vec<Traced> = (0..600_u64)
        .map(|at| {
            let operation = actions[at as usize % actions.len()];
            let moves = matches!(operation, Action::Read | Action::Write | Action::Discard);
            Traced {
                submitted_ns: 5_000_000 + at * at * 1000,
                completed_ns: Some(5_000_000 + at * at * 1000 + 500),
                operation,
                sector: if moves { (at * 7919) % 65_536 * 8 } else { 0 },
                sectors: if moves { 8 + (at % 5) as u32 * 8 } else { 0 },
                flags: Flags::default(),
                by: None,
            }
        })
        .collect();
    let mut text = Vec::new();
    export(&records, TraceFormat::Iolog, "/dev/vda", &mut text).unwrap();
    let wanted = RecordRequest { below: None, at_most: 1 << 30, device: None };
    let captured = read_record(&text, &wanted).unwrap();
    let mut at_us = 0;
    let mut calls = Vec::new();
    for call in captured.trace.calls() {
        at_us += call.pause_us;
        calls.push((at_us, call.work));
    }
    let expected: Vec<(u64, CallWork)> = records
        .iter()
        .filter_map(|record| {
            let (file, offset, length) = (1, record.sector * 512, u64::from(record.sectors) * 512);
            let work = match record.operation {
                Action::Read => CallWork::Read { file, offset, length },
                Action::Write => CallWork::Write { file, offset, length },
                Action::Flush => CallWork::Fsync { file },
                _ => return None,
            };
            Some(((record.submitted_ns - 5_000_000) / 1000, work))
        })
        .collect();
    assert_eq!(calls.len(), expected.len() + 2, "it is opened and closed besides");
    assert_eq!(calls[1..calls.len() - 1], expected);
    let account = &captured.account;
    assert_eq!((account.seen, account.kept, account.count_not_kept()), (600, 500, 100));
}

#[test]
fn what_a_plan_has_no_room_for_is_counted() {
    let mut text = "fio version 3 iolog\n0 x open\n".to_owned();
    let mut requests = String::new();
    for at in 0..60_000_u64 {
        let offset = (at * 7919) % 8192 * 4096;
        text.push_str(&format!("{} x write {offset} 4096\n", at * 137));
        requests.push_str(&format!("W {} 8 500 137\n", offset / 512));
    }
    for record in [text, requests] {
        let captured = capture(&record).unwrap();
        let account = &captured.account;
        assert!(account.is_balanced(), "{account:?}");
        assert_eq!(account.seen, 60_000);
        assert_eq!(account.kept, captured.trace.calls().len() as u64 - 1, "all but the opening");
        let lost = &account.not_kept["beyond the calls that a plan has room for"];
        assert_eq!((lost.count, lost.weight.bytes), (60_000 - account.kept, (60_000 - account.kept) * 4096));
        let place = record.lines().position(|line| line.contains("8 500") || line.contains("write")).unwrap();
        assert_eq!(lost.first.number, place as u64 + account.kept + 1);
    }
}

/// Third-party inputs, which may lie beside the repository: the expected result of each, or a word of its error.
#[test]
fn inputs_that_were_read_wrongly_once_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/faults");
    let inputs: [(&str, Result<&str, &str>); 11] = [
        ("fiolog-no-offset_clat.log", Err("--log_offset=1")),
        ("fiolog-averaged_clat.log", Err("log_avg_msec")),
        (
            "iolog-v3.iolog",
            Ok("+3 write 1 0 4096\n+99986 write 1 4096 4096\n+99994 fsync 1\n+100001 close 1\n"),
        ),
        ("iolog-v2-wait.iolog", Ok("+1000 write 1 0 4096\n+3000 write 1 4096 4096\nclose 1\n")),
        ("iolog-far.iolog", Ok("write 1 0 4096\n+1000 write 1 ")),
        ("blkparse-md-qc.txt", Ok("write 1 1048576 4096\n+9690 write 1 1052672 4096\n")),
        ("blkparse-discard-4g.txt", Ok("write 1 1048576 4096\n")),
        ("blkparse-two-devices.txt", Err("8,0 (1 completed), 8,16 (1 completed)")),
        ("blkparse-partial.txt", Ok("write 1 1048576 131072\n+1000 read 1 4194304 4096\n")),
        ("blkparse-middle.txt", Ok("read 1 1048576 4096\n")),
        ("blkparse-input-file-line.txt", Ok("write 1 1048576 4096\n")),
    ];
    let mut read = 0;
    for (name, expected) in inputs {
        let Ok(text) = std::fs::read_to_string(folder.join(name)) else { continue };
        read += 1;
        match (capture(&text), expected) {
            (Ok(captured), Ok(calls)) => {
                let found = calls_of(&captured);
                assert!(found.contains(calls), "{name}: {found}");
                assert!(captured.account.is_balanced(), "{name}: {:?}", captured.account);
                assert!(captured.trace.totals().most_bytes <= ROOM, "{name}");
            }
            (Err(reason), Err(cause)) => assert!(reason.what.contains(cause), "{name}: {reason:?}"),
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
    assert!(read == 0 || read == inputs.len(), "{read} inputs of {} in {}", inputs.len(), folder.display());
}
