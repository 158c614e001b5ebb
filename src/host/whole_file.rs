//! Files that are whole under their name, whenever we are ended and whoever reads them meanwhile: they are written beside it,
//! synced, given the name in one step, and the name is synced, too. What stands in their place, a link or another's file that
//! is just being made, is neither written through nor cut short.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// What a file of a run may be read by: whoever the user's mask allows.
const SHARED: u32 = 0o666;

/// Puts a file there with what `write` writes, in the place of whatever had its name.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    written(path, SHARED, write)?.persist(path)?;
    sync_name(path)
}

/// Puts a file there that only its owner can read.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    written(path, 0o600, |file| file.write_all(bytes))?.persist(path)?;
    sync_name(path)
}

/// Puts a file there unless its name is taken; whether it was put there.
pub fn put_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    match written(path, SHARED, |file| file.write_all(bytes))?.persist_noclobber(path) {
        Ok(_) => sync_name(path).map(|()| true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// A file beside `path`, on disk with all that it is to hold; it goes unless it gets a name.
fn written(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut file = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".new")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder(path))?;
    let mut buffered = BufWriter::new(file.as_file_mut());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync_name(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::{put_new, replace, replace_private};

    #[test]
    fn a_link_in_its_place_is_replaced_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("victim"), "mine").unwrap();
        for name in ["file", ".file.new", "private"] {
            symlink("victim", path(name)).unwrap();
        }
        replace(&path("file"), |file| file.write_all(b"ours")).unwrap();
        replace_private(&path("private"), b"secret").unwrap();
        let read = |name: &str| fs::read_to_string(path(name)).unwrap();
        assert_eq!(
            (read("victim"), read("file"), read("private")),
            ("mine".into(), "ours".into(), "secret".into())
        );
        assert_eq!(fs::metadata(path("private")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn of_many_who_put_a_file_there_one_has_and_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let text = |number: usize| format!("{number}").repeat(10_000);
        let put = |number| put_new(&path, text(number).as_bytes()).unwrap();
        let won = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || put(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<bool>>()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let first = won.iter().position(|won| *won).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text(first));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
