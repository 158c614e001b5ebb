//! Stages a dataset in a folder outside the filesystem under test, which command phases find as `$TREE`.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use fsverdict_folders::{open_through_links_of, own_users, path_by_number};
use fsverdict_judgement::plan::{Dataset, OperationKind, least_space};

use super::content::Body;
use super::copy::{Copied, copy_folder};
use super::descriptor::open_path;
use super::digest::digests_below;
use super::error::{DatasetError, IoFailure};
use super::folder::{Selection, open_source, select_files};
use super::list::{list_tree, list_tree_of};
use super::prepare::{DatasetOrigin, Prepared};
use super::skipped::Skipped;
use super::tree::{Totals, Tree};
use super::write::{Manner, TreeSource, write_tree};
use super::write_probe::Untimed;

/// The maximum overhead of a file beyond its bytes: its last block, half empty, and its inode.
const BLOCK: u64 = 4096;

/// The inode alone: the memory that a tmpfs needs for a file besides its pages.
const INODE: u64 = 1024;

#[derive(Debug)]
pub struct Staged {
    /// The location: a directory, or for a file dataset the file.
    pub path: PathBuf,
    pub(crate) tree: Arc<Tree>,
    pub skipped: Skipped,
    /// Notes for the reader of the results, in sentences.
    pub notes: Vec<String>,
    digests: OnceLock<Arc<Vec<u64>>>,
}

/// The record of a staged dataset, apart from its path.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StagingRecord {
    skipped: Skipped,
    notes: Vec<String>,
    /// One digest for each file of a real folder, in the order of its listing.
    digests: Option<Vec<u64>>,
}

impl Staged {
    pub fn totals(&self) -> Totals {
        self.tree.totals()
    }

    /// The record that another process needs to [`adopt_staged`] it; reads a real folder's files once.
    pub fn staging_record(&self, prepared: &Prepared) -> Result<StagingRecord, DatasetError> {
        let failed = |failure| DatasetError::Staging { dataset: prepared.name.clone(), failure };
        let digests = match &prepared.origin {
            DatasetOrigin::Generated { .. } => None,
            DatasetOrigin::Folder { .. } => Some(self.read_digests().map_err(failed)?.to_vec()),
        };
        Ok(StagingRecord { skipped: self.skipped, notes: self.notes.clone(), digests })
    }

    /// The digests of its files, which are read once.
    pub(crate) fn read_digests(&self) -> Result<&Arc<Vec<u64>>, IoFailure> {
        match self.digests.get() {
            Some(digests) => Ok(digests),
            None => {
                let digests = Arc::new(digests_below(&self.tree, &self.path)?);
                Ok(self.digests.get_or_init(|| digests))
            }
        }
    }
}

