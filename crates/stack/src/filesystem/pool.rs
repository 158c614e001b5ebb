//! Filesystems that lie in a pool (ZFS): the pool's name, and the programs that make it, import it and export it.
//!
//! A pool is known to the whole kernel by its name, whatever mount namespace a program is in. So the name is unique on
//! the machine, the pool is in no cache file that would import it at the next boot, and it is imported only while the
//! filesystem is mounted or checked.

use std::path::Path;

/// Prefix of the names of pools that fsverdict makes.
pub const POOL_PREFIX: &str = "fsverdict-";

/// The programs of a filesystem that lies in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolPrograms {
    /// The options of its maker that have a value behind them, which may be any word.
    pub valued: &'static [&'static str],
    /// How the words that arrange the devices in a pool begin ("mirror"); they stand between its name and the devices.
    pub layouts: &'static [&'static str],
    /// Words that begin the devices for a purpose of their own ("log"); they and what follows stand behind the others.
    pub purposes: &'static [&'static str],
    /// Imports a pool without mounting anything; the devices to look at, and the name, follow.
    pub import: &'static [&'static str],
    /// The property that encrypts, and the options that have the key read from the file whose path follows.
    pub encryption: &'static str,
    pub key: &'static [&'static str],
    /// The options that have a passphrase asked for, and the one before the folder that the filesystem is mounted at.
    pub passphrase: &'static [&'static str],
    pub mounted_at: &'static str,
    /// The option of an import that mounts nothing, and the one that reads the key, which does not go with it.
    pub unmounted: &'static str,
    pub unlock: &'static str,
    /// The option before each device that is looked at.
    pub looked_at: &'static str,
    /// These are followed by the name.
    pub export: &'static [&'static str],
    /// Ends all transactions that are under way.
    pub sync: &'static [&'static str],
    /// Reads everything and compares it with its checksums; it returns when that is done.
    pub scrub: &'static [&'static str],
    /// The option of an import that accepts a pool that was not exported, as after a power cut.
    pub forced: &'static str,
    /// Removes what a device has of a pool that is not imported; the device follows.
    pub forget: &'static [&'static str],
    /// Puts a device in its own place again, empty; it returns when its content was restored. The name and the device follow.
    pub replace: &'static [&'static str],
}

/// The name of the pool on this device, or on this and others: unique on the machine, since no two trials have the same
/// device.
pub fn pool_name(device: &str) -> String {
    let name = Path::new(device).file_name().map_or(device.into(), |name| name.to_string_lossy());
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:$".contains(letter);
    format!("{POOL_PREFIX}{}", name.replace(|letter: char| !plain(letter), "-"))
}

impl PoolPrograms {
    /// The words of a plan in the order in which the maker of pools takes them: options, the name, how the devices are
    /// arranged, the devices, and devices for purposes of their own.
    pub(super) fn arrange_words(&self, words: &[String], pool: &str, devices: &[&str]) -> Vec<String> {
        let is_layout = |word: &String| self.layouts.iter().any(|layout| word.starts_with(layout));
        let is_purpose = |word: &String| self.purposes.contains(&word.as_str());
        let is_value = |at: usize| {
            let option = at.checked_sub(1).and_then(|before| words.get(before));
            option.is_some_and(|option| self.valued.contains(&option.as_str()))
        };
        let first = |is: &dyn Fn(&String) -> bool| {
            words.iter().enumerate().position(|(at, word)| is(word) && !is_value(at))
        };
        let purpose = first(&is_purpose).unwrap_or(words.len());
        let layout = first(&is_layout).unwrap_or(purpose).min(purpose);
        let named = [pool.to_owned()].into_iter();
        let part = |range: std::ops::Range<usize>| words.get(range).unwrap_or_default().to_vec();
        part(0..layout)
            .into_iter()
            .chain(named)
            .chain(part(layout..purpose))
            .chain(devices.iter().map(|device| (*device).to_owned()))
            .chain(part(purpose..words.len()))
            .collect()
    }

    /// The command line that imports the pool, of these devices and no others.
    pub fn import_argv(&self, pool: &str, devices: &[String], encrypted: bool) -> Vec<String> {
        let devices = devices.iter().flat_map(|device| [self.looked_at.to_owned(), device.clone()]);
        let manner = if encrypted { self.unlock } else { self.unmounted };
        let words = self.import.iter().copied().chain([manner]);
        words.map(str::to_owned).chain(devices).chain([pool.to_owned()]).collect()
    }

