//! `fsverdict calibrate --cpu`: measures the cost of computation on this machine and makes a processor model of it.

use std::fmt::Write;
use std::path::Path;

use crate::study::{CalibrationPlans, CpuCalibration, calibrate_cpu};
use fsverdict_judgement::plan::{Overrides, Plan, read_with};
use fsverdict_lab::cpu::CpuModel;
use fsverdict_lab::kernel::{CPU_CLASSES, KernelCache};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::procfs::{cpu_info, has_cpu_flag};
use fsverdict_linux::host::root::Root;
use fsverdict_text::{Hinted, Reason};
use fsverdict_workload::cpu_work::{COMMAND, COUNT_PREFIX, CPU_PIECES, OWN_NANOSECONDS};

use super::CliError;
use super::vocabulary::with_vocabulary;

/// The release of the kernels that can count computation.
const RELEASE: &str = "6.12";

/// As many processors as a model may have.
const MOST_PROCESSORS: usize = 64;

/// On which filesystems the work is done, but for phases and the program that does it. ext4 is made with `encrypt`, which keeps the
/// native kernel from large folios on it: ext4 of the guest's release has none.
const PLAN: &str = r#"
title    = "Calibration of a processor"
lab      = "uml"
clock    = "simulated"
cpu      = "free"
device   = { model = "ideal", size = "2GiB" }
protocol = { blocks = 1, seed = 1, circumstances = "fixed" }
dataset.program = { path = "PROGRAM_FOLDER" }
candidate = [
    { filesystem = "ext4", name = "ext4", mkfs = "-O encrypt" },
    { filesystem = "ext4", name = "ext4-noindex", mkfs = "-O encrypt,^dir_index" },
    { filesystem = "xfs", name = "xfs" },
    { filesystem = "btrfs", name = "btrfs" },
    { filesystem = "btrfs", name = "btrfs-zstd", mount = "compress=zstd" },
    { filesystem = "btrfs", name = "btrfs-lzo", mount = "compress=lzo" },
    { filesystem = "btrfs", name = "btrfs-zlib", mount = "compress=zlib" },
    { filesystem = "btrfs", name = "btrfs-xxhash", mkfs = "--csum xxhash" },
    { filesystem = "btrfs", name = "btrfs-sha256", mkfs = "--csum sha256" },
    { filesystem = "btrfs", name = "btrfs-blake2b", mkfs = "--csum blake2" },
]
"#;

/// Calibrates the processor; the text of its model.
pub(super) fn run(name: Option<&str>) -> Result<String, CliError> {
    let kernel =
        KernelCache::of_user().find_kernel(RELEASE).ok().filter(|entry| entry.facts.counting).ok_or_else(
            || {
                CliError::failed(Reason::new(
                    "the cache has no kernel that counts computation",
                    "`fsverdict kernel build` builds one from Linux 6.12 in some minutes",
                ))
            },
        )?;
    let folder = tempfile::tempdir().map_err(CliError::failed)?;
    let program = std::env::current_exe().map_err(CliError::failed)?;
    std::fs::copy(&program, folder.path().join("fsverdict")).map_err(CliError::failed)?;
    let root = Root::default();
    let processor =
        cpu_info(&root, "model name").ok().flatten().unwrap_or_else(|| "an unnamed processor".to_owned());
    print_line(&format!(
        "calibrating {processor}: work in guests of {}, and natively; some minutes",
        kernel.name
    ));
    let counts: Vec<String> = (0..CPU_CLASSES.len()).map(|class| format!("{COUNT_PREFIX}{class}")).collect();
    let plans = CalibrationPlans {
        native: plan(folder.path(), &[OWN_NANOSECONDS.to_owned()])?,
        guest: plan(folder.path(), &counts)?,
    };
    let calibration =
        calibrate_cpu(&plans, &kernel.kernel, &mut |what| print_line(what)).map_err(CliError::failed)?;
    for (candidate, piece, ratio) in &calibration.ratios {
        print_line(&format!("{candidate}, {piece}: priced at {ratio:.2} of the native time"));
    }
    let error = calibration.held_out;
    print_line(&format!(
        "error on the half that was not used for fitting: median {:.1} %, 90th percentile {:.1} % ({} pieces of work)",
        error.median * 100.0,
        error.p90 * 100.0,
        calibration.ratios.len()
    ));
    let about = About {
        name: name.map_or_else(|| "this-machine".to_owned(), str::to_owned),
        processor,
        kernel: kernel.name,
        processors: std::thread::available_parallelism().map_or(1, usize::from).min(MOST_PROCESSORS),
        aes: has_cpu_flag(&root, "aes").unwrap_or(false),
        date: jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
    };
    checked_model(&about, &calibration)
}

