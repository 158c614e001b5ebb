//! Models the link between host and device: one transfer at a time in each direction, or in both directions together.

use super::parameters;

/// A link, and the times from which on each of its directions is free.
#[derive(Debug)]
pub(super) struct HostLink {
    parameters: parameters::LinkParameters,
    out_free_ns: u64,
    in_free_ns: u64,
}

impl HostLink {
    pub(super) fn new(parameters: parameters::LinkParameters) -> HostLink {
        HostLink { parameters, out_free_ns: 0, in_free_ns: 0 }
    }

    fn transfer_ns(&self, sectors: u64) -> u64 {
        (sectors as f64 * 512.0 * self.parameters.byte_ns) as u64
    }

    /// Sends a command and the data of a write; returns the times at which the device has the command, and all of the
    /// data.
    pub(super) fn send_command(&mut self, now_ns: u64, sectors_out: u64) -> (u64, u64) {
        let begin = now_ns.max(self.out_free_ns) + self.parameters.command_ns;
        let end = begin + self.transfer_ns(sectors_out);
        self.out_free_ns = end;
        if !self.parameters.full_duplex {
            self.in_free_ns = self.in_free_ns.max(end);
        }
        (begin, end)
    }

    /// Sends the data of a read, which the medium delivers from `begin_ns` to `now_ns`: it is sent while it is read,
    /// and arrives no earlier than its last byte is read. Returns the time at which the host has all of it.
    pub(super) fn send_answer(&mut self, begin_ns: u64, now_ns: u64, sectors: u64) -> u64 {
        let begin = begin_ns.max(self.in_free_ns);
        let end = (begin + self.transfer_ns(sectors)).max(now_ns);
        self.in_free_ns = end;
        if !self.parameters.full_duplex {
            self.out_free_ns = self.out_free_ns.max(end);
        }
        end
    }

    /// Time that an operation waits in the device without occupying the link.
    pub(super) fn latency_ns(&self, write: bool) -> u64 {
        if write { self.parameters.write_ns } else { self.parameters.read_ns }
    }
}
