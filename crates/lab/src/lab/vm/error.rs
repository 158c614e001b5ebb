//! Why there is no kernel for a virtual machine.

use std::path::PathBuf;

use fsverdict_text::{Hinted, Reason};

/// Where distributions put their kernels …
pub(super) const INSTALLED: &str = "/boot";
/// … and the prefix of its file name there, before the release.
pub(super) const NAME: &str = "vmlinuz-";

/// Why no kernel is available for a virtual machine.
#[derive(Debug, thiserror::Error)]
pub enum KernelFileError {
    #[error("there is no kernel in {INSTALLED} ({NAME}…)")]
    NoneInstalled,
    #[error("`{}` is the name of a kernel in the cache, and those are processes: the lab uml runs them", .0.display())]
    OfUml(PathBuf),
    #[error("cannot read the kernel {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} {reason}", path.display())]
    NoKernel { path: PathBuf, reason: &'static str },
    #[error("nothing says what the kernel {} can do: there is no config-{release} beside it", path.display())]
    NoConfiguration { path: PathBuf, release: String },
    #[error("the kernel {} has {symbol} as a module, and there are no modules of {release} here", path.display())]
    NoModules { path: PathBuf, release: String, symbol: &'static str },
    #[error("the module {} is compressed, and this kernel cannot unpack it (CONFIG_MODULE_DECOMPRESS)", path.display())]
    Packed { path: PathBuf },
    #[error("cannot take the module {}: {reason}", path.display())]
    Module { path: PathBuf, reason: String },
    #[error("cannot unpack {}: {}", path.display(), reason.what)]
    Unpack { path: PathBuf, reason: Reason },
}

impl Hinted for KernelFileError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            KernelFileError::NoneInstalled => "name one in the plan: kernel = \"/path/…\", which may be such a file, a .deb of a linux-image, or a tree in which one was built".to_owned(),
            KernelFileError::OfUml(_) => "--lab uml; or name a kernel's file, a .deb of a linux-image, or a tree in which one was built".to_owned(),
            KernelFileError::Read { path, .. } => format!("some distributions let only root read it: sudo chmod a+r {}, or a copy elsewhere", path.display()),
            KernelFileError::NoKernel { .. } => format!("take a file as distributions install it ({INSTALLED}/{NAME}…), a .deb of a linux-image, or a tree in which `make bzImage modules` was done"),
            KernelFileError::NoConfiguration { .. } => "put the .config it was built with there, or name the tree it was built in".to_owned(),
            KernelFileError::NoModules { release, .. } => format!("they are looked for in /lib/modules/{release} and in ../lib/modules/{release} beside the kernel; name the .deb or the tree instead"),
            KernelFileError::Packed { .. } => "unpack the modules (unxz, unzstd) and run depmod, or take a kernel from 5.17 on".to_owned(),
            KernelFileError::Module { .. } => "modules are regular files of 64 MiB at most, in a folder without links, and modules.dep there lists them (depmod(8)); name the .deb or the tree instead".to_owned(),
            KernelFileError::Unpack { .. } => "a .deb wants dpkg-deb, a tree make, both depmod (kmod); a kernel's file with its modules in ../lib/modules/RELEASE needs none of them".to_owned(),
        })
    }
    fn reason(&self) -> Reason {
        let own = self.hint().unwrap_or_default();
        match self {
            // A program that is missing says so itself.
            KernelFileError::Unpack { reason, .. } => Reason::new(self, reason.hint.as_str()).and_hint(own),
            other => Reason::new(other, own),
        }
    }
}
