//! Finds kernels for virtual machines: a file as distributions install it, a package, or a tree that was built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::kernel::{is_release, parse_release_numbers};
use crate::lab::kernel::{Kernel, Provision, parse_configuration};
use crate::lab::{Intent, LabError};
use fsverdict_folders::FolderHandle;
use fsverdict_folders::{read_beginning, read_regular};
use fsverdict_linux::host::root::names_in;
use fsverdict_linux::sandbox::Isolation;

use super::error::{INSTALLED, KernelFileError, NAME};
use super::package;

/// Drivers that a guest needs before it mounts its root, and for its disk and its events: symbols and modules.
pub(super) const DRIVERS: [(&str, &str); 5] = [
    ("CONFIG_VIRTIO_PCI", "virtio_pci"),
    ("CONFIG_VIRTIO_BLK", "virtio_blk"),
    ("CONFIG_VIRTIO_CONSOLE", "virtio_console"),
    ("CONFIG_NET_9P_VIRTIO", "9pnet_virtio"),
    ("CONFIG_9P_FS", "9p"),
];

/// Options that a guest needs built in.
const SYMBOLS: [&str; 4] =
    ["CONFIG_BLK_DEV_INITRD", "CONFIG_DEVTMPFS", "CONFIG_PID_NS", "CONFIG_SERIAL_8250_CONSOLE"];
/// Bytes of a list of modules.
pub(super) const LARGEST_LIST: u64 = 16 << 20;
/// Bytes of a kernel's file: QEMU reads all of it into memory. One with an initramfs of its own has a hundred mebibytes.
const LARGEST_KERNEL: u64 = 256 << 20;
/// Bytes of a kernel's configuration.
const LARGEST_CONFIG: u64 = 4 << 20;

/// The kernel of this name, fit for a guest; without a name the newest this machine has installed.
pub(super) fn find_usable_kernel(
    name: Option<&Path>,
    isolation: Isolation,
    intent: Intent,
) -> Result<Kernel, LabError> {
    let kernel = match name {
        None => read_installed(&newest_kernel(Path::new(INSTALLED)).ok_or(KernelFileError::NoneInstalled)?)?,
        Some(name) if !name.is_absolute() => return Err(KernelFileError::OfUml(name.to_owned()).into()),
        Some(path) if path.is_dir() => install_built(path, isolation, intent)?,
        Some(path) if path.extension().is_some_and(|extension| extension == "deb") => {
            unpack_kernel(path, isolation, intent)?
        }
        Some(path) => read_installed(path)?,
    };
    let path = || kernel.path.clone();
    if let Some(symbol) =
        SYMBOLS.into_iter().find(|symbol| kernel.find_provision(symbol) != Provision::Builtin)
    {
        return Err(LabError::LacksSymbol { path: path(), symbol });
    }
    match DRIVERS.into_iter().find(|(symbol, _)| kernel.find_provision(symbol) == Provision::Absent) {
        Some((symbol, _)) if kernel.configuration.contains_key(symbol) => {
            Err(KernelFileError::NoModules { path: path(), release: kernel.release, symbol }.into())
        }
        Some((symbol, _)) => Err(LabError::LacksSymbol { path: path(), symbol }),
        None => Ok(kernel),
    }
}

/// Whether a kernel is one that this machine has installed, wherever its name leads.
pub(super) fn is_installed(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path.starts_with(INSTALLED))
}

/// The newest of the kernels in a folder, by the numbers in their names.
fn newest_kernel(folder: &Path) -> Option<PathBuf> {
    let names = names_in(folder).into_iter().filter(|name| name.starts_with(NAME));
    let newest = names.max_by_key(|name| parse_release_numbers(name))?;
    Some(folder.join(newest))
}

