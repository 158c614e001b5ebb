//! Finds the kernels of a run in a lab with guests: the plan's, or those that its candidates name; and the modules
//! each can load.

use std::path::{Path, PathBuf};

use crate::kernel::{COUNTING, KernelBuildError, KernelCache, KernelModule, compile_missing};
use crate::trial::Modules;
use fsverdict_judgement::plan::{Candidate, Plan, once_each};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::procfs::has_cpu_flag;
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::program::find_program;
use fsverdict_stack::layer::{SCHEDULERS, Scheduler, find_scheduler};
use fsverdict_text::Reason;

use super::LabError;
use super::by_default::{by_default, way_to};
use super::kernel::{Kernel, Provision, fits_amx};
use super::scheduler_obstacle::scheduler_obstacle;

/// The kernel's name where a distribution packages it.
const PROGRAM: &str = "linux.uml";
/// Options that every guest needs built in.
const SYMBOLS: [&str; 4] = ["CONFIG_HOSTFS", "CONFIG_PID_NS", "CONFIG_BLK_DEV_UBD", "CONFIG_SSL"];

/// The kernel that candidates ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedKernel<'a> {
    /// As the plan names it; the lab's default if absent.
    pub(super) name: Option<&'a Path>,
    /// Whether it must count its computation: one of the candidates that run on it has a processor model.
    pub(super) counting: bool,
}

impl<'a> WantedKernel<'a> {
    fn with_name(plan: &Plan, name: Option<&'a Path>) -> Self {
        let mut candidates = plan.candidates.iter();
        let is_priced =
            |candidate: &Candidate| plan.kernel_of(candidate) == name && plan.cpu_of(candidate).is_some();
        WantedKernel { name, counting: candidates.any(is_priced) }
    }
}

#[derive(Debug)]
pub(super) struct GuestKernels {
    /// Each once; the first is that of the first candidate.
    first: Kernel,
    others: Vec<OtherKernel>,
}

/// A kernel of some candidates but the first.
#[derive(Debug)]
struct OtherKernel {
    name: PathBuf,
    kernel: Kernel,
}

