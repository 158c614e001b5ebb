//! Open file descriptions, and the tables of descriptors that lead to them (open(2), "Open file descriptions").
//!
//! dup(2) and fork(2) make further descriptors of a description, which share its position; threads share a whole table.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use super::work_limit::CopyShare;

/// The limit of open file descriptions that are followed; files opened beyond it are not kept.
const MOST_FOLLOWED: usize = 200_000;

/// The kind of object that an open file description refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// A file of the folder, which the trace has open under this number.
    File { open: u32 },
    /// A directory in the folder; 0 is the folder itself.
    Directory { name: u32 },
    /// A file of the folder that the trace does not have, and why.
    Lost(&'static str),
    /// A file outside the folder, a socket, a pipe, or anything else.
    Elsewhere,
}

/// An open file description.
#[derive(Debug, Clone)]
pub(super) struct Description {
    pub(super) opened: Opened,
    /// Where it is, as far as is known.
    pub(super) path: Option<PathBuf>,
    pub(super) position: u64,
    /// Whether the position is where an append ended, which a later lseek may tell.
    pub(super) is_behind_append: bool,
    pub(super) appends: bool,
    /// Whether reads and writes go past the kernel's cache (O_DIRECT).
    pub(super) is_direct: bool,
    /// The place of its opening among the calls.
    pub(super) slot: Option<usize>,
    /// Whether nothing shows yet that it is a file and no directory.
    pub(super) may_be_directory: bool,
    /// Whether it was open before the recording.
    pub(super) is_unseen: bool,
    /// Descriptors and mappings that lead to it.
    users: usize,
}

impl Description {
    pub(super) fn new(opened: Opened, path: Option<PathBuf>) -> Self {
        Description {
            opened,
            path,
            position: 0,
            is_behind_append: false,
            appends: false,
            is_direct: false,
            slot: None,
            may_be_directory: false,
            is_unseen: false,
            users: 0,
        }
    }

    /// Whether one descriptor alone leads to it.
    pub(super) fn is_last(&self) -> bool {
        self.users <= 1
    }
}

pub(super) type DescriptionId = u32;

/// All descriptions.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    all: HashMap<DescriptionId, Description>,
    next: DescriptionId,
}

impl Descriptions {
    /// Follows a description that no descriptor leads to yet.
    pub(super) fn add_description(&mut self, description: Description) -> DescriptionId {
        self.next = self.next.wrapping_add(1);
        self.all.insert(self.next, description);
        self.next
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= MOST_FOLLOWED
    }

    pub(super) fn get(&self, id: DescriptionId) -> Option<&Description> {
        self.all.get(&id)
    }

    /// The object that a description refers to.
    pub(super) fn opened_by(&self, id: DescriptionId) -> Option<Opened> {
        self.all.get(&id).map(|description| description.opened)
    }

    pub(super) fn get_mut(&mut self, id: DescriptionId) -> Option<&mut Description> {
        self.all.get_mut(&id)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Description> {
        self.all.values_mut()
    }

    pub(super) fn add_reference(&mut self, id: DescriptionId) {
        if let Some(description) = self.all.get_mut(&id) {
            description.users += 1;
        }
    }

    /// One user is gone; gives whether it was the last.
    pub(super) fn drop_reference(&mut self, id: DescriptionId) -> bool {
        let Some(description) = self.all.get_mut(&id) else { return false };
        description.users = description.users.saturating_sub(1);
        description.users == 0
    }

    /// Forgets a description to which nothing leads.
    pub(super) fn remove_description(&mut self, id: DescriptionId) {
        self.all.remove(&id);
    }
}

/// The object that a descriptor refers to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptor {
    pub(super) description: DescriptionId,
    pub(super) closes_on_exec: bool,
}

/// A table of descriptors, which threads share.
#[derive(Debug, Default)]
pub(super) struct DescriptorTable {
    /// Processes and threads that have it.
    pub(super) users: usize,
    pub(super) descriptors: HashMap<i32, Descriptor>,
    /// Paths of files by the numbers that a process closed which is only taken for a thread.
    pub(super) closed_by_adopted: HashMap<i32, PathBuf>,
    /// The share of the limit that it uses if it is a copy.
    pub(super) copies: Option<Rc<CopyShare>>,
}

pub(super) type TableHandle = Rc<RefCell<DescriptorTable>>;

impl DescriptorTable {
    /// A copy as fork(2) makes it: its descriptors lead to the same descriptions.
    pub(super) fn copy_table(&self, descriptions: &mut Descriptions) -> DescriptorTable {
        for descriptor in self.descriptors.values() {
            descriptions.add_reference(descriptor.description);
        }
        DescriptorTable { descriptors: self.descriptors.clone(), ..DescriptorTable::default() }
    }
}