/// A kernel's file, with configuration and modules where distributions put them.
fn read_installed(path: &Path) -> Result<Kernel, KernelFileError> {
    let release = read_release(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let above = folder.parent().unwrap_or(folder);
    let modules = [&above.join("lib"), &above.join("usr/lib"), Path::new("/lib")]
        .map(|libraries| libraries.join("modules").join(&release))
        .into_iter()
        .find(|folder| folder.join("modules.dep").is_file());
    let beside = [folder, Path::new(INSTALLED)].map(|folder| folder.join(format!("config-{release}")));
    let among_modules = modules.iter().map(|modules| modules.join("config"));
    let Some(text) =
        beside.into_iter().chain(among_modules).find_map(|path| read_regular(&path, LARGEST_CONFIG).ok())
    else {
        return Err(KernelFileError::NoConfiguration { path: path.to_owned(), release });
    };
    Ok(describe_kernel(path, release, modules, &String::from_utf8_lossy(&text)))
}

fn describe_kernel(path: &Path, release: String, modules: Option<PathBuf>, configuration: &str) -> Kernel {
    let mut configuration = parse_configuration(configuration);
    if let Some(folder) = &modules {
        let list = read_regular(&folder.join("modules.dep"), LARGEST_LIST).unwrap_or_default();
        configuration.extend(drivers_built_beside(&configuration, &String::from_utf8_lossy(&list)));
    }
    Kernel {
        path: path.to_owned(),
        way_out,
        release,
        modules,
        laboratory_modules: None,
        programs: None,
        configuration,
        seen: true,
        why: None,
        cooperates: false,
    }
}

/// The symbols of filesystems whose driver was built beside the kernel (by DKMS: ZFS, bcachefs), of which its configuration says
/// nothing: they are modules if modules.dep(5) lists them.
fn drivers_built_beside(configuration: &BTreeMap<String, String>, list: &str) -> Vec<(String, String)> {
    let drivers = || fsverdict_stack::filesystem::registry().iter().flat_map(|known| known.drivers);
    let wanted: BTreeSet<&str> = drivers().flat_map(|driver| driver.modules).copied().collect();
    // The list may be a stranger's, and hold millions of names.
    let paths = list.lines().filter_map(|line| line.split_once(':')).map(|(path, _)| module_name(path));
    let names: BTreeSet<String> = paths.filter(|name| wanted.contains(name.as_str())).collect();
    drivers()
        .filter(|driver| !configuration.contains_key(driver.config))
        .filter(|driver| driver.modules.iter().all(|module| names.contains(*module)))
        .map(|driver| (driver.config.to_owned(), "m".to_owned()))
        .collect()
}

/// The name of the module in this file.
pub(super) fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    file.split('.').next().unwrap_or_default().replace('-', "_")
}

fn way_out(symbol: &str) -> String {
    if symbol == "CONFIG_ZFS" {
        return "the package zfs-dkms (Debian's component contrib) builds the module zfs for kernels in /boot; or take \
                --lab uml, after `fsverdict kernel build --with zfs`"
            .to_owned();
    }
    format!(
        "name a kernel that has {symbol}: kernel = \"/path/…\", a file, a .deb of a linux-image, or a built tree"
    )
}

/// Reads the release from a kernel image (Documentation/arch/x86/boot.rst: `header`, `kernel_version`).
fn read_release(path: &Path) -> Result<String, KernelFileError> {
    let failed = |source| KernelFileError::Read { path: path.to_owned(), source };
    let bytes = read_beginning(path, 1 << 16).map_err(failed)?;
    let strange = |reason| KernelFileError::NoKernel { path: path.to_owned(), reason };
    if path.metadata().map_err(failed)?.len() > LARGEST_KERNEL {
        return Err(strange("is larger than a kernel is (256 MiB)"));
    }
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return Err(strange("is no Linux kernel for PCs that can be booted (bzImage)"));
    }
    let at = bytes.get(0x20e..0x210).map_or(0, |two| usize::from(two[0]) | usize::from(two[1]) << 8);
    let text = bytes.get(at + 0x200..).unwrap_or_default();
    let word = text.split(|byte| *byte == b' ' || *byte == 0).next().unwrap_or_default();
    let word = String::from_utf8_lossy(word).into_owned();
    if is_release(&word) { Ok(word) } else { Err(strange("does not say which release it is")) }
}

/// A package of a distribution's kernel, unpacked into the cache and not installed.
fn unpack_kernel(path: &Path, isolation: Isolation, intent: Intent) -> Result<Kernel, LabError> {
    let Some(folder) = package::unpack_package(path, isolation, intent)? else {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let release = format!("of {name} (unpacked when it is run: what it can do is seen then)");
        // Shown in the command line that would be run.
        let shown = PathBuf::from(format!("{} (unpacked when it is run)", path.display()));
        return Ok(Kernel { seen: false, ..describe_kernel(&shown, release, None, "") });
    };
    let lacks = || KernelFileError::NoKernel { path: path.to_owned(), reason: "holds no kernel" };
    Ok(read_installed(&newest_kernel(&folder.join("boot")).ok_or_else(lacks)?)?)
}

