//! Tests of modelled devices: properties that hold whatever the numbers are, and closed forms of their times.

mod closed_forms;
mod disk_forms;
mod flash_firmware_forms;
mod flash_forms;
mod laws;
mod models;
mod new_kinds;
mod platter_forms;
mod published;
mod typical;
mod unchanged;

use super::{Action, Completion, Device, Model, Request, built_in, random};

/// Performs requests with `depth` in flight, each submitted as soon as one before it is done; returns the
/// completions.
pub(super) fn carry_out(
    device: &mut Device,
    depth: usize,
    requests: impl IntoIterator<Item = (Action, u64, u32)>,
) -> Vec<Completion> {
    let mut requests = requests.into_iter().enumerate();
    let (mut done, mut now_ns, mut underway) = (Vec::new(), 0, 0);
    let mut next = |device: &mut Device, now_ns| {
        let Some((id, (operation, sector, sectors))) = requests.next() else { return 0 };
        device.submit(now_ns, Request { id: id as u64, operation, sector, sectors });
        1
    };
    for _ in 0..depth {
        underway += next(device, now_ns);
    }
    while underway > 0 {
        let before = done.len();
        now_ns = device.next_event().expect("something is underway");
        device.advance(now_ns, &mut done);
        underway -= done.len() - before;
        for _ in before..done.len() {
            underway += next(device, now_ns);
        }
    }
    done
}

/// Builds a device from a model's text.
pub(super) fn device(toml: &str, state: Option<&str>, size_bytes: u64) -> Device {
    let model = Model::read(toml, "test.toml", state).unwrap_or_else(|error| panic!("{error}"));
    Device::new(&model, size_bytes, 1).unwrap()
}

/// Time at which the last of them completed, in seconds.
pub(super) fn seconds(done: &[Completion]) -> f64 {
    done.last().map_or(0.0, |last| last.completed_ns as f64 / 1e9)
}

/// Random places for requests of this many sectors on a device of this size, aligned to the request's size.
pub(super) fn places(seed: u64, count: u64, size_bytes: u64, sectors: u32) -> impl Iterator<Item = u64> {
    let slots = size_bytes / 512 / u64::from(sectors);
    (0..count).map(move |index| random::uniform_below(seed, index, slots) * u64::from(sectors))
}

/// Sequential requests from the first sector on.
pub(super) fn sequence(
    operation: Action,
    count: u64,
    sectors: u32,
) -> impl Iterator<Item = (Action, u64, u32)> {
    (0..count).map(move |index| (operation, index * u64::from(sectors), sectors))
}

/// Result of a closed form: an error describes the deviation.
pub(super) type Checked = Result<(), String>;

/// Checks that a measured number differs from the expected one by at most the share `tolerance`.
pub(super) fn within(what: &str, measured: f64, expected: f64, tolerance: f64) -> Checked {
    let off = measured / expected - 1.0;
    let text = format!("{what}: {measured:.5}, expected {expected:.5}, off by {:.2} %", off * 100.0);
    if off.abs() <= tolerance { Ok(()) } else { Err(text) }
}

pub(super) fn model(name: &str) -> &'static str {
    built_in().iter().find(|model| model.name == name).unwrap().toml
}
