//! Encryption below the filesystem: LUKS through cryptsetup and the kernel's dm-crypt.

use crate::filesystem::{Packages, Tool};

/// One way to encrypt the device below a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encryption {
    /// Its name in plans.
    pub name: &'static str,
    /// What it is, in one paragraph.
    pub summary: &'static str,
    /// Tools it needs.
    pub tools: &'static [Tool],
    /// Kernel configuration symbols that must all be `y` or `m`.
    pub config: &'static [&'static str],
    /// Modules to load, in order, where they are not built in. One that is missing because it is built in is no failure.
    pub modules: &'static [&'static str],
    /// Options of `cryptsetup luksFormat`; empty for `none`.
    format: &'static [&'static str],
    /// Bytes of the device taken by the header.
    pub header: u64,
}

/// A program for `cryptsetup`, with its packages.
const CRYPTSETUP: Tool = Tool {
    program: "cryptsetup",
    version: &["--version"],
    packages: Packages {
        debian: crate::filesystem::Package::Official("cryptsetup-bin"),
        ..Packages::everywhere("cryptsetup")
    },
};

const CONFIG: &[&str] = &[
    "CONFIG_BLK_DEV_DM",
    "CONFIG_DM_CRYPT",
    "CONFIG_CRYPTO_AES",
    "CONFIG_CRYPTO_XTS",
    "CONFIG_CRYPTO_SHA256",
];
const MODULES: &[&str] =
    &["cbc", "ecb", "aes_generic", "sha256_generic", "hmac", "xts", "algif_skcipher", "dm-crypt"];

/// Every encryption, `none` first.
static ENCRYPTIONS: [Encryption; 3] = [
    Encryption {
        name: "none",
        summary: "The filesystem lies on the device itself.",
        tools: &[],
        config: &[],
        modules: &[],
        format: &[],
        header: 0,
    },
    Encryption {
        name: "luks1",
        summary: "LUKS version 1: dm-crypt with aes-xts-plain64 and a 512-bit key, 512-byte sectors.",
        tools: &[CRYPTSETUP],
        config: CONFIG,
        modules: MODULES,
        format: &["--type", "luks1", "--pbkdf-force-iterations", "1000"],
        header: 2 << 20,
    },
    Encryption {
        name: "luks2",
        summary: "LUKS version 2: dm-crypt with aes-xts-plain64 and a 512-bit key.",
        tools: &[CRYPTSETUP],
        config: CONFIG,
        modules: MODULES,
        format: &["--type", "luks2", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000"],
        header: 16 << 20,
    },
];

/// Every encryption fsverdict knows, `none` first.
#[must_use]
pub fn encryptions() -> &'static [Encryption] {
    &ENCRYPTIONS
}

/// The names, for a plan's vocabulary.
#[must_use]
pub fn encryption_names() -> Vec<&'static str> {
    encryptions().iter().map(|encryption| encryption.name).collect()
}

/// The encryption of this name; none when there is none.
#[must_use]
pub fn find_encryption(name: &str) -> Option<&'static Encryption> {
    encryptions().iter().find(|encryption| encryption.name == name)
}

impl Encryption {
    /// Whether there is anything between filesystem and device.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.format.is_empty()
    }

    /// The command line that makes `device` an encrypted one whose key is the content of `key_file`; none for `none`.
    #[must_use]
    pub fn format_argv(&self, device: &str, key_file: &str) -> Option<Vec<String>> {
        if self.is_none() {
            return None;
        }
        let head = ["cryptsetup", "luksFormat", "--batch-mode"];
        let words =
            head.into_iter().chain(self.format.iter().copied()).chain(["--key-file", key_file, device]);
        Some(words.map(str::to_owned).collect())
    }

    /// The command line that opens `device` as `/dev/mapper/NAME`; none for `none`.
    #[must_use]
    pub fn open_argv(&self, device: &str, name: &str, key_file: &str) -> Option<Vec<String>> {
        if self.is_none() {
            return None;
        }
        let words = [
            "cryptsetup",
            "open",
            "--batch-mode",
            "--type",
            "luks",
            "--allow-discards",
            "--key-file",
            key_file,
            device,
            name,
        ];
        Some(words.map(str::to_owned).into())
    }

    /// The command line that closes `/dev/mapper/NAME`; `deferred` leaves it to the kernel to do so as soon as nobody
    /// holds it any more. None for `none`.
    #[must_use]
    pub fn close_argv(&self, name: &str, deferred: bool) -> Option<Vec<String>> {
        if self.is_none() {
            return None;
        }
        let option: &[&str] = if deferred { &["--deferred"] } else { &[] };
        let words = ["cryptsetup", "close"].into_iter().chain(option.iter().copied()).chain([name]);
        Some(words.map(str::to_owned).collect())
    }
}
