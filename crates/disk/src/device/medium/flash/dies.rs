//! Flash dies and the channels that they share: each performs one operation at a time, in the order of requests.

use super::parameters;

/// The times from which on each die and each channel is free.
#[derive(Debug)]
pub(super) struct Dies {
    parameters: parameters::FlashParameters,
    dies: Vec<u64>,
    channels: Vec<u64>,
    /// The page that each die read last, and still has in its register.
    registers: Vec<Option<u64>>,
}

impl Dies {
    pub(super) fn new(parameters: parameters::FlashParameters) -> Dies {
        let count = parameters.channels * parameters.dies_per_channel;
        Dies {
            parameters,
            dies: vec![0; count],
            channels: vec![0; parameters.channels],
            registers: vec![None; count],
        }
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

    fn die_of(&self, page: u64) -> usize {
        (page % self.dies.len() as u64) as usize
    }

    /// Occupies a die for this time; returns the time at which it is free again.
    fn occupy_die(&mut self, die: usize, at_ns: u64, took_ns: u64) -> u64 {
        self.dies[die] = at_ns.max(self.dies[die]) + took_ns;
        self.dies[die]
    }

    /// Reads a page, whose cells take `cells_ns`, and transfers `bytes` of it; returns the time at which they have
    /// arrived. A copy stays within the die and transfers nothing. A page that is still in the register of its die
    /// need not be read from its cells.
    pub(super) fn read_page(&mut self, page: u64, at_ns: u64, bytes: u64, cells_ns: u64) -> u64 {
        let die = self.die_of(page);
        let in_register = self.parameters.page_registers && self.registers[die] == Some(page);
        let read_ns = self.occupy_die(die, at_ns, if in_register { 0 } else { cells_ns });
        self.registers[die] = Some(page);
        if bytes == 0 { read_ns } else { self.transfer_bytes(die, read_ns, bytes) }
    }

    /// Programs a page, whose cells take `cells_ns`; returns the time at which that is done.
    pub(super) fn program(&mut self, page: u64, at_ns: u64, cells_ns: u64) -> u64 {
        let die = self.die_of(page);
        let sent_ns = self.transfer_bytes(die, at_ns, self.parameters.page_bytes);
        self.registers[die] = None;
        self.occupy_die(die, sent_ns, cells_ns)
    }

    /// Copies a page within its die, which takes `cells_ns`.
    pub(super) fn copy_page(&mut self, page: u64, at_ns: u64, cells_ns: u64) {
        let die = self.die_of(page);
        self.registers[die] = None;
        self.occupy_die(die, at_ns, cells_ns);
    }

    /// Erases one block of every die.
    pub(super) fn erase(&mut self, at_ns: u64) {
        self.registers.fill(None);
        for free_ns in &mut self.dies {
            *free_ns = at_ns.max(*free_ns) + self.parameters.erase_ns;
        }
    }
}
