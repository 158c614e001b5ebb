//! Helpers for the tests of several crates: journals and plans made by hand, folders that stand for `/`, random numbers, and
//! the members of a class that a test tries.

// Tests fail by panics.
#![allow(clippy::unwrap_used)]

pub mod journals;
mod random;

pub use random::Random;

/// Whether long tests are asked for (`make test FULL=1`).
pub fn is_full() -> bool {
    std::env::var_os("FULL").is_some_and(|value| value == "1")
}

/// The members of a class that a test tries: all of them with `FULL=1`, otherwise the two that are named.
///
/// # Panics
/// If one of these two is no member.
#[track_caller]
pub fn members<T>(
    class: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> String,
    representatives: [&str; 2],
) -> Vec<T> {
    let mut members: Vec<T> = class.into_iter().collect();
    for representative in representatives {
        let is_member = members.iter().any(|member| name(member) == representative);
        assert!(is_member, "{representative} is no member of what is tried here");
    }
    if !is_full() {
        members.retain(|member| representatives.contains(&name(member).as_str()));
    }
    members
}

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
