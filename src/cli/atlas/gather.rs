//! Reads the cells of an atlas from their runs: the answer with and without requirements, and the words for the pages.

use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::{
    Candidate, Overrides, Plan, Preset, ProtectionFeature, RequiredProperty, preset,
};
use fsverdict_judgement::verdict::{Answer, slice_by_candidates};
use fsverdict_report::{
    Atlas, AtlasCell, AtlasFilter, AtlasStudy, AtlasWork, Catalogue, ComputedCell, Report,
};
use fsverdict_stack::layer::has_property;
use fsverdict_text::duration_text;

use super::super::CliError;
use super::super::guarantees::guarantees;
use super::super::vocabulary::plan_and_origin;
use super::cells::{PlannedAtlas, PlannedWork};
use super::compute::{CellState, read_cell};

/// A page of the matrix, and the candidates that it is about.
struct Filter {
    page: AtlasFilter,
    keeps: fn(&Plan, &Candidate) -> bool,
}

/// Whether nothing protects a candidate more or less than a filesystem that is made by its defaults.
fn is_usual(plan: &Plan, candidate: &Candidate) -> bool {
    plan.goal.protection_of(&candidate.name).features().next().is_none()
}

const FILTERS: [Filter; 6] = [
    Filter {
        page: AtlasFilter {
            slug: "index",
            title: "no requirement",
            lead: "Filesystems as they are made by default, crash-safe and not encrypted.",
        },
        keeps: is_usual,
    },
    Filter {
        page: AtlasFilter {
            slug: "checksums",
            title: "checksums",
            lead: "Damaged files are noticed when they are read.",
        },
        keeps: |plan, one| is_usual(plan, one) && has_property(one, RequiredProperty::DataChecksums),
    },
    Filter {
        page: AtlasFilter {
            slug: "snapshots",
            title: "snapshots",
            lead: "States of the whole filesystem can be kept.",
        },
        keeps: |plan, one| is_usual(plan, one) && has_property(one, RequiredProperty::Snapshots),
    },
    Filter {
        page: AtlasFilter {
            slug: "encryption",
            title: "encryption",
            lead: "Nothing on the device can be read without its key.",
        },
        keeps: |_, one| has_property(one, RequiredProperty::Encryption),
    },
    Filter {
        page: AtlasFilter {
            slug: "dead-disk",
            title: "surviving a dead disk",
            lead: "Everything is on two disks at least, so that one may fail.",
        },
        keeps: |plan, one| plan.goal.protection_of(&one.name).has(ProtectionFeature::Redundant),
    },
    Filter {
        page: AtlasFilter {
            slug: "other-systems",
            title: "reading on Windows or macOS",
            lead: "Windows or a Mac reads and writes it as it comes; not all of these are safe after a power cut.",
        },
        keeps: |_, one| {
            has_property(one, RequiredProperty::Windows) || has_property(one, RequiredProperty::Macos)
        },
    },
];

/// The atlas of everything that was computed.
pub(super) fn gather_atlas(planned: &PlannedAtlas, catalogue: Catalogue) -> Result<Atlas, CliError> {
    let mut cells = Vec::new();
    for cell in &planned.cells {
        let mut bundle = None;
        let content = match read_cell(cell)? {
            CellState::Missing => Err("not computed yet".to_owned()),
            CellState::Interrupted(..) => Err("not computed to its end yet".to_owned()),
            CellState::TimeUp(plan) => {
                let time = plan.protocol.budget.map_or_else(|| "its time".to_owned(), duration_text);
                Err(format!("its run did not end in {time}"))
            }
            CellState::Ended(ended) => {
                bundle = Some(ended.pack()?);
                Ok(Box::new(compute_content(&ended.plan, &ended.run)))
            }
        };
        let (work, kind) = (cell.work, cell.kind);
        let (slug, identity) = (cell.slug.clone(), cell.identity.clone());
        cells.push(AtlasCell { work, kind, slug, identity, content, bundle, strangers: Vec::new() });
    }
    cells.sort_by_key(|cell| (cell.work, cell.kind));
    Ok(Atlas {
        works: planned.works.iter().map(describe_work).collect(),
        kinds: planned.kinds.clone(),
        filters: FILTERS.map(|filter| filter.page).into(),
        cells,
        studies: gather_studies(&catalogue)?,
        catalogue,
    })
}

