//! From sources to a kernel in the cache: unpack, patch, configure, compile, put.
//!
//! All of it happens in one folder of the cache, named by the digest of what goes in, so that a build that was
//! interrupted is found again and carried on with. It is gone when the kernel is done.

use std::path::PathBuf;

use xxhash_rust::xxh3::Xxh3Default;

use crate::host::beneath::Beneath;
use crate::host::cell::{Cell, possible_walls};
use crate::host::program::{Program, succeeded};

use super::cache::{Cache, KernelEntry, KernelFacts, UNFINISHED};
use super::compile::{Make, Progress, check_programs};
use super::error::{KernelBuildError, file};
use super::fragment::{self, FRAGMENT};
use super::patch::{Patch, patches};
use super::scratch::Scratch;
use super::source::{Source, release};

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
}

/// A kernel that is in the cache now.
#[derive(Debug, Clone)]
pub struct Built {
    pub entry: KernelEntry,
    pub found: bool,
    /// Options that not every tree has, and this one has not.
    pub absent: Vec<String>,
}

/// What keeps a kernel from being built of the distribution's sources.
#[must_use]
pub fn in_the_way() -> Option<KernelBuildError> {
    Source::find(None).err().or_else(|| check_programs().err())
}

/// Builds a kernel into the cache, unless it is there.
pub fn build(
    recipe: &Recipe,
    cache: &Cache,
    heard: &mut dyn FnMut(&Progress),
) -> Result<Built, KernelBuildError> {
    let source = Source::find(recipe.source.as_deref())?;
    check_programs()?;
    let patches = patches(&recipe.patches)?;
    let compiler = compiler()?;
    let digest = digest(&source, &patches, &compiler)?;
    if let Some(entry) = cache.list().into_iter().find(|entry| entry.facts.digest == digest) {
        return Ok(Built { entry, found: true, absent: Vec::new() });
    }
    let scratch = Scratch::hold(cache.own.join(format!("{UNFINISHED}{digest}")))?;
    scratch.check_room()?;

    // Whatever runs ends when this process does, and writes nowhere else.
    let cell = scratch.cell(possible_walls(), source.path());
    let release = match prepare(&source, &patches, &scratch, (&cell, !recipe.patches.is_empty()), heard) {
        // Mended, sources and patches have another digest: nobody would carry on here.
        Err(error @ (KernelBuildError::Patch { .. } | KernelBuildError::NotSources { .. })) => {
            scratch.remove()?;
            return Err(error);
        }
        other => other?,
    };
    let mut work = Work { scratch, cell, compiled: 0, heard };
    let refused = work.configure(&release)?;
    work.compile(recipe.jobs.max(1))?;
    let applied =
        patches.into_iter().filter(|patch| patch.is_for(&release)).map(|patch| patch.name).collect();
    let facts = KernelFacts {
        release,
        digest,
        source: source.path().to_owned(),
        patches: applied,
        refused: refused.wanted,
        compiler,
        built: jiff::Timestamp::now(),
    };
    let (kernel, config) = work.result()?;
    let entry = cache.put(kernel, &config, &facts)?;
    work.scratch.remove()?;
    Ok(Built { entry, found: false, absent: refused.optional })
}

fn prepare(
    source: &Source,
    patches: &[Patch],
    scratch: &Scratch,
    (cell, whole): (&Cell, bool),
    heard: &mut dyn FnMut(&Progress),
) -> Result<String, KernelBuildError> {
    let tree = scratch.tree();
    let lacks = || KernelBuildError::NotSources {
        path: source.path().to_owned(),
        reason: "its Makefile names no version".to_owned(),
    };
    if !scratch.is_prepared() {
        heard(&Progress {
            step: "unpacking",
            file: source.path().display().to_string(),
            ..Progress::default()
        });
        scratch.begin_anew()?;
        source.unpack(scratch, whole, cell)?;
        let release = release(&tree).ok_or_else(lacks)?;
        for patch in patches.iter().filter(|patch| patch.is_for(&release)) {
            heard(&Progress { step: "patching", file: patch.name.clone(), ..Progress::default() });
            patch.apply(scratch, &release, cell)?;
        }
        scratch.mark_prepared()?;
    }
    release(&tree).ok_or_else(lacks)
}

/// The most bytes that a configuration may have, and a kernel: one with all that debuggers want has some 500 MiB.
const LARGEST_CONFIG: u64 = 4 << 20;
const LARGEST_KERNEL: u64 = 1 << 30;

struct Work<'a> {
    scratch: Scratch,
    cell: Cell,
    compiled: u64,
    heard: &'a mut dyn FnMut(&Progress),
}

impl Work<'_> {
    fn configure(&mut self, release: &str) -> Result<fragment::Refused, KernelBuildError> {
        // A tree somebody built in must be cleaned before it can be built elsewhere.
        if self.scratch.tree().join(".config").symlink_metadata().is_ok() {
            self.make("cleaning the sources", &["mrproper".to_owned()])?;
        }
        let all = format!("KCONFIG_ALLCONFIG={}", self.scratch.write_options()?.display());
        self.make("configuring", &[self.output(), all, "allnoconfig".to_owned()])?;
        let refused = fragment::refused(&String::from_utf8_lossy(&self.config()?));
        if refused.essential.is_empty() {
            return Ok(refused);
        }
        let options = refused.essential.join(", ");
        Err(KernelBuildError::Options { release: release.to_owned(), options })
    }

    fn compile(&mut self, jobs: usize) -> Result<(), KernelBuildError> {
        let target = [self.output(), format!("-j{jobs}"), "linux".to_owned()];
        self.make("compiling", &target)
    }

    fn config(&self) -> Result<Vec<u8>, KernelBuildError> {
        self.take(".config", |objects, name| objects.read(name, LARGEST_CONFIG))
    }

    /// What leaves the makefile's reach: files of its own making, and nothing that a link leads to.
    fn result(&self) -> Result<(std::fs::File, Vec<u8>), KernelBuildError> {
        Ok((self.take("linux", |objects, name| objects.file(name, LARGEST_KERNEL))?, self.config()?))
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
        let mut arguments = vec!["ARCH=um".to_owned(), COMPILER_FLAGS.to_owned()];
        arguments.extend(target.iter().cloned());
        Make { step, arguments: &arguments, cell: &self.cell, scratch: &self.scratch }
            .run(&mut self.compiled, self.heard)
    }
}

fn compiler() -> Result<String, KernelBuildError> {
    let record = succeeded(Program::new(["gcc", "--version"]).run("ask the compiler")?)?;
    Ok(record.stdout.lines().next().unwrap_or_default().to_owned())
}

fn digest(source: &Source, patches: &[Patch], compiler: &str) -> Result<String, KernelBuildError> {
    let mut digest = Xxh3Default::new();
    source.digest(&mut digest)?;
    for patch in patches {
        digest.update(&patch.text);
    }
    digest.update(FRAGMENT.as_bytes());
    digest.update(COMPILER_FLAGS.as_bytes());
    digest.update(compiler.as_bytes());
    Ok(format!("{:016x}", digest.digest()))
}
