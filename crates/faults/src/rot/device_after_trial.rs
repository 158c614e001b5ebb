//! The device after a trial, and the use of its blocks.

use std::collections::BTreeMap;

use fsverdict_disk::crash::RottenImage;
use fsverdict_disk::device::Store;
use fsverdict_judgement::journal::{BlockUse, ReadingStopped};

/// A candidate's device when its trial had ended.
pub(super) struct DeviceAfterTrial {
    pub(super) store: Store,
    pub(super) image: RottenImage,
    pub(super) held: BTreeMap<u64, BlockUse>,
    /// Where the reading of its layout stopped, if it did not come to its end.
    pub(super) stopped: Option<ReadingStopped>,
}
