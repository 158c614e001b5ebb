//! Options that would lead mkfs or mount to a device other than the plan's.

use thiserror::Error;

/// A word of the plan that names a place outside the device under test.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the {of} option `{word}` names a place outside the device under test\n\
     hint: a trial writes to the plan's [device] and nowhere else; journals and logs have to be on it too"
)]
pub struct ForeignPath {
    /// `mkfs` or `mount`.
    pub of: &'static str,
    pub word: String,
}

/// Keys whose value is another device, given as a path, a UUID or a label.
const DEVICE_KEYS: &[&str] = &["device", "logdev", "rtdev", "jdev", "journal_dev", "journal_path"];

/// The first word that holds a path or one of [`DEVICE_KEYS`]. No option of any mkfs or mount here needs a slash otherwise.
pub(super) fn check(of: &'static str, words: &[String]) -> Result<(), ForeignPath> {
    let foreign = |word: &&String| {
        word.contains('/')
            || word.split(',').any(|item| item.split_once('=').is_some_and(|(key, _)| names_device(key)))
    };
    match words.iter().find(foreign) {
        Some(word) => Err(ForeignPath { of, word: word.clone() }),
        None => Ok(()),
    }
}

/// Whether a key, alone or with its option letter attached (`-Jdevice`), is about another device.
fn names_device(key: &str) -> bool {
    let attached = key.strip_prefix('-').and_then(|rest| rest.get(1..));
    DEVICE_KEYS.contains(&key) || attached.is_some_and(|rest| DEVICE_KEYS.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::check;

    fn refused(words: &[&str]) -> bool {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        check("mkfs", &words).is_err()
    }

    #[test]
    fn other_devices_are_refused() {
        for words in [
            &["-J", "device=/dev/sdb"][..],
            &["-J", "size=4,device=UUID=0e1f"],
            &["-Jdevice=UUID=0e1f"],
            &["-l", "logdev=/dev/sdb1"],
            &["-j", "/dev/sdb"],
            &["-d", "/etc"],
            &["--rootdir=/etc"],
            &["../other.img"],
            &["journal_dev=2049"],
        ] {
            assert!(refused(words), "{words:?}");
        }
    }

    #[test]
    fn ordinary_options_pass() {
        for words in [
            &["-O", "^dir_index,^has_journal"][..],
            &["-E", "stride=4,stripe_width=8,root_owner=0:0"],
            &["-J", "size=400"],
            &["-m", "single", "-d", "single"],
            &["noatime", "compress=zstd:3", "commit=30", "errors=remount-ro"],
            &["-L", "device"],
        ] {
            assert!(!refused(words), "{words:?}");
        }
    }
}
