//! Reads the modules that a virtual machine needs before it has a root. They may be a stranger's.

use std::path::{Component, Path, PathBuf};

use crate::lab::LabError;
use crate::lab::kernel::{Kernel, Provision};
use fsverdict_folders::FolderHandle;

use super::error::KernelFileError;
use super::image::{DRIVERS, LARGEST_LIST, module_name};

/// Bytes of a module, and of all that a guest loads: it holds them twice while it boots.
const LARGEST_MODULE: u64 = 64 << 20;
const LARGEST_MODULES: u64 = 128 << 20;
/// Modules that a guest may need for its drivers; distributions' kernels have fewer than 20.
const MOST_MODULES: usize = 64;

/// Those drivers that are modules, each after its dependencies: path and content.
///
/// This process may read more than the guest may see. List and files are opened below one descriptor of their folder and
/// through no link, so that no other file gets into a guest.
pub(super) fn read_driver_modules(kernel: &Kernel) -> Result<Vec<(PathBuf, Vec<u8>)>, LabError> {
    let modular: Vec<&str> = DRIVERS
        .iter()
        .filter(|(symbol, _)| kernel.find_provision(symbol) == Provision::Module)
        .map(|(_, module)| *module)
        .collect();
    let (Some(folder), false) = (&kernel.modules, modular.is_empty()) else { return Ok(Vec::new()) };
    let unusable = |name: &Path| {
        let path = folder.join(name);
        move |source: std::io::Error| KernelFileError::Module { path, reason: source.to_string() }
    };
    let inside = FolderHandle::open_untrusted(folder).map_err(unusable(Path::new("")))?;
    let list = inside.read_file("modules.dep", LARGEST_LIST).map_err(unusable(Path::new("modules.dep")))?;
    let list = String::from_utf8_lossy(&list);
    let listed = in_order(&list, &modular)
        .map_err(|reason| KernelFileError::Module { path: folder.join("modules.dep"), reason })?;
    let packed = listed.iter().find(|path| path.extension().is_none_or(|extension| extension != "ko"));
    if let Some(path) = packed
        && kernel.find_provision("CONFIG_MODULE_DECOMPRESS") != Provision::Builtin
    {
        return Err(KernelFileError::Packed { path: folder.join(path) }.into());
    }
    let (mut modules, mut left) = (Vec::new(), LARGEST_MODULES);
    for path in listed {
        let content = inside.read_file(path, LARGEST_MODULE.min(left)).map_err(unusable(path))?;
        left -= content.len() as u64;
        modules.push((path.to_owned(), content));
    }
    Ok(modules)
}

/// The modules that must be loaded for these according to modules.dep(5), in the order of loading; or why there is no
/// such list. The text is untrusted: only paths below its folder count, and only as many as a kernel can need.
fn in_order<'a>(list: &'a str, modules: &[&str]) -> Result<Vec<&'a Path>, String> {
    let below = |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    let mut files: Vec<&Path> = Vec::new();
    for module in modules {
        let mut lines = list.lines().filter_map(|line| line.split_once(':'));
        let (own, needed) = lines
            .find(|(path, _)| module_name(path) == *module)
            .ok_or_else(|| format!("it does not list the module {module}"))?;
        let mut needed: Vec<&str> = needed.split_whitespace().take(MOST_MODULES).collect();
        // Dependencies are listed in reverse order of loading.
        needed.reverse();
        for path in needed.into_iter().chain([own]).map(Path::new).filter(below) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        if files.len() >= MOST_MODULES {
            return Err(format!("the module {module} needs {MOST_MODULES} others or more"));
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{Kernel, in_order, read_driver_modules};
    use fsverdict_text::Hinted;

    #[test]
    fn modules_come_after_what_they_need_and_from_below_their_folder() {
        let list = "kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko.xz /etc/shadow ../../x.ko\n\
                    kernel/net/9p/9pnet.ko.xz:\n\
                    kernel/drivers/block/virtio-blk.ko: kernel/fs/netfs/netfs.ko.xz\n/etc/evil.ko:\n";
        let paths = |modules: &[&'static str]| {
            in_order(list, modules)
                .map(|all| all.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>())
        };
        let netfs = "kernel/fs/netfs/netfs.ko.xz";
        let of_9p = [netfs, "kernel/net/9p/9pnet.ko.xz", "kernel/fs/9p/9p.ko.xz"];
        assert_eq!(paths(&["9p"]), Ok(of_9p.to_vec()));
        assert_eq!(paths(&["virtio_blk", "9p"]).unwrap()[..2], [netfs, "kernel/drivers/block/virtio-blk.ko"]);
        assert!(paths(&["9p", "virtio_pci"]).unwrap_err().ends_with("module virtio_pci"));
        assert_eq!(paths(&["evil"]), Ok(Vec::new()));
    }

    /// Comparing each with all others would take days.
    #[test]
    fn a_list_of_modules_without_end_is_refused_at_once() {
        let names: String = (0..1_000_000).map(|number| format!(" {number}.ko")).collect();
        let list = format!("9p.ko:{names}\n");
        assert!(in_order(&list, &["9p"]).unwrap_err().contains("64 others or more"));
        // A module that needs itself, and two that need each other.
        let circle = "9p.ko: 9pnet.ko 9p.ko\n9pnet.ko: 9p.ko\n";
        assert_eq!(in_order(circle, &["9p"]).unwrap(), ["9p.ko", "9pnet.ko"].map(std::path::Path::new));
    }

    #[test]
    fn no_file_gets_into_a_guest_by_the_name_of_a_module_but_one_of_its_folder() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let (folder, secret) = (place.path().join("modules"), place.path().join("secret.ko"));
        std::fs::create_dir_all(folder.join("kernel")).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        std::fs::write(folder.join("9p.ko"), "module").unwrap();
        symlink(&secret, folder.join("link.ko")).unwrap();
        symlink(place.path(), folder.join("way")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join("pipe.ko"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let long = |name: &str, bytes: u64| {
            std::fs::File::create(folder.join(name)).unwrap().set_len(bytes).unwrap();
        };
        long("long.ko", (64 << 20) + 1);
        for name in ["1.ko", "2.ko", "3.ko"] {
            long(name, 50 << 20);
        }
        let kernel = Kernel {
            path: "/k".into(),
            way_out: |_| String::new(),
            release: "6.1".to_owned(),
            modules: Some(folder.clone()),
            laboratory_modules: None,
            programs: None,
            configuration: [("CONFIG_9P_FS".to_owned(), "m".to_owned())].into(),
            seen: true,
            why: None,
            cooperates: false,
        };
        let with = |needed: &str| {
            std::fs::write(folder.join("modules.dep"), format!("9p.ko: {needed}\n")).unwrap();
            read_driver_modules(&kernel)
        };
        assert_eq!(with("").unwrap(), [("9p.ko".into(), b"module".to_vec())]);
        for needed in ["link.ko", "way/secret.ko", "pipe.ko", "kernel.ko", "long.ko", "1.ko 2.ko 3.ko"] {
            let refused = with(needed).unwrap_err().reason();
            assert!(refused.what.contains(".ko") && !refused.hint.is_empty(), "{needed}: {refused}");
        }
        let list = folder.join("modules.dep");
        std::fs::remove_file(&list).unwrap();
        symlink(place.path().join("list"), &list).unwrap();
        std::fs::write(place.path().join("list"), "9p.ko:\n").unwrap();
        read_driver_modules(&kernel).unwrap_err();
    }
}
