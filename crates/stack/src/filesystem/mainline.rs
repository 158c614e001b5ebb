//! In which releases of the kernel a filesystem's driver is.

use super::facts::{KernelVersion, Mainline};
use super::model::Filesystem;

/// The version that a release begins with: `6.12.3-amd64` is 6.12.
pub fn kernel_version(release: &str) -> Option<KernelVersion> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Filesystem {
    /// Why a kernel of this release cannot mount it, as far as releases tell. Changes by distributions are not known
    /// here.
    pub fn missing_in(&self, release: &str) -> Option<String> {
        let version = kernel_version(release)?;
        match self.facts.mainline {
            Mainline::Never => Some(format!("{} was never in the kernel", self.name)),
            Mainline::Since((major, minor)) | Mainline::Between((major, minor), _)
                if version < (major, minor) =>
            {
                Some(format!("{} is in the kernel only from {major}.{minor} on", self.name))
            }
            Mainline::Between(_, (major, minor)) if version >= (major, minor) => {
                Some(format!("{} was removed from the kernel in {major}.{minor}", self.name))
            }
            Mainline::Since(_) | Mainline::Between(..) => None,
        }
    }

    /// A caution about times on a kernel of this release: its driver is older than the one that is built beside the kernel.
    pub fn older_driver_caution(&self, release: &str) -> Option<String> {
        let (name, newer) = (self.name, self.facts.newer_driver);
        let is_older = !newer.is_empty() && self.missing_in(release).is_none();
        is_older.then(|| {
            format!("the {name} of Linux {release} is older than {newer}: its times are not those of today's {name}")
        })
    }

    /// A caution about newer kernels on one of this release, which has its driver: they have it no more.
    pub fn removal_caution(&self, release: &str) -> Option<String> {
        let Mainline::Between(_, (major, minor)) = self.facts.mainline else { return None };
        let is_older = kernel_version(release).is_some_and(|version| version < (major, minor));
        let name = self.name;
        is_older.then(|| {
            format!("{name} is in this machine's kernel ({release}), but was removed in {major}.{minor}: newer ones cannot mount it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Mainline, kernel_version};
    use crate::filesystem::{find_filesystem, registry};

    #[test]
    fn a_kernel_mounts_what_its_release_has() {
        let missing = |name, release| find_filesystem(name).unwrap().missing_in(release);
        assert_eq!(missing("reiserfs", "6.13.0").unwrap(), "reiserfs was removed from the kernel in 6.13");
        assert!(missing("reiserfs", "6.12.48+deb13-amd64").is_none() && missing("ext4", "6.18.1").is_none());
        assert!(missing("bcachefs", "6.17.9-arch1").is_none() && missing("bcachefs", "7.0").is_some());
        assert_eq!(missing("bcachefs", "6.1.0").unwrap(), "bcachefs is in the kernel only from 6.7 on");
        assert!(missing("ntfs3", "5.10.0").is_some() && missing("reiser4", "6.1.0").is_some());
        assert_eq!((kernel_version("6.12-rc1"), kernel_version("next")), (Some((6, 12)), None));
    }

    #[test]
    fn times_of_an_older_driver_than_todays_are_cautioned_about() {
        let caution = |name, release| find_filesystem(name).unwrap().older_driver_caution(release);
        let said = caution("bcachefs", "6.12.117").unwrap();
        assert!(said.contains("Linux 6.12.117") && said.contains("The Register of 25"), "{said}");
        assert!(caution("bcachefs", "6.18.2").is_none() && caution("ext4", "6.12.117").is_none());
    }

    #[test]
    fn a_filesystem_that_newer_kernels_lost_is_cautioned_about() {
        let caution = |name, release| find_filesystem(name).unwrap().removal_caution(release);
        assert!(caution("reiserfs", "6.1.0").unwrap().contains("was removed in 6.13"));
        assert!(caution("reiserfs", "6.14.1").is_none() && caution("bcachefs", "6.18.0").is_none());
        assert!(caution("ext4", "6.1.0").is_none());
    }

    #[test]
    fn what_is_said_of_the_kernel_names_the_release_that_removed_it() {
        for filesystem in registry() {
            if let Mainline::Between(_, (major, minor)) = filesystem.facts.mainline {
                let (removed, last) = (format!("{major}.{minor}"), format!("{major}.{}", minor - 1));
                let said = filesystem.facts.kernel_status;
                assert!(said.contains(&removed) || said.contains(&last), "{said}");
                assert!(filesystem.facts.status_drawback.contains(&removed));
                assert!(filesystem.facts.status_source.contains(&removed));
            }
        }
    }
}
