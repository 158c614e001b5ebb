//! Closed forms of a drive with a real layout, and of its firmware.

use super::super::{Action, Device, Request};
use super::{Checked, carry_out, device, places, seconds, within};

/// A rotation takes 10 ms, a sector 0.1 ms, a skew 1 or 2 ms; nothing else takes time.
const DRIVE: &str = r#"
name = "drive"
version = 1
summary = "a drive"
[device]
capacity = "204800000B"
rotational = true
logical_block = "512B"
physical_block = "512B"
[link]
mb_s = 1e6
command_us = 0
[queue]
depth = 1
largest = "1MiB"
[platter]
rpm = 6000
heads = 4
head_switch_ms = 0.5
write_settle_ms = 0
read_ahead = "1MiB"
segments = 4
[[platter.zone]]
cylinders = 1000
sectors = 100
track_skew = 10
cylinder_skew = 20
[platter.seek]
table = [[1, 1.0], [500, 6.0], [999, 8.0]]
"#;
const BYTES: u64 = 204_800_000;
const CYLINDER: u64 = 400;

/// The drive with additional lines in its `[platter]` section.
fn with_firmware(lines: &str) -> Device {
    device(&DRIVE.replace("segments = 4\n", &format!("segments = 4\n{lines}\n")), None, BYTES)
}

/// Submits one request after a pause; returns the time that it takes, in milliseconds.
fn ask(
    device: &mut Device,
    now_ns: &mut u64,
    pause_ms: u64,
    (action, sector, sectors): (Action, u64, u32),
) -> f64 {
    *now_ns += pause_ms * 1_000_000;
    let mut done = Vec::new();
    device.advance(*now_ns, &mut done);
    device.submit(*now_ns, Request { id: 0, operation: action, sector, sectors });
    while done.is_empty() {
        let next_ns = device.next_event().unwrap();
        device.advance(next_ns, &mut done);
    }
    let took_ns = done[0].completed_ns - *now_ns;
    *now_ns = done[0].completed_ns;
    took_ns as f64 / 1e6
}

/// Time that the last of these requests takes on a new drive, in milliseconds. Each is submitted after its pause in
/// milliseconds.
fn last(device: &mut Device, requests: &[(u64, Action, u64, u32)]) -> f64 {
    let (mut now_ns, mut took) = (0, 0.0);
    for &(pause_ms, action, sector, sectors) in requests {
        took = ask(device, &mut now_ns, pause_ms, (action, sector, sectors));
    }
    took
}

/// Sequential reading loses the skews and nothing else; a switch of heads takes as long as the shortest seek.
pub(super) fn layout() -> Checked {
    let whole = last(&mut with_firmware(""), &[(0, Action::Read, 0, 800)]);
    let first = last(&mut with_firmware(""), &[(0, Action::Read, 0, 1)]);
    // There are eight tracks: three switches in each cylinder, and a step between the cylinders.
    within("two cylinders, ms", whole - first, 8.0 * 10.0 + 6.0 * 1.0 + 2.0 - 0.1, 1e-3)?;
    // The sector is 0.6 ms behind the first one, but on the third track.
    let switch = last(&mut with_firmware(""), &[(0, Action::Read, 0, 1), (0, Action::Read, 287, 1)]);
    within("another head, ms", switch, 10.7, 1e-3)?;
    // A seek to another cylinder takes the same time whichever heads are used, so that the order of the heads does
    // not change it.
    let there = |lines: &str| {
        last(&mut with_firmware(lines), &[(0, Action::Read, 400, 1), (0, Action::Read, 110, 1)])
    };
    within("to and fro, ms", there("to_and_fro = true"), there(""), 1e-3)?;
    let count = 6000;
    let reads = places(3, count, BYTES, 1).map(|sector| (Action::Read, sector, 1));
    let took = seconds(&carry_out(&mut with_firmware(""), 1, reads)) * 1e3 / count as f64;
    let seek = |distance: f64| {
        if distance <= 500.0 {
            1.0 + 5.0 * (distance - 1.0) / 499.0
        } else {
            6.0 + 2.0 * (distance - 500.0) / 499.0
        }
    };
    let cylinders = 1000.0;
    let mean: f64 = (1..1000_u16)
        .map(|distance| {
            seek(f64::from(distance)) * 2.0 * (cylinders - f64::from(distance)) / (cylinders * cylinders)
        })
        .sum();
    within("random reads by the table, ms", took, mean + 5.0 + 0.1, 0.01)
}

