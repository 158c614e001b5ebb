//! Calibrates a processor: runs the same work natively, measuring its CPU time, and in a guest with a kernel that
//! counts computation. Then fits prices such that counts times prices give the measured times.

mod cipher;
mod halves;
mod prior;

use std::collections::BTreeMap;
use std::path::Path;

use fsverdict_judgement::plan::Plan;
use fsverdict_judgement::statistics::{CountedWork, HeldOutError, fit_prices, held_out_error};
use fsverdict_lab::kernel::CPU_CLASSES;
use fsverdict_text::Reason;

use self::cipher::measure_cipher;
use self::halves::{GuestHalf, NativeHalf};
use self::prior::{LOOP_PRIORS, prior_of};
use super::error::SessionError;

/// The number of native rounds. Other load on the machine only adds to a time, so the minimum counts.
const NATIVE_ROUNDS: u32 = 4;
/// The minimum native time of a piece of work that is used, in seconds: in a shorter one, other work of the kernel's
/// threads dominates.
const SHORTEST_SECONDS: f64 = 10e-3;
/// The maximum count of a class per second of native work: no processor does more of anything, not even bytes set.
const MOST_COUNTS_PER_SECOND: f64 = 1e13;
/// The maximum median error on data that were not used for the fit, as a share. A kernel that counts has an error of 10 to
/// 30 %; one that counts nothing has one of 100 %.
const MOST_ERROR: f64 = 0.5;

/// Identifies a piece of work on a filesystem: the names of the candidate and of the phase.
type WorkKey = (String, String);

