//! `fsverdict kernel`: build, list, remove, hand on and take over laboratory kernels.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use fsverdict_judgement::plan::{Overrides, Plan, read_with};
use fsverdict_lab::kernel::{
    Attendant, KernelCache, KernelEntry, KernelModule, KernelModules, KernelTrial, MissingOption, Progress,
    Recipe, Subject, ZfsRequest, build_kernel, export_kernel, import_kernel,
};
use fsverdict_lab::lab::{by_default, try_kernel};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_linux::host::root::names_in;

use fsverdict_report::TerminalLook;
use fsverdict_text::{Bytes, wrap_hanging};

use super::vocabulary::{read_plan, with_vocabulary};
use super::{CliError, Exit};

/// The plan of a kernel's trial: little work, on a disk that serves requests one by one. Computation has a price if the kernel can
/// count it.
const TRIAL: &str = r#"
title    = "A kernel's trial"
lab      = "uml"
clock    = "simulated"
cpu      = "free"
device   = { model = "usb-disk-5400", size = "1GB" }
protocol = { blocks = 1, seed = 7 }
phase    = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
]
dataset.tree = { profile = "mixed", files = 40, directories = 4, size = "512KiB" }
matrix.filesystem = ["ext4"]
"#;

#[derive(Debug, Args)]
pub(super) struct KernelArguments {
    #[command(subcommand)]
    action: KernelAction,
}

/// A part that Linux does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KernelPart {
    /// OpenZFS, with zpool and zfs beside the kernel; for this machine only
    Zfs,
}

#[derive(Debug, Subcommand)]
enum KernelAction {
    /// Build a kernel for simulated time into the cache
    ///
    /// It has ext4, xfs, btrfs and f2fs at first; other filesystems and layers are compiled when a plan first needs them, in seconds. A
    /// kernel enters the cache only after a test: it boots, makes, mounts and checks each filesystem that is compiled, and
    /// gives the same trace twice.
    Build {
        /// The kernel's sources: a tarball or a folder [default: the newest /usr/src/linux-source-*]
        source: Option<PathBuf>,
        /// Apply this patch first; can be repeated
        #[arg(long, value_name = "FILE")]
        patch: Vec<PathBuf>,
        /// How many compilers run at once [default: one per processor]
        #[arg(long, short, value_name = "N")]
        jobs: Option<usize>,
        /// Compile every filesystem and layer now, not when a plan first needs it
        #[arg(long)]
        all: bool,
        /// Skip the test; plans that name no kernel use an untested one only if no tested one fits
        #[arg(long)]
        untried: bool,
        /// Build a part into the kernel that Linux does not contain, from the distribution's packages
        #[arg(long, value_name = "PART")]
        with: Option<KernelPart>,
        /// OpenZFS's sources: a tarball or a folder [default: the package zfs-dkms]
        #[arg(long, value_name = "SOURCE", requires = "with")]
        zfs_source: Option<PathBuf>,
    },
    /// List the kernels in the cache, and which of them a plan uses that names none
    List,
    /// Remove a kernel from the cache
    Remove {
        /// A name or digest from `kernel list`, or the beginning of a release
        name: String,
    },
    /// Write a kernel of the cache into a file for another machine
    Export {
        /// A name from `kernel list`, or the beginning of a release
        name: String,
        /// The file to create, usually NAME.tar.gz
        file: PathBuf,
    },
    /// Test a kernel that `kernel export` wrote, and add it to the cache
    Import { file: PathBuf },
}

