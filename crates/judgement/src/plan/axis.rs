//! What is known of an axis, which is something that can be varied of a candidate; the rows are in `axes.rs`.

use serde::{Serialize, Serializer};

use fsverdict_text::Reason;

use super::{Candidate, Layers, Plan, Vocabulary};
use fsverdict_text::{Bytes, Node};

/// One axis: read from a plan, marked in names, written back, and shown in every format by walking the rows.
#[derive(Debug)]
pub struct Axis {
    /// Its key in a plan, which is also its name as a factor, an option that differs, a field and a column.
    pub key: &'static str,
    pub role: AxisRole,
    pub(super) read: Read,
    pub(super) level: fn(&Candidate) -> AxisLevel<'_>,
    /// The words it takes, where these are all known.
    pub(super) known: Option<Known>,
    /// Another key, for what `key` cannot say.
    pub(super) list: Option<ListKey>,
    /// What stands before its level in names.
    pub(super) mark: &'static str,
    /// Its level in a name; in full where short ones would collide.
    pub(super) in_name: fn(&AxisLevel<'_>, bool) -> String,
    /// What stands before its level where an effect is another with it; `with` and the key when absent.
    pub(super) preposition: Option<&'static str>,
    /// Columns of the CSV stand in this order, and in that of the rows.
    pub(super) column: u8,
    pub tells: Tells,
}

/// A key of an axis for several words in their order, where its own key takes one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListKey {
    pub(super) key: &'static str,
    /// What one of the words is.
    pub(super) noun: &'static str,
    pub(super) read: Read,
    pub(super) known: Known,
    /// Whether a level, in its words for people, can be said by this key alone.
    pub(super) needed: fn(&str) -> bool,
}

/// A key that says something on an axis, and how it is read.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    pub(super) key: &'static str,
    pub(super) noun: &'static str,
    pub(super) read: Read,
    pub(super) known: Option<Known>,
}

pub(super) type Read = fn(&Node) -> Result<Setting, Reason>;
pub(super) type Known = for<'a> fn(&Vocabulary<'a>) -> Vec<&'a str>;

/// Gives a candidate the value that was read.
pub(super) type Setting = Box<dyn Fn(&mut Candidate)>;

/// What an axis is to a candidate.
#[derive(Debug)]
pub enum AxisRole {
    /// What all else is on or below; every candidate says it.
    Filesystem,
    /// Where it is worked instead of on a device: it begins the name, and is no value of `[matrix]`. The results of such a
    /// candidate go by its name.
    Place,
    /// What is chosen for its sake.
    Option,
    /// What it is tried under.
    Circumstance(EnvironmentAxis),
}

/// Nobody chooses it for a filesystem's sake: candidates are compared with those under the same.
#[derive(Debug)]
pub struct EnvironmentAxis {
    /// What an order changes with, where this is all that differs.
    pub noun: &'static str,
    /// Its level in words.
    pub(super) title: fn(&AxisLevel<'_>) -> String,
    /// The plan's own, for candidates that say nothing.
    pub(super) of_plan: fn(&Plan) -> AxisLevel<'_>,
}

/// Whom its value may name, when a run is packed for strangers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tells {
    /// It is a word of ours, of the kernel's, or a number.
    Nobody,
    /// It may hold anything.
    Anybody,
    /// It may hold anything, and is a path.
    Path,
}

/// What a candidate says on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisLevel<'a> {
    Nothing,
    Word(&'a str),
    /// Words of a command line.
    Words(&'a [String]),
    /// Options that are separated by commas.
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

    /// For people.
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

    /// What is left of it where nobody says anything: of a list the empty one.
    pub fn unsaid(self) -> Self {
        match self {
            AxisLevel::Words(_) => AxisLevel::Words(&[]),
            AxisLevel::Options(_) => AxisLevel::Options(&[]),
            _ => AxisLevel::Nothing,
        }
    }

    /// The words it has besides those of `base`; `None` where it lacks one of them, or has no other. Words are one by one what
    /// lists have, and all else as a whole.
    pub fn besides(&self, base: &AxisLevel<'a>) -> Option<String> {
        let (between, all, base) = match (self, base) {
            (AxisLevel::Words(words), AxisLevel::Words(base)) => (" ", *words, *base),
            (AxisLevel::Options(options), AxisLevel::Options(base)) => (",", *options, *base),
            (AxisLevel::Layers(layers), AxisLevel::Layers(base)) => {
                return layers.besides(base).map(|added| added.to_string());
            }
            _ => return base.is_nothing().then(|| self.text()),
        };
        let added: Vec<&str> = all.iter().filter(|word| !base.contains(word)).map(String::as_str).collect();
        let kept = base.iter().all(|word| all.contains(word));
        (kept && !added.is_empty()).then(|| added.join(between))
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
    /// The keys of a plan that say something on it: a candidate has one of them.
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

    /// The key that says this level, given in its words for people.
    pub fn key_of(&self, level: &str) -> &'static str {
        match self.list {
            Some(list) if (list.needed)(level) => list.key,
            _ => self.key,
        }
    }

    /// What the candidate says, its word for the default included.
    pub fn level<'a>(&self, candidate: &'a Candidate) -> AxisLevel<'a> {
        (self.level)(candidate)
    }

    /// What the candidate says that is not the default.
    pub fn given<'a>(&self, candidate: &'a Candidate) -> AxisLevel<'a> {
        match self.level(candidate) {
            level if level.is_nothing() => AxisLevel::Nothing,
            level => level,
        }
    }

    /// What the candidate is tried with: its own, or else the plan's.
    pub fn tried<'a>(&self, plan: &'a Plan, candidate: &'a Candidate) -> AxisLevel<'a> {
        match (self.level(candidate), &self.role) {
            (AxisLevel::Nothing, AxisRole::Circumstance(under)) => (under.of_plan)(plan),
            (level, _) => level,
        }
    }

    /// Where an effect is another, by this key of the axis: `on xfs`, `with mount noatime`.
    pub fn phrase(&self, key: &str, level: &str) -> String {
        match self.preposition {
            Some(preposition) => format!("{preposition} {level}"),
            None => format!("with {key} {level}"),
        }
    }

    /// Whether it is a matter of choice, and of a recommendation: filesystem and options.
    pub fn is_chosen(&self) -> bool {
        matches!(self.role, AxisRole::Filesystem | AxisRole::Option)
    }

    pub fn is_circumstance(&self) -> bool {
        matches!(self.role, AxisRole::Circumstance(_))
    }
}
