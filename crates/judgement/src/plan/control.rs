//! A/A control: enters one candidate twice, to show how different two identical candidates look.

use fsverdict_text::Reason;

use super::{Candidate, Plan};
use fsverdict_text::{Node, TomlValue, suggest};

/// The suffix of the name of a candidate's twin: the same configuration, entered a second time.
pub const CONTROL_SUFFIX: &str = "~twin";

pub fn is_twin(name: &str) -> bool {
    name.ends_with(CONTROL_SUFFIX)
}

/// The candidates that a plan asks about: all but twins, unless there is nothing else to compare with.
pub fn ranked_candidates(plan: &Plan) -> impl Iterator<Item = &Candidate> {
    let only_twins = plan.candidates.iter().filter(|candidate| !is_twin(&candidate.name)).count() < 2;
    plan.candidates.iter().filter(move |candidate| only_twins || !is_twin(&candidate.name))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Twice {
    First,
    Named(String),
}

impl Twice {
    /// As it stands in a plan: `true` or a candidate's name; `None` for `false`.
    pub(super) fn read(node: &Node) -> Result<Option<Self>, Reason> {
        match &node.value {
            TomlValue::Boolean(true) => Ok(Some(Self::First)),
            TomlValue::Boolean(false) => Ok(None),
            TomlValue::Text(name) if !name.trim().is_empty() => Ok(Some(Self::Named(name.clone()))),
            other => Err(Reason::new(
                format!("true or the name of a candidate is wanted here, not {}", other.type_name()),
                "aa = true enters the first candidate twice, aa = \"xfs\" the one of that name",
            )),
        }
    }

    /// Adds the twin to the plan, behind all other candidates. Its order within blocks is drawn like theirs.
    pub(super) fn add_twin(&self, plan: &mut Plan) -> Result<(), Reason> {
        let names: Vec<&str> = plan.candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let at = match self {
            Self::First => 0,
            Self::Named(name) => names.iter().position(|known| known == name).ok_or_else(|| {
                let message = format!("there is no candidate `{name}` to enter twice");
                Reason::new(message, suggest(name, &names))
            })?,
        };
        let Some(candidate) = plan.candidates.get(at) else { return Ok(()) };
        let twin = Candidate { name: format!("{}{CONTROL_SUFFIX}", candidate.name), ..candidate.clone() };
        plan.candidates.push(twin);
        Ok(())
    }
}