impl GuestKernels {
    /// Finds every kernel of a plan, and reads its abilities.
    pub(super) fn find_kernels(
        plan: &Plan,
        usable: impl Fn(WantedKernel<'_>) -> Result<Kernel, LabError>,
    ) -> Result<Self, LabError> {
        let mut asked = plan.candidates.iter().map(|candidate| plan.kernel_of(candidate));
        let first = asked.next().unwrap_or(plan.kernel.as_deref());
        let mut others: Vec<OtherKernel> = Vec::new();
        // A candidate that names none has that of the first.
        for name in asked.flatten().filter(|name| Some(*name) != first) {
            if !others.iter().any(|other| other.name == name) {
                let kernel = usable(WantedKernel::with_name(plan, Some(name)))?;
                others.push(OtherKernel { name: name.to_owned(), kernel });
            }
        }
        Ok(GuestKernels { first: usable(WantedKernel::with_name(plan, first))?, others })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Kernel> {
        std::iter::once(&self.first).chain(self.others.iter().map(|other| &other.kernel))
    }

    pub(super) fn kernel_for(&self, plan: &Plan, candidate: &Candidate) -> &Kernel {
        let name = plan.kernel_of(candidate);
        let other = self.others.iter().find(|other| Some(other.name.as_path()) == name);
        other.map_or(&self.first, |other| &other.kernel)
    }

    pub(super) fn releases(&self) -> String {
        once_each(self.iter().map(|kernel| kernel.release.as_str())).join(", ")
    }
}

/// The User-Mode-Linux kernel of this name, described by its file.
pub(super) fn find_usable_kernel(plan: &Plan, wanted: WantedKernel<'_>) -> Result<Kernel, LabError> {
    let (path, why) = find_kernel_path(plan, wanted)?;
    let kernel = Kernel { why, way_out: way_to, ..Kernel::read_kernel(&path)? };
    let packaged = find_program(PROGRAM).is_some_and(|packaged| packaged == path);
    let has_amx = has_cpu_flag(&Root::default(), "amx_tile").unwrap_or(false);
    if packaged && has_amx && !fits_amx(&kernel.release) {
        return Err(LabError::UnknownProcessor { path, release: kernel.release });
    }
    if wanted.counting && kernel.find_provision(COUNTING) != Provision::Builtin {
        return Err(LabError::CannotCount { path });
    }
    match SYMBOLS.into_iter().find(|symbol| kernel.find_provision(symbol) != Provision::Builtin) {
        Some(symbol) => Err(LabError::LacksSymbol { path, symbol }),
        None => Ok(kernel),
    }
}

/// A kernel by path or by its name in the cache; without a name the one in the cache that fits the plan, which has its
/// filesystems built in and starts on processors the packaged one does not know, and why it; else the packaged one.
fn find_kernel_path(plan: &Plan, wanted: WantedKernel<'_>) -> Result<(PathBuf, Option<String>), LabError> {
    match wanted.name {
        Some(path) if path.is_absolute() => Ok((path.to_owned(), None)),
        Some(name) => {
            let found = KernelCache::of_user().find_kernel(&name.to_string_lossy())?;
            Ok((found.kernel, None))
        }
        None => match by_default(plan) {
            Some(found) if found.entry.facts.counting || !wanted.counting => {
                Ok((found.entry.kernel, Some(found.why)))
            }
            _ if wanted.counting => Err(LabError::NoCountingKernel),
            _ => find_program(PROGRAM).map(|path| (path, None)).ok_or(LabError::NoKernel),
        },
    }
}

impl Kernel {
    /// The modules of a laboratory kernel that a guest loads for a candidate, in order.
    pub(super) fn laboratory_modules_for(&self, candidate: &Candidate) -> Vec<&'static KernelModule> {
        let Some(modules) = &self.laboratory_modules else { return Vec::new() };
        let names = self.required_modules(candidate).unwrap_or_default();
        modules.in_load_order(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Whether all that a candidate needs is there, so that nothing has to be compiled for it.
    pub(super) fn is_compiled_for(&self, candidate: &Candidate) -> bool {
        self.required_modules(candidate).is_ok_and(|names| self.missing_modules(&names).is_empty())
    }

    fn missing_modules(&self, names: &[String]) -> Vec<&'static KernelModule> {
        let Some(modules) = &self.laboratory_modules else { return Vec::new() };
        modules.list_missing(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Compiles the modules of this kernel that these candidates need and that were never compiled.
    pub(super) fn compile_for<'a>(
        &self,
        candidates: impl Iterator<Item = &'a Candidate>,
    ) -> Result<(), KernelBuildError> {
        let names = once_each(candidates.flat_map(|one| self.required_modules(one).unwrap_or_default()));
        let missing = self.missing_modules(&names);
        if missing.is_empty() {
            return Ok(());
        }
        let seconds: u64 = missing.iter().map(|module| module.seconds).sum();
        print_line(&format!(
            "compiling {} for the laboratory kernel {}: about {seconds} seconds",
            missing.iter().map(|module| module.name).collect::<Vec<_>>().join(", "),
            self.release
        ));
        let wanted: Vec<&str> = missing.iter().map(|module| module.name).collect();
        let Some(modules) = &self.laboratory_modules else { return Ok(()) };
        compile_missing(&modules.folder, &modules.in_load_order(&wanted), &mut |_| {})
    }

    /// The modules a guest must load for a candidate, that of its disk's driver among them, and where it finds others.
    pub(super) fn modules_for(&self, candidate: &Candidate, driver: Option<&str>) -> Option<Modules> {
        let mut names = self.required_modules(candidate).unwrap_or_default();
        names.extend(driver.map(str::to_owned));
        Some(Modules { folder: self.modules.clone()?, names })
    }

    /// The modules that a candidate needs, or the reason why this kernel cannot run it.
    pub(super) fn required_modules(&self, candidate: &Candidate) -> Result<Vec<String>, Reason> {
        let lacks = |symbol: &str| {
            Reason::new(
                format!("the kernel {} ({}) has no {symbol}", self.path.display(), self.release),
                (self.way_out)(symbol),
            )
        };
        let mut names = Vec::new();
        // A driver that is built in may name the module of another one.
        let is_laboratory = self.laboratory_modules.is_some();
        if let Some(filesystem) = fsverdict_stack::filesystem::find_filesystem(&candidate.filesystem) {
            let provided =
                filesystem.drivers.iter().find_map(|driver| match self.find_provision(driver.config) {
                    Provision::Builtin if !is_laboratory => Some(&[][..]),
                    Provision::Builtin => Some(driver.modules),
                    Provision::Module => Some(driver.modules),
                    Provision::Absent => None,
                });
            let first = filesystem.drivers.first().map_or("driver for it", |driver| driver.config);
            names.extend(provided.ok_or_else(|| lacks(first))?.iter().map(|name| (*name).to_owned()));
            let asked = |option: &str| {
                candidate.mkfs.iter().chain(&candidate.mount).any(|word| word.contains(option))
            };
            let needed = filesystem.optional_code.iter().filter(|code| asked(code.option));
            let missing = needed
                .map(|code| code.config)
                .find(|symbol| self.find_provision(symbol) == Provision::Absent);
            if let Some(symbol) = missing {
                return Err(lacks(symbol));
            }
        }
        for layer in fsverdict_stack::layer::layers_of(candidate) {
            let mut modular = false;
            for symbol in layer.config {
                match self.find_provision(symbol) {
                    Provision::Builtin => {}
                    Provision::Module => modular = true,
                    Provision::Absent => return Err(lacks(symbol)),
                }
            }
            if modular {
                names.extend(layer.modules.iter().map(|name| (*name).to_owned()));
            }
        }
        if let Some(wanted) = &candidate.scheduler {
            names.extend(self.scheduler_module(wanted)?);
        }
        let names = once_each(names);
        match self.missing_modules(&names).first() {
            Some(missing) if !self.laboratory_modules.as_ref().is_some_and(|modules| modules.can_compile) => {
                Err(Reason::new(
                    format!(
                        "the module {} of the kernel {} ({}) was never compiled, and its sources are not kept here for this user",
                        missing.name,
                        self.path.display(),
                        self.release
                    ),
                    "`fsverdict kernel build --all` compiles all modules, by the user whose cache it is; of an imported kernel, on the machine that it is from, before it is exported",
                ))
            }
            _ => Ok(names),
        }
    }

    /// The module of an I/O scheduler, where it is one; or which schedulers there are.
    fn scheduler_module(&self, wanted: &str) -> Result<Option<String>, Reason> {
        let provision = |scheduler: &Scheduler| {
            scheduler.driver.map_or(Provision::Builtin, |(symbol, _)| self.find_provision(symbol))
        };
        let offered: Vec<String> = SCHEDULERS
            .iter()
            .filter(|scheduler| provision(scheduler) != Provision::Absent)
            .map(|scheduler| scheduler.name.to_owned())
            .collect();
        let whom = format!("the kernel {} ({})", self.path.display(), self.release);
        match scheduler_obstacle(wanted, &whom, &offered) {
            Some(obstacle) => Err(obstacle),
            None => Ok(find_scheduler(wanted)
                .filter(|scheduler| provision(scheduler) == Provision::Module)
                .and_then(|scheduler| scheduler.driver)
                .map(|(_, module)| module.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kernel;
    use crate::lab::kernel::parse_configuration;
    use fsverdict_judgement::plan::Candidate;

    /// f2fs mounts without the compression that its kernel was built without, and was once measured as compressed.
    #[test]
    fn a_compression_that_the_kernel_was_built_without_is_refused() {
        let kernel = |text: &str| Kernel {
            path: "/k".into(),
            way_out: |symbol| symbol.to_owned(),
            release: "6.12".into(),
            modules: None,
            laboratory_modules: None,
            programs: None,
            configuration: parse_configuration(text),
            seen: true,
            why: None,
            cooperates: false,
        };
        let asking = |mkfs: &[&str], mount: &[&str]| Candidate {
            mkfs: mkfs.iter().map(|word| (*word).to_owned()).collect(),
            mount: mount.iter().map(|option| (*option).to_owned()).collect(),
            ..Candidate::with_defaults("f2fs")
        };
        let zstd = asking(&["-O", "extra_attr,compression"], &["compress_algorithm=zstd"]);
        let plain = asking(&[], &["noatime"]);
        let bare = kernel("CONFIG_F2FS_FS=y\nCONFIG_F2FS_FS_COMPRESSION=y\n");
        let refused = bare.required_modules(&zstd).unwrap_err();
        assert!(refused.what.contains("has no CONFIG_F2FS_FS_ZSTD"), "{refused}");
        assert!(bare.required_modules(&plain).is_ok());
        let with = kernel("CONFIG_F2FS_FS=y\nCONFIG_F2FS_FS_COMPRESSION=y\nCONFIG_F2FS_FS_ZSTD=y\n");
        assert!(with.required_modules(&zstd).is_ok());
        let none =
            kernel("CONFIG_F2FS_FS=y\n").required_modules(&asking(&["-O", "extra_attr,compression"], &[]));
        assert!(none.unwrap_err().what.contains("CONFIG_F2FS_FS_COMPRESSION"));
    }
}
