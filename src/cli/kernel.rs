//! `fsverdict kernel`: build, list and remove laboratory kernels.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::host::root::names_in;
use crate::host::talk::say;
use crate::kernel::{Cache, Progress, Recipe, build};

use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Build a kernel for simulated time, with every filesystem, into the cache
    Build {
        /// A tarball or a tree of kernel sources [default: the newest /usr/src/linux-source-*]
        source: Option<PathBuf>,
        /// Apply this patch first; can be given several times
        #[arg(long, value_name = "FILE")]
        patch: Vec<PathBuf>,
        /// Compilers at work at once [default: one for each processor]
        #[arg(long, short, value_name = "N")]
        jobs: Option<usize>,
    },
    /// List the kernels in the cache
    List,
    /// Remove a kernel from the cache
    Remove {
        /// As `list` prints it: a name or a digest, or the beginning of a release
        name: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let cache = Cache::of_user();
    let mut out = anstream::stdout().lock();
    match &arguments.action {
        Action::Build { source, patch, jobs } => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let recipe =
                Recipe { source: source.clone(), patches: patch.clone(), jobs: jobs.unwrap_or(processors) };
            let bar = Bar::new();
            let built =
                build(&recipe, &cache, &mut |progress| bar.show(progress)).map_err(CliError::failed)?;
            bar.0.finish_and_clear();
            for option in built.absent.iter().chain(&built.entry.facts.refused) {
                say(&format!("these sources have no {option}"));
            }
            if built.found {
                say("it was built before");
            }
            writeln!(out, "{}", built.entry.kernel.display())?;
        }
        Action::List => {
            for entry in cache.list() {
                writeln!(out, "{}  {}", entry.name, entry.kernel.display())?;
            }
            for (digest, folder) in cache.unfinished() {
                say(&format!(
                    "unfinished: {}; the same `fsverdict kernel build` carries on, `fsverdict kernel remove {digest}` removes it",
                    folder.display()
                ));
            }
            for (digest, folder) in cache.unpacked() {
                let of = ["lib", "usr/lib"].map(|name| names_in(&folder.join(name).join("modules")));
                let of = of.concat().join(", ");
                say(&format!(
                    "unpacked for virtual machines: {of} in {}; `fsverdict kernel remove {digest}` removes it until it is named again",
                    folder.display()
                ));
            }
        }
        Action::Remove { name } => {
            let removed = cache.remove(name).map_err(CliError::failed)?;
            writeln!(out, "removed {}", removed.display())?;
        }
    }
    Ok(Exit::Done)
}

/// A line that moves on a terminal, and a few that stay elsewhere.
struct Bar(ProgressBar, std::cell::Cell<Option<&'static str>>);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed}  {msg}") {
            bar.set_style(style);
        }
        Bar(bar, std::cell::Cell::new(None))
    }

    fn show(&self, progress: &Progress) {
        if self.0.is_hidden() {
            if self.1.replace(Some(progress.step)) != Some(progress.step) {
                say(&format!("{} {}", progress.step, progress.file));
            }
            return;
        }
        let Progress { step, compiled, file } = progress;
        let count = if *compiled > 0 { format!(", {compiled} files") } else { String::new() };
        self.0.set_message(format!("{step}{count}  {file}"));
        self.0.tick();
    }
}
