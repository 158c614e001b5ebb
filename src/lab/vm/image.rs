//! Kernels for virtual machines: a file as distributions install it, a package of theirs, or a tree that was built.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3Default;

use crate::host::cell::{Cell, Powers, Walls};
use crate::host::program::{Program, succeeded};
use crate::host::root::names_in;
use crate::kernel::Cache;
use crate::lab::LabError;
use crate::lab::kernel::{Kernel, Provision, parse_configuration};

/// What a guest needs before it sees its root, and to see its disk and be heard: symbols and modules.
pub(super) const DRIVERS: [(&str, &str); 5] = [
    ("CONFIG_VIRTIO_PCI", "virtio_pci"),
    ("CONFIG_VIRTIO_BLK", "virtio_blk"),
    ("CONFIG_VIRTIO_CONSOLE", "virtio_console"),
    ("CONFIG_NET_9P_VIRTIO", "9pnet_virtio"),
    ("CONFIG_9P_FS", "9p"),
];

/// What a guest needs built in.
const SYMBOLS: [&str; 4] =
    ["CONFIG_BLK_DEV_INITRD", "CONFIG_DEVTMPFS", "CONFIG_PID_NS", "CONFIG_SERIAL_8250_CONSOLE"];
/// Where distributions put their kernels …
const INSTALLED: &str = "/boot";
/// … and what they are called there, before the release.
const NAME: &str = "vmlinuz-";
/// Four fifths of a distribution's modules drive what a guest here does not have.
const NOT_KEPT: [&str; 9] = ["gpu", "net", "media", "infiniband", "staging", "usb", "iio", "scsi", "hwmon"];

/// A kernel cannot be had for a virtual machine.
#[derive(Debug, thiserror::Error)]
pub enum KernelFileError {
    #[error(
        "there is no kernel in {INSTALLED} ({NAME}…)\nhint: name one in the plan: kernel = \"/path/…\", which may be such a file, a .deb of a linux-image, or a tree in which one was built"
    )]
    NoneInstalled,
    #[error("`{}` is the name of a kernel in the cache, and those are processes: the lab uml runs them\nhint: --lab uml; or name a kernel's file, a .deb of a linux-image, or a tree in which one was built", .0.display())]
    OfUml(PathBuf),
    #[error("cannot read the kernel {}: {source}\nhint: some distributions let only root read it: sudo chmod a+r {}, or a copy elsewhere", path.display(), path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} {reason}\nhint: take a file as distributions install it ({INSTALLED}/{NAME}…), a .deb of a linux-image, or a tree in which `make bzImage modules` was done", path.display())]
    NoKernel { path: PathBuf, reason: &'static str },
    #[error("nothing says what the kernel {} can do: there is no config-{release} beside it\nhint: put the .config it was built with there, or name the tree it was built in", path.display())]
    NoConfiguration { path: PathBuf, release: String },
    #[error("the kernel {} has {symbol} as a module, and there are no modules of {release} here\nhint: they are looked for in /lib/modules/{release} and in ../lib/modules/{release} beside the kernel; name the .deb or the tree instead", path.display())]
    NoModules { path: PathBuf, release: String, symbol: &'static str },
    #[error("the module {} is compressed, and this kernel cannot unpack it (CONFIG_MODULE_DECOMPRESS)\nhint: unpack the modules (unxz, unzstd) and run depmod, or take a kernel from 5.17 on", path.display())]
    Packed { path: PathBuf },
    #[error("cannot unpack {}: {reason}\nhint: a .deb wants dpkg-deb, a tree make, both depmod (kmod); a kernel's file with its modules in ../lib/modules/RELEASE needs none of them", path.display())]
    Unpack { path: PathBuf, reason: String },
}

/// The kernel of this name, fit for a guest; without a name the newest this machine has installed.
pub(super) fn usable(name: Option<&Path>, walls: Walls) -> Result<Kernel, LabError> {
    let kernel = match name {
        None => installed(&newest(Path::new(INSTALLED)).ok_or(KernelFileError::NoneInstalled)?)?,
        Some(name) if !name.is_absolute() => return Err(KernelFileError::OfUml(name.to_owned()).into()),
        Some(path) if path.is_dir() => built(path, walls)?,
        Some(path) if path.extension().is_some_and(|extension| extension == "deb") => packaged(path, walls)?,
        Some(path) => installed(path)?,
    };
    let path = || kernel.path.clone();
    if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| kernel.provides(symbol) != Provision::Builtin) {
        return Err(LabError::LacksSymbol { path: path(), symbol });
    }
    match DRIVERS.into_iter().find(|(symbol, _)| kernel.provides(symbol) == Provision::Absent) {
        Some((symbol, _)) if kernel.configuration.contains_key(symbol) => {
            Err(KernelFileError::NoModules { path: path(), release: kernel.release, symbol }.into())
        }
        Some((symbol, _)) => Err(LabError::LacksSymbol { path: path(), symbol }),
        None => Ok(kernel),
    }
}

