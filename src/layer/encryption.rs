//! Encryption below the filesystem: LUKS through cryptsetup and the kernel's dm-crypt.

use crate::filesystem::{Package, Packages, Tool};
use crate::plan::UNENCRYPTED;

/// One way to encrypt the device below a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encryption {
    pub name: &'static str,
    pub summary: &'static str,
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

const CRYPTSETUP: Tool = Tool {
    program: "cryptsetup",
    version: &["--version"],
    packages: Packages { debian: Package::Official("cryptsetup-bin"), ..Packages::everywhere("cryptsetup") },
};

const CONFIG: &[&str] = &[
    "CONFIG_BLK_DEV_DM",
    "CONFIG_DM_CRYPT",
    "CONFIG_CRYPTO_AES",
    "CONFIG_CRYPTO_XTS",
    "CONFIG_CRYPTO_SHA256",
    "CONFIG_CRYPTO_USER_API_SKCIPHER",
];

/// dm-crypt pulls in encrypted-keys, which fails to start ("failed to alloc_cipher", and modprobe: "Unknown symbol") unless
/// `cbc` is there before it; the others may come in any order but must be there at `open`, because a kernel that does not
/// find modprobe's folder cannot fetch them itself. Tried in User-Mode Linux 6.1, where aes_generic and sha256_generic are
/// built in and `modprobe` says yes to them all the same.
const MODULES: &[&str] =
    &["cbc", "ecb", "aes_generic", "sha256_generic", "hmac", "xts", "algif_skcipher", "dm-crypt"];

/// Every encryption, `none` first.
static ENCRYPTIONS: [Encryption; 3] = [
    Encryption {
        name: UNENCRYPTED,
        summary: "The filesystem lies on the device itself.",
        tools: &[],
        config: &[],
        modules: &[],
        format: &[],
        header: 0,
    },
    Encryption {
        name: "luks1",
        summary: "LUKS version 1 through dm-crypt: aes-xts-plain64 with a 512-bit key, always in sectors of 512 bytes. Key derivation \
                  takes the fewest iterations allowed, so that it is not what is timed; discards pass through.",
        tools: &[CRYPTSETUP],
        config: CONFIG,
        modules: MODULES,
        format: &["--type", "luks1", "--pbkdf-force-iterations", "1000"],
        header: 2 << 20,
    },
    Encryption {
        name: "luks2",
        summary: "LUKS version 2 through dm-crypt: aes-xts-plain64 with a 512-bit key, in sectors of 512 or 4096 bytes, as cryptsetup \
                  chooses for the device (4096 where its physical sectors are; recorded). Key derivation is PBKDF2 with the \
                  fewest iterations allowed, so that it is not what is timed; the header is 4 MiB; discards pass through.",
        tools: &[CRYPTSETUP],
        config: CONFIG,
        modules: MODULES,
        // The default header takes 16 MiB. Below 4 MiB cryptsetup warns that few key slots fit.
        format: &[
            "--type",
            "luks2",
            "--pbkdf",
            "pbkdf2",
            "--pbkdf-force-iterations",
            "1000",
            "--luks2-metadata-size",
            "16k",
            "--luks2-keyslots-size",
            "4064k",
        ],
        header: 4 << 20,
    },
];

/// Every encryption fsverdict knows, `none` first.
pub fn encryptions() -> &'static [Encryption] {
    &ENCRYPTIONS
}

pub fn encryption_names() -> Vec<&'static str> {
    encryptions().iter().map(|encryption| encryption.name).collect()
}

pub fn find_encryption(name: &str) -> Option<&'static Encryption> {
    encryptions().iter().find(|encryption| encryption.name == name)
}

/// Taken by every command: cryptsetup's locks lie in `/run/cryptsetup`, and where `/run` cannot be written it says "not a valid
/// LUKS device". Nobody else touches a device under test, so there is nothing to lock against.
const NO_LOCKS: &str = "--disable-locks";

impl Encryption {
    /// Whether there is nothing between filesystem and device.
    pub const fn is_none(&self) -> bool {
        self.format.is_empty()
    }

    /// The command line that makes `device` an encrypted one; none for `none`. `key_file` holds the key (all its bytes); `-` is stdin.
    /// It asks nothing, and overwrites whatever signature the device bears.
    pub fn format_argv(&self, device: &str, key_file: &str) -> Option<Vec<String>> {
        let head = ["cryptsetup", "luksFormat", "--batch-mode", NO_LOCKS];
        self.words(&[&head, self.format, &["--key-file", key_file, device]])
    }

