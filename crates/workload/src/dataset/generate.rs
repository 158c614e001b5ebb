//! From a shape and a seed to a tree: directories, files in them, which are copies or links, sizes, names.
//!
//! Method: Impressions (Agrawal et al., FAST 2009). Files, directories and bytes come out as asked, exactly; the
//! distributions are those of the profile, stretched to fit.

use fsverdict_judgement::plan::TreeForm;

use super::form::{NameLengths, add_symlinks, entries_by_links, parents_by_depth, point_symlinks};
use super::names::Namer;
use super::profile::Profile;
use super::random::RandomStream;
use super::sizes::{LARGEST_SHARE, sample_of, scale_to};
use super::tree::{Directory, EntryKind, Tree, TreeEntry};

/// Offset of the inverse polynomial (of degree 2) that gives the files per directory.
pub(crate) const FILES_OFFSET: f64 = 2.36;
/// A further hard link is to one of this many files before it: links are mostly between neighbours.
const LINK_REACH: usize = 64;
const FILE_MODE: u16 = 0o644;
/// An entry of which nothing is known yet.
const BLANK: TreeEntry = TreeEntry { size: 0, name: 0, what: 0, mode: FILE_MODE, kind: EntryKind::File };
/// Permission bits of generated directories.
const DIRECTORY_MODE: u16 = 0o755;

/// The parameters of a generated tree, every default filled in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) profile: &'static Profile,
    pub(crate) files: u32,
    pub(crate) directories: u32,
    pub(crate) bytes: u64,
    pub(crate) duplicates: f64,
    pub(crate) hard_links: f64,
    /// Places of a distribution of sizes that takes the place of the profile's; empty where none does.
    pub(crate) sizes: &'a [u64],
    pub(crate) form: &'a TreeForm,
}

pub(crate) struct Generated {
    pub(crate) tree: Tree,
    /// How many files were cut to the largest size allowed.
    pub(crate) capped: usize,
}

/// Generates the tree, with names by a seed of their own; `None` when its names exceed 4 GiB.
pub(crate) fn generate_tree(shape: &Shape<'_>, seed: u64, name_seed: u64) -> Option<Generated> {
    let mut tree = Tree::default();
    add_directories(&mut tree, shape, &mut RandomStream::new(seed, "directories"))?;
    let symlinks = shape.form.symlinks_of(u64::from(shape.files));
    let names = u32::try_from(u64::from(shape.files) + symlinks).ok()?;
    let counts = files_per_directory(shape.directories, names, &mut RandomStream::new(seed, "files"));
    let mut first = 0;
    for (directory, count) in tree.directories.iter_mut().zip(&counts) {
        (directory.first, directory.count) = (first, *count);
        first += count;
    }
    add_entries(&mut tree, shape, &mut RandomStream::new(seed, "entries"));
    if symlinks > 0 {
        add_symlinks(&mut tree, symlinks, BLANK, &mut RandomStream::new(seed, "symlinks"));
    }
    let capped = set_sizes(&mut tree, shape, seed);
    let mut namer = Namer::new(name_seed);
    let mut lengths = NameLengths::from_form(shape.form, &tree, seed);
    name_directories(&mut tree, &mut namer, lengths.as_mut())?;
    name_entries(&mut tree, shape.profile.endings, &mut namer, lengths.as_mut())?;
    point_symlinks(&mut tree, shape.form, seed)?;
    Some(Generated { tree, capped })
}

/// One directory with `files` entries of `size` bytes each.
pub(crate) fn flat_tree(files: u32, size: u64, names: u64) -> Option<Tree> {
    let mut tree = Tree::default();
    let name = tree.add_name(b"")?;
    tree.directories.push(Directory {
        parent: 0,
        name,
        first: 0,
        count: files,
        depth: 0,
        mode: DIRECTORY_MODE,
    });
    tree.entries = (0..files).map(|what| TreeEntry { size, name, what, ..BLANK }).collect();
    name_entries(&mut tree, &[""], &mut Namer::new(names), None)?;
    Some(tree)
}

/// The parent of each directory by preferential attachment: a directory is chosen with probability ∝ subdirectories +
/// 2.
fn draw_parents(count: usize, stream: &mut RandomStream) -> Vec<u32> {
    let mut parents = vec![0u32; count];
    for new in 1..count {
        // Weights of the directories so far: two for each, and one for each of the new - 1 subdirectories.
        let ticket = stream.below(3 * new as u64 - 1) as usize;
        parents[new] = if ticket < 2 * new { (ticket / 2) as u32 } else { parents[ticket - 2 * new + 1] };
    }
    parents
}

/// Directories, which have no names yet.
fn add_directories(tree: &mut Tree, shape: &Shape<'_>, stream: &mut RandomStream) -> Option<()> {
    let count = shape.directories as usize;
    let parents = match shape.form.depths.as_slice() {
        [] => draw_parents(count, stream),
        depths => parents_by_depth(depths, count, stream),
    };
    // Depth-first order. Children are stored as linked lists: the first child and the next sibling.
    let (mut child, mut sibling) = (vec![0u32; count], vec![0u32; count]);
    for new in (1..count).rev() {
        let parent = parents[new] as usize;
        sibling[new] = child[parent];
        child[parent] = new as u32;
    }
    let empty = tree.add_name(b"")?;
    let root = Directory { parent: 0, name: empty, first: 0, count: 0, depth: 0, mode: DIRECTORY_MODE };
    tree.directories.reserve_exact(count);
    tree.directories.push(root);
    let mut open = vec![(0u32, child.first().copied().unwrap_or(0))]; // (number in the tree, next child to visit)
    while let Some((here, next)) = open.last_mut() {
        if *next == 0 {
            open.pop();
            continue;
        }
        let (parent, visit) = (*here, *next as usize);
        *next = sibling[visit];
        let number = tree.directories.len() as u32;
        let depth = open.len() as u16;
        tree.directories.push(Directory { parent, depth, ..root });
        open.push((number, child[visit]));
    }
    Some(())
}

