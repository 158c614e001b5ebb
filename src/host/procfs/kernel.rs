//! What the kernel says about itself: the processor, the filesystems it has, its write-back limits.

use crate::host::root::{Place, ReadError, Root};

/// The processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuModel {
    /// As the maker calls it.
    pub name: String,
    /// Whether this is a User-Mode Linux kernel: CPU and system-call costs are not a real machine's.
    pub user_mode_linux: bool,
}

/// The processor's name from `/proc/cpuinfo`; `unknown` where the architecture gives none.
///
/// # Errors
/// When `/proc/cpuinfo` cannot be read.
pub fn cpu_model(root: &Root) -> Result<CpuModel, ReadError> {
    let text = root.text("proc/cpuinfo")?;
    // x86 and UML, then s390 and POWER, then ARM boards.
    let name = ["model name", "cpu", "Model", "Hardware"].iter().find_map(|key| value(&text, key));
    let user_mode_linux = value(&text, "vendor_id") == Some("User Mode Linux");
    Ok(CpuModel { name: name.unwrap_or("unknown").to_owned(), user_mode_linux })
}

/// Whether the processor has a flag, such as `hypervisor` when one runs it (x86 only; elsewhere false).
///
/// # Errors
/// When `/proc/cpuinfo` cannot be read.
pub fn has_cpu_flag(root: &Root, name: &str) -> Result<bool, ReadError> {
    let text = root.text("proc/cpuinfo")?;
    let flags = value(&text, "flags").unwrap_or_default();
    Ok(flags.split_ascii_whitespace().any(|flag| flag == name))
}

fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The filesystem types this kernel can mount now (modules not yet loaded are absent), from `/proc/filesystems`.
///
/// # Errors
/// When it cannot be read.
pub fn known_filesystems(root: &Root) -> Result<Vec<String>, ReadError> {
    let text = root.text("proc/filesystems")?;
    Ok(text.lines().filter_map(|line| line.split_ascii_whitespace().last()).map(str::to_owned).collect())
}

/// When the kernel begins to write dirty pages back, and when it makes writers wait. See `Documentation/admin-guide/sysctl/vm.rst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirtyLimits {
    /// Writers wait above this share of memory, in per cent; 0 where `bytes` counts instead.
    pub ratio: u64,
    /// Writers wait above this many bytes; 0 where `ratio` counts instead.
    pub bytes: u64,
    /// Background writing begins above this share of memory, in per cent.
    pub background_ratio: u64,
    /// Background writing begins above this many bytes.
    pub background_bytes: u64,
    /// Age in hundredths of a second at which a dirty page is written.
    pub expire_centiseconds: u64,
    /// How often the kernel looks for such pages, in hundredths of a second; 0 is never.
    pub writeback_centiseconds: u64,
}

/// The limits in `/proc/sys/vm`.
///
/// # Errors
/// When one cannot be read or is not a number.
pub fn dirty_limits(root: &Root) -> Result<DirtyLimits, ReadError> {
    let number = |name: &str| {
        let relative = format!("proc/sys/vm/{name}");
        let text = root.text(&relative)?;
        Place { file: &root.path(&relative), line: 1 }.number(name, text.trim())
    };
    Ok(DirtyLimits {
        ratio: number("dirty_ratio")?,
        bytes: number("dirty_bytes")?,
        background_ratio: number("dirty_background_ratio")?,
        background_bytes: number("dirty_background_bytes")?,
        expire_centiseconds: number("dirty_expire_centisecs")?,
        writeback_centiseconds: number("dirty_writeback_centisecs")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{DirtyLimits, cpu_model, dirty_limits, has_cpu_flag, known_filesystems};
    use crate::host::root::{Root, fake_root};

    #[test]
    fn names_the_processor() {
        let (_folder, root) = fake_root(&[(
            "proc/cpuinfo",
            "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n",
        )]);
        assert_eq!(cpu_model(&root).unwrap().name, "AMD EPYC");
        assert!(!cpu_model(&root).unwrap().user_mode_linux);
        assert!(has_cpu_flag(&root, "hypervisor").unwrap());
        let (_folder, root) = fake_root(&[(
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\nmode\t\t: skas\n",
        )]);
        assert!(cpu_model(&root).unwrap().user_mode_linux);
        assert!(!has_cpu_flag(&root, "hypervisor").unwrap());
        let (_folder, root) = fake_root(&[("proc/cpuinfo", "processor\t: 0\nmodel name\t:\n")]);
        assert_eq!(cpu_model(&root).unwrap().name, "unknown");
    }

    #[test]
    fn lists_filesystems() {
        let (_folder, root) =
            fake_root(&[("proc/filesystems", "nodev\tproc\n\text4\nnodev\ttmpfs\n\txfs\n")]);
        assert_eq!(known_filesystems(&root).unwrap(), ["proc", "ext4", "tmpfs", "xfs"]);
    }

    #[test]
    fn reads_dirty_limits() {
        let mut files = vec![
            ("proc/sys/vm/dirty_ratio", "20\n"),
            ("proc/sys/vm/dirty_bytes", "0\n"),
            ("proc/sys/vm/dirty_background_ratio", "10\n"),
            ("proc/sys/vm/dirty_background_bytes", "0\n"),
            ("proc/sys/vm/dirty_expire_centisecs", "3000\n"),
            ("proc/sys/vm/dirty_writeback_centisecs", "500\n"),
        ];
        let (_folder, root) = fake_root(&files);
        let limits = dirty_limits(&root).unwrap();
        assert_eq!(
            limits,
            DirtyLimits {
                ratio: 20,
                bytes: 0,
                background_ratio: 10,
                background_bytes: 0,
                expire_centiseconds: 3000,
                writeback_centiseconds: 500
            }
        );
        files[0].1 = "many\n";
        let (_folder, root) = fake_root(&files);
        let told = dirty_limits(&root).unwrap_err().to_string();
        assert!(told.contains("vm/dirty_ratio, line 1: dirty_ratio should be a whole number"), "{told}");
    }

    #[test]
    fn this_machine_is_understood() {
        let root = Root::default();
        assert!(!cpu_model(&root).unwrap().name.is_empty());
        assert!(known_filesystems(&root).unwrap().iter().any(|name| name == "proc"));
        dirty_limits(&root).unwrap();
    }
}