/// A tree in which a kernel was built, with its modules installed into the cache.
fn install_built(tree: &Path, isolation: Isolation, intent: Intent) -> Result<Kernel, LabError> {
    let failed = |source| KernelFileError::Read { path: tree.to_owned(), source };
    let tree = tree.canonicalize().map_err(failed)?;
    let inside = FolderHandle::open_untrusted(&tree).map_err(failed)?;
    let Ok(configuration) = inside.read_file(".config", LARGEST_CONFIG) else {
        return Err(KernelFileError::NoKernel {
            path: tree,
            reason: "is no tree in which a kernel was built",
        }
        .into());
    };
    let image = tree.join("arch/x86/boot/bzImage");
    inside.open_file("arch/x86/boot/bzImage", u64::MAX).map_err(failed)?;
    let (release, order) = (read_release(&image)?, tree.join("modules.order"));
    let modules = match inside.open_file("modules.order", u64::MAX) {
        Ok(_) => {
            let folder = package::install_modules(&tree, &[&image, &order], isolation, intent)?;
            Some(folder.join("lib/modules").join(&release))
        }
        Err(_) => None,
    };
    Ok(describe_kernel(&image, release, modules, &String::from_utf8_lossy(&configuration)))
}

#[cfg(test)]
mod tests {
    use super::{KernelFileError, Provision, newest_kernel, read_installed, read_release};
    use fsverdict_judgement::plan::Candidate;

    /// The head of a kernel's file, as far as it is looked at.
    fn head(version: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x1000];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        bytes[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
        bytes
    }

    #[test]
    fn a_kernels_file_says_its_release_and_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinuz");
        let cases = [
            (head("6.1.0-56-amd64 (debian-kernel@lists.debian.org) #1 SMP"), Ok("6.1.0-56-amd64")),
            (head("../../etc"), Err("which release")),
            (head(""), Err("which release")),
            (b"\x7fELF".to_vec(), Err("no Linux kernel")),
            (Vec::new(), Err("no Linux kernel")),
        ];
        for (bytes, wanted) in cases {
            std::fs::write(&path, bytes).unwrap();
            match (read_release(&path), wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
                (Err(found), Err(wanted)) => assert!(found.to_string().contains(wanted), "{found}"),
                other => panic!("{other:?}"),
            }
        }
        // As a sparse file it takes no room, and QEMU would take all memory for it.
        std::fs::write(&path, head("6.1.0 ")).unwrap();
        read_release(&path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_release(&path).unwrap_err().to_string().contains("larger than a kernel"));
    }

    #[test]
    fn the_newest_is_taken_and_one_without_its_configuration_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["vmlinuz-6.9.1-amd64", "vmlinuz-6.12.3-1-amd64", "vmlinuz-6.1.0-56-amd64", "initrd.img-7.0"]
        {
            std::fs::write(folder.path().join(name), head("6.12.3-1-amd64 ")).unwrap();
        }
        let path = newest_kernel(folder.path()).unwrap();
        assert!(path.ends_with("vmlinuz-6.12.3-1-amd64"), "{path:?}");
        assert!(matches!(read_installed(&path), Err(KernelFileError::NoConfiguration { .. })));
        std::fs::write(folder.path().join("config-6.12.3-1-amd64"), "CONFIG_A=y\n").unwrap();
        assert_eq!(read_installed(&path).unwrap().release, "6.12.3-1-amd64");
    }

    /// DKMS puts ZFS there, and the configuration of a distribution's kernel does not mention it.
    #[test]
    fn a_module_that_was_built_beside_the_kernel_serves_its_filesystem() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("boot/vmlinuz-6.1.0-56-amd64", &head("6.1.0-56-amd64 "));
        write("boot/config-6.1.0-56-amd64", b"CONFIG_EXT4_FS=m\n# CONFIG_F2FS_FS is not set\n");
        let list = "kernel/fs/ext4/ext4.ko:\nupdates/dkms/zfs.ko.xz: updates/dkms/spl.ko.xz\n";
        write("lib/modules/6.1.0-56-amd64/modules.dep", list.as_bytes());
        let kernel = read_installed(&folder.path().join("boot/vmlinuz-6.1.0-56-amd64")).unwrap();
        assert_eq!(kernel.find_provision("CONFIG_ZFS"), Provision::Module);
        assert_eq!(kernel.find_provision("CONFIG_F2FS_FS"), Provision::Absent);
        assert!(
            kernel.required_modules(&Candidate::with_defaults("zfs")).unwrap().contains(&"zfs".to_owned())
        );
        write("lib/modules/6.1.0-56-amd64/modules.dep", b"kernel/fs/ext4/ext4.ko:\n");
        let kernel = read_installed(&folder.path().join("boot/vmlinuz-6.1.0-56-amd64")).unwrap();
        let obstacle = kernel.required_modules(&Candidate::with_defaults("zfs")).unwrap_err();
        assert!(obstacle.hint.contains("zfs-dkms"), "{obstacle:?}");
    }
}