/// The model's TOML, if it can be read back.
fn checked_model(about: &About, calibration: &CpuCalibration) -> Result<String, CliError> {
    let text = model(about, calibration);
    CpuModel::read(&text, "the model").map_err(|error| {
        CliError::Failed(error.reason().after("the calibration makes no processor model: "))
    })?;
    Ok(text)
}

/// The description in a model beside its prices.
struct About {
    name: String,
    processor: String,
    kernel: String,
    processors: usize,
    aes: bool,
    date: String,
}

/// The plan with a phase for each piece of work, which has these metrics. The program lies in `folder`.
fn plan(folder: &Path, metrics: &[String]) -> Result<Plan, CliError> {
    let mut text = PLAN.replace("PROGRAM_FOLDER", &folder.display().to_string());
    for piece in CPU_PIECES {
        let (name, cold) = (piece.name, piece.cold);
        let phase = format!(
            "[[phase]]\nname = \"{name}\"\ncold = {cold}\ndataset = \"program\"\ncommand = 'exec \"$PROGRAM/fsverdict\" {COMMAND} {name} \"$MOUNT\"'\n"
        );
        text.push_str(&phase);
        for metric in metrics {
            let metric = format!(
                "metric.{metric} = {{ match = '^{metric}=([0-9]+)$', unit = \"count\", better = \"neither\" }}\n"
            );
            text.push_str(&metric);
        }
    }
    let overrides = Overrides::default();
    with_vocabulary(|vocabulary| read_with(&text, "the calibration of a processor", &overrides, vocabulary))
        .map_err(|error| CliError::Failed(error.reason()))
}

/// The model's TOML.
fn model(about: &About, calibration: &CpuCalibration) -> String {
    let About { name, processor, kernel, processors, aes, date } = about;
    let error = calibration.held_out;
    let mut text = format!(
        "# A processor model: what each class of computation costs, measured by `fsverdict calibrate --cpu`.\n\
         # Prices marked \"not measured\" belong to classes that none of the work has; they are estimates.\n\n\
         name             = {}\n\
         source           = {}\n\
         date             = {}\n\
         measured         = true\n\
         processors       = {processors}\n\
         aes_instructions = {aes}\n\
         held_out_median  = {:.3}\n\
         held_out_p90     = {:.3}\n\n\
         [picoseconds]\n",
        toml_text(name),
        toml_text(&format!("{processor}; counts of {kernel}")),
        toml_text(date),
        error.median,
        error.p90,
    );
    for price in &calibration.prices {
        let note = if price.measured { "" } else { "  # not measured" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<21}= {}{note}", price.class, price.picoseconds);
    }
    text
}

/// The text as a string of TOML; control characters, which a processor's name may hold, are left out.
fn toml_text(text: &str) -> String {
    let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::{About, CpuCalibration, checked_model};
    use crate::study::CalibratedPrice;
    use fsverdict_judgement::statistics::HeldOutError;
    use fsverdict_lab::cpu::CpuModel;
    use fsverdict_lab::kernel::CPU_CLASSES;

    fn calibration(median: f64, picoseconds: u64) -> CpuCalibration {
        let price = |class: &&'static str| CalibratedPrice { class, picoseconds, measured: true };
        CpuCalibration {
            prices: CPU_CLASSES.iter().map(price).collect(),
            held_out: HeldOutError { median, p90: 2.0 * median },
            ratios: Vec::new(),
        }
    }

    fn about(name: &str, processor: &str) -> About {
        let (name, processor, date) = (name.to_owned(), processor.to_owned(), "2026-11-28".to_owned());
        About { name, processor, kernel: "6.12".to_owned(), processors: 64, aes: false, date }
    }

    #[test]
    fn a_model_that_is_written_can_be_read() {
        for name in ["this-machine", "a \"quoted\" \\ name", "e\u{301}\u{1b}[2J", "\u{202e}x"] {
            let text = checked_model(&about(name, "Intel(R)\t\u{7}Xeon"), &calibration(0.12, 900)).unwrap();
            let read = CpuModel::read(&text, "mine.toml").unwrap();
            assert!(read.about.source.starts_with("Intel(R)Xeon; counts of"), "{}", read.about.source);
        }
        for (median, picoseconds) in [(3.0, 900), (f64::NAN, 900), (f64::INFINITY, 900), (0.1, u64::MAX)] {
            let error = checked_model(&about("mine", "Xeon"), &calibration(median, picoseconds)).unwrap_err();
            assert!(format!("{error:?}").contains("the calibration makes no processor model"), "{error:?}");
        }
    }
}
