//! The fastest that a modelled device can move data: large sequential requests, many at once. A higher rate that a
//! program measured did not come from the device.

use super::{Action, Completion, Device, Model, ModelError, Request};

/// Bytes that are moved to find out.
const MOVED: u64 = 64 << 20;
/// Requests that are under way at once.
const DEPTH: u64 = 32;
/// Sectors of one request at most.
const LARGEST_SECTORS: u32 = 2048;

/// Bytes per second of the faster of reading and writing; `None` where the model takes no time for them.
///
/// # Errors
/// When there is no device of this model and size.
pub fn fastest_rate(model: &Model, size_bytes: u64) -> Result<Option<u64>, ModelError> {
    let mut fastest = Some(0);
    for operation in [Action::Read, Action::Write] {
        let device = Device::new(model, size_bytes, 1)?;
        let rate = sequential_rate(device, operation, size_bytes);
        fastest = fastest.zip(rate).map(|(one, other)| one.max(other));
    }
    Ok(fastest)
}

fn sequential_rate(mut device: Device, operation: Action, size_bytes: u64) -> Option<u64> {
    let limits = device.limits();
    let sectors = limits.max_sectors_kb.saturating_mul(2).clamp(8, LARGEST_SECTORS);
    let depth = DEPTH.min(u64::from(limits.queue_depth).max(1));
    let count = (MOVED.min(size_bytes) / 512 / u64::from(sectors)).max(1);
    let request = |id: u64| Request { id, operation, sector: id * u64::from(sectors), sectors };
    let mut next = 0;
    while next < depth.min(count) {
        device.submit(0, request(next));
        next += 1;
    }
    let (mut done, mut last_ns): (Vec<Completion>, u64) = (Vec::new(), 0);
    while let Some(now_ns) = device.next_event() {
        device.advance(now_ns, &mut done);
        for completion in done.drain(..) {
            last_ns = last_ns.max(completion.completed_ns);
            if next < count {
                device.submit(now_ns, request(next));
                next += 1;
            }
        }
    }
    let bytes = count as f64 * f64::from(sectors) * 512.0;
    (last_ns > 0).then(|| (bytes / (last_ns as f64 / 1e9)) as u64)
}

#[cfg(test)]
mod tests {
    use super::fastest_rate;
    use crate::device::Model;

    #[test]
    fn a_model_is_as_fast_as_its_link_or_its_medium() {
        for (name, least, most) in [
            ("hdd-7200", 100_000_000, 700_000_000),
            ("sata-ssd", 300_000_000, 620_000_000),
            ("usb-stick", 5_000_000, 500_000_000),
            ("usb-disk-5400", 20_000_000, 40_000_000),
        ] {
            let rate = fastest_rate(&Model::named(name).unwrap(), 1 << 30).unwrap().unwrap();
            assert!((least..most).contains(&rate), "{name}: {rate}");
        }
        let ideal = fastest_rate(&Model::named("ideal").unwrap(), 1 << 30).unwrap();
        assert!(ideal.is_none_or(|rate| rate > 10_000_000_000), "{ideal:?}");
    }
}