/// Makes the dataset real at `destination`, which must not exist; its parent must.
///
/// Trees, flat directories and folders become a directory, a file dataset a regular file. Of a real folder the part is
/// taken that was `selected`, or is selected now.
pub fn stage_dataset(
    prepared: &Prepared,
    destination: &Path,
    selected: Option<&Selection>,
) -> Result<Staged, DatasetError> {
    let staging = |failure| DatasetError::Staging { dataset: prepared.name.clone(), failure };
    let failed = |call, errno| staging(IoFailure::new(call, destination.display().to_string(), errno));
    let ready = |tree| Staged {
        path: destination.into(),
        tree,
        skipped: Skipped::default(),
        notes: Vec::new(),
        digests: OnceLock::new(),
    };
    if prepared.kind == OperationKind::File {
        let DatasetOrigin::Generated { tree, content } = &prepared.origin else {
            return Err(DatasetError::NotStaged { dataset: prepared.name.clone() });
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::open(destination, flags, Mode::from_raw_mode(0o644))
            .map_err(|errno| failed("create", errno))?;
        let size = tree.totals().bytes;
        content
            .write_all(file.as_fd(), &Body { identity: 0, generation: 0, size })
            .map_err(|errno| failed("write", errno))?;
        return Ok(ready(Arc::clone(tree)));
    }
    rustix::fs::mkdir(destination, Mode::from_raw_mode(0o755))
        .map_err(|errno| failed("make the directory", errno))?;
    let target = open_path(destination).map_err(|errno| failed("open the directory", errno))?;
    match &prepared.origin {
        DatasetOrigin::Generated { tree, content } => {
            let source = TreeSource::Generated { content, generation: 0 };
            write_tree(tree, source, target.as_fd(), Manner::Create, &mut Untimed)
                .map_err(|failure| staging(failure.prefix_path(destination)))?;
            Ok(ready(Arc::clone(tree)))
        }
        DatasetOrigin::Folder { path, wanted } => {
            let unusable = |errno| DatasetError::Folder {
                dataset: prepared.name.clone(),
                path: path.display().to_string(),
                errno,
            };
            let source = open_source(path).map_err(unusable)?;
            let selection = match (selected, wanted) {
                (Some(selected), _) => selected.clone(),
                (None, Some(wanted)) => {
                    let selection = select_files(source.as_fd(), *wanted).map_err(unusable)?;
                    // Listing moved the directory's position to its end; the copy lists it again.
                    rustix::fs::seek(&source, SeekFrom::Start(0)).map_err(unusable)?;
                    selection
                }
                (None, None) => Selection::All,
            };
            let Copied { tree, digests, skipped } =
                copy_folder(source.as_fd(), target.as_fd(), &selection)
                    .map_err(|failure| staging(failure.prefix_path(destination)))?;
            let digests = OnceLock::from(Arc::new(digests));
            let mut staged = Staged { skipped, digests, ..ready(Arc::new(tree)) };
            staged.notes = staging_notes(prepared, &staged, *wanted);
            staged.notes.extend(share_note(prepared, &staged, &selection));
            Ok(staged)
        }
    }
}

/// Bytes a dataset takes at most once it is staged.
///
/// A real folder without a stated size is measured.
///
/// # Errors
/// If such a folder cannot be read, with its path.
pub fn room_for(spec: &Dataset) -> Result<u64, IoFailure> {
    let blocks = |files: u64| files.saturating_mul(BLOCK);
    Ok(match spec {
        Dataset::Tree(shape) => shape.size.0.saturating_add(blocks(shape.files + shape.directories)),
        Dataset::Folder { path, size: None } => {
            let Totals { bytes, files, directories, .. } = list_named_folder(path)?.totals();
            bytes.saturating_add(blocks(files + directories))
        }
        // Whole subdirectories are taken: up to an eighth more than asked for.
        Dataset::Folder { size: Some(size), .. } => size.0.saturating_add(size.0 / 8),
        Dataset::Flat { files, .. } => least_space(spec).saturating_add(files.saturating_mul(INODE)),
        Dataset::File { .. } => least_space(spec),
        Dataset::Trace { calls } => {
            calls.totals().bytes.saturating_add(blocks(calls.names().len() as u64 + 1))
        }
    })
}

/// The tree in a folder that a plan names, through links of trusted users. It is empty where a link of another user
/// leads there: staging refuses that link by name.
fn list_named_folder(path: &Path) -> Result<Tree, IoFailure> {
    let unusable = |errno| IoFailure::new("open the directory", path.display().to_string(), errno);
    let folder = match open_through_links_of(Some(&own_users()), path) {
        Ok(folder) => folder,
        Err(error) => {
            return Errno::from_io_error(&error)
                .map_or_else(|| Ok(Tree::default()), |errno| Err(unusable(errno)));
        }
    };
    let root = open_source(&path_by_number(&folder)).map_err(unusable)?;
    list_tree_of(root.as_fd()).map_err(|failure| failure.prefix_path(path))
}

/// Adopts a dataset that another process staged at `path`, by its record.
pub fn adopt_staged(prepared: &Prepared, path: &Path, record: StagingRecord) -> Result<Staged, DatasetError> {
    let staging = |failure| DatasetError::Staging { dataset: prepared.name.clone(), failure };
    let tree = match &prepared.origin {
        DatasetOrigin::Generated { tree, .. } => Arc::clone(tree),
        DatasetOrigin::Folder { .. } => Arc::new(list_tree(path).map_err(staging)?),
    };
    let StagingRecord { skipped, notes, digests } = record;
    if digests.as_ref().is_some_and(|digests| digests.len() != tree.entries.len()) {
        let changed = IoFailure::new("find all of", path.display().to_string(), rustix::io::Errno::STALE);
        return Err(staging(changed));
    }
    let known = OnceLock::new();
    if let Some(digests) = digests {
        let _ = known.set(Arc::new(digests));
    }
    Ok(Staged { path: path.into(), tree, skipped, notes, digests: known })
}

/// Which share of a folder was taken, where it is not all of it.
fn share_note(prepared: &Prepared, staged: &Staged, selection: &Selection) -> Option<String> {
    let Selection::Some { folder, .. } = selection else { return None };
    let taken = staged.totals();
    let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    (taken.bytes < folder.bytes || taken.files < folder.files).then(|| {
        format!(
            "dataset `{}`: a sample of the folder was used: {} of {} bytes ({:.2} %) and {} of {} files ({:.2} %)",
            prepared.name,
            taken.bytes,
            folder.bytes,
            share(taken.bytes, folder.bytes),
            taken.files,
            folder.files,
            share(taken.files, folder.files),
        )
    })
}

fn staging_notes(prepared: &Prepared, staged: &Staged, wanted: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    let name = &prepared.name;
    if !staged.skipped.is_empty() {
        notes.push(format!("dataset `{name}`: {}", staged.skipped));
    }
    let bytes = staged.totals().bytes;
    if let Some(wanted) = wanted.filter(|wanted| bytes < wanted - wanted / 5 || bytes > wanted + wanted / 5) {
        notes.push(format!(
            "dataset `{name}`: {wanted} bytes were asked for, but what could be taken of the folder made {bytes}"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::room_for;
    use fsverdict_judgement::plan::Dataset;

    /// Such a folder counted as empty, so that the forecast was silently too low.
    #[test]
    fn a_folder_that_cannot_be_read_is_named() {
        let missing = tempfile::tempdir().unwrap().path().join("gone");
        let failure = room_for(&Dataset::Folder { path: missing.clone(), size: None }).unwrap_err();
        assert!(failure.to_string().contains(&missing.display().to_string()), "{failure}");
    }

    /// A link to the folder was an error, and had counted as an empty folder before.
    #[test]
    fn a_folder_is_measured_through_a_link_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (data, link) = (folder.path().join("data"), folder.path().join("link"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("page"), [0; 9000]).unwrap();
        std::os::unix::fs::symlink(&data, &link).unwrap();
        let room = |path| room_for(&Dataset::Folder { path, size: None }).unwrap();
        assert!(room(link) >= 9000);
        assert!(room(data) >= 9000);
    }
}
