//! Lets simulated time pass for the computation of a phase's own programs.
//!
//! A counting kernel (patch 0014) counts its own computation, and none of the programs'. While such a phase runs, each
//! return to a program costs as much more as the plan's `computing` says. All programs are charged alike, services that
//! work for the phase included.

use std::fs;
use std::time::Duration;

use fsverdict_judgement::plan::{DEFAULT_CPU, Phase};

use crate::cpu::CpuModel;
use crate::kernel::CPU_CLASSES;
use crate::trial::error::TrialError;

const COUNTS: &str = "/proc/cpu_price";
/// The word of the kernel's command line with the prices of this trial.
const WORD: &str = "cpu_price=";
/// The class whose price is changed.
const RETURN: &str = "user_return";
/// The class by which processors are compared: code that a program runs over and over.
const CODE: &str = "block_hot";

/// A changed price of returns to programs.
#[derive(Debug)]
#[must_use]
pub(super) struct OwnComputing {
    class: usize,
    usual_ps: u64,
}

impl OwnComputing {
    /// Raises the price for a phase with programs that compute; `None` for others, and in a kernel without prices.
    pub(super) fn begin(phase: &Phase) -> Result<Option<OwnComputing>, TrialError> {
        let Some(computing) = phase.computing else { return Ok(None) };
        let host = |error: std::io::Error| TrialError::Host(format!("/proc/cmdline: {error}"));
        let line = fs::read_to_string("/proc/cmdline").map_err(host)?;
        let Some(prices) = read_prices(&line) else { return Ok(None) };
        let (Some(class), Some(usual_ps)) = (class_of(RETURN), price_of(&prices, RETURN)) else {
            return Ok(None);
        };
        let raised = Self { class, usual_ps };
        raised.set(usual_ps.saturating_add(scaled_ps(computing, &prices)))?;
        Ok(Some(raised))
    }

    /// Sets the usual price again.
    pub(super) fn end(self) -> Result<(), TrialError> {
        self.set(self.usual_ps)
    }

    fn set(&self, picoseconds: u64) -> Result<(), TrialError> {
        let picoseconds = picoseconds.min(u32::MAX.into());
        fs::write(COUNTS, format!("{} {picoseconds}", self.class))
            .map_err(|error| TrialError::Host(format!("the kernel takes no price of computing: {error}")))
    }
}

/// The prices on a kernel's command line, in the order of the classes; `None` if it has none.
fn read_prices(line: &str) -> Option<Vec<u64>> {
    let (_, prices) = line.split_whitespace().find_map(|word| word.strip_prefix(WORD))?.split_once(':')?;
    prices.split(',').map(|price| price.parse().ok()).collect()
}

fn class_of(name: &str) -> Option<usize> {
    CPU_CLASSES.iter().position(|class| *class == name)
}

fn price_of(prices: &[u64], name: &str) -> Option<u64> {
    class_of(name).and_then(|class| prices.get(class)).copied()
}

/// A time on the processor that plans state times for, as picoseconds on the one with these prices.
fn scaled_ps(computing: Duration, prices: &[u64]) -> u64 {
    let reference = CpuModel::find(DEFAULT_CPU).map(|model| model.prices(None)).unwrap_or_default();
    let reference = reference.iter().find(|price| price.class == CODE).map_or(1, |price| price.picoseconds);
    let own = price_of(prices, CODE).unwrap_or(reference);
    let picoseconds = computing.as_nanos() * 1000 * u128::from(own) / u128::from(reference.max(1));
    u64::try_from(picoseconds).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{price_of, read_prices, scaled_ps};
    use crate::cpu::CpuModel;

    #[test]
    fn a_program_computes_for_longer_on_a_slower_processor() {
        let prices = |name: &str| {
            let model = CpuModel::find(name).unwrap();
            read_prices(&format!("mem=1G {} quiet", model.kernel_word(&model.prices(None)))).unwrap()
        };
        let (usual, slow) = (prices("epyc-vm"), prices("core2"));
        assert_eq!(price_of(&usual, "user_return"), Some(230_401));
        assert_eq!(scaled_ps(Duration::from_micros(35), &usual), 35_000_000);
        assert!(scaled_ps(Duration::from_micros(35), &slow) > 50_000_000);
        assert_eq!(read_prices("mem=1G cpu_price=count quiet"), None);
        assert_eq!(read_prices("mem=1G quiet"), None);
    }
}
