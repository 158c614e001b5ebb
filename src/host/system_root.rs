//! Where /proc, /sys and /dev are: the real ones, or a made-up tree in a test.

use std::path::{Path, PathBuf};

/// The folder that holds `proc`, `sys` and `dev`; `/` on a real machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRoot {
    root: PathBuf,
}

impl Default for SystemRoot {
    fn default() -> Self {
        SystemRoot { root: PathBuf::from("/") }
    }
}

impl SystemRoot {
    /// A root other than `/`: a fake tree, or another root as seen from here.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        SystemRoot { root: root.into() }
    }

    /// The place of an absolute path (`/proc/swaps`) under this root.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let path = absolute.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file under this root, without its final white space; `None` when it cannot be read.
    pub fn read(&self, absolute: impl AsRef<Path>) -> Option<String> {
        read_trimmed(&self.path(absolute))
    }
}

/// The text of a small file without its final white space and zero bytes; `None` when it cannot be read.
pub(crate) fn read_trimmed(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&text).trim_end_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}
