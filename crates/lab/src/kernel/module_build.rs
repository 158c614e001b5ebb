//! Compiles modules of a kernel from the tree that its build left, when a plan first needs them.
//!
//! One process at a time works in the tree, and puts each module beside the kernel by renaming: readers find all of a
//! module or nothing. A killed process leaves the tree as a killed build does, and make(1) continues it.

use std::path::Path;

use fsverdict_folders::{FolderHandle, open_own};
use fsverdict_linux::sandbox::{Sandbox, possible_isolation};
use rustix::fs::OFlags;

use super::compile::{COMPILER_FLAGS, Make, Progress, check_programs};
use super::error::{KernelBuildError, file_error};
use super::interrupted::remove_cut_command_files;
use super::module_table::{BUILD, KernelModule};
use super::scratch::Scratch;

/// Bytes of a module.
pub(super) const LARGEST_MODULE: u64 = 64 << 20;

/// Compiles those of these modules that are not in a kernel's folder of modules yet. A module's dependencies must be among them, even if
/// they were compiled before. Waits for another process that is compiling.
///
/// # Errors
/// When they cannot be compiled.
pub fn compile_missing(
    folder: &Path,
    modules: &[&'static KernelModule],
    heard: &mut dyn FnMut(&Progress),
) -> Result<(), KernelBuildError> {
    check_programs()?;
    let is_missing = |module: &&&KernelModule| !folder.join(module.file_name()).is_file();
    let scratch = Scratch::wait_for_folder(folder.with_file_name(BUILD))?;
    // Another process may have compiled them meanwhile.
    if modules.iter().filter(is_missing).count() == 0 {
        return Ok(());
    }
    let objects = scratch.object_folder();
    remove_cut_command_files(&objects).map_err(file_error("look through", &objects))?;
    let sandbox = scratch.sandbox_for_sources(possible_isolation(), &scratch.source_folder(), None);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    compile_modules(&scratch, &sandbox, modules, jobs, &mut 0, heard)?;
    modules.iter().filter(is_missing).try_for_each(|module| put_module(&scratch, module, folder))
}

/// Has the makefile of a configured tree make these modules. Each that another one needs must be among them: the makefile
/// resolves symbols among the modules that it makes.
pub(super) fn compile_modules(
    scratch: &Scratch,
    sandbox: &Sandbox,
    modules: &[&'static KernelModule],
    jobs: usize,
    compiled: &mut u64,
    heard: &mut dyn FnMut(&Progress),
) -> Result<(), KernelBuildError> {
    let objects = format!("O={}", scratch.object_folder().display());
    let words = ["ARCH=um".to_owned(), COMPILER_FLAGS.to_owned(), objects, format!("-j{jobs}")];
    let targets = modules.iter().map(|module| module.target.to_owned());
    let arguments: Vec<String> = words.into_iter().chain(targets).collect();
    let make = Make { step: "compiling modules", arguments: &arguments, sandbox, scratch };
    make.run_make(compiled, 0, heard)
}

/// Copies a module that was made into a folder, whole or not at all.
pub(super) fn put_module(
    scratch: &Scratch,
    module: &KernelModule,
    folder: &Path,
) -> Result<(), KernelBuildError> {
    let objects = scratch.object_folder();
    let mut made = FolderHandle::open_untrusted(&objects)
        .and_then(|opened| opened.open_file(module.target, LARGEST_MODULE))
        .map_err(file_error("take what was made as", &objects.join(module.target)))?;
    let (new, place) = (folder.join(format!(".{}", module.file_name())), folder.join(module.file_name()));
    let mut copy = || -> std::io::Result<()> {
        let mut file = open_own(&new, OFlags::TRUNC)?;
        std::io::copy(&mut made, &mut file)?;
        // A guest that root starts reads it as an unprivileged user.
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        file.sync_all()?;
        std::fs::rename(&new, &place)
    };
    copy().map_err(file_error("put a module into", &place))
}
