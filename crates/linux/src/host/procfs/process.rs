//! `/proc/PID/stat`: processes with their start time, parent and CPU time.

use std::collections::BTreeMap;
use std::path::Path;

use rustix::process::Pid;

use crate::host::root::{ParserPosition, ReadError, Root, names_in};

/// The kernel keeps this many bytes of a process's name (proc_pid_comm(5)).
const NAME_LENGTH: usize = 15;

/// Position of the wait status, field 52 of proc_pid_stat(5), after the name; its lowest bits are the signal.
const EXIT_CODE: usize = 49;
const SIGNAL_BITS: i32 = 0x7f;

/// The parent of the kernel's own threads (`kernel/kthread.c`).
const KTHREADD: u32 = 2;

/// The status of a process. CPU time is in ticks, [`rustix::param::clock_ticks_per_second`] per second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: u32,
    pub parent: u32,
    /// Clock ticks between boot and its start.
    pub start: u64,
    /// Its name, cut off.
    pub name: String,
    /// Its state as a letter (proc_pid_stat(5)).
    pub state: char,
    /// The signal that ended it, once it is dead and before its parent has waited for it; none where this user may not see it.
    pub killed_by: Option<i32>,
    /// User and system ticks of its own, and of the children it has waited for.
    ticks: [u64; 4],
}

impl ProcessStat {
    /// That of the process `process` (`self`, or a number) that runs now.
    pub fn read(root: &Root, process: impl std::fmt::Display) -> Result<Self, ReadError> {
        let file = format!("proc/{process}/stat");
        Self::parse(&root.text(&file)?, &root.path(&file))
    }

    /// Reads the content of a `/proc/PID/stat`; `file` is named in errors.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ReadError> {
        let place = ParserPosition { file, line: 1 };
        // The name in parentheses may itself hold spaces and parentheses: the last one ends it.
        let parts =
            text.rsplit_once(')').and_then(|(before, fields)| Some((before.split_once('(')?, fields)));
        let Some(((pid, name), fields)) = parts else {
            return Err(place.malformed("the program's name", "in parentheses", text.trim_end()));
        };
        // proc_pid_stat(5) counts from 1; the state, its third field, comes first here.
        let mut words = fields.split_ascii_whitespace();
        let state = words.next();
        let parent = place.next_number("the parent", &mut words)?;
        let mut words = words.skip(9);
        let mut next = |item| place.next_number(item, &mut words);
        let ticks = [
            next("user time")?,
            next("system time")?,
            next("user time of children")?,
            next("system time of children")?,
        ];
        Ok(ProcessStat {
            pid: place.number("the process id", pid.trim())?,
            parent,
            start: place.next_number("the time of its start", &mut words.skip(4))?,
            name: name.to_owned(),
            state: state.and_then(|state| state.chars().next()).unwrap_or('?'),
            killed_by: fields
                .split_ascii_whitespace()
                .nth(EXIT_CODE)
                .and_then(|code| Some(code.parse::<i32>().ok()? & SIGNAL_BITS))
                .filter(|signal| *signal != 0),
            ticks,
        })
    }

    /// Whether it still runs; zombies do not.
    pub fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Ticks in user mode, of its own and of the children it has waited for.
    pub fn user_ticks(&self) -> u64 {
        self.ticks[0] + self.ticks[2]
    }

    /// Ticks, user and system, of its own and of the children it has waited for.
    pub(super) fn all_ticks(&self) -> u64 {
        self.ticks.iter().sum()
    }

    /// Ticks, user and system, of the children it has waited for.
    pub fn children_ticks(&self) -> u64 {
        self.ticks[2] + self.ticks[3]
    }
}

/// Ticks, user and system, of each thread of the kernel's own that there is, by its number and start.
pub fn kernel_threads(root: &Root) -> BTreeMap<(u32, u64), u64> {
    let stat = |name: &String| ProcessStat::read(root, name.parse::<u32>().ok()?).ok();
    let processes = names_in(&root.path("proc")).iter().filter_map(stat).collect::<Vec<_>>();
    let kernel_threads = processes.into_iter().filter(|process| process.parent == KTHREADD);
    kernel_threads
        .map(|process| ((process.pid, process.start), process.ticks[0] + process.ticks[1]))
        .collect()
}

