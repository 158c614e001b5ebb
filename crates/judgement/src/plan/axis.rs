//! The description of an axis: a property in which candidates can differ. The table of all axes is in `axes.rs`.

use serde::{Serialize, Serializer};

use fsverdict_text::Reason;

use super::{Candidate, Layers, Plan, Vocabulary};
use fsverdict_text::{Bytes, Node};

/// One axis. The reader of plans, the names of candidates, the writer of plans and every output format iterate over
/// these rows.
#[derive(Debug)]
pub struct Axis {
    /// The axis's key in a plan, and also its name as a factor, a differing option, a field and a column.
    pub key: &'static str,
    pub role: AxisRole,
    pub(super) read: Read,
    pub(super) level: fn(&Candidate) -> AxisLevel<'_>,
    /// The function that lists the words that the axis accepts, if all of them are known.
    pub(super) known: Option<Known>,
    /// Another key, for values that `key` cannot express.
    pub(super) list: Option<ListKey>,
    /// The prefix of the level in a candidate's name.
    pub(super) mark: &'static str,
    /// The level as it appears in a candidate's name; in full (`true`) if short forms would collide.
    pub(super) in_name: fn(&AxisLevel<'_>, bool) -> String,
    /// The word before the level in phrases about differing effects; if absent, `with` and the key.
    pub(super) preposition: Option<&'static str>,
    /// The position of the column in the CSV; rows with the same number keep their order.
    pub(super) column: u8,
    pub disclosure: Disclosure,
}

/// A second key of an axis that takes several words in order, while the axis's own key takes one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListKey {
    pub(super) key: &'static str,
    /// The noun for one of the words.
    pub(super) noun: &'static str,
    pub(super) read: Read,
    pub(super) known: Known,
    /// Whether a level, given as display text, can only be expressed with this key.
    pub(super) needed: fn(&str) -> bool,
}

/// A key that sets an axis, and how its value is read.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    pub(super) key: &'static str,
    pub(super) noun: &'static str,
    pub(super) read: Read,
    pub(super) known: Option<Known>,
}

pub(super) type Read = fn(&Node) -> Result<Setting, Reason>;
pub(super) type Known = for<'a> fn(&Vocabulary<'a>) -> Vec<&'a str>;

/// Sets the value that was read on a candidate.
pub(super) type Setting = Box<dyn Fn(&mut Candidate)>;

/// The role of an axis in a candidate.
#[derive(Debug)]
pub enum AxisRole {
    /// The filesystem: every candidate has one, and all other axes relate to it.
    Filesystem,
    /// The place where the candidate works instead of on a device. It begins the candidate's name, cannot be varied in
    /// `[matrix]`, and results are listed under that name.
    Place,
    /// An option that the user can choose.
    Option,
    /// A circumstance of the trial.
    Circumstance(EnvironmentAxis),
}

/// A circumstance that is not a choice between filesystems: candidates are only compared with those under the same
/// circumstances.
#[derive(Debug)]
pub struct EnvironmentAxis {
    /// The noun in phrases about an order that changes, if this is the only difference.
    pub noun: &'static str,
    /// The level as text.
    pub(super) title: fn(&AxisLevel<'_>) -> String,
    /// The plan's own level, for candidates that do not set one.
    pub(super) of_plan: fn(&Plan) -> AxisLevel<'_>,
}

/// Whether a value may reveal private data when a run is packed for strangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disclosure {
    /// The value is a keyword of fsverdict or the kernel, or a number: it reveals nothing.
    Nothing,
    /// The value may contain anything.
    Anything,
    /// The value is a path and may contain anything.
    Path,
}

