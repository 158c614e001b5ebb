//! Dispatches each operation on a mounted filesystem, and its verification.

use crate::dataset::Sharing;
use fsverdict_judgement::plan::Operation;

use super::ledger::Remains;
use super::verify::{verify_absent, verify_empty};
use super::{
    OperationResult, WorkError, Workplace, age, directory, pieces, replace, replay, replayed, rotation, save,
    shared_walk, snapshot, space, stream, tree, walk,
};

type RunFunction = fn(&mut Workplace<'_>) -> Result<OperationResult, WorkError>;
type VerifyFunction = fn(&Workplace<'_>) -> Result<(), WorkError>;

/// How each operation is carried out in a folder, and how its result is verified.
fn implementation_of(operation: Operation) -> (RunFunction, VerifyFunction) {
    let compare: VerifyFunction = |site| site.compare_with_expected();
    match operation {
        Operation::TreeWrite => (|site| tree::write_new(site, "write_file"), compare),
        Operation::TreeOverwrite => (tree::overwrite_tree, compare),
        Operation::TreeRead => (read_tree, walk::verify_read),
        Operation::TreeRemove => {
            (walk::remove_and_note, |site| verify_absent(site.operation.name(), &site.target_path()))
        }
        Operation::StreamWrite => (stream::write_file, compare),
        Operation::StreamRewrite => (stream::rewrite_file, compare),
        Operation::StreamRead => (stream::read_file, stream::verify_read),
        Operation::DirectoryFill => (|site| tree::write_new(site, "create_file"), compare),
        Operation::DirectoryList => (directory::list_names, directory::verify_list),
        Operation::DirectoryEmpty => {
            (directory::empty_directory, |site| verify_empty(site.operation.name(), &site.target_path()))
        }
        Operation::DirectorySave => (|site| save::save_files(site, true), compare),
        Operation::DirectoryReplace => (|site| save::save_files(site, false), compare),
        Operation::RotationCreate => (rotation::create_first, rotation::verify_newest),
        Operation::RotationNext => (|site| rotation::next(site, Sharing::HardLink), rotation::verify_newest),
        Operation::RotationClone => (|site| rotation::next(site, Sharing::Clone), rotation::verify_newest),
        Operation::RotationDrop => (rotation::drop_oldest, rotation::verify_drop),
        Operation::CopyReflink => (tree::clone_beside, compare),
        Operation::AppendFsync => (pieces::append_fsync, compare),
        Operation::RandomRead => (pieces::random_read, stream::verify_read),
        Operation::RandomWrite => (pieces::random_write, compare),
        Operation::RenameReplace => (replace::rename_replace, compare),
        Operation::SpaceFill => (space::fill_space, space::verify_fill),
        Operation::SpaceFree => (space::free_space, space::verify_free),
        Operation::AgePull => (age::pull_changes, compare),
        Operation::AgeChurn => (age::churn_files, compare),
        Operation::TraceReplay => (replay::replay_trace, |site| {
            let Remains::Replayed(periods) = site.known_entry().remains else {
                return Err(site.not_written_error());
            };
            let (operation, at) = (site.operation.name(), site.target_path());
            replayed::verify_replayed_files(operation, site.dataset, periods, &at)
        }),
        // The filesystem's own programs do the work.
        Operation::SnapshotCreate => (not_in_folder, snapshot::verify_newest),
        Operation::SnapshotDelete => (not_in_folder, snapshot::verify_deleted),
        Operation::SnapshotRollback => (not_in_folder, compare),
        // A stream is verified where it is received.
        Operation::SnapshotSend => (not_in_folder, |_| Ok(())),
        Operation::SnapshotReceive => (not_in_folder, snapshot::verify_received),
        Operation::DeviceWrite
        | Operation::DeviceRead
        | Operation::DeviceReplay
        | Operation::Sequences
        | Operation::Fsck => (not_in_folder, |site| Err(not_in_folder_error(site))),
    }
}

/// Does the work of the site's operation. The caller times it, and syncs afterwards.
///
/// # Errors
/// When the site does not suit it, or a system call fails. The site is then in no defined state.
pub fn run_operation(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    site.validate()?;
    implementation_of(site.operation).0(site)
}

/// Verifies the result of [`run_operation`], outside the clock: compares the files, and the data that were read, with
/// the expected ones.
pub fn verify_operation(site: &Workplace<'_>) -> Result<(), WorkError> {
    implementation_of(site.operation).1(site)
}

fn read_tree(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    if site.threads > 1 { shared_walk::read_tree(site) } else { walk::read_tree(site) }
}

fn not_in_folder(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    Err(not_in_folder_error(site))
}

fn not_in_folder_error(site: &Workplace<'_>) -> WorkError {
    WorkError::NotInFolder { operation: site.operation.name() }
}
