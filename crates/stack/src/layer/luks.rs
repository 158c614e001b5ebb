//! The common part of the versions of LUKS: encryption by cryptsetup and the kernel's dm-crypt.

use fsverdict_judgement::plan::ProtectionFeature;

use crate::filesystem::{Package, Packages, Tool};

use super::luks_options::CryptOptions;
use super::model::{Cipher, InUse, Layer, LayerLine, LayerPlace, as_strs, to_words};

const CRYPTSETUP: Tool = Tool {
    program: "cryptsetup",
    version: &["--version"],
    packages: Packages { debian: Package::Official("cryptsetup-bin"), ..Packages::everywhere("cryptsetup") },
};

/// Given to every command: cryptsetup keeps locks in `/run/cryptsetup`, and if `/run` is not writable it reports "not a
/// valid LUKS device". No other program uses a device under test, so no lock is needed.
const NO_LOCKS: &str = "--disable-locks";

/// Everything except the differences between versions: name, summary, header, and the format command.
pub(super) const LUKS: Layer = Layer {
    tools: &[CRYPTSETUP],
    config: &[
        "CONFIG_BLK_DEV_DM",
        "CONFIG_DM_CRYPT",
        "CONFIG_CRYPTO_AES",
        "CONFIG_CRYPTO_XTS",
        "CONFIG_CRYPTO_SHA256",
        "CONFIG_CRYPTO_USER_API_SKCIPHER",
    ],
    // dm-crypt pulls in encrypted-keys, which fails to start ("failed to alloc_cipher", and modprobe: "Unknown symbol") unless
    // `cbc` is there before it; the others may come in any order but must be there at `open`, because a kernel that does not
    // find modprobe's folder cannot fetch them itself. Tried in User-Mode Linux 6.1, where aes_generic and sha256_generic are
    // built in and `modprobe` says yes to them all the same.
    modules: &["cbc", "ecb", "aes_generic", "sha256_generic", "hmac", "xts", "algif_skcipher", "dm-crypt"],
    driver: "dm-crypt",
    nodes: &["/dev/mapper/control"],
    options: |options| CryptOptions::parse("luks1", options).map(|_| 1),
    free_cpu: Some(
        "what the cipher costs is not in these times, so that encryption looks cheaper than it is",
    ),
    protection: |_| Some(ProtectionFeature::Encrypted),
    // 512 bits of key are two of 256 in XTS, and both programs mean the same.
    cipher: Some(Cipher { cryptsetup: "aes-xts-plain64", key_bits: "512", openssl: "aes-256-xts" }),
    // cryptsetup itself forbids discards by default, since they show which blocks are in use. Where no udev runs, it makes the
    // node below `/dev/mapper` itself, so `/dev` has to be writable.
    open: LayerLine {
        step: "open encryption",
        argv: |site| {
            let head = ["cryptsetup", "open", "--batch-mode", NO_LOCKS, "--type", "luks", "--allow-discards"];
            // Of version 1 nothing is said of opening.
            let CryptOptions { open, .. } = CryptOptions::from_place("luks2", site, &header_path(site));
            to_words(&[&head, &as_strs(&open), &["--key-file", site.key, site.device(), site.name]])
        },
    },
    // It ends with 0 and says "still active and scheduled for deferred removal".
    mark: Some(LayerLine {
        step: "mark encryption for removal",
        argv: |site| to_words(&[&["cryptsetup", "close", NO_LOCKS, "--deferred", site.name]]),
    }),
    // Cipher, sector size and flags.
    describe: Some(LayerLine {
        step: "describe encryption",
        argv: |site| to_words(&[&["cryptsetup", "status", NO_LOCKS, site.name]]),
    }),
    in_use: InUse {
        lines: |_| Vec::new(),
        at_boot: Some(|site, below| {
            let header =
                if CryptOptions::from_place("luks2", site, "").detached { ",header=$HEADER" } else { "" };
            format!("echo \"{} {below} none luks,nofail{header}\" >>/etc/crypttab", site.name)
        }),
        note: Some(
            "Measured with discards passed through the encryption, which shows which blocks are in use: `discard` in /etc/crypttab allows them. Without its header nothing can be read: keep a copy elsewhere (`cryptsetup luksHeaderBackup`)",
        ),
    },
    ..Layer::PLAIN
};

/// The path of a trial's detached header: in memory, where it costs no time.
fn header_path(site: &LayerPlace<'_>) -> String {
    format!("/tmp/fsverdict/{}.header", site.name)
}

/// The command line that formats it with these options; it overwrites any signature on the device.
pub(super) fn format_command(version: &str, options: &[&str], site: &LayerPlace<'_>) -> Vec<String> {
    let head = ["cryptsetup", "luksFormat", "--batch-mode", NO_LOCKS, "--type", version];
    let CryptOptions { format, .. } = CryptOptions::from_place(version, site, &header_path(site));
    to_words(&[&head, options, &as_strs(&format), &["--key-file", site.key, site.device()]])
}

/// The command lines that make and open it by a passphrase that is asked for, and with the key derivation that cryptsetup takes
/// by itself.
pub(super) fn in_use(version: &str, site: &LayerPlace<'_>) -> Vec<Vec<String>> {
    let CryptOptions { format, mut open, .. } = CryptOptions::from_place(version, site, "$HEADER");
    if open.iter().any(|word| word.starts_with("--perf")) {
        // Else it would be opened without them at the next boot.
        open.push("--persistent".to_owned());
    }
    [
        to_words(&[&["cryptsetup", "luksFormat", "--type", version], &as_strs(&format), &[site.device()]]),
        to_words(&[&["cryptsetup", "open"], &as_strs(&open), &[site.device(), site.name]]),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::super::{LayerPlace, find_layer};

    #[test]
    fn luks_never_asks_and_derives_its_key_cheaply() {
        let below = ["/dev/x".to_owned()];
        let site = LayerPlace { below: &below, name: "name", options: "", key: "/tmp/key", bytes: None };
        for name in ["luks1", "luks2"] {
            let layer = find_layer(name).unwrap();
            let format = (layer.make.unwrap().argv)(&site);
            assert_eq!(format[..2], ["cryptsetup", "luksFormat"]);
            assert!(format.contains(&"--batch-mode".to_owned()), "{format:?}");
            assert!(format.windows(2).any(|pair| pair == ["--pbkdf-force-iterations", "1000"]), "{format:?}");
            let ending = ["--key-file", "/tmp/key", "/dev/x"].map(str::to_owned);
            assert!(format.ends_with(&ending), "{format:?}");
            let open = (layer.open.argv)(&site);
            assert!(open.contains(&"--batch-mode".to_owned()), "{open:?}");
            assert!(open.ends_with(&["/dev/x".to_owned(), "name".to_owned()]), "{open:?}");
            let used = (layer.in_use.lines)(&site).concat().join(" ");
            assert!(used.contains(name) && !used.contains("--batch-mode") && !used.contains("key"), "{used}");
        }
    }

    #[test]
    fn cbc_is_loaded_before_dm_crypt() {
        for name in ["luks1", "luks2"] {
            let modules = find_layer(name).unwrap().modules;
            let at = |name| modules.iter().position(|module| *module == name).unwrap();
            assert!(at("cbc") < at("dm-crypt"), "{name}");
        }
    }
}