/// A read slightly ahead of the head waits for it, and the sectors between are kept.
pub(super) fn through() -> Checked {
    let between = last(
        &mut with_firmware("through = true"),
        &[(0, Action::Read, 0, 1), (0, Action::Read, 50, 1), (0, Action::Read, 20, 1)],
    );
    within("what was passed over, ms", between + 1.0, 1.0, 1e-3)
}

/// Sectors that pass under the head before the requested one are in the buffer: the one twenty sectors before it, if
/// the head arrived before that.
pub(super) fn on_arrival() -> Checked {
    let mut drive = with_firmware("on_arrival = true");
    let (mut now_ns, mut there, count) = (0, 0, 2000);
    for at in places(7, count, BYTES, 100) {
        ask(&mut drive, &mut now_ns, 0, (Action::Read, at + 60, 1));
        there += u32::from(ask(&mut drive, &mut now_ns, 0, (Action::Read, at + 40, 1)) < 0.05);
    }
    within("reads behind the last", f64::from(there) / count as f64, 0.79, 0.05)
}

/// A head that wrote needs the turn before it reads, and one that read before it writes.
pub(super) fn turn() -> Checked {
    for (before, after) in [(Action::Write, Action::Read), (Action::Read, Action::Write)] {
        // The second request is 1.9 ms behind the first, which takes another rotation with a turn of 3 ms.
        let took = last(&mut with_firmware("turn_ms = 3"), &[(0, before, 0, 1), (0, after, 20, 1)]);
        within("a turn, ms", took, 12.0, 1e-3)?;
    }
    Ok(())
}

pub(super) fn written_stay() -> Checked {
    let write = (0, Action::Write, 1000, 8);
    let took = last(&mut with_firmware("written_stay = true"), &[write, (50, Action::Read, 1000, 8)]);
    within("what was written, ms", took + 1.0, 1.0, 1e-3)
}

/// A hit takes its own overhead, and a miss another.
pub(super) fn overheads() -> Checked {
    let lines = "hit_ms = 0.3\nhit_onwards_ms = 0.2\nmiss_ms = 4\nmiss_after_write_ms = 3";
    let hit = last(&mut with_firmware(lines), &[(0, Action::Read, 0, 1), (50, Action::Read, 3, 1)]);
    within("a hit, ms", hit, 0.3, 1e-3)?;
    let hit = last(&mut with_firmware(lines), &[(0, Action::Read, 0, 1), (50, Action::Read, 1, 1)]);
    within("a hit onwards, ms", hit, 0.2, 1e-3)?;
    let count = 6000;
    let reads = || places(3, count, BYTES, 1).map(|sector| (Action::Read, sector, 1));
    let took = |lines: &str| seconds(&carry_out(&mut with_firmware(lines), 1, reads())) * 1e3 / count as f64;
    within("misses, ms", took(lines) - took(""), 4.0, 0.05)
}

/// Mean time of requests on a link as slow as the platter, in milliseconds: it shows which times overlap.
fn slow_link(lines: &str, action: Action) -> f64 {
    let toml = DRIVE
        .replace("segments = 4\n", &format!("segments = 4\n{lines}\n"))
        .replace("mb_s = 1e6", "mb_s = 5.12")
        // With these skews, waits are not all whole milliseconds.
        .replace("skew = 10", "skew = 10.37")
        .replace("skew = 20", "skew = 20.71")
        .replace("[[1, 1.0], [500, 6.0], [999, 8.0]]", "[[1, 6.0]]");
    let count = 4000;
    let requests = places(3, count, BYTES, 50).map(|sector| (action, sector, 50));
    seconds(&carry_out(&mut device(&toml, None, BYTES), 1, requests)) * 1e3 / count as f64
}

/// 50 sectors take 5 ms over the link and 5 ms on the platter; a seek takes 6 ms, and half a rotation 5 ms.
pub(super) fn early_arm() -> Checked {
    within("writes, ms", slow_link("", Action::Write), 5.0 + 6.0 + 5.0 + 5.0, 0.01)?;
    within(
        "writes with an early arm, ms",
        slow_link("early_arm = true", Action::Write),
        6.0 + 5.0 + 5.0,
        0.01,
    )
}

pub(super) fn fill() -> Checked {
    within("reads, ms", slow_link("", Action::Read), 6.0 + 5.0 + 5.0, 0.01)?;
    within(
        "reads sent when full, ms",
        slow_link("read_fill = 1", Action::Read),
        6.0 + 5.0 + 5.0 + 5.0,
        0.01,
    )?;
    within(
        "reads sent when half there, ms",
        slow_link("read_fill = 0.5", Action::Read),
        6.0 + 5.0 + 2.5 + 5.0,
        0.01,
    )
}

