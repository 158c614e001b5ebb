//! The key of a run: a random number that identifies it independently of its folder's name, stored in the folder.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

use fsverdict_folders::FolderHandle;

use super::FleetError;

pub const FILE: &str = "run-id";

/// Sixteen hexadecimal digits, which are safe in the name of a job or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunKey(String);

impl RunKey {
    /// Reads the key of the run in this folder; `None` if it has none.
    pub(super) fn read_from(run: &FolderHandle) -> Result<Option<Self>, FleetError> {
        let place = run.file(FILE);
        let path = place.path();
        let Some(file) = FleetError::if_exists(&path, place.open())? else { return Ok(None) };
        let mut text = Vec::new();
        file.take(64).read_to_end(&mut text).map_err(FleetError::io_error(&path))?;
        let text = String::from_utf8_lossy(&text);
        let key = text.strip_suffix('\n').unwrap_or(&text);
        let plain = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
        if key.len() == 16 && key.chars().all(plain) {
            Ok(Some(RunKey(key.to_owned())))
        } else {
            Err(FleetError::InTheWay(path))
        }
    }

    /// Reads the key of the run in this folder, or creates one if it has none. If several processes do so at once, exactly
    /// one of them creates the key.
    pub(super) fn read_or_create(run: &FolderHandle) -> Result<Self, FleetError> {
        let place = run.file(FILE);
        loop {
            if let Some(key) = Self::read_from(run)? {
                return Ok(key);
            }
            place
                .put_new(Self::draw_random().file_line().as_bytes())
                .map_err(FleetError::io_error(&place.path()))?;
        }
    }

    /// Replaces the key of the run in this folder by a new one.
    pub(super) fn replace_in(run: &FolderHandle) -> Result<Self, FleetError> {
        let (place, key) = (run.file(FILE), Self::draw_random());
        let replaced = place.replace(|file| file.write_all(key.file_line().as_bytes()));
        replaced.map_err(FleetError::io_error(&place.path()))?;
        Ok(key)
    }

    /// A key that a block names, if it is another than this one.
    pub(super) fn other_of<'a>(&self, named: Option<&'a String>) -> Option<&'a String> {
        named.filter(|named| **named != self.0)
    }

    fn draw_random() -> Self {
        RunKey(format!("{:016x}", RandomState::new().hash_one(std::process::id())))
    }

    fn file_line(&self) -> String {
        format!("{}\n", self.0)
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{FILE, RunKey};
    use fsverdict_folders::FolderHandle;
    use fsverdict_text::Hinted;

    #[test]
    fn a_run_has_one_key_that_is_kept_and_plain() {
        let folder = tempfile::tempdir().unwrap();
        let run = &FolderHandle::open(folder.path()).unwrap();
        assert_eq!(RunKey::read_from(run).unwrap(), None);
        let keys = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..6).map(|_| scope.spawn(|| RunKey::read_or_create(run).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<RunKey>>()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_ne!(RunKey::replace_in(run).unwrap(), keys[0]);
        for strange in [
            "",
            "0123456789abcde",
            "0123456789abcdef0",
            "0123456789ABCDEF",
            "../3456789abcdef",
            "a,b; c d e f g h",
        ] {
            fs::write(folder.path().join(FILE), strange).unwrap();
            let error = RunKey::read_or_create(run).unwrap_err().reason().to_string();
            assert!(error.contains("run-id is in the way") && error.contains("hint: "), "{error}");
        }
    }
}
