//! From sources to a kernel in the cache: unpack, patch, configure, compile, put.
//!
//! All of it happens in one folder of the cache, named by the digest of what goes in, so that a build that was
//! interrupted is found again and carried on with. It is gone when the kernel is done.

use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use xxhash_rust::xxh3::Xxh3Default;

use crate::host::program::{Program, succeeded};

use super::cache::{Cache, Entry, Facts, UNFINISHED};
use super::compile::{Progress, check_programs, make};
use super::error::{KernelBuildError, file};
use super::fragment::{self, FRAGMENT};
use super::patch::{Patch, patches};
use super::source::{Source, release};

/// Bytes a build takes up: sources 1.7 GiB, objects 0.3 GiB.
const ROOM: u64 = 3 << 30;

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
    pub entry: Entry,
    pub found: bool,
    /// Options that not every tree has, and this one has not.
    pub absent: Vec<String>,
}

/// Builds a kernel into the cache, unless it is there.
///
/// # Errors
/// Whatever stands in the way, each with a way out.
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
    let scratch = cache.own().join(format!("{UNFINISHED}{digest}"));
    std::fs::create_dir_all(&scratch).map_err(file("make", &scratch))?;
    let lock = std::fs::File::create(scratch.join("lock")).map_err(file("lock", &scratch))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| KernelBuildError::Busy)?;
    check_room(&scratch)?;

    let tree = scratch.join("source");
    let release = prepare(&source, &patches, &tree, heard)?;
    let (objects, log) = (scratch.join("objects"), scratch.join("log"));
    let mut work = Work { tree, objects, log, compiled: 0, heard };
    let refused = work.configure(&release)?;
    work.compile(recipe.jobs.max(1))?;
    let facts = Facts {
        release,
        digest,
        source: source.path().to_owned(),
        patches: patches.into_iter().map(|patch| patch.name).collect(),
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
        source.unpack(tree)?;
        let release = release(tree).unwrap_or_default();
        for patch in patches {
            heard(&Progress { step: "patching", file: patch.name.clone(), ..Progress::default() });
            patch.apply(tree, &release)?;
        }
        std::fs::write(&mark, "").map_err(file("write", &mark))?;
    }
    Ok(release(tree).unwrap_or_default())
}

struct Work<'a> {
    tree: PathBuf,
    objects: PathBuf,
    log: PathBuf,
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
        let mut arguments = vec!["ARCH=um".to_owned()];
        arguments.extend(target.iter().cloned());
        make(step, &arguments, (&self.tree, &self.log), &mut self.compiled, self.heard)
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
        digest.update(patch.text());
    }
    digest.update(FRAGMENT.as_bytes());
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
