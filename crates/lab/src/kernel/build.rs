//! Builds a laboratory kernel from sources into the cache: unpack, patch, configure, compile, try, move.
//!
//! All of it happens in one folder of the cache, named by the digest of the inputs, so that an interrupted build is
//! found again and continued. The folder is removed when the kernel is done.

mod make_kernel;

use std::path::PathBuf;

use xxhash_rust::xxh3::Xxh3Default;

use fsverdict_linux::sandbox::program::{Program, require_success};
use fsverdict_linux::sandbox::{Sandbox, possible_isolation};

use super::attendant::{Attendant, require_passed_trial, run_kernel_trial};
use super::cache::{KernelCache, KernelEntry, KernelFacts, UNFINISHED};
use super::compile::{COMPILER_FLAGS, Progress, check_programs};
use super::error::{KernelBuildError, file_error};
use super::fragment::{FRAGMENT, KernelParts};
use super::missing_options::find_missing_options;
use super::module_build::{compile_missing, put_module};
use super::outcome::{KernelTrial, Subject};
use super::patch::{Patch, can_have_modules, collect_patches, makes_counting};
use super::scratch::Scratch;
use super::source::{KernelSource, read_release};
use super::staged::StagedSources;
use super::zfs::{ZfsRelease, ZfsSource, read_zfs_release};

#[derive(Debug, Clone, Default)]
pub struct Recipe {
    /// A tarball or tree; the newest package of the distribution if absent.
    pub source: Option<PathBuf>,
    /// Applied after our own.
    pub patches: Vec<PathBuf>,
    /// Compilers at work at once.
    pub jobs: usize,
    /// Taken without being tried.
    pub untried: bool,
    /// All modules are compiled, not only those that most plans need.
    pub all: bool,
    /// The kernel has ZFS.
    pub zfs: Option<ZfsRequest>,
}

/// A kernel is to have ZFS.
#[derive(Debug, Clone, Default)]
pub struct ZfsRequest {
    /// A tarball or folder of OpenZFS; the distribution's packages if absent.
    pub source: Option<PathBuf>,
}

/// A kernel that is in the cache now.
#[derive(Debug, Clone)]
pub struct BuiltKernel {
    pub entry: KernelEntry,
    pub found: bool,
}

/// Finds the reason why no kernel can be built from the distribution's sources, if there is one.
#[must_use]
pub fn find_build_obstacle() -> Option<KernelBuildError> {
    KernelSource::find_sources(None).err().or_else(|| check_programs().err())
}

/// Hints about a kernel that failed its trial.
const HINT_COMPILED_IS_KEPT: &str = "what was compiled is kept, and the same command tries it again; `--untried` takes it all the same, for plans that name it";
const HINT_STAYS_IN_CACHE: &str = "it stays in the cache, and only a plan that names it takes it";

