//! `/proc/stat`: CPU time of the machine.
//!
//! It counts in ticks, [`rustix::param::clock_ticks_per_second`] to the second. In User-Mode Linux nearly
//! everything is booked as user time: only sums of fields mean something there.

use std::path::Path;

use crate::host::root::{ParserPosition, ReadError, Root};

/// CPU time of all processors together since the machine started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// User mode (including guests).
    pub user: u64,
    /// User mode at low priority.
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    /// Idle with outstanding I/O.
    pub io_wait: u64,
    pub interrupt: u64,
    /// Serving deferred interrupt work.
    pub soft_interrupt: u64,
    /// Wanted by us, given to other guests by the hypervisor.
    pub steal: u64,
}

impl CpuTimes {
    /// Reads the first line of a `/proc/stat`; `file` is named in errors.
    pub fn parse(text: &str, file: &Path) -> Result<CpuTimes, ReadError> {
        let place = ParserPosition { file, line: 1 };
        let line = text.lines().next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("cpu") {
            return Err(place.malformed("the sum over all processors", "a line that begins with cpu", line));
        }
        let mut next = |item| place.next_number(item, &mut words);
        Ok(CpuTimes {
            user: next("user time")?,
            nice: next("nice time")?,
            system: next("system time")?,
            idle: next("idle time")?,
            io_wait: next("I/O wait time")?,
            interrupt: next("interrupt time")?,
            soft_interrupt: next("soft interrupt time")?,
            steal: next("steal time")?,
        })
    }

    /// Ticks in which a processor worked for this machine.
    pub fn busy_ticks(&self) -> u64 {
        self.user + self.nice + self.system + self.interrupt + self.soft_interrupt
    }
}

pub fn cpu_times(root: &Root) -> Result<CpuTimes, ReadError> {
    CpuTimes::parse(&root.text("proc/stat")?, &root.path("proc/stat"))
}

pub fn cpu_count(root: &Root) -> Result<usize, ReadError> {
    let text = root.text("proc/stat")?;
    let numbered = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    match text.lines().filter(numbered).count() {
        0 => {
            Err(ParserPosition { file: &root.path("proc/stat"), line: 1 }
                .missing("a line for each processor"))
        }
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuTimes, cpu_count, cpu_times};
    use crate::host::root::{ReadError, Root, fake_root};

    const STAT: &str = "cpu  100 20 30 4000 50 6 7 8 90 0\ncpu0 50 10 15 2000 25 3 3 4 0 0\ncpu1 50 10 15 2000 25 3 4 4 0 0\nintr 12 3\n";

    #[test]
    fn reads_times_and_counts_processors() {
        let (_folder, root) = fake_root(&[("proc/stat", STAT)]);
        let times = cpu_times(&root).unwrap();
        assert_eq!(
            times,
            CpuTimes {
                user: 100,
                nice: 20,
                system: 30,
                idle: 4000,
                io_wait: 50,
                interrupt: 6,
                soft_interrupt: 7,
                steal: 8
            }
        );
        assert_eq!(times.busy_ticks(), 163, "neither idle nor stolen nor guest time (already in user)");
        assert_eq!(cpu_count(&root).unwrap(), 2);
    }

    #[test]
    fn malformed_names_line_item_type_and_file() {
        let (_folder, root) = fake_root(&[("proc/stat", "cpu  100 twenty 30\n")]);
        let shown = cpu_times(&root).unwrap_err().to_string();
        assert!(
            shown.contains("proc/stat, line 1: nice time should be a whole number, but it is \"twenty\""),
            "{shown}"
        );
        assert!(matches!(cpu_count(&root), Err(ReadError::Missing { .. })));
        let (_folder, root) = fake_root(&[("proc/stat", "intr 1\n")]);
        assert!(cpu_times(&root).unwrap_err().to_string().contains("begins with cpu"));
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        assert!(cpu_times(&root).unwrap().busy_ticks() > 0);
        assert!(cpu_count(&root).unwrap() > 0);
    }
}
