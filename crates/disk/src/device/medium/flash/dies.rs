//! Flash dies and the channels that they share: each performs one operation at a time, in the order of requests.

use super::parameters;

/// The times from which on each die and each channel is free.
#[derive(Debug)]
pub(super) struct Dies {
    parameters: parameters::FlashParameters,
    dies: Vec<u64>,
    channels: Vec<u64>,
}

impl Dies {
    pub(super) fn new(parameters: parameters::FlashParameters) -> Dies {
        let dies = vec![0; parameters.channels * parameters.dies_per_channel];
        Dies { parameters, dies, channels: vec![0; parameters.channels] }
    }

    pub(super) fn die_count(&self) -> usize {
        self.dies.len()
    }

    /// Transfers bytes between a die and its channel; returns the time at which that is done.
    fn transfer_bytes(&mut self, die: usize, at_ns: u64, bytes: u64) -> u64 {
        let count = self.channels.len();
        let free_ns = &mut self.channels[die % count];
        *free_ns = at_ns.max(*free_ns) + (bytes as f64 * self.parameters.channel_byte_ns) as u64;
        *free_ns
    }

    /// Reads a page and transfers `bytes` of it; returns the time at which they have arrived. A copy stays within the
    /// die and transfers nothing.
    pub(super) fn read_page(&mut self, page: u64, at_ns: u64, bytes: u64) -> u64 {
        let die = (page % self.dies.len() as u64) as usize;
        let read_ns = at_ns.max(self.dies[die]) + self.parameters.read_ns;
        self.dies[die] = read_ns;
        if bytes == 0 { read_ns } else { self.transfer_bytes(die, read_ns, bytes) }
    }

    /// Programs a page; returns the time at which that is done.
    pub(super) fn program(&mut self, page: u64, at_ns: u64) -> u64 {
        let die = (page % self.dies.len() as u64) as usize;
        let sent_ns = self.transfer_bytes(die, at_ns, self.parameters.page_bytes);
        self.dies[die] = sent_ns.max(self.dies[die]) + self.parameters.program_ns;
        self.dies[die]
    }

    /// Erases one block of every die.
    pub(super) fn erase(&mut self, at_ns: u64) {
        for free_ns in &mut self.dies {
            *free_ns = at_ns.max(*free_ns) + self.parameters.erase_ns;
        }
    }
}