/// The prices of a processor, and their error.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuCalibration {
    /// The price of each class in picoseconds, in the order of [`CPU_CLASSES`], and whether measured work contained
    /// that class.
    pub prices: Vec<CalibratedPrice>,
    pub held_out: HeldOutError,
    /// Priced time divided by native time, for each candidate and piece of work.
    pub ratios: Vec<(String, String, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibratedPrice {
    pub class: &'static str,
    pub picoseconds: u64,
    pub measured: bool,
}

/// Two plans of the same work, one for each half; the metrics of their phases are those that the half prints.
pub struct CalibrationPlans {
    pub native: Plan,
    pub guest: Plan,
}

/// Does the work of both plans, natively and in guests with a counting kernel, and fits the prices. `tell` receives
/// messages about the progress.
///
/// # Errors
/// Fails where native trials are impossible (they need root), where no candidate can run in both halves, or where
/// work failed.
pub fn calibrate_cpu(
    plans: &CalibrationPlans,
    counting_kernel: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<CpuCalibration, SessionError> {
    let native = NativeHalf::new(&plans.native)?;
    let guest = GuestHalf::new(&plans.guest, counting_kernel)?;
    let (mut seconds, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for candidate in &plans.guest.candidates {
        let obstacle = native.find_obstacle(candidate).or_else(|| guest.obstacle(candidate));
        if let Some(reason) = obstacle {
            tell(&format!("{} is left out: {reason}", candidate.name));
            continue;
        }
        tell(&format!("{}: counted in a guest", candidate.name));
        counts.extend(guest.measure_counts(candidate)?);
    }
    for round in 1..=NATIVE_ROUNDS {
        tell(&format!("natively, round {round} of {NATIVE_ROUNDS}"));
        for candidate in &plans.guest.candidates {
            if !counts.keys().any(|(name, _): &WorkKey| *name == candidate.name) {
                continue;
            }
            for (key, took) in native.measure_times(candidate, round)? {
                let least = seconds.entry(key).or_insert(took);
                *least = least.least_of(took);
            }
        }
    }
    let seconds = seconds.into_iter().map(|(key, took)| (key, took.total_seconds())).collect();
    let mut calibration = fit_prices_of_classes(&counts, &seconds)?;
    // No filesystem computes AES by itself, so it is measured separately.
    if let Some(seconds) = aes_byte_seconds() {
        calibration.set_measured("aes_byte", seconds);
    }
    Ok(calibration)
}

impl CpuCalibration {
    fn set_measured(&mut self, class: &str, seconds: f64) {
        if let Some(price) = self.prices.iter_mut().find(|price| price.class == class) {
            *price = CalibratedPrice { picoseconds: to_picoseconds(seconds), measured: true, ..*price };
        }
    }
}

/// The seconds per byte of the LUKS cipher, as cryptsetup or openssl measures it; `None` if neither can.
fn aes_byte_seconds() -> Option<f64> {
    measure_cipher(fsverdict_stack::layer::find_layer("luks2")?.cipher?)
}

/// Converts a price to a whole number of picoseconds, at least 1, as models store it.
fn to_picoseconds(seconds: f64) -> u64 {
    // Prices are milliseconds at most, so the cast does not overflow.
    ((seconds * 1e12).round() as u64).max(1)
}

/// Fits the prices of the classes, together with the prices of the loop device below the native half, which are not
/// part of the result.
fn fit_prices_of_classes(
    counts: &BTreeMap<WorkKey, Vec<f64>>,
    seconds: &BTreeMap<WorkKey, f64>,
) -> Result<CpuCalibration, SessionError> {
    let mut keys = Vec::new();
    let mut works = Vec::new();
    for (key, counts) in counts {
        let Some(seconds) = seconds.get(key).filter(|seconds| **seconds >= SHORTEST_SECONDS) else {
            continue;
        };
        check_counts(key, counts, *seconds)?;
        keys.push(key);
        works.push(CountedWork { counts: counts.clone(), seconds: *seconds });
    }
    let prior: Vec<f64> = CPU_CLASSES.iter().map(|class| prior_of(class)).chain(LOOP_PRIORS).collect();
    let held_out = held_out_error(&works, &prior).ok_or_else(|| {
        SessionError::Disk(Reason::new(
            "too little work could be measured to calibrate a processor",
            "install the tools of ext4, xfs and btrfs; `fsverdict doctor` names what is missing",
        ))
    })?;
    if held_out.median.is_nan() || held_out.median > MOST_ERROR {
        let percent = held_out.median * 100.0;
        let text = format!(
            "the counts of the guest's kernel do not explain what the work takes natively: its times are off by {percent:.0} % in the median"
        );
        let hint = "`fsverdict kernel build` builds the kernel anew; other load on this machine matters little, because processor time is measured";
        return Err(SessionError::Disk(Reason::new(text, hint)));
    }
    let fitted = fit_prices(&works, &prior);
    let ratios = keys.iter().zip(&works).map(|((candidate, piece), work)| {
        (candidate.clone(), piece.clone(), work.priced_seconds(&fitted) / work.seconds)
    });
    let ratios = ratios.collect();
    let counted = |at: usize| works.iter().any(|work| work.counts.get(at).is_some_and(|count| *count > 0.0));
    let prices = CPU_CLASSES.iter().zip(&fitted).enumerate().map(|(at, (class, price))| CalibratedPrice {
        class,
        picoseconds: to_picoseconds(*price),
        measured: counted(at),
    });
    Ok(CpuCalibration { prices: prices.collect(), held_out, ratios })
}

/// Refuses counts of a piece of work that no computation of so many seconds has: a guest's kernel can report any number.
fn check_counts(work: &WorkKey, counts: &[f64], seconds: f64) -> Result<(), SessionError> {
    let (candidate, piece) = work;
    let most = MOST_COUNTS_PER_SECOND * seconds;
    let Some(at) = counts.iter().position(|count| !(0.0..=most).contains(count)) else { return Ok(()) };
    let class = CPU_CLASSES.get(at).copied().unwrap_or("device");
    let count = counts.get(at).copied().unwrap_or_default();
    let text = format!(
        "the guest's kernel counted {count:e} of {class} for {piece} on {candidate}, which took {seconds:.3} s natively: that is impossible"
    );
    let hint = "`fsverdict kernel build` builds the kernel anew";
    Err(SessionError::Disk(Reason::new(text, hint)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{CPU_CLASSES, LOOP_PRIORS, fit_prices_of_classes};
    use fsverdict_text::Hinted;

    #[test]
    fn what_was_counted_is_measured_and_the_rest_keeps_its_prior() {
        let (mut counts, mut seconds) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..12_u32 {
            let key = ("ext4".to_owned(), format!("piece{number}"));
            let mut row = vec![0.0; CPU_CLASSES.len() + LOOP_PRIORS.len()];
            row[0] = 1e7 * f64::from(number % 5 + 1);
            row[3] = 1e8 * f64::from(number % 3 + 1);
            seconds.insert(key.clone(), row[0] * 1e-9 + row[3] * 1e-10);
            counts.insert(key, row);
        }
        // This time is too short to be used.
        seconds.insert(("ext4".to_owned(), "piece0".to_owned()), 1e-4);
        let found = fit_prices_of_classes(&counts, &seconds).unwrap();
        assert!(found.held_out.median < 0.05, "{:?}", found.held_out);
        assert_eq!((found.ratios.len(), found.prices.len()), (11, CPU_CLASSES.len()));
        let [hot, copied, aes] = [0, 3, 11].map(|at| found.prices[at]);
        assert!(hot.measured && (950..1050).contains(&hot.picoseconds), "{hot:?}");
        assert!(copied.measured && (90..110).contains(&copied.picoseconds), "{copied:?}");
        assert!(!aes.measured && aes.class == "aes_call" && aes.picoseconds == 100_000);
        assert!(fit_prices_of_classes(&BTreeMap::new(), &seconds).is_err());
        let mut found = found;
        found.set_measured("aes_byte", 3e-10);
        let aes = found.prices.iter().find(|price| price.class == "aes_byte").unwrap();
        assert!(aes.measured && aes.picoseconds == 300);
    }

    /// Twelve pieces of work of a second each, with these counts of the first class.
    fn fit(count_of: impl Fn(u32) -> f64) -> Result<u64, String> {
        let (mut counts, mut seconds) = (BTreeMap::new(), BTreeMap::new());
        for number in 0..12_u32 {
            let key = ("ext4".to_owned(), format!("piece{number}"));
            let mut row = vec![0.0; CPU_CLASSES.len() + LOOP_PRIORS.len()];
            row[0] = count_of(number);
            seconds.insert(key.clone(), f64::from(number % 5 + 1));
            counts.insert(key, row);
        }
        let fitted = fit_prices_of_classes(&counts, &seconds);
        fitted.map(|fitted| fitted.prices[0].picoseconds).map_err(|error| error.reason().to_string())
    }

    #[test]
    fn counts_that_no_kernel_has_make_no_model() {
        assert!((900..1100).contains(&fit(|number| f64::from(number % 5 + 1) * 1e9).unwrap()));
        for impossible in [u64::MAX as f64, 1e300, f64::INFINITY, f64::NAN, -1.0] {
            let told = fit(|number| if number == 7 { impossible } else { 1e9 }).unwrap_err();
            assert!(told.contains("of block_hot for piece7 on ext4") && told.contains("hint: "), "{told}");
        }
        // A kernel that counts nothing, and one with counts that have nothing to do with the work.
        for nothing in [fit(|_| 0.0), fit(|number| if number == 3 { 1e13 } else { 1.0 })] {
            let told = nothing.unwrap_err();
            assert!(told.contains("do not explain what the work takes natively"), "{told}");
        }
    }
}
