//! The options of a laboratory kernel, and which of them a configured tree took.

/// The options, with a reason beside each.
pub(super) const FRAGMENT: &str = include_str!("../../kernel/laboratory.config");

/// Marks an option that not every tree has.
const OPTIONAL: &str = "where there is one";

/// Marks an option that only a kernel with modules has.
const WITH_MODULES: &str = "with modules";

/// Without these no trial runs in simulated time.
const ESSENTIAL: [&str; 9] = [
    "CONFIG_64BIT",
    "CONFIG_HOSTFS",
    "CONFIG_SSL",
    "CONFIG_BLK_DEV_UBD",
    "CONFIG_VIRTIO_UML",
    "CONFIG_VIRTIO_BLK",
    "CONFIG_UML_TIME_TRAVEL_SUPPORT",
    "CONFIG_PID_NS",
    "CONFIG_PROC_FS",
];

/// The option of a counting kernel, in which computation can take simulated time.
pub(crate) const COUNTING: &str = "CONFIG_CPU_PRICE";

/// The option of a kernel with ZFS.
const ZFS: &str = "CONFIG_ZFS";
/// The options of a kernel with ZFS, with a reason beside each.
pub(super) const ZFS_FRAGMENT: &str = include_str!("../../kernel/zfs/zfs.config");

/// The optional parts of a kernel that is built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KernelParts {
    /// It counts its computation.
    pub(super) counting: bool,
    pub(super) zfs: bool,
    /// Options with the value `m` are modules; else they are built in.
    pub(super) modules: bool,
}

/// The options that a configured tree did not take.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Refused {
    /// Without which no trial runs.
    pub essential: Vec<String>,
    pub wanted: Vec<String>,
    /// Options that are optional because many trees lack them.
    pub optional: Vec<String>,
}

/// The fragment without its comments, as `KCONFIG_ALLCONFIG` takes it, with the options of the parts that the kernel is to have.
pub(super) fn write_fragment(parts: KernelParts) -> String {
    options_with(parts).map(|(name, value, _)| format!("{name}={value}\n")).collect()
}

fn options_with(parts: KernelParts) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    let counting = parts.counting.then_some((COUNTING, "y", false));
    let zfs = parts.zfs.then(|| parse_text(ZFS_FRAGMENT));
    let own =
        parse_lines(FRAGMENT).filter(move |line| parts.modules || !line.with_modules).map(move |line| {
            let value = if line.value == "m" && !parts.modules { "y" } else { line.value };
            (line.name, value, line.optional)
        });
    own.chain(counting).chain(zfs.into_iter().flatten())
}

/// The options that are modules.
#[cfg(test)]
pub(super) fn module_options() -> impl Iterator<Item = &'static str> {
    parse_options().filter(|(_, value, _)| *value == "m").map(|(name, ..)| name)
}

/// The options that should be on, each with a note about the releases that have it.
pub(super) fn wanted_options() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = parse_lines(FRAGMENT).filter(|line| is_on(line.value) && !line.with_modules);
    lines.map(|line| (line.name, availability_note(line.name)))
}

/// A note about the releases that have an option; empty if nothing is known.
fn availability_note(symbol: &str) -> &'static str {
    let line = FRAGMENT.lines().find(|line| line.split('=').next() == Some(symbol));
    let comment = line.and_then(|line| line.split_once(OPTIONAL)).map_or("", |(_, rest)| rest);
    comment.strip_prefix(": ").unwrap_or("")
}

fn parse_options() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    parse_text(FRAGMENT)
}

fn parse_text(fragment: &'static str) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    parse_lines(fragment).map(|line| (line.name, line.value, line.optional))
}

/// A line of a fragment with an option.
struct OptionLine {
    name: &'static str,
    value: &'static str,
    optional: bool,
    with_modules: bool,
}

fn parse_lines(fragment: &'static str) -> impl Iterator<Item = OptionLine> {
    fragment.lines().filter_map(|line| {
        let (option, comment) = line.split_once('#').unwrap_or((line, ""));
        let (name, value) = option.trim().split_once('=')?;
        let (optional, with_modules) = (comment.contains(OPTIONAL), comment.contains(WITH_MODULES));
        Some(OptionLine { name, value, optional, with_modules })
    })
}

fn is_on(value: &str) -> bool {
    ["y", "m"].contains(&value)
}

