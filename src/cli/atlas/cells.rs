//! The cells of an atlas: each work on each kind of device, with the plan of its run and the folder that holds it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{Candidate, DeviceSource, Layers, Overrides, Plan, digest, is_twin, preset};
use fsverdict_lab::lab::by_default;
use fsverdict_report::{AtlasKind, Catalogue, CataloguedCandidate, bundle_path, safe_name};
use fsverdict_text::{Bytes, Reason};

use super::super::CliError;
use super::super::consent::PlanOrigin;
use super::super::vocabulary::plan_and_origin;
use super::BuildArguments;

/// The version of the method by which cells are computed and judged. It is raised by a change that may change a
/// recommendation: then every cell is computed again, and none counts as a regression.
pub(super) const METHOD: u32 = 1;

/// The size of a modelled device where the plan has none.
const USUAL_SIZE: u64 = 16_000_000_000;

/// A work of an atlas: a preset, or a plan of the user's.
pub(super) struct PlannedWork {
    /// The name in addresses.
    pub(super) slug: String,
    /// Completes "Which filesystem for …".
    pub(super) about: String,
    /// The title of its plan; empty until that is read.
    pub(super) title: String,
    source: OsString,
    scale: Option<f64>,
    is_preset: bool,
}

impl PlannedWork {
    /// The preset's name; `None` for a plan of the user's.
    pub(super) fn preset_name(&self) -> Option<&str> {
        self.source.to_str().filter(|_| self.is_preset)
    }
}

/// A work on a kind of device.
pub(super) struct PlannedCell {
    pub(super) work: usize,
    pub(super) kind: usize,
    pub(super) slug: String,
    /// A digest of everything that its run depends on.
    pub(super) identity: String,
    pub(super) plan: Plan,
    pub(super) origin: PlanOrigin,
    /// The folder of its run, which is named by a digest of the plan and the method.
    pub(super) folder: PathBuf,
    /// Where the site has its run as a bundle.
    pub(super) published: PathBuf,
}

/// Everything that an atlas is asked for.
pub(super) struct PlannedAtlas {
    pub(super) works: Vec<PlannedWork>,
    pub(super) kinds: Vec<AtlasKind>,
    /// In the order in which they are computed.
    pub(super) cells: Vec<PlannedCell>,
    /// Runs and bundles of others.
    pub(super) strangers: Vec<PathBuf>,
}

/// The cells for these arguments, those that are asked about most first.
pub(super) fn plan_cells(
    arguments: &BuildArguments,
    catalogue: &Catalogue,
) -> Result<PlannedAtlas, CliError> {
    let (strangers, works): (Vec<&OsString>, Vec<&OsString>) =
        arguments.works.iter().partition(|name| is_run(Path::new(name)));
    let strangers = strangers.into_iter().map(PathBuf::from).collect();
    let mut works: Vec<PlannedWork> = works.into_iter().map(|name| named_work(name, catalogue)).collect();
    if works.is_empty() {
        works = catalogue.works.iter().map(|work| named_work(OsStr::new(&work.preset), catalogue)).collect();
    }
    make_unique(&mut works);
    let kinds = choose_kinds(arguments, catalogue)?;
    let mut cells = Vec::new();
    for (at, work) in works.iter_mut().enumerate() {
        let (begun, _) = plan_and_origin(&work.source, &Overrides::default())?;
        work.title.clone_from(&begun.title);
        for (kind, known) in kinds.iter().enumerate() {
            let (plan, origin) = plan_cell(arguments, catalogue, work, known, &begun)?;
            let slug = format!("{}@{}", work.slug, safe_name(&known.model));
            let identity = identify(&plan, known)?;
            let folder = arguments.cells_folder().join(format!("{slug}-{identity}"));
            let published = arguments.out.join(bundle_path(&slug, &identity));
            let is_home =
                matches!(&begun.device.source, DeviceSource::Model { name, .. } if *name == known.model);
            let rank = if is_home { at } else { at + kind };
            cells.push((
                rank,
                PlannedCell { work: at, kind, slug, identity, plan, origin, folder, published },
            ));
        }
    }
    cells.sort_by_key(|(rank, _)| *rank);
    Ok(PlannedAtlas { works, kinds, cells: cells.into_iter().map(|(_, cell)| cell).collect(), strangers })
}

/// A digest of everything that the run of a cell depends on: its plan with the kernel's release, the version and the stated
/// errors of the model, and the method.
fn identify(plan: &Plan, kind: &AtlasKind) -> Result<String, CliError> {
    let model = Model::find(&kind.model).map_err(CliError::usage)?;
    let title = format!("{METHOD}, {} v{} {:?}: {}", model.name, model.version, model.errors, plan.title);
    Ok(digest(&Plan { title, ..plan.clone() }))
}

/// Whether a run is named, as a folder or a bundle; everything else is a work.
fn is_run(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(".tar.gz")
}

