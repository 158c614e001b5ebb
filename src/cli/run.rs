//! `fsverdict run`: carry out a preset or a plan.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::journal::{Event, Run, SCHEMA, Writer};
use crate::lab::{Choice, Disk};
use crate::plan::{Blocks, DeviceSource, LabChoice, Overrides, Plan, Twice, parse_time};
use crate::study::{Bar, Machine, Observer, RunFolder, Silent, Study};

use super::environment::environment;
use super::live::{Live, write_page};
use super::report::{PAGE, open_page, show_result};
use super::vocabulary::read_plan;
use super::{CliError, Outcome, device, dry_run};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A preset (`fsverdict list presets`) or the path of a plan
    #[arg(value_name = "PRESET|PLAN.toml")]
    plan: String,
    /// Where trials happen
    #[arg(long, value_enum)]
    lab: Option<LabArgument>,
    /// A scratch image or a block device: everything on it is destroyed
    #[arg(long, value_name = "image:SIZE|PATH")]
    device: Option<DeviceSource>,
    /// Keep only candidates of these filesystems or names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    fs: Vec<String>,
    /// This many blocks (one block is one trial of every candidate), or from MIN to MAX until the verdict is certain
    #[arg(long, value_name = "N|MIN-MAX")]
    blocks: Option<Blocks>,
    /// Stop within this time: no new block starts when it could not end in it
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    budget: Option<Duration>,
    /// A/A: enter a candidate twice, the first one unless named, and tell how different the two look
    #[arg(long = "aa", value_name = "CANDIDATE", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = twice)]
    twice: Option<Twice>,
    /// Shrink the data to this share; nothing else changes
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Change one key of the plan, e.g. --set protocol.seed=7
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The folder for the run's plan, journal and reports [default: runs/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Allow the device's present content to be destroyed, by the identity that the refusal names
    #[arg(long, value_name = "IDENTITY")]
    erase: Option<String>,
    /// Open the report in the browser; it shows what is known so far, block by block
    #[arg(long)]
    open: bool,
    /// Print every trial and every command line that would run, and run none
    #[arg(long)]
    dry_run: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum LabArgument {
    /// Native where possible, else uml
    Auto,
    /// This machine's kernel, as root
    Native,
    /// A Linux kernel as an ordinary process
    Uml,
    /// A QEMU guest
    Vm,
}

impl From<LabArgument> for LabChoice {
    fn from(argument: LabArgument) -> Self {
        match argument {
            LabArgument::Auto => LabChoice::Auto,
            LabArgument::Native => LabChoice::Native,
            LabArgument::Uml => LabChoice::Uml,
            LabArgument::Vm => LabChoice::Vm,
        }
    }
}

impl Arguments {
    fn overrides(&self) -> Overrides {
        Overrides {
            set: self.set.clone(),
            filesystems: self.fs.clone(),
            lab: self.lab.map(LabChoice::from),
            device: self.device.clone(),
            blocks: self.blocks,
            budget: self.budget,
            twice: self.twice.clone(),
            scale: self.scale,
        }
    }
}

/// A candidate's name, or nothing for the first.
fn twice(name: &str) -> Result<Twice, Infallible> {
    Ok(if name.is_empty() { Twice::First } else { Twice::Named(name.to_owned()) })
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CliError> {
    let plan = read_plan(&arguments.plan, &arguments.overrides())?;
    let choice = crate::lab::choose(&plan).map_err(CliError::failed)?;
    if arguments.dry_run {
        return dry_run::show(&plan, &choice);
    }
    check_datasets(&plan)?;
    let disk = device::claim(&plan, arguments.erase.as_deref())?;
    let folder =
        RunFolder::create(&arguments.out.clone().unwrap_or_else(|| default_folder(&arguments.plan)), &plan)
            .map_err(CliError::failed)?;
    let journal = begin(&plan, &choice, &disk, &folder)?;
    if arguments.open {
        write_page(&folder, &plan)?;
        open_page(&folder.path().join(PAGE));
    }
    let mut observer = observer(arguments.quiet);
    conduct(&plan, &choice, disk, journal, observer.as_mut(), None, &folder)
}

/// A bar, or silence.
pub(super) fn observer(quiet: bool) -> Box<dyn Observer> {
    if quiet { Box::new(Silent) } else { Box::new(Bar::new()) }
}

/// Conducts and reports; shared with `resume`.
pub(super) fn conduct(
    plan: &Plan,
    choice: &Choice,
    disk: Disk,
    journal: Writer,
    observer: &mut dyn Observer,
    so_far: Option<&Run>,
    folder: &RunFolder,
) -> Result<Outcome, CliError> {
    let mut live = Live { inner: observer, folder, plan };
    let mut machine = Machine::new(&disk);
    let lab = choice.lab.as_ref();
    let mut study = Study { plan, lab, disk, journal, observer: &mut live, lookout: &mut machine };
    study.conduct(so_far).map_err(|error| {
        let run = folder.path().display();
        if !folder.journal().exists() {
            return CliError::failed(error);
        }
        CliError::Failed(format!(
            "{error}\nhint: what was measured so far is in {run}; `fsverdict resume {run}` carries on"
        ))
    })?;
    drop(study);
    show_result(folder, plan)
}

fn begin(plan: &Plan, choice: &Choice, disk: &Disk, folder: &RunFolder) -> Result<Writer, CliError> {
    let mut journal = Writer::create(&folder.journal()).map_err(CliError::failed)?;
    let mut facts = environment(plan);
    facts.extend(choice.lab.facts());
    facts.extend(disk.facts());
    let event = Event::RunStarted {
        schema: SCHEMA,
        id: folder.id(),
        title: plan.title.clone(),
        plan_digest: crate::plan::digest(plan),
        lab: choice.lab.name().to_owned(),
        lab_reason: choice.reason.clone(),
        fidelity: choice.lab.fidelity(),
        environment: facts,
    };
    journal.append(None, event).map_err(CliError::failed)?;
    for caution in disk.cautions() {
        journal.append(None, Event::Caution(caution)).map_err(CliError::failed)?;
    }
    Ok(journal)
}

/// A folder that is not there is found out now, not in the first trial.
fn check_datasets(plan: &Plan) -> Result<(), CliError> {
    for (name, dataset) in &plan.datasets {
        if let crate::plan::Dataset::Folder { path, .. } = dataset
            && let Err(error) = std::fs::read_dir(path)
        {
            let path = path.display();
            return Err(CliError::Usage(format!(
                "cannot read the folder {path} of dataset `{name}`: {error}\nhint: name another with --set dataset.{name}.path=/some/folder"
            )));
        }
    }
    Ok(())
}

fn default_folder(plan: &str) -> PathBuf {
    let name = std::path::Path::new(plan).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S");
    PathBuf::from("runs").join(format!("{name}-{time}"))
}
