//! Gives a generated tree the form of a real folder: depths of directories, lengths of names, hard links per file and
//! targets of symbolic links. Each is a list of weights, so that it applies to a tree of any size.

use fsverdict_judgement::plan::TreeForm;

use super::random::RandomStream;
use super::tree::{EntryKind, Tree, TreeEntry};

/// Names are counted by tens of bytes.
pub(crate) const TEN: usize = 10;
/// The longest name that every filesystem takes.
const LONGEST_NAME: usize = 255;
/// The maximum length of a path's names together, well below Linux's limit.
const LONGEST_PATH: usize = 2800;
/// A further name of a file comes after one of so many files behind it: links are mostly between neighbours.
const LINK_REACH: u64 = 64;

/// Divides a total in proportion to weights, rounded to whole numbers that add up to it exactly.
fn apportion(weights: &[u64], total: u64) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let (mut heard, mut given) = (0_u128, 0);
    let share = |weight: &u64| {
        heard += u128::from(*weight);
        let until = if sum == 0 { 0 } else { ((heard * u128::from(total) * 2 + sum) / (2 * sum)) as u64 };
        let here = until - given;
        given = until;
        here
    };
    weights.iter().map(share).collect()
}

/// The directory above each, the root first, by depths that are as the weights say. Within a depth a directory gets the next one with
/// probability ∝ subdirectories + 2.
pub(super) fn parents_by_depth(depths: &[u64], count: usize, stream: &mut RandomStream) -> Vec<u32> {
    let mut parents = vec![0_u32; count];
    let (mut above, mut new) = (vec![0_u32], 1);
    let below_root = depths.get(1..).unwrap_or_default();
    let mut wanted = apportion(below_root, count.saturating_sub(1) as u64);
    if below_root.iter().all(|weight| *weight == 0) {
        wanted = vec![count.saturating_sub(1) as u64];
    }
    // A depth that has no directory in a small tree is skipped: its subdirectories go below the level above.
    for here in wanted.into_iter().filter(|here| *here > 0) {
        let mut tickets: Vec<u32> = above.iter().flat_map(|directory| [*directory; 2]).collect();
        let first = new;
        for parent in parents.iter_mut().skip(first).take(here as usize) {
            *parent = tickets[stream.below(tickets.len() as u64) as usize];
            tickets.push(*parent);
            new += 1;
        }
        above = (first as u32..new as u32).collect();
    }
    parents
}

/// Lengths that names are to have, one after the other.
pub(super) struct NameLengths {
    lengths: Vec<u8>,
    /// Bytes of a directory's name at most.
    longest_directory: usize,
}

impl NameLengths {
    /// None where the form says nothing of names.
    pub(super) fn from_form(form: &TreeForm, tree: &Tree, seed: u64) -> Option<Self> {
        if form.name_lengths.is_empty() {
            return None;
        }
        let mut stream = RandomStream::new(seed, "name lengths");
        let names = tree.directories.len().saturating_sub(1) + tree.entries.len();
        let mut lengths = draw_lengths(&form.name_lengths, names as u64, LONGEST_NAME, &mut stream);
        stream.shuffle(&mut lengths);
        let deepest = tree.directories.iter().map(|directory| directory.depth).max().unwrap_or(0);
        let lengths = lengths.into_iter().map(|length| length.min(LONGEST_NAME) as u8).collect();
        Some(Self { lengths, longest_directory: LONGEST_PATH / usize::from(deepest.max(1)) })
    }

    pub(super) fn next(&mut self) -> usize {
        self.lengths.pop().map_or(TEN, usize::from)
    }

    /// Keeps paths within Linux's limit.
    pub(super) fn next_of_directory(&mut self) -> usize {
        self.next().min(self.longest_directory)
    }
}

/// So many lengths, of which as many lie in each ten as the weights say.
fn draw_lengths(weights: &[u64], count: u64, longest: usize, stream: &mut RandomStream) -> Vec<usize> {
    let mut lengths = Vec::new();
    for (ten, here) in apportion(weights, count).into_iter().enumerate() {
        let (first, last) = (ten * TEN + 1, ((ten + 1) * TEN).min(longest));
        let among = (last.saturating_sub(first) + 1) as u64;
        lengths.extend((0..here).map(|_| first + stream.below(among) as usize));
    }
    lengths
}