/// The newest of the kernels in a folder, by the numbers in their names.
fn newest(folder: &Path) -> Option<PathBuf> {
    let names = names_in(folder).into_iter().filter(|name| name.starts_with(NAME));
    let newest = names.max_by_key(|name| {
        let words = name.split(|letter: char| !letter.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect::<Vec<u64>>()
    })?;
    Some(folder.join(newest))
}

/// A kernel's file, with configuration and modules where distributions put them.
fn installed(path: &Path) -> Result<Kernel, KernelFileError> {
    let release = release(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let above = folder.parent().unwrap_or(folder);
    let modules = [&above.join("lib"), &above.join("usr/lib"), Path::new("/lib")]
        .map(|libraries| libraries.join("modules").join(&release))
        .into_iter()
        .find(|folder| folder.join("modules.dep").is_file());
    let beside = [folder, Path::new(INSTALLED)].map(|folder| folder.join(format!("config-{release}")));
    let among_modules = modules.iter().map(|modules| modules.join("config"));
    let Some(text) =
        beside.into_iter().chain(among_modules).find_map(|path| std::fs::read_to_string(path).ok())
    else {
        return Err(KernelFileError::NoConfiguration { path: path.to_owned(), release });
    };
    Ok(kernel(path, release, modules, &text))
}

fn kernel(path: &Path, release: String, modules: Option<PathBuf>, configuration: &str) -> Kernel {
    let configuration = parse_configuration(configuration);
    Kernel { path: path.to_owned(), way_out, release, modules, configuration }
}

fn way_out(symbol: &str) -> String {
    format!(
        "name a kernel that has {symbol}: kernel = \"/path/…\", a file, a .deb of a linux-image, or a built tree"
    )
}

/// What a kernel's file says of itself (Documentation/arch/x86/boot.rst: `header`, `kernel_version`).
fn release(path: &Path) -> Result<String, KernelFileError> {
    let failed = |source| KernelFileError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut bytes)).map_err(failed)?;
    let strange = |reason| KernelFileError::NoKernel { path: path.to_owned(), reason };
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return Err(strange("is no Linux kernel for PCs that can be booted (bzImage)"));
    }
    let at = bytes.get(0x20e..0x210).map_or(0, |two| usize::from(two[0]) | usize::from(two[1]) << 8);
    let text = bytes.get(at + 0x200..).unwrap_or_default();
    let word = text.split(|byte| *byte == b' ' || *byte == 0).next().unwrap_or_default();
    let word = String::from_utf8_lossy(word).into_owned();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-+_~".contains(letter);
    if word.starts_with(|letter: char| letter.is_ascii_digit()) && word.chars().all(plain) {
        Ok(word)
    } else {
        Err(strange("does not say which release it is"))
    }
}

/// A package of a distribution's kernel, unpacked into the cache and not installed.
fn packaged(path: &Path, walls: Walls) -> Result<Kernel, LabError> {
    let folder = kept(path, &[path], |folder| {
        unpack(walls, path, folder, &["dpkg-deb", "--extract", &text(path), &text(folder)])?;
        for libraries in [folder.join("lib"), folder.join("usr/lib")] {
            for release in names_in(&libraries.join("modules")) {
                let modules = libraries.join("modules").join(&release).join("kernel");
                let unneeded = NOT_KEPT.map(|name| modules.join("drivers").join(name));
                for folder in unneeded.into_iter().chain([modules.join("sound")]) {
                    let _ = std::fs::remove_dir_all(folder);
                }
                let base = libraries.parent().unwrap_or(folder);
                unpack(walls, path, folder, &["depmod", "-b", &text(base), &release])?;
            }
        }
        Ok(())
    })?;
    let lacks = || KernelFileError::NoKernel { path: path.to_owned(), reason: "holds no kernel" };
    Ok(installed(&newest(&folder.join("boot")).ok_or_else(lacks)?)?)
}

