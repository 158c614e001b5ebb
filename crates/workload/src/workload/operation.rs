//! How each operation on a mounted filesystem is carried out, and how what it did is verified.

use crate::dataset::Sharing;
use fsverdict_judgement::plan::Operation;

use super::verify::{absent, empty};
use super::{
    Done, WorkError, Workplace, age, directory, pieces, replace, replay, replayed, rotation, save,
    shared_walk, snapshot, space, stream, tree, walk,
};

/// Does the work of the site's operation. The caller times it, and syncs afterwards.
///
/// # Errors
/// When the site does not suit it, or a system call fails. The site is then in no defined state.
pub fn run(site: &mut Workplace<'_>) -> Result<Done, WorkError> {
    site.check()?;
    match site.operation {
        Operation::TreeWrite => tree::write_new(site, "write_file"),
        Operation::TreeOverwrite => tree::overwrite(site),
        Operation::TreeRead if site.threads > 1 => shared_walk::read(site),
        Operation::TreeRead => walk::read(site),
        Operation::TreeRemove => walk::remove_tree(site),
        Operation::StreamWrite => stream::write(site),
        Operation::StreamRewrite => stream::rewrite(site),
        Operation::StreamRead => stream::read(site),
        Operation::DirectoryFill => tree::write_new(site, "create_file"),
        Operation::DirectoryList => directory::list(site),
        Operation::DirectoryEmpty => directory::empty(site),
        Operation::DirectorySave => save::save(site, true),
        Operation::DirectoryReplace => save::save(site, false),
        Operation::RotationCreate => rotation::create(site),
        Operation::RotationNext => rotation::next(site, Sharing::HardLink),
        Operation::RotationClone => rotation::next(site, Sharing::Clone),
        Operation::RotationDrop => rotation::drop_oldest(site),
        Operation::CopyReflink => tree::clone_beside(site),
        Operation::AppendFsync => pieces::append(site),
        Operation::RandomRead => pieces::read(site),
        Operation::RandomWrite => pieces::write(site),
        Operation::RenameReplace => replace::replace(site),
        Operation::SpaceFill => space::fill(site),
        Operation::SpaceFree => space::free(site),
        Operation::AgePull => age::pull(site),
        Operation::AgeChurn => age::churn(site),
        Operation::TraceReplay => replay::replay(site),
        Operation::SnapshotCreate
        | Operation::SnapshotDelete
        | Operation::SnapshotRollback
        | Operation::DeviceWrite
        | Operation::DeviceRead
        | Operation::DeviceReplay
        | Operation::Sequences
        | Operation::Fsck => Err(WorkError::NotInFolder { operation: site.operation.name() }),
    }
}

/// Outside the clock, right after [`run`]: compares what is there, and what was seen, with what must be.
pub fn verify(site: &Workplace<'_>) -> Result<(), WorkError> {
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
        | Operation::SnapshotRollback => site.compare(),
        Operation::TreeRead => walk::verify_read(site),
        Operation::TreeRemove => absent(site.operation.name(), &site.target()),
        Operation::StreamRead | Operation::RandomRead => stream::verify_read(site),
        Operation::DirectoryList => directory::verify_list(site),
        Operation::DirectoryEmpty => empty(site.operation.name(), &site.target()),
        Operation::RotationCreate | Operation::RotationNext | Operation::RotationClone => {
            rotation::verify_newest(site)
        }
        Operation::RotationDrop => rotation::verify_drop(site),
        Operation::SnapshotCreate => snapshot::verify_newest(site),
        Operation::SnapshotDelete => snapshot::verify_deleted(site),
        Operation::SpaceFill => space::verify_fill(site),
        Operation::SpaceFree => space::verify_free(site),
        Operation::TraceReplay => replayed::verify(site.operation.name(), site.dataset, &site.target()),
        Operation::DeviceWrite
        | Operation::DeviceRead
        | Operation::DeviceReplay
        | Operation::Sequences
        | Operation::Fsck => Err(WorkError::NotInFolder { operation: site.operation.name() }),
    }
}
