//! The files of a trace of calls, as they are before its first call, laid out as a tree.

use fsverdict_calls::{CallTrace, NameBefore};

use super::tree::{Directory, EntryKind, Tree, TreeEntry};

/// A directory that is still to be laid out.
struct Pending {
    /// Its name's number in the trace.
    name: u32,
    /// The number of its directory in the tree.
    parent: u32,
    depth: u16,
}

/// `None` when the names exceed 4 GiB. The content of a file is identified by its number in the trace's state.
pub(super) fn tree_from_trace(trace: &CallTrace) -> Option<Tree> {
    let names = trace.names();
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); names.len() + 1];
    let mut files: Vec<Vec<(u32, u32, u64)>> = vec![Vec::new(); names.len() + 1];
    let mut identity = 0;
    for (number, name) in (1_u32..).zip(names) {
        match name.before {
            NameBefore::Nothing => {}
            NameBefore::Directory => below.get_mut(name.parent as usize)?.push(number),
            NameBefore::File(size) => {
                files.get_mut(name.parent as usize)?.push((number, identity, size));
                identity += 1;
            }
        }
    }
    let mut tree = Tree::default();
    let mut open = vec![Pending { name: 0, parent: 0, depth: 0 }];
    while let Some(Pending { name, parent, depth }) = open.pop() {
        let here = u32::try_from(tree.directories.len()).ok()?;
        let text = if name == 0 { String::new() } else { trace.name_text(name) };
        let own_name = tree.add_name(text.as_bytes())?;
        let first = u32::try_from(tree.entries.len()).ok()?;
        let files_here = files.get(name as usize)?;
        for (number, what, size) in files_here {
            let name = tree.add_name(trace.name_text(*number).as_bytes())?;
            tree.entries.push(TreeEntry {
                size: *size,
                name,
                what: *what,
                mode: 0o644,
                kind: EntryKind::File,
            });
        }
        let count = files_here.len() as u32;
        tree.directories.push(Directory { parent, name: own_name, first, count, depth, mode: 0o755 });
        let deeper = below.get(name as usize)?.iter().rev();
        open.extend(deeper.map(|number| Pending { name: *number, parent: here, depth: depth + 1 }));
    }
    Some(tree)
}
