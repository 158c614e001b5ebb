//! Quantities with units, as people write them in a plan.

use serde::{Deserialize, Serialize};

/// A size in bytes. In TOML a string with a unit (`"4GiB"`, `"2GB"`, `"64 KiB"`); in JSON a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);
