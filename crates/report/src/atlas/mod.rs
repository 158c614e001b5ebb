//! An atlas: the answers of many runs, each of a work on a kind of device, as the pages of a static site.
//!
//! Pages need no script, no server and no network. The same cells give the same bytes: no page has a date but those that
//! are recorded in the runs.

mod answers;
mod card;
mod catalogue;
mod cell_page;
mod computed_cell;
mod data;
mod filesystem_page;
mod kind_page;
mod matrix_page;
mod picture;
mod questions;
mod shell;
mod studies;
#[cfg(test)]
mod tests;

use crate::ReportError;
use fsverdict_judgement::verdict::Answer;

pub use card::Card;
pub use catalogue::{AtlasKind, Catalogue, CataloguedCandidate, CataloguedStudy, base_name, safe_name};
pub use computed_cell::ComputedCell;
pub use studies::AtlasStudy;

/// Everything that the pages of an atlas show.
pub struct Atlas {
    pub works: Vec<AtlasWork>,
    pub kinds: Vec<AtlasKind>,
    /// The first has no requirement.
    pub filters: Vec<AtlasFilter>,
    /// In the order of works, and within a work of kinds.
    pub cells: Vec<AtlasCell>,
    pub studies: Vec<AtlasStudy>,
    pub catalogue: Catalogue,
}

/// A work, about which people ask.
pub struct AtlasWork {
    /// The name in addresses.
    pub slug: String,
    /// Completes "Which filesystem for …".
    pub about: String,
    /// The work in a line.
    pub summary: String,
    /// Other words for it.
    pub words: Vec<String>,
}

/// A requirement by which a reader chooses a page.
pub struct AtlasFilter {
    /// The name of the page, without its ending.
    pub slug: &'static str,
    /// A few words, for a list of pages.
    pub title: &'static str,
    /// The requirement in a sentence.
    pub lead: &'static str,
}

/// A work on a kind of device.
pub struct AtlasCell {
    pub work: usize,
    pub kind: usize,
    /// The name in addresses.
    pub slug: String,
    /// A digest of everything that its run depends on.
    pub identity: String,
    /// The run, or why there is none.
    pub content: Result<Box<ComputedCell>, String>,
    /// The run as a bundle, which the site offers.
    pub bundle: Option<Vec<u8>>,
    /// Runs of others of the same work and class of device.
    pub strangers: Vec<StrangersAnswer>,
}

/// The answer of a run that others made.
#[derive(Debug, Clone)]
pub struct StrangersAnswer {
    /// The device, as that run names it.
    pub device: String,
    pub kernel: String,
    pub answer: Answer,
    /// Whether it recommends another filesystem than the cell.
    pub disagrees: bool,
}

impl AtlasWork {
    fn page(&self) -> String {
        format!("for-{}.html", self.slug)
    }
}

/// The folder of the runs in a site.
const RUNS: &str = "runs";

/// The path of a cell's run in a site. The identity tells runs of earlier plans from it.
pub fn bundle_path(slug: &str, identity: &str) -> String {
    format!("{RUNS}/{}", bundle_name(slug, identity))
}

fn bundle_name(slug: &str, identity: &str) -> String {
    format!("{slug}-{identity}.tar.gz")
}

impl AtlasCell {
    fn page(&self) -> String {
        format!("{}.html", self.slug)
    }

    /// Adds the answer of a run of others, and whether it disagrees: it recommends another filesystem than this cell.
    pub fn add_stranger(&mut self, stranger: StrangersAnswer) {
        let own = self.content.as_ref().ok().and_then(|computed| computed.answer());
        let is_meant =
            |own: &Answer| own.first == stranger.answer.first || own.tied.contains(&stranger.answer.first);
        let disagrees = own.is_some_and(|own| !is_meant(own));
        self.strangers.push(StrangersAnswer { disagrees, ..stranger });
    }
}

/// A file of the site: its path below the site's folder, with at most one folder, and its content.
pub struct SiteFile {
    pub folder: Option<&'static str>,
    pub name: String,
    pub content: Vec<u8>,
}

impl SiteFile {
    /// Its path below the site's folder.
    pub fn path(&self) -> String {
        self.folder.map_or_else(|| self.name.clone(), |folder| format!("{folder}/{}", self.name))
    }
}

