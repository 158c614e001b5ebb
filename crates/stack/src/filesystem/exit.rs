//! The meaning of a checker's exit status. The numbers are from each checker's manual; none is guessed.

/// A checker's finding, or the reason why it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FsckStatus {
    /// Everything was read and nothing was wrong.
    Clean,
    /// Errors were found and repaired; the filesystem is consistent now.
    Corrected,
    /// As above, and the system should be restarted before the filesystem is used.
    CorrectedReboot,
    /// Errors were found and are still there.
    ErrorsLeft,
    /// The checker could not do its work (it could not open or read the device, or ran out of memory).
    OperationalError,
    /// The checker did not understand its command line.
    UsageError,
    /// Somebody stopped it.
    Canceled,
    /// A shared library was missing or did not fit.
    LibraryError,
    /// The checker's documentation does not say.
    Undocumented,
}

impl FsckStatus {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Corrected => "corrected",
            Self::CorrectedReboot => "corrected, reboot asked for",
            Self::ErrorsLeft => "errors left",
            Self::OperationalError => "operational error",
            Self::UsageError => "usage error",
            Self::Canceled => "canceled",
            Self::LibraryError => "shared library error",
            Self::Undocumented => "undocumented exit status",
        }
    }
}

// The numbers of fsck(8); each checker uses some of them, and may use others.
pub(super) const CLEAN: (i32, FsckStatus) = (0, FsckStatus::Clean);
pub(super) const CORRECTED: (i32, FsckStatus) = (1, FsckStatus::Corrected);
pub(super) const REBOOT: (i32, FsckStatus) = (2, FsckStatus::CorrectedReboot);
pub(super) const LEFT: (i32, FsckStatus) = (4, FsckStatus::ErrorsLeft);
pub(super) const FAILED: (i32, FsckStatus) = (8, FsckStatus::OperationalError);
pub(super) const USAGE: (i32, FsckStatus) = (16, FsckStatus::UsageError);
pub(super) const CANCELED: (i32, FsckStatus) = (32, FsckStatus::Canceled);
pub(super) const LIBRARY: (i32, FsckStatus) = (128, FsckStatus::LibraryError);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCodes {
    /// Where the meanings were read.
    pub source: &'static str,
    /// Whether a status is a sum of the numbers below (fsck(8)'s convention), or exactly one of them.
    pub summed: bool,
    /// Each number with its meaning, zero included.
    pub codes: &'static [(i32, FsckStatus)],
}

impl ExitCodes {
    /// What this exit status says of the filesystem; for a sum, the gravest of its parts.
    pub fn status_of_exit(&self, status: i32) -> FsckStatus {
        if let Some((_, meaning)) = self.codes.iter().find(|(code, _)| *code == status) {
            return *meaning;
        }
        if !self.summed || status < 0 {
            return FsckStatus::Undocumented;
        }
        let known = self.codes.iter().fold(0, |sum, (code, _)| sum | code);
        if status & !known != 0 {
            return FsckStatus::Undocumented;
        }
        self.codes
            .iter()
            .filter(|(code, _)| status & code != 0)
            .map(|(_, meaning)| *meaning)
            .max()
            .unwrap_or(FsckStatus::Undocumented)
    }
}

#[cfg(test)]
mod tests {
    use super::FsckStatus;
    use crate::filesystem::find_filesystem;

    #[test]
    fn a_status_means_what_is_documented_and_a_sum_its_gravest_part() {
        for (name, status, wanted) in [
            ("ext4", 0, FsckStatus::Clean),
            ("ext4", 1, FsckStatus::Corrected),
            ("ext4", 3, FsckStatus::CorrectedReboot),
            ("ext4", 5, FsckStatus::ErrorsLeft),
            ("ext4", 12, FsckStatus::OperationalError),
            ("ext4", 32 + 4, FsckStatus::Canceled),
            ("ext4", 64, FsckStatus::Undocumented),
            ("ext4", -9, FsckStatus::Undocumented),
            ("xfs", 3, FsckStatus::Undocumented),
            ("xfs", 1, FsckStatus::ErrorsLeft),
            // These are not added up.
            ("reiserfs", 6, FsckStatus::ErrorsLeft),
            ("reiserfs", 3, FsckStatus::Undocumented),
        ] {
            assert_eq!(
                find_filesystem(name).unwrap().fsck_status_of(status),
                Some(wanted),
                "{name} {status}"
            );
        }
        let vfat = find_filesystem("vfat").unwrap();
        assert_eq!(
            [vfat.fsck_status_of(1), vfat.repair_status_of(1)],
            [FsckStatus::ErrorsLeft, FsckStatus::Corrected].map(Some)
        );
        assert_eq!(find_filesystem("nilfs2").unwrap().fsck_status_of(0), None);
        assert_eq!(find_filesystem("nilfs2").unwrap().fsck_argv("/dev/x"), None);
    }
}
