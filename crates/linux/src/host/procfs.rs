//! Readers of `/proc`: the kernel's information about CPU, memory, pressure, mounts and itself.

mod activity;
mod cpu;
mod locks;
mod memory;
mod mounts;
mod process;
mod tree;

pub use activity::describe_activity;
pub use cpu::{CpuTimes, cpu_count, cpu_times};
pub use locks::lock_holder;
pub use memory::{Memory, io_pressure, oom_kills, read_memory};
pub use mounts::{Mount, read_mounts, unescape};
pub use process::{ProcessStat, kernel_thread_times, kernel_threads, processes_named, tracer_of};
pub use tree::{child_processes, process_tree, processor_time};

use super::root::{ReadError, Root};

/// This binary, for a process of it to start again: its own path may be covered by a sandbox's mounts.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// The filesystem types this kernel can mount now (modules not yet loaded are absent), from `/proc/filesystems`.
pub fn known_filesystems(root: &Root) -> Result<Vec<String>, ReadError> {
    let text = root.text("proc/filesystems")?;
    Ok(text.lines().filter_map(|line| line.split_ascii_whitespace().last()).map(str::to_owned).collect())
}

/// The first processor's value of this name in `/proc/cpuinfo`.
pub fn cpu_info(root: &Root, key: &str) -> Result<Option<String>, ReadError> {
    let text = root.text("proc/cpuinfo")?;
    Ok(text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim().to_owned())
    }))
}

/// Whether the processor has a flag, such as `hypervisor` when one runs it (x86 only; elsewhere false).
pub fn has_cpu_flag(root: &Root, name: &str) -> Result<bool, ReadError> {
    Ok(cpu_info(root, "flags")?.is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == name)))
}

#[cfg(test)]
mod tests {
    use super::{cpu_info, has_cpu_flag, known_filesystems};
    use crate::host::root::fake_root;

    #[test]
    fn reads_the_processor_and_the_filesystems() {
        let (_folder, root) = fake_root(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\nempty\t:\n",
            ),
            ("proc/filesystems", "nodev\tproc\n\text4\nnodev\ttmpfs\n\txfs\n"),
        ]);
        assert_eq!(cpu_info(&root, "model name").unwrap().as_deref(), Some("AMD EPYC"));
        assert_eq!(cpu_info(&root, "empty").unwrap(), None);
        assert!(has_cpu_flag(&root, "hypervisor").unwrap() && !has_cpu_flag(&root, "hyper").unwrap());
        assert_eq!(known_filesystems(&root).unwrap(), ["proc", "ext4", "tmpfs", "xfs"]);
    }
}
