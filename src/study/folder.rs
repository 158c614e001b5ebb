//! The folder of a run: creates and opens it, and holds the resolved plan, the journal and the reports. Another user
//! may own the folder, so all access goes through its file descriptor.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fsverdict_folders::{FolderFile, FolderHandle};
use fsverdict_judgement::journal::{FILE_NAME, JournalError, Writer};
use fsverdict_judgement::plan::{Plan, digest};
use fsverdict_text::Hinted;

/// The resolved plan's file name within the folder of a run.
pub const PLAN_FILE: &str = "plan.json";

/// The maximum size of a plan file, in bytes (4 MiB); a longer file is rejected.
pub const LONGEST_PLAN: u64 = 4 << 20;

/// The limit on folders with one name (`NAME`, `NAME-2`, …); runs of one plan that begin in the same second share the
/// name.
const MOST_OF_A_NAME: u32 = 1000;

/// Why the folder of a run cannot be created or read.
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    #[error("cannot make the folder of the run {}: {source}", path.display())]
    Make { path: PathBuf, source: std::io::Error },
    #[error("{} already holds a run", .0.display())]
    Taken(PathBuf),
    #[error("{} holds runs, of which the latest is {}", path.display(), latest.display())]
    HoldsRuns { path: PathBuf, latest: PathBuf },
    #[error("{} is not the folder of a run: {PLAN_FILE}: {source}", path.display())]
    NotARun { path: PathBuf, source: std::io::Error },
    #[error("there is no folder {}", .0.display())]
    NotThere(PathBuf),
    #[error("{} is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
}

/// Which folder a run is to use.
#[derive(Debug, Clone)]
pub enum FolderRequest {
    /// Exactly this folder.
    Named(PathBuf),
    /// A folder of this name or, if it is taken, the first free name after it; the user named none.
    Unnamed(PathBuf),
}

impl Hinted for RunFolderError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            RunFolderError::Make { source, .. } | RunFolderError::NotARun { source, .. } if source.hint().is_some() => {
                return source.hint();
            }
            RunFolderError::Make { .. } => "name one you may write to with --out DIR".to_owned(),
            RunFolderError::Taken(it) => format!("`fsverdict resume {}` carries it on; --out DIR names another folder", it.display()),
            RunFolderError::HoldsRuns { path, .. } => {
                format!("give the new run a folder of its own there: --out {}", path.join("NAME").display())
            }
            RunFolderError::NotARun { path, .. } | RunFolderError::NotThere(path) => hint_of_runs(path),
            RunFolderError::Damaged { .. } => "it was the plan of a run, written before its first trial; a copy made of it earlier puts it right".to_owned(),
        })
    }
}

/// The open folder of a run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    handle: FolderHandle,
    plan_digest: String,
}

/// An existing run with its folder and plan, as they were when they were opened.
#[derive(Debug)]
pub struct OpenedRun {
    pub folder: RunFolder,
    pub plan: Plan,
    /// The metadata of the folder and of the plan file that were read; other files may have these names by now.
    pub folder_seen: Metadata,
    pub plan_seen: Metadata,
}

impl RunFolder {
    /// Creates the folder and writes the resolved plan into it.
    ///
    /// Creates the folder. One from a run that ended before its first record is reused: it holds nothing to resume.
    pub fn create(path: &Path, plan: &Plan) -> Result<Self, RunFolderError> {
        let taken_over = Self::has_plan(path);
        Self::create_folder(path, plan, taken_over, FolderHandle::open_or_create)
    }

    /// Like [`Self::create`], but never replaces an existing plan. Of several processes that call this at once,
    /// exactly one creates the run.
    pub fn create_new(path: &Path, plan: &Plan) -> Result<Self, RunFolderError> {
        Self::create_folder(path, plan, false, FolderHandle::open_or_create)
    }

