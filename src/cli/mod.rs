//! The command line: one definition of every flag, one file per command, errors told once, exit codes.

mod against;
mod ask;
mod atlas;
mod block;
mod bundle;
mod calibrate;
mod calibrate_cpu;
mod capture;
mod capture_trace;
mod clean;
mod compare;
mod consent;
mod crash;
mod doctor;
mod dry_run;
mod error;
mod fault_news;
mod fleet;
mod forecast;
mod guarantees;
mod interrupt;
mod kernel;
mod list;
mod manual;
mod open_run;
mod output;
mod pager;
mod progress;
mod report;
mod request_picture;
mod resume;
mod run;
mod run_files;
mod run_report;
mod run_view;
mod settle_size;
mod show;
mod status;
mod to_use;
mod tools;
mod trace;
mod viewer;
mod vocabulary;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::own_folder;
use fsverdict_linux::sandbox::OF_MACHINE;

use error::print_usage_error;
pub use error::{CliError, Exit};
pub use run_files::{RunFile, run_files};
pub use vocabulary::with_vocabulary;

/// Compares filesystems and their options on a device, under your workload, and gives a verdict with evidence
#[derive(Debug, Parser)]
#[command(name = "fsverdict", version, about, arg_required_else_help = true, after_help = closing())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The meaning of each exit status.
const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "done; an undecided run counts as done (its first line says so, and `outcome` in report.json)"),
    ("1", "failed, or no verdict: no candidate was measured, or too many blocks were disturbed"),
    ("2", "the command line or the plan is wrong"),
    ("3", "done, but candidates were skipped or failed (run, resume, doctor)"),
    ("4", "`compare` found that the last run is slower than the first or the one before it"),
    ("125", "`compare --bisect` cannot tell whether anything became slower"),
    ("129", "the terminal was closed (HUP); `resume` continues"),
    ("130", "interrupted (Ctrl-C); `resume` continues"),
    ("143", "terminated (TERM); `resume` continues"),
];

/// Where to begin.
const STARTS: &[(&str, &str)] = &[
    ("fsverdict ask", "asks for the work and the device, and answers"),
    ("fsverdict doctor", "shows what can run here and what to install"),
    ("fsverdict run demo", "compares four filesystems on a modelled disk, without root"),
];

