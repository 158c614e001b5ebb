//! Patches: our own, which are part of the program, and the user's.

use std::path::{Path, PathBuf};

use crate::host::program::Program;

use super::error::{KernelBuildError, file};

/// Our own, by name. They must apply to every tree from Linux 6.1 on.
const OWN: [(&str, &str); 2] = [
    ("0001-um-seed.patch", include_str!("../../kernel/patches/0001-um-seed.patch")),
    ("0002-um-xstate.patch", include_str!("../../kernel/patches/0002-um-xstate.patch")),
];

#[derive(Debug, Clone)]
pub(super) struct Patch {
    pub(super) name: String,
    text: Vec<u8>,
    own: bool,
}

/// Our own patches and the user's, in the order they are applied.
pub(super) fn patches(users: &[PathBuf]) -> Result<Vec<Patch>, KernelBuildError> {
    let own = OWN
        .iter()
        .map(|(name, text)| Ok(Patch { name: (*name).to_owned(), text: (*text).into(), own: true }));
    let users = users.iter().map(|path| {
        let text = std::fs::read(path).map_err(file("read the patch", path))?;
        Ok(Patch { name: path.display().to_string(), text, own: false })
    });
    own.chain(users).collect()
}

impl Patch {
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Applies it to the sources in `tree`.
    pub(super) fn apply(&self, tree: &Path, release: &str) -> Result<(), KernelBuildError> {
        let patch = Program::new(["patch", "-p1", "--forward", "--batch", "--no-backup-if-mismatch"]);
        let record = patch.folder(tree).input(&self.text).run("patch the sources")?;
        if record.exit == Some(0) {
            return Ok(());
        }
        let said = format!("{}{}", record.stdout, record.stderr);
        Err(KernelBuildError::Patch {
            patch: self.name.clone(),
            release: release.to_owned(),
            said: said.trim().lines().take(4).collect::<Vec<_>>().join("; "),
            hint: if self.own {
                "trees from Linux 6.1 to 6.12 are known to do"
            } else {
                "the patch must be made for this release, with paths that `patch -p1` takes"
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::OWN;

    /// One that lay there and was not applied cost a kernel that did not start.
    #[test]
    fn every_patch_in_the_folder_is_applied_in_order() {
        let mut there: Vec<String> = std::fs::read_dir("kernel/patches")
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        there.sort();
        assert_eq!(OWN.map(|(name, _)| name.to_owned()).to_vec(), there);
    }
}
