//! Lets simulated time pass for the computation of a phase's own programs.
//!
//! A counting kernel (patch 0014) counts its own computation, and none of the programs'. While such a phase runs, each
//! return to a program costs as much more as the plan's `computing` says. All programs are charged alike, services that
//! work for the phase included.

use std::fs;
use std::time::Duration;

use fsverdict_judgement::plan::{DEFAULT_CPU, Phase};
use fsverdict_workload::cpu_work::COUNTS;

use crate::cpu::{ClassPrice, CpuModel, read_kernel_prices};
use crate::kernel::CPU_CLASSES;
use crate::trial::error::TrialError;

/// The class whose price is changed.
const RETURN: &str = "user_return";
/// The class by which processors are compared: code that a program runs over and over.
const CODE: &str = "block_hot";

/// A raised price of returns to programs.
#[derive(Debug)]
#[must_use]
pub(super) struct RaisedPrice {
    class: usize,
    usual_ps: u64,
}

impl RaisedPrice {
    /// Raises the price for a phase with programs that compute; `None` for others, and in a kernel without prices.
    pub(super) fn for_phase(phase: &Phase) -> Result<Option<RaisedPrice>, TrialError> {
        let Some(computing) = phase.computing else { return Ok(None) };
        let host = |error: std::io::Error| TrialError::Host(format!("/proc/cmdline: {error}"));
        let line = fs::read_to_string("/proc/cmdline").map_err(host)?;
        let Some(prices) = read_kernel_prices(&line) else { return Ok(None) };
        let class = CPU_CLASSES.iter().position(|class| *class == RETURN);
        let Some((class, usual_ps)) = class.zip(price_of(&prices, RETURN)) else { return Ok(None) };
        let raised = Self { class, usual_ps };
        raised.set_price(usual_ps.saturating_add(scale_to_processor(computing, &prices)))?;
        Ok(Some(raised))
    }

    /// Sets the usual price again.
    pub(super) fn restore(self) -> Result<(), TrialError> {
        self.set_price(self.usual_ps)
    }

    fn set_price(&self, picoseconds: u64) -> Result<(), TrialError> {
        let picoseconds = picoseconds.min(u32::MAX.into());
        fs::write(COUNTS, format!("{} {picoseconds}", self.class))
            .map_err(|error| TrialError::Host(format!("the kernel takes no price of computing: {error}")))
    }
}

fn price_of(prices: &[ClassPrice], class: &str) -> Option<u64> {
    prices.iter().find(|price| price.class == class).map(|price| price.picoseconds)
}

/// A time on the processor that plans state times for, as picoseconds on the one with these prices.
fn scale_to_processor(computing: Duration, prices: &[ClassPrice]) -> u64 {
    let reference = CpuModel::find(DEFAULT_CPU).map(|model| model.prices(None)).unwrap_or_default();
    let reference = price_of(&reference, CODE).unwrap_or(1);
    let own = price_of(prices, CODE).unwrap_or(reference);
    let picoseconds = computing.as_nanos() * 1000 * u128::from(own) / u128::from(reference.max(1));
    u64::try_from(picoseconds).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{price_of, scale_to_processor};
    use crate::cpu::{CpuModel, read_kernel_prices};

    #[test]
    fn a_program_computes_for_longer_on_a_slower_processor() {
        let prices = |name: &str| {
            let model = CpuModel::find(name).unwrap();
            read_kernel_prices(&format!("mem=1G {} quiet", model.kernel_word(&model.prices(None)))).unwrap()
        };
        let (usual, slow) = (prices("epyc-vm"), prices("core2"));
        assert_eq!(price_of(&usual, "user_return"), Some(230_401));
        assert_eq!(scale_to_processor(Duration::from_micros(35), &usual), 35_000_000);
        assert!(scale_to_processor(Duration::from_micros(35), &slow) > 50_000_000);
        assert_eq!(read_kernel_prices("mem=1G cpu_price=count quiet"), None);
        assert_eq!(read_kernel_prices("mem=1G quiet"), None);
    }
}
