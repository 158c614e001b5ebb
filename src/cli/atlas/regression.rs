//! Regressions of an atlas: a cell that is built again from the same plan, model, kernel and method must recommend the
//! same filesystem as before.

use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use fsverdict_folders::read_regular;
use fsverdict_report::{Atlas, AtlasCell};
use fsverdict_text::{Reason, quoted};

use super::super::CliError;

/// The most bytes of the numbers of an atlas.
const LONGEST: u64 = 64 << 20;

/// The numbers of an earlier build, as far as they are compared.
#[derive(Deserialize)]
struct EarlierAtlas {
    cells: Vec<EarlierCell>,
}

#[derive(Deserialize)]
struct EarlierCell {
    cell: String,
    identity: String,
    answers: Vec<EarlierAnswer>,
}

#[derive(Deserialize)]
struct EarlierAnswer {
    requirement: String,
    mark: String,
    first: String,
}

/// The cells that recommend another filesystem than in the site that is in `folder`, although nothing that they depend on
/// has changed, as a message; `None` if there are none.
pub(super) fn find_regressions(folder: &Path, atlas: &Atlas) -> Result<Option<Reason>, CliError> {
    let path = folder.join("atlas.json");
    let bytes = match read_regular(&path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let shown = quoted(&path.to_string_lossy());
    let earlier: EarlierAtlas = serde_json::from_slice(&bytes).map_err(|error| {
        CliError::failed(Reason::new(
            format!("{shown} is not the data of an atlas: {error}"),
            "remove it to build the site without comparing",
        ))
    })?;
    let changed: Vec<String> =
        atlas.cells.iter().flat_map(|cell| list_changes(atlas, cell, &earlier)).collect();
    if changed.is_empty() {
        return Ok(None);
    }
    let what = format!(
        "{} without a change of plan, model, kernel or method, so the site was not written: {}",
        fsverdict_report::count(changed.len(), "changed recommendation"),
        changed.join("; ")
    );
    let hint = format!(
        "find the change of the program that did it; if it is meant, raise the version of the method, or remove {shown}"
    );
    Ok(Some(Reason::new(what, hint)))
}

/// The recommendations of a cell that have changed.
fn list_changes(atlas: &Atlas, cell: &AtlasCell, earlier: &EarlierAtlas) -> Vec<String> {
    let same = |one: &&EarlierCell| one.cell == cell.slug && one.identity == cell.identity;
    let (Some(old), Ok(computed)) = (earlier.cells.iter().find(same), &cell.content) else {
        return Vec::new();
    };
    let now = atlas.filters.iter().zip(&computed.answers);
    let change = |(filter, answer): (
        &fsverdict_report::AtlasFilter,
        &Option<fsverdict_judgement::verdict::Answer>,
    )| {
        let old = old.answers.iter().find(|one| one.requirement == filter.slug)?;
        let new = answer.as_ref().map_or("nothing", |answer| answer.first.as_str());
        let is_decided = old.mark != "undecided";
        (is_decided && old.first != new)
            .then(|| format!("{} ({}): {} before, {new} now", cell.slug, filter.title, old.first))
    };
    now.filter_map(change).collect()
}