/// Builds a kernel into the cache, unless it is there; it is tried before it gets there, or if it never was.
///
/// # Errors
/// When it cannot be built, or fails its trial.
pub fn build_kernel(
    recipe: &Recipe,
    cache: &KernelCache,
    attendant: &mut dyn Attendant,
) -> Result<BuiltKernel, KernelBuildError> {
    let source = KernelSource::find_sources(recipe.source.as_deref())?;
    check_programs()?;
    let patches = collect_patches(&recipe.patches)?;
    let compiler = compiler_version()?;
    let zfs = recipe.zfs.as_ref().map(|zfs| ZfsSource::find_sources(zfs.source.as_deref())).transpose()?;
    let mut base = digest_inputs(&source, &patches, &compiler)?;
    if let Some(zfs) = &zfs {
        zfs.update_digest(&mut base)?;
    }
    // The digest of an imported kernel was computed on another machine and cannot be relied on.
    let is_it = |entry: &KernelEntry| {
        entry.facts.imported.is_none()
            && entry.facts.digest == digest_for_release(&base, &patches, &entry.facts.release)
    };
    if let Some(mut entry) = cache.list_kernels().into_iter().find(is_it) {
        if !recipe.untried {
            try_cached(cache, &mut entry, attendant)?;
        }
        if recipe.all {
            compile_rest(&entry, attendant)?;
        }
        return Ok(BuiltKernel { entry, found: true });
    }
    let scratch = Scratch::lock_folder(
        cache.own.join(format!("{UNFINISHED}{:016x}", digest_with_patches(&base, &patches))),
    )?;
    scratch.check_room()?;

    // Programs in this sandbox end when this process does, and can write nowhere else.
    let more = zfs.as_ref().and_then(ZfsSource::path);
    let sandbox = scratch.sandbox_for_sources(possible_isolation(), source.path(), more);
    let release =
        match prepare_sources(&source, &patches, zfs.as_ref(), &scratch, &sandbox, recipe, attendant) {
            // Corrected sources or patches have another digest, so this folder would never be continued.
            Err(
                error @ (KernelBuildError::Patch { .. }
                | KernelBuildError::NotSources { .. }
                | KernelBuildError::Zfs { .. }),
            ) => {
                scratch.remove_folder()?;
                return Err(error);
            }
            other => other?,
        };
    let lacking = find_missing_options(&scratch.source_folder())
        .map_err(file_error("look through the sources in", &scratch.source_folder()))?;
    attendant.report_missing_options(&release, &lacking);
    let counting = makes_counting(&patches, &release);
    let modules = can_have_modules(&patches, &release);
    let parts = KernelParts { counting, zfs: zfs.is_some(), modules };
    let known = zfs.as_ref().and_then(|_| read_zfs_release(&scratch.zfs_folder()));
    let mut work = KernelBuild { scratch, sandbox, parts, zfs: known, compiled: 0, attendant };
    let mut refused = work.configure(&release)?;
    refused.retain(|symbol| lacking.iter().all(|lack| lack.symbol != symbol));
    work.compile(recipe.jobs.max(1))?;
    let modules = work.compile_modules(recipe)?;
    let digest = digest_for_release(&base, &patches, &release);
    let applied =
        patches.into_iter().filter(|patch| patch.is_for(&release)).map(|patch| patch.name).collect();
    let mut facts = KernelFacts {
        release,
        digest,
        source: source.path().to_owned(),
        patches: applied,
        refused,
        compiler,
        built: jiff::Timestamp::now(),
        counting: parts.counting,
        zfs: work.zfs.as_ref().map(|known| known.version.clone()),
        trial: None,
        imported: None,
    };
    let (mut kernel, config) = work.open_products()?;
    let staged = StagedSources::create_folder(cache, &facts.entry_name())?;
    staged.put_kernel(&mut kernel)?;
    staged.put_config(&config)?;
    if !modules.is_empty() {
        let folder = staged.create_module_folder()?;
        modules.iter().try_for_each(|module| put_module(&work.scratch, module, &folder))?;
    }
    if let Some(unpacked) = zfs.as_ref().and_then(|zfs| zfs.unpacked_programs(&work.scratch)) {
        staged.put_programs(&unpacked)?;
    }
    if !recipe.untried {
        let subject = Subject { kernel: &staged.kernel_path(), release: &facts.release, config: &config };
        let log = work.scratch.trial_log();
        let trial = run_kernel_trial(&log, subject, work.attendant)?;
        facts.trial = Some(require_passed_trial(trial, &facts.entry_name(), &log, HINT_COMPILED_IS_KEPT)?);
    }
    if modules.is_empty() {
        let entry = staged.move_into_cache(cache, &facts)?;
        work.scratch.remove_folder()?;
        return Ok(BuiltKernel { entry, found: false });
    }
    staged.keep_build(&mut work.scratch)?;
    let entry = staged.move_into_cache(cache, &facts)?;
    Ok(BuiltKernel { entry, found: false })
}

/// Compiles all modules of a cached kernel that are not compiled yet.
fn compile_rest(entry: &KernelEntry, attendant: &mut dyn Attendant) -> Result<(), KernelBuildError> {
    let Some(modules) = entry.find_modules().filter(|modules| modules.can_compile) else { return Ok(()) };
    let (compiled, mut all) = modules.divide_by_compiled();
    all.extend(compiled);
    compile_missing(&modules.folder, &all, &mut |progress| attendant.report_progress(progress))
}

/// Tries a cached kernel that was never tried, or failed: the trial itself may have been corrected since.
fn try_cached(
    cache: &KernelCache,
    entry: &mut KernelEntry,
    attendant: &mut dyn Attendant,
) -> Result<(), KernelBuildError> {
    if matches!(entry.facts.trial, Some(KernelTrial::Passed(_))) {
        return Ok(());
    }
    let config =
        entry.read_configuration().map_err(file_error("read the configuration beside", &entry.kernel))?;
    let subject = Subject { kernel: &entry.kernel, release: &entry.facts.release, config: &config };
    let log = cache.log_of(&entry.name);
    let trial = run_kernel_trial(&log, subject, attendant)?;
    cache.record_trial(entry, trial.clone());
    require_passed_trial(trial, &entry.name, &log, HINT_STAYS_IN_CACHE).map(drop)
}