    /// The command line that opens `device` as `/dev/mapper/NAME`; none for `none`.
    ///
    /// Discards pass through: without that an encrypted candidate would differ from the plain one in a second respect, and a
    /// scratch image would never shrink again. (cryptsetup itself forbids them by default, since they show which blocks are in use.)
    /// Where no udev runs, cryptsetup makes the node below `/dev/mapper` itself, so `/dev` has to be writable.
    pub fn open_argv(&self, device: &str, name: &str, key_file: &str) -> Option<Vec<String>> {
        let head = ["cryptsetup", "open", "--batch-mode", NO_LOCKS, "--type", "luks", "--allow-discards"];
        self.words(&[&head, &["--key-file", key_file, device, name]])
    }

    /// The command lines that make and open an encrypted device that is to be used, by a passphrase that is asked for, and with the
    /// key derivation that cryptsetup takes by itself; empty for `none`.
    pub fn in_use_argv(&self, device: &str, name: &str) -> Vec<Vec<String>> {
        let format = self.words(&[&["cryptsetup", "luksFormat", "--type", self.name, device]]);
        let open = self.words(&[&["cryptsetup", "open", device, name]]);
        format.into_iter().chain(open).collect()
    }

    /// The command line that closes `/dev/mapper/NAME`; none for `none`. It ends with 5 while the device is in use.
    pub fn close_argv(&self, name: &str) -> Option<Vec<String>> {
        self.words(&[&["cryptsetup", "close", NO_LOCKS, name]])
    }

    /// The command line that makes the kernel close `/dev/mapper/NAME` as soon as nobody holds it any more; none for `none`.
    ///
    /// Given right after opening, by an agent that itself keeps the device open until teardown (else the first unmount, or the
    /// end of fsck, would close it), it leaves nothing behind even when the agent is killed.
    /// It ends with 0 and says "still active and scheduled for deferred removal".
    pub fn close_deferred_argv(&self, name: &str) -> Option<Vec<String>> {
        self.words(&[&["cryptsetup", "close", NO_LOCKS, "--deferred", name]])
    }

    /// The command line that prints cipher, sector size and flags of an open device, for the record; none for `none`.
    pub fn status_argv(&self, name: &str) -> Option<Vec<String>> {
        self.words(&[&["cryptsetup", "status", NO_LOCKS, name]])
    }

    /// The words one after another; none for `none`.
    fn words(&self, groups: &[&[&str]]) -> Option<Vec<String>> {
        (!self.is_none()).then(|| groups.concat().into_iter().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{encryption_names, encryptions, find_encryption};

    #[test]
    fn none_needs_nothing_and_does_nothing() {
        let none = find_encryption("none").unwrap();
        assert!(none.is_none() && none.tools.is_empty() && none.modules.is_empty() && none.header == 0);
        assert_eq!(none.format_argv("/dev/x", "-"), None);
        assert_eq!(none.open_argv("/dev/x", "n", "-"), None);
        assert_eq!(none.close_argv("n"), None);
        assert_eq!(none.close_deferred_argv("n"), None);
        assert_eq!(none.status_argv("n"), None);
    }

    #[test]
    fn names_are_unique_and_found() {
        assert_eq!(encryption_names(), ["none", "luks1", "luks2"]);
        for encryption in encryptions() {
            assert_eq!(find_encryption(encryption.name), Some(encryption));
            assert!(encryption.summary.ends_with('.'), "{}", encryption.name);
        }
        assert_eq!(find_encryption("luks3"), None);
    }

    #[test]
    fn luks_never_asks_and_derives_its_key_cheaply() {
        for name in ["luks1", "luks2"] {
            let layer = find_encryption(name).unwrap();
            let format = layer.format_argv("/dev/x", "/tmp/key").unwrap();
            assert_eq!(format[..2], ["cryptsetup", "luksFormat"]);
            assert!(format.contains(&"--batch-mode".to_owned()), "{format:?}");
            assert!(format.windows(2).any(|pair| pair == ["--pbkdf-force-iterations", "1000"]), "{format:?}");
            assert!(
                format.ends_with(&["--key-file".to_owned(), "/tmp/key".to_owned(), "/dev/x".to_owned()]),
                "{format:?}"
            );
            let open = layer.open_argv("/dev/x", "name", "-").unwrap();
            assert!(
                open.contains(&"--batch-mode".to_owned())
                    && open.ends_with(&["/dev/x".to_owned(), "name".to_owned()])
            );
            assert!(layer.close_deferred_argv("name").unwrap().contains(&"--deferred".to_owned()));
            assert!(!layer.close_argv("name").unwrap().contains(&"--deferred".to_owned()));
        }
    }

    #[test]
    fn cbc_is_loaded_before_dm_crypt() {
        for encryption in encryptions().iter().filter(|encryption| !encryption.is_none()) {
            let at = |name| encryption.modules.iter().position(|module| *module == name).unwrap();
            assert!(at("cbc") < at("dm-crypt"), "{}", encryption.name);
        }
    }
}