pub(super) fn run(arguments: &KernelArguments) -> Result<Exit, CliError> {
    let cache = KernelCache::of_user();
    let mut out = result_writer();
    match &arguments.action {
        KernelAction::Build { source, patch, jobs, all, untried, with, zfs_source } => {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let recipe = Recipe {
                source: source.clone(),
                patches: patch.clone(),
                jobs: jobs.unwrap_or(processors),
                all: *all,
                untried: *untried,
                zfs: with.map(|KernelPart::Zfs| ZfsRequest { source: zfs_source.clone() }),
            };
            let mut keeper = Keeper::new()?;
            let built = build_kernel(&recipe, &cache, &mut keeper).map_err(CliError::failed)?;
            keeper.bar.finish_and_clear();
            for option in &built.entry.facts.refused {
                print_line(&format!("{option} did not take"));
            }
            if built.found {
                print_line("it was built before");
            }
            print_line(&in_full(&built.entry));
            writeln!(out, "{}", built.entry.kernel.display())?;
        }
        KernelAction::List => {
            let entries = cache.list_kernels();
            if entries.is_empty() {
                print_line(
                    "there is no laboratory kernel yet; `fsverdict kernel build` builds one in some minutes",
                );
            }
            for entry in entries {
                let line = format!("{}  {}  {}", entry.name, entry.kernel.display(), in_short(&entry));
                let line = entry.find_modules().map_or(line.clone(), |modules| {
                    format!("{line}; {}", describe_modules(&entry, &modules))
                });
                writeln!(out, "{}", wrap_hanging(&line, TerminalLook::list_width(), 2))?;
            }
            let everything = read_plan("quick", &Overrides::default())?;
            if let Some(found) = by_default(&everything) {
                print_line(&format!(
                    "a plan that names no kernel uses the newest tested one that has its filesystems, layers and clock: usually {}",
                    found.entry.name
                ));
            }
            say_unfinished(&cache);
        }
        KernelAction::Remove { name } => {
            let removed = cache.remove_entry(name).map_err(CliError::failed)?;
            writeln!(out, "removed {}", removed.display())?;
        }
        KernelAction::Export { name, file } => {
            let entry = export_kernel(&cache, name, file).map_err(CliError::failed)?;
            print_line(&format!("{}; `fsverdict kernel import FILE` adds it on another machine", entry.name));
            writeln!(out, "{}", file.display())?;
        }
        KernelAction::Import { file } => {
            let mut keeper = Keeper::new()?;
            let entry = import_kernel(&cache, file, &mut keeper).map_err(CliError::failed)?;
            keeper.bar.finish_and_clear();
            print_line(&in_full(&entry));
            writeln!(out, "{}", entry.kernel.display())?;
        }
    }
    Ok(Exit::Done)
}

fn say_unfinished(cache: &KernelCache) {
    for (digest, folder) in cache.unfinished_builds() {
        print_line(&format!(
            "unfinished: {}; the same `fsverdict kernel build` continues it, `fsverdict kernel remove {digest}` removes it",
            folder.display()
        ));
    }
    for (digest, folder) in cache.unpacked_packages() {
        let module_folders = ["lib", "usr/lib"].map(|name| names_in(&folder.join(name).join("modules")));
        let releases = module_folders.concat().join(", ");
        print_line(&format!(
            "unpacked for virtual machines: {releases} in {}; `fsverdict kernel remove {digest}` removes it until a plan needs it again",
            folder.display()
        ));
    }
}

/// Whether a kernel was tried, and whether it is this machine's own.
pub(super) fn in_short(entry: &KernelEntry) -> String {
    let trial = match &entry.facts.trial {
        None => "not tried",
        Some(KernelTrial::Passed(_)) => "tried",
        Some(KernelTrial::Failed(_)) => "failed its trial",
    };
    let counting = if entry.facts.counting { "" } else { "cannot price computation, " };
    let from = if entry.facts.imported.is_some() { ", imported" } else { "" };
    let zfs = entry.facts.zfs.as_ref().map_or(String::new(), |version| format!("with ZFS {version}, "));
    format!("{counting}{zfs}{trial}{from}")
}

/// Which modules of a kernel are compiled, and which can be.
fn describe_modules(entry: &KernelEntry, modules: &KernelModules) -> String {
    let names = |list: &[&'static KernelModule]| {
        let mut names: Vec<&str> = list.iter().map(|module| module.name).collect();
        names.sort_unstable();
        names.join(", ")
    };
    let (compiled, others) = modules.divide_by_compiled();
    let has = format!("compiled: {}", names(&compiled));
    match (others.as_slice(), modules.can_compile) {
        ([], _) => has,
        (others, true) => {
            let kept = Bytes(entry.kept_bytes());
            format!("{has}; when a plan needs them: {} (their sources take {kept})", names(others))
        }
        (others, false) => format!("{has}; not compiled, and without sources here: {}", names(others)),
    }
}

