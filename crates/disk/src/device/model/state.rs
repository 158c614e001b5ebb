//! The state in which a model is requested: the part of its name after the colon.

use super::Model;
use fsverdict_text::suggest;

/// The state of a device with its write cache turned off, as by `hdparm -W 0`: a write is answered when it is on the
/// medium.
pub(super) const WRITE_THROUGH: &str = "write-through";

/// The state of a device to which the host sends no discards, for example because a USB bridge does not pass them on.
pub(super) const NO_DISCARD: &str = "no-discard";

/// A state split at its plus signs: one word may be the medium's, one [`WRITE_THROUGH`] and one [`NO_DISCARD`].
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedState<'a> {
    whole: &'a str,
    pub(super) medium: Option<&'a str>,
    pub(super) write_through: bool,
    pub(super) no_discard: bool,
}

impl<'a> AskedState<'a> {
    /// `None` is the state of a new device.
    pub(super) fn of(state: Option<&'a str>) -> AskedState<'a> {
        let whole = state.unwrap_or_default();
        let has = |wanted: &str| whole.split('+').any(|word| word == wanted);
        let medium =
            whole.split('+').find(|word| !word.is_empty() && ![WRITE_THROUGH, NO_DISCARD].contains(word));
        AskedState { whole, medium, write_through: has(WRITE_THROUGH), no_discard: has(NO_DISCARD) }
    }

    /// Advice if the model has no such state; `None` if it has.
    pub(super) fn refused(&self, model: &Model) -> Option<String> {
        let known = model.all_states();
        if let Some(word) = self.whole.split('+').find(|word| !known.contains(word)) {
            let none = || format!("it has none: name it {}", model.name);
            return Some(if known.is_empty() { none() } else { suggest(word, &known) });
        }
        let words = self.whole.split('+').count();
        let apart = [self.medium.is_some(), self.write_through, self.no_discard];
        (words > apart.into_iter().filter(|given| *given).count()).then(|| {
            "a state is one word for what was done to the medium, one for the cache and one for discards"
                .to_owned()
        })
    }
}
