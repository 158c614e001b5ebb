//! A run as one file that strangers may have: its plan and its journal, without what names a machine or a person. Everything
//! else in the folder of a run can be made from these two again.

mod archive;
mod error;
mod hide;
mod names;

use std::path::Path;

use serde_json::Value;

use crate::study::RunFolder;
use fsverdict_judgement::journal::{Record, Run, read_in_folder};
use fsverdict_judgement::plan::{Dataset, Plan, digest, grouped};
use fsverdict_linux::host::root::Root;

use hide::{hide, learn, leave_out};
use names::{HiddenKind, NameReplacer, is_public};

pub use archive::open;
pub use error::BundleError;

/// What somebody who shares a run wants to know first.
#[derive(Debug, Default)]
pub struct Bundled {
    /// Bytes.
    pub size: u64,
    /// What was replaced: what it is, how many different ones, in how many places.
    pub replaced: Vec<(String, usize)>,
    /// What was left out, and how many of it.
    pub left_out: Vec<(&'static str, usize)>,
    /// Whether pseudonyms are others in every bundle: this machine has no secret of its own to make them from.
    pub unstable: bool,
}

/// Whose names are to be replaced, besides those that the run itself and this machine are known by.
#[derive(Debug)]
pub struct Hiding<'a> {
    pub also: &'a [String],
    pub users: &'a [String],
    /// The user's home; empty where there is none.
    pub home: &'a str,
    /// Keep what failed commands said, but for names; not where files of the user's are worked with.
    pub failed_output: bool,
}

/// What a run is called in its bundle.
pub fn name(folder: &RunFolder) -> Result<String, BundleError> {
    Ok(names()?.0.pseudonym(&folder.id(), HiddenKind::Run))
}

/// Bundles the run in `folder` into a new file at `path`; as it is, where nothing is to be hidden.
pub fn bundle(
    folder: &RunFolder,
    plan: &Plan,
    path: &Path,
    hiding: Option<Hiding<'_>>,
) -> Result<Bundled, BundleError> {
    let journal = read_in_folder(&folder.journal())?;
    // A journal that begins no run is nobody's evidence.
    Run::derive(plan, &journal)?;
    let Some(hiding) = hiding else {
        let size = archive::write(path, &folder.id(), plan, &journal.records)?;
        return Ok(Bundled { size, ..Bundled::default() });
    };
    let (mut names, unstable) = names()?;
    let (plan_value, records) = (value(plan)?, journal.records.iter().map(value));
    let mut records = records.collect::<Result<Vec<Value>, BundleError>>()?;
    for name in host_names() {
        names.know(&name, HiddenKind::Host);
    }
    hiding.users.iter().for_each(|name| names.know(name, HiddenKind::User));
    names.know_homes(hiding.home);
    let own = |dataset: &Dataset| matches!(dataset, Dataset::Folder { path, .. } if !is_public(&path.to_string_lossy()));
    names.failed_output = hiding.failed_output;
    names.own_files = plan.datasets.values().any(own);
    hiding.also.iter().for_each(|name| names.know(name, HiddenKind::Other));
    std::iter::once(&plan_value).chain(&records).for_each(|value| learn(value, &mut names));
    let run = names.pseudonym(&folder.id(), HiddenKind::Run);
    let mut own_plan = plan_value;
    hide("", &mut own_plan, &mut names);
    let own_plan: Plan = serde_json::from_value(own_plan).map_err(BundleError::Name)?;
    let own_digest = digest(&own_plan);
    let mut left_out: Vec<(&'static str, ())> = Vec::new();
    let mut clean = Vec::with_capacity(records.len());
    for mut value in records.drain(..) {
        if let Value::Object(record) = &mut value {
            left_out.extend(leave_out(record, &names).map(|what| (what, ())));
            for (key, value) in [("id", &run), ("plan_digest", &own_digest)] {
                if let Some(known) = record.get_mut(key) {
                    *known = value.as_str().into();
                }
            }
        }
        hide("", &mut value, &mut names);
        clean.push(serde_json::from_str::<Record>(&value.to_string()).map_err(BundleError::Name)?);
    }
    let size = archive::write(path, &run, &own_plan, &clean)?;
    let said = |(kind, (different, places)): (&HiddenKind, &(std::collections::BTreeSet<String>, usize))| {
        let (one, several) = kind.words();
        (format!("{} {}", different.len(), if different.len() == 1 { one } else { several }), *places)
    };
    let left_out = grouped(left_out).into_iter().map(|(what, all)| (what, all.len())).collect();
    Ok(Bundled { size, replaced: names.found.iter().map(said).collect(), left_out, unstable })
}

fn value(of: &impl serde::Serialize) -> Result<Value, BundleError> {
    serde_json::to_value(of).map_err(BundleError::Name)
}

/// Pseudonyms by a key of this machine's, so that two bundles made here call the same device the same; and whether there is none.
/// machine-id(5): it is confidential, and what others see is to be a keyed hash of it.
fn names() -> Result<(NameReplacer, bool), BundleError> {
    let own = Root::default().optional("etc/machine-id").ok().flatten();
    let own = own.and_then(|text| u128::from_str_radix(&text, 16).ok());
    let key = own.unwrap_or_else(|| {
        use std::hash::{BuildHasher, RandomState};
        let draw = || u128::from(RandomState::new().hash_one(0));
        draw() << 64 | draw()
    });
    Ok((NameReplacer::new(key.to_le_bytes()).ok_or(BundleError::Patterns)?, own.is_none()))
}

/// What this machine is called, in full and in short.
fn host_names() -> Vec<String> {
    let full = Root::default().optional("proc/sys/kernel/hostname").ok().flatten().unwrap_or_default();
    let short = full.split('.').next().unwrap_or_default().to_owned();
    vec![full, short]
}
