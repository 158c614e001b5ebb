//! `snapshot.create`, `snapshot.delete`, `snapshot.receive`: verify the content of snapshots. The filesystem's own programs make them.

use super::verify::{verify_absent, verify_entry};
use super::{KeptSnapshot, WorkError, Workplace};

/// The newest snapshot contains the dataset as it was in the folder.
pub(super) fn verify_newest(site: &Workplace<'_>) -> Result<(), WorkError> {
    let operation = site.operation.name();
    let newest = site.ledger.snapshots.last().ok_or(WorkError::NoSnapshot { operation })?;
    verify_dataset(site, newest)
}

/// What was received contains the dataset as it was when the snapshot that was sent was made.
pub(super) fn verify_received(site: &Workplace<'_>) -> Result<(), WorkError> {
    let operation = site.operation.name();
    let received = site.ledger.received.as_ref().ok_or(WorkError::NoSnapshot { operation })?;
    verify_dataset(site, received)
}

fn verify_dataset(site: &Workplace<'_>, snapshot: &KeptSnapshot) -> Result<(), WorkError> {
    let operation = site.operation.name();
    let mut dataset_folders =
        snapshot.expected_folders(site.mount).filter(|(_, entry)| entry.dataset == site.dataset.name);
    dataset_folders.try_for_each(|(at, entry)| verify_entry(operation, entry, site.dataset, site.staged, &at))
}

/// Verifies that the deleted snapshot is no longer visible.
pub(super) fn verify_deleted(site: &Workplace<'_>) -> Result<(), WorkError> {
    let shown = site.ledger.given_up.as_ref().and_then(|one| one.shown.as_ref());
    shown.map_or(Ok(()), |shown| verify_absent(site.operation.name(), &site.mount.join(shown)))
}
