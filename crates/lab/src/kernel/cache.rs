//! The cache of built kernels: a folder for each, named by release and digest, with the kernel, its configuration and
//! the facts about its build.
//!
//! Every user can read root's kernels: a guest that root starts runs as an unprivileged user without access to root's
//! home.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{KernelBuildError, file_error};
use super::kernel_modules::KernelModules;
use super::module_table::{BUILD, is_module_in};
use super::outcome::KernelTrial;
use super::scratch::lock_build;
use fsverdict_folders::read_regular;
use fsverdict_folders::remove_tree;
use fsverdict_linux::host::cache_folder::{SHARED_CACHE, user_cache};
use fsverdict_linux::host::root::names_in;

/// The folder of kernels within a cache.
const KERNELS: &str = "kernels";
/// Where packages of the system put kernels, for everybody. Only they write there.
const PACKAGED: &str = "/usr/lib/fsverdict/kernels";
pub(super) const KERNEL: &str = "linux";
pub(super) const CONFIG: &str = "config";
pub(super) const FACTS: &str = "facts.json";
pub(super) const PROGRAMS: &str = "programs";
/// The most bytes that facts may have, a configuration, and a kernel: one with all that debuggers want has some 500 MiB.
pub(super) const LARGEST_FACTS: u64 = 1 << 20;
pub(crate) const LARGEST_CONFIG: u64 = 4 << 20;
pub(crate) const LARGEST_KERNEL: u64 = 1 << 30;
/// Prefix of the folder of an unfinished build.
pub(super) const UNFINISHED: &str = ".building-";
/// … and of a package or tree that is unpacked for virtual machines.
const UNPACKED: &str = ".unpacked-";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// The release that the kernel reports, e.g. `6.12.117`.
    pub release: String,
    /// Of sources, patches and options, in 16 hexadecimal digits.
    pub digest: String,
    /// The tarball or tree that it was built from.
    pub source: PathBuf,
    /// In the order they were applied.
    pub patches: Vec<String>,
    /// Options that were wanted and did not take.
    pub refused: Vec<String>,
    /// The compiler's first line on its version.
    pub compiler: String,
    pub built: jiff::Timestamp,
    /// The kernel counts its computation, so that computation can take simulated time. Those of releases without our patch do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counting: bool,
    /// The version of ZFS that is built into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zfs: Option<String>,
    /// How it did when it was tried; none of one that was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<KernelTrial>,
    /// When it was imported from another machine, if it was; the other fields are then that machine's statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<jiff::Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KernelEntry {
    /// `RELEASE-DIGEST`.
    pub name: String,
    pub kernel: PathBuf,
    pub facts: KernelFacts,
}

/// The folders kernels are kept in.
#[derive(Debug, Clone)]
pub struct KernelCache {
    /// The folder that new kernels are written to, and that they can be removed from.
    pub own: PathBuf,
    others: Vec<PathBuf>,
}

impl KernelCache {
    /// The cache of this user, and those that every user can read.
    pub fn of_user() -> Self {
        let others = [Path::new(SHARED_CACHE).join(KERNELS), PathBuf::from(PACKAGED)];
        KernelCache { own: user_cache().join(KERNELS), others: others.into() }
    }

    /// One in this folder alone.
    pub fn with_folder(folder: &Path) -> Self {
        KernelCache { own: folder.to_owned(), others: Vec::new() }
    }

    /// Lists all kernels: the newest release last, and within a release the newest build last.
    pub fn list_kernels(&self) -> Vec<KernelEntry> {
        let mut folders = vec![&self.own];
        folders.extend(self.others.iter().filter(|other| **other != self.own));
        let mut entries: Vec<KernelEntry> = folders
            .into_iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flatten()
            .filter_map(|entry| KernelEntry::read_entry(&entry.ok()?.path()))
            .collect();
        entries.sort_by_key(|entry| (entry.release_numbers(), entry.facts.built));
        entries
    }

    /// The kernel of this name: a whole one, or the beginning of a release (`6.12`), of which the newest is taken that
    /// counts its computation; one that does not, or has ZFS, only if there is no other.
    pub fn find_kernel(&self, name: &str) -> Result<KernelEntry, KernelBuildError> {
        let entries = self.list_kernels();
        let fits = |entry: &&KernelEntry| {
            let release = &entry.facts.release;
            let is_release =
                release == name || release.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            entry.name == name || is_release
        };
        let worth = |entry: &&KernelEntry| (entry.facts.counting, entry.facts.zfs.is_none());
        entries.iter().filter(fits).max_by_key(worth).cloned().ok_or_else(|| {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            let hint = if names.is_empty() {
                "it is empty; `fsverdict kernel build` fills it".to_owned()
            } else {
                format!("there is {}; `fsverdict kernel build SOURCE` makes others", names.join(", "))
            };
            KernelBuildError::Unknown { name: name.to_owned(), hint }
        })
    }

