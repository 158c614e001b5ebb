//! Sections of a model's file that do not change how its devices work: `[ask]`, the words by which people call such a
//! device, and `[errors]`, by how much the model's times of each kind of access may be wrong.

use fsverdict_text::Section;
use fsverdict_text::value::{filled_text, filled_texts};

use super::super::access_kind::{AccessKind, ModelErrors};
use super::super::fields::number_or;

const KEYS: &[&str] = &["shown", "words", "behind_on", "state"];

/// The words for a kind of device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceWords {
    /// The kind in a few words, where it is offered.
    pub shown: String,
    /// Words that mean it wherever they stand.
    pub words: Vec<String>,
    /// Words that mean it where a device is expected, and elsewhere may mean something else.
    pub behind_on: Vec<String>,
    /// The state of a device that is called so; the model's first when absent.
    pub state: Option<String>,
}

pub(super) fn read_words(top: &Section<'_>) -> Option<DeviceWords> {
    let section = top.inner_table("ask", "[ask]", KEYS)?;
    Some(DeviceWords {
        shown: section.need("shown", "shown = \"hdd: a desktop disk\"", filled_text)?,
        words: section.need("words", "words = [\"hdd\", \"hard-disk\"]", filled_texts)?,
        behind_on: section.get("behind_on", filled_texts).unwrap_or_default(),
        state: section.get("state", filled_text),
    })
}

/// The errors that a file states; [`ModelErrors::UNKNOWN`] without the section, and for kinds that it leaves out.
pub(super) fn read_errors(top: &Section<'_>) -> Option<ModelErrors> {
    let keys = AccessKind::ALL.map(AccessKind::name);
    let Some(section) = top.inner_table("errors", "[errors]", &keys) else {
        return Some(ModelErrors::UNKNOWN);
    };
    let mut errors = ModelErrors::UNKNOWN;
    for kind in AccessKind::ALL {
        errors.0[kind as usize] =
            number_or(&section, kind.name(), 0.0..=ModelErrors::MAX, ModelErrors::UNKNOWN.of(kind))?;
    }
    Some(errors)
}
