//! Chooses between KVM and emulation for a guest. Whether KVM works is tried, and remembered until this machine boots
//! again.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Where the kernel lets programs have virtual machines, if it does.
pub(super) const KVM: &str = "/dev/kvm";
/// Beside the kernels of the cache.
const ANSWERS: &str = ".starts-with-kvm";

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

/// Returns the remembered answer for `key` in this boot, or asks for it. An answer that cannot be stored is asked for
/// again.
pub(super) fn remember_answer(folder: &Path, boot: &str, key: String, ask: impl FnOnce() -> bool) -> bool {
    let path = folder.join(ANSWERS);
    let kept = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let fits = |answers: &AcceleratorAnswers| answers.boot == boot && !boot.is_empty();
    let mut answers = kept
        .filter(fits)
        .unwrap_or(AcceleratorAnswers { boot: boot.to_owned(), ..AcceleratorAnswers::default() });
    if let Some(starts) = answers.starts.get(&key) {
        return *starts;
    }
    let starts = ask();
    answers.starts.insert(key, starts);
    let keep = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let new = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&new, &answers)?;
        new.persist(path)?;
        Ok(())
    };
    let _ = keep();
    starts
}

#[cfg(test)]
mod tests {
    use super::remember_answer;

    #[test]
    fn it_is_asked_once_a_boot_for_all_that_it_hangs_on() {
        let folder = tempfile::tempdir().unwrap();
        // Boot, key, what would be found, what is said, whether it was asked.
        for (boot, key, finds, said, asks) in [
            ("one", "6.1", true, true, true),
            ("one", "6.1", false, true, false),
            ("one", "6.12", false, false, true),
            ("one", "6.12", true, false, false),
            ("one", "6.1", false, true, false),
            ("two", "6.1", false, false, true),
            ("one", "6.12", true, true, true),
            // Where the boot is not known.
            ("", "6.1", true, true, true),
            ("", "6.1", false, false, true),
        ] {
            let mut asked = false;
            let found = remember_answer(&folder.path().join("kernels"), boot, key.to_owned(), || {
                asked = true;
                finds
            });
            assert_eq!((found, asked), (said, asks), "{boot} {key}");
        }
    }
}
