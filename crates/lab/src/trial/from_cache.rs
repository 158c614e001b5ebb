//! Detects rates that exceed the device's: a program that reads or writes that fast was served by a cache.

use fsverdict_judgement::journal::{Measurement, Unit};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::host::sysfs::{bottom_devices, bus_rate};

use super::agent::Agent;
use super::stack::Stack;

/// A rate of this multiple of the device's cannot come from the device.
const TOO_FAST: f64 = 2.0;

impl Agent<'_> {
    /// Bytes per second that the devices of this trial can transfer together: of their models, or of the buses that they are on.
    fn device_rate(&self, stack: &Stack<'_>) -> Option<u64> {
        self.assignment.bench.device_rate.or_else(|| {
            let root = Root::default();
            let mut total = 0_u64;
            let mut bottoms = Vec::new();
            for name in stack.device_names() {
                bottoms.extend(bottom_devices(&root, &name).ok()?);
            }
            bottoms.sort();
            bottoms.dedup();
            for name in &bottoms {
                total = total.saturating_add(bus_rate(&root, name)?);
            }
            (total > 0).then_some(total)
        })
    }

    /// Warns of each rate of a phase's program that is above what the device can transfer.
    pub(super) fn warn_of_rates_above_device(
        &self,
        stack: &mut Stack<'_>,
        phase: &str,
        found: &[Measurement],
    ) {
        let Some(rate) = self.device_rate(stack) else { return };
        for text in found.iter().filter_map(|measurement| describe_excess(measurement, rate)) {
            stack.sink.send_caution(phase, text);
        }
    }
}

/// Describes a rate that is higher than the device's.
fn describe_excess(measurement: &Measurement, device: u64) -> Option<String> {
    let is_rate = measurement.unit == Unit::BytesPerSecond;
    let mb = |rate: f64| (rate / 1e6).round();
    (is_rate && measurement.value > TOO_FAST * device as f64).then(|| {
        format!(
            "{} measured a cache and not the device: {} MB/s is more than twice the {} MB/s that the device can transfer. Use direct I/O, or more data than fits in memory",
            measurement.metric,
            mb(measurement.value),
            mb(device as f64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::describe_excess;
    use fsverdict_judgement::journal::{Measurement, Unit};

    #[test]
    fn a_rate_beyond_twice_the_device_is_from_cache() {
        for (unit, value, told) in [
            (Unit::BytesPerSecond, 1.1e9, true),
            (Unit::BytesPerSecond, 0.99e9, false),
            (Unit::PerSecond, 1.1e12, false),
            (Unit::Bytes, 1.1e12, false),
        ] {
            let text = describe_excess(&Measurement::new("fio_read_bandwidth", unit, value), 500_000_000);
            assert_eq!(text.is_some(), told, "{unit:?} {value}");
            assert!(text.is_none_or(|text| {
                text == "fio_read_bandwidth measured a cache and not the device: 1100 MB/s is more than twice the 500 MB/s that the device can transfer. Use direct I/O, or more data than fits in memory"
            }));
        }
    }
}
