//! The names by which one device, and no other, can be meant.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a name comes from, the best for people first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceNameKind {
    /// A name in /dev/disk/by-id: model and serial number, as composed by udev.
    ById,
    /// The world-wide name of the hardware.
    Wwn,
    Serial,
    MapperUuid,
    /// UUID of a partition, from the table it stands in.
    PartitionUuid,
    /// UUID of the filesystem, LUKS, LVM, md or swap area on it.
    FilesystemUuid,
    TableUuid,
    /// The file behind a loop device.
    BackingFile,
    /// A digest of the content: the last resort for a device without a name.
    Contents,
}

impl fmt::Display for DeviceNameKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DeviceNameKind::ById => "by-id name",
            DeviceNameKind::Wwn => "world-wide name",
            DeviceNameKind::Serial => "serial number",
            DeviceNameKind::MapperUuid => "device-mapper UUID",
            DeviceNameKind::PartitionUuid => "partition UUID",
            DeviceNameKind::FilesystemUuid => "content's UUID",
            DeviceNameKind::TableUuid => "partition table UUID",
            DeviceNameKind::BackingFile => "backing file",
            DeviceNameKind::Contents => "digest of its contents",
        })
    }
}

/// The stable names of a device, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceIdentity {
    names: Vec<(DeviceNameKind, String)>,
}

impl DeviceIdentity {
    /// Adds a name, unless it is one of the empty or all-zero ones that cheap hardware gives.
    pub fn add_name(&mut self, kind: DeviceNameKind, name: &str) {
        let name = name.trim();
        let tail = name.rsplit(['.', ' ']).next().unwrap_or(name);
        let says_nothing = tail.len() < 4 || tail.chars().all(|c| matches!(c, '0' | '-'));
        let entry = (kind, name.to_owned());
        if !says_nothing && !self.names.contains(&entry) {
            self.names.push(entry);
            self.names.sort_by_key(|(kind, name)| (*kind, is_bare_number(name), name.clone()));
        }
    }

    pub(crate) fn add_if_some(&mut self, kind: DeviceNameKind, name: Option<String>) {
        if let Some(name) = name {
            self.add_name(kind, &name);
        }
    }

    /// These names and those of `other`.
    pub fn merged_with(&self, other: &DeviceIdentity) -> DeviceIdentity {
        let mut both = self.clone();
        for (kind, name) in &other.names {
            both.add_name(*kind, name);
        }
        both
    }

    /// Whether `text` is exactly one of the names; a by-id name may be written as its path.
    pub fn accepts(&self, text: &str) -> bool {
        let text = text.trim();
        let text = text.strip_prefix("/dev/disk/by-id/").unwrap_or(text);
        self.names.iter().any(|(_, name)| name == text)
    }

    /// The name to ask the user for.
    pub fn preferred(&self) -> Option<&str> {
        self.names.first().map(|(_, name)| name.as_str())
    }

    /// Every name with its kind, best first.
    pub fn names(&self) -> impl Iterator<Item = (DeviceNameKind, &str)> {
        self.names.iter().map(|(kind, name)| (*kind, name.as_str()))
    }

    /// Whether `now` contains every name of `self` that the kernel itself gives. udev's names change with the content
    /// and are ignored; so is the path of a loop device's file, which may be renamed.
    pub(crate) fn still_holds(&self, now: &DeviceIdentity) -> bool {
        let lasting = |kind: DeviceNameKind| {
            matches!(kind, DeviceNameKind::Wwn | DeviceNameKind::Serial | DeviceNameKind::MapperUuid)
        };
        self.names.iter().filter(|(kind, _)| lasting(*kind)).all(|name| now.names.contains(name))
    }
}

/// by-id names such as `wwn-0x5000…` tell people less than those that carry the model.
fn is_bare_number(name: &str) -> bool {
    ["wwn-", "scsi-", "nvme-eui.", "nvme-uuid.", "nvme-nvme.", "lvm-pv-uuid-", "dm-uuid-", "md-uuid-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::{DeviceIdentity, DeviceNameKind};

    #[test]
    fn the_readable_name_is_asked_for_and_every_name_is_accepted_exactly() {
        let mut identity = DeviceIdentity::default();
        identity.add_name(DeviceNameKind::FilesystemUuid, "0f1e-22");
        identity.add_name(DeviceNameKind::ById, "wwn-0x5000c500a1b2c3d4");
        identity.add_name(DeviceNameKind::ById, "ata-Acme_ZX81");
        identity.add_name(DeviceNameKind::Serial, " ZX81ABCD ");
        assert_eq!(identity.preferred(), Some("ata-Acme_ZX81"));
        for text in ["ata-Acme_ZX81", "/dev/disk/by-id/ata-Acme_ZX81", "ZX81ABCD", "0f1e-22", "0f1e-22\n"] {
            assert!(identity.accepts(text), "{text}");
        }
        for text in ["", "ata-Acme", "ata-Acme_ZX811", "zx81abcd", "yes", "/dev/sdb"] {
            assert!(!identity.accepts(text), "{text}");
        }
    }

    #[test]
    fn names_that_name_nothing_are_not_kept() {
        let mut identity = DeviceIdentity::default();
        for name in
            ["", "   ", "0", "000000000000", "eui.0000000000000000", "00000000-0000-0000-0000-000000000000"]
        {
            identity.add_name(DeviceNameKind::Serial, name);
        }
        assert_eq!(identity.preferred(), None);
        assert!(!identity.accepts(""));
    }
}