/// The text below the options in `--help`.
fn closing() -> String {
    let lines = |title: &str, entries: &[(&str, &str)], width: usize| {
        let each: Vec<String> =
            entries.iter().map(|(term, meaning)| format!("  {term:width$}  {meaning}")).collect();
        format!("{title}:\n{}", each.join("\n"))
    };
    format!("{}\n\n{}", lines("Exit status", EXIT_STATUS, 3), lines("Start with", STARTS, 18))
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer a question in plain words: which filesystem for this work, on this device?
    Ask(ask::AskArguments),
    /// Run a preset or a plan and report the result
    Run(run::RunArguments),
    /// Continue an interrupted run
    Resume(resume::ResumeArguments),
    /// Run one block of a run that several machines share
    Block(block::BlockArguments),
    /// Merge the blocks of all machines and report the result
    Merge(block::MergeArguments),
    /// Pack a run into one file to share, without the names of machines and persons
    #[command(visible_alias = "pack")]
    Bundle(bundle::BundleArguments),
    /// Show the report of a run
    Report(report::ReportArguments),
    /// Show how far a run has come, while it goes on or afterwards: trials, leader, expected end
    Status(status::StatusArguments),
    /// Compute the answers for many works on many kinds of devices, and write them as a static site
    Atlas(atlas::AtlasArguments),
    /// Compare runs of the same plan: what became faster or slower
    Compare(compare::CompareArguments),
    /// Show or export the requests that a modelled device served in a trial
    Trace(trace::TraceArguments),
    /// Examine power cuts or bit rot of a run's candidates, or write the image of one examined state
    Crash(crash::CrashArguments),
    /// Show which candidates can run on this machine, in which lab, and what to install
    Doctor(doctor::DoctorArguments),
    /// List what a plan may name: filesystems, operations, presets, models, labs, layers, profiles, metrics
    List(list::ListArguments),
    /// Print the TOML of a preset, a model or a run's plan, as a start for your own
    Show(show::ShowArguments),
    /// Build, list, remove, export or import kernels for simulated time
    Kernel(kernel::KernelArguments),
    /// Fetch tools of a filesystem that the system has no package of, without installing them
    Tools(tools::ToolsArguments),
    /// Measure a device and write a model of it, or compare a model with measurements
    Calibrate(calibrate::CalibrateArguments),
    /// Describe a folder or a recorded workload without names and content, to share or to run
    Capture(capture::CaptureArguments),
    /// Find and remove what a killed run left behind
    Clean(clean::CleanArguments),
    /// Show the manual page of the program, of a command or of plans
    Man(manual::ManArguments),
    /// Print a completion script for a shell
    Completions(manual::CompletionsArguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    fsverdict_linux::host::syscall::keep_ended_children();
    errors_instead_of_death_by_size();
    if let Some(code) = inner_step() {
        return ExitCode::from(code);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // An error about an argument is cut to a screen; the help, printed because no command was named, is not.
            let help = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            if error.use_stderr() && !help {
                print_usage_error(&error);
                return ExitCode::from(2);
            }
            // Help and version are results.
            let printed = error.print().and_then(|()| flush_result());
            return match printed {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ended(Err(error.into())),
                _ if help => ExitCode::from(2),
                _ => ExitCode::SUCCESS,
            };
        }
    };
    let outcome = match cli.command {
        Command::Ask(arguments) => ask::run(&arguments),
        Command::Run(arguments) => match arguments.settle_size {
            Some(most) => settle_size::run(&arguments, most),
            None => run::run(&arguments),
        },
        Command::Resume(arguments) => resume::run(&arguments),
        Command::Block(arguments) => block::block(&arguments),
        Command::Merge(arguments) => block::merged(&arguments),
        Command::Bundle(arguments) => bundle::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Atlas(arguments) => atlas::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Kernel(arguments) => kernel::run(&arguments),
        Command::Tools(arguments) => tools::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Capture(arguments) => capture::run(&arguments),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Man(arguments) => manual::man(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments),
    };
    // The end of a result may still be in a buffer: an error in writing it would be lost when the program ends.
    ended(outcome.and_then(|outcome| flush_result().map(|()| outcome).map_err(CliError::from)))
}

fn flush_result() -> std::io::Result<()> {
    std::io::Write::flush(&mut std::io::stdout())
}

/// The shell's limit on the size of files (`ulimit -f`) ends a program by a signal; with a handler, the write fails with an error, as
/// on a full disk. Programs that are started have no handler.
fn errors_instead_of_death_by_size() {
    // If no handler can be set, the signal ends the program, which is no reason not to run.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Tells how a command ended.
fn ended(outcome: Result<Exit, CliError>) -> ExitCode {
    match outcome {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            error.print();
            ExitCode::from(error.code())
        }
    }
}

/// The steps this program runs of itself. They are no commands for people and appear in no help; a guest's kernel
/// adds words of its own to their arguments.
fn inner_step() -> Option<u8> {
    let mut arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    match arguments.next()?.as_str() {
        "sandbox" => {
            let inmate = arguments.next().is_some_and(|second| second == "--inmate");
            Some(fsverdict_linux::sandbox::enter_sandbox(inmate).unwrap_or_else(|error| {
                print_line(&format!("fsverdict: {error}"));
                if error.is_of_machine() { OF_MACHINE } else { 126 }
            }))
        }
        "agent" => Some(fsverdict_lab::trial::run_agent()),
        "stage" => Some(fsverdict_lab::trial::run_stage()),
        "guest" => Some(fsverdict_lab::lab::guest(arguments)),
        own_folder::STAND_BY => Some(own_folder::stand_by(std::env::args_os().nth(2))),
        "launch" => Some(fsverdict_lab::lab::launch(arguments)),
        fsverdict_workload::cpu_work::COMMAND => Some(fsverdict_workload::cpu_work::main(arguments)),
        fsverdict_stack::anatomy::COMMAND => Some(fsverdict_stack::anatomy::main(arguments)),
        fsverdict_lab::lab::backend::COMMAND => Some(fsverdict_lab::lab::backend::main()),
        _ => None,
    }
}
