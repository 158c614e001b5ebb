//! From sources to a kernel in the cache: unpack, patch, configure, compile, put.
//!
//! All of it happens in one folder of the cache, named by the digest of what goes in, so that a build that was
//! interrupted is found again and carried on with. It is gone when the kernel is done.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3Default;

use crate::host::cell::{Cell, possible_walls};
use crate::host::program::{Program, succeeded};

use super::cache::{Cache, KernelEntry, KernelFacts, UNFINISHED, lock};
use super::compile::{Progress, check_programs, make};
use super::error::{KernelBuildError, file};
use super::fragment::{self, FRAGMENT};
use super::patch::{Patch, patches};
use super::source::{Source, release};

/// Bytes a build takes up: sources 1.7 GiB where all are unpacked, objects 0.2 GiB.
const ROOM: u64 = 2 << 30;

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
    let scratch = cache.own.join(format!("{UNFINISHED}{digest}"));
    std::fs::create_dir_all(&scratch).map_err(file("make", &scratch))?;
    let _lock = lock(&scratch)?;
    check_room(&scratch)?;

    // Whatever runs ends when this process does, and writes nowhere else.
    let mut cell = Cell::new(possible_walls(), [""; 0]);
    cell.writable = vec![scratch.clone()];
    let tree = scratch.join("source");
    let release = match prepare(&source, &patches, &tree, (&cell, !recipe.patches.is_empty()), heard) {
        // Mended, sources and patches have another digest: nobody would carry on here.
        Err(error @ (KernelBuildError::Patch { .. } | KernelBuildError::NotSources { .. })) => {
            std::fs::remove_dir_all(&scratch).map_err(file("remove", &scratch))?;
            return Err(error);
        }
        other => other?,
    };
    let (objects, log) = (scratch.join("objects"), scratch.join("log"));
    let mut work = Work { tree, objects, log, cell, compiled: 0, heard };
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
    let entry = cache.put(&work.objects.join("linux"), &work.objects.join(".config"), &facts)?;
    std::fs::remove_dir_all(&scratch).map_err(file("remove", &scratch))?;
    Ok(Built { entry, found: false, absent: refused.optional })
}

/// A mark left when sources are whole and patched: unpacking is done again if it was cut short.
const PREPARED: &str = ".fsverdict-prepared";

fn prepare(
    source: &Source,
    patches: &[Patch],
    tree: &Path,
    (cell, whole): (&Cell, bool),
    heard: &mut dyn FnMut(&Progress),
) -> Result<String, KernelBuildError> {
    let mark = tree.join(PREPARED);
    if !mark.is_file() {
        heard(&Progress {
            step: "unpacking",
            file: source.path().display().to_string(),
            ..Progress::default()
        });
        if tree.exists() {
            std::fs::remove_dir_all(tree).map_err(file("remove", tree))?;
        }
        source.unpack(tree, whole, cell)?;
        let release = release(tree).unwrap_or_default();
        for patch in patches.iter().filter(|patch| patch.is_for(&release)) {
            heard(&Progress { step: "patching", file: patch.name.clone(), ..Progress::default() });
            patch.apply(tree, &release, cell)?;
        }
        std::fs::write(&mark, "").map_err(file("write", &mark))?;
    }
    Ok(release(tree).unwrap_or_default())
}

struct Work<'a> {
    tree: PathBuf,
    objects: PathBuf,
    log: PathBuf,
    cell: Cell,
    compiled: u64,
    heard: &'a mut dyn FnMut(&Progress),
}

impl Work<'_> {
    fn configure(&mut self, release: &str) -> Result<fragment::Refused, KernelBuildError> {
        std::fs::create_dir_all(&self.objects).map_err(file("make", &self.objects))?;
        // A tree somebody built in must be cleaned before it can be built elsewhere.
        if self.tree.join(".config").exists() {
            self.make("cleaning the sources", &["mrproper".to_owned()])?;
        }
        let options = self.objects.join("laboratory.config");
        std::fs::write(&options, fragment::plain()).map_err(file("write", &options))?;
        let all = format!("KCONFIG_ALLCONFIG={}", options.display());
        self.make("configuring", &[self.output(), all, "allnoconfig".to_owned()])?;
        let config = self.objects.join(".config");
        let config = std::fs::read_to_string(&config).map_err(file("read", &config))?;
        let refused = fragment::refused(&config);
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

    fn output(&self) -> String {
        format!("O={}", self.objects.display())
    }

    fn make(&mut self, step: &'static str, target: &[String]) -> Result<(), KernelBuildError> {
        let mut arguments = vec!["ARCH=um".to_owned(), COMPILER_FLAGS.to_owned()];
        arguments.extend(target.iter().cloned());
        make(step, &arguments, &self.cell, (&self.tree, &self.log), &mut self.compiled, self.heard)
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

fn check_room(folder: &Path) -> Result<(), KernelBuildError> {
    let room = rustix::fs::statvfs(folder).map_err(file("look at the disk of", folder))?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    // What an interrupted build holds already is not needed again.
    if free >= ROOM || folder.join("source").join(PREPARED).is_file() {
        return Ok(());
    }
    Err(KernelBuildError::NoRoom { folder: folder.to_owned(), wanted_gib: ROOM >> 30, free_gib: free >> 30 })
}
