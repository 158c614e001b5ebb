//! Configures and compiles prepared kernel sources by their makefile, and takes over what it made.

use fsverdict_folders::FolderHandle;

use super::{KernelBuild, Recipe};
use crate::kernel::cache::{LARGEST_CONFIG, LARGEST_KERNEL};
use crate::kernel::compile::{COMPILER_FLAGS, Make, Progress};
use crate::kernel::error::{KernelBuildError, file_error};
use crate::kernel::fragment;
use crate::kernel::interrupted::remove_cut_command_files;
use crate::kernel::module_build::compile_modules;
use crate::kernel::module_table::{FIRST, KernelModule, all_modules, is_module_in, modules_for};
use crate::kernel::zfs::join_sources;

impl KernelBuild<'_> {
    /// The options that did not take.
    pub(super) fn configure(&mut self, release: &str) -> Result<Vec<String>, KernelBuildError> {
        let objects = self.scratch.object_folder();
        remove_cut_command_files(&objects).map_err(file_error("look through", &objects))?;
        // A tree that was built in place must be cleaned before it can be built in another folder.
        if self.scratch.source_folder().join(".config").symlink_metadata().is_ok() {
            self.run_make("cleaning the sources", &["mrproper".to_owned()])?;
        }
        let all = format!("KCONFIG_ALLCONFIG={}", self.scratch.write_options(self.parts)?.display());
        let configure = [self.output_argument(), all, "allnoconfig".to_owned()];
        self.run_make("configuring", &configure)?;
        if let Some(known) = self.zfs.clone() {
            // ZFS asks a tree that is configured what it offers; then the tree is configured with ZFS in it.
            self.run_make("preparing for ZFS", &[self.output_argument(), "prepare".to_owned()])?;
            self.attendant.report_progress(&Progress { step: "configuring ZFS", ..Progress::default() });
            join_sources(&self.scratch, &known, &self.sandbox)?;
            self.run_make("configuring", &configure)?;
        }
        let refused =
            fragment::find_refused(&String::from_utf8_lossy(&self.read_configuration()?), self.parts);
        if refused.essential.is_empty() {
            return Ok(refused.wanted.into_iter().chain(refused.optional).collect());
        }
        let options = refused.essential.join(", ");
        Err(KernelBuildError::Options { release: release.to_owned(), options })
    }

    pub(super) fn compile(&mut self, jobs: usize) -> Result<(), KernelBuildError> {
        let target = [self.output_argument(), format!("-j{jobs}"), "linux".to_owned()];
        let arguments = Self::make_arguments(&target);
        let make =
            Make { step: "compiling", arguments: &arguments, sandbox: &self.sandbox, scratch: &self.scratch };
        let to_compile = make.to_compile();
        make.run_make(&mut self.compiled, to_compile, &mut |progress| {
            self.attendant.report_progress(progress);
        })
    }

    /// Compiles the modules that are compiled with the kernel: those that most plans need, or all.
    pub(super) fn compile_modules(
        &mut self,
        recipe: &Recipe,
    ) -> Result<Vec<&'static KernelModule>, KernelBuildError> {
        if !self.parts.modules {
            return Ok(Vec::new());
        }
        let config = self.read_configuration()?;
        let is_module = is_module_in(&config);
        let modules: Vec<&KernelModule> = match recipe.all {
            true => all_modules().filter(|module| is_module(module.option)).collect(),
            false => modules_for(&FIRST, is_module),
        };
        let (scratch, sandbox) = (&self.scratch, &self.sandbox);
        compile_modules(
            scratch,
            sandbox,
            &modules,
            recipe.jobs.max(1),
            &mut self.compiled,
            &mut |progress| {
                self.attendant.report_progress(progress);
            },
        )?;
        Ok(modules)
    }

    pub(super) fn read_configuration(&self) -> Result<Vec<u8>, KernelBuildError> {
        self.read_product(".config", |objects, name| objects.read_file(name, LARGEST_CONFIG))
    }

    /// Takes only regular files that the makefile wrote itself; links are not followed.
    pub(super) fn open_products(&self) -> Result<(std::fs::File, Vec<u8>), KernelBuildError> {
        Ok((
            self.read_product("linux", |objects, name| objects.open_file(name, LARGEST_KERNEL))?,
            self.read_configuration()?,
        ))
    }

    fn read_product<T>(
        &self,
        name: &str,
        read: impl FnOnce(&FolderHandle, &str) -> std::io::Result<T>,
    ) -> Result<T, KernelBuildError> {
        let objects = self.scratch.object_folder();
        let taken = FolderHandle::open_untrusted(&objects).and_then(|opened| read(&opened, name));
        taken.map_err(file_error("take what was made as", &objects.join(name)))
    }

    fn output_argument(&self) -> String {
        format!("O={}", self.scratch.object_folder().display())
    }

    fn run_make(&mut self, step: &'static str, target: &[String]) -> Result<(), KernelBuildError> {
        let arguments = Self::make_arguments(target);
        Make { step, arguments: &arguments, sandbox: &self.sandbox, scratch: &self.scratch }.run_make(
            &mut self.compiled,
            0,
            &mut |progress| self.attendant.report_progress(progress),
        )
    }

    fn make_arguments(target: &[String]) -> Vec<String> {
        ["ARCH=um", COMPILER_FLAGS].into_iter().map(str::to_owned).chain(target.iter().cloned()).collect()
    }
}
