//! From sources to a kernel in the cache: unpack, patch, configure, compile, put.
//!
//! All of it happens in one folder of the cache, named by the digest of what goes in, so that a build that was
//! interrupted is found again and carried on with. It is gone when the kernel is done.

use std::path::PathBuf;

use xxhash_rust::xxh3::Xxh3Default;

use fsverdict_linux::host::beneath::Beneath;
use fsverdict_linux::sandbox::program::{Program, require_success};
use fsverdict_linux::sandbox::{Sandbox, possible_isolation};

use super::attendant::{Attendant, passed, tried};
use super::cache::{KernelCache, KernelEntry, KernelFacts, LARGEST_CONFIG, LARGEST_KERNEL, UNFINISHED};
use super::compile::{Make, Progress, check_programs};
use super::error::{KernelBuildError, file};
use super::fragment::{self, FRAGMENT};
use super::lacks::lacking;
use super::outcome::{KernelTrial, Subject};
use super::patch::{Patch, patches};
use super::scratch::Scratch;
use super::source::{KernelSource, release};
use super::staged::StagedSources;

/// Given to the compiler after the kernel's own. `-O2` takes nearly twice as long to compile, and what a guest computes
/// is no part of simulated time.
const COMPILER_FLAGS: &str = "KCFLAGS=-O1";

#[derive(Debug, Clone, Default)]
pub struct Recipe {
    /// A tarball or tree; the distribution's newest package when absent.
    pub source: Option<PathBuf>,
    /// Applied after our own.
    pub patches: Vec<PathBuf>,
    /// Compilers at work at once.
    pub jobs: usize,
    /// Taken without being tried.
    pub untried: bool,
    /// It counts what it computes: for plans in which computation takes time. It is slower.
    pub counting: bool,
}

/// A kernel that is in the cache now.
#[derive(Debug, Clone)]
pub struct Built {
    pub entry: KernelEntry,
    pub found: bool,
}

/// What keeps a kernel from being built of the distribution's sources.
#[must_use]
pub fn in_the_way() -> Option<KernelBuildError> {
    KernelSource::find(None).err().or_else(|| check_programs().err())
}

/// What to do about a kernel that failed.
const AGAIN: &str = "what was compiled is kept, and the same command tries it again; `--untried` takes it all the same, for plans that name it";
const THERE: &str = "it stays in the cache, and only a plan that names it takes it";

/// Builds a kernel into the cache, unless it is there; it is tried before it gets there, or if it never was.
///
/// # Errors
/// When it cannot be built, or fails its trial.
pub fn build(
    recipe: &Recipe,
    cache: &KernelCache,
    attendant: &mut dyn Attendant,
) -> Result<Built, KernelBuildError> {
    let source = KernelSource::find(recipe.source.as_deref())?;
    check_programs()?;
    let patches = patches(&recipe.patches, recipe.counting)?;
    let compiler = compiler()?;
    let base = digest(&source, &patches, &compiler)?;
    // What another machine's is made of is what that one says.
    let is_it = |entry: &KernelEntry| {
        entry.facts.imported.is_none()
            && entry.facts.digest == digest_of(&base, &patches, &entry.facts.release)
    };
    if let Some(mut entry) = cache.list().into_iter().find(is_it) {
        if !recipe.untried {
            try_found(cache, &mut entry, attendant)?;
        }
        return Ok(Built { entry, found: true });
    }
    let scratch = Scratch::hold(cache.own.join(format!("{UNFINISHED}{:016x}", base.digest())))?;
    scratch.check_room()?;

    // Whatever runs ends when this process does, and writes nowhere else.
    let sandbox = scratch.sandbox(possible_isolation(), source.path());
    let release = match prepare(&source, &patches, &scratch, &sandbox, !recipe.patches.is_empty(), attendant)
    {
        // Mended, sources and patches have another digest: nobody would carry on here.
        Err(error @ (KernelBuildError::Patch { .. } | KernelBuildError::NotSources { .. })) => {
            scratch.remove()?;
            return Err(error);
        }
        other => other?,
    };
    let lacking = lacking(&scratch.tree()).map_err(file("look through the sources in", &scratch.tree()))?;
    attendant.lacks(&release, &lacking);
    let mut work = KernelBuild { scratch, sandbox, counting: recipe.counting, compiled: 0, attendant };
    let mut refused = work.configure(&release)?;
    refused.retain(|symbol| lacking.iter().all(|lack| lack.symbol != symbol));
    work.compile(recipe.jobs.max(1))?;
    let digest = digest_of(&base, &patches, &release);
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
        counting: recipe.counting,
        trial: None,
        imported: None,
    };
    let (mut kernel, config) = work.result()?;
    let staged = StagedSources::begin(cache, &facts.name())?;
    staged.put_kernel(&mut kernel)?;
    staged.put_config(&config)?;
    if !recipe.untried {
        let subject = Subject { kernel: &staged.kernel(), release: &facts.release, config: &config };
        let log = work.scratch.trial_log();
        let trial = tried(&log, subject, work.attendant)?;
        facts.trial = Some(passed(trial, &facts.name(), &log, AGAIN)?);
    }
    let entry = staged.keep(cache, &facts)?;
    work.scratch.remove()?;
    Ok(Built { entry, found: false })
}

