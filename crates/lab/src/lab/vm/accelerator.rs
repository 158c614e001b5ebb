//! Chooses between KVM and emulation for a guest. Whether KVM works is tried, and remembered until this machine boots
//! again.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use fsverdict_folders::read_regular;
use fsverdict_linux::host::root::Root;

use super::package::digest_files;

/// Where the kernel lets programs have virtual machines, if it does.
pub(super) const KVM: &str = "/dev/kvm";
/// Beside the kernels of the cache.
const ANSWERS: &str = ".starts-with-kvm";
/// Changes at each boot.
const BOOT: &str = "proc/sys/kernel/random/boot_id";
/// Bytes of that file.
const LARGEST_ANSWERS: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accelerator {
    /// The machine's processor executes the guest's instructions.
    Kvm,
    /// QEMU emulates the instructions one by one.
    Tcg,
}

/// Answers since this boot, by everything that they depend on.
#[derive(Default, Serialize, Deserialize)]
struct AcceleratorAnswers {
    boot: String,
    starts: BTreeMap<String, bool>,
}

/// Whether KVM works: in this boot, for each thing that it depends on.
#[derive(Debug)]
pub(super) struct AcceleratorQuestion {
    boot: String,
    key: String,
}

impl AcceleratorQuestion {
    /// Asks for this kernel with this program and sandbox; `None` if the kernel's file cannot be looked at.
    pub(super) fn new(kernel: &Path, program: &str) -> Option<Self> {
        // The device's identity changes when the KVM module is reloaded.
        let files = digest_files(&[kernel, Path::new(KVM)]).ok()?;
        let boot = Root::default().optional(BOOT).ok().flatten().unwrap_or_default();
        Some(AcceleratorQuestion { boot, key: format!("{program}, {files:016x}") })
    }

    /// The answer that was kept in this folder.
    pub(super) fn recall_answer(&self, folder: &Path) -> Option<bool> {
        self.read_answers(folder).starts.get(&self.key).copied()
    }

    /// Keeps the answer for later. One that cannot be stored is found out again.
    pub(super) fn keep_answer(&self, folder: &Path, starts: bool) {
        let mut answers = self.read_answers(folder);
        answers.starts.insert(self.key.clone(), starts);
        let keep = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            let new = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&new, &answers)?;
            new.persist(folder.join(ANSWERS))?;
            Ok(())
        };
        let _ = keep();
    }

    /// The answers of this boot; none where it is not known.
    fn read_answers(&self, folder: &Path) -> AcceleratorAnswers {
        let kept = read_regular(&folder.join(ANSWERS), LARGEST_ANSWERS).ok();
        let fits = |answers: &AcceleratorAnswers| answers.boot == self.boot && !self.boot.is_empty();
        kept.and_then(|text| serde_json::from_slice(&text).ok()).filter(fits).unwrap_or_else(|| {
            AcceleratorAnswers { boot: self.boot.clone(), ..AcceleratorAnswers::default() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::AcceleratorQuestion;

    #[test]
    fn an_answer_is_kept_for_a_boot_and_all_that_it_hangs_on() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("kernels");
        let question =
            |boot: &str, key: &str| AcceleratorQuestion { boot: boot.to_owned(), key: key.to_owned() };
        // Boot, key, the remembered text, the text that is then kept.
        for (boot, key, remembered, kept) in [
            ("one", "6.1", None, Some(true)),
            ("one", "6.1", Some(true), None),
            ("one", "6.12", None, Some(false)),
            ("one", "6.12", Some(false), None),
            ("one", "6.1", Some(true), None),
            ("two", "6.1", None, Some(false)),
            ("one", "6.12", None, None),
            // Where the boot is not known.
            ("", "6.1", None, Some(true)),
            ("", "6.1", None, None),
        ] {
            let question = question(boot, key);
            assert_eq!(question.recall_answer(&folder), remembered, "{boot} {key}");
            if let Some(starts) = kept {
                question.keep_answer(&folder, starts);
            }
        }
    }
}
