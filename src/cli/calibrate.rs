//! `fsverdict calibrate`: measures a device by reading it, and by writing where it may be erased, and writes a model of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::study::{Permission, measure_device};
use fsverdict_disk::calibrate::{Grid, GridFindings, Raw, TimedDisk, Titled, calibrate_model, measure_grid};
use fsverdict_disk::device::{Model, built_in};
use fsverdict_folders::{Existing, write_output};
use fsverdict_judgement::plan::{ClockChoice, DeviceSource, LabChoice, Overrides, Plan};
use fsverdict_linux::host::block_device::BlockDevice;
use fsverdict_linux::host::limits::check_file_size_limit;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::root::Root;
use fsverdict_text::{Hinted, Reason, suggest};

use super::against;
use super::calibrate_cpu;
use super::consent::ask_identity;
use super::output::check_output;
use super::vocabulary::read_plan;
use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct CalibrateArguments {
    /// A device, or a file on it, which is only read; or model:NAME@SIZE, to measure a model from inside a guest
    #[arg(required_unless_present_any = ["against", "cpu"], conflicts_with_all = ["against", "cpu"])]
    device: Option<String>,
    #[command(flatten)]
    against: against::Against,
    /// Measure the processor instead: time of native work (root, some minutes) against counts of the same work in a guest
    #[arg(long, conflicts_with_all = ["against", "erase", "like"])]
    cpu: bool,
    /// Measure writes as well, which destroys the device's content: its identity, as the refusal prints it
    #[arg(long, value_name = "IDENTITY", num_args = 0..=1, default_missing_value = "")]
    erase: Option<String>,
    /// The model that supplies what measuring cannot show [default: chosen by the device's properties]
    #[arg(long, value_name = "MODEL")]
    like: Option<String>,
    /// The model's name [default: the device's name]
    #[arg(long)]
    name: Option<String>,
    /// Write a new file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

/// The device or file that is measured.
struct Target {
    /// Its name, for display.
    device: String,
    size: u64,
    like: &'static str,
    stem: String,
    found: GridFindings,
}

pub(super) fn run(arguments: &CalibrateArguments) -> Result<Exit, CliError> {
    if let Some(file) = &arguments.output {
        free(file, arguments.force)?;
    }
    if arguments.cpu {
        let model = calibrate_cpu::run(arguments.name.as_deref())?;
        return put(arguments, &model);
    }
    if let Some(trace) = &arguments.against.against {
        return against::run(&arguments.against, trace, arguments.output.as_deref());
    }
    check_file_size_limit(0).map_err(CliError::failed)?;
    let named = arguments.device.as_deref().unwrap_or_default();
    let given = arguments.like.as_deref().map(template).transpose()?;
    let Target { device, size, like, stem, found } = match named.starts_with("model:") {
        true => modelled(arguments, named)?,
        false => real(arguments, named)?,
    };
    let template = given.map_or_else(|| template(like), Ok)?;
    let called = arguments.name.as_deref().unwrap_or(&stem);
    let name: String =
        called.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let titled = Titled { name: &name, device: &device, date: &date };
    let calibrated = calibrate_model(&found, size, &titled, template).map_err(CliError::failed)?;
    for (section, key, number) in &calibrated.numbers {
        print_line(&format!("[{section}] {key} = {number}"));
    }
    for (section, key, value) in &calibrated.policies {
        print_line(&format!("[{section}] {key} = {value}"));
    }
    for (kind, error) in &calibrated.errors {
        print_line(&format!(
            "error on the half that was not used for fitting, {}: {:.1} %",
            kind.title(),
            error * 100.0
        ));
    }
    put(arguments, &calibrated.toml)
}

/// Writes a model to where it was asked for.
fn put(arguments: &CalibrateArguments, model: &str) -> Result<Exit, CliError> {
    match &arguments.output {
        Some(file) => write(file, model, arguments.force)?,
        None => result_writer().write_all(model.as_bytes())?,
    }
    Ok(Exit::Done)
}

/// Whether the model can be written there: said before a device is read for minutes.
fn free(file: &Path, force: bool) -> Result<(), CliError> {
    if force || file.symlink_metadata().is_err() { Ok(()) } else { Err(taken(file)) }
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), CliError> {
    check_output(file, &[])?;
    let existing = if force { Existing::Replace } else { Existing::Keep };
    write_output(file, existing, |out| out.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => taken(file),
        _ => CliError::Failed(error.reason().after(format!("cannot write {}: ", file.display()))),
    })
}

fn taken(file: &Path) -> CliError {
    CliError::usage(Reason::new(
        format!("{} is there already", file.display()),
        "name another file, or replace this one with --force",
    ))
}