/// Tries a kernel that came into the cache without, or that failed there: what it is tried with may be better now.
fn try_found(
    cache: &KernelCache,
    entry: &mut KernelEntry,
    attendant: &mut dyn Attendant,
) -> Result<(), KernelBuildError> {
    if matches!(entry.facts.trial, Some(KernelTrial::Passed(_))) {
        return Ok(());
    }
    let config = entry.config().map_err(file("read the configuration beside", &entry.kernel))?;
    let subject = Subject { kernel: &entry.kernel, release: &entry.facts.release, config: &config };
    let log = cache.log_of(&entry.name);
    let trial = tried(&log, subject, attendant)?;
    cache.record(entry, trial.clone());
    passed(trial, &entry.name, &log, THERE).map(drop)
}

fn prepare(
    source: &KernelSource,
    patches: &[Patch],
    scratch: &Scratch,
    sandbox: &Sandbox,
    whole: bool,
    attendant: &mut dyn Attendant,
) -> Result<String, KernelBuildError> {
    let tree = scratch.tree();
    let lacks = || KernelBuildError::NotSources {
        path: source.path().to_owned(),
        reason: "its Makefile names no version".to_owned(),
    };
    if !scratch.is_prepared() {
        attendant.hear(&Progress {
            step: "unpacking",
            file: source.path().display().to_string(),
            ..Progress::default()
        });
        scratch.begin_anew()?;
        source.unpack(scratch, whole, sandbox)?;
        let release = release(&tree).ok_or_else(lacks)?;
        for patch in patches.iter().filter(|patch| patch.is_for(&release)) {
            attendant.hear(&Progress { step: "patching", file: patch.name.clone(), ..Progress::default() });
            patch.apply(scratch, &release, sandbox)?;
        }
        scratch.mark_prepared()?;
    }
    release(&tree).ok_or_else(lacks)
}

struct KernelBuild<'a> {
    scratch: Scratch,
    sandbox: Sandbox,
    counting: bool,
    compiled: u64,
    attendant: &'a mut dyn Attendant,
}

