//! The shape of a generated tree: its files, and its depths, lengths of names and links. `fsverdict capture` finds it of a
//! real folder.

use super::limits;
use super::stored_table::stored_table;
use fsverdict_text::value::{count, filled_text, share, size, whole};
use fsverdict_text::{Bytes, Node, Reason, TomlValue, bounded_list, limits as text_limits};

/// Places of a distribution that a plan may give.
const SIZES: usize = 1001;
/// Weights at most: of depths; of lengths of names by tens, up to 255 bytes; of names of a file; of lengths of targets, up to 4095.
const DEPTHS: usize = 200;
const NAME_TENS: usize = 26;
const LINKS: usize = 100;
const TARGET_TENS: usize = 410;

stored_table! {
    /// The shape of a generated tree (METHOD: Impressions, Agrawal et al., FAST'09).
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct TreeShape, keys TREE {
        /// Name of the profile that gives the size distribution.
        profile: String => ("name of a profile", filled_text, needed "profile = \"mixed\""),
        files: u64 => ("whole number", count, needed "files = 5000"),
        /// Directories in total, the root included.
        directories: u64 => ("whole number", count),
        /// Bytes in all files together.
        size: Bytes => ("size", size, needed "size = \"200MiB\""),
        /// The share of bytes that a compressor can remove, 0 to 1; if absent, the profile's own.
        compressible?: f64 => ("share", share),
        /// The share of files that are byte-for-byte copies of another file, 0 to 1; if absent, the profile's own.
        duplicates?: f64 => ("share", share),
        /// The share of files that are further hard links to another file, 0 to 1; if absent, the profile's own.
        hard_links?: f64 => ("share", share),
        /// File sizes in bytes at equally spaced quantiles, the smallest first; if empty, the profile's own.
        sizes in "bounded_list::<_, _, { limits::SHAPE }>": Vec<u64> => ("list of whole numbers", read_sizes),
        form!: TreeForm,
        key("depths", "list of whole numbers", form.depths, |node| read_weights(node, DEPTHS)),
        key("name_lengths", "list of whole numbers", form.name_lengths, |node| read_weights(node, NAME_TENS)),
        key("links", "list of whole numbers", form.links, |node| read_weights(node, LINKS)),
        key("symlinks", "share, 0.99 at most", form.symlinks, read_symlinks),
        key("target_lengths", "list of whole numbers", form.target_lengths, |node| read_weights(node, TARGET_TENS)),
    }
}

impl TreeShape {
    /// The share of files that are further hard links, from the form's link counts or else from `hard_links`; if
    /// absent, the profile's own.
    pub fn linked(&self) -> Option<f64> {
        self.form.hard_links().or(self.hard_links)
    }
}

stored_table! {
    /// Each list contains weights, which need not be normalized; an empty list means the default.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct TreeForm {
        /// The number of directories at each depth, starting with the tree's own.
        depths in "bounded_list::<_, _, { limits::SHAPE }>": Vec<u64>,
        /// The number of names with 1 to 10 bytes, 11 to 20 …
        name_lengths in "bounded_list::<_, _, { limits::SHAPE }>": Vec<u64>,
        /// The number of files with one name, two, three …
        links in "bounded_list::<_, _, { limits::SHAPE }>": Vec<u64>,
        /// The share of symbolic links among all symbolic links and names of files.
        symlinks?: f64,
        /// The number of symbolic link targets with 1 to 10 bytes, 11 to 20 …
        target_lengths in "bounded_list::<_, _, { limits::SHAPE }>": Vec<u64>,
    }
}

impl TreeForm {
    /// That of a tree of which nothing of this is said.
    pub const PLAIN: TreeForm = TreeForm {
        depths: Vec::new(),
        name_lengths: Vec::new(),
        links: Vec::new(),
        symlinks: None,
        target_lengths: Vec::new(),
    };

    /// The share of the names of files that are further names of one, where so many have one, two, three …
    pub fn further_names(links: &[u64]) -> f64 {
        let files: f64 = links.iter().map(|count| *count as f64).sum();
        let names: f64 = (1..).zip(links).map(|(names, count)| f64::from(names) * *count as f64).sum();
        if names > 0.0 { 1.0 - files / names } else { 0.0 }
    }

    /// That share, where it says so.
    pub fn hard_links(&self) -> Option<f64> {
        (!self.links.is_empty()).then(|| Self::further_names(&self.links))
    }

    /// How many symbolic links lie beside so many names of files.
    pub fn symlinks_of(&self, files: u64) -> u64 {
        let share = self.symlinks.unwrap_or(0.0).clamp(0.0, 0.99);
        (files as f64 * share / (1.0 - share)).round() as u64
    }
}

/// A list of so many numbers.
fn read_numbers(node: &Node, least: usize, most: usize, hint: &str) -> Result<Vec<u64>, Reason> {
    let TomlValue::Array(nodes) = &node.value else {
        return Err(Reason::new(
            format!("a list of numbers is wanted here, not {}", node.value.type_name()),
            hint,
        ));
    };
    if !(least..=most).contains(&nodes.len()) {
        let message = format!("it has {} numbers, and may have {least} to {most}", nodes.len());
        return Err(Reason::new(message, hint));
    }
    nodes.iter().map(whole).collect()
}

/// How often each of several comes, of which one at least does.
fn read_weights(node: &Node, most: usize) -> Result<Vec<u64>, Reason> {
    let hint = "how many there are of each, as `fsverdict capture` writes it: [1, 12, 40]";
    let weights = read_numbers(node, 1, most, hint)?;
    match weights.iter().any(|weight| *weight > 0) {
        true if weights.iter().all(|weight| *weight <= text_limits::COUNT) => Ok(weights),
        true => Err(Reason::new(format!("a count is {} at most", text_limits::COUNT), hint)),
        false => Err(Reason::new("all of them are 0", hint)),
    }
}

/// Places of a distribution: from two to a thousand, none smaller than the one before.
fn read_sizes(node: &Node) -> Result<Vec<u64>, Reason> {
    let hint = "bytes at equally spaced places of the distribution, as `fsverdict capture` writes them: [0, 120, 5000]";
    let sizes = read_numbers(node, 2, SIZES, hint)?;
    if !sizes.is_sorted() {
        return Err(Reason::new("the sizes are not in ascending order", hint));
    }
    if sizes.iter().any(|size| *size > text_limits::SIZE) {
        return Err(Reason::new("a size is larger than 1 PiB", hint));
    }
    Ok(sizes)
}

fn read_symlinks(node: &Node) -> Result<f64, Reason> {
    match share(node)? {
        most if most > 0.99 => Err(Reason::new(
            "a tree has files, too",
            "the share of symbolic links among them and files is 0.99 at most",
        )),
        share => Ok(share),
    }
}

#[cfg(test)]
mod tests {
    use super::TreeForm;

    #[test]
    fn shares_of_links_are_those_of_names() {
        assert!((TreeForm::further_names(&[70, 0, 10]) - 0.2).abs() < 1e-12);
        assert_eq!(TreeForm::PLAIN.hard_links(), None);
        let form = TreeForm { symlinks: Some(0.25), ..TreeForm::PLAIN };
        assert_eq!((form.symlinks_of(300), TreeForm::PLAIN.symlinks_of(300)), (100, 0));
    }
}
