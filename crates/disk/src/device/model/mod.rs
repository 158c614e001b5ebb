//! Models of kinds of devices, with the source of each number.

mod draw;
mod read;
mod sections;
mod state;

pub use draw::Draw;
pub use sections::DeviceWords;
use state::AskedState;
use state::{NO_DISCARD, WRITE_THROUGH};

use std::path::Path;

use super::access_kind::ModelErrors;
use super::knobs::Knobs;
use super::limits::{Discard, Limits};
use super::medium::ChosenMedium;
use super::parameters::{CacheParameters, LinkParameters, Queue};
use fsverdict_folders::read_regular;
use fsverdict_text::{Bytes, DrawnNumbers, Hinted, LONGEST, Member, Reason, TextError, suggest};

/// A model that ships inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    pub name: &'static str,
    /// Its file, with the sources in its comments.
    pub toml: &'static str,
}

/// Each file of `models`, as `build.rs` lists them.
const BUILT_IN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// Returns every model inside the binary, sorted by name.
pub fn built_in() -> &'static [BuiltIn] {
    BUILT_IN
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("there is no model `{name}`")]
    Unknown { name: String, hint: String },
    #[error("cannot read the model {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("the model {name} has no state `{state}`")]
    State { name: String, state: String, hint: String },
    #[error(transparent)]
    Wrong(#[from] TextError),
    #[error("a device of {wanted} does not go with the model {name}: {reason}")]
    Size { name: String, wanted: Bytes, reason: String, hint: String },
}

impl Hinted for ModelError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            ModelError::Unknown { hint, .. } => hint.clone(),
            ModelError::Unreadable { .. } => "`fsverdict list models` has those that need no file".to_owned(),
            ModelError::State { hint, .. } => hint.clone(),
            ModelError::Size { hint, .. } => hint.clone(),
            ModelError::Wrong(_) => return None,
        })
    }

    fn reason(&self) -> Reason {
        match self {
            ModelError::Wrong(error) => error.reason(),
            other => Reason::new(other, other.hint().unwrap_or_default()),
        }
    }
}

/// All numbers of a model's file, for one of its states.
#[derive(Debug, Clone)]
pub(super) struct ModelParameters {
    pub(super) capacity_bytes: u64,
    pub(super) rotational: bool,
    pub(super) logical_block: u32,
    pub(super) physical_block: u32,
    pub(super) discard: Option<Discard>,
    pub(super) write_zeroes: bool,
    pub(super) link: LinkParameters,
    pub(super) queue: Queue,
    pub(super) cache: Option<CacheParameters>,
    pub(super) medium: ChosenMedium,
}

/// A kind of device, in one of its states.
#[derive(Debug, Clone)]
pub struct Model {
    /// The name by which it is requested, state included.
    pub name: String,
    /// The version of its file. It grows with every change of a number.
    pub version: u64,
    pub summary: String,
    /// States that its medium may have before a trial; the first is that of a name without a state.
    pub states: &'static [&'static str],
    /// Whether it has a write cache that can be turned off: the state `write-through`.
    pub write_cache: bool,
    /// Whether it takes discards, which can be left unused: the state `no-discard`.
    pub takes_discards: bool,
    /// The words for it, where people have some.
    pub words: Option<DeviceWords>,
    /// By how much its times may be wrong.
    pub errors: ModelErrors,
    pub(super) parameters: ModelParameters,
    /// Its values of ranges and choices, if the file describes a class of devices; empty if it describes one.
    pub drawn: DrawnNumbers,
}

impl Model {
    /// The built-in model of this name, with its state where it has several (`sata-ssd:steady`).
    pub fn named(name: &str) -> Result<Model, ModelError> {
        Model::built_in(name, Member::Typical)
    }

    fn built_in(name: &str, member: Member<'_>) -> Result<Model, ModelError> {
        let (base, state) = split(name);
        let built_in_model = shipped(name, base)?;
        Model::read_member(built_in_model.toml, &format!("models/{base}.toml"), state, member)
    }

    /// The model in a user's file, if `name` is a path (it has a slash, or ends in `.toml` before the state),
    /// otherwise the built-in one of this name.
    pub fn find(name: &str) -> Result<Model, ModelError> {
        Model::find_member(name, Member::Typical)
    }

    /// As [`Model::find`]; of a class, it takes the device that is drawn.
    pub fn find_drawn(name: &str, draw: &Draw) -> Result<Model, ModelError> {
        Model::find_member(name, Member::Drawn(&|key| draw.place(key)))
    }

    fn find_member(name: &str, member: Member<'_>) -> Result<Model, ModelError> {
        if !is_file(name) {
            return Model::built_in(name, member);
        }
        let (path, state) = path_and_state(name);
        let text = text_of(path)?;
        Model::read_member(&text, path, state, member)
    }

    /// The text of the file that [`Model::find`] finds, and the requested state.
    pub fn file(name: &str) -> Result<(String, Option<&str>), ModelError> {
        if is_file(name) {
            let (path, state) = path_and_state(name);
            return Ok((text_of(path)?, state));
        }
        let (base, state) = split(name);
        Ok((shipped(name, base)?.toml.to_owned(), state))
    }