impl KernelBuild<'_> {
    /// The options that did not take.
    fn configure(&mut self, release: &str) -> Result<Vec<String>, KernelBuildError> {
        // A tree somebody built in must be cleaned before it can be built elsewhere.
        if self.scratch.tree().join(".config").symlink_metadata().is_ok() {
            self.make("cleaning the sources", &["mrproper".to_owned()])?;
        }
        let all = format!("KCONFIG_ALLCONFIG={}", self.scratch.write_options(self.counting)?.display());
        self.make("configuring", &[self.output(), all, "allnoconfig".to_owned()])?;
        let refused = fragment::refused(&String::from_utf8_lossy(&self.config()?), self.counting);
        if refused.essential.is_empty() {
            return Ok(refused.wanted.into_iter().chain(refused.optional).collect());
        }
        let options = refused.essential.join(", ");
        Err(KernelBuildError::Options { release: release.to_owned(), options })
    }

    fn compile(&mut self, jobs: usize) -> Result<(), KernelBuildError> {
        let target = [self.output(), format!("-j{jobs}"), "linux".to_owned()];
        let arguments = Self::arguments(&target);
        let make =
            Make { step: "compiling", arguments: &arguments, sandbox: &self.sandbox, scratch: &self.scratch };
        let to_compile = make.to_compile();
        make.run(&mut self.compiled, to_compile, &mut |progress| self.attendant.hear(progress))
    }

    fn config(&self) -> Result<Vec<u8>, KernelBuildError> {
        self.take(".config", |objects, name| objects.read_file(name, LARGEST_CONFIG))
    }

    /// What leaves the makefile's reach: files of its own making, and nothing that a link leads to.
    fn result(&self) -> Result<(std::fs::File, Vec<u8>), KernelBuildError> {
        Ok((self.take("linux", |objects, name| objects.open_file(name, LARGEST_KERNEL))?, self.config()?))
    }

    fn take<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Beneath, &str) -> std::io::Result<T>,
    ) -> Result<T, KernelBuildError> {
        let objects = self.scratch.objects();
        let taken = Beneath::open(&objects).and_then(|opened| read(&opened, name));
        taken.map_err(file("take what was made as", &objects.join(name)))
    }

    fn output(&self) -> String {
        format!("O={}", self.scratch.objects().display())
    }

    fn make(&mut self, step: &'static str, target: &[String]) -> Result<(), KernelBuildError> {
        let arguments = Self::arguments(target);
        Make { step, arguments: &arguments, sandbox: &self.sandbox, scratch: &self.scratch }.run(
            &mut self.compiled,
            0,
            &mut |progress| self.attendant.hear(progress),
        )
    }

    fn arguments(target: &[String]) -> Vec<String> {
        ["ARCH=um", COMPILER_FLAGS].into_iter().map(str::to_owned).chain(target.iter().cloned()).collect()
    }
}

fn compiler() -> Result<String, KernelBuildError> {
    let record = require_success(Program::new(["gcc", "--version"]).run("ask the compiler")?)?;
    Ok(record.stdout.lines().next().unwrap_or_default().to_owned())
}

/// Of all that goes in but for what goes into some releases alone: which one this is, is known once it is unpacked.
fn digest(source: &KernelSource, patches: &[Patch], compiler: &str) -> Result<Xxh3Default, KernelBuildError> {
    let mut digest = Xxh3Default::new();
    source.digest(&mut digest)?;
    for patch in patches.iter().filter(|patch| !patch.later) {
        digest.update(&patch.text);
    }
    digest.update(FRAGMENT.as_bytes());
    digest.update(COMPILER_FLAGS.as_bytes());
    digest.update(compiler.as_bytes());
    Ok(digest)
}

/// The digest of a kernel of this release, whose base is this one.
fn digest_of(base: &Xxh3Default, patches: &[Patch], release: &str) -> String {
    let mut digest = base.clone();
    for patch in patches.iter().filter(|patch| patch.later && patch.is_for(release)) {
        digest.update(&patch.text);
    }
    format!("{:016x}", digest.digest())
}

#[cfg(test)]
mod tests {
    use super::{Xxh3Default, digest_of};
    use crate::kernel::patch::patches;

    /// Else everybody's kernel would be built anew for the sake of one that they do not have.
    #[test]
    fn a_patch_for_some_releases_leaves_the_names_of_other_kernels_alone() {
        let patches = patches(&[], false).unwrap();
        let mut base = Xxh3Default::new();
        base.update(b"sources");
        let before = format!("{:016x}", base.digest());
        assert_eq!(digest_of(&base, &patches, "6.13.1"), before);
        assert_ne!(digest_of(&base, &patches, "6.12.117"), before);
        assert_ne!(digest_of(&base, &patches, "7.2.13"), before);
    }
}
