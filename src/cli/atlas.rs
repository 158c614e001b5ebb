//! `fsverdict atlas`: computes the answers for many works on many kinds of devices, and writes them as a static site.

mod cells;
mod compute;
mod gather;
mod regression;
mod strangers;
mod write;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use fsverdict_folders::FolderHandle;
use fsverdict_judgement::plan::Blocks;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_report::Catalogue;
use fsverdict_text::{Reason, parse_time};

use super::fleet::SiteArguments;
use super::output::written;
use super::run::Conduct;
use super::vocabulary::{Among, PathOrAmong, preset_names};
use super::{CliError, Exit};

use cells::plan_cells;
use compute::compute_cells;
pub(super) use gather::compute_content;
use gather::gather_atlas;
use regression::find_regressions;
use strangers::join_strangers;
use write::write_site;

/// The text below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict atlas build --out atlas                          ten works on eight kinds of devices: hours
  fsverdict atlas build games photo-backup --devices nvme-ssd,hdd-7200 --out atlas
  fsverdict atlas build mine.toml --out atlas --for 10m      your own plan on each kind
  fsverdict atlas build --out atlas --render                 the pages of what was computed so far

An interrupted build continues when it is started again.";

#[derive(Debug, Args)]
pub(super) struct AtlasArguments {
    #[command(subcommand)]
    action: AtlasAction,
}

#[derive(Debug, Subcommand)]
enum AtlasAction {
    /// Run the work of each missing cell, and write the pages
    #[command(after_help = EXAMPLES)]
    Build(BuildArguments),
}

#[derive(Debug, Args)]
pub(super) struct BuildArguments {
    /// Presets and plans, each of which is a work [default: ten that are often asked about]; also runs and bundles of others
    #[arg(value_name = "PRESET|PLAN.toml|RUN|BUNDLE", value_parser = PathOrAmong(preset_names), hide_possible_values = true)]
    works: Vec<OsString>,
    /// The folder that the site is written into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The kinds of devices, as models [default: eight kinds]
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',', value_parser = Among(model_names), hide_possible_values = true)]
    devices: Vec<String>,
    /// The time of each cell: a run that has not ended by then leaves its cell empty
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, default_value = "10m")]
    budget: Duration,
    /// The number of blocks of each cell, or at least MIN, and the trials of MAX at most, until the verdict is certain
    #[arg(long, value_name = "N|MIN-MAX", default_value = "6-8")]
    blocks: Blocks,
    /// Scale the data of each work by this factor
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// The release of the laboratory kernel [default: the newest that fits]
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// The folder of the cells' runs [default: DIR/.cells]
    #[arg(long, value_name = "DIR")]
    cells: Option<PathBuf>,
    /// Compute nothing: write the pages of the cells that are there
    #[arg(long)]
    render: bool,
    #[command(flatten)]
    sites: SiteArguments,
    #[command(flatten)]
    conduct: Conduct,
}

impl BuildArguments {
    /// The folder of the cells' runs.
    fn cells_folder(&self) -> PathBuf {
        self.cells.clone().unwrap_or_else(|| self.out.join(".cells"))
    }
}

fn model_names() -> Vec<&'static str> {
    fsverdict_disk::device::built_in().iter().map(|model| model.name).collect()
}

pub(super) fn run(arguments: &AtlasArguments) -> Result<Exit, CliError> {
    let AtlasAction::Build(arguments) = &arguments.action;
    let catalogue = Catalogue::built_in().map_err(|error| CliError::failed(Reason::plain(error)))?;
    let planned = plan_cells(arguments, &catalogue)?;
    if !arguments.render {
        compute_cells(arguments, &planned)?;
    }
    let mut atlas = gather_atlas(&planned, catalogue)?;
    join_strangers(&planned, &mut atlas.cells);
    let files = written(atlas.render())?;
    if let Some(changed) = find_regressions(&arguments.out, &atlas)? {
        print_line(&format!("error: {changed}"));
        return Ok(Exit::Regression);
    }
    write_site(&FolderHandle::open_or_create(&arguments.out)?, &files)?;
    let index = arguments.out.join("index.html");
    writeln!(result_writer(), "{}: {}", index.display(), atlas.describe_origin())?;
    Ok(Exit::Done)
}