    /// Reads a model from a user's file, in this state. Errors name `file`.
    pub fn read(text: &str, file: &str, state: Option<&str>) -> Result<Model, ModelError> {
        Model::read_member(text, file, state, Member::Typical)
    }

    fn read_member(
        text: &str,
        file: &str,
        state: Option<&str>,
        member: Member<'_>,
    ) -> Result<Model, ModelError> {
        if text.len() as u64 > LONGEST {
            let reason = format!("a model of {} is none", Bytes(text.len() as u64));
            return Err(ModelError::Unreadable { path: file.to_owned(), reason });
        }
        let asked = AskedState::of(state);
        let mut model = read::read(text, file, asked, member)?;
        let Some(state) = state else { return Ok(model) };
        if let Some(hint) = asked.refused(&model) {
            return Err(ModelError::State { name: model.name, state: state.to_owned(), hint });
        }
        model.name = format!("{}:{state}", model.name);
        Ok(model)
    }

    /// All states in which it can be requested, each by itself.
    pub fn all_states(&self) -> Vec<&'static str> {
        let further = [(self.write_cache, WRITE_THROUGH), (self.takes_discards, NO_DISCARD)];
        let further = further.into_iter().filter(|(has, _)| *has).map(|(_, state)| state);
        self.states.iter().copied().chain(further).collect()
    }

    /// Capacity of the largest device of this model, in bytes.
    pub fn capacity(&self) -> u64 {
        self.parameters.capacity_bytes
    }

    /// The limits that the guest must be given for a device of this model.
    pub fn limits(&self, size_bytes: u64) -> Limits {
        let parameters = &self.parameters;
        Limits {
            size_bytes,
            queue_depth: parameters.queue.depth,
            max_sectors_kb: parameters.queue.max_sectors / 2,
            rotational: parameters.rotational,
            logical_block: parameters.logical_block,
            physical_block: parameters.physical_block,
            discard: parameters.discard,
            write_zeroes: parameters.write_zeroes,
            volatile_cache: parameters.cache.is_some_and(|cache| cache.announced && !cache.protected),
        }
    }

    /// Returns the nearest built-in model: itself, or one that is representative of its kind of medium.
    pub fn nearest(&self) -> &'static str {
        let base_name = split(&self.name).0;
        BUILT_IN
            .iter()
            .find(|model| model.name == base_name)
            .map_or(self.parameters.medium.kind.like, |model| model.name)
    }

    /// The numbers that calibration can determine of such a device.
    pub(crate) fn knobs(&self) -> Knobs {
        self.parameters.medium.kind.knobs
    }

    /// Checks whether a device of this size can be of this model.
    pub fn check_size(&self, size_bytes: u64) -> Result<(), ModelError> {
        let capacity = self.parameters.capacity_bytes;
        let (reason, hint) = if size_bytes > capacity {
            (
                format!("such a device holds {}", Bytes(capacity)),
                "ask for less, or raise `capacity` in a copy of the model",
            )
        } else if size_bytes < 1 << 20 || !size_bytes.is_multiple_of(512) {
            (
                "sizes are multiples of 512 bytes, from 1 MiB on".to_owned(),
                "whole GB and whole MiB are: size = \"512MiB\"",
            )
        } else {
            return Ok(());
        };
        let (name, wanted) = (self.name.clone(), Bytes(size_bytes));
        Err(ModelError::Size { name, wanted, reason, hint: hint.to_owned() })
    }
}

/// Checks whether there is such a device, by its model's name and, if it is given, its size; returns its size. A model in
/// a file is not checked before the run opens it, and has no size but the given one.
pub fn can_be_had(name: &str, size: Option<Bytes>) -> Result<Option<Bytes>, Reason> {
    if is_file(name) {
        return Ok(size);
    }
    let model = Model::named(name).map_err(|error| error.reason())?;
    size.map_or(Ok(()), |size| model.check_size(size.0)).map_err(|error| error.reason())?;
    Ok(Some(size.unwrap_or(Bytes(model.capacity()))))
}

/// Finds the built-in model `base`; the error names the request, with its state.
fn shipped(asked: &str, base: &str) -> Result<&'static BuiltIn, ModelError> {
    BUILT_IN.iter().find(|model| model.name == base).ok_or_else(|| {
        let known: Vec<&str> = BUILT_IN.iter().map(|model| model.name).collect();
        ModelError::Unknown { name: asked.to_owned(), hint: suggest(base, &known) }
    })
}

fn text_of(path: &str) -> Result<String, ModelError> {
    let unreadable = |reason: String| ModelError::Unreadable { path: path.to_owned(), reason };
    let bytes = read_regular(Path::new(path), LONGEST).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))
}

/// Whether a name is that of a file, with or without a state.
fn is_file(name: &str) -> bool {
    let (path, _) = path_and_state(name);
    path.contains('/') || path.ends_with(".toml")
}

/// Splits a path from its state. A path may contain colons: the part after the last one is a state only if it could
/// be one.
fn path_and_state(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((path, state)) if !state.contains(['/', '.']) => (path, Some(state)),
        _ => (name, None),
    }
}

/// Splits a model's name from the state after its colon.
pub fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once(':') {
        Some((base, state)) => (base, Some(state)),
        None => (name, None),
    }
}
