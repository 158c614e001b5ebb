//! The command line: one definition of every flag, one file per command, errors told once, exit codes.

mod against;
mod ask;
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
mod device;
mod doctor;
mod dry_run;
mod error;
mod fleet;
mod forecast;
mod interrupt;
mod kernel;
mod list;
mod live;
mod manual;
mod opened;
mod price;
mod progress;
mod reckoned;
mod recorded;
mod report;
mod requests;
mod resume;
mod rot;
mod run;
mod run_files;
mod settle_size;
mod show;
mod to_use;
mod trace;
mod viewer;
mod vocabulary;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use fsverdict_linux::host::own_folder;
use fsverdict_linux::host::talk::{print_line, say_styled};
use fsverdict_linux::sandbox::OF_MACHINE;

pub use error::{CliError, Exit};
pub use run_files::{RunFile, run_files};
pub use vocabulary::with_vocabulary;

/// Which filesystem, with which options, on this device, for this work? A verdict with evidence.
#[derive(Debug, Parser)]
#[command(name = "fsverdict", version, about, arg_required_else_help = true, after_help = closing())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What each exit status means.
const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "done; an undecided run is done, too (its first line says so, and `outcome` in report.json)"),
    (
        "1",
        "failed, or no verdict could be given: no candidate was measured, or too many blocks were disturbed",
    ),
    ("2", "the command line or the plan is wrong"),
    ("3", "done, but some candidates were skipped or failed (run, resume, doctor)"),
    ("4", "`compare` found a regression in the last run, since the first or the one before it"),
    ("125", "`compare --bisect` cannot tell"),
    ("129", "the terminal was closed (HUP); `resume` goes on"),
    ("130", "interrupted (Ctrl-C); `resume` goes on"),
    ("143", "told to end (TERM); `resume` goes on"),
];

/// Where to begin.
const STARTS: &[(&str, &str)] = &[
    ("fsverdict ask", "the work and the device in words, and an answer"),
    ("fsverdict doctor", "what can run here, and what to install"),
    ("fsverdict run demo", "sixteen candidates on a modelled disk, without root"),
];

/// What stands below the options in `--help`.
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
    /// Ask a question in a line, or be asked: which filesystem for this work, on this device?
    Ask(ask::AskArguments),
    /// Carry out a preset or a plan, and report what it found
    Run(run::RunArguments),
    /// Carry on an interrupted run
    Resume(resume::ResumeArguments),
    /// Do one block of a run that several machines share
    Block(block::BlockArguments),
    /// Merge the blocks of all machines, and report what they found
    Merge(block::MergeArguments),
    /// Make one file of a run, without what names a machine or a person, to be shared
    #[command(visible_alias = "pack")]
    Bundle(bundle::BundleArguments),
    /// Show what a run has found
    Report(report::ReportArguments),
    /// Compare runs of the same plan: what got better, what got worse
    Compare(compare::CompareArguments),
    /// Show what a modelled device was asked for in a trial, or give it to blkparse, fio or a table
    Trace(trace::TraceArguments),
    /// Cut the power of the modelled devices of a run's candidates, as its plan says; or make the image of one state that this left
    Crash(crash::CrashArguments),
    /// Measure natively what the computing takes that trials in simulated time took as free (root)
    Price(price::PriceArguments),
    /// Show which candidates can run in which lab here, what a run would refuse, and what to install
    Doctor(doctor::DoctorArguments),
    /// List what plans may name: filesystems, operations, presets, models, labs, layers, profiles, metrics
    List(list::ListArguments),
    /// Print a preset's or a model's TOML, to start one of one's own from
    Show(show::ShowArguments),
    /// Build, list or remove kernels for simulated time
    Kernel(kernel::KernelArguments),
    /// Measure a device by reading it and write a model of it; or hold a model against what was measured
    Calibrate(calibrate::CalibrateArguments),
    /// Print the shape of a folder, or the calls of a workload, to be shared: no name in it and no content
    Capture(capture::CaptureArguments),
    /// Find and undo whatever an earlier crash left behind
    Clean(clean::CleanArguments),
    /// Show the manual page, or that of a command or of plans
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
            // What is said of an argument fits a screen; the help of a command that was not named is not cut.
            let help = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            if error.use_stderr() && !help {
                say_styled(error.render().ansi().to_string().trim_end());
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
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Price(arguments) => price::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Kernel(arguments) => kernel::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Capture(arguments) => capture::run(&arguments),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Man(arguments) => manual::man(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments),
    };
    // The end of a result may still be in a buffer, of which nobody hears when the program ends.
    ended(outcome.and_then(|outcome| flush_result().map(|()| outcome).map_err(CliError::from)))
}

fn flush_result() -> std::io::Result<()> {
    std::io::Write::flush(&mut std::io::stdout())
}

/// The shell's limit on the size of files (`ulimit -f`) ends a program by a signal; with a handler, the write fails with an error, as
/// on a full disk. Programs that are started have no handler.
fn errors_instead_of_death_by_size() {
    // Where signals cannot be had, the signal ends the program, which is no reason not to run.
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
        "agent" => Some(fsverdict_lab::trial::agent()),
        "stage" => Some(fsverdict_lab::trial::stage()),
        "guest" => Some(fsverdict_lab::lab::guest(arguments)),
        own_folder::STAND_BY => Some(own_folder::stand_by(std::env::args_os().nth(2))),
        fsverdict_stack::passthrough::COMMAND => Some(fsverdict_stack::passthrough::main(arguments)),
        "launch" => Some(fsverdict_lab::lab::launch(arguments)),
        fsverdict_workload::cpu_work::COMMAND => Some(fsverdict_workload::cpu_work::main(arguments)),
        fsverdict_stack::anatomy::COMMAND => Some(fsverdict_stack::anatomy::main(arguments)),
        fsverdict_lab::lab::backend::COMMAND => Some(fsverdict_lab::lab::backend::main()),
        _ => None,
    }
}
