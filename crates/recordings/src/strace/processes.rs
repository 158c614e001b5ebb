//! The processes and threads of a recording: which descriptors, working directory and memory each has, which of these they share, and
//! how much work a recording may cause.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use super::descriptors::{DescriptionId, Descriptions, DescriptorTable, TableHandle};
use super::work_limit::CopyShare;

/// Processes that are followed at once.
const MOST_PROCESSES: usize = 50_000;

/// Processes above one that are asked for a descriptor.
const MOST_MAKERS: usize = 32;

/// Where relative paths begin (CLONE_FS).
#[derive(Debug, Clone, Default)]
pub(super) struct WorkingDirectory {
    /// None where the recording does not say.
    pub(super) path: Option<PathBuf>,
    /// Where absolute paths begin, after chroot(2).
    pub(super) root: Option<PathBuf>,
}

/// A shared mapping of a file in the folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileMapping {
    pub(super) end: u64,
    pub(super) description: DescriptionId,
}

/// Mappings by their first address (CLONE_VM).
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessMemory {
    pub(super) mappings: BTreeMap<u64, FileMapping>,
    /// Whether the recording shows all mappings: the program was started in it.
    pub(super) complete: bool,
    /// The share of the limit that it uses if it is a copy; its process's table has the same.
    copies: Option<Rc<CopyShare>>,
}

/// A process or thread.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) table: TableHandle,
    pub(super) directory: Rc<RefCell<WorkingDirectory>>,
    pub(super) memory: Rc<RefCell<ProcessMemory>>,
    /// Whether it is only taken for a thread of another one: the recording lacks its start.
    pub(super) adopted: bool,
    /// The process that made it, as the recording shows.
    pub(super) maker: Option<u32>,
}

impl Process {
    /// A process of which nothing is known.
    pub(super) fn new() -> Self {
        Process {
            table: Rc::new(RefCell::new(DescriptorTable { users: 1, ..DescriptorTable::default() })),
            directory: Rc::default(),
            memory: Rc::default(),
            adopted: false,
            maker: None,
        }
    }
}

/// The resources that a new process shares with its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SharedParts {
    pub(super) files: bool,
    pub(super) directory: bool,
    pub(super) memory: bool,
}

/// All processes by their numbers.
#[derive(Debug, Default)]
pub(super) struct Processes {
    all: BTreeMap<u32, Process>,
    /// The process of the latest line: it provides defaults for unknown state.
    last: Option<u32>,
}

impl Processes {
    pub(super) fn get(&self, number: u32) -> Option<&Process> {
        self.all.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Process> {
        self.all.get_mut(&number)
    }

    pub(super) fn set_table(&mut self, number: u32, table: TableHandle) {
        if let Some(process) = self.all.get_mut(&number) {
            (process.table, process.adopted) = (table, false);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.all.contains_key(&number)
    }

    pub(super) fn note_active(&mut self, number: u32) {
        self.last = Some(number);
    }

    /// Whether a process is only taken for a thread of another one.
    pub(super) fn is_adopted(&self, number: u32) -> bool {
        self.all.get(&number).is_some_and(|process| process.adopted)
    }

    /// The table of a process that is followed.
    pub(super) fn table_of(&self, number: u32) -> Option<TableHandle> {
        self.all.get(&number).map(|process| Rc::clone(&process.table))
    }

    /// Tables of the processes that made this one, the nearest first.
    pub(super) fn tables_of_makers(&self, number: u32) -> Vec<TableHandle> {
        let maker_of = |number: u32| self.all.get(&number).and_then(|process| process.maker);
        std::iter::successors(maker_of(number), |maker| maker_of(*maker))
            .take(MOST_MAKERS)
            .map_while(|maker| self.table_of(maker))
            .collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Process> {
        self.all.values()
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The assumed parent of an unknown process: the process of the latest line.
    fn likely_parent(&self) -> Option<&Process> {
        self.last.and_then(|last| self.all.get(&last)).or_else(|| self.all.values().next())
    }

    /// Follows a process without a recorded start: strace -p shows all threads of a process so, and it is taken for
    /// a thread of the process of the latest line.
    pub(super) fn adopt_process(&mut self, number: u32) {
        if self.is_full() {
            return;
        }
        let process = match self.likely_parent().cloned() {
            Some(parent) => {
                parent.table.borrow_mut().users += 1;
                Process { adopted: true, ..parent }
            }
            None => Process::new(),
        };
        self.all.insert(number, process);
    }

    /// Follows a process that another one made. A process of the same number that is followed still must be removed before.
    pub(super) fn add_child(
        &mut self,
        maker: u32,
        parent: &Process,
        child: u32,
        shared: SharedParts,
        share: CopyShare,
        descriptions: &mut Descriptions,
    ) {
        if self.is_full() {
            return;
        }
        let share = Rc::new(share);
        let table = if shared.files {
            parent.table.borrow_mut().users += 1;
            Rc::clone(&parent.table)
        } else {
            let mut copy = parent.table.borrow().copy_table(descriptions);
            (copy.users, copy.copies) = (1, Some(Rc::clone(&share)));
            Rc::new(RefCell::new(copy))
        };
        let directory = match shared.directory {
            true => Rc::clone(&parent.directory),
            false => Rc::new(RefCell::new(parent.directory.borrow().clone())),
        };
        let memory = if shared.memory {
            Rc::clone(&parent.memory)
        } else {
            let mut copy = parent.memory.borrow().clone();
            copy.copies = Some(share);
            copy.mappings.values().for_each(|mapping| descriptions.add_reference(mapping.description));
            Rc::new(RefCell::new(copy))
        };
        self.all.insert(child, Process { table, directory, memory, adopted: false, maker: Some(maker) });
    }

    fn is_full(&self) -> bool {
        self.all.len() >= MOST_PROCESSES
    }

    pub(super) fn remove_process(&mut self, number: u32) -> Option<Process> {
        if self.last == Some(number) {
            self.last = None;
        }
        self.all.remove(&number)
    }

    pub(super) fn renumber_process(&mut self, from: u32, to: u32) {
        if let Some(process) = self.all.remove(&from) {
            self.all.insert(to, process);
        }
    }
}
