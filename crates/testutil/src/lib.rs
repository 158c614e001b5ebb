//! Helpers for the tests of several crates: journals and plans made by hand, and folders that stand for `/`.

// Tests fail by panics.
#![allow(clippy::unwrap_used)]

pub mod journals;

/// A temporary folder with these files in it. It stands for `/` in tests of readers of `/proc` and `/sys`.
///
/// # Panics
/// If the files cannot be written.
pub fn folder_with_files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    folder
}
