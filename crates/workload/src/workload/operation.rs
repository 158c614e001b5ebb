//! Dispatches each operation on a mounted filesystem, and its verification.

use crate::dataset::Sharing;
use fsverdict_judgement::plan::Operation;

use super::verify::{verify_absent, verify_empty};
use super::{
    OperationResult, WorkError, Workplace, age, directory, pieces, replace, replay, replayed, rotation, save,
    shared_walk, snapshot, space, stream, tree, walk,
};

/// Does the work of the site's operation. The caller times it, and syncs afterwards.
///
/// # Errors
/// When the site does not suit it, or a system call fails. The site is then in no defined state.
pub fn run_operation(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    site.validate()?;
    match site.operation {
        Operation::TreeWrite => tree::write_new(site, "write_file"),
        Operation::TreeOverwrite => tree::overwrite_tree(site),
        Operation::TreeRead if site.threads > 1 => shared_walk::read_tree(site),
        Operation::TreeRead => walk::read_tree(site),
        Operation::TreeRemove => walk::remove_and_note(site),
        Operation::StreamWrite => stream::write_file(site),
        Operation::StreamRewrite => stream::rewrite_file(site),
        Operation::StreamRead => stream::read_file(site),
        Operation::DirectoryFill => tree::write_new(site, "create_file"),
        Operation::DirectoryList => directory::list_names(site),
        Operation::DirectoryEmpty => directory::empty_directory(site),
        Operation::DirectorySave => save::save_files(site, true),
        Operation::DirectoryReplace => save::save_files(site, false),
        Operation::RotationCreate => rotation::create_first(site),
        Operation::RotationNext => rotation::next(site, Sharing::HardLink),
        Operation::RotationClone => rotation::next(site, Sharing::Clone),
        Operation::RotationDrop => rotation::drop_oldest(site),
        Operation::CopyReflink => tree::clone_beside(site),
        Operation::AppendFsync => pieces::append_fsync(site),
        Operation::RandomRead => pieces::random_read(site),
        Operation::RandomWrite => pieces::random_write(site),
        Operation::RenameReplace => replace::rename_replace(site),
        Operation::SpaceFill => space::fill_space(site),
        Operation::SpaceFree => space::free_space(site),
        Operation::AgePull => age::pull_changes(site),
        Operation::AgeChurn => age::churn_files(site),
        Operation::TraceReplay => replay::replay_trace(site),
        Operation::SnapshotCreate
        | Operation::SnapshotDelete
        | Operation::SnapshotRollback
        | Operation::SnapshotSend
        | Operation::SnapshotReceive
        | Operation::DeviceWrite
        | Operation::DeviceRead
        | Operation::DeviceReplay
        | Operation::Sequences
        | Operation::Fsck => Err(WorkError::NotInFolder { operation: site.operation.name() }),
    }
}

/// Verifies the result of [`run_operation`], outside the clock: compares the files, and the data that were read, with
/// the expected ones.
pub fn verify_operation(site: &Workplace<'_>) -> Result<(), WorkError> {
    match site.operation {
        Operation::TreeWrite
        | Operation::CopyReflink
        | Operation::TreeOverwrite
        | Operation::StreamWrite
        | Operation::StreamRewrite
        | Operation::DirectoryFill
        | Operation::DirectorySave
        | Operation::DirectoryReplace
        | Operation::AppendFsync
        | Operation::RandomWrite
        | Operation::RenameReplace
        | Operation::AgePull
        | Operation::AgeChurn
        | Operation::SnapshotRollback => site.compare_with_expected(),
        Operation::TreeRead => walk::verify_read(site),
        Operation::TreeRemove => verify_absent(site.operation.name(), &site.target_path()),
        Operation::StreamRead | Operation::RandomRead => stream::verify_read(site),
        Operation::DirectoryList => directory::verify_list(site),
        Operation::DirectoryEmpty => verify_empty(site.operation.name(), &site.target_path()),
        Operation::RotationCreate | Operation::RotationNext | Operation::RotationClone => {
            rotation::verify_newest(site)
        }
        Operation::RotationDrop => rotation::verify_drop(site),
        Operation::SnapshotCreate => snapshot::verify_newest(site),
        // What was sent is verified where it is received.
        Operation::SnapshotSend => Ok(()),
        Operation::SnapshotReceive => snapshot::verify_received(site),
        Operation::SnapshotDelete => snapshot::verify_deleted(site),
        Operation::SpaceFill => space::verify_fill(site),
        Operation::SpaceFree => space::verify_free(site),
        Operation::TraceReplay => {
            replayed::verify_replayed_files(site.operation.name(), site.dataset, &site.target_path())
        }
        Operation::DeviceWrite
        | Operation::DeviceRead
        | Operation::DeviceReplay
        | Operation::Sequences
        | Operation::Fsck => Err(WorkError::NotInFolder { operation: site.operation.name() }),
    }
}