/// How many of `files` are in each directory: an inverse polynomial of degree 2, stretched to fit.
pub(crate) fn files_per_directory(directories: u32, files: u32, stream: &mut RandomStream) -> Vec<u32> {
    let count = f64::from(directories);
    let mut weights: Vec<f64> = (0..directories)
        .map(|stratum| {
            let at = ((f64::from(stratum) + stream.unit()) / count).min(1.0 - 1.0 / (count + 1.0));
            FILES_OFFSET * at / (1.0 - at)
        })
        .collect();
    stream.shuffle(&mut weights);
    let total: f64 = weights.iter().sum();
    let (mut sum, mut given) = (0.0, 0);
    let last = weights.len() - 1;
    weights
        .iter()
        .enumerate()
        .map(|(at, weight)| {
            sum += weight;
            let until = libm::floor(sum / total * f64::from(files) + 0.5) as u32;
            let until = if at == last { files } else { until.min(files) };
            let here = until - given;
            given = until;
            here
        })
        .collect()
}

/// How many files of `files` are further hard links, and copies.
pub(crate) fn count_repeats(files: u32, duplicates: f64, hard_links: f64) -> (u32, u32) {
    let links = libm::round(f64::from(files) * hard_links) as u32;
    let copies = libm::round(f64::from(files) * duplicates) as u32;
    (links.min(files.saturating_sub(1)), copies.min(files.saturating_sub(1)))
}

/// Which files have a content of their own, which are copies of an earlier one, which are links to one.
fn add_entries(tree: &mut Tree, shape: &Shape<'_>, stream: &mut RandomStream) {
    let (mut links, mut copies) = count_repeats(shape.files, shape.duplicates, shape.hard_links);
    copies = copies.min(shape.files.saturating_sub(1).saturating_sub(links));
    if !shape.form.links.is_empty() {
        tree.entries = entries_by_links(&shape.form.links, shape.files, copies, BLANK, stream);
        return;
    }
    let mut originals: Vec<u32> = Vec::new();
    let mut linkable: Vec<u32> = Vec::new();
    tree.entries.reserve_exact(shape.files as usize);
    for number in 0..shape.files {
        let files_left = u64::from(shape.files - number);
        // Choosing exactly as many as asked, in one pass (Knuth, volume 2, algorithm 3.4.2 S).
        let ticket = if number == 0 { files_left } else { stream.below(files_left) };
        let (kind, what) = if ticket < u64::from(links) {
            links -= 1;
            let reach = linkable.len().min(LINK_REACH);
            let back = stream.below(reach as u64) as usize;
            (EntryKind::HardLink, linkable[linkable.len() - 1 - back])
        } else if ticket < u64::from(links + copies) {
            copies -= 1;
            linkable.push(number);
            (EntryKind::File, originals[stream.below(originals.len() as u64) as usize])
        } else {
            originals.push(number);
            linkable.push(number);
            (EntryKind::File, number)
        };
        if linkable.len() >= 4 * LINK_REACH {
            linkable.drain(..3 * LINK_REACH);
        }
        tree.entries.push(TreeEntry { what, kind, ..BLANK });
    }
}

/// Gives every original its size, every copy and link that of its original; returns how many were capped.
fn set_sizes(tree: &mut Tree, shape: &Shape<'_>, seed: u64) -> usize {
    let mut copies = vec![0u32; tree.entries.len()];
    for entry in tree.entries.iter().filter(|entry| entry.kind == EntryKind::File) {
        copies[entry.what as usize] += 1;
    }
    copies.retain(|copies| *copies > 0);
    let mut stream = RandomStream::new(seed, "sizes");
    let (mut raw, largest) = match shape.sizes {
        [] => (shape.profile.sizes.draw_sizes(copies.len(), &mut stream), LARGEST_SHARE),
        // A folder has the files that it has.
        places => (sample_of(places, copies.len(), &mut stream), 1.0),
    };
    stream.shuffle(&mut raw);
    let (sizes, capped) = scale_to(&raw, &copies, shape.bytes, largest);
    let mut sizes = sizes.into_iter();
    for number in 0..tree.entries.len() {
        let TreeEntry { what, kind, .. } = tree.entries[number];
        if kind == EntryKind::Symlink {
            continue;
        }
        let original = kind == EntryKind::File && what as usize == number;
        let size = if original { sizes.next().unwrap_or(0) } else { tree.entries[what as usize].size };
        tree.entries[number].size = size;
    }
    capped
}

fn name_directories(tree: &mut Tree, namer: &mut Namer, mut lengths: Option<&mut NameLengths>) -> Option<()> {
    for number in 1..tree.directories.len() {
        let length = lengths.as_mut().map(|lengths| lengths.next_of_directory());
        tree.directories[number].name = tree.add_name(namer.directory_name(number as u64, length))?;
    }
    Some(())
}

fn name_entries(
    tree: &mut Tree,
    endings: &[&str],
    namer: &mut Namer,
    mut lengths: Option<&mut NameLengths>,
) -> Option<()> {
    for at in 0..tree.directories.len() {
        let Directory { first, count, .. } = tree.directories[at];
        for place in 0..count {
            let number = first + place;
            let length = lengths.as_mut().map(|lengths| lengths.next());
            let name =
                tree.add_name(namer.file_name(u64::from(number), u64::from(place), endings, length))?;
            tree.entries[number as usize].name = name;
        }
    }
    Some(())
}