/// How many names each distinct file has, so that all together are `names`.
fn draw_link_counts(links: &[u64], names: u32, stream: &mut RandomStream) -> Vec<u32> {
    let share = TreeForm::further_names(links);
    let distinct = libm::round(f64::from(names) * (1.0 - share)).clamp(1.0, f64::from(names)) as u64;
    let mut of_each: Vec<u32> = Vec::new();
    for (further, count) in apportion(links, distinct).into_iter().enumerate() {
        of_each.extend((0..count).map(|_| further as u32 + 1));
    }
    // Rounding may leave names over: these become files of one name; an excess is taken from the files with most names.
    let total = |of_each: &[u32]| of_each.iter().map(|names| u64::from(*names)).sum::<u64>();
    let mut over = total(&of_each).saturating_sub(u64::from(names));
    for names in of_each.iter_mut().rev() {
        let taken = over.min(u64::from(*names - 1));
        *names -= taken as u32;
        over -= taken;
    }
    let lacking = u64::from(names).saturating_sub(total(&of_each));
    of_each.extend((0..lacking).map(|_| 1));
    stream.shuffle(&mut of_each);
    of_each
}

/// Files with as many names each as the weights say; `copies` of the files have the content of an earlier one.
pub(super) fn entries_by_links(
    links: &[u64],
    files: u32,
    copies: u32,
    blank: TreeEntry,
    stream: &mut RandomStream,
) -> Vec<TreeEntry> {
    if files == 0 {
        return Vec::new();
    }
    let of_each = draw_link_counts(links, files, stream);
    let mut order: Vec<(u64, u32)> = Vec::new();
    for (file, names) in (0..).zip(&of_each) {
        order.push((u64::from(file), file));
        order.extend((1..*names).map(|_| (u64::from(file) + 1 + stream.below(LINK_REACH), file)));
    }
    order.sort_unstable();
    let mut copies = copies.min(of_each.len().saturating_sub(1) as u32);
    let mut first_name: Vec<Option<u32>> = vec![None; of_each.len()];
    let (mut originals, mut seen) = (Vec::new(), 0_usize);
    let entry = |(number, (_, file)): (u32, (u64, u32))| {
        let place = first_name.get_mut(file as usize)?;
        if let Some(first) = *place {
            return Some(TreeEntry { what: first, kind: EntryKind::HardLink, ..blank });
        }
        *place = Some(number);
        let files_left = (of_each.len() - seen) as u64;
        seen += 1;
        let is_copy = !originals.is_empty() && stream.below(files_left) < u64::from(copies);
        let content = if is_copy {
            copies -= 1;
            originals[stream.below(originals.len() as u64) as usize]
        } else {
            originals.push(number);
            number
        };
        Some(TreeEntry { what: content, kind: EntryKind::File, ..blank })
    };
    (0..).zip(order).filter_map(entry).collect()
}

/// Puts so many symbolic links between the entries, which point nowhere yet.
pub(super) fn add_symlinks(tree: &mut Tree, count: u64, blank: TreeEntry, stream: &mut RandomStream) {
    let files = std::mem::take(&mut tree.entries);
    let (mut links, mut moved) = (count, Vec::with_capacity(files.len()));
    let mut remaining_files = files.iter();
    let total = files.len() as u64 + count;
    for number in 0..total {
        if stream.below(total - number) < links {
            links -= 1;
            tree.entries.push(TreeEntry { kind: EntryKind::Symlink, ..blank });
        } else if let Some(file) = remaining_files.next() {
            moved.push(number as u32);
            // The file that it refers to comes earlier and was moved already, or is itself.
            let original = moved.get(file.what as usize).copied().unwrap_or(number as u32);
            tree.entries.push(TreeEntry { what: original, ..*file });
        }
    }
}

