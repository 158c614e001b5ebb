//! How many requests a second modelled devices answer, in this process and without a guest.
//!
//! `cargo bench --bench device_core` takes a few seconds; the aim is 300 000 a second.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement has nothing to clean up")]

use std::time::Instant;

use fsverdict_disk::device::{Action, Device, Model, Request, built_in};

const REQUESTS: u64 = 300_000;
const SIZE: u64 = 8 << 30;

/// A mix as filesystems make it: writes that go on, small ones that do not, reads, and now and then a flush.
fn request(id: u64) -> Request {
    let scattered = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (SIZE / 4096) * 8;
    let (operation, sector, sectors) = match id % 16 {
        0..8 => (Action::Write, id * 64 % (SIZE / 512 - 64), 64),
        8..12 => (Action::Write, scattered, 8),
        12..15 => (Action::Read, scattered, 8),
        _ if id % 512 == 15 => (Action::Flush, 0, 0),
        _ => (Action::Read, id * 64 % (SIZE / 512 - 64), 64),
    };
    Request { id, operation, sector, sectors }
}

fn main() {
    for built_in in built_in() {
        let plain = Model::named(built_in.name).unwrap();
        let states = plain.states;
        let named = states.iter().map(|state| Model::named(&format!("{}:{state}", built_in.name)).unwrap());
        let models: Vec<Model> = if states.is_empty() { vec![plain] } else { named.collect() };
        for model in models {
            let mut device = Device::new(&model, SIZE, 1).unwrap();
            let depth = u64::from(device.limits().queue_depth.min(32));
            let (mut next, mut underway, mut now_ns) = (0, 0, 0);
            let mut done = Vec::new();
            let start = Instant::now();
            while next < REQUESTS || underway > 0 {
                while underway < depth && next < REQUESTS {
                    device.submit(now_ns, request(next));
                    next += 1;
                    underway += 1;
                }
                let Some(event_ns) = device.next_event() else { break };
                now_ns = event_ns;
                device.advance(now_ns, &mut done);
                underway -= done.len() as u64;
                done.clear();
            }
            let rate = REQUESTS as f64 / start.elapsed().as_secs_f64();
            println!(
                "{:22} {rate:>12.0} requests/s, {:.1} s of device time",
                model.name,
                now_ns as f64 / 1e9
            );
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
