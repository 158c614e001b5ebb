//! What tells a run from all others, whatever its folder is called: drawn once and kept in the folder.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;

use fsverdict_text::FolderHandle;

use super::FleetError;

pub const FILE: &str = "run-id";

/// Sixteen hexadecimal digits: what it is put into, a job's or a file's name, has no other letters of it to fear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunKey(String);

impl RunKey {
    /// That of the run in this folder; `None` where it has none.
    pub(super) fn of(run: &FolderHandle) -> Result<Option<Self>, FleetError> {
        let place = run.file(FILE);
        let path = place.path();
        let file = match place.open() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(FleetError::io(&path))?,
        };
        let mut text = Vec::new();
        file.take(64).read_to_end(&mut text).map_err(FleetError::io(&path))?;
        let text = String::from_utf8_lossy(&text);
        let key = text.strip_suffix('\n').unwrap_or(&text);
        let plain = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
        if key.len() == 16 && key.chars().all(plain) {
            Ok(Some(RunKey(key.to_owned())))
        } else {
            Err(FleetError::InTheWay(path))
        }
    }

    /// That of the run in this folder, which gets one if it has none: of those who give it one at once, one does.
    pub(super) fn given_to(run: &FolderHandle) -> Result<Self, FleetError> {
        let place = run.file(FILE);
        loop {
            if let Some(key) = Self::of(run)? {
                return Ok(key);
            }
            place.put_new(Self::drawn().line().as_bytes()).map_err(FleetError::io(&place.path()))?;
        }
    }

    /// Gives the run in this folder another.
    pub(super) fn renew(run: &FolderHandle) -> Result<Self, FleetError> {
        let (place, key) = (run.file(FILE), Self::drawn());
        let replaced = place.replace(|file| file.write_all(key.line().as_bytes()));
        replaced.map_err(FleetError::io(&place.path()))?;
        Ok(key)
    }

    fn drawn() -> Self {
        RunKey(format!("{:016x}", RandomState::new().hash_one(std::process::id())))
    }

    fn line(&self) -> String {
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
    use fsverdict_text::{FolderHandle, Hinted};

    #[test]
    fn a_run_has_one_key_that_is_kept_and_plain() {
        let folder = tempfile::tempdir().unwrap();
        let run = &FolderHandle::open(folder.path()).unwrap();
        assert_eq!(RunKey::of(run).unwrap(), None);
        let keys = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| RunKey::given_to(run).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<RunKey>>()
        });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_ne!(RunKey::renew(run).unwrap(), keys[0]);
        for strange in [
            "",
            "0123456789abcde",
            "0123456789abcdef0",
            "0123456789ABCDEF",
            "../3456789abcdef",
            "a,b; c d e f g h",
        ] {
            fs::write(folder.path().join(FILE), strange).unwrap();
            let error = RunKey::given_to(run).unwrap_err().reason().to_string();
            assert!(error.contains("run-id is in the way") && error.contains("hint: "), "{error}");
        }
    }
}
