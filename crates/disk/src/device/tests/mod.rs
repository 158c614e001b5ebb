//! What a device must do whatever its numbers are, and what closed forms say its numbers must give.

mod closed_forms;
mod disk_forms;
mod flash_forms;
mod laws;
mod models;
mod platter_forms;
mod unchanged;

use super::{Action, Completion, Device, Model, Request, built_in, random};

/// Does the requests with this many underway at once, each as soon as one before it is done; returns the completions.
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

/// A device made of a model's text, with some of its lines replaced.
pub(super) fn device(toml: &str, state: Option<&str>, size_bytes: u64) -> Device {
    let model = Model::read(toml, "test.toml", state).unwrap_or_else(|error| panic!("{error}"));
    Device::new(&model, size_bytes, 1).unwrap()
}

/// When the last of them was done, in seconds.
pub(super) fn seconds(done: &[Completion]) -> f64 {
    done.last().map_or(0.0, |last| last.completed_ns as f64 / 1e9)
}

/// Random places for requests of this many sectors on a device of this size, aligned to themselves.
pub(super) fn places(seed: u64, count: u64, size_bytes: u64, sectors: u32) -> impl Iterator<Item = u64> {
    let slots = size_bytes / 512 / u64::from(sectors);
    (0..count).map(move |index| random::below(seed, index, slots) * u64::from(sectors))
}

/// Requests one after the other from the first sector on.
pub(super) fn sequence(
    operation: Action,
    count: u64,
    sectors: u32,
) -> impl Iterator<Item = (Action, u64, u32)> {
    (0..count).map(move |index| (operation, index * u64::from(sectors), sectors))
}

/// What a closed form finds: nothing wrong, or what.
pub(super) type Checked = Result<(), String>;

/// Whether a measured number is as expected, but for this share of it.
pub(super) fn within(what: &str, measured: f64, expected: f64, tolerance: f64) -> Checked {
    let off = measured / expected - 1.0;
    let text = format!("{what}: {measured:.5}, expected {expected:.5}, off by {:.2} %", off * 100.0);
    if off.abs() <= tolerance { Ok(()) } else { Err(text) }
}

pub(super) fn model(name: &str) -> &'static str {
    built_in().iter().find(|model| model.name == name).unwrap().toml
}