/// Read-ahead ends where the policy says.
pub(super) fn how_far_ahead() -> Checked {
    for (lines, end) in [
        ("ahead_tracks = 1", 100),
        ("ahead_tracks = 2", 200),
        ("stops_at_cylinder = true", CYLINDER),
        ("segment = \"20480B\"", 50),
        ("segment = \"20480B\"\nahead_after_hit = false", 50),
    ] {
        // The first read is not at the start of its track, and the second follows long after it.
        let took = |sector| {
            last(&mut with_firmware(lines), &[(0, Action::Read, 10, 1), (200, Action::Read, sector, 1)])
        };
        let (inside, beyond) = (took(end - 1), took(end));
        if inside > 0.05 || beyond < 0.05 {
            return Err(format!("{lines}: {inside:.3} ms before sector {end}, and {beyond:.3} ms there"));
        }
    }
    let after_hit = |lines: &str| {
        let reads = [(0, Action::Read, 10, 1), (200, Action::Read, 45, 1), (200, Action::Read, 60, 1)];
        last(&mut with_firmware(&format!("segment = \"20480B\"\n{lines}")), &reads)
    };
    if after_hit("") > 0.05 || after_hit("ahead_after_hit = false") < 0.05 {
        return Err("reading ahead after a hit".to_owned());
    }
    // The request lies on two tracks, so that the drive reads to the end of the third.
    let crossed = "ahead_tracks = 1\nahead_after_crossing = true";
    let took = last(&mut with_firmware(crossed), &[(0, Action::Read, 90, 20), (200, Action::Read, 299, 1)]);
    within("after a crossing, ms", took + 1.0, 1.0, 1e-3)
}

/// The drive reads ahead after the second of two sequential reads, and not after one.
pub(super) fn ahead_from_second() -> Checked {
    let reads = [(0, Action::Read, 10, 8), (50, Action::Read, 18, 8), (50, Action::Read, 26, 8)];
    for (lines, count, is_ahead) in
        [("", 2, true), ("ahead_from_second = true", 2, false), ("ahead_from_second = true", 3, true)]
    {
        let took = last(&mut with_firmware(lines), &reads[..count]);
        if (took < 0.05) != is_ahead {
            return Err(format!("{lines}: read {count} took {took:.3} ms"));
        }
    }
    Ok(())
}

/// This share of sequential reads finds nothing that was read ahead.
pub(super) fn breaks_off() -> Checked {
    let mut drive = with_firmware("breaks_off = 0.25");
    let (mut now_ns, mut late, count) = (0, 0, 4000);
    for at in places(7, count, BYTES, 100) {
        ask(&mut drive, &mut now_ns, 0, (Action::Read, at, 8));
        late += u32::from(ask(&mut drive, &mut now_ns, 50, (Action::Read, at + 8, 8)) > 0.05);
    }
    within("reads onwards that come late", f64::from(late) / count as f64, 0.25, 0.08)
}

/// A cache accepts a sequential write faster than another, and a write after a write faster than one after a read.
pub(super) fn taking() -> Checked {
    let cache = "[cache]\nsize = \"1MiB\"\nflush_us = 0\nonwards_us = 100\nonwards_after_read_us = 200\n\
                 elsewhere_us = 300\nelsewhere_after_read_us = 400\n[platter]";
    let toml = DRIVE.replace("[platter]", cache);
    let (write, read) = ((50, Action::Write, 8, 8), (50, Action::Read, 5000, 8));
    for (requests, expected) in [
        (&[(0, Action::Write, 0, 8), write][..], 0.1),
        (&[(0, Action::Write, 0, 8), read, write], 0.2),
        (&[(0, Action::Write, 100, 8), write], 0.3),
        (&[read, write], 0.4),
    ] {
        within("taking a write, ms", last(&mut device(&toml, None, BYTES), requests), expected, 1e-3)?;
    }
    // A track has 100 sectors.
    let by_track = toml.replace("flush_us = 0", "flush_us = 0\nonwards_on_track = true");
    for (sector, expected) in [(90, 0.1), (104, 0.3)] {
        let requests = [(0, Action::Write, 0, 8), (50, Action::Write, sector, 4)];
        within(
            "taking a write on the track, ms",
            last(&mut device(&by_track, None, BYTES), &requests),
            expected,
            1e-3,
        )?;
    }
    Ok(())
}