/// The content of a cell's page.
pub(in super::super) fn compute_content(plan: &Plan, run: &Run) -> ComputedCell {
    // How long trials took here is not of the answer: the same cells have the same pages wherever they were computed.
    let mut run = run.clone();
    run.trials.iter_mut().for_each(|trial| trial.wall = 0.0);
    let run = &run;
    let answers = FILTERS.iter().map(|filter| find_answer(plan, run, filter)).collect();
    let slice = slice_by_candidates(plan, run, |one| is_usual(plan, one));
    let mut usual = Report::new(&slice.plan, &slice.run, None);
    usual.guarantees = guarantees(&slice.plan);
    ComputedCell::new(&Report::new(plan, run, None), &usual, answers)
}

/// The answer of a run without a requirement.
pub(super) fn usual_answer(plan: &Plan, run: &Run) -> Option<Answer> {
    find_answer(plan, run, FILTERS.first()?)
}

/// The answer among the candidates of a filter, ranked against each other; `None` if there is none.
fn find_answer(plan: &Plan, run: &Run, filter: &Filter) -> Option<Answer> {
    let mut slice = slice_by_candidates(plan, run, |one| (filter.keeps)(plan, one));
    slice.plan.goal.protection.clear();
    if slice.plan.candidates.is_empty() {
        return None;
    }
    Answer::from_judgement(&slice.judge())
}

fn describe_work(work: &PlannedWork) -> AtlasWork {
    let asked = work.preset_name().and_then(preset).map(Preset::asked_by).unwrap_or_default();
    AtlasWork {
        slug: work.slug.clone(),
        about: work.about.clone(),
        summary: asked.shown.unwrap_or_else(|| work.title.clone()),
        words: asked.words,
    }
}

/// The table of findings, which a test of the documentation keeps in order.
const THEN_AND_NOW: &str = include_str!("../../../docs/results/then-and-now.md");

/// The five studies: their findings, as the presets have them, and today's, from the documentation.
fn gather_studies(catalogue: &Catalogue) -> Result<Vec<AtlasStudy>, CliError> {
    let today = read_findings(THEN_AND_NOW);
    let gather = |study: &fsverdict_report::CataloguedStudy| {
        let (plan, _) = plan_and_origin(&study.preset, &Overrides::default())?;
        let published = plan.published.iter().map(|one| (one.finding.clone(), one.source.clone()));
        let own = today.iter().filter(|(preset, _)| *preset == study.preset);
        Ok(AtlasStudy {
            preset: study.preset.clone(),
            author: study.author.clone(),
            question: study.question.clone(),
            published: published.collect(),
            today: own.map(|(_, row)| row.clone()).collect(),
        })
    };
    catalogue.studies.iter().map(gather).collect()
}

/// The rows of the table of findings, each with its study: the first row of a study names it.
fn read_findings(text: &str) -> Vec<(String, [String; 3])> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| finding |")).skip(2);
    let mut study = String::new();
    let mut findings = Vec::new();
    for line in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<String> =
            line.trim_matches('|').split(" | ").map(|cell| strip_markdown(cell.trim())).collect();
        let [finding, figures, outcome] = cells.as_slice() else { continue };
        let finding = match finding.split_once(": ").filter(|(name, _)| preset(name).is_some()) {
            Some((name, rest)) => {
                name.clone_into(&mut study);
                rest.to_owned()
            }
            None => finding.clone(),
        };
        let figures = if figures == "as above" { String::new() } else { figures.clone() };
        findings.push((study.clone(), [finding, figures, outcome.clone()]));
    }
    findings
}

/// Markdown's text without its marks.
fn strip_markdown(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((words, address)) = after.split_once("](") else { break };
        plain.push_str(words);
        rest = address.split_once(')').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.replace("**", "").replace(['*', '`'], "")
}

#[cfg(test)]
mod tests {
    use super::{THEN_AND_NOW, read_findings, strip_markdown};

    #[test]
    fn findings_are_read_from_the_table_of_the_documentation() {
        let findings = read_findings(THEN_AND_NOW);
        let of = |study: &str| findings.iter().filter(|(name, _)| name == study).count();
        assert_eq!(findings.len(), 36, "{findings:?}");
        assert!(
            of("root-on-flash") >= 9
                && of("usb-backup") >= 10
                && of("build-farm") == 3
                && of("magazine") >= 9
        );
        assert!(findings.iter().all(|(_, [_, _, outcome])| {
            ["holds", "no longer holds", "cannot be told here"].iter().any(|word| outcome.starts_with(word))
        }));
        assert_eq!(
            strip_markdown("it *gains*, since dm-crypt [sorts writes](a.md#b): **1.17**"),
            "it gains, since dm-crypt sorts writes: 1.17"
        );
    }
}