/// A sentence about a kernel with the outcome of its trial: the filesystems and layers that it passed, or the failure.
fn in_full(entry: &KernelEntry) -> String {
    match &entry.facts.trial {
        Some(KernelTrial::Passed(proof)) => {
            let all: Vec<&str> = proof.filesystems.iter().chain(&proof.layers).map(String::as_str).collect();
            let rest = match proof.without_tools.as_slice() {
                [] => String::new(),
                names => format!("; not tested, because their tools are missing: {}", names.join(", ")),
            };
            format!("{} was tried with {}{rest}", entry.name, all.join(", "))
        }
        Some(KernelTrial::Failed(failure)) => {
            format!("{} failed its trial: {}: {}", entry.name, failure.what, failure.reason)
        }
        None => format!("{} was not tried", entry.name),
    }
}

/// The progress line of a step of unknown length, and of one with a known number of files.
const UNMEASURED: &str = "{spinner} {elapsed}  {msg}";
const MEASURED: &str = "{bar:24} {pos} of {len} files, {eta} left  {msg}";

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Tells how far a kernel is, and tries it.
struct Keeper {
    plan: Plan,
    bar: ProgressBar,
    /// The step that was last said where there is no terminal.
    said: Option<&'static str>,
}

impl Keeper {
    fn new() -> Result<Self, CliError> {
        let plan = with_vocabulary(|vocabulary| {
            read_with(TRIAL, "a kernel's trial", &Overrides::default(), vocabulary)
        });
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style(UNMEASURED));
        Ok(Keeper { plan: plan.map_err(CliError::failed)?, bar, said: None })
    }
}

impl Attendant for Keeper {
    /// A line that moves on a terminal, and a few that stay elsewhere.
    fn report_progress(&mut self, progress: &Progress) {
        let Progress { step, compiled, to_compile, file } = progress;
        if self.bar.is_hidden() {
            if self.said.replace(step) != Some(*step) {
                let what = if *to_compile > 0 { format!("(files: {to_compile})") } else { file.clone() };
                print_line(format!("{step} {what}").trim_end());
            }
            return;
        }
        let all = (*to_compile > 0).then_some(*to_compile);
        if self.bar.length() != all {
            match all {
                Some(all) => self.bar.set_length(all),
                None => self.bar.unset_length(),
            }
            self.bar.set_style(style(all.map_or(UNMEASURED, |_| MEASURED)));
            self.bar.reset_eta();
        }
        // A generated file or two may come on top.
        self.bar.set_position(all.map_or(0, |all| all.min(*compiled)));
        let count =
            if *compiled > 0 && all.is_none() { format!(", {compiled} files") } else { String::new() };
        self.bar.set_message(format!("{step}{count}  {file}"));
        self.bar.tick();
    }

    fn report_missing_options(&mut self, release: &str, lacking: &[MissingOption]) {
        let (mut filesystems, mut others) = (Vec::new(), Vec::new());
        for MissingOption { symbol, note } in lacking {
            let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
            let serves = |one: &&&fsverdict_stack::filesystem::Filesystem| {
                one.drivers.iter().any(|driver| driver.config == *symbol)
            };
            match fsverdict_stack::filesystem::registry().iter().find(serves) {
                Some(filesystem) => filesystems.push(format!("{}{note}", filesystem.name)),
                None => others.push((*symbol).to_owned()),
            }
        }
        let say_of = |what: &str, all: &[String]| {
            if !all.is_empty() {
                self.bar.suspend(|| {
                    print_line(&format!("the sources of Linux {release} have no {what}{}", all.join(", ")));
                });
            }
        };
        say_of("", &filesystems);
        say_of("option ", &others);
    }

    fn try_out(&mut self, subject: Subject<'_>) -> (KernelTrial, String) {
        let plan = self.plan.clone();
        try_kernel(&plan, subject, &mut |what| {
            self.report_progress(&Progress { step: "trying", file: what.to_owned(), ..Progress::default() });
        })
    }
}
