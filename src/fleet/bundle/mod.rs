//! Packs a run into one file that can be given to anyone: its plan and its journal, without names of machines and people.
//! Everything else in the folder of a run can be created again from these two.

mod archive;
mod error;
mod hidden_kind;
mod hide_names;
mod name_patterns;
mod names;

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::study::RunFolder;
use fsverdict_folders::{Existing, OutputFile};
use fsverdict_judgement::journal::{Record, Run, read_in_folder};
use fsverdict_judgement::plan::{Dataset, Plan, digest, group_by_key};
use fsverdict_linux::host::root::Root;

use hidden_kind::HiddenKind;
use hide_names::{hide_names, leave_out, register_names};
use name_patterns::is_public;
use names::NameReplacer;

pub use archive::{open_bundle, read_bundle};
pub use error::BundleError;

/// A summary of a bundle for the user before sharing it.
#[derive(Debug, Default)]
pub struct Bundled {
    /// The size of the bundle in bytes.
    pub size: u64,
    /// The names that were replaced: their kind with the number of different names, and the number of places.
    pub replaced: Vec<(String, usize)>,
    /// The kinds of text that were left out, each with the number of texts.
    pub left_out: Vec<(&'static str, usize)>,
    /// Whether pseudonyms differ from bundle to bundle, because this machine has no secret from which to derive them.
    pub unstable: bool,
}

/// The names to replace, besides those of the run itself and of this machine.
#[derive(Debug)]
pub struct Hiding<'a> {
    pub also: &'a [String],
    pub users: &'a [String],
    /// The user's home; empty if there is none.
    pub home: &'a str,
    /// Whether to keep the output of failed commands, without names. It is removed all the same if the run works with
    /// the user's own files.
    pub failed_output: bool,
}

/// The name of a run in its bundle.
pub fn bundle_name(folder: &RunFolder) -> Result<String, BundleError> {
    Ok(new_replacer()?.0.pseudonym(&folder.id(), HiddenKind::Run))
}

/// Bundles the run in `folder` into a new file at `path`; without `hiding`, the run is bundled unchanged.
pub fn bundle_run(
    folder: &RunFolder,
    plan: &Plan,
    path: &Path,
    hiding: Option<Hiding<'_>>,
) -> Result<Bundled, BundleError> {
    let (packed, bundled) = pack_run(folder, plan, hiding)?;
    let write = || -> std::io::Result<()> {
        let output = OutputFile::create(path, Existing::Keep)?;
        output.file().write_all(&packed)?;
        output.finish()
    };
    write().map_err(|source| BundleError::Write { path: path.to_owned(), source })?;
    Ok(bundled)
}

/// The bytes of a bundle of the run in `folder`.
pub fn pack_run(
    folder: &RunFolder,
    plan: &Plan,
    hiding: Option<Hiding<'_>>,
) -> Result<(Vec<u8>, Bundled), BundleError> {
    let journal = read_in_folder(&folder.journal())?;
    // A journal without the start of a run contains no evidence.
    Run::derive(plan, &journal)?;
    let Some(hiding) = hiding else {
        let packed = archive::pack(&folder.id(), plan, &journal.records)?;
        let size = packed.len() as u64;
        return Ok((packed, Bundled { size, ..Bundled::default() }));
    };
    let (mut names, unstable) = new_replacer()?;
    let (plan_value, records) = (to_value(plan)?, journal.records.iter().map(to_value));
    let mut records = records.collect::<Result<Vec<Value>, BundleError>>()?;
    for name in host_names() {
        names.register(&name, HiddenKind::Host);
    }
    hiding.users.iter().for_each(|name| names.register(name, HiddenKind::User));
    names.register_homes(hiding.home);
    let is_own_folder = |dataset: &Dataset| matches!(dataset, Dataset::Folder { path, .. } if !is_public(&path.to_string_lossy()));
    names.failed_output = hiding.failed_output;
    names.own_files = plan.datasets.values().any(is_own_folder);
    hiding.also.iter().for_each(|name| names.register(name, HiddenKind::Other));
    std::iter::once(&plan_value).chain(&records).for_each(|value| register_names(value, &mut names));
    let run = names.pseudonym(&folder.id(), HiddenKind::Run);
    let mut own_plan = plan_value;
    hide_names("", &mut own_plan, &mut names);
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
        hide_names("", &mut value, &mut names);
        clean.push(serde_json::from_str::<Record>(&value.to_string()).map_err(BundleError::Name)?);
    }
    let packed = archive::pack(&run, &own_plan, &clean)?;
    let describe_count =
        |(kind, (different, places)): (&HiddenKind, &(std::collections::BTreeSet<String>, usize))| {
            let (one, several) = kind.noun_forms();
            (format!("{} {}", different.len(), if different.len() == 1 { one } else { several }), *places)
        };
    let left_out = group_by_key(left_out).into_iter().map(|(what, all)| (what, all.len())).collect();
    let replaced = names.found.iter().map(describe_count).collect();
    let size = packed.len() as u64;
    Ok((packed, Bundled { size, replaced, left_out, unstable }))
}

fn to_value(of: &impl serde::Serialize) -> Result<Value, BundleError> {
    serde_json::to_value(of).map_err(BundleError::Name)
}

/// Creates a replacer that derives pseudonyms from a key of this machine, so that two bundles made here give a device the
/// same name; also returns whether this machine has no such key. The key is the machine ID, which is confidential and
/// should be shown to others only as a keyed hash (machine-id(5)).
fn new_replacer() -> Result<(NameReplacer, bool), BundleError> {
    let id_text = Root::default().optional("etc/machine-id").ok().flatten();
    let machine_id = id_text.and_then(|text| u128::from_str_radix(&text, 16).ok());
    let key = machine_id.unwrap_or_else(|| {
        use std::hash::{BuildHasher, RandomState};
        let draw = || u128::from(RandomState::new().hash_one(0));
        draw() << 64 | draw()
    });
    Ok((NameReplacer::new(key.to_le_bytes()).ok_or(BundleError::Patterns)?, machine_id.is_none()))
}

/// The full and the short host name of this machine.
fn host_names() -> Vec<String> {
    let full = Root::default().optional("proc/sys/kernel/hostname").ok().flatten().unwrap_or_default();
    let short = full.split('.').next().unwrap_or_default().to_owned();
    vec![full, short]
}
