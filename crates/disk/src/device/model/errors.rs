//! `[errors]` of a model's file: by how much the model's times of each kind of access may be wrong.

use fsverdict_text::Section;

use super::super::access_kind::{AccessKind, ModelErrors};
use super::super::fields::number_or;

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