/// Gives every symbolic link a target: a file in its own directory, by a path of the length that it is to have, where there is one;
/// else one that is not there. `None` when names exceed 4 GiB.
pub(super) fn point_symlinks(tree: &mut Tree, form: &TreeForm, seed: u64) -> Option<()> {
    let links = tree.totals().symlinks;
    let mut stream = RandomStream::new(seed, "targets");
    let mut lengths = draw_lengths(&form.target_lengths, links, super::tree::PATH_LIMIT - 1, &mut stream);
    stream.shuffle(&mut lengths);
    for directory in 0..tree.directories.len() {
        let first = tree.directories[directory].first as usize;
        let entries = first..first + tree.directories[directory].count as usize;
        let file = tree.entries[entries.clone()].iter().find(|entry| entry.kind != EntryKind::Symlink);
        let file = file.map(|entry| tree.name_at(entry.name).to_bytes().to_vec());
        for number in entries {
            if tree.entries[number].kind == EntryKind::Symlink {
                let length = lengths.pop();
                let target = tree.add_name(&link_target(file.as_deref(), length))?;
                tree.entries[number].what = target;
            }
        }
    }
    Some(())
}

/// A way to a file beside the link, made longer by steps on the spot.
fn link_target(file: Option<&[u8]>, length: Option<usize>) -> Vec<u8> {
    let Some(file) = file else { return vec![b'x'; length.unwrap_or(TEN).max(1)] };
    let more = length.unwrap_or(0).saturating_sub(file.len());
    let mut path = b"./".repeat(more / 2);
    if more % 2 == 1 && more > 1 {
        path.push(b'/');
    }
    path.extend_from_slice(file);
    path
}

#[cfg(test)]
mod tests {
    use super::{apportion, draw_link_counts, link_target, parents_by_depth};
    use crate::dataset::RandomStream;

    #[test]
    fn weights_share_a_total_exactly() {
        assert_eq!(apportion(&[1, 1, 2], 8), [2, 2, 4]);
        assert_eq!(apportion(&[1, 1, 1], 100).iter().sum::<u64>(), 100);
        assert_eq!(apportion(&[0, 0], 5), [0, 0]);
        assert_eq!(apportion(&[u64::MAX, u64::MAX], 7).iter().sum::<u64>(), 7);
    }

    #[test]
    fn directories_lie_as_deep_as_the_weights_say() {
        let mut stream = RandomStream::new(1, "test");
        let depth_of = |parents: &[u32]| {
            let mut depths = vec![0_usize; parents.len()];
            for new in 1..parents.len() {
                assert!((parents[new] as usize) < new);
                depths[new] = depths[parents[new] as usize] + 1;
            }
            depths
        };
        let depths = depth_of(&parents_by_depth(&[1, 10, 80, 9], 100, &mut stream));
        let at = |depth| depths.iter().filter(|one| **one == depth).count();
        assert_eq!([at(0), at(1), at(2), at(3)], [1, 10, 80, 9]);
        // A small one of it has no gap, and one of no depths is flat.
        assert!(depth_of(&parents_by_depth(&[1, 1, 1, 1, 500], 4, &mut stream)).iter().all(|it| *it < 4));
        assert_eq!(parents_by_depth(&[1], 5, &mut stream), [0; 5]);
    }

    #[test]
    fn files_have_as_many_names_as_the_weights_say_and_all_are_as_many_as_wanted() {
        let mut stream = RandomStream::new(1, "test");
        let names = draw_link_counts(&[70, 0, 10], 100, &mut stream);
        assert_eq!(names.iter().filter(|one| **one == 3).count(), 10);
        for files in 1..60 {
            for links in [&[1][..], &[5, 3, 1], &[0, 0, 0, 7], &[1, 100]] {
                let names = draw_link_counts(links, files, &mut stream);
                assert_eq!(names.iter().sum::<u32>(), files, "{links:?}");
                assert!(names.iter().all(|one| *one > 0));
            }
        }
    }

    #[test]
    fn a_target_is_as_long_as_it_is_to_be_and_leads_there() {
        for length in [5, 7, 8, 30] {
            let path = link_target(Some(b"there"), Some(length));
            assert_eq!((path.len(), path.ends_with(b"there")), (length, true));
            assert!(!path.starts_with(b"/"));
        }
        assert_eq!(link_target(Some(b"there"), Some(2)), b"there");
        assert_eq!(link_target(None, Some(3)).len(), 3);
    }
}