    /// Creates a folder that no user named: of this name or, if it is taken, of this name with `-2`, `-3` and so on appended.
    pub fn create_free(path: &Path, plan: &Plan) -> Result<Self, RunFolderError> {
        let next = |number: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!("-{number}"));
            PathBuf::from(name)
        };
        let create =
            |path: &Path| Self::create_folder(path, plan, false, FolderHandle::open_or_create_unnamed);
        let mut made = create(path);
        for number in 2..MOST_OF_A_NAME {
            match made {
                Err(RunFolderError::Taken(_)) => made = create(&next(number)),
                other => return other,
            }
        }
        made
    }

    /// Creates the folder that the request asks for.
    pub fn create_requested(wanted: &FolderRequest, plan: &Plan) -> Result<Self, RunFolderError> {
        match wanted {
            FolderRequest::Named(path) => match latest_run_in(path).filter(|_| !Self::has_plan(path)) {
                Some(latest) => Err(RunFolderError::HoldsRuns { path: path.clone(), latest }),
                None => Self::create(path, plan),
            },
            FolderRequest::Unnamed(path) => Self::create_free(path, plan),
        }
    }

    fn create_folder(
        path: &Path,
        plan: &Plan,
        taken_over: bool,
        open: impl Fn(&Path) -> io::Result<FolderHandle>,
    ) -> Result<Self, RunFolderError> {
        let make = |source| RunFolderError::Make { path: path.to_owned(), source };
        let handle = open(path).map_err(make)?;
        let folder = RunFolder { handle, plan_digest: digest(plan) };
        if !is_free(&folder.handle).map_err(make)? {
            return Err(RunFolderError::Taken(path.to_owned()));
        }
        let text = serde_json::to_string_pretty(plan).map_err(|error| make(error.into()))?;
        if text.len() as u64 >= LONGEST_PLAN {
            let message =
                format!("spelled out, the plan has {} bytes, and may have {LONGEST_PLAN}", text.len());
            return Err(make(io::Error::new(io::ErrorKind::FileTooLarge, message)));
        }
        let file = folder.handle.file(PLAN_FILE);
        let made = if taken_over {
            file.replace(|file| file.write_all(text.as_bytes())).map(|()| true)
        } else {
            file.put_new(text.as_bytes())
        };
        if made.map_err(make)? { Ok(folder) } else { Err(RunFolderError::Taken(path.to_owned())) }
    }

    /// Whether the folder at this path has a plan.
    pub fn has_plan(path: &Path) -> bool {
        FolderHandle::open(path).is_ok_and(|handle| handle.file(PLAN_FILE).is_taken())
    }

    /// Opens an existing run and reads its plan.
    pub fn open(path: &Path) -> Result<(Self, Plan), RunFolderError> {
        Self::open_seen(path).map(|opened| (opened.folder, opened.plan))
    }

    /// Like [`Self::open`], and also returns the metadata of the folder and the plan file, which tells their owners.
    pub fn open_seen(path: &Path) -> Result<OpenedRun, RunFolderError> {
        let handle = FolderHandle::open(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => RunFolderError::NotThere(path.to_owned()),
            _ => RunFolderError::NotARun { path: path.to_owned(), source },
        })?;
        let (plan, plan_seen) = read_plan(&handle)?;
        let folder_seen =
            handle.metadata().map_err(|source| RunFolderError::NotARun { path: path.to_owned(), source })?;
        let folder = RunFolder { handle, plan_digest: digest(&plan) };
        Ok(OpenedRun { folder, plan, folder_seen, plan_seen })
    }

    /// The handle of the folder, through which all files in it are opened.
    pub fn handle(&self) -> &FolderHandle {
        &self.handle
    }

    /// The path by which the folder was opened: for messages, and for programs that accept only a path.
    pub fn path(&self) -> &Path {
        self.handle.path()
    }

    /// A file of this name in the folder.
    pub fn file(&self, name: &str) -> FolderFile {
        self.handle.file(name)
    }

    pub fn journal(&self) -> FolderFile {
        self.handle.file(FILE_NAME)
    }

    /// The digest of the run's plan. It is computed when the folder is created or opened, and nowhere else.
    pub fn plan_digest(&self) -> &str {
        &self.plan_digest
    }

    /// The folder's name, which identifies the run.
    pub fn id(&self) -> String {
        let path = self.handle.real_path().unwrap_or_else(|_| self.path().to_owned());
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// A hint that names the latest run beside this path, for a user who named a path without a run.
pub fn hint_of_runs(path: &Path) -> String {
    match latest_run_beside(path) {
        Some(run) => format!("the latest run there is {}", run.display()),
        None => "`fsverdict run` says where it puts its runs (runs/… by default)".to_owned(),
    }
}

/// The run that was begun last in this folder, beside it, or in the folder `runs`; `None` if these have none.
fn latest_run_beside(path: &Path) -> Option<PathBuf> {
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    [path, beside, Path::new("runs")].into_iter().find_map(latest_run_in)
}

/// The run that was begun last of those in this folder.
fn latest_run_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let begun = |run: &PathBuf| std::fs::metadata(run.join(PLAN_FILE)).and_then(|plan| plan.modified()).ok();
    let latest = entries.filter(|entry| RunFolder::has_plan(entry)).max_by_key(begun)?;
    Some(latest.strip_prefix(".").map(Path::to_owned).unwrap_or(latest))
}

