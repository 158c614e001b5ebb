//! Joining the fair defaults of a mkfs with the words of a plan.
//!
//! The plan wins. Most programs heed the last of several equal options, so ours come first; but a comma-separated list
//! (mke2fs's `-E`) would be replaced as a whole by a later one, so lists are merged item by item.

/// One word or pair of words given to mkfs by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MkfsDefault {
    /// A flag that is always given: it prevents questions, verbose output, or work that a trial has already done.
    Switch(&'static str),
    /// A switch that one would give without a trial, too.
    Lasting(&'static str),
    /// An option with a value; omitted when the plan gives the same option or a conflicting one.
    Value {
        flag: &'static str,
        /// Its value, a word of its own.
        value: &'static str,
        /// Other options that settle the same thing; `-O bigalloc` is an item of the list option `-O`.
        yields_to: &'static [&'static str],
        /// Whether it makes another filesystem; otherwise it only spares the trial something.
        lasts: bool,
    },
    /// An option with a list of values, for the trial only; an item is omitted when the plan gives one with the same
    /// key.
    List(&'static str, &'static [&'static str]),
}

impl MkfsDefault {
    /// Whether it belongs to the filesystem that was measured, and not to the measuring.
    pub(super) const fn is_permanent(&self) -> bool {
        match self {
            Self::Lasting(_) => true,
            Self::Value { lasts, .. } => *lasts,
            Self::Switch(_) | Self::List(..) => false,
        }
    }
}

/// Defaults and the plan's words, in the order in which they are given to mkfs.
pub(super) fn merge_options<'a>(
    defaults: impl Iterator<Item = &'a MkfsDefault>,
    lists: &[&str],
    chosen: &[String],
) -> Vec<String> {
    let (merged_lists, rest) = take_lists(lists, chosen);
    let of_plan =
        |flag: &str| merged_lists.iter().find(|(name, _)| *name == flag).map(|(_, items)| items.as_slice());
    let mut words: Vec<String> = Vec::new();
    let mut list_done: Vec<&str> = Vec::new();
    for default in defaults {
        match *default {
            MkfsDefault::Switch(switch) | MkfsDefault::Lasting(switch) => words.push(switch.to_owned()),
            MkfsDefault::Value { flag, value, yields_to, .. } => {
                let settled = |word: &String| {
                    gives_flag(word, flag) || yields_to.iter().any(|other| gives_flag(word, other))
                };
                let listed =
                    yields_to.iter().filter_map(|other| other.split_once(' ')).any(|(list, item)| {
                        of_plan(list).is_some_and(|items| items.iter().any(|given| given == item))
                    });
                if !listed && !rest.iter().any(settled) {
                    words.extend([flag.to_owned(), value.to_owned()]);
                }
            }
            MkfsDefault::List(flag, items) => {
                let given = of_plan(flag).unwrap_or_default();
                let ours = items
                    .iter()
                    .filter(|item| !given.iter().any(|word| option_key(word) == option_key(item)));
                let merged: Vec<&str> = ours.copied().chain(given.iter().map(String::as_str)).collect();
                words.extend([flag.to_owned(), merged.join(",")]);
                list_done.push(flag);
            }
        }
    }
    for (flag, items) in &merged_lists {
        if !list_done.contains(flag) {
            words.extend([(*flag).to_owned(), items.join(",")]);
        }
    }
    words.extend(rest);
    words
}

/// Whether `word` gives the option `flag`: exactly, with its value attached (`-b1024`), or as `--flag=value`.
fn gives_flag(word: &str, flag: &str) -> bool {
    if flag.starts_with("--") {
        word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
    } else {
        word.starts_with(flag)
    }
}

/// The key of an item in a list: `stride=4` and `stride=8` have the same key, and so have `discard` and `nodiscard`.
fn option_key(item: &str) -> &str {
    let name = item.split_once('=').map_or(item, |(name, _)| name);
    name.strip_prefix("no").unwrap_or(name)
}

/// Removes every list option from the plan's words; returns (option, all its items in order), and the other words.
fn take_lists<'a>(lists: &[&'a str], chosen: &[String]) -> (Vec<(&'a str, Vec<String>)>, Vec<String>) {
    let mut taken: Vec<(&str, Vec<String>)> = Vec::new();
    let mut rest = Vec::new();
    let mut words = chosen.iter();
    while let Some(word) = words.next() {
        let Some(flag) = lists.iter().copied().find(|flag| gives_flag(word, flag)) else {
            rest.push(word.clone());
            continue;
        };
        let value = if word == flag {
            words.next().cloned().unwrap_or_default()
        } else {
            word[flag.len()..].to_owned()
        };
        let items = value.split(',').filter(|item| !item.is_empty()).map(str::to_owned);
        match taken.iter_mut().find(|(name, _)| *name == flag) {
            Some((_, known)) => known.extend(items),
            None => taken.push((flag, items.collect())),
        }
    }
    (taken, rest)
}

#[cfg(test)]
mod tests {
    use crate::filesystem::{find_filesystem, registry};

    /// The words between program and device.
    fn joined(name: &str, chosen: &[&str]) -> String {
        let chosen: Vec<String> = chosen.iter().map(|word| (*word).to_owned()).collect();
        let argv = find_filesystem(name).unwrap().mkfs_argv("/dev/device", &chosen);
        assert_eq!(argv.first().map(String::as_str), Some(format!("mkfs.{name}").as_str()));
        assert_eq!(argv.last().map(String::as_str), Some("/dev/device"));
        argv[1..argv.len() - 1].join(" ")
    }

    const FAIR: &str = "lazy_itable_init=1,lazy_journal_init=0,nodiscard";

    /// The plan wins, item by item in lists and option by option elsewhere; what is alike is joined.
    #[test]
    fn the_fair_defaults_stand_where_the_plan_says_nothing_else() {
        for (name, chosen, wanted) in [
            ("ext4", &[][..], format!("-F -q -b 4096 -i 16384 -E {FAIR}")),
            ("xfs", &[], "-f -q -K".to_owned()),
            ("f2fs", &[], "-f -q -t 0".to_owned()),
            ("reiserfs", &[], "-q -f -f".to_owned()),
            ("ext4", &["-E", "stride=4"], format!("-F -q -b 4096 -i 16384 -E {FAIR},stride=4")),
            ("ext4", &["-Estride=4"], format!("-F -q -b 4096 -i 16384 -E {FAIR},stride=4")),
            (
                "ext4",
                &["-E", "stride=4", "-m", "0", "-E", "stripe_width=8"],
                format!("-F -q -b 4096 -i 16384 -E {FAIR},stride=4,stripe_width=8 -m 0"),
            ),
            (
                "ext4",
                &["-E", "lazy_itable_init=0,discard"],
                "-F -q -b 4096 -i 16384 -E lazy_journal_init=0,lazy_itable_init=0,discard".to_owned(),
            ),
            ("ext4", &["-b", "1024"], format!("-F -q -i 16384 -E {FAIR} -b 1024")),
            ("ext4", &["-b1024"], format!("-F -q -i 16384 -E {FAIR} -b1024")),
            ("ext4", &["-N", "600000"], format!("-F -q -b 4096 -E {FAIR} -N 600000")),
            (
                "ext4",
                &["-O", "^flex_bg,bigalloc", "-C", "65536"],
                format!("-F -q -b 4096 -E {FAIR} -O ^flex_bg,bigalloc -C 65536"),
            ),
            ("ext3", &["-T", "news"], format!("-F -q -E {FAIR} -T news")),
            ("f2fs", &["-t", "1"], "-f -q -t 1".to_owned()),
            ("ext3", &["-O", "^dir_index"], format!("-F -q -b 4096 -i 16384 -E {FAIR} -O ^dir_index")),
            (
                "ext4",
                &["-O", "^dir_index", "-O", "^has_journal"],
                format!("-F -q -b 4096 -i 16384 -E {FAIR} -O ^dir_index,^has_journal"),
            ),
            ("btrfs", &["-m", "single", "-O", "^no-holes"], "-f -q -K -O ^no-holes -m single".to_owned()),
            // They only look like options that are lists elsewhere.
            ("xfs", &["-m", "crc=0", "-l", "size=64m"], "-f -q -K -m crc=0 -l size=64m".to_owned()),
            ("ext4", &["-L", "b"], format!("-F -q -b 4096 -i 16384 -E {FAIR} -L b")),
        ] {
            assert_eq!(joined(name, chosen), wanted);
        }
    }

    #[test]
    fn a_list_option_without_a_value_stays_without_one() {
        // mke2fs itself will say what is missing; the device must not become its value.
        for filesystem in registry() {
            for list in filesystem.mkfs_lists {
                let argv = filesystem.mkfs_argv("/dev/device", &[(*list).to_owned()]);
                let at = argv.iter().position(|word| word == list).unwrap();
                assert_ne!(argv[at + 1], "/dev/device", "{argv:?}");
            }
        }
    }
}