    /// Lists interrupted builds that can be continued: the digest of the inputs, and the folder.
    pub fn unfinished_builds(&self) -> Vec<(String, PathBuf)> {
        self.list_hidden(UNFINISHED)
    }

    /// Lists packages and trees that were unpacked for virtual machines: the digest of their source, and the folder.
    pub fn unpacked_packages(&self) -> Vec<(String, PathBuf)> {
        self.list_hidden(UNPACKED)
    }

    /// Where that of this digest is.
    pub fn unpacked_folder(&self, digest: u64) -> PathBuf {
        self.own.join(format!("{UNPACKED}{digest:016x}"))
    }

    /// Lists folders with this prefix: the rest of the name, and the folder.
    fn list_hidden(&self, prefix: &str) -> Vec<(String, PathBuf)> {
        let rest = |name: &String| Some((name.strip_prefix(prefix)?.to_owned(), self.own.join(name)));
        // A symbolic link is not an entry of the cache.
        let real =
            |(_, folder): &(String, PathBuf)| folder.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        names_in(&self.own).iter().filter_map(rest).filter(real).collect()
    }

    /// Removes the kernel of this name, or the leftovers of an interrupted build or an unpacked package of this digest;
    /// returns its folder.
    pub fn remove_entry(&self, name: &str) -> Result<PathBuf, KernelBuildError> {
        let of_this = |folders: Vec<(String, PathBuf)>| {
            folders.into_iter().find(|(digest, _)| digest == name).map(|(_, folder)| folder)
        };
        let folder = if let Some(folder) = of_this(self.unfinished_builds()) {
            drop(lock_build(&folder)?);
            folder
        } else if let Some(folder) = of_this(self.unpacked_packages()) {
            folder
        } else {
            let kernel = self.find_kernel(name)?.kernel;
            let build = kernel.with_file_name(BUILD);
            if build.is_dir() {
                drop(lock_build(&build)?);
            }
            kernel.parent().unwrap_or(&self.own).to_owned()
        };
        if folder.starts_with(PACKAGED) {
            let what =
                io::Error::new(io::ErrorKind::PermissionDenied, "a package of the system put it there");
            return Err(file_error("remove", &folder)(what));
        }
        remove_tree(&folder).map_err(file_error("remove", &folder))?;
        let mut log = folder.clone().into_os_string();
        log.push(".log");
        let _ = std::fs::remove_file(log);
        Ok(folder)
    }

    /// Where the record of a trial that failed lies, of the kernel of this name.
    pub(super) fn log_of(&self, name: &str) -> PathBuf {
        self.own.join(format!("{name}.log"))
    }

    /// Writes the result of a kernel's trial into its facts. Failure is ignored: a user may have no right to change
    /// root's cache.
    pub(super) fn record_trial(&self, entry: &mut KernelEntry, trial: KernelTrial) {
        entry.facts.trial = Some(trial);
        let folder = entry.kernel.parent().unwrap_or(&self.own);
        let new = folder.join(format!("{FACTS}.new"));
        let written =
            entry.facts.write_json(&new).is_ok() && std::fs::rename(&new, folder.join(FACTS)).is_ok();
        if !written {
            let _ = std::fs::remove_file(&new);
        }
    }
}

/// The folder of programs that were unpacked beside a kernel, if some were.
pub fn programs_beside(kernel: &Path) -> Option<PathBuf> {
    let folder = kernel.with_file_name(PROGRAMS).join("bin");
    folder.is_dir().then_some(folder)
}

impl KernelFacts {
    /// `RELEASE-DIGEST`.
    pub(super) fn entry_name(&self) -> String {
        format!("{}-{}", self.release, self.digest)
    }

    pub(super) fn write_json(&self, path: &Path) -> Result<(), KernelBuildError> {
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string_pretty(self)?;
            std::fs::write(path, text + "\n")
        };
        write().map_err(file_error("write", path))
    }
}

impl KernelEntry {
    pub(super) fn read_entry(folder: &Path) -> Option<Self> {
        let name = folder.file_name()?.to_str().filter(|name| !name.starts_with('.'))?.to_owned();
        let facts = serde_json::from_slice(&read_regular(&folder.join(FACTS), LARGEST_FACTS).ok()?).ok()?;
        let kernel = folder.join(KERNEL);
        kernel.is_file().then_some(KernelEntry { name, kernel, facts })
    }