fn prepare_sources(
    source: &KernelSource,
    patches: &[Patch],
    zfs: Option<&ZfsSource>,
    scratch: &Scratch,
    sandbox: &Sandbox,
    recipe: &Recipe,
    attendant: &mut dyn Attendant,
) -> Result<String, KernelBuildError> {
    let tree = scratch.source_folder();
    let lacks = || KernelBuildError::NotSources {
        path: source.path().to_owned(),
        reason: "its Makefile names no version".to_owned(),
    };
    if !scratch.is_prepared() {
        attendant.report_progress(&Progress {
            step: "unpacking",
            file: source.path().display().to_string(),
            ..Progress::default()
        });
        scratch.clear_folders()?;
        source.unpack_into(scratch, !recipe.patches.is_empty(), sandbox)?;
        let release = read_release(&tree).ok_or_else(lacks)?;
        for patch in patches.iter().filter(|patch| patch.is_for(&release)) {
            attendant.report_progress(&Progress {
                step: "patching",
                file: patch.name.clone(),
                ..Progress::default()
            });
            patch.apply_to(scratch, &release, sandbox)?;
        }
        if let Some(zfs) = zfs {
            attendant.report_progress(&Progress { step: "fetching ZFS", ..Progress::default() });
            zfs.prepare_sources(makes_counting(patches, &release), scratch, &release, sandbox)?;
        }
        scratch.mark_prepared()?;
    }
    read_release(&tree).ok_or_else(lacks)
}

struct KernelBuild<'a> {
    scratch: Scratch,
    sandbox: Sandbox,
    parts: KernelParts,
    /// The ZFS that is built into it.
    zfs: Option<ZfsRelease>,
    compiled: u64,
    attendant: &'a mut dyn Attendant,
}

fn compiler_version() -> Result<String, KernelBuildError> {
    let record = require_success(Program::new(["gcc", "--version"]).run("ask the compiler")?)?;
    Ok(record.stdout.lines().next().unwrap_or_default().to_owned())
}

/// Computes the digest of all inputs except patches for particular releases: the release is known only after
/// unpacking.
fn digest_inputs(
    source: &KernelSource,
    patches: &[Patch],
    compiler: &str,
) -> Result<Xxh3Default, KernelBuildError> {
    let mut digest = Xxh3Default::new();
    source.update_digest(&mut digest)?;
    for patch in patches.iter().filter(|patch| !patch.later) {
        digest.update(&patch.text);
    }
    digest.update(FRAGMENT.as_bytes());
    digest.update(COMPILER_FLAGS.as_bytes());
    digest.update(compiler.as_bytes());
    Ok(digest)
}

/// The digest of the inputs with the patches of every release: a build that was interrupted is not continued with other patches.
fn digest_with_patches(base: &Xxh3Default, patches: &[Patch]) -> u64 {
    let mut digest = base.clone();
    patches.iter().for_each(|patch| digest.update(&patch.text));
    digest.digest()
}

/// Completes the digest of the inputs with the patches for this release.
fn digest_for_release(base: &Xxh3Default, patches: &[Patch], release: &str) -> String {
    let mut digest = base.clone();
    for patch in patches.iter().filter(|patch| patch.later && patch.is_for(release)) {
        digest.update(&patch.text);
    }
    format!("{:016x}", digest.digest())
}

#[cfg(test)]
mod tests {
    use super::{Xxh3Default, digest_for_release};
    use crate::kernel::patch::collect_patches;

    /// Else everybody's kernel would be built anew for the sake of one that they do not have.
    #[test]
    fn a_patch_for_some_releases_leaves_the_names_of_other_kernels_alone() {
        let patches = collect_patches(&[]).unwrap();
        let mut base = Xxh3Default::new();
        base.update(b"sources");
        let before = format!("{:016x}", base.digest());
        assert_eq!(digest_for_release(&base, &patches, "6.13.1"), before);
        assert_ne!(digest_for_release(&base, &patches, "6.12.117"), before);
        assert_ne!(digest_for_release(&base, &patches, "7.2.13"), before);
    }
}
