//! Where `/proc`, `/sys` and `/etc` are read from, and the errors of reading them.
//!
//! Every reader takes a [`Root`], so that tests can give it a folder with a few files instead of a kernel.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::io::Errno;

/// The folder that stands for `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Root {
        Root::new("/")
    }
}

impl Root {
    /// A root at this folder; `/` for the running system.
    pub fn new(folder: impl Into<PathBuf>) -> Root {
        Root(folder.into())
    }

    /// Where `relative` (written without a leading slash) lies.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.0.join(relative)
    }

    /// Where a path that names itself from the root (`/dev/sda`, as the kernel writes them) lies.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub fn bytes(&self, relative: impl AsRef<Path>) -> Result<Vec<u8>, ReadError> {
        let file = self.path(relative);
        std::fs::read(&file).map_err(|source| ReadError::Io { file, source })
    }

    /// The text of a file; bytes that are not UTF-8 are replaced.
    pub fn text(&self, relative: impl AsRef<Path>) -> Result<String, ReadError> {
        Ok(String::from_utf8_lossy(&self.bytes(relative)?).into_owned())
    }

    /// The text of a file without surrounding white space, or `None` where this kernel has no such file.
    pub fn optional(&self, relative: impl AsRef<Path>) -> Result<Option<String>, ReadError> {
        match self.text(relative) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Why something about this machine could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    #[error("{}, line {line}: {item} should be {expected}, but it is {found:?}", file.display())]
    Malformed {
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        item: String,
        expected: &'static str,
        found: String,
    },
    #[error("{}: {item} is missing", file.display())]
    Missing { file: PathBuf, item: String },
}

impl ReadError {
    /// Whether there is no such file (or no such device any more), as opposed to one that cannot be read.
    ///
    /// `/proc/pressure/io` answers "operation not supported" where pressure accounting is switched off.
    pub fn is_absent(&self) -> bool {
        match self {
            ReadError::Io { source, .. } => matches!(
                Errno::from_io_error(source),
                Some(Errno::NOENT | Errno::NOTDIR | Errno::NODEV | Errno::NXIO | Errno::OPNOTSUPP)
            ),
            ReadError::Malformed { .. } | ReadError::Missing { .. } => false,
        }
    }
}

/// A place in a file being parsed, so that an error can name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParserPosition<'a> {
    pub(super) file: &'a Path,
    pub(super) line: usize,
}

impl ParserPosition<'_> {
    pub(super) fn number<T: FromStr>(&self, item: &str, text: &str) -> Result<T, ReadError> {
        text.parse().map_err(|_| self.malformed(item, "a whole number", text))
    }

    pub(super) fn next_number<'t, T: FromStr>(
        &self,
        item: &str,
        words: &mut impl Iterator<Item = &'t str>,
    ) -> Result<T, ReadError> {
        self.number(item, words.next().unwrap_or_default())
    }

    pub(super) fn malformed(&self, item: &str, expected: &'static str, found: &str) -> ReadError {
        ReadError::Malformed {
            file: self.file.to_owned(),
            line: self.line,
            item: item.to_owned(),
            expected,
            found: found.to_owned(),
        }
    }

    pub(super) fn missing(&self, item: &str) -> ReadError {
        ReadError::Missing { file: self.file.to_owned(), item: item.to_owned() }
    }
}

/// A kernel file kept open and read again and again from its start: one system call per reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    path: PathBuf,
}

/// How much of a kernel file [`OpenFile::read`] takes: a page, which is all that procfs hands out at once.
pub const PAGE: usize = 4096;

impl OpenFile {
    pub fn open(root: &Root, relative: impl AsRef<Path>) -> Result<OpenFile, ReadError> {
        let path = root.path(relative);
        match File::open(&path) {
            Ok(file) => Ok(OpenFile { file, path }),
            Err(source) => Err(ReadError::Io { file: path, source }),
        }
    }

    /// The file's current content, up to a page, in `buffer`.
    pub fn read<'b>(&self, buffer: &'b mut [u8; PAGE]) -> Result<&'b str, ReadError> {
        let failed = |source| ReadError::Io { file: self.path.clone(), source };
        let length = self.file.read_at(buffer, 0).map_err(failed)?;
        let text = buffer.get(..length).unwrap_or_default();
        std::str::from_utf8(text).map_err(|error| failed(io::Error::new(ErrorKind::InvalidData, error)))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The names in a folder, sorted; none where it cannot be read.
pub fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
pub(crate) fn fake_root(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = fsverdict_testutil::folder_with_files(files);
    let root = Root::new(folder.path());
    (folder, root)
}

#[cfg(test)]
mod tests {
    use super::{OpenFile, PAGE, fake_root};

    #[test]
    fn optional_tells_absent_from_unreadable() {
        let (_folder, root) = fake_root(&[("proc/one", " text\n"), ("proc/folder/two", "")]);
        assert_eq!(root.optional("proc/one").unwrap().as_deref(), Some("text"));
        assert_eq!(root.optional("proc/none").unwrap(), None);
        assert!(root.optional("proc/folder").is_err(), "a folder is not an absent file");
    }

    #[test]
    fn an_open_file_shows_what_is_there_now() {
        let (_folder, root) = fake_root(&[("proc/counter", "1")]);
        let file = OpenFile::open(&root, "proc/counter").unwrap();
        let mut buffer = [0; PAGE];
        assert_eq!(file.read(&mut buffer).unwrap(), "1");
        std::fs::write(file.path(), "22").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), "22");
    }

    #[test]
    fn errors_name_the_file() {
        let (_folder, root) = fake_root(&[]);
        let error = root.text("proc/stat").unwrap_err();
        assert!(error.is_absent());
        assert!(error.to_string().contains("proc/stat: No such file"), "{error}");
    }
}
