//! `fsverdict run`: carry out a preset or a plan.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::runner::{self, DryRun, RunPlace, RunRequest};
use crate::study::FolderRequest;
use fsverdict_judgement::plan::{Blocks, DeviceSource, LabChoice, Overrides, Plan, Twice};
use fsverdict_text::{is_steering, parse_time};

use super::consent::{Consent, PlanOrigin, check_erase_option, confirm_plan};
use super::fleet::SiteArguments;
use super::pager::PagerArguments;
use super::run_report::show_outcome;
use super::run_view::TerminalView;
use super::vocabulary::{Among, PathOrAmong, parse_device, plan_and_origin, preset_names};
use super::{CliError, Exit, dry_run};

/// The text below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict run demo                      compares on a modelled disk, without root
  fsverdict show usb-backup > mine.toml   writes a plan to edit
  fsverdict run mine.toml --dry-run       shows what would be done and what is missing
  fsverdict run mine.toml --fs ext4,xfs --for 20m
  sudo fsverdict run mine.toml --device /dev/disk/by-id/usb-… --erase IDENTITY

`fsverdict man plan` describes plans.";

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArguments {
    /// A preset (`fsverdict list presets`), a plan's file (`-` reads standard input), or a report.html that contains a plan
    #[arg(value_name = "PRESET|PLAN.toml|PAGE.html", value_parser = PathOrAmong(preset_names), hide_possible_values = true)]
    plan: OsString,
    /// The lab: where trials run (`fsverdict list labs`)
    #[arg(long, value_parser = PossibleValuesParser::new(LabChoice::ALL.map(LabChoice::word)).try_map(|name| name.parse::<LabChoice>()))]
    lab: Option<LabChoice>,
    /// A scratch image, a modelled device, or a block device, whose content is destroyed; repeat it for several devices
    #[arg(long, value_name = "image:SIZE|model:NAME[@SIZE]|PATH", value_parser = parse_device)]
    pub(super) device: Vec<DeviceSource>,
    /// Run only the candidates with these filesystems or names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = Among(fsverdict_stack::filesystem::filesystem_names), hide_possible_values = true)]
    fs: Vec<String>,
    /// The number of blocks (a block is one trial of every candidate), or at least MIN, and the trials of MAX at most, until the verdict is certain
    #[arg(long, value_name = "N|MIN-MAX", allow_hyphen_values = true)]
    blocks: Option<Blocks>,
    /// Stop within this time, preparation and faults included: what runs over it is stopped, and the report says what was not done
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    pub(super) budget: Option<Duration>,
    /// A/A test: enter a candidate twice (the first unless named) and report how different the two appear
    #[arg(long = "aa", value_name = "CANDIDATE", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = twice)]
    twice: Option<Twice>,
    /// Scale the data, and a scratch image with it, by this factor: 0.1 is a tenth
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    scale: Option<f64>,
    /// Repeat with four times the data until order and ratios no longer change; at most this many sizes [default: 4]
    #[arg(long, value_name = "SIZES", num_args = 0..=1, require_equals = true, default_missing_value = "4",
        value_parser = clap::value_parser!(u32).range(2..=9), conflicts_with_all = ["dry_run", "open"])]
    pub(super) settle_size: Option<u32>,
    /// Set one key of the plan, e.g. --set protocol.seed=7; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// The folder for the run's plan, journal and reports [default: runs/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Allow the content of this block device to be destroyed: its identity, as the refusal prints it; repeat it for several
    #[arg(long, value_name = "IDENTITY")]
    pub(super) erase: Vec<String>,
    /// Open the report in the browser, where it is updated after every block
    #[arg(long)]
    open: bool,
    /// Make every check, print every command line and the estimated time, and run nothing; needs no root
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Whether the plan is one that `ask` made of a question.
    #[arg(skip)]
    answers_question: bool,
    #[command(flatten)]
    pub(super) pager: PagerArguments,
    #[command(flatten)]
    pub(super) sites: SiteArguments,
    #[command(flatten)]
    pub(super) conduct: Conduct,
}