    /// The same for a pool that was not exported.
    pub fn forced_import_argv(&self, pool: &str, devices: &[String], encrypted: bool) -> Vec<String> {
        let mut argv = self.import_argv(pool, devices, encrypted);
        argv.insert(argv.len().saturating_sub(1), self.forced.to_owned());
        argv
    }

    /// Whether these words of a plan encrypt.
    pub fn is_encrypted(&self, words: &[String]) -> bool {
        let value = |word: &String| {
            word.split_once('=').filter(|(name, _)| *name == self.encryption).map(|(_, value)| value != "off")
        };
        words.iter().rev().find_map(value).unwrap_or(false)
    }

    /// The words that have an encrypted pool take its key from this file; nothing for another.
    pub fn key_words(&self, words: &[String], file: &str) -> Vec<String> {
        if !self.is_encrypted(words) {
            return Vec::new();
        }
        let Some((last, first)) = self.key.split_last() else { return Vec::new() };
        first.iter().map(|word| (*word).to_owned()).chain([format!("{last}{file}")]).collect()
    }

    /// Options that come first where a pool is made for good: where it is mounted, and that it asks for its passphrase.
    pub(super) fn words_in_use(&self, words: &[String], folder: &str) -> Vec<String> {
        let asks = if self.is_encrypted(words) { self.passphrase } else { &[] };
        let mounted = [self.mounted_at, folder].map(str::to_owned);
        mounted.into_iter().chain(asks.iter().map(|word| (*word).to_owned())).collect()
    }

    /// The command line that ends with the pool's name.
    pub fn argv_of(words: &[&str], pool: &str) -> Vec<String> {
        words.iter().copied().chain([pool]).map(str::to_owned).collect()
    }

    /// Whether these words of a plan keep data on more than one device, so that one may fail.
    pub fn is_redundant(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.layouts.iter().any(|layout| word.starts_with(layout)))
    }
}

#[cfg(test)]
mod tests {
    use super::{PoolPrograms, pool_name};
    use crate::filesystem::find_filesystem;

    fn pool() -> PoolPrograms {
        find_filesystem("zfs").unwrap().pool.unwrap()
    }

    #[test]
    fn names_of_pools_are_those_of_their_devices() {
        assert_eq!(pool_name("/dev/fsverdict/vda"), "fsverdict-vda");
        assert_eq!(pool_name("/dev/mapper/a b"), "fsverdict-a-b");
        assert_eq!(pool_name("$DEVICE"), "fsverdict-$DEVICE");
    }

    #[test]
    fn layouts_follow_the_name_and_purposes_follow_the_devices() {
        let arranged = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            pool().arrange_words(&words, "p", &["/a", "/b"]).join(" ")
        };
        assert_eq!(arranged("-f -o ashift=12"), "-f -o ashift=12 p /a /b");
        assert_eq!(arranged("-f mirror"), "-f p mirror /a /b");
        assert_eq!(arranged("-f raidz2 log /c"), "-f p raidz2 /a /b log /c");
        assert_eq!(arranged("-f cache /c"), "-f p /a /b cache /c");
        assert_eq!(arranged("-O log mirror"), "-O log p mirror /a /b");
    }

    #[test]
    fn an_encrypted_pool_reads_its_key_from_a_file() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let key = |text: &str| pool().key_words(&words(text), "/key").join(" ");
        assert_eq!(key("-O encryption=aes-256-gcm"), "-O keyformat=raw -O keylocation=file:///key");
        assert_eq!((key("-O encryption=off"), key("-O compression=off")), (String::new(), String::new()));
        assert!(pool().import_argv("p", &["/a".to_owned()], true).join(" ").ends_with(" -l -d /a p"));
    }

    #[test]
    fn only_the_devices_of_the_trial_are_looked_at() {
        let devices = ["/dev/fsverdict/vda", "/dev/fsverdict/vdb"].map(str::to_owned);
        let argv = pool().import_argv("fsverdict-vda", &devices, false).join(" ");
        assert!(
            argv.ends_with("-d /dev/fsverdict/vda -d /dev/fsverdict/vdb fsverdict-vda")
                && !argv.contains("-a"),
            "{argv}"
        );
        let forced = pool().forced_import_argv("fsverdict-vda", &devices, false).join(" ");
        assert_eq!(forced, argv.replace(" fsverdict-vda", " -f fsverdict-vda"));
    }
}