/// A tree in which a kernel was built, with its modules installed into the cache.
fn built(tree: &Path, walls: Walls) -> Result<Kernel, LabError> {
    let image = tree.join("arch/x86/boot/bzImage");
    let configuration = tree.join(".config");
    let Ok(configuration) = std::fs::read_to_string(configuration) else {
        return Err(KernelFileError::NoKernel {
            path: tree.to_owned(),
            reason: "is no tree in which a kernel was built",
        }
        .into());
    };
    let release = release(&image)?;
    let order = tree.join("modules.order");
    let modules = if order.is_file() {
        let folder = kept(tree, &[&image, &order], |folder| {
            let to = format!("INSTALL_MOD_PATH={}", text(folder));
            unpack(
                walls,
                tree,
                folder,
                &["make", "-C", &text(tree), &to, "INSTALL_MOD_STRIP=1", "modules_install"],
            )
        })?;
        Some(folder.join("lib/modules").join(&release))
    } else {
        None
    };
    Ok(kernel(&image, release, modules, &configuration))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Another number when one of these files is another one.
pub(super) fn digest(of: &[&Path]) -> std::io::Result<u64> {
    let mut digest = Xxh3Default::new();
    for path in of {
        let facts = path.metadata()?;
        (path, facts.len(), facts.mtime(), facts.mtime_nsec(), facts.ino()).hash(&mut digest);
    }
    Ok(digest.finish())
}

/// The folder of the cache for what is made of these files, made if it is not there: all of it or nothing.
fn kept(
    path: &Path,
    of: &[&Path],
    make: impl FnOnce(&Path) -> Result<(), KernelFileError>,
) -> Result<PathBuf, LabError> {
    let failed = |source| KernelFileError::Read { path: path.to_owned(), source };
    let cache = Cache::of_user();
    let folder = cache.unpacked_folder(digest(of).map_err(failed)?);
    if !folder.is_dir() {
        std::fs::create_dir_all(&cache.own).map_err(failed)?;
        let new = tempfile::Builder::new().prefix(".new-").tempdir_in(&cache.own).map_err(failed)?;
        make(new.path())?;
        // Everybody's, like the kernels beside it.
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(new.path(), open).map_err(failed)?;
        if let Err(error) = std::fs::rename(new.path(), &folder)
            && !folder.is_dir()
        {
            return Err(failed(error).into());
        }
    }
    Ok(folder)
}

/// Runs a program that may write into `folder` alone.
fn unpack(walls: Walls, path: &Path, folder: &Path, argv: &[&str]) -> Result<(), KernelFileError> {
    let failed = |reason: String| KernelFileError::Unpack { path: path.to_owned(), reason };
    let mut cell = Cell::new(walls, [""; 0]);
    cell.writable = vec![folder.to_owned()];
    // The plan named what is unpacked, and a tree's makefile is a program.
    cell.powers = Powers::Phase;
    let program = Program::new(argv.iter().copied()).inside(cell);
    let record = program.run("unpack the kernel").map_err(|error| failed(error.to_string()))?;
    succeeded(record).map(drop).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{KernelFileError, installed, newest, release};

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
            match (release(&path), wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
                (Err(found), Err(wanted)) => assert!(found.to_string().contains(wanted), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_newest_is_taken_and_one_without_its_configuration_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["vmlinuz-6.9.1-amd64", "vmlinuz-6.12.3-1-amd64", "vmlinuz-6.1.0-56-amd64", "initrd.img-7.0"]
        {
            std::fs::write(folder.path().join(name), head("6.12.3-1-amd64 ")).unwrap();
        }
        let path = newest(folder.path()).unwrap();
        assert!(path.ends_with("vmlinuz-6.12.3-1-amd64"), "{path:?}");
        assert!(matches!(installed(&path), Err(KernelFileError::NoConfiguration { .. })));
        std::fs::write(folder.path().join("config-6.12.3-1-amd64"), "CONFIG_A=y\n").unwrap();
        assert_eq!(installed(&path).unwrap().release, "6.12.3-1-amd64");
    }
}
