//! `rotation.create`, `rotation.next`, `rotation.clone`, `rotation.drop`: generations of a backup that share unchanged files
//! as hard links, as `cp -al` and `rsync --link-dest` make them, or as clones, as `cp --reflink` does.
//!
//! Generation n lies in the folder n of the site, the first in 0. Which files have changed in a generation depends on
//! their place in the dataset alone, so it is the same for every candidate and on every machine.

use std::os::fd::AsFd;
use std::path::PathBuf;

use crate::dataset::{HardLinks, Manner, Sharing};
use fsverdict_judgement::plan::Operation;

use super::generations::{GenerationStep, Generations, WHOLE};
use super::ledger::{LedgerEntry, Remains};
use super::verify::verify_absent;
use super::{OperationResult, WorkError, Workplace, tree, walk};

fn known_generations(site: &Workplace<'_>) -> Result<Generations, WorkError> {
    match site.known_entry() {
        LedgerEntry { remains: Remains::Generations(generations), .. } => Ok(generations),
        _ => Err(site.not_written_by_error(Operation::RotationCreate)),
    }
}

fn note_generations(site: &mut Workplace<'_>, generations: Generations) {
    let known = site.known_entry();
    let remains = Remains::Generations(generations);
    site.set_entry(LedgerEntry { generation: 0, remains, sure: true, hard_links: HardLinks::Exact, ..known });
}

fn generation_folder(site: &Workplace<'_>, generation: u32) -> PathBuf {
    site.into.join(generation.to_string())
}

pub(crate) fn create_first(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let path = generation_folder(site, 0);
    let inner = site.in_folder(&path);
    let target = inner.make_target()?;
    let result = tree::write_generation(&inner, &target, 0, Manner::Create, "write_file")?;
    note_generations(site, Generations { oldest: 0, steps: Vec::new() });
    Ok(result)
}

pub(crate) fn next(site: &mut Workplace<'_>, sharing: Sharing) -> Result<OperationResult, WorkError> {
    let mut generations = known_generations(site)?;
    let share = site.changed.clamp(0.0, 1.0) * f64::from(WHOLE);
    generations.steps.push(GenerationStep { changed: libm::round(share) as u32, sharing });
    let newest = generations.newest();
    let (path, former) = (generation_folder(site, newest), generation_folder(site, newest - 1));
    let former = site.in_folder(&former).open_target()?;
    let inner = site.in_folder(&path);
    let target = inner.make_target()?;
    let changes = |entry| generations.changes_entry(entry, newest);
    let manner = Manner::Next { former: former.as_fd(), sharing, changes: &changes };
    let result = tree::write_generation(&inner, &target, newest, manner, "write_file")?;
    note_generations(site, generations);
    Ok(result)
}

pub(crate) fn drop_oldest(site: &mut Workplace<'_>) -> Result<OperationResult, WorkError> {
    let mut generations = known_generations(site)?;
    let path = generation_folder(site, generations.oldest);
    let result = walk::remove_tree(&site.in_folder(&path))?;
    generations.oldest += 1;
    note_generations(site, generations);
    Ok(result)
}

/// Checks the newest generation: with its links, it vouches for those it shares files with.
pub(crate) fn verify_newest(site: &Workplace<'_>) -> Result<(), WorkError> {
    let generations = known_generations(site)?;
    let operation = site.operation.name();
    generations.verify_generation(
        operation,
        site.dataset,
        site.staged,
        &site.target_path(),
        generations.newest(),
    )
}

/// The generation dropped is gone, and the others are as they were.
pub(crate) fn verify_drop(site: &Workplace<'_>) -> Result<(), WorkError> {
    let generations = known_generations(site)?;
    verify_absent(site.operation.name(), &site.target_path().join((generations.oldest - 1).to_string()))?;
    // Dropping the only generation leaves nothing to compare.
    if generations.oldest > generations.newest() { Ok(()) } else { verify_newest(site) }
}
