//! The models: what is known of a kind of device, with the source of each number.

use super::limits::Limits;

/// Why there is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No model has this name.
    #[error("there is no model `{name}`\nhint: {hint}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// The model does not stretch to this size.
    #[error("the model {name} cannot be {wanted_bytes} bytes large: {reason}\nhint: {hint}")]
    Size {
        /// The model.
        name: String,
        /// The size asked for, in bytes.
        wanted_bytes: u64,
        /// Why not.
        reason: String,
        /// What to do.
        hint: String,
    },
}

/// A kind of device.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    name: String,
}

impl Model {
    /// The model of this name, with its state where it has several (`sata-ssd:steady`).
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Model, ModelError> {
        let known = ["ideal"];
        if known.contains(&name) {
            Ok(Model { name: name.to_owned() })
        } else {
            Err(ModelError::Unknown { name: name.to_owned(), hint: crate::plan::suggest(name, &known) })
        }
    }

    /// The name it is asked for by, state included.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the guest must be given for a device of this model.
    pub fn limits(&self, size_bytes: u64) -> Limits {
        Limits {
            size_bytes,
            queue_depth: 256,
            max_sectors_kb: 1280,
            rotational: false,
            logical_block: 512,
            physical_block: 4096,
            discard: None,
            write_zeroes: false,
            volatile_cache: false,
        }
    }
}