fn named_work(name: &OsStr, catalogue: &Catalogue) -> PlannedWork {
    let text = name.to_string_lossy();
    let known = catalogue.works.iter().find(|work| work.preset == text);
    let preset = name.to_str().and_then(preset);
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let asked = preset.and_then(|preset| preset.asked_by().shown).unwrap_or_default();
    let about = match asked.split([':', ',']).next().filter(|word| !word.is_empty()) {
        Some(word) => word.to_owned(),
        None => stem.clone(),
    };
    PlannedWork {
        slug: name_work(&stem),
        about: known.map_or(about, |work| work.about.clone()),
        title: String::new(),
        source: name.to_owned(),
        scale: known.and_then(|work| work.scale),
        is_preset: preset.is_some(),
    }
}

/// The name of a work in paths and addresses.
fn name_work(name: &str) -> String {
    let name = safe_name(name);
    if name.trim_matches('-').is_empty() { "work".to_owned() } else { name }
}

/// Numbers works of one name.
fn make_unique(works: &mut [PlannedWork]) {
    for at in 1..works.len() {
        let (earlier, rest) = works.split_at_mut(at);
        let Some(work) = rest.first_mut() else { continue };
        if earlier.iter().any(|other| other.slug == work.slug) {
            work.slug = format!("{}-{at}", work.slug);
        }
    }
}

fn choose_kinds(arguments: &BuildArguments, catalogue: &Catalogue) -> Result<Vec<AtlasKind>, CliError> {
    if arguments.devices.is_empty() {
        return Ok(catalogue.kinds.clone());
    }
    let kind = |name: &String| {
        let model = Model::find(name).map_err(CliError::usage)?;
        Ok(catalogue.find_kind(name, &model.summary))
    };
    arguments.devices.iter().map(kind).collect()
}

/// The plan of a cell: that of the work, on this kind of device, with its candidates. A plan of the user's keeps its own
/// candidates.
fn plan_cell(
    arguments: &BuildArguments,
    catalogue: &Catalogue,
    work: &PlannedWork,
    kind: &AtlasKind,
    begun: &Plan,
) -> Result<(Plan, PlanOrigin), CliError> {
    let candidates = match catalogue.candidates.get(&kind.candidates) {
        Some(set) if work.is_preset => merge_candidates(begun, set)?,
        _ => begun.candidates.iter().map(|one| one.with_change(|one| one.under.model = None)).collect(),
    };
    let overrides = Overrides {
        // The order is drawn otherwise, and two builds would differ.
        set: vec!["protocol.order=1".to_owned()],
        candidates,
        device: vec![choose_source(kind, begun)?],
        blocks: Some(arguments.blocks),
        scale: arguments.scale.or(work.scale),
        ..Overrides::default()
    };
    let (mut plan, origin) = plan_and_origin(&work.source, &overrides)?;
    plan.protocol.budget = None;
    if plan.kernel.is_none() {
        let chosen = || by_default(&plan).map(|chosen| chosen.entry.facts.release);
        let kernel = arguments.kernel.clone().or_else(chosen).ok_or_else(|| {
            CliError::failed(Reason::new(
                "an atlas is computed in simulated time, and there is no kernel for that",
                "`fsverdict kernel build` builds one in some minutes; --kernel RELEASE names that of cells which are there",
            ))
        })?;
        plan.kernel = Some(kernel.into());
    }
    Ok((plan, origin))
}

/// The device of a cell, as large as the plan's if the model can be.
fn choose_source(kind: &AtlasKind, begun: &Plan) -> Result<DeviceSource, CliError> {
    let wanted = begun.device.source.size().map_or(USUAL_SIZE, |size| size.0);
    let capacity = Model::find(&kind.model).map_err(CliError::usage)?.capacity();
    Ok(DeviceSource::Model { name: kind.model.clone(), size: Bytes(wanted.min(capacity)) })
}

/// The candidates of the kind, and those of the preset that have options of their own.
fn merge_candidates(begun: &Plan, set: &[CataloguedCandidate]) -> Result<Vec<Candidate>, CliError> {
    let read = |one: &CataloguedCandidate| {
        let layers = Layers::from_names(one.layers.iter().map(String::as_str)).map_err(CliError::failed)?;
        let (name, mount) = (one.name.clone(), one.mount.clone());
        Ok(Candidate { name, mount, layers, ..Candidate::with_defaults(&one.filesystem) })
    };
    let mut all = set.iter().map(read).collect::<Result<Vec<Candidate>, CliError>>()?;
    for own in &begun.candidates {
        let own = Candidate { under: Candidate::with_defaults("").under, ..own.clone() };
        let has_options = !own.mkfs.is_empty() || !own.mount.is_empty();
        let is_alike = |other: &Candidate| other.is_same_but_for_name(&own);
        if has_options && own.layers == Layers::default() && !is_twin(&own.name) && !all.iter().any(is_alike)
        {
            all.push(own);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{make_unique, name_work, named_work};
    use fsverdict_report::Catalogue;
    use std::ffi::OsStr;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for (name, safe) in
            [("../../etc", "------etc"), ("Games v2", "games-v2"), ("\u{202e}", "work"), ("", "work")]
        {
            assert_eq!(name_work(name), safe);
        }
        let catalogue = Catalogue::built_in().unwrap();
        let mut works: Vec<_> =
            ["games", "plans/games.toml"].map(|name| named_work(OsStr::new(name), &catalogue)).into();
        make_unique(&mut works);
        assert_eq!([&*works[0].slug, &*works[1].slug], ["games", "games-1"]);
        assert_eq!(works[0].about, "games");
    }
}