/// How a run is carried out and shown; the same for `resume`.
#[derive(Debug, Default, Args)]
pub(super) struct Conduct {
    /// How many trials run at once, in simulated time only [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    jobs: Option<u16>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Run a plan from a page or of another user without asking for confirmation
    #[arg(long)]
    pub(super) yes: bool,
    /// Let the commands of such a plan use this machine's network
    #[arg(long)]
    allow_network: bool,
    /// Show every table: costs, rates and the steps around the phases
    #[arg(long)]
    pub(super) all: bool,
}

impl Conduct {
    pub(super) fn jobs(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }

    pub(super) fn consent(&self) -> Consent {
        Consent { yes: self.yes, network: self.allow_network, quiet: self.quiet }
    }

    pub(super) fn view(&self) -> TerminalView {
        TerminalView { quiet: self.quiet, forecasts: true, open: false, asks: !self.yes }
    }
}

impl RunArguments {
    /// Nothing but a plan's name.
    pub(super) fn of_question(name: &str) -> Self {
        RunArguments { plan: name.into(), answers_question: true, ..Self::default() }
    }

    pub(super) fn plan(&self) -> &OsStr {
        &self.plan
    }

    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            set: self.set.clone(),
            candidates: Vec::new(),
            filesystems: self.fs.iter().map(|name| name.trim().to_owned()).collect(),
            lab: self.lab,
            device: self.device.clone(),
            blocks: self.blocks,
            budget: self.budget,
            twice: self.twice.clone(),
            scale: self.scale,
            grown: None,
        }
    }

    /// The request to carry out this plan, which the user has not confirmed yet.
    pub(super) fn request(&self, plan: Plan) -> Result<RunRequest, CliError> {
        let place = self.sites.fleet()?.map_or(RunPlace::Here, RunPlace::Sites);
        check_erase_option(&self.erase, &plan.device.source)?;
        let folder = match &self.out {
            Some(path) => FolderRequest::Named(path.clone()),
            None => FolderRequest::Unnamed(default_folder(&self.plan)),
        };
        let (jobs, erase, needs_rivals) = (self.conduct.jobs(), self.erase.clone(), self.answers_question);
        Ok(RunRequest { plan, folder, place, jobs, erase, needs_rivals })
    }
}

/// A candidate's name, or nothing for the first.
fn twice(name: &str) -> Result<Twice, Infallible> {
    Ok(if name.is_empty() { Twice::First } else { Twice::Named(name.to_owned()) })
}

pub(super) fn run(arguments: &RunArguments) -> Result<Exit, CliError> {
    let (plan, origin) = plan_and_origin(&arguments.plan, &arguments.overrides())?;
    carry_out(arguments, plan, &origin)
}

/// Carries out a plan that has been read, once the user has confirmed it, and shows the result.
pub(super) fn carry_out(arguments: &RunArguments, plan: Plan, origin: &PlanOrigin) -> Result<Exit, CliError> {
    let request = arguments.request(plan)?;
    if arguments.dry_run {
        let is_own = !matches!(origin, PlanOrigin::Stranger(_));
        return dry_run::show(&DryRun::predict(request, is_own)?, arguments.pager);
    }
    // Before any program of the plan runs: the choice of a lab may start its kernel in QEMU.
    confirm_plan(&request.plan, origin, arguments.conduct.consent())?;
    let view = TerminalView { open: arguments.open, ..arguments.conduct.view() };
    show_outcome(&runner::carry_out(request, &view)?, arguments.conduct.all)
}

pub(super) fn default_folder(plan: &OsStr) -> PathBuf {
    let name = std::path::Path::new(plan).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // The name appears in listings of the folder.
    let name = name.replace(is_steering, "_");
    let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S");
    PathBuf::from("runs").join(format!("{name}-{time}"))
}

#[cfg(test)]
mod tests {
    use super::default_folder;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn the_folder_of_a_run_has_a_name_that_can_be_listed() {
        for (plan, name) in [
            (b"plans/mine.toml".as_slice(), "runs/mine-"),
            ("a\u{1b}[2J\n\u{9b}\u{202e}b.toml".as_bytes(), "runs/a_[2J___b-"),
            (b"a\xffb.toml", "runs/a\u{fffd}b-"),
        ] {
            let folder = default_folder(OsStr::from_bytes(plan));
            assert!(folder.to_str().unwrap().starts_with(name), "{folder:?}");
        }
    }
}
