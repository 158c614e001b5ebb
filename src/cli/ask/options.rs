//! Options of mkfs and mount in a question: `noatime`, `-o compress=zstd:3`, `-O fast_commit`, `reflink=0`, `recordsize 1M`.

use fsverdict_stack::filesystem::{Filesystem, registry};

/// Options of mkfs and mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OptionSet {
    pub(super) mkfs: Vec<String>,
    pub(super) mount: Vec<String>,
}

impl OptionSet {
    pub(super) fn from_words(mkfs: &[&str], mount: &[&str]) -> Self {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self { mkfs: owned(mkfs), mount: owned(mount) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.mkfs.is_empty() && self.mount.is_empty()
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.mkfs.extend(other.mkfs.iter().cloned());
        self.mount.extend(other.mount.iter().cloned());
    }

    /// Those that are not among others.
    pub(super) fn without(&self, other: &Self) -> Self {
        let is_left = |item: &&String| !other.mount.contains(item) && !other.mkfs.contains(item);
        let left = |items: &[String]| items.iter().filter(is_left).cloned().collect();
        Self { mkfs: left(&self.mkfs), mount: left(&self.mount) }
    }

    /// The names of the settings: `compress`, `-m reflink`, `-b`; access times have one name.
    pub(super) fn keys(&self) -> Vec<String> {
        const ACCESS_TIMES: [&str; 4] = ["atime", "noatime", "relatime", "strictatime"];
        let name = |item: &str| item.split('=').next().unwrap_or(item).trim_start_matches('^').to_owned();
        let mount = self.mount.iter().map(|option| match name(option) {
            time if ACCESS_TIMES.contains(&time.as_str()) => "atime".to_owned(),
            force if force == "compress-force" => "compress".to_owned(),
            // `nodatacow or datacow`
            other => other.strip_prefix("no").map_or(other.clone(), str::to_owned),
        });
        let mkfs = self.mkfs.chunks(2).flat_map(|pair| match pair {
            [flag, value] if value.contains(['=', '^']) || flag == "-O" => {
                value.split(',').map(|item| format!("{flag} {}", name(item))).collect()
            }
            [flag, ..] => vec![flag.clone()],
            [] => Vec::new(),
        });
        mount.chain(mkfs).collect()
    }
}

/// The algorithms of compression that a question may name without the option.
const ALGORITHMS: [&str; 6] = ["zstd", "lzo", "zlib", "lz4", "gzip", "zstd-fast"];
/// Values that may stand behind the name of an option without `=`.
const VALUES: &str =
    "on off lz4 zstd gzip lzjb zle none standard disabled always latency throughput metadata sa default";

/// Names that options of mkfs take as values, besides those of each filesystem's own.
const MKFS_VALUES: &str = "single dup raid0 raid1 raid1c3 raid1c4 raid10 raid5 raid6 largefile largefile4 news small big huge default";

/// The options of this filesystem that begin at the first of these words, and how many words they take.
pub(super) fn parse_option(words: &[&str], filesystem: &Filesystem) -> Option<(usize, OptionSet)> {
    let first = *words.first()?;
    if first.starts_with('-') && first.len() > 1 {
        return parse_flag(first, words.get(1).copied(), filesystem);
    }
    let items: Option<Vec<OptionSet>> = first.split(',').map(|item| parse_item(item, filesystem)).collect();
    if let Some(items) = items {
        let mut all = OptionSet::default();
        items.iter().for_each(|item| all.extend(item));
        return Some((1, all));
    }
    // `recordsize 16k`, `rmapbt off`; `data on hdd` is no switch.
    let value = words.get(1).filter(|value| is_value(value))?;
    let is_last = words
        .get(2)
        .is_none_or(|next| ["or", "vs", "versus", "against", "and", "for", "with"].contains(next));
    if ["on", "off"].contains(value) && !is_last {
        return None;
    }
    let value = match (filesystem.name, *value) {
        ("zfs", value) => value,
        (_, "on") => "1",
        (_, "off") => "0",
        (_, value) => value,
    };
    parse_item(&format!("{first}={value}"), filesystem).map(|options| (2, options))
}

/// `-o compress=zstd`, `-m crc=0`, `-mcrc=0`, `--csum=xxhash`.
fn parse_flag(flag: &str, next: Option<&str>, filesystem: &Filesystem) -> Option<(usize, OptionSet)> {
    let mkfs = |flag: &str, value: &str| OptionSet::from_words(&[flag, value], &[]);
    let has_value = |value: &&str| is_value_of(flag, value, filesystem);
    let is_mount = |list: &&str| list.split(',').all(|option| filesystem.has_mount_option(option));
    if let Some(list) = next.filter(|list| flag == "-o" && is_mount(list)) {
        return Some((2, OptionSet::from_words(&[], &list.split(',').collect::<Vec<_>>())));
    }
    if let Some((name, value)) = flag.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        return (filesystem.has_mkfs_option(name) && is_value_of(name, value, filesystem))
            .then(|| (1, mkfs(name, value)));
    }
    if filesystem.has_mkfs_option(flag) {
        return next.filter(has_value).map(|value| (2, mkfs(flag, value)));
    }
    let (short, value) = flag.split_at_checked(2).filter(|(_, value)| !value.is_empty())?;
    (!flag.starts_with("--") && filesystem.has_mkfs_option(short) && is_value_of(short, value, filesystem))
        .then(|| (1, mkfs(short, value)))
}

