//! The layers between a candidate's devices and its filesystem: names in order, with their options.
//!
//! The layers crate describes each layer. Plans once had the single key `encryption` instead of a list, and plans and
//! journals of that time are kept with their digests. So a candidate without layers, or with one layer that the key
//! could express, is still written with the key, and every other candidate with `layers`.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use fsverdict_text::Reason;

use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, TomlValue};

/// The key of the list.
pub(super) const LIST: &str = "layers";
/// The key of its short form.
pub(super) const SHORT: &str = "encryption";
/// The value of the short form for no layer.
const NONE: &str = "none";
/// The layers that have the short form. It exists only for old plans, so no layer will be added.
const ENCRYPTIONS: [&str; 2] = ["luks1", "luks2"];

/// The layers of a candidate, from the one on the device to the one under the filesystem, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Layers(Vec<String>);

impl Layers {
    /// # Errors
    /// If a layer has no name, or is listed twice.
    pub fn from_names<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Result<Self, Reason> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let mut distinct = BTreeSet::new();
        for name in &names {
            if name.is_empty() {
                return Err(Reason::plain("a layer has no name"));
            }
            if !distinct.insert(name) {
                let hint = "each layer can lie below a filesystem once";
                return Err(Reason::new(format!("the layer `{name}` stands there twice"), hint));
            }
        }
        Ok(Layers(names))
    }

    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.iter().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the short form, if these layers have one.
    pub(super) fn in_short(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(NONE),
            [one] if ENCRYPTIONS.contains(&one.as_str()) => Some(one),
            _ => None,
        }
    }

    /// The layers in addition to those of `base`; `None` if a layer of `base` is missing, or if there are no others.
    pub(super) fn layers_beyond(&self, base: &Self) -> Option<Self> {
        let added: Vec<String> = self.0.iter().filter(|name| !base.0.contains(name)).cloned().collect();
        let has_all_of_base = base.0.iter().all(|name| self.0.contains(name));
        (has_all_of_base && !added.is_empty()).then_some(Layers(added))
    }

    /// Reads the short form.
    pub(super) fn read_short(node: &Node) -> Result<Self, Reason> {
        match filled_text(node)? {
            none if none == NONE => Ok(Layers::default()),
            name => Self::from_names([name]),
        }
    }

    /// Reads the list.
    pub(super) fn read_list(node: &Node) -> Result<Self, Reason> {
        let TomlValue::Array(nodes) = &node.value else {
            return Err(Reason::new(
                format!("an array of layers is wanted here, not {}", node.value.type_name()),
                "as in [\"luks2\"]: the first lies on the device, the last is under the filesystem",
            ));
        };
        Self::from_names(nodes.iter().map(filled_text).collect::<Result<Vec<_>, _>>()?)
    }
}

/// Splits a layer into its name and its options, which follow a colon: `md:raid1,chunk=64K`.
pub fn split_layer(layer: &str) -> (&str, &str) {
    layer.split_once(':').unwrap_or((layer, ""))
}

/// The words that the short form accepts, from these known layers.
pub(super) fn words_in_short<'a>(known: &[&'a str]) -> Vec<&'a str> {
    std::iter::once(NONE).chain(known.iter().copied().filter(|name| ENCRYPTIONS.contains(name))).collect()
}

/// Whether layers with this display text need the list: all except those with a short form.
pub(super) fn need_the_list(words: &str) -> bool {
    !(words.is_empty() || words == NONE || ENCRYPTIONS.contains(&words))
}

/// The display text, also used in names: `none`, `luks2`, `luks1+luks2`.
impl fmt::Display for Layers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() { formatter.write_str(NONE) } else { formatter.write_str(&self.0.join("+")) }
    }
}

/// The JSON form among a candidate's fields.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encryption: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layers: Option<Vec<String>>,
}

impl From<Layers> for Written {
    fn from(layers: Layers) -> Self {
        match layers.in_short() {
            Some(word) => Written { encryption: Some(word.to_owned()), layers: None },
            None => Written { encryption: None, layers: Some(layers.0) },
        }
    }
}

impl TryFrom<Written> for Layers {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let names = match (written.encryption, written.layers) {
            (Some(none), None) if none == NONE => Vec::new(),
            (Some(one), None) => vec![one],
            (None, Some(list)) => list,
            (None, None) => return Err(format!("a candidate has neither `{SHORT}` nor `{LIST}`")),
            (Some(_), Some(_)) => return Err(format!("a candidate has both `{SHORT}` and `{LIST}`")),
        };
        Self::from_names(names).map_err(|error| error.what)
    }
}

#[cfg(test)]
mod tests {
    use super::Layers;
    use crate::plan::Candidate;

    fn layers(names: &[&str]) -> Layers {
        Layers::from_names(names.iter().copied()).unwrap()
    }

    /// Older plans have the short form, and are known by a digest of just these bytes.
    #[test]
    fn what_has_a_short_form_is_written_in_it_and_all_else_as_a_list_in_its_place() {
        for (names, written) in [
            (&[][..], r#""encryption":"none""#),
            (&["luks1"], r#""encryption":"luks1""#),
            (&["luks2"], r#""encryption":"luks2""#),
            (&["thin"], r#""layers":["thin"]"#),
            (&["luks1", "luks2"], r#""layers":["luks1","luks2"]"#),
            (&["luks2", "luks1"], r#""layers":["luks2","luks1"]"#),
        ] {
            let candidate = Candidate {
                mount: vec!["noatime".to_owned()],
                layers: layers(names),
                scheduler: Some("none".to_owned()),
                ..Candidate::with_defaults("ext4")
            };
            let text = serde_json::to_string(&candidate).unwrap();
            let wanted = format!(
                r#"{{"name":"ext4","filesystem":"ext4","mount":["noatime"],{written},"scheduler":"none"}}"#
            );
            assert_eq!(text, wanted);
            assert_eq!(serde_json::from_str::<Candidate>(&text).unwrap(), candidate);
        }
    }

    #[test]
    fn what_says_too_little_or_too_much_is_refused() {
        for (fields, said) in [
            ("", "neither"),
            (r#","encryption":"luks2","layers":["luks2"]"#, "both"),
            (r#","layers":["a","b","a"]"#, "`a` stands there twice"),
            (r#","layers":["a",""]"#, "no name"),
            (r#","encryption":"""#, "no name"),
        ] {
            let text = format!(r#"{{"name":"x","filesystem":"x"{fields}}}"#);
            let error = serde_json::from_str::<Candidate>(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        // One and none may be a list, too.
        let listed: Candidate =
            serde_json::from_str(r#"{"name":"x","filesystem":"x","layers":["luks2"]}"#).unwrap();
        assert_eq!(listed.layers, layers(&["luks2"]));
    }

    #[test]
    fn only_what_adds_to_all_of_the_base_is_besides_it() {
        let besides = |names: &[&str], base: &[&str]| {
            layers(names).layers_beyond(&layers(base)).map(|added| added.to_string())
        };
        assert_eq!(besides(&["a", "b"], &["a"]), Some("b".to_owned()));
        assert_eq!(besides(&["a", "b"], &["b"]), Some("a".to_owned()));
        assert_eq!(besides(&["a"], &[]), Some("a".to_owned()));
        assert_eq!(besides(&["a", "b"], &["b", "a"]), None);
        assert_eq!(besides(&["a"], &["b"]), None);
        assert_eq!(layers(&["a", "b"]).to_string(), "a+b");
    }
}
