//! What is known of an axis, which is something that can be varied of a candidate; the rows are in `axes.rs`.

use serde::{Serialize, Serializer};

use crate::reason::Reason;

use super::source::Node;
use super::{Bytes, Candidate, Plan, Vocabulary};

/// One axis: read from a plan, marked in names, written back, and shown in every format by walking the rows.
#[derive(Debug)]
pub struct Axis {
    /// Its key in a plan, which is also its name as a factor, an option that differs, a field and a column.
    pub key: &'static str,
    pub role: AxisRole,
    pub(super) read: fn(&Node) -> Result<Setting, Reason>,
    pub(super) level: fn(&Candidate) -> AxisLevel<'_>,
    /// Its word for what is left as it is; empty where that has none.
    pub(super) default: &'static str,
    /// The words it takes, where these are all known.
    pub(super) known: Option<for<'a> fn(&Vocabulary<'a>) -> &'a [&'a str]>,
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
    Path(&'a std::path::Path),
    Size(Bytes),
}

impl<'a> AxisLevel<'a> {
    pub fn is_nothing(&self) -> bool {
        match self {
            AxisLevel::Nothing => true,
            AxisLevel::Words(words) | AxisLevel::Options(words) => words.is_empty(),
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

    /// The words it has besides those of `base`; `None` where it lacks one of them. Words are one by one what lists have, and
    /// all else as a whole.
    pub fn besides(&self, base: &AxisLevel<'a>) -> Option<String> {
        let (between, all, base) = match (self, base) {
            (AxisLevel::Words(words), AxisLevel::Words(base)) => (" ", *words, *base),
            (AxisLevel::Options(options), AxisLevel::Options(base)) => (",", *options, *base),
            _ => return base.is_nothing().then(|| self.text()),
        };
        let added = all.iter().filter(|word| !base.contains(word)).map(String::as_str);
        let kept = base.iter().all(|word| all.contains(word));
        kept.then(|| added.collect::<Vec<_>>().join(between))
    }
}

impl Serialize for AxisLevel<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            AxisLevel::Nothing => serializer.serialize_none(),
            AxisLevel::Word(word) => word.serialize(serializer),
            AxisLevel::Words(words) | AxisLevel::Options(words) => words.serialize(serializer),
            AxisLevel::Path(path) => path.serialize(serializer),
            AxisLevel::Size(bytes) => bytes.serialize(serializer),
        }
    }
}

impl Axis {
    /// What the candidate says, its word for the default included.
    pub fn level<'a>(&self, candidate: &'a Candidate) -> AxisLevel<'a> {
        (self.level)(candidate)
    }

    /// What the candidate says that is not the default.
    pub fn given<'a>(&self, candidate: &'a Candidate) -> AxisLevel<'a> {
        match self.level(candidate) {
            AxisLevel::Word(word) if word == self.default => AxisLevel::Nothing,
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

    /// Where an effect is another: `on xfs`, `with mount noatime`.
    pub fn phrase(&self, level: &str) -> String {
        match self.preposition {
            Some(preposition) => format!("{preposition} {level}"),
            None => format!("with {} {level}", self.key),
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