/// The file of a built-in model.
fn template(like: &str) -> Result<&'static str, CliError> {
    let built_in_model = built_in().iter().find(|model| model.name == like);
    built_in_model.map(|model| model.toml).ok_or_else(|| {
        let known: Vec<&str> = built_in().iter().map(|model| model.name).collect();
        CliError::usage(Reason::new(format!("there is no model `{like}`"), suggest(like, &known)))
    })
}

/// A device of this machine's, read as it is, and written only as the guard lets it be.
fn real(arguments: &CalibrateArguments, named: &str) -> Result<Target, CliError> {
    let path = Path::new(named);
    let inspected = BlockDevice::inspect(&Root::default(), path).ok();
    let device = inspected.map_or_else(|| path.display().to_string(), |device| device.describe_for_people());
    let mut disk = Raw::open_device(path, false).map_err(|error| {
        let failure = format!("cannot open {}: {error}", path.display());
        let hint = match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "only root and members of the group `disk` may read a device"
            }
            _ => "name a block device as lsblk(8) lists it, or for a try a file: truncate -s 1G FILE",
        };
        CliError::failed(Reason::new(failure, hint))
    })?;
    let erased = if arguments.erase.is_some() { "then it is erased" } else { "it is not written to" };
    print_line(&format!("reading {device} about 6200 times; {erased}"));
    let mut measured = measure_grid(&mut disk, Grid::Reading).map_err(|error| {
        CliError::Failed(Reason::new(format!("cannot measure {device}: {error}"), too_small(&error)))
    })?;
    let size = disk.size_bytes();
    // No other process may have a device open that is about to be erased.
    drop(disk);
    if arguments.erase.is_some() {
        let path = path.canonicalize().map_err(CliError::failed)?;
        measured = measured.combine_with(in_trial(arguments, DeviceSource::Path(path), Grid::Writing)?);
    }
    let stem = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Target { device, size, like: likeness(path), stem, found: measured })
}

/// The hint about a disk that is too small for the grid.
fn too_small(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            "name a whole device, or for a try a larger file: truncate -s 1G FILE"
        }
        _ => "",
    }
}

/// A modelled device, measured in a guest by the guest's clock.
fn modelled(arguments: &CalibrateArguments, named: &str) -> Result<Target, CliError> {
    let source: DeviceSource = named.parse().map_err(CliError::usage)?;
    let DeviceSource::Model { name, size } = &source else {
        return Err(CliError::usage(format!("{source} is not a modelled device")));
    };
    let model = Model::find(name).map_err(CliError::usage)?;
    let (device, size) = (format!("the model {} v{}, {size}", model.name, model.version), size.0);
    print_line(&format!("measuring {device} in a guest, by the guest's clock"));
    let mut measured = in_trial(arguments, source.clone(), Grid::Reading)?;
    if arguments.erase.is_some() {
        measured = measured.combine_with(in_trial(arguments, source, Grid::Writing)?);
    }
    Ok(Target {
        device,
        size,
        like: model.nearest(),
        stem: format!("{}-measured", model.name),
        found: measured,
    })
}

/// Half of the grid as a trial: in a guest, or natively on a device that may be erased.
fn in_trial(
    arguments: &CalibrateArguments,
    source: DeviceSource,
    grid: Grid,
) -> Result<GridFindings, CliError> {
    let native = matches!(source, DeviceSource::Path(_));
    let mut plan: Plan = read_plan("quick", &Overrides::default())?;
    plan.lab = if native { LabChoice::Native } else { LabChoice::Uml };
    plan.clock = ClockChoice::Simulated;
    plan.device.source = source;
    plan.candidates.retain(|candidate| candidate.filesystem == "ext4");
    plan.candidates.truncate(1);
    plan.datasets.clear();
    plan.phases.clear();
    let identity: Vec<String> =
        arguments.erase.iter().filter(|identity| !identity.is_empty()).cloned().collect();
    measure_device(&plan, grid, &Permission { erase: &identity, ask: &ask_identity })
        .map_err(CliError::failed)
}

/// The nearest built-in model, by the kernel's name of the device and whether it rotates.
fn likeness(path: &Path) -> &'static str {
    let name =
        path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let name = name.unwrap_or_default();
    let turns = std::fs::read_to_string(format!("/sys/class/block/{name}/queue/rotational"));
    match turns.as_deref().map(str::trim) {
        Ok("1") => "hdd-7200",
        _ if name.starts_with("mmcblk") => "sd-card",
        _ if name.starts_with("nvme") => "nvme-ssd",
        _ => "sata-ssd",
    }
}
