//! What all have in common who look at devices that hold something else each time: to ask for what they hold next, and to open and
//! close what lies between them and the filesystem.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use super::act::OfLayer;
use super::agent::Agent;
use super::error::TrialError;
use super::stack::Stack;

/// Modelled devices that take on what they hold next whenever they are asked for their name, and answer with its number.
pub(super) struct ChangingDevices {
    /// The file of each one's name.
    serials: Vec<PathBuf>,
}

impl ChangingDevices {
    pub(super) fn of(stack: &Stack<'_>) -> ChangingDevices {
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
                .map_err(TrialError::io("ask the device for what it holds next"))?;
        }
        Ok(number.trim_end_matches(['\0', '\n']).parse().ok())
    }
}

impl Agent<'_> {
    /// Opens what lies below the filesystem, as at a start of the machine.
    pub(super) fn reopen_layers(&self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        self.spec.layer_places().try_for_each(|at| {
            stack.layer(at, OfLayer::Reopen)?;
            stack.layer(at, OfLayer::Mark)
        })
    }

    /// Closes it, as far as it was opened.
    pub(super) fn close_layers(&self, stack: &mut Stack<'_>) -> Result<(), TrialError> {
        let places = self.spec.layer_places().rev();
        places.map(|at| stack.layer(at, OfLayer::Close)).fold(Ok(()), Result::and)
    }
}
