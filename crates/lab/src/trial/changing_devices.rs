//! Common to examinations of devices that present one content after another: requests the next content, opens and closes
//! the layers between device and filesystem, and waits until the kernel's log takes all messages again.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use super::act::OfLayer;
use super::agent::Agent;
use super::error::TrialError;
use super::stack::Stack;

/// The kernel leaves out messages of which it has logged too many in five seconds: the same one more than ten times
/// (include/linux/ratelimit_types.h), and more than 100 of one level from btrfs (`printk_limits` in fs/btrfs/messages.c).
const LOG_INTERVAL: Duration = Duration::from_secs(6);
/// In real time, where waiting takes time, more messages than this are waited for.
const MANY_MESSAGES: usize = 50;

/// Waits before each content of a device, so that no message about it is left out on account of those before: which
/// messages there are decides the findings, and is not to depend on the states that the guest has examined until then.
pub(super) struct LogPauses {
    waits_freely: bool,
    /// How many messages had been read at the last pause.
    paused_at: usize,
}

impl LogPauses {
    /// `waits_freely`: waiting takes no time of this machine's, because time is simulated.
    pub(super) const fn new(waits_freely: bool) -> LogPauses {
        LogPauses { waits_freely, paused_at: 0 }
    }

    /// Waits if messages could be left out from now on.
    pub(super) fn wait(&mut self, stack: &Stack<'_>) {
        let messages = stack.count_messages();
        if self.is_needed(messages) {
            self.paused_at = messages;
            std::thread::sleep(LOG_INTERVAL);
        }
    }

    fn is_needed(&self, messages: usize) -> bool {
        self.waits_freely || messages > self.paused_at + MANY_MESSAGES
    }
}

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

#[cfg(test)]
mod tests {
    use super::{LogPauses, MANY_MESSAGES};

    /// Messages of btrfs about a replay were left out after a dozen states, which then counted as unharmed.
    #[test]
    fn the_kernels_log_is_waited_for_before_each_state_or_where_that_takes_time_after_many_messages() {
        assert!(LogPauses::new(true).is_needed(0));
        let pauses = LogPauses { paused_at: 7, ..LogPauses::new(false) };
        assert!(!pauses.is_needed(7 + MANY_MESSAGES) && pauses.is_needed(8 + MANY_MESSAGES));
    }
}
