//! `fsverdict calibrate`: measures a device by reading, and writes a model of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::calibrate::{Raw, calibrate};
use crate::device::built_in;
use crate::host::block_device::BlockDevice;
use crate::host::root::Root;
use crate::host::talk::say;
use crate::plan::suggest;

use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The device, or a file on it; it is only read
    device: PathBuf,
    /// The model whose numbers stand where reading shows none [default: by what the kernel says of the device]
    #[arg(long, value_name = "MODEL")]
    like: Option<String>,
    /// What the model is called [default: the device's name]
    #[arg(long)]
    name: Option<String>,
    /// Into this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let path = &arguments.device;
    let inspected = BlockDevice::inspect(&Root::default(), path).ok();
    let like = arguments.like.as_deref().unwrap_or_else(|| likeness(path));
    let template = built_in().iter().find(|model| model.name == like).ok_or_else(|| {
        let known: Vec<&str> = built_in().iter().map(|model| model.name).collect();
        CliError::Usage(format!("there is no model `{like}`\nhint: {}", suggest(like, &known)))
    })?;
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let given = arguments.name.as_deref().unwrap_or(&stem);
    let name: String =
        given.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let device = inspected.map_or_else(|| path.display().to_string(), |device| device.describe_for_people());
    let mut disk = Raw::open(path).map_err(|error| {
        CliError::failed(format!(
            "cannot open {}: {error}\nhint: a device is read as root, or by the group `disk`",
            path.display()
        ))
    })?;
    say(&format!("reading {device}, some 5700 times; it is not written to"));
    let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let found = calibrate(&mut disk, (&device, &name, &date), template.toml).map_err(CliError::failed)?;
    for (section, key, number) in &found.numbers {
        say(&format!("[{section}] {key} = {number}"));
    }
    for (kind, error) in found.errors {
        say(&format!("error on the half it was not fitted to, {kind}: {:.1} %", error * 100.0));
    }
    match &arguments.output {
        Some(file) => std::fs::write(file, &found.toml).map_err(CliError::failed)?,
        None => anstream::stdout().lock().write_all(found.toml.as_bytes())?,
    }
    Ok(Exit::Done)
}

/// The built-in model that is nearest, by what the kernel calls the device and whether it turns.
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
