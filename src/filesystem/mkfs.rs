//! Joining the fair defaults of a mkfs with the words of a plan.
//!
//! The plan wins. Most programs heed the last of several equal options, so ours come first; but a comma-separated list
//! (mke2fs's `-E`) would be replaced as a whole by a later one, so lists are merged item by item.

/// One word or pair of words given to mkfs by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MkfsDefault {
    /// A switch, always given: it keeps mkfs from asking or from chattering.
    Switch(&'static str),
    /// An option with a value; left out when the plan gives the same option or one of those that settle the same thing.
    Value {
        /// The option.
        flag: &'static str,
        /// Its value, a word of its own.
        value: &'static str,
        /// Other options that settle the same thing.
        yields_to: &'static [&'static str],
    },
    /// An option whose value is a list; each item is left out when the plan gives one with the same key.
    List(&'static str, &'static [&'static str]),
}

/// Defaults and the plan's words, in the order in which they are given to mkfs.
pub(super) fn merge(defaults: &[MkfsDefault], lists: &[&str], extra: &[String]) -> Vec<String> {
    let (merged_lists, rest) = take_lists(lists, extra);
    let of_plan =
        |flag: &str| merged_lists.iter().find(|(name, _)| *name == flag).map(|(_, items)| items.as_slice());
    let mut words: Vec<String> = Vec::new();
    let mut list_done: Vec<&str> = Vec::new();
    for default in defaults {
        match *default {
            MkfsDefault::Switch(switch) => words.push(switch.to_owned()),
            MkfsDefault::Value { flag, value, yields_to } => {
                let settled =
                    |word: &String| gives(word, flag) || yields_to.iter().any(|other| gives(word, other));
                if !rest.iter().any(settled) {
                    words.extend([flag.to_owned(), value.to_owned()]);
                }
            }
            MkfsDefault::List(flag, items) => {
                let given = of_plan(flag).unwrap_or_default();
                let ours = items.iter().filter(|item| !given.iter().any(|word| key(word) == key(item)));
                let all: Vec<&str> = ours.copied().chain(given.iter().map(String::as_str)).collect();
                words.extend([flag.to_owned(), all.join(",")]);
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
fn gives(word: &str, flag: &str) -> bool {
    if flag.starts_with("--") {
        word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
    } else {
        word.starts_with(flag)
    }
}

/// What an item of a list is about: `stride=4` and `stride=8` are about the same thing, and so are `discard` and `nodiscard`.
fn key(item: &str) -> &str {
    let name = item.split_once('=').map_or(item, |(name, _)| name);
    name.strip_prefix("no").unwrap_or(name)
}

/// Takes every list option out of the plan's words: (option, all its items in order), and what remains.
fn take_lists<'a>(lists: &[&'a str], extra: &[String]) -> (Vec<(&'a str, Vec<String>)>, Vec<String>) {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    let mut rest = Vec::new();
    let mut words = extra.iter();
    while let Some(word) = words.next() {
        let Some(flag) = lists.iter().copied().find(|flag| gives(word, flag)) else {
            rest.push(word.clone());
            continue;
        };
        let value = if word == flag {
            words.next().cloned().unwrap_or_default()
        } else {
            word[flag.len()..].to_owned()
        };
        let items = value.split(',').filter(|item| !item.is_empty()).map(str::to_owned);
        match found.iter_mut().find(|(name, _)| *name == flag) {
            Some((_, known)) => known.extend(items),
            None => found.push((flag, items.collect())),
        }
    }
    (found, rest)
}

/// What is wrong with the plan's words for mkfs before any program sees them; none when nothing is.
///
/// The device is given by fsverdict alone: a word that is a path would make mkfs write somewhere else.
#[must_use]
pub fn check_extra(extra: &[String]) -> Option<String> {
    extra.iter().find(|word| word.starts_with('/')).map(|word| {
        format!(
            "mkfs option `{word}` is a path; the device is chosen by the plan's [device], not by mkfs options"
        )
    })
}
