//! Recordings of other programs: each member of a class of lines gives its requests, or an error that names the cause, and every request
//! that is seen is read or counted.

use super::{RecordForm, RequestRecord, TraceFault, read_record};
use crate::device::Action;
use fsverdict_text::Hinted;

/// A request: what it does, its first sector, its sectors, and how long it took in microseconds.
type ShownRequest = (Action, u64, u32, u64);

struct RecordingMember {
    name: &'static str,
    text: &'static str,
    requests: &'static [ShownRequest],
    /// How many requests are not read, and a word of their reason.
    unread: &'static [(&'static str, u64)],
}

fn shapes(record: &RequestRecord) -> Vec<ShownRequest> {
    let shape = |request: &super::Measured| {
        let took_ns = request.record.latency_ns().unwrap();
        (request.record.operation, request.record.sector, request.record.sectors, took_ns / 1000)
    };
    record.requests.iter().map(shape).collect()
}

fn check(members: &[RecordingMember], form: RecordForm) {
    for RecordingMember { name, text, requests, unread } in members {
        let record = read_record(text.as_bytes(), None).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(record.form, form, "{name}");
        assert_eq!(shapes(&record), *requests, "{name}");
        let account = &record.account;
        assert_eq!(
            account.seen,
            record.requests.len() as u64 + account.unread_count(),
            "{name}: {account:?}"
        );
        let counts: Vec<(&str, u64)> =
            account.unread.iter().map(|(reason, counted)| (reason.as_str(), counted.count)).collect();
        assert_eq!(counts.len(), unread.len(), "{name}: {counts:?}");
        for (word, count) in *unread {
            let found = counts.iter().find(|(reason, _)| reason.contains(word));
            assert_eq!(found.map(|(_, count)| *count), Some(*count), "{name}: {counts:?}");
        }
        assert!(account.unread.values().all(|counted| counted.first_line > 0), "{name}: {account:?}");
        let lines = &record.lines;
        assert_eq!(lines.total, text.lines().count() as u64, "{name}: {lines:?}");
        assert_eq!(lines.unread, u64::from(name.contains("torn")), "{name}: {lines:?}");
    }
}

