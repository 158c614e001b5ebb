//! A process named so that no other process, later or elsewhere, is ever taken for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::procfs::ProcessStat;
use super::root::Root;

/// A process id with the moment that process started; ids are used again, the pair is not (until a reboot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Process id, in the PID namespace of /proc.
    pub pid: u32,
    /// Clock ticks between boot and the start of the process (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

impl ProcessKey {
    /// The key of this process; `None` without a readable /proc.
    pub fn current(root: &Root) -> Option<Self> {
        read_key(root, "self")
    }

    /// The key of the process that has this id now; `None` when there is none, or only its remains (a zombie).
    pub fn of(root: &Root, pid: u32) -> Option<Self> {
        read_key(root, pid)
    }

    /// Whether that very process still runs.
    pub fn is_alive(&self, root: &Root) -> bool {
        Self::of(root, self.pid) == Some(*self)
    }
}

/// `PID-START`: the form that goes into names of scratch files, dm devices and loop devices.
impl fmt::Display for ProcessKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.pid, self.start)
    }
}

/// A text that is not `PID-START`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not of the form PID-START")]
pub struct NotAProcessKey(String);

/// Reads `PID-START`, with or without more behind a further `-`.
impl FromStr for ProcessKey {
    type Err = NotAProcessKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let pid = parts.next().and_then(|part| part.parse().ok());
        let start = parts.next().and_then(|part| part.parse().ok());
        match (pid, start) {
            (Some(pid), Some(start)) => Ok(ProcessKey { pid, start }),
            _ => Err(NotAProcessKey(text.to_owned())),
        }
    }
}

fn read_key(root: &Root, process: impl fmt::Display) -> Option<ProcessKey> {
    let status = ProcessStat::read(root, process).ok().filter(ProcessStat::runs)?;
    Some(ProcessKey { pid: status.pid, start: status.start })
}

#[cfg(test)]
mod tests {
    use super::ProcessKey;
    use crate::host::root::Root;

    #[test]
    fn this_process_is_alive_and_an_earlier_one_with_its_id_is_not() {
        let root = Root::default();
        let key = ProcessKey::current(&root).unwrap();
        assert_eq!(key.pid, std::process::id());
        assert!(key.is_alive(&root));
        assert!(!ProcessKey { start: key.start.wrapping_sub(1), ..key }.is_alive(&root));
    }

    #[test]
    fn keys_survive_being_written_into_a_name() {
        let key = ProcessKey { pid: 12, start: 345 };
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!("12-345-0".parse(), Ok(key));
        assert!("luks".parse::<ProcessKey>().is_err());
    }
}