/// The value that a candidate sets on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisLevel<'a> {
    Nothing,
    Word(&'a str),
    /// Words of a command line.
    Words(&'a [String]),
    /// Comma-separated options.
    Options(&'a [String]),
    Layers(&'a Layers),
    Path(&'a std::path::Path),
    Size(Bytes),
}

impl<'a> AxisLevel<'a> {
    pub fn is_nothing(&self) -> bool {
        match self {
            AxisLevel::Nothing => true,
            AxisLevel::Words(words) | AxisLevel::Options(words) => words.is_empty(),
            AxisLevel::Layers(layers) => layers.is_empty(),
            AxisLevel::Word(_) | AxisLevel::Path(_) | AxisLevel::Size(_) => false,
        }
    }

    /// The level as display text.
    pub fn text(&self) -> String {
        match self {
            AxisLevel::Nothing => String::new(),
            AxisLevel::Word(word) => (*word).to_owned(),
            AxisLevel::Words(words) => words.join(" "),
            AxisLevel::Options(options) => options.join(","),
            AxisLevel::Layers(layers) => layers.to_string(),
            AxisLevel::Path(path) => path.display().to_string(),
            AxisLevel::Size(bytes) => bytes.to_string(),
        }
    }

    /// The level when nothing is set: for lists, the empty list.
    pub fn default_level(self) -> Self {
        match self {
            AxisLevel::Words(_) => AxisLevel::Words(&[]),
            AxisLevel::Options(_) => AxisLevel::Options(&[]),
            _ => AxisLevel::Nothing,
        }
    }

    /// The words of this level in addition to those of `base`; `None` if one of the words of `base` is missing, or if
    /// there are no others. Lists are compared word by word, all other levels as a whole.
    pub fn words_beyond(&self, base: &AxisLevel<'a>) -> Option<String> {
        let (between, all, base) = match (self, base) {
            (AxisLevel::Words(words), AxisLevel::Words(base)) => (" ", *words, *base),
            (AxisLevel::Options(options), AxisLevel::Options(base)) => (",", *options, *base),
            (AxisLevel::Layers(layers), AxisLevel::Layers(base)) => {
                return layers.layers_beyond(base).map(|added| added.to_string());
            }
            _ => return base.is_nothing().then(|| self.text()),
        };
        let added: Vec<&str> = all.iter().filter(|word| !base.contains(word)).map(String::as_str).collect();
        let has_all_of_base = base.iter().all(|word| all.contains(word));
        (has_all_of_base && !added.is_empty()).then(|| added.join(between))
    }
}

impl Serialize for AxisLevel<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            AxisLevel::Nothing => serializer.serialize_none(),
            AxisLevel::Word(word) => word.serialize(serializer),
            AxisLevel::Words(words) | AxisLevel::Options(words) => words.serialize(serializer),
            AxisLevel::Layers(layers) => match layers.in_short() {
                Some(word) => word.serialize(serializer),
                None => serializer.collect_seq(layers.names()),
            },
            AxisLevel::Path(path) => path.serialize(serializer),
            AxisLevel::Size(bytes) => bytes.serialize(serializer),
        }
    }
}

impl Axis {
    /// The keys of a plan that set this axis: a candidate uses one of them.
    pub(super) fn spellings(&self) -> impl Iterator<Item = Spelling> {
        let own = Spelling { key: self.key, noun: self.key, read: self.read, known: self.known };
        let list = self.list.map(|list| Spelling {
            key: list.key,
            noun: list.noun,
            read: list.read,
            known: Some(list.known),
        });
        [own].into_iter().chain(list)
    }

    /// The key that expresses this level, given as display text.
    pub fn key_of(&self, level: &str) -> &'static str {
        match self.list {
            Some(list) if (list.needed)(level) => list.key,
            _ => self.key,
        }
    }

    /// The candidate's level, even if it is an explicit default.
    pub fn level<'a>(&self, candidate: &'a Candidate) -> AxisLevel<'a> {
        (self.level)(candidate)
    }

    /// The candidate's level, or `Nothing` if it is empty.
    pub fn set_level<'a>(&self, candidate: &'a Candidate) -> AxisLevel<'a> {
        match self.level(candidate) {
            level if level.is_nothing() => AxisLevel::Nothing,
            level => level,
        }
    }

    /// The level with which the candidate is tested: its own, or else the plan's.
    pub fn tested_level<'a>(&self, plan: &'a Plan, candidate: &'a Candidate) -> AxisLevel<'a> {
        match (self.level(candidate), &self.role) {
            (AxisLevel::Nothing, AxisRole::Circumstance(under)) => (under.of_plan)(plan),
            (level, _) => level,
        }
    }

    /// The phrase for an effect that depends on this key and level: `on xfs`, `with mount noatime`.
    pub fn describe_level(&self, key: &str, level: &str) -> String {
        match self.preposition {
            Some(preposition) => format!("{preposition} {level}"),
            None => format!("with {key} {level}"),
        }
    }

    /// Whether the axis is a choice that a recommendation can name: filesystem and options.
    pub fn is_chosen(&self) -> bool {
        matches!(self.role, AxisRole::Filesystem | AxisRole::Option)
    }

    pub fn is_circumstance(&self) -> bool {
        matches!(self.role, AxisRole::Circumstance(_))
    }
}
