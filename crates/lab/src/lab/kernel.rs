//! Describes a kernel that is not running: its version, its configuration, its modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::kernel::{KernelModules, programs_beside, way_out};
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};
use fsverdict_text::Hinted;

use super::kernel_image::KernelImage;

/// Where Debian's User-Mode-Linux package puts the modules.
const MODULE_FOLDER: &str = "/usr/lib/uml/modules";

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("cannot read the kernel {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// The file can be read, and is something else.
    #[error("`{}` is no User-Mode-Linux kernel: its file holds no {lacks}", path.display())]
    NotUml { path: PathBuf, lacks: &'static str },
}

impl Hinted for KernelError {
    fn hint(&self) -> Option<String> {
        Some(
            match self {
                KernelError::Unreadable { .. } => {
                    "name the program `linux` that was built with `make ARCH=um`: a file that you can read and execute, at most 1 GiB long"
                }
                KernelError::NotUml { .. } => {
                    "build one with `make ARCH=um`, or install the package user-mode-linux; of a script that starts a kernel, name the kernel"
                }
            }
            .to_owned(),
        )
    }
}

#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub path: PathBuf,
    /// A hint for a kernel that lacks a symbol.
    pub way_out: fn(&str) -> String,
    /// Its release, e.g. `6.1.176`.
    pub release: String,
    /// Where its modules lie, if there are any.
    pub modules: Option<PathBuf>,
    /// The modules that fsverdict compiles for it, if it is a laboratory kernel that has some.
    pub laboratory_modules: Option<KernelModules>,
    /// The folder of programs that were unpacked beside it, if there is one.
    pub programs: Option<PathBuf>,
    pub configuration: BTreeMap<String, String>,
    /// Whether all this is known: of a package that was not unpacked it is not, and the best is hoped for.
    pub seen: bool,
    /// Why it was chosen, if the plan names none.
    pub why: Option<String>,
    /// Whether it can have its programs work with it (seccomp(2)) in place of tracing them.
    pub cooperates: bool,
}

/// How a kernel provides something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provision {
    Builtin,
    Module,
    Absent,
}

impl Kernel {
    /// Reads what the User-Mode-Linux kernel at `path` says of itself, from its file: nothing is executed.
    ///
    /// # Errors
    /// If the file cannot be read, or is no such kernel.
    pub(super) fn read_kernel(path: &Path) -> Result<Self, KernelError> {
        let KernelImage { release, configuration, has_seccomp } = KernelImage::read_file(path)
            .map_err(|source| KernelError::Unreadable { path: path.to_owned(), source })?;
        let lacks = |lacks| KernelError::NotUml { path: path.to_owned(), lacks };
        let release = release.ok_or_else(|| lacks("banner `Linux version …`"))?;
        if configuration.is_empty() {
            return Err(lacks("configuration, which `--showconfig` prints"));
        }
        let beside = path.parent().map(|folder| folder.join("modules").join(&release));
        let modules = [Some(Path::new(MODULE_FOLDER).join(&release)), beside]
            .into_iter()
            .flatten()
            .find(|folder| folder.join("modules.dep").is_file());
        let is_module = |option: &str| configuration.get(option).is_some_and(|value| value == "m");
        Ok(Kernel {
            path: path.to_owned(),
            laboratory_modules: KernelModules::find_beside(path, is_module),
            way_out,
            release,
            modules,
            programs: programs_beside(path),
            configuration,
            seen: true,
            why: None,
            cooperates: has_seccomp,
        })
    }

    /// How this kernel provides the feature of a configuration symbol (`CONFIG_…`).
    pub(super) fn find_provision(&self, symbol: &str) -> Provision {
        match self.configuration.get(symbol).map(String::as_str) {
            _ if !self.seen => Provision::Builtin,
            Some("y") => Provision::Builtin,
            Some("m") if self.modules.is_some() || self.laboratory_modules.is_some() => Provision::Module,
            _ => Provision::Absent,
        }
    }
}

/// A sandbox for running a kernel that the user chose. It can read all files that the invoking user can,
/// except secret ones, because its guest's root is this machine's. It can write and reach nothing but its own shared
/// memory.
pub(super) fn kernel_sandbox<S: Into<String>>(
    isolation: Isolation,
    secrets: Secrets,
    argv: impl IntoIterator<Item = S>,
) -> Sandbox {
    let mut sandbox = Sandbox::new(isolation, argv);
    sandbox.secrets = secrets;
    sandbox.capabilities = Capabilities::Reader;
    sandbox.devices = Devices::Bare;
    sandbox
}

/// Whether a kernel without our patches starts on a processor with AMX: a process has more state there than User-Mode Linux
/// up to 6.12 hands back to ptrace(2), and its first program ends with "ptrace set fp regs failed, errno = 14" (seen with
/// 6.1.176 and 6.12.117; kernel/patches/0002-um-xstate.patch).
pub(super) fn fits_amx(release: &str) -> bool {
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) > (6, 12)
}

pub(super) fn parse_configuration(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| name.starts_with("CONFIG_"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Kernel, Provision, fits_amx, parse_configuration, way_out};

    #[test]
    fn old_kernels_do_not_fit_processors_with_more_state_than_they_know() {
        assert!(!fits_amx("6.1.176") && !fits_amx("6.12.117"));
        assert!(fits_amx("6.13.0"));
    }

    #[test]
    fn a_module_without_module_files_is_absent() {
        let configuration =
            parse_configuration("# CONFIG_A is not set\nCONFIG_EXT4_FS=y\nCONFIG_F2FS_FS=m\n");
        let mut kernel = Kernel {
            path: "/k".into(),
            way_out,
            release: "6.1".into(),
            modules: None,
            laboratory_modules: None,
            programs: None,
            configuration,
            seen: true,
            why: None,
            cooperates: false,
        };
        assert_eq!(kernel.find_provision("CONFIG_EXT4_FS"), Provision::Builtin);
        assert_eq!(kernel.find_provision("CONFIG_F2FS_FS"), Provision::Absent);
        kernel.modules = Some("/m".into());
        assert_eq!(kernel.find_provision("CONFIG_F2FS_FS"), Provision::Module);
        assert_eq!(kernel.find_provision("CONFIG_A"), Provision::Absent);
    }
}