impl Atlas {
    /// Every file of the site.
    ///
    /// # Errors
    /// When the data cannot be written as JSON or CSV.
    pub fn render(&self) -> Result<Vec<SiteFile>, ReportError> {
        let mut files = data::data_files(self)?;
        let mut page = |name: String, page: maud::Markup| {
            files.push(SiteFile { folder: None, name, content: page.into_string().into_bytes() });
        };
        for at in 0..self.filters.len() {
            page(self.filter_page(at), matrix_page::render(self, at));
        }
        for cell in &self.cells {
            page(cell.page(), cell_page::render(self, cell));
        }
        for (at, work) in self.works.iter().enumerate() {
            page(work.page(), questions::render_work(self, at));
        }
        for (at, kind) in self.kinds.iter().enumerate() {
            page(kind.page(), kind_page::render(self, at));
        }
        for facts in &self.catalogue.filesystems {
            page(filesystem_page::name(&facts.name), filesystem_page::render(self, facts));
        }
        page("kinds.html".to_owned(), kind_page::render_list(self));
        page("filesystems.html".to_owned(), filesystem_page::render_list(self));
        page("questions.html".to_owned(), questions::render(self));
        page("studies.html".to_owned(), studies::render(self));
        page("kernels.html".to_owned(), studies::render_kernels(self));
        for cell in &self.cells {
            if let Ok(computed) = &cell.content {
                let content = computed.plan.clone().into_bytes();
                files.push(SiteFile { folder: Some("plans"), name: format!("{}.toml", cell.slug), content });
                let content = Card { question: &self.question(cell), cell: computed }.render_png()?;
                files.push(SiteFile { folder: Some("cards"), name: format!("{}.png", cell.slug), content });
            }
            if let Some(bundle) = &cell.bundle {
                let name = bundle_name(&cell.slug, &cell.identity);
                files.push(SiteFile { folder: Some(RUNS), name, content: bundle.clone() });
            }
        }
        Ok(files)
    }

    fn filter_page(&self, at: usize) -> String {
        format!("{}.html", self.filters.get(at).map_or("index", |filter| filter.slug))
    }

    fn cell(&self, work: usize, kind: usize) -> Option<&AtlasCell> {
        self.cells.iter().find(|cell| (cell.work, cell.kind) == (work, kind))
    }

    fn work_of(&self, cell: &AtlasCell) -> Option<&AtlasWork> {
        self.works.get(cell.work)
    }

    fn kind_of(&self, cell: &AtlasCell) -> Option<&AtlasKind> {
        self.kinds.get(cell.kind)
    }

    /// The names of a cell's work and model; empty where it has none.
    fn names_of(&self, cell: &AtlasCell) -> (&str, &str) {
        let work = self.work_of(cell).map_or("", |work| &work.slug);
        (work, self.kind_of(cell).map_or("", |kind| &kind.model))
    }

    /// The question of a cell, as a reader would put it.
    pub fn question(&self, cell: &AtlasCell) -> String {
        let about = self.work_of(cell).map_or("", |work| &work.about);
        let place = self.kind_of(cell).map_or("", |kind| &kind.place);
        format!("Which filesystem for {about} {place}?")
    }

    fn computed(&self) -> impl Iterator<Item = (&AtlasCell, &ComputedCell)> {
        self.cells.iter().filter_map(|cell| Some((cell, &**cell.content.as_ref().ok()?)))
    }

    /// The days and kernels of the cells: the origin of the atlas.
    pub fn describe_origin(&self) -> String {
        let days = || self.computed().map(|(_, cell)| cell.day);
        let kernels =
            fsverdict_judgement::plan::once_each(self.computed().map(|(_, cell)| cell.kernel.clone()));
        let (Some(first), Some(last)) = (days().min(), days().max()) else {
            return "nothing was computed yet".to_owned();
        };
        let when = if first == last { first.to_string() } else { format!("{first} to {last}") };
        format!(
            "{} of {} cells computed {when} with Linux {}",
            self.computed().count(),
            self.cells.len(),
            kernels.join(", ")
        )
    }
}
