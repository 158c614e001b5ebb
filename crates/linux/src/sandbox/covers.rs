//! Hides secrets from a sandbox: an empty folder covers a folder, an empty file a file.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use super::{SandboxError, system};
use crate::host::mounts;
use crate::host::secrets::Secrets;
use fsverdict_folders::{open_through_links_of, path_by_number};

/// Two things of which every cover is another sight, so that a cover costs one mount.
pub(super) struct Covers<'a> {
    secrets: &'a Secrets,
    folder: OwnedFd,
    file: OwnedFd,
}

impl<'a> Covers<'a> {
    /// Covers all secrets. Visible paths within a covered folder are shown again. Call this before mounts are
    /// restricted, so that the restriction includes the covers.
    pub(super) fn cover_secrets(secrets: &'a Secrets) -> Result<Option<Self>, SandboxError> {
        if secrets.hidden.is_empty() {
            return Ok(None);
        }
        // Another user may have put a link in the place of one since it was named.
        let opened = |path: &Path| open_through_links_of(Some(&secrets.link_owners), path).ok();
        let visible: Vec<(OwnedFd, &Path)> =
            secrets.shown.iter().filter_map(|path| Some((opened(path)?, path.as_path()))).collect();
        let covers = Self::make_covers(secrets)?;
        for secret in &secrets.hidden {
            let within: Vec<_> = visible.iter().filter(|(_, path)| path.starts_with(secret)).collect();
            if within.is_empty() {
                covers.cover_path(secret)?;
                continue;
            }
            mounts::mount_tmpfs(secret, "755")?;
            for (what, path) in within {
                show_again(what, path)?;
            }
        }
        Ok(Some(covers))
    }

    /// Covers the secrets of `source` where it is shown at `point`, too.
    pub(super) fn lay_within(&self, source: &Path, point: &Path) -> Result<(), SandboxError> {
        for secret in self.secrets.secrets_in(source) {
            let real = source.canonicalize().unwrap_or_else(|_| source.to_owned());
            let Ok(below) = secret.strip_prefix(&real) else { continue };
            self.cover_path(&point.join(below))?;
        }
        Ok(())
    }

    /// In the first folder that is covered whole, which is covered once more in the end. Where there is none, an empty file
    /// is all that is needed.
    fn make_covers(secrets: &'a Secrets) -> Result<Self, SandboxError> {
        let opened = |path: &Path| path_only(path).ok_or_else(|| system("open a cover")(Errno::NOENT));
        let whole =
            |path: &&PathBuf| path.is_dir() && !secrets.shown.iter().any(|seen| seen.starts_with(path));
        let Some(place) = secrets.hidden.iter().find(whole) else {
            let nothing = Path::new("/dev/null");
            return Ok(Covers { secrets, folder: opened(nothing)?, file: opened(nothing)? });
        };
        mounts::mount_tmpfs(place, "755")?;
        let (folder, file) = (place.join("folder"), place.join("file"));
        std::fs::create_dir(&folder).map_err(system("make an empty folder"))?;
        std::fs::write(&file, "").map_err(system("make an empty file"))?;
        Ok(Covers { secrets, folder: opened(&folder)?, file: opened(&file)? })
    }

    fn cover_path(&self, secret: &Path) -> Result<(), SandboxError> {
        // Gone since it was looked for: then there is nothing to cover.
        let Some(found) = path_only(secret) else { return Ok(()) };
        let status = fstat(&found).map_err(system("look at what is secret"))?;
        let by = match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => &self.folder,
            _ => &self.file,
        };
        Ok(mounts::bind_mount(&path_by_number(by), secret)?)
    }
}

/// Shows a path again that a cover has hidden.
fn show_again(what: &OwnedFd, path: &Path) -> Result<(), SandboxError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent).map_err(system("make a folder for what is shown"))?;
    let status = fstat(what).map_err(system("look at what is shown"))?;
    let made = match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => std::fs::create_dir_all(path),
        _ => std::fs::write(path, ""),
    };
    made.map_err(system("make a place for what is shown"))?;
    Ok(mounts::bind_all(&path_by_number(what), path)?)
}

fn path_only(path: &Path) -> Option<OwnedFd> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}
