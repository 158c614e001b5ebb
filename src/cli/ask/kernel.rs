//! Which filesystems this machine's kernel can mount: one that it cannot is not recommended without a word about that.

use fsverdict_judgement::plan::{Plan, once_each};
use fsverdict_stack::filesystem::{self, kernel_version};

/// The release of the kernel that this program runs on, as `uname -r` prints it.
pub(super) fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Why a kernel of this release cannot mount a filesystem, if so.
pub(super) fn missing_driver(name: &str, release: &str) -> Option<String> {
    let why = filesystem::find_filesystem(name)?.missing_in(release)?;
    Some(format!("{why}, and this machine runs {release}"))
}

/// Candidates that this kernel, or the next, cannot mount.
pub(super) fn kernel_cautions(plan: &Plan, release: &str) -> Vec<String> {
    let names = once_each(plan.candidates.iter().map(|one| one.filesystem.as_str()));
    names
        .into_iter()
        .filter_map(|name| missing_driver(name, release).or_else(|| gone_later(name, release)))
        .collect()
}

fn gone_later(name: &str, release: &str) -> Option<String> {
    let (major, minor) = filesystem::find_filesystem(name)?.removed_in()?;
    let is_older = kernel_version(release).is_some_and(|version| version < (major, minor));
    is_older.then(|| {
        format!("{name} is in this machine's kernel ({release}), but was removed in {major}.{minor}: newer ones cannot mount it")
    })
}

#[cfg(test)]
mod tests {
    use super::{gone_later, missing_driver};

    #[test]
    fn a_filesystem_that_a_kernel_lost_is_told() {
        assert_eq!(
            missing_driver("reiserfs", "6.14.1").unwrap(),
            "reiserfs was removed from the kernel in 6.13, and this machine runs 6.14.1"
        );
        assert!(missing_driver("reiserfs", "6.1.0").is_none() && gone_later("reiserfs", "6.1.0").is_some());
        assert!(missing_driver("bcachefs", "6.18.0").is_some() && gone_later("bcachefs", "6.18.0").is_none());
        assert!(gone_later("ext4", "6.1.0").is_none() && missing_driver("xfs", "6.18.0").is_none());
    }
}
