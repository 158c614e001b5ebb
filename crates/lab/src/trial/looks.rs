//! Common to examinations of devices that present one content after another: requests the next content, and opens and
//! closes the layers between device and filesystem.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use super::act::OfLayer;
use super::agent::Agent;
use super::error::TrialError;
use super::stack::Stack;

/// Modelled devices that present their next content whenever their serial number is read, and answer with its number.
pub(super) struct ChangingDevices {
    /// The file of each device's serial number.
    serials: Vec<PathBuf>,
}

impl ChangingDevices {
    pub(super) fn for_stack(stack: &Stack<'_>) -> ChangingDevices {
        let block = |name| PathBuf::from("/sys/block").join(name).join("serial");
        ChangingDevices { serials: stack.device_names().into_iter().map(block).collect() }
    }

    /// Has each take on the next; the number, which is the same of all. None where there are no more.
    pub(super) fn next(&self) -> Result<Option<usize>, TrialError> {
        let mut number = String::new();
        for serial in &self.serials {
            number.clear();
            File::open(serial)
                .and_then(|mut file| file.read_to_string(&mut number))
                .map_err(TrialError::io_error("ask the device for what it holds next"))?;
        }
        Ok(number.trim_end_matches(['\0', '\n']).parse().ok())
    }
}

impl Agent<'_> {
    /// Opens the layers below the filesystem, as when the machine starts.
    pub(super) fn reopen_layers(&self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        self.spec.layer_places().try_for_each(|at| {
            stack.run_layer_act(at, OfLayer::Reopen)?;
            stack.run_layer_act(at, OfLayer::Mark)
        })
    }

    /// Closes it, as far as it was opened.
    pub(super) fn close_layers(&self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        let places = self.spec.layer_places().rev();
        places.map(|at| stack.run_layer_act(at, OfLayer::Close)).fold(Ok(()), Result::and)
    }
}
