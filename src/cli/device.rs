//! The disk of a run: made, or claimed from the user, who may have to say by its identity that it can be erased.

use std::io::{BufRead, IsTerminal};
use std::path::Path;

use crate::host::guard::{Refusal, examine};
use crate::host::image::scratch_folder;
use crate::host::root::Root;
use crate::host::talk::{self, say};
use crate::lab::Disk;
use crate::plan::{DeviceSource, Plan};

use super::CliError;

/// The disk for this plan. A device that bears something is asked for on a terminal.
pub(super) fn claim(plan: &Plan, erase: Option<&str>) -> Result<Disk, CliError> {
    match &plan.device.source {
        DeviceSource::Image(size) => {
            let folder =
                scratch_folder(plan.device.folder.as_deref()).map_err(|error| told(&error, error.hint()))?;
            // Found out now, not in the first trial: is there room, and may we write there?
            crate::host::image::create(&folder, size.0).map_err(|error| told(&error, error.hint()))?;
            Ok(Disk::Image { folder, size: size.0 })
        }
        DeviceSource::Path(path) => {
            let needed = smallest(plan);
            match cleared(path, needed, erase) {
                Err(refusal) => match ask(&refusal)? {
                    Some(typed) => {
                        cleared(path, needed, Some(&typed)).map_err(|refusal| told(&refusal, refusal.hint()))
                    }
                    None => Err(told(&refusal, refusal.hint())),
                },
                Ok(disk) => Ok(disk),
            }
        }
    }
}

fn cleared(path: &Path, needed: u64, erase: Option<&str>) -> Result<Disk, Refusal> {
    let cleared = examine(&Root::default(), path, needed, erase)?;
    let device = cleared.device();
    let mut facts = crate::journal::Facts::new();
    facts.insert("device.description".to_owned(), device.describe_for_people());
    if let Some(name) = cleared.identity().preferred() {
        facts.insert("device.identity".to_owned(), name.to_owned());
    }
    let cautions = cleared.cautions().to_vec();
    Ok(Disk::Device { ticket: cleared.into_ticket(), cautions, facts })
}

fn told(error: &dyn std::error::Error, hint: Option<String>) -> CliError {
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    CliError::Failed(format!("{error}{hint}"))
}

/// On a terminal, the identity that would lift the refusal may be typed instead of given as `--erase`.
fn ask(refusal: &Refusal) -> Result<Option<String>, CliError> {
    let Some(identity) = refusal.erase_identity() else { return Ok(None) };
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(None);
    }
    say(&refusal.to_string());
    talk::ask(&format!("To destroy everything on it, type its identity ({identity}): "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
}

/// What the most demanding filesystem of the plan needs, in bytes.
fn smallest(plan: &Plan) -> u64 {
    let of = |candidate: &crate::plan::Candidate| {
        let filesystem =
            crate::filesystem::find(&candidate.filesystem).map_or(0, |filesystem| filesystem.minimum_size);
        filesystem + crate::layer::find_encryption(&candidate.encryption).map_or(0, |layer| layer.header)
    };
    plan.candidates.iter().map(of).max().unwrap_or(0)
}