/// Whether a word can be the value of an option of mkfs: a number, a setting, or one of the names that it takes.
fn is_value_of(flag: &str, value: &str, filesystem: &Filesystem) -> bool {
    let of_flag = filesystem.options.values.iter().filter(|(option, _)| *option == flag);
    let names: Vec<&str> =
        of_flag.flat_map(|(_, values)| values.iter()).map(|name| name.trim_start_matches('^')).collect();
    value.split(',').all(|item| {
        let item = item.trim_start_matches('^');
        item.starts_with(|letter: char| letter.is_ascii_digit())
            || item.contains('=')
            || names.contains(&item)
            || MKFS_VALUES.split(' ').any(|name| name == item)
            || flag.starts_with("--") && ALGORITHMS.contains(&item)
    })
}

/// One option without a flag: of mount, a value of mkfs that is known by name, or an algorithm of compression.
fn parse_item(item: &str, filesystem: &Filesystem) -> Option<OptionSet> {
    if filesystem.has_mount_option(item) && !item.ends_with('=') {
        return Some(OptionSet::from_words(&[], &[item]));
    }
    if let Some(flag) = filesystem.mkfs_option_of(item) {
        return Some(OptionSet::from_words(&[flag, item], &[]));
    }
    if !ALGORITHMS.contains(&item.split([':', '-']).next().unwrap_or(item)) {
        return None;
    }
    let mut names = ["compress=", "compress_algorithm="].iter();
    if let Some(name) = names.find(|name| filesystem.has_mount_option(name)) {
        return Some(OptionSet::from_words(&[], &[&format!("{name}{item}")]));
    }
    if filesystem.has_mkfs_option("--compression") {
        return Some(OptionSet::from_words(&["--compression", item], &[]));
    }
    let value = format!("compression={item}");
    filesystem.mkfs_option_of(&value).map(|flag| OptionSet::from_words(&[flag, &value], &[]))
}

/// The option of a set with another value: `4096` behind `-b 1024 or`, `128k` behind `recordsize=16k or`.
pub(super) fn with_other_value(last: &OptionSet, word: &str) -> Option<OptionSet> {
    let starts_with_digit = word.starts_with(|letter: char| letter.is_ascii_digit());
    let renamed = |item: &str| item.split_once('=').map(|(name, _)| format!("{name}={word}"));
    if let (Some(option), true) = (last.mount.last(), starts_with_digit || is_value(word)) {
        let mut mount = last.mount.clone();
        mount.pop();
        mount.push(renamed(option)?);
        return Some(OptionSet { mkfs: last.mkfs.clone(), mount });
    }
    let [before @ .., value] = last.mkfs.as_slice() else { return None };
    let value = match value.contains('=') {
        true => renamed(value).filter(|_| is_value(word))?,
        false if starts_with_digit => word.to_owned(),
        false => return None,
    };
    Some(OptionSet { mkfs: [before, &[value]].concat(), mount: last.mount.clone() })
}

fn is_value(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_digit())
        || VALUES.split(' ').any(|value| value == word)
        || ["zstd", "gzip"]
            .iter()
            .any(|name| word.strip_prefix(name).is_some_and(|rest| rest.starts_with(['-', ':'])))
}

/// Whether a word is written like an option, or is one of any filesystem.
pub(super) fn looks_like_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '^'])
        || word.contains('=')
        || registry().iter().any(|filesystem| parse_item(word, filesystem).is_some())
}

/// All options that these words are, of one filesystem.
pub(super) fn parse_all(words: &[String], filesystem: &Filesystem) -> Option<OptionSet> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut all, mut at) = (OptionSet::default(), 0);
    while at < words.len() {
        let (count, options) = parse_option(&words[at..], filesystem)?;
        all.extend(&options);
        at += count;
    }
    Some(all)
}
