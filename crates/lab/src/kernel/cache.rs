//! Where built kernels are kept: a folder for each, named by release and digest, with the kernel, its configuration and
//! what it was made from.
//!
//! Root's are for everybody on the machine: a guest that root starts runs as nobody, who may not look into root's home.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{KernelBuildError, file};
use super::outcome::KernelTrial;
use super::scratch::lock;
use fsverdict_linux::host::beneath::remove_tree;
use fsverdict_linux::host::root::names_in;
use fsverdict_text::read_regular;

/// Of root, and looked into by everybody.
const SHARED: &str = "/var/cache/fsverdict/kernels";
pub(super) const KERNEL: &str = "linux";
pub(super) const CONFIG: &str = "config";
pub(super) const FACTS: &str = "facts.json";
/// The most bytes that facts may have, a configuration, and a kernel: one with all that debuggers want has some 500 MiB.
pub(super) const LARGEST_FACTS: u64 = 1 << 20;
pub(super) const LARGEST_CONFIG: u64 = 4 << 20;
pub(super) const LARGEST_KERNEL: u64 = 1 << 30;
/// What the name of a kernel begins with that is not in the cache yet.
pub(super) const NEW: &str = ".new-";
/// What the name of an unfinished build begins with.
pub(super) const UNFINISHED: &str = ".building-";
/// … and of a package or tree that is unpacked for virtual machines.
const UNPACKED: &str = ".unpacked-";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// What it calls itself, e.g. `6.12.117`.
    pub release: String,
    /// Of sources, patches and options, in 16 hexadecimal digits.
    pub digest: String,
    /// The tarball or tree.
    pub source: PathBuf,
    /// In the order they were applied.
    pub patches: Vec<String>,
    /// Options that were wanted and did not take.
    pub refused: Vec<String>,
    /// The compiler's first line on its version.
    pub compiler: String,
    pub built: jiff::Timestamp,
    /// It counts what it computes, so that computation can take simulated time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counting: bool,
    /// How it did when it was tried; none of one that was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<KernelTrial>,
    /// When it was taken over from another machine, if it was: what else is said here is what that one says.
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
    /// Where new ones go, and whence they can be removed.
    pub own: PathBuf,
    others: Vec<PathBuf>,
}

impl KernelCache {
    /// The one of this user: `$XDG_CACHE_HOME/fsverdict/kernels`, else root's for everybody, else
    /// `~/.cache/fsverdict/kernels`. Who has no home can still read root's.
    pub fn of_user() -> Self {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let own = match folder("XDG_CACHE_HOME") {
            Some(cache) => cache.join("fsverdict/kernels"),
            None if rustix::process::geteuid().is_root() => PathBuf::from(SHARED),
            None => {
                folder("HOME").map_or(PathBuf::from(SHARED), |home| home.join(".cache/fsverdict/kernels"))
            }
        };
        KernelCache { others: vec![PathBuf::from(SHARED)], own }
    }

    /// One in this folder alone.
    pub fn at(folder: &Path) -> Self {
        KernelCache { own: folder.to_owned(), others: Vec::new() }
    }

    /// Every kernel, the newest release last, and of one release the one built last.
    pub fn list(&self) -> Vec<KernelEntry> {
        let mut folders = vec![&self.own];
        folders.extend(self.others.iter().filter(|other| **other != self.own));
        let mut entries: Vec<KernelEntry> = folders
            .into_iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flatten()
            .filter_map(|entry| KernelEntry::read(&entry.ok()?.path()))
            .collect();
        entries.sort_by_key(|entry| (entry.numbers(), entry.facts.built));
        entries
    }

    /// The kernel of this name: a whole one, or the beginning of a release (`6.12`), of which the newest is taken that does
    /// not count.
    pub fn find(&self, name: &str) -> Result<KernelEntry, KernelBuildError> {
        self.find_that(name, false)
    }

    /// The same of those that count what they compute.
    pub fn find_counting(&self, name: &str) -> Result<KernelEntry, KernelBuildError> {
        self.find_that(name, true)
    }

    fn find_that(&self, name: &str, counting: bool) -> Result<KernelEntry, KernelBuildError> {
        let entries = self.list();
        let fits = |entry: &&KernelEntry| {
            let release = &entry.facts.release;
            let is_release =
                release == name || release.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
            entry.name == name || is_release && entry.facts.counting == counting
        };
        entries.iter().rfind(fits).cloned().ok_or_else(|| {
            let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            let hint = if names.is_empty() {
                "it is empty; `fsverdict kernel build` fills it".to_owned()
            } else {
                format!("there is {}; `fsverdict kernel build SOURCE` makes others", names.join(", "))
            };
            KernelBuildError::Unknown { name: name.to_owned(), hint }
        })
    }

    /// What interrupted builds left, to be carried on with: the digest of what goes in, and the folder.
    pub fn unfinished(&self) -> Vec<(String, PathBuf)> {
        self.hidden(UNFINISHED)
    }

    /// What was unpacked for virtual machines, by the digest of what it was unpacked from.
    pub fn unpacked(&self) -> Vec<(String, PathBuf)> {
        self.hidden(UNPACKED)
    }

    /// Where that of this digest is.
    pub fn unpacked_folder(&self, digest: u64) -> PathBuf {
        self.own.join(format!("{UNPACKED}{digest:016x}"))
    }

