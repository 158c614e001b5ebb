//! The modules beside a laboratory kernel: those that are compiled, and those that its sources can still be compiled to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::module_table::{BUILD, KernelModule, MODULES, all_modules, modules_for};
use super::scratch;
use fsverdict_linux::host::root::names_in;

/// The modules of a kernel that has some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelModules {
    /// Where they lie.
    pub folder: PathBuf,
    /// Those that its configuration names as such.
    configured: Vec<&'static KernelModule>,
    compiled: BTreeSet<String>,
    /// Whether the sources are kept, and this user may compile them.
    pub can_compile: bool,
}

impl KernelModules {
    /// Looks for modules and sources beside a kernel; `is_module` says of an option of its configuration whether it is a module.
    #[must_use]
    pub fn find_beside(kernel: &Path, is_module: impl Fn(&str) -> bool) -> Option<Self> {
        // A sandbox shows folders by paths without links.
        let folder = kernel.parent()?.canonicalize().ok()?.join(MODULES);
        let folder = folder.canonicalize().unwrap_or(folder);
        // Packages of distributions have `modules/RELEASE` beside a kernel.
        let compiled: BTreeSet<String> = names_in(&folder)
            .iter()
            .filter_map(|name| name.strip_suffix(".ko"))
            .filter(|name| !name.starts_with('.'))
            .map(str::to_owned)
            .collect();
        let build = folder.with_file_name(BUILD);
        let can_compile = scratch::is_kept(&build) && access(&folder, Access::WRITE_OK).is_ok();
        if compiled.is_empty() && !can_compile {
            return None;
        }
        let configured = all_modules().filter(|module| is_module(module.option)).collect();
        Some(KernelModules { folder, configured, compiled, can_compile })
    }

    /// The modules of these names with all that they need, in the order of loading. Names that the configuration has built
    /// in are left out.
    #[must_use]
    pub fn in_load_order(&self, names: &[&str]) -> Vec<&'static KernelModule> {
        modules_for(names, |option| self.configured.iter().any(|module| module.option == option))
    }

    /// Those of them that are not compiled.
    #[must_use]
    pub fn list_missing(&self, names: &[&str]) -> Vec<&'static KernelModule> {
        self.in_load_order(names).into_iter().filter(|module| !self.is_compiled(module)).collect()
    }

    /// Those that are compiled, and those that are not.
    #[must_use]
    pub fn divide_by_compiled(&self) -> (Vec<&'static KernelModule>, Vec<&'static KernelModule>) {
        self.configured.iter().partition(|module| self.is_compiled(module))
    }

    fn is_compiled(&self, module: &KernelModule) -> bool {
        self.compiled.contains(module.name)
    }
}

impl KernelModule {
    /// The name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.ko", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::KernelModules;

    #[test]
    fn a_kernel_of_one_file_has_no_modules_and_one_with_modules_says_which_are_missing() {
        let place = tempfile::tempdir().unwrap();
        let kernel = place.path().join("linux");
        let look = || KernelModules::find_beside(&kernel, |option| option != "CONFIG_JFS_FS");
        assert_eq!(look(), None);
        // As Debian's package has them.
        std::fs::create_dir_all(place.path().join("modules/6.12.117")).unwrap();
        assert_eq!(look(), None);
        for name in ["dm-mod.ko", "ext4.ko", ".dm-crypt.ko", "README"] {
            std::fs::write(place.path().join("modules").join(name), "").unwrap();
        }
        let modules = look().unwrap();
        let names = |list: Vec<&'static super::KernelModule>| -> Vec<&str> {
            list.into_iter().map(|module| module.name).collect()
        };
        assert_eq!(names(modules.list_missing(&["ext4", "dm-crypt", "jfs"])), ["dm-crypt"]);
        assert_eq!(names(modules.in_load_order(&["dm-crypt", "ext4"])), ["dm-mod", "dm-crypt", "ext4"]);
        assert_eq!(names(modules.divide_by_compiled().0), ["dm-mod", "ext4"]);
        assert!(!modules.can_compile);
    }
}
