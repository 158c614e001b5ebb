//! `/proc/PID/comm`: which processes run under a name.

use rustix::process::Pid;

use crate::host::root::{ReadError, Root};

/// The kernel keeps this many bytes of a process's name.
const NAME_LENGTH: usize = 15;

/// The processes that run under this name (its first 15 bytes, as the kernel keeps it), in the order of their
/// numbers, as far as this process's PID namespace shows them.
///
/// # Errors
/// When `/proc` cannot be listed. A process that ends meanwhile is no error.
pub fn processes_named(root: &Root, name: &str) -> Result<Vec<Pid>, ReadError> {
    let wanted = name.as_bytes().get(..NAME_LENGTH).unwrap_or(name.as_bytes());
    let folder = root.path("proc");
    let failed = |source| ReadError::Io { file: folder.clone(), source };
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let number = entry.map_err(failed)?.file_name();
        let number: Option<i32> = number.to_str().and_then(|text| text.parse().ok());
        let Some(process) = number.and_then(Pid::from_raw) else { continue };
        let comm = root.bytes(format!("proc/{}/comm", process.as_raw_nonzero())).unwrap_or_default();
        if comm.strip_suffix(b"\n").unwrap_or(&comm) == wanted {
            found.push(process);
        }
    }
    found.sort_by_key(|process| process.as_raw_nonzero());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::processes_named;
    use crate::host::root::{Root, fake_root};

    #[test]
    fn finds_by_the_name_the_kernel_keeps() {
        let (_folder, root) = fake_root(&[
            ("proc/12/comm", "nilfs_cleanerd\n"),
            ("proc/7/comm", "nilfs_cleanerd\n"),
            ("proc/8/comm", "nilfs_cleanerd2\n"),
            ("proc/9/comm", "a_very_long_nam\n"),
            ("proc/10/stat", "ended meanwhile"),
            ("proc/self/comm", "nilfs_cleanerd\n"),
        ]);
        let numbers = |name: &str| -> Vec<i32> {
            processes_named(&root, name)
                .unwrap()
                .iter()
                .map(|process| process.as_raw_nonzero().get())
                .collect()
        };
        assert_eq!(numbers("nilfs_cleanerd"), [7, 12]);
        assert_eq!(numbers("a_very_long_name_indeed"), [9]);
        assert!(numbers("none").is_empty());
    }

    #[test]
    fn finds_itself() {
        let root = Root::default();
        let own = root.optional("proc/self/comm").unwrap().unwrap();
        assert!(processes_named(&root, &own).unwrap().contains(&rustix::process::getpid()));
    }
}