/// A hint for a kernel that lacks this option: build one, if a laboratory kernel has the option.
#[must_use]
pub fn way_out(symbol: &str) -> String {
    if symbol == COUNTING {
        return "`fsverdict kernel build` makes one, of sources of Linux 6.12, 7.2 or 7.3".to_owned();
    }
    if symbol == ZFS {
        return "`fsverdict kernel build --with zfs` makes one with ZFS".to_owned();
    }
    match parse_options().find(|(name, value, _)| *name == symbol && is_on(value)) {
        Some((.., false)) => format!("`fsverdict kernel build` makes one with {symbol}"),
        Some((.., true)) => {
            let note = availability_note(symbol);
            let note = if note.is_empty() { String::new() } else { format!(": {note}") };
            format!(
                "`fsverdict kernel build SOURCE` makes one with it, of sources that have {symbol}{note} (`--patch` adds what others lack)"
            )
        }
        None => format!(
            "build a User-Mode-Linux kernel with {symbol}=y (ARCH=um), and name it: `kernel = \"/path/to/linux\"` beside `lab = \"uml\"` in the plan"
        ),
    }
}

/// Compares the fragment with a `.config`.
pub(super) fn find_refused(config: &str, parts: KernelParts) -> Refused {
    let taken: std::collections::BTreeMap<&str, &str> =
        config.lines().filter_map(|line| line.split_once('=')).collect();
    let mut refused = Refused::default();
    for (name, value, optional) in options_with(parts) {
        if taken.get(name).copied().unwrap_or("n") == value {
            continue;
        }
        let list = if ESSENTIAL.contains(&name) || [COUNTING, ZFS].contains(&name) {
            &mut refused.essential
        } else if optional {
            &mut refused.optional
        } else {
            &mut refused.wanted
        };
        list.push(name.to_owned());
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::{ESSENTIAL, KernelParts, find_refused, parse_options, write_fragment};

    const USUAL: KernelParts = KernelParts { counting: false, zfs: false, modules: true };
    const COUNTING: KernelParts = KernelParts { counting: true, zfs: false, modules: true };
    const ZFS: KernelParts = KernelParts { counting: false, zfs: true, modules: true };

    #[test]
    fn every_option_is_named_once() {
        let mut names: Vec<_> = parse_options().map(|(name, _, _)| name).collect();
        let is_value = |value: &str| ["y", "n", "m"].contains(&value) || value.starts_with('"');
        assert!(parse_options().all(|(name, value, _)| name.starts_with("CONFIG_") && is_value(value)));
        assert!(ESSENTIAL.iter().all(|name| names.contains(name)));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn options_that_did_not_take_are_named() {
        let all: String = write_fragment(USUAL)
            .lines()
            .filter(|line| !line.ends_with("=n"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(find_refused(&all, USUAL), super::Refused::default());
        let without = all
            .replace("CONFIG_VIRTIO_UML=y\n", "# CONFIG_VIRTIO_UML is not set\n")
            .replace("CONFIG_BCACHEFS_FS=m\n", "")
            .replace("CONFIG_XFS_FS=m\n", "CONFIG_XFS_FS=y\n")
            .replace("CONFIG_MODULES=y\n", "");
        let found = find_refused(&without, USUAL);
        assert_eq!(found.essential, ["CONFIG_VIRTIO_UML"]);
        assert_eq!(found.wanted, ["CONFIG_MODULES", "CONFIG_XFS_FS"]);
        assert_eq!(found.optional, ["CONFIG_BCACHEFS_FS"]);
        assert_eq!(find_refused(&all, ZFS).essential, ["CONFIG_ZFS"]);
        let whole = write_fragment(KernelParts { modules: false, ..USUAL });
        assert!(whole.contains("CONFIG_XFS_FS=y\n") && !whole.contains("=m\n"));
        assert!(!whole.contains("CONFIG_MODULES") && !whole.contains("SHARED_LIBRARIES"));
        assert!(write_fragment(ZFS).ends_with("CONFIG_ZFS=y\n") && !write_fragment(USUAL).contains("ZFS"));
        assert_eq!(find_refused(&all, COUNTING).essential, ["CONFIG_CPU_PRICE"]);
        assert_eq!(find_refused(&(all + "CONFIG_CPU_PRICE=y\n"), COUNTING), super::Refused::default());
    }
}
