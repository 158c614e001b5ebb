//! Mounting: the type, the options, and whether a helper process belongs to it.

use super::tool::Tool;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOptions {
    /// The type, for mount(2) or `mount -t`.
    pub kind: &'static str,
    /// Options in order, none of them meant for a mount helper.
    pub options: Vec<String>,
    /// The garbage collector to be started after mounting and stopped before unmounting, when the plan asks for it.
    pub cleaner: Option<Cleaner>,
}

impl MountOptions {
    /// The options as one word; empty when there are none.
    pub fn option_string(&self) -> String {
        self.options.join(",")
    }

    /// The command line of mount(8) that does it. `-i` keeps mount(8) from calling a helper such as mount.nilfs2, which would
    /// start a garbage collector unasked.
    pub fn argv(&self, device: &str, target: &str) -> Vec<String> {
        let mut argv: Vec<String> = ["mount", "-i", "-t", self.kind].map(str::to_owned).into();
        if !self.options.is_empty() {
            argv.extend(["-o".to_owned(), self.option_string()]);
        }
        argv.extend([device.to_owned(), target.to_owned()]);
        argv
    }
}

/// A garbage collector in user space. It runs only if a plan asks for it with the mount option [`Cleaner::option`].
///
/// nilfs_cleanerd goes to the background by itself, exits with 0 and prints `NILFS_CLEANERD_PID=N`. It needs a writable
/// `/dev/shm`: without, it says the same and dies (seen in User-Mode Linux with nilfs-utils 2.2.9), so whether that process lives
/// has to be looked at. While it lives `umount` fails with "target is busy": end it with SIGTERM first, and wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaner {
    pub tool: Tool,
    /// The word among a candidate's mount options that asks for it; it is never passed to the kernel.
    pub option: &'static str,
    /// The word that says it is not wanted, which is the default; never passed to the kernel either.
    pub no_option: &'static str,
}

impl Cleaner {
    /// The command line that starts it on a mounted filesystem.
    pub fn argv(&self, device: &str, target: &str) -> Vec<String> {
        [self.tool.program, device, target].map(str::to_owned).to_vec()
    }
}

/// The plan's own options, less the words for the cleaner: the kernel's defaults keep the promise of durability.
pub(super) fn build_mount(
    kind: &'static str,
    known: Option<Cleaner>,
    given: impl Iterator<Item = String>,
) -> MountOptions {
    let mut options: Vec<String> = Vec::new();
    let mut cleaner = None;
    for option in given {
        match known {
            Some(known) if option == known.option => cleaner = Some(known),
            Some(known) if option == known.no_option => cleaner = None,
            _ => options.push(option),
        }
    }
    MountOptions { kind, options, cleaner }
}

#[cfg(test)]
mod tests {
    use crate::filesystem::{find_filesystem, registry};

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn mounting_never_calls_a_helper() {
        for filesystem in registry() {
            let argv = filesystem.mount_options(&[]).argv("/dev/x", "/mnt");
            assert_eq!(argv[..4], ["mount", "-i", "-t", filesystem.name]);
            assert!(argv.ends_with(&words(&["/dev/x", "/mnt"])), "{argv:?}");
        }
    }

    #[test]
    fn options_keep_their_order() {
        let mount = find_filesystem("btrfs").unwrap().mount_options(&words(&["noatime", "compress=zstd"]));
        assert_eq!(mount.option_string(), "noatime,compress=zstd");
        assert!(mount.argv("/dev/x", "/mnt").windows(2).any(|pair| pair == ["-o", "noatime,compress=zstd"]));
    }

    #[test]
    fn the_cleaner_runs_only_when_asked_for() {
        let nilfs2 = find_filesystem("nilfs2").unwrap();
        assert!(nilfs2.mount_options(&[]).cleaner.is_none());
        let asked = nilfs2.mount_options(&words(&["noatime", "gc"]));
        assert_eq!(asked.option_string(), "noatime", "the kernel refuses the helper's words");
        assert_eq!(asked.cleaner.unwrap().argv("/dev/x", "/mnt"), ["nilfs_cleanerd", "/dev/x", "/mnt"]);
        let refused = nilfs2.mount_options(&words(&["gc", "nogc"]));
        assert!(refused.cleaner.is_none() && refused.options.is_empty());
    }

    #[test]
    fn elsewhere_the_word_is_an_ordinary_option() {
        let mount = find_filesystem("ext2").unwrap().mount_options(&words(&["gc"]));
        assert!(mount.cleaner.is_none() && mount.option_string() == "gc");
    }
}