const BLKPARSE: &[RecordingMember] = &[
    RecordingMember {
        name: "a device that issues nothing to a driver has bios",
        text: "253,3 0 1 5.000100000 9 Q R 640 + 16 [db]\n253,3 0 2 5.000600000 0 C R 640 + 16 [0]\n253,3 0 3 5.001000000 9 Q FWFS 800 + 8 [db]\n253,3 0 4 5.001250000 0 C WFS 800 + 8 [0]\n",
        requests: &[(Action::Read, 640, 16, 500), (Action::Write, 800, 8, 250)],
        unread: &[],
    },
    RecordingMember {
        name: "bios are followed only where nothing is issued",
        text: "8,0 0 1 0.000000000 9 Q R 640 + 8 [x]\n8,0 0 2 0.000050000 9 Q R 648 + 8 [x]\n8,0 0 3 0.000060000 9 M R 648 + 8 [x]\n8,0 0 4 0.000100000 9 D R 640 + 16 [x]\n8,0 0 5 0.000300000 0 C R 640 + 16 [0]\n",
        requests: &[(Action::Read, 640, 16, 200)],
        unread: &[],
    },
    RecordingMember {
        name: "a discard of more than 4 GiB",
        text: "8,0 0 1 0.001 9 D D 0 + 16777216 [mkfs]\n8,0 0 2 0.003 0 C D 0 + 16777216 [0]\n",
        requests: &[(Action::Discard, 0, 16_777_216, 2000)],
        unread: &[],
    },
    RecordingMember {
        name: "zeroes that are written without data",
        text: "8,0 0 1 0.001 9 D WS 0 + 4194304 [mkfs]\n8,0 0 2 0.003 0 C WS 0 + 4194304 [0]\n",
        requests: &[(Action::WriteZeroes, 0, 4_194_304, 2000)],
        unread: &[],
    },
    RecordingMember {
        name: "parts in order",
        text: "8,0 0 1 0.000 9 D W 100 + 24 [x]\n8,0 0 2 0.001 0 C W 100 + 8 [0]\n8,0 0 3 0.002 0 C W 108 + 8 [0]\n8,0 0 4 0.003 0 C W 116 + 8 [0]\n",
        requests: &[(Action::Write, 100, 24, 3000)],
        unread: &[],
    },
    RecordingMember {
        name: "parts out of order",
        text: "8,0 0 1 0.000 9 D W 100 + 24 [x]\n8,0 0 2 0.001 0 C W 108 + 8 [0]\n8,0 0 3 0.002 0 C W 116 + 8 [0]\n8,0 0 4 0.003 0 C W 100 + 8 [0]\n",
        requests: &[(Action::Write, 100, 24, 3000)],
        unread: &[],
    },
    RecordingMember {
        name: "a part that is never done",
        text: "8,0 0 1 0.000 9 D W 100 + 16 [x]\n8,0 0 2 0.001 0 C W 100 + 8 [0]\n8,0 0 3 0.002 9 D R 0 + 8 [x]\n8,0 0 4 0.003 0 C R 0 + 8 [0]\n",
        requests: &[(Action::Read, 0, 8, 1000)],
        unread: &[("before the recording ended", 1)],
    },
    RecordingMember {
        name: "two requests on the same sectors at once",
        text: "8,0 0 1 0.000 9 D R 100 + 8 [x]\n8,0 0 2 0.001 9 D R 100 + 8 [x]\n8,0 0 3 0.003 0 C R 100 + 8 [0]\n8,0 0 4 0.005 0 C R 100 + 8 [0]\n",
        requests: &[(Action::Read, 100, 8, 3000), (Action::Read, 100, 8, 4000)],
        unread: &[],
    },
    RecordingMember {
        name: "a read within another",
        text: "8,0 0 1 0.000 9 D R 100 + 64 [x]\n8,0 0 2 0.001 9 D R 108 + 8 [x]\n8,0 0 3 0.002 0 C R 108 + 8 [0]\n8,0 0 4 0.005 0 C R 100 + 64 [0]\n",
        requests: &[(Action::Read, 100, 64, 5000), (Action::Read, 108, 8, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "a read and a write of the same sectors",
        text: "8,0 0 1 0.000 9 D R 100 + 8 [x]\n8,0 0 2 0.001 9 D W 100 + 8 [x]\n8,0 0 3 0.002 0 C W 100 + 8 [0]\n8,0 0 4 0.005 0 C R 100 + 8 [0]\n",
        requests: &[(Action::Read, 100, 8, 5000), (Action::Write, 100, 8, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "a request that is put back and issued again",
        text: "8,0 0 1 0.000 9 D W 100 + 8 [x]\n8,0 0 2 0.001 0 R W 100 + 8 [0]\n8,0 0 3 0.004 9 D W 100 + 8 [x]\n8,0 0 4 0.005 0 C W 100 + 8 [0]\n",
        requests: &[(Action::Write, 100, 8, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "a request that is put back and stays there",
        text: "8,0 0 1 0.000 9 D W 100 + 8 [x]\n8,0 0 2 0.001 0 R W 100 + 8 [0]\n8,0 0 3 0.004 9 D W 200 + 8 [x]\n8,0 0 4 0.005 0 C W 200 + 8 [0]\n",
        requests: &[(Action::Write, 200, 8, 1000)],
        unread: &[("put back", 1)],
    },
    RecordingMember {
        name: "a bio that is split, and its pieces",
        text: "8,0 0 1 0.000 9 Q W 100 + 64 [x]\n8,0 0 2 0.000 9 X W 100 / 132 [x]\n8,0 0 3 0.001 9 D W 100 + 32 [x]\n8,0 0 4 0.001 9 D W 132 + 32 [x]\n8,0 0 5 0.002 0 C W 132 + 32 [0]\n8,0 0 6 0.003 0 C W 100 + 32 [0]\n",
        requests: &[(Action::Write, 100, 32, 2000), (Action::Write, 132, 32, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "bios that are completed as one, where nothing but Q and C was recorded",
        text: "8,0 0 1 0.000 9 Q W 100 + 8 [x]\n8,0 0 2 0.001 9 Q W 108 + 8 [x]\n8,0 0 3 0.002 9 Q W 116 + 16 [x]\n8,0 0 4 0.003 0 C W 100 + 32 [0]\n8,0 0 5 0.004 9 Q W 200 + 8 [x]\n8,0 0 6 0.005 0 C W 200 + 16 [0]\n",
        requests: &[
            (Action::Write, 100, 8, 3000),
            (Action::Write, 108, 8, 2000),
            (Action::Write, 116, 16, 1000),
        ],
        unread: &[("issued before", 1), ("before the recording ended", 1)],
    },
    RecordingMember {
        name: "flushes, pre-flush and FUA",
        text: "8,0 0 1 0.000 9 D FN [kworker/0:1H]\n8,0 0 2 0.001 0 C FN 0 [0]\n8,0 0 3 0.001 9 D WFS 100 + 8 [jbd2]\n8,0 0 4 0.002 0 C WFS 100 + 8 [0]\n8,0 0 5 0.003 9 D FF 0 + 0 [x y]\n8,0 0 6 0.007 0 C FF 0 + 0 [0]\n",
        requests: &[(Action::Flush, 0, 0, 1000), (Action::Write, 100, 8, 1000), (Action::Flush, 0, 0, 4000)],
        unread: &[],
    },
    RecordingMember {
        name: "requests that fail",
        text: "8,0 0 1 0.000 9 D R 100 + 8 [x]\n8,0 0 2 0.001 0 C R 100 + 8 [65531]\n8,0 0 3 0.002 9 D W 200 + 16 [x]\n8,0 0 4 0.003 0 C W 200 + 8 [0]\n8,0 0 5 0.004 0 C W 208 + 8 [-5]\n8,0 0 6 0.005 9 D R 300 + 8 [x]\n8,0 0 7 0.006 0 C R 300 + 8 [0]\n",
        requests: &[(Action::Read, 300, 8, 1000)],
        unread: &[("failed", 2)],
    },
    RecordingMember {
        name: "zone append: the place is told when it is done",
        text: "8,0 0 1 0.000 9 D ZAS 524288 + 8 [x]\n8,0 0 2 0.001 9 D ZAS 524288 + 8 [x]\n8,0 0 3 0.002 0 C ZAS 524288 + 8 [0]\n8,0 0 4 0.003 0 C ZAS 524296 + 8 [0]\n8,0 0 5 0.004 9 D ZR 524288 + 0 [x]\n8,0 0 6 0.005 0 C ZR 524288 + 0 [0]\n",
        requests: &[(Action::Write, 524_288, 8, 2000), (Action::Write, 524_296, 8, 2000)],
        unread: &[("neither read nor write", 1)],
    },
    RecordingMember {
        name: "a driver's own command",
        text: "8,0 0 1 0.000 9 D R 36 (12 00 00 00 24 00) [udev]\n8,0 0 2 0.001 0 C R (12 00 00 00 24 00) [0]\n8,0 0 3 0.002 9 D R 300 + 8 [x]\n8,0 0 4 0.003 0 C R 300 + 8 [0]\n",
        requests: &[(Action::Read, 300, 8, 1000)],
        unread: &[("neither read nor write", 1)],
    },
    RecordingMember {
        name: "a log that begins and ends in the middle",
        text: "8,0 0 1 0.000 0 C W 100 + 8 [0]\n8,0 0 2 0.002 9 D R 300 + 8 [x]\n8,0 0 3 0.003 0 C R 300 + 8 [0]\n8,0 0 4 0.004 9 D W 400 + 8 [x]\n",
        requests: &[(Action::Read, 300, 8, 1000)],
        unread: &[("issued before", 1), ("before the recording ended", 1)],
    },
    RecordingMember {
        name: "other lines before, between and below",
        text: "Input file nvme0n1.blktrace.0 added\nInput file nvme0n1.blktrace.1 added\n\n259,0 0 1 0.002 9 D R 300 + 8 [x]\n259,0 0 0 0.002 0 m N cfq100 slice expired\n259,0 0 2 0.003 0 C R 300 + 8 [0]\nCPU0 (nvme0n1):\n Reads Queued:           1,        4KiB\t Writes Queued:           0,        0KiB\nThroughput (R/W): 4KiB/s / 0KiB/s\nEvents (nvme0n1): 3 entries\nSkips: 0 forward (0 -   0.0%)\n",
        requests: &[(Action::Read, 300, 8, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "a last line that is torn",
        text: "8,0 0 1 0.002 9 D R 300 + 8 [x]\n8,0 0 2 0.003 0 C R 300 + 8 [0]\n8,0 0 3 0.004 9 D R 40x + ",
        requests: &[(Action::Read, 300, 8, 1000)],
        unread: &[],
    },
];

#[test]
fn every_request_of_blkparse_is_read_or_counted() {
    check(BLKPARSE, RecordForm::Blkparse);
}

#[test]
fn a_write_says_whether_it_flushes_and_is_durable() {
    for (letters, preflush, fua) in [
        ("W", false, false),
        ("WS", false, false),
        ("WFS", false, true),
        ("FWS", true, false),
        ("FWFS", true, true),
    ] {
        let text = format!("8,0 0 1 0.001 9 D {letters} 8 + 8 [x]\n8,0 0 2 0.002 0 C {letters} 8 + 8 [0]\n");
        let record = read_record(text.as_bytes(), None).unwrap();
        let durability = record.requests[0].durability;
        assert_eq!((durability.preflush, durability.fua), (preflush, fua), "{letters}");
    }
}

/// Block events of perf script (5.10 and 6.8) and of trace-cmd.
const PERF: &[RecordingMember] = &[
    RecordingMember {
        name: "issue and completion",
        text: "             fio  1234 [001]  1234.567890: block:block_rq_issue: 8,0 WS 4096 () 2048 + 8 [fio]\n         swapper     0 [001]  1234.568890: block:block_rq_complete: 8,0 WS () 2048 + 8 [0]\n",
        requests: &[(Action::Write, 2048, 8, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "with priorities, names with spaces, and flushes without a place",
        text: "kworker/0:1H-kb   77 [000]    10.000100: block:block_rq_issue: 259,0 FF 0 () 18446744073709551615 + 0 none,0,0 [kworker/0:1H + x]\n         swapper     0 [000]    10.000600: block:block_rq_complete: 259,0 FF () 18446744073709551615 + 0 none,0,0 [0]\n  my prog    12 [001]    10.001000: block:block_rq_issue: 259,0 R 8192 () 64 + 16 best-effort,4,0 [my prog]\n         swapper     0 [000]    10.001200: block:block_rq_complete: 259,0 R () 64 + 16 best-effort,4,0 [0]\n",
        requests: &[(Action::Flush, 0, 0, 500), (Action::Read, 64, 16, 200)],
        unread: &[],
    },
    RecordingMember {
        name: "of trace-cmd, with other events of the block layer",
        text: "cpus=2\n             fio-1234  [001] d..1.  34.100000: block_plug: [fio]\n             fio-1234  [001] d..1.  34.100000: block_getrq: 8,0 R 640 + 8 [fio]\n             fio-1234  [001] d..1.  34.100100: block_rq_issue: 8,0 R 4096 () 640 + 8 [fio]\n          <idle>-0     [001] d.h1.  34.100400: block_rq_complete: 8,0 R () 640 + 8 [0]\n",
        requests: &[(Action::Read, 640, 8, 300)],
        unread: &[],
    },
    RecordingMember {
        name: "a flush of the kernel's own, for one that a filesystem asked for, twice",
        text: "x 1 [0] 5.000000: block:block_rq_issue: 8,0 FF 0 () 0 + 0 [x]\nx 1 [0] 5.000500: block:block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]\nx 1 [0] 5.000600: block:block_rq_issue: 8,0 FF 0 () 0 + 0 [x]\nx 1 [0] 5.000700: block:block_rq_complete: 8,0 WS () 0 + 0 [0]\nx 1 [0] 5.001600: block:block_rq_complete: 8,0 FF () 18446744073709551615 + 0 [0]\nx 1 [0] 5.001700: block:block_rq_complete: 8,0 WS () 0 + 0 [0]\n",
        requests: &[(Action::Flush, 0, 0, 500), (Action::Flush, 0, 0, 1000)],
        unread: &[],
    },
    RecordingMember {
        name: "a flush that failed, as the end of the one that was asked for shows",
        text: "x 1 [0] 5.000000: block:block_rq_issue: 8,0 FF 0 () 0 + 0 [x]\nx 1 [0] 5.000500: block:block_rq_complete: 8,0 FF () 0 + 0 [0]\nx 1 [0] 5.000700: block:block_rq_complete: 8,0 WS () 0 + 0 [-5]\n",
        requests: &[(Action::Flush, 0, 0, 500)],
        unread: &[("failed", 1)],
    },
    RecordingMember {
        name: "samples and events of other subsystems, whichever their names",
        text: "x 1 [0] 5.000000: block:block_rq_issue: 8,0 R 4096 () 8 + 8 0x2,0,4 [x]\nx 1 [0] 5.000100: filemap:mm_filemap_add_to_page_cache: dev 254:1 ino cbff89 pfn=0x1\nx 1 [0] 5.000150: PERF_RECORD_MMAP2 1/1: [0x55(0x1000) @ 0 00:1a 123 0]: r-xp /usr/bin/dd\nx 1 5.000200:          1         major-faults:      777475998155 memmove+0x95 (/lib/libc.so.6)\n                   db730 write (/lib/libc-2.24.so)\n                  30 foo (inlined)\nx-20   (   20) [001] .... 5.000300: zz_widget_evt: foo=3\nx 1 [0] 5.000500:          1 block:block_rq_complete: 8,0 R () 8 + 8 0x2,0,4 [0]\n",
        requests: &[(Action::Read, 8, 8, 500)],
        unread: &[],
    },
    RecordingMember {
        name: "torn: a line whose bytes and sectors disagree",
        text: "x 1 [0] 5.000000: block:block_rq_issue: 8,0 R 4096 () 8 + 8 [x]\nx 1 [0] 5.000500: block:block_rq_complete: 8,0 R () 8 + 8 [0]\nx 1 [0] 6.000000: block:block_rq_issue: 8,0 R 40960 () 80 + 8 [x]\n",
        requests: &[(Action::Read, 8, 8, 500)],
        unread: &[],
    },
    RecordingMember {
        name: "torn: a line whose time has lost a digit",
        text: "x 1 [0] 5.000000: block:block_rq_issue: 8,0 R 4096 () 8 + 8 [x]\nx 1 [0] 5.000500: block:block_rq_complete: 8,0 R () 8 + 8 [0]\nx 1 [0] 6.00000: block:block_rq_issue: 8,0 R 4096 () 80 + 8 [x]\n",
        requests: &[(Action::Read, 8, 8, 500)],
        unread: &[],
    },
    RecordingMember {
        name: "bios where nothing is issued, and one that failed",
        text: "  x 1 [000] 5.000000: block:block_bio_queue: 253,0 R 0 + 8 [x]\n  x 1 [000] 5.000500: block:block_bio_complete: 253,0 R 0 + 8 [0]\n  x 1 [000] 6.000000: block:block_bio_queue: 253,0 W 8 + 8 [x]\n  x 1 [000] 6.000500: block:block_bio_complete: 253,0 W 8 + 8 [-5]\n",
        requests: &[(Action::Read, 0, 8, 500)],
        unread: &[("failed", 1)],
    },
];

#[test]
fn every_request_of_perf_is_read_or_counted() {
    check(PERF, RecordForm::Perf);
}

/// What biosnoop prints: of bcc, with the time in the queue, of libbpf-tools, and under a locale with a comma.
const BIOSNOOP: &[RecordingMember] = &[
    RecordingMember {
        name: "of bcc",
        text: "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n0.000000    supervise      1950   xvda1   W 13092560   4096      0.74\n0.000300    my prog        1950   xvda1   R 64         8192      0.20\n0.001000    ?              0      xvda1   W 0          0         0.90\n",
        requests: &[
            (Action::Write, 13_092_560, 8, 740),
            (Action::Read, 64, 16, 200),
            (Action::Flush, 0, 0, 900),
        ],
        unread: &[],
    },
    RecordingMember {
        name: "of libbpf-tools, with the time in the queue",
        text: "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n0.000100    kworker/0:1H   77      sda     FF   18446744073709551615 0  0.001   0.500\n0.002000    fio            99      sda     WFS  2048       4096    0.002   0.100\n0.003000    fio            99      sda     N    0          0       0.000   0.050\n",
        requests: &[(Action::Flush, 0, 0, 500), (Action::Write, 2048, 8, 100)],
        unread: &[("neither read nor write", 1)],
    },
    RecordingMember {
        name: "with decimal commas",
        text: "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n0,010000    cp      1950   sdb   R 8   512      1,50\n",
        requests: &[(Action::Read, 8, 1, 1500)],
        unread: &[],
    },
];

#[test]
fn every_request_of_biosnoop_is_read_or_counted() {
    check(BIOSNOOP, RecordForm::Biosnoop);
}

const FIO: &[RecordingMember] = &[
    RecordingMember {
        name: "with offsets",
        text: "2, 1500000, 0, 4096, 8192, 0\n12, 9000000, 1, 8192, 0, 0\n13, 10000, 2, 1048576, 0, 0\n14, 20000, 3, 0, 0, 0\n15, 30000, 4, 0, 0, 0\n16, 1000, 5, 0, 0, 0\n",
        requests: &[
            (Action::Read, 16, 8, 1500),
            (Action::Write, 0, 16, 9000),
            (Action::Discard, 0, 2048, 10),
            (Action::Flush, 0, 0, 20),
            (Action::Flush, 0, 0, 30),
        ],
        unread: &[("sync_file_range", 1)],
    },
    RecordingMember {
        name: "with priorities in hexadecimal and times of issue",
        text: "2, 1500000, 0, 4096, 8192, 0x4004, 1000000\n2, 1600000, 0, 4096, 12288, 0x0000, 3000000\n",
        requests: &[(Action::Read, 16, 8, 1500), (Action::Read, 24, 8, 1600)],
        unread: &[],
    },
];

#[test]
fn every_request_of_a_latency_log_is_read_or_counted() {
    check(FIO, RecordForm::FioLog);
}

#[test]
fn one_of_several_devices_is_chosen() {
    let blkparse = "8,0 0 1 0.000 9 D R 8 + 8 [x]\n8,16 0 2 0.001 9 D R 8 + 8 [x]\n8,16 0 3 0.002 0 C R 8 + 8 [0]\n8,0 0 4 0.009 0 C R 8 + 8 [0]\n";
    let perf = "x 1 [000] 0.000000: block:block_rq_issue: 8,0 R 0 () 8 + 8 [x]\nx 1 [000] 0.001000: block:block_rq_issue: 8,16 R 0 () 8 + 8 [x]\nx 1 [000] 0.002000: block:block_rq_complete: 8,16 R () 8 + 8 [0]\nx 1 [000] 0.009000: block:block_rq_complete: 8,0 R () 8 + 8 [0]\n";
    let biosnoop = "0.002000 x 9 8,16 R 8 4096 1.00\n0.009000 x 9 8,0 R 8 4096 9.00\n";
    for text in [blkparse, perf, biosnoop] {
        for (device, took_us) in [("8,0", 9000), ("8,16", 1000)] {
            let record = read_record(text.as_bytes(), Some(device)).unwrap();
            assert_eq!(shapes(&record), [(Action::Read, 8, 8, took_us)], "{text}");
            assert_eq!(record.account.seen, 1);
        }
        let fault = read_record(text.as_bytes(), None).unwrap_err();
        let said = format!("{fault} {}", fault.hint().unwrap_or_default());
        assert!(said.contains("8,0 (") && said.contains("8,16 (") && said.contains("--device"), "{said}");
        let fault = read_record(text.as_bytes(), Some("9,9")).unwrap_err().to_string();
        assert!(fault.contains("9,9") && fault.contains("8,16"), "{fault}");
    }
}

/// A device of which no request has a beginning and an end cannot be meant: a partition, or a number that is damaged.
#[test]
fn the_only_device_with_whole_requests_is_the_one_that_is_meant() {
    let text = "8,1 0 1 0.000 9 D R 8 + 8 [x]\n8,16 0 2 0.001 9 D R 8 + 8 [x]\n8,16 0 3 0.002 0 C R 8 + 8 [0]\n8,17 0 4 0.009 9 Q R 8 + 8 [x]\n";
    let record = read_record(text.as_bytes(), None).unwrap();
    assert_eq!(shapes(&record), [(Action::Read, 8, 8, 1000)]);
    assert_eq!((record.lines.read, record.lines.outside, record.lines.unread), (2, 2, 0));
    // Where several have some, the hint names the one with the most.
    let two = "8,0 0 1 0.000 9 D R 8 + 8 [x]\n8,0 0 4 0.009 0 C R 8 + 8 [0]\n";
    let fault =
        read_record(format!("{two}{}", two.replace("8,0 ", "8,9 ").repeat(2)).as_bytes(), None).unwrap_err();
    assert!(fault.hint().unwrap().contains("--device 8,9"), "{fault:?}");
}

#[test]
fn what_cannot_be_used_is_told_with_its_cause() {
    let fifth = "with fio 3.20 or newer";
    let deltas = "x 1 [0] 0.000500: block:block_rq_issue: 8,0 R 4096 () 8 + 8 [x]\nx 1 [0] 0.000100: block:block_rq_complete: 8,0 R () 8 + 8 [0]\n".repeat(8);
    for (text, cause) in [
        (
            "0, 173689, 0, 4096, 0\n",
            "line 1: a log of fio's without offsets (the fifth column is the priority): run it with --log_offset=1",
        ),
        ("0, 173689, 0, 4096, 16388\n", "the fifth column is the priority"),
        ("0, 173, 0, 4096, 0\n0, 173, 0, 4096, 40960\n", "line 1: a log of fio's without offsets"),
        ("0, 173, 0, 4096, 1048576\n", fifth),
        ("0, 173689, 0, 4096\n", "line 1: a log of fio's without offsets: run it with --log_offset=1"),
        ("500, 76844, 0, 0, 0, 0\n", "log_avg_msec"),
        ("500, 18230, 99120, 0, 0, 0, 0\n", "log_window_value"),
        ("500, 18230, 99120, 1, 0, 0\n", "log_window_value"),
        ("500, 18230, 99120, 1, 0, 0, 0x0000, 77\n", "log_window_value"),
        ("500, 76844, 1, 4096, 0, 0\n501, 76844, 1, 0, 0, 0\n", "line 2: a request of 0 bytes"),
        ("1, 0, 4096, 1, 2, 3, 4, 5, 6, 7\n", "histogram"),
        (
            "1, 1, 0, 4096, 0, 0\n1, 1, 0, 4096, 4096, 0\n2, 1, 0, 4096, 8192, 0\n",
            "a log of requests per second",
        ),
        (
            "Attaching 4 probes...\nTIME(ms)     COMM             PID    LAT(ms)\n611          bash             4179      10\n",
            "prints no sectors",
        ),
        (
            "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n17:58:57.814 mount          163467  sde     WSM  41944043   524288    1.422\n",
            "biosnoop -t",
        ),
        (
            "TIME COMM PID DISK T SECTOR BYTES LAT(ms)\n01:00:00 x 7 sda R 8 4096 0.5\n",
            "columns of this biosnoop",
        ),
        (deltas.as_str(), "those since the line before"),
        ("x 1 [0] block:block_rq_issue: 8,0 R 4096 () 8 + 8 [x]\n", "block events without their times"),
        // A kernel that is patched prints another column.
        (
            "252,0 13 4 4.922506701 935 D ZAS R 262144 + 8 [x]\n252,0 13 5 4.922566122 77 C ZAS R 262144 + 8 [0]\n",
            "line 1: the event does not say where",
        ),
        (
            "TIME(ms)     DISK         COMM             PID    LAT(ms)\n611          nvme0n1      bash             4179      10\n",
            "prints no sectors",
        ),
        ("TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n", "no request in it"),
        (
            "8,0 0 1 0.001 9 Q R 0 + 8 [x]\n8,0 0 2 0.001 9 D R 0 + 8 [x]\n",
            "1 queued (Q), 1 issued (D), 0 completed (C)",
        ),
        (
            "8,0 0 1 0.001 0 C R 0 + 8 [0]\n8,0 0 2 0.002 0 C R 8 + 8 [0]\n",
            "0 queued (Q), 0 issued (D), 2 completed (C)",
        ),
        (
            "8,0 0 1 0.001 9 D R zero + 8 [x]\n8,0 0 1 0.001 9 C R 0 + 8 [0]\n",
            "line 1: \"zero\" is no whole number",
        ),
        (
            "8,0 0 1 0.001 9 D R 0 + 99999999 [x]\n8,0 0 1 0.001 9 C R 0 + 99999999 [0]\n",
            "1 of more sectors, or further on, than any request (line 1)",
        ),
    ] {
        let fault = read_record(text.as_bytes(), None).unwrap_err();
        assert!(fault.to_string().contains(cause), "{text}: {fault}");
    }
    for (bytes, cause, way_out) in [
        (&b"\x07taexxxx"[..], "the kernel's binary trace", "blkparse"),
        (b"PERFILE2xxx", "perf's binary", "perf script"),
        (b"\x1f\x8b\x08x", "gzip", "gunzip"),
        (b"\x28\xb5\x2f\xfdx", "zstd", "zstd -d"),
        (b"\x78\x9c\x8d\xda", "fio compressed", "--inflate-log"),
    ] {
        let fault = read_record(bytes, None).unwrap_err();
        assert!(matches!(fault, TraceFault::Whole { .. }), "{fault}");
        assert!(fault.to_string().contains(cause), "{fault}");
        assert!(fault.hint().unwrap().contains(way_out), "{fault}");
    }
}

/// Columns that touch are parted where one place fits, and counted as unread where none or several do.
#[test]
fn columns_of_biosnoop_that_touch_are_parted_or_counted() {
    let heading = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";
    let request = "0.500000    tar            88      sdc       W 2048       524288   9.75\n";
    let queue = heading.replace("LAT", "QUE(ms) LAT");
    let pattern = heading.replace("LAT", "P LAT");
    for (name, text, read, unread) in [
        (
            "one place",
            format!("{heading}{request}2.000000 tar 88 sdc W 4096 10490881204.50\n"),
            Some((1_049_088, 1_204_500)),
            0,
        ),
        (
            "no whole sectors",
            format!("{heading}{request}2.000000 tar 88 sdc W 4096 10490001204.50\n"),
            None,
            1,
        ),
        ("two places", format!("{heading}{request}2.000000 tar 88 sdc W 4096 10240005121200.25\n"), None, 1),
        ("too short", format!("{heading}{request}2.000000 tar 88 sdc W 4096 5242889.75\n"), None, 1),
        ("a cut latency", format!("{heading}{request}2.000000 tar 88 sdc W 4096 524288 19.7\n"), None, 1),
        (
            "two lines in one",
            format!("{heading}{request}2.000000 tar 88 sdc W 4096 524288 19.752.1 tar 88 sdc W 8 512 1.00\n"),
            None,
            1,
        ),
        (
            "without a latency",
            format!(
                "{queue}1.000000 tar 88 sdc W 4096 4096 0.01 0.02\n2.000000 tar 88 sdc W 4096 524288 19.75\n"
            ),
            None,
            1,
        ),
        (
            "with the queue",
            format!(
                "{queue}1.000000 tar 88 sdc W 4096 4096 0.01 0.02\n2.000000 tar 88 sdc W 4096 10490881204.50 1300.25\n"
            ),
            Some((1_049_088, 1_300_250)),
            0,
        ),
        (
            "a pattern",
            format!(
                "{pattern}1.000000 tar 88 sdc W 4096 4096 R 0.02\n2.000000 tar 88 sdc W 4096 1049088S 3.25\n"
            ),
            Some((1_049_088, 3250)),
            0,
        ),
        (
            "no disk",
            format!("{heading}{request}2.000000 ? 0 R 0 8 2.88\n{request}"),
            Some((524_288, 9750)),
            0,
        ),
        (
            "a second heading",
            format!("{heading}{request}{queue}2.000000 a b 8 sdc W 4096 512 0.01 0.02\n"),
            Some((512, 20)),
            0,
        ),
    ] {
        let record = read_record(text.as_bytes(), None).unwrap();
        assert_eq!(
            (record.lines.unread, record.lines.total),
            (unread, text.lines().count() as u64),
            "{name}"
        );
        let found = shapes(&record);
        let mut found = found.iter().map(|(_, _, sectors, took_us)| (u64::from(*sectors) * 512, *took_us));
        assert!(read.is_none_or(|read| found.any(|found| found == read)), "{name}: {record:?}");
    }
    let fault = read_record(heading.replace("LAT", "FLAGS LAT").as_bytes(), None).unwrap_err().to_string();
    assert!(fault.contains("are not known: TIME(s)") && fault.contains("FLAGS"), "{fault}");
}

#[test]
fn marks_of_lost_events_and_joined_events_are_counted() {
    let event = "fio-9 [001] d..2. 1.000000: block_rq_issue: 8,0 R 4096 () 2048 + 8 none,0,0 [fio]\n";
    let done = "fio-9 [001] d..2. 1.100000: block_rq_complete: 8,0 R () 2048 + 8 none,0,0 [0]\n";
    let record = read_record(format!("{event}{done}CPU:2 [LOST 131 EVENTS]\n").as_bytes(), None).unwrap();
    assert_eq!((record.lines.lost_events, record.lines.unread), (131, 0));
    for (extra, unread, noise) in [
        (format!("{}{done}", event.trim_end()), 1, 0),
        ("fio-9 [001] 1.0: block_rq_issue: 8,0 R 4096 () 2048 + 8 none,0,0 [fi\n".to_owned(), 1, 0),
        ("fio-9 [001] 1.0: sched_switch: prev_comm=a\n\tffffffff8112345 x+0x1 ([kernel])\n".to_owned(), 0, 2),
        ("fio-9 [001] 1.0: block_rq_insert: 8,0 R 4096 () 2048 + 8 none,0,0 [fio]\n".to_owned(), 0, 1),
        ("a line of another program\n".to_owned(), 1, 0),
    ] {
        let record = read_record(format!("{event}{done}{extra}").as_bytes(), None).unwrap();
        let lines = &record.lines;
        assert_eq!((lines.read, lines.unread, lines.noise_count()), (2, unread, noise), "{extra}: {lines:?}");
    }
}