/// Whether the folder holds neither a run with records nor a foreign file with the plan's name. Removes a journal
/// without a record.
fn is_free(folder: &FolderHandle) -> std::io::Result<bool> {
    if folder.file(PLAN_FILE).is_taken() && read_plan(folder).is_err() {
        return Ok(false);
    }
    let journal = folder.file(FILE_NAME);
    let mut records = 0;
    match Writer::append_to(&journal, |_| records += 1) {
        // The lock is held here: a process that holds it may be about to write its first record.
        Ok(_lock) if records == 0 => {
            journal.remove()?;
            Ok(true)
        }
        Err(JournalError::NoRun { .. }) => Ok(true),
        Ok(_) | Err(_) => Ok(false),
    }
}

/// Reads the plan, and returns it with the metadata of its file.
fn read_plan(folder: &FolderHandle) -> Result<(Plan, Metadata), RunFolderError> {
    let place = folder.file(PLAN_FILE);
    let not = |source: io::Error| RunFolderError::NotARun { path: folder.path().to_owned(), source };
    let file = place.open().map_err(not)?;
    let metadata = file.metadata().map_err(not)?;
    let plan = serde_json::from_str(&read_text(file).map_err(not)?)
        .map_err(|error| RunFolderError::Damaged { path: place.path(), reason: error.to_string() })?;
    Ok((plan, metadata))
}

/// Reads a whole file as text; fails if it is [`LONGEST_PLAN`] bytes or longer.
fn read_text(file: impl Read) -> io::Result<String> {
    let mut text = String::new();
    if file.take(LONGEST_PLAN).read_to_string(&mut text)? as u64 == LONGEST_PLAN {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FolderRequest, RunFolder, RunFolderError};
    use fsverdict_judgement::plan::Plan;
    use fsverdict_text::Hinted;

    #[test]
    fn a_folder_without_a_record_is_taken_over_and_no_other() {
        let place = tempfile::tempdir().unwrap();
        let plan: Plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        let create = || RunFolder::create(place.path(), &plan);
        let folder = create().unwrap();
        let first = include_str!("../../tests/runs/demo/journal.jsonl").lines().next().unwrap();
        for left in ["", "{\"at\":\"2026-", first] {
            fs::write(folder.journal().path(), left).unwrap();
            create().unwrap();
            assert!(!folder.journal().path().exists(), "{left}");
            assert_eq!(RunFolder::open(place.path()).unwrap().1, plan);
        }
        fs::write(folder.journal().path(), format!("{first}\n")).unwrap();
        assert!(matches!(create(), Err(RunFolderError::Taken(_))));
        fs::write(folder.journal().path(), "not ours\n{}\n").unwrap();
        assert!(matches!(create(), Err(RunFolderError::Taken(_))));
        fs::remove_file(folder.journal().path()).unwrap();
        fs::write(place.path().join("plan.json"), "{\"somebody\": \"else\"}").unwrap();
        assert!(matches!(create(), Err(RunFolderError::Taken(_))));
    }

    #[test]
    fn a_folder_of_runs_does_not_become_a_run() {
        let place = tempfile::tempdir().unwrap();
        let plan: Plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        let named =
            |path: std::path::PathBuf| RunFolder::create_requested(&FolderRequest::Named(path), &plan);
        named(place.path().join("first")).unwrap();
        named(place.path().join("first")).unwrap();
        let error = named(place.path().to_owned()).unwrap_err();
        assert!(error.to_string().contains("first"), "{error}");
        assert!(error.hint().unwrap().contains("/NAME"), "{error}");
        assert!(!RunFolder::has_plan(place.path()));
    }

    #[test]
    fn runs_of_one_plan_that_begin_in_the_same_second_have_folders_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("mine-20260101-000000");
        let plan: Plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        let ids: Vec<String> = std::thread::scope(|scope| {
            let begun: Vec<_> =
                (0..4).map(|_| scope.spawn(|| RunFolder::create_free(&path, &plan).unwrap().id())).collect();
            begun.into_iter().map(|begun| begun.join().unwrap()).collect()
        });
        let mut ids = ids;
        ids.sort();
        assert_eq!(ids, ["", "-2", "-3", "-4"].map(|end| format!("mine-20260101-000000{end}")));
    }
}
