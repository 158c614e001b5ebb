//! The form of a tree besides its sizes: depths, lengths of names, links. `fsverdict capture` finds it of a real folder.

use serde::{Deserialize, Serialize};

use super::limits;
use fsverdict_text::bounded_list;

/// Each list contains weights, which need not be normalized; an empty list means the default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeForm {
    /// The number of directories at each depth, starting with the tree's own.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::SHAPE }>"
    )]
    pub depths: Vec<u64>,
    /// The number of names with 1 to 10 bytes, 11 to 20 …
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::SHAPE }>"
    )]
    pub name_lengths: Vec<u64>,
    /// The number of files with one name, two, three …
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::SHAPE }>"
    )]
    pub links: Vec<u64>,
    /// The share of symbolic links among all symbolic links and names of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symlinks: Option<f64>,
    /// The number of symbolic link targets with 1 to 10 bytes, 11 to 20 …
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_list::<_, _, { limits::SHAPE }>"
    )]
    pub target_lengths: Vec<u64>,
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

    pub fn is_empty(&self) -> bool {
        *self == Self::PLAIN
    }

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