/// Nanoseconds that each thread of the kernel's own has run, by its number and start; none where the kernel does not count them.
pub fn kernel_thread_times(root: &Root) -> BTreeMap<(u32, u64), u64> {
    let time = |(number, start): (u32, u64)| {
        let text = root.text(format!("proc/{number}/schedstat")).ok()?;
        Some(((number, start), text.split_ascii_whitespace().next()?.parse().ok()?))
    };
    kernel_threads(root).into_keys().filter_map(time).collect()
}

/// The process that traces another, if one does and its PID namespace shows it.
pub fn tracer_of(root: &Root, process: u32) -> Option<u32> {
    let status = root.text(format!("proc/{process}/status")).ok()?;
    let number = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
    number.trim().parse().ok().filter(|number| *number != 0)
}

/// Processes of this name that still run, in this PID namespace.
pub fn processes_named(root: &Root, name: &str) -> Vec<Pid> {
    let short = &name[..name.len().min(NAME_LENGTH)];
    names_in(&root.path("proc"))
        .iter()
        .filter_map(|entry| entry.parse::<i32>().ok())
        .filter(|number| {
            ProcessStat::read(root, number).is_ok_and(|process| process.name == short && process.runs())
        })
        .filter_map(Pid::from_raw)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{ProcessStat, processes_named};
    use crate::host::root::{Root, fake_root};

    const FIELDS: &str = "S 1 1 1 0 -1 0 1 2 3 4 11 12 13 14 20 0 1 0 500 1000 1";

    #[test]
    fn threads_of_the_kernel_are_told_from_programs() {
        let (_folder, root) = fake_root(&[
            ("proc/7/stat", "7 (kworker/0:1) I 2 0 0 0 -1 0 1 2 3 4 11 12 13 14 20 0 1 0 500 1000 1"),
            ("proc/8/stat", &format!("8 (rsync) {FIELDS}")),
            ("proc/7/schedstat", "2300000 70 9\n"),
            ("proc/8/schedstat", "4000 1 1\n"),
            ("proc/stat", "cpu 1"),
        ]);
        assert_eq!(super::kernel_threads(&root), [((7, 500), 23)].into());
        assert_eq!(super::kernel_thread_times(&root), [((7, 500), 2_300_000)].into());
    }

    fn parsed(line: &str) -> Result<ProcessStat, String> {
        ProcessStat::parse(line, Path::new("stat")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_hostile_name_does_not_move_the_fields() {
        let found = parsed(&format!("42 (a ) b (c) 1 2) {FIELDS}")).unwrap();
        assert_eq!((found.pid, found.parent, found.start, found.runs()), (42, 1, 500, true));
        assert_eq!((found.user_ticks(), found.children_ticks()), (11 + 13, 13 + 14));
        assert!(!parsed(&format!("42 (gone) {}", FIELDS.replacen('S', "Z", 1))).unwrap().runs());
    }

    #[test]
    fn malformed_names_the_item() {
        for (line, item) in [
            ("42", "the program's name should be in parentheses"),
            ("42 (a) S 1 1 1 0 -1 0 1 2 3 4 11 12", "user time of children should be a whole number"),
            ("x (a) S 1 1 1 0 -1 0 1 2 3 4 11 12 13 14 20 0 1 0 500", "the process id"),
        ] {
            let shown = parsed(line).unwrap_err();
            assert!(shown.contains(item), "{shown}");
        }
    }

    #[test]
    fn finds_running_processes_by_their_cut_name() {
        let stat = |pid: u32, name: &str, state: &str| {
            (format!("proc/{pid}/stat"), format!("{pid} ({name}) {}", FIELDS.replacen('S', state, 1)))
        };
        let files = [stat(7, "nilfs_cleanerd_", "S"), stat(8, "nilfs_cleanerd_", "Z"), stat(9, "other", "S")];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let (_folder, root) = fake_root(&files);
        let found = processes_named(&root, "nilfs_cleanerd_of_ours");
        assert_eq!(found.iter().map(|pid| pid.as_raw_nonzero().get()).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn this_process_is_understood() {
        let own = ProcessStat::read(&Root::default(), "self").unwrap();
        assert_eq!((own.pid, own.runs()), (std::process::id(), true));
    }
}