    /// Reads the kernel's configuration as text.
    ///
    /// # Errors
    /// When it is not there, or is no regular file of the size of one.
    pub fn read_configuration(&self) -> std::io::Result<Vec<u8>> {
        read_regular(&self.kernel.with_file_name(CONFIG), LARGEST_CONFIG)
    }

    /// Its modules, if it has some.
    #[must_use]
    pub fn find_modules(&self) -> Option<KernelModules> {
        KernelModules::find_beside(&self.kernel, is_module_in(&self.read_configuration().unwrap_or_default()))
    }

    /// Bytes on the disk of the sources of its modules.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        disk_bytes(&self.kernel.with_file_name(BUILD))
    }

    /// The numbers of its release, to compare by.
    #[must_use]
    pub fn release_numbers(&self) -> Vec<u64> {
        parse_release_numbers(&self.facts.release)
    }
}

/// Bytes that the files below a folder take; links are not followed.
fn disk_bytes(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            bytes += facts.blocks() * 512;
            if facts.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    bytes
}

/// The numbers of a release, or of a file named after one, to compare by.
pub(crate) fn parse_release_numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{KernelCache, KernelFacts};
    use crate::kernel::staged::StagedSources;
    use fsverdict_text::Hinted;

    fn put(cache: &KernelCache, release: &str, digest: &str) {
        let facts = KernelFacts {
            release: release.to_owned(),
            digest: digest.to_owned(),
            source: "/usr/src/linux.tar.xz".into(),
            patches: vec!["0001".to_owned()],
            refused: Vec::new(),
            compiler: "gcc".to_owned(),
            built: jiff::Timestamp::UNIX_EPOCH,
            counting: false,
            zfs: None,
            trial: None,
            imported: None,
        };
        let staged = StagedSources::create_folder(cache, &facts.entry_name()).unwrap();
        staged.put_kernel(&mut std::io::empty()).unwrap();
        staged.move_into_cache(cache, &facts).unwrap();
    }

    #[test]
    fn kernels_are_found_by_the_beginning_of_their_release() {
        let folder = tempfile::tempdir().unwrap();
        let cache = KernelCache::with_folder(folder.path());
        let said = cache.find_kernel("6.12").unwrap_err().reason().to_string();
        assert!(said.contains("kernel build"), "{said}");
        for (release, digest) in [("6.1.176", "aa"), ("6.12.9", "bb"), ("6.12.117", "cc")] {
            put(&cache, release, digest);
        }
        for hidden in [".building-dd", ".building-ee"].map(|name| folder.path().join(name)) {
            std::fs::create_dir(hidden).unwrap();
        }
        std::fs::create_dir(cache.unpacked_folder(0xff)).unwrap();
        for (name, expected) in [
            ("6.12", Some("6.12.117-cc")),
            ("6.1", Some("6.1.176-aa")),
            ("6.12.9", Some("6.12.9-bb")),
            ("6.12.9-bb", Some("6.12.9-bb")),
            ("6", Some("6.12.117-cc")),
            ("5.10", None),
            ("6.12.11", None),
        ] {
            assert_eq!(cache.find_kernel(name).ok().map(|entry| entry.name).as_deref(), expected, "{name}");
        }
        assert_eq!(
            (cache.list_kernels().len(), cache.unfinished_builds().len(), cache.unpacked_packages().len()),
            (3, 2, 1)
        );
        assert!(cache.remove_entry("00000000000000ff").unwrap().ends_with(".unpacked-00000000000000ff"));
        assert!(cache.unpacked_packages().is_empty());
        assert!(cache.remove_entry("dd").unwrap().ends_with(".building-dd"));
        let at_work = crate::kernel::scratch::lock_build(&folder.path().join(".building-ee")).unwrap();
        assert!(cache.remove_entry("ee").unwrap_err().reason().to_string().contains("just now"));
        drop(at_work);
        cache.remove_entry("ee").unwrap();
        assert_eq!((cache.list_kernels().len(), cache.unfinished_builds().len()), (3, 0));
        assert_eq!(cache.list_kernels().pop().unwrap().name, "6.12.117-cc");
        cache.remove_entry("6.12.117").unwrap();
        assert_eq!(cache.list_kernels().pop().unwrap().name, "6.12.9-bb");
        let said = cache.remove_entry("6.12.117").unwrap_err().reason().to_string();
        assert!(said.contains("6.1.176-aa, 6.12.9-bb"), "{said}");
    }
}
