//! Inspects a kernel that is not running: its version, its configuration, its modules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::kernel::{is_release, programs_beside, way_out};
use fsverdict_linux::host::secrets::Secrets;
use fsverdict_linux::sandbox::program::{Program, ProgramError, require_success};
use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};
use fsverdict_text::Hinted;

use super::hidden::hidden_but_for;

/// Where Debian's User-Mode-Linux package puts the modules.
const MODULE_FOLDER: &str = "/usr/lib/uml/modules";

#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program runs, but does not answer like a User-Mode-Linux kernel.
    #[error("`{}` does not answer `{question}` as a User-Mode-Linux kernel does", path.display())]
    Strange { path: PathBuf, question: &'static str },
}

impl Hinted for KernelError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            KernelError::Strange { .. } => {
                "build one with `make ARCH=um`, or install the package user-mode-linux".to_owned()
            }
            KernelError::Program(error) => return error.hint(),
        })
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
    /// Asks the kernel at `path` about itself (`--version`, `--showconfig`, `--help`).
    pub(super) fn inspect_kernel(path: &Path, isolation: Isolation) -> Result<Self, KernelError> {
        let put = |question: &'static str| {
            let program = Program::new([path.to_string_lossy().into_owned(), question.to_owned()])
                .inside(kernel_sandbox(isolation, hidden_but_for(vec![path.to_owned()], &[]), [""; 0]))
                .with_output_limit(4 << 20)
                .with_time_limit(std::time::Duration::from_secs(20));
            program.run("probe")
        };
        let ask = |question| -> Result<String, KernelError> { Ok(require_success(put(question)?)?.stdout) };
        let strange = |question| KernelError::Strange { path: path.to_owned(), question };
        let release = ask("--version")?.trim().to_owned();
        if !is_release(&release) {
            return Err(strange("--version"));
        }
        let configuration = parse_configuration(&ask("--showconfig")?);
        if configuration.is_empty() {
            return Err(strange("--showconfig"));
        }
        let beside = path.parent().map(|folder| folder.join("modules").join(&release));
        let modules = [Some(Path::new(MODULE_FOLDER).join(&release)), beside]
            .into_iter()
            .flatten()
            .find(|folder| folder.join("modules.dep").is_file());
        // One that has no help for us is none the worse for it.
        let help = put("--help").ok().filter(|record| record.exit == Some(0));
        let cooperates = help.is_some_and(|record| offers_seccomp(&record.stdout));
        Ok(Kernel {
            path: path.to_owned(),
            way_out,
            release,
            modules,
            programs: programs_beside(path),
            configuration,
            seen: true,
            why: None,
            cooperates,
        })
    }

    /// How this kernel provides the feature of a configuration symbol (`CONFIG_…`).
    pub(super) fn find_provision(&self, symbol: &str) -> Provision {
        match self.configuration.get(symbol).map(String::as_str) {
            _ if !self.seen => Provision::Builtin,
            Some("y") => Provision::Builtin,
            Some("m") if self.modules.is_some() => Provision::Module,
            _ => Provision::Absent,
        }
    }
}

/// A sandbox for inspecting or running a kernel that the user chose. It can read all files that the invoking user can,
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

/// Whether a kernel's help has the option `seccomp=`, which User-Mode Linux has since 6.16.
fn offers_seccomp(help: &str) -> bool {
    help.lines().any(|line| line.starts_with("seccomp="))
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
    use super::{Kernel, Provision, fits_amx, offers_seccomp, parse_configuration, way_out};

    #[test]
    fn a_kernel_that_says_nothing_of_seccomp_is_not_asked_for_it() {
        assert!(offers_seccomp("mem=<RAM>\n    more\n\nseccomp=<on/auto/off>\n    Configure\n"));
        assert!(!offers_seccomp("mem=<RAM>\n    nothing of seccomp=\n"));
    }

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
