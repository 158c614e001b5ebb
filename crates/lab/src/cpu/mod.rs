//! Processor models: the price of each class of computation in simulated time, with its source.
//!
//! A laboratory kernel that counts (`CPU_CLASSES`) is given the prices on its command line, and lets that much time pass.

mod read;

use std::path::Path;

use crate::kernel::CPU_CLASSES;
use fsverdict_disk::device::Draw;
use fsverdict_folders::read_regular;
use fsverdict_judgement::journal::ProcessorModel;
use fsverdict_judgement::plan::FREE_CPU;
use fsverdict_text::{Bytes, Hinted, LONGEST, Reason, TextError, suggest};

/// Largest deviation of a price from the model's in a block, as a share of it.
const REACH: f64 = 0.2;

/// A processor model that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct ShippedProcessor {
    pub name: &'static str,
    /// Its file, with the sources in its comments.
    pub toml: &'static str,
}

/// Each file of `models/cpu`, as `build.rs` lists them.
const SHIPPED: &[ShippedProcessor] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// Returns every processor model inside the binary, sorted by name.
pub fn shipped() -> &'static [ShippedProcessor] {
    SHIPPED
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuModelError {
    #[error("there is no processor model `{name}`")]
    Unknown { name: String, hint: String },
    #[error("cannot read the processor model {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error(transparent)]
    Wrong(#[from] TextError),
}

impl Hinted for CpuModelError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            CpuModelError::Unknown { hint, .. } => hint.clone(),
            CpuModelError::Unreadable { .. } => {
                "`fsverdict list cpus` has those that need no file".to_owned()
            }
            CpuModelError::Wrong(_) => return None,
        })
    }

    fn reason(&self) -> Reason {
        match self {
            CpuModelError::Wrong(error) => error.reason(),
            other => Reason::new(other, other.hint().unwrap_or_default()),
        }
    }
}

/// A processor and its prices.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuModel {
    pub about: ProcessorModel,
    /// For people, in a line.
    pub summary: String,
    /// Picoseconds of each class, in the order of [`CPU_CLASSES`].
    prices_ps: Vec<u64>,
}

impl CpuModel {
    /// Finds the model in a user's file, if `name` is a path (it has a slash, or ends in `.toml`), otherwise the shipped one of
    /// this name.
    pub fn find(name: &str) -> Result<CpuModel, CpuModelError> {
        if is_file(name) {
            let unreadable = |reason: String| CpuModelError::Unreadable { path: name.to_owned(), reason };
            let bytes =
                read_regular(Path::new(name), LONGEST).map_err(|error| unreadable(error.to_string()))?;
            let text = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
            return CpuModel::read(&text, name);
        }
        let found = SHIPPED.iter().find(|model| model.name == name).ok_or_else(|| {
            let known: Vec<&str> = SHIPPED.iter().map(|model| model.name).chain([FREE_CPU]).collect();
            CpuModelError::Unknown { name: name.to_owned(), hint: suggest(name, &known) }
        })?;
        CpuModel::read(found.toml, &format!("models/cpu/{name}.toml"))
    }

    /// Reads a model from the text of a file. Errors name `file`.
    pub fn read(text: &str, file: &str) -> Result<CpuModel, CpuModelError> {
        if text.len() as u64 > LONGEST {
            let reason = format!("a processor model of {} is none", Bytes(text.len() as u64));
            return Err(CpuModelError::Unreadable { path: file.to_owned(), reason });
        }
        Ok(read::read(text, file)?)
    }

    /// The prices that a block meets: each lies within 20 % of the model's, independently of the others; without a draw they are
    /// the model's own. The second block of a pair mirrors the first, so that a pair has the model's prices as its mean.
    pub fn prices(&self, draw: Option<Draw>) -> Vec<ClassPrice> {
        let drawn = |class: &'static str, price: u64| match draw {
            // Prices are far below 2⁵³, and positive.
            Some(draw) => {
                let factor = 1.0 + REACH * (2.0 * draw.place(&format!("cpu.{class}")) - 1.0);
                (price as f64 * factor).round() as u64
            }
            None => price,
        };
        let priced = CPU_CLASSES.iter().zip(&self.prices_ps);
        priced.map(|(class, price)| ClassPrice { class, picoseconds: drawn(class, *price) }).collect()
    }

    /// The word of the kernel's command line that sets these prices.
    pub fn kernel_word(&self, prices: &[ClassPrice]) -> String {
        let each: Vec<String> = prices.iter().map(|price| price.picoseconds.to_string()).collect();
        format!("{KERNEL_WORD}{}:{}", self.about.processors, each.join(","))
    }
}

/// The beginning of the kernel's word with the prices.
const KERNEL_WORD: &str = "cpu_price=";

/// Reads the prices from a kernel's command line, as [`CpuModel::kernel_word`] writes them; `None` if it has none.
pub fn read_kernel_prices(command_line: &str) -> Option<Vec<ClassPrice>> {
    let word = command_line.split_whitespace().find_map(|word| word.strip_prefix(KERNEL_WORD))?;
    let (_, prices) = word.split_once(':')?;
    let priced = CPU_CLASSES.iter().zip(prices.split(','));
    priced.map(|(class, price)| Some(ClassPrice { class, picoseconds: price.parse().ok()? })).collect()
}

/// The price of one class of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassPrice {
    pub class: &'static str,
    pub picoseconds: u64,
}

/// Checks whether there is a processor model of this name. A model in a file is not checked before the run opens it.
pub fn can_be_had(name: &str) -> Result<(), Reason> {
    if is_file(name) { Ok(()) } else { CpuModel::find(name).map(|_| ()).map_err(|error| error.reason()) }
}

fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{CpuModel, SHIPPED, can_be_had};
    use crate::kernel::CPU_CLASSES;
    use fsverdict_disk::device::Draw;
    use fsverdict_judgement::plan::DEFAULT_CPU;
    use fsverdict_text::Hinted;

    #[test]
    fn every_shipped_model_is_read_and_every_file_is_shipped() {
        for shipped in SHIPPED {
            let model = CpuModel::find(shipped.name).unwrap();
            assert_eq!(model.about.name, shipped.name);
            assert!(!model.about.source.is_empty() && !model.summary.is_empty());
            assert!(model.prices(None).iter().all(|price| price.picoseconds > 0), "{}", shipped.name);
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models/cpu");
        let files: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let names: BTreeSet<String> = SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect();
        assert_eq!(files, names);
    }

    #[test]
    fn the_model_of_plans_that_name_none_is_a_measured_one() {
        assert!(CpuModel::find(DEFAULT_CPU).unwrap().about.measured);
    }

    #[test]
    fn prices_are_drawn_once_for_a_block_within_a_fifth_and_mirrored_in_the_next() {
        let model = CpuModel::find("core2").unwrap();
        let own = model.prices(None);
        let mut factors = Vec::new();
        for seed in 0..50 {
            let draw = Draw { seed, mirrored: false };
            let (one, again) = (model.prices(Some(draw)), model.prices(Some(draw)));
            let mirrored = model.prices(Some(Draw { mirrored: true, ..draw }));
            assert_eq!(one, again);
            for ((own, one), other) in own.iter().zip(&one).zip(&mirrored) {
                let [own, one, other] = [own, one, other].map(|price| price.picoseconds as f64);
                // Rounded to whole picoseconds.
                assert!((one - own).abs() <= 0.2 * own + 0.5, "{one} is too far from {own}");
                assert!((one + other - 2.0 * own).abs() <= 1.0, "{one} and {other} are not centred at {own}");
            }
            factors.extend(
                own.iter().zip(&one).map(|(own, one)| one.picoseconds as f64 / own.picoseconds as f64),
            );
        }
        let reaches = |low: f64, high: f64| factors.iter().any(|factor| (low..high).contains(factor));
        assert!(reaches(0.8, 0.82) && reaches(0.99, 1.01) && reaches(1.18, 1.2));
        // Each class by itself: two are not always on the same side.
        let sides: BTreeSet<bool> = (0..50)
            .map(|seed| {
                let drawn = model.prices(Some(Draw { seed, mirrored: false }));
                let is_high = |at: usize| drawn[at].picoseconds > own[at].picoseconds;
                is_high(0) == is_high(1)
            })
            .collect();
        assert_eq!(sides.len(), 2);
    }

    #[test]
    fn the_kernel_is_given_the_processors_and_every_price_in_order() {
        let model = CpuModel::find("core2").unwrap();
        let word = model.kernel_word(&model.prices(None));
        let prices: Vec<&str> = word.strip_prefix("cpu_price=2:").unwrap().split(',').collect();
        assert_eq!(prices.len(), CPU_CLASSES.len());
        let aes = CPU_CLASSES.iter().position(|class| *class == "aes_byte").unwrap();
        assert_eq!(prices[aes], "7900");
    }

    #[test]
    fn the_kernel_takes_every_drawn_price_for_what_it_is() {
        let model = CpuModel::find("core2").unwrap();
        let model = CpuModel { prices_ps: vec![super::read::MOST_PS as u64; CPU_CLASSES.len()], ..model };
        let dearest = (0..200).flat_map(|seed| model.prices(Some(Draw { seed, mirrored: false })));
        let dearest = dearest.map(|price| price.picoseconds).max().unwrap();
        assert!(dearest > 1_190_000_000 && dearest <= i32::MAX as u64, "{dearest}");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_and_a_path_is_looked_at_later() {
        let reason = can_be_had("core-2").unwrap_err();
        assert!(
            reason.what.contains("no processor model `core-2`") && reason.hint.contains("core2"),
            "{reason}"
        );
        can_be_had("./mine.toml").unwrap();
        let error = CpuModel::find("./no-such.toml").unwrap_err();
        assert!(error.to_string().contains("./no-such.toml") && error.hint().is_some());
    }

    #[test]
    fn a_file_is_read_strictly() {
        let good = SHIPPED[0].toml;
        for (was, is, told) in [
            ("measured  ", "measures  ", "unknown key `measures`"),
            ("block_hot ", "block_hott ", "unknown key `block_hott`"),
            ("processors       = 4", "processors       = 0", "`processors`"),
            ("processors       = 4", "processors       = 4\nheld_out_median = 1.5", "`held_out_median`"),
            ("block_warm ", "#block_warm ", "block_warm"),
            ("block_hot            = 1700", "block_hot            = -1", "`block_hot`"),
            ("measured         = false", "measured         = true", "held_out_median"),
            (
                "block_hot            = 1700",
                "block_hot            = 4294967297",
                "a price is from 0 to 1000000000",
            ),
            ("block_hot            = 1700", "block_hot            = nan", "`block_hot`"),
            ("block_hot            = 1700", "block_hot            = inf", "`block_hot`"),
        ] {
            let text = good.replacen(was, is, 1);
            assert_ne!(text, good, "{was}");
            let error = CpuModel::read(&text, "mine.toml").unwrap_err().reason().to_string();
            assert!(error.contains(told) && error.contains("mine.toml"), "{is}: {error}");
        }
    }
}
