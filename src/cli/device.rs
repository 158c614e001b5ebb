//! The user's consent to erase a device. On a terminal, the identity that lifts the guard's refusal may be typed
//! instead of given as `--erase`.

use std::io::{BufRead, IsTerminal};

use fsverdict_judgement::plan::DeviceSource;
use fsverdict_linux::guard::Refusal;
use fsverdict_linux::host::talk;
use fsverdict_linux::host::talk::print_line;
use fsverdict_text::Reason;

use super::CliError;

/// Refuses `--erase` without a block device: the user means a device, and would take the results for that device's.
pub(super) fn check_erase_option(erase: &[String], source: &DeviceSource) -> Result<(), CliError> {
    match source {
        DeviceSource::Path(_) => Ok(()),
        _ if erase.is_empty() => Ok(()),
        other => Err(CliError::Usage(Reason::new(
            format!("--erase applies to block devices only, and this run uses none: {other}"),
            "name the block device with --device PATH, or leave --erase out",
        ))),
    }
}

/// Asks for the identity; `None` if there is no terminal, or no input.
pub(super) fn ask_identity(refusal: &Refusal) -> Option<String> {
    let identity = refusal.erase_identity()?;
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    print_line(&refusal.to_string());
    talk::print_prompt(&format!("To destroy everything on it, type its identity ({identity}): "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}
