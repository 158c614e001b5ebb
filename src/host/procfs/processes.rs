//! Which processes there are.

use rustix::process::Pid;

use crate::host::root::Root;

/// The kernel keeps this many bytes of a process's name (proc_pid_comm(5)).
const NAME_LENGTH: usize = 15;

/// Processes of this name that still run, in this PID namespace; ended ones that nobody has waited for are left out.
pub fn processes_named(root: &Root, name: &str) -> Vec<Pid> {
    let short = &name[..name.len().min(NAME_LENGTH)];
    let entries = std::fs::read_dir(root.path("proc")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number: &i32| {
            let stat = root.text(format!("proc/{number}/stat")).unwrap_or_default();
            let named = stat.contains(&format!("({short})"));
            let state = stat.rsplit(") ").next().unwrap_or_default().chars().next();
            named && state != Some('Z')
        })
        .filter_map(Pid::from_raw)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::processes_named;
    use crate::host::root::fake_root;

    #[test]
    fn finds_running_processes_by_their_cut_name() {
        let (_folder, root) = fake_root(&[
            ("proc/7/stat", "7 (nilfs_cleanerd) S 1 1"),
            ("proc/8/stat", "8 (nilfs_cleanerd) Z 1 1"),
            ("proc/9/stat", "9 (other) S 1 1"),
            ("proc/self/stat", "7 (nilfs_cleanerd) S 1 1"),
        ]);
        let found = processes_named(&root, "nilfs_cleanerd");
        assert_eq!(found.iter().map(|pid| pid.as_raw_nonzero().get()).collect::<Vec<_>>(), [7]);
    }
}
