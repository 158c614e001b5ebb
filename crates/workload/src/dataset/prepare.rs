//! From the plan's words to a dataset laid out in memory.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use fsverdict_calls::CallTrace;

use fsverdict_judgement::plan::{Dataset, OperationKind, TreeShape};

use super::content::Content;
use super::error::DatasetError;
use super::generate::{Shape, count_repeats, flat_tree, generate_tree};
use super::list::single_file_tree;
use super::profile::profile_by_name;
use super::sizes::LARGEST_SHARE;
use super::traced::tree_from_trace;
use super::tree::{Totals, Tree};

#[derive(Debug)]
pub(crate) enum DatasetOrigin {
    Generated { tree: Arc<Tree>, content: Arc<Content> },
    Folder { path: PathBuf, wanted: Option<u64> },
}

/// A dataset laid out in memory (generated), or found to be there (a real folder).
#[derive(Debug)]
pub struct Prepared {
    pub name: String,
    pub kind: OperationKind,
    pub(crate) origin: DatasetOrigin,
    /// The calls that are made of it, where it is a trace.
    pub(crate) calls: Option<Arc<CallTrace>>,
    /// Notes for the reader of the results, in sentences.
    pub notes: Vec<String>,
}

impl Prepared {
    /// How much there is of everything; `None` for a real folder, where it is known once staged.
    pub fn totals(&self) -> Option<Totals> {
        match &self.origin {
            DatasetOrigin::Generated { tree, .. } => Some(tree.totals()),
            DatasetOrigin::Folder { .. } => None,
        }
    }

    /// Whether built-in operations need it staged first, as those on a real folder do.
    pub fn needs_staging(&self) -> bool {
        self.kind == OperationKind::Folder
    }
}

/// Lays out the dataset `name`. Generated ones follow from `name`, `spec` and `seed` alone and touch no disk.
pub fn prepare_dataset(name: &str, spec: &Dataset, seed: u64) -> Result<Prepared, DatasetError> {
    prepare_with_names(name, spec, seed, seed)
}

/// The same with names of files and directories that follow from a seed of their own.
pub fn prepare_with_names(
    name: &str,
    spec: &Dataset,
    seed: u64,
    names: u64,
) -> Result<Prepared, DatasetError> {
    let [seed, names] = [seed, names].map(|seed| super::random::RandomStream::new(seed, name).next());
    let impossible = |problem, hint| DatasetError::Impossible { dataset: name.into(), problem, hint };
    let too_many = || impossible("more than 4 GiB of names".into(), "ask for fewer files");
    let count = |what, number: u64| {
        u32::try_from(number)
            .map_err(|_| impossible(format!("{number} {what} are more than {}", u32::MAX), "ask for fewer"))
    };
    let share = |what, value: f64| {
        let good = (0.0..=1.0).contains(&value);
        let wrong = || impossible(format!("{what} = {value} is not a share"), "give a number from 0 to 1");
        good.then_some(value).ok_or_else(wrong)
    };
    let mut notes = Vec::new();
    let generated = |tree, compressible| DatasetOrigin::Generated {
        tree: Arc::new(tree),
        content: Arc::new(Content::new(seed, compressible)),
    };
    let origin = match spec {
        Dataset::Tree(asked) => {
            let known = profile_by_name(&asked.profile).ok_or_else(|| DatasetError::UnknownProfile {
                dataset: name.into(),
                profile: asked.profile.clone(),
            })?;
            let shape = Shape {
                profile: known,
                files: count("files", asked.files)?,
                directories: count("directories", asked.directories)?,
                bytes: asked.size.0,
                duplicates: share("duplicates", asked.duplicates.unwrap_or(known.duplicates))?,
                hard_links: share("hard_links", asked.linked().unwrap_or(known.hard_links))?,
                sizes: &asked.sizes,
                form: &asked.form,
            };
            if let Some((problem, hint)) = find_contradiction(asked, &shape) {
                return Err(impossible(problem, hint));
            }
            let compressible = share("compressible", asked.compressible.unwrap_or(known.compressible))?;
            let made = generate_tree(&shape, seed, names).ok_or_else(too_many)?;
            if made.capped > 0 {
                let cut = match made.capped {
                    1 => "its largest file was".to_owned(),
                    several => format!("{several} of its largest files were"),
                };
                notes.push(format!(
                    "dataset `{name}`: {cut} cut to {:.0} % of all bytes, so that no single file decides",
                    LARGEST_SHARE * 100.0
                ));
            }
            generated(made.tree, compressible)
        }
        Dataset::Flat { files, file_size } => {
            let tree = flat_tree(count("files", *files)?, file_size.0, names).ok_or_else(too_many)?;
            generated(tree, 0.0)
        }
        Dataset::File { size, compressible } => {
            generated(single_file_tree(size.0, 0o644), share("compressible", *compressible)?)
        }
        Dataset::Trace { calls } => generated(tree_from_trace(calls).ok_or_else(too_many)?, 0.0),
        Dataset::Folder { path, size } => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| DatasetError::Folder {
                dataset: name.into(),
                path: path.display().to_string(),
                errno,
            })?;
            DatasetOrigin::Folder { path: path.clone(), wanted: size.map(|size| size.0) }
        }
    };
    let calls = match spec {
        Dataset::Trace { calls } => Some(Arc::new(calls.clone())),
        _ => None,
    };
    Ok(Prepared { name: name.into(), kind: spec.kind(), origin, calls, notes })
}

/// A contradiction between the requested properties of a tree, and the hint how to resolve it.
fn find_contradiction(asked: &TreeShape, shape: &Shape<'_>) -> Option<(String, &'static str)> {
    let (links, copies) = count_repeats(shape.files, shape.duplicates, shape.hard_links);
    if shape.directories == 0 {
        return Some(("a tree has at least one directory, its root".into(), "directories = 1"));
    }
    if shape.files == 0 && asked.size.0 > 0 {
        return Some((format!("{} bytes in no files", asked.size.0), "ask for files, or for size = \"0B\""));
    }
    if shape.files > 0 && u64::from(links) + u64::from(copies) >= u64::from(shape.files) {
        return Some((
            "copies and hard links leave no file to be copied or linked to".into(),
            "duplicates and hard_links together must be well below 1",
        ));
    }
    None
}