    /// Folders whose names begin so, with the rest of their names.
    fn hidden(&self, prefix: &str) -> Vec<(String, PathBuf)> {
        let rest = |name: &String| Some((name.strip_prefix(prefix)?.to_owned(), self.own.join(name)));
        // A link is nothing of ours.
        let real =
            |(_, folder): &(String, PathBuf)| folder.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        names_in(&self.own).iter().filter_map(rest).filter(real).collect()
    }

    /// Removes the kernel of this name, or what an interrupted build or a package of this digest left; returns its folder.
    pub fn remove(&self, name: &str) -> Result<PathBuf, KernelBuildError> {
        let of_this = |folders: Vec<(String, PathBuf)>| {
            folders.into_iter().find(|(digest, _)| digest == name).map(|(_, folder)| folder)
        };
        let folder = if let Some(folder) = of_this(self.unfinished()) {
            drop(lock(&folder)?);
            folder
        } else if let Some(folder) = of_this(self.unpacked()) {
            folder
        } else if let Some(log) = self.log_of_nothing(name) {
            std::fs::remove_file(&log).map_err(file("remove", &log))?;
            return Ok(log);
        } else {
            let kernel = self.find(name)?.kernel;
            kernel.parent().unwrap_or(&self.own).to_owned()
        };
        remove_tree(&folder).map_err(file("remove", &folder))?;
        let mut log = folder.clone().into_os_string();
        log.push(".log");
        let _ = std::fs::remove_file(log);
        Ok(folder)
    }

    /// The record of the trial of a kernel that did not get here.
    fn log_of_nothing(&self, name: &str) -> Option<PathBuf> {
        let there = names_in(&self.own).contains(&format!("{name}.log"));
        (there && self.list().iter().all(|entry| entry.name != name)).then(|| self.log_of(name))
    }

    /// Where the record of a trial that failed lies: of a kernel that is, or would be, called so.
    pub(super) fn log_of(&self, name: &str) -> PathBuf {
        self.own.join(format!("{name}.log"))
    }

    /// Writes into a kernel's facts how its trial went. Who may not change it has to know it without.
    pub(super) fn record(&self, entry: &mut KernelEntry, trial: KernelTrial) {
        entry.facts.trial = Some(trial);
        let folder = entry.kernel.parent().unwrap_or(&self.own);
        let new = folder.join(format!("{FACTS}.new"));
        let written = entry.facts.write(&new).is_ok() && std::fs::rename(&new, folder.join(FACTS)).is_ok();
        if !written {
            let _ = std::fs::remove_file(&new);
        }
    }
}

impl KernelFacts {
    /// `RELEASE-DIGEST`.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.release, self.digest)
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), KernelBuildError> {
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string_pretty(self)?;
            std::fs::write(path, text + "\n")
        };
        write().map_err(file("write", path))
    }
}

impl KernelEntry {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let name = folder.file_name()?.to_str().filter(|name| !name.starts_with('.'))?.to_owned();
        let facts = serde_json::from_slice(&read_regular(&folder.join(FACTS), LARGEST_FACTS).ok()?).ok()?;
        let kernel = folder.join(KERNEL);
        kernel.is_file().then_some(KernelEntry { name, kernel, facts })
    }

    /// What it was configured with, as text.
    ///
    /// # Errors
    /// When it is not there, or is no regular file of the size of one.
    pub fn config(&self) -> std::io::Result<Vec<u8>> {
        read_regular(&self.kernel.with_file_name(CONFIG), LARGEST_CONFIG)
    }

    /// The numbers of its release, to compare by.
    #[must_use]
    pub fn numbers(&self) -> Vec<u64> {
        numbers(&self.facts.release)
    }
}

/// The numbers of a release, or of a file named after one, to compare by.
pub(crate) fn numbers(release: &str) -> Vec<u64> {
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
            trial: None,
            imported: None,
        };
        let staged = StagedSources::begin(cache, &facts.name()).unwrap();
        staged.put_kernel(&mut std::io::empty()).unwrap();
        staged.keep(cache, &facts).unwrap();
    }

    #[test]
    fn kernels_are_found_by_the_beginning_of_their_release() {
        let folder = tempfile::tempdir().unwrap();
        let cache = KernelCache::at(folder.path());
        let said = cache.find("6.12").unwrap_err().reason().to_string();
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
            assert_eq!(cache.find(name).ok().map(|entry| entry.name).as_deref(), expected, "{name}");
        }
        assert_eq!((cache.list().len(), cache.unfinished().len(), cache.unpacked().len()), (3, 2, 1));
        assert!(cache.remove("00000000000000ff").unwrap().ends_with(".unpacked-00000000000000ff"));
        assert!(cache.unpacked().is_empty());
        assert!(cache.remove("dd").unwrap().ends_with(".building-dd"));
        let at_work = crate::kernel::scratch::lock(&folder.path().join(".building-ee")).unwrap();
        assert!(cache.remove("ee").unwrap_err().reason().to_string().contains("just now"));
        drop(at_work);
        cache.remove("ee").unwrap();
        assert_eq!((cache.list().len(), cache.unfinished().len()), (3, 0));
        assert_eq!(cache.list().pop().unwrap().name, "6.12.117-cc");
        cache.remove("6.12.117").unwrap();
        assert_eq!(cache.list().pop().unwrap().name, "6.12.9-bb");
        let said = cache.remove("6.12.117").unwrap_err().reason().to_string();
        assert!(said.contains("6.1.176-aa, 6.12.9-bb"), "{said}");
    }
}
