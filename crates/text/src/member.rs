//! Reads a TOML file that describes a class: a value may be a range or a choice, and each member of the class has one
//! value of it.
//!
//! `read_ahead = { from = "256KiB", to = "8MiB", typical = "512KiB" }` is a range; `through = [true, false]` and
//! `turn_ms = [0, 0.8]` are choices. Each is replaced by one value before the file is read, so that its reader
//! handles plain values only. A range above zero is uniform in the logarithm.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::TextError;
use super::section::{Problems, Section, read_tree};
use super::source::{Node, TomlTable, TomlValue};
use super::units::Bytes;
use super::value::{any_number, size};

/// Selects the member of a class that is read.
#[derive(Clone, Copy)]
pub enum Member<'a> {
    /// The representative member: the typical value of every range, the first entry of every choice.
    Typical,
    /// The lower end of every range, and the first entry of every choice.
    Least,
    /// The upper end of every range, and the last entry of every choice.
    Most,
    /// A position from 0 to 1 in each range or choice, given by its key.
    Drawn(&'a dyn Fn(&str) -> f64),
}

/// The values of a member by key, such as `platter.read_ahead`.
pub type DrawnNumbers = BTreeMap<String, DrawnNumber>;

/// One member's value of a range or choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnNumber {
    Flag(bool),
    Number(f64),
    Size(Bytes),
}

impl DrawnNumber {
    /// The value on the scale on which the class is uniform: the logarithm of positive numbers and sizes.
    pub fn to_scale(self) -> f64 {
        match self {
            DrawnNumber::Flag(flag) => f64::from(u8::from(flag)),
            DrawnNumber::Number(number) if number > 0.0 => libm::log(number),
            DrawnNumber::Number(number) => number,
            // Sizes are far below 2⁵³, so that the conversion is exact.
            DrawnNumber::Size(Bytes(bytes)) => libm::log(bytes.max(1) as f64),
        }
    }
}

impl fmt::Display for DrawnNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DrawnNumber::Flag(flag) => flag.fmt(formatter),
            DrawnNumber::Number(number) if number.fract() == 0.0 => number.fmt(formatter),
            // Three significant digits suffice for a number that was drawn.
            DrawnNumber::Number(number) => {
                let digits = 2.0 - libm::floor(libm::log10(libm::fabs(*number)));
                write!(formatter, "{number:.*}", digits.clamp(0.0, 6.0) as usize)
            }
            DrawnNumber::Size(bytes) => bytes.fmt(formatter),
        }
    }
}

/// Reads one member of a class as strictly as a plan; returns it and its values of ranges and choices by key. Ranges
/// and choices may stand in the tables called `varied`. The members at both ends of every range are read as well, so
/// that a class is accepted only if they are valid, too.
pub fn read_member<T>(
    file: &str,
    text: &str,
    name: &str,
    keys: &[&str],
    varied: &[&str],
    member: Member<'_>,
    read: impl Fn(&Section<'_>) -> Option<T>,
) -> Result<(T, DrawnNumbers), TextError> {
    let read_one = |member: Member<'_>| {
        read_tree(file, text, |mut tree, _, problems| {
            let drawn = replace_ranges(&mut tree, varied, member, problems);
            let value = read(&Section::new(name, &tree, keys, problems)?)?;
            Some((value, drawn))
        })
    };
    let (value, drawn) = read_one(member)?;
    if !drawn.is_empty() {
        read_one(Member::Least)?;
        read_one(Member::Most)?;
    }
    Ok((value, drawn))
}

/// Replaces every range and choice below the tables called `varied` by one value; returns these values by key.
fn replace_ranges(tree: &mut Node, varied: &[&str], member: Member<'_>, problems: &Problems) -> DrawnNumbers {
    let mut drawn = DrawnNumbers::new();
    let TomlValue::Table(top) = &mut tree.value else { return drawn };
    for entry in top.entries.iter_mut().filter(|entry| varied.contains(&entry.key.as_str())) {
        if let TomlValue::Table(table) = &mut entry.node.value {
            replace_ranges_in_table(table, &entry.key, member, problems, &mut drawn);
        }
    }
    drawn
}

fn replace_ranges_in_table(
    table: &mut TomlTable,
    path: &str,
    member: Member<'_>,
    problems: &Problems,
    drawn: &mut DrawnNumbers,
) {
    for entry in &mut table.entries {
        let key = format!("{path}.{}", entry.key);
        let replacement = match &entry.node.value {
            TomlValue::Table(range) if range.get("from").is_some() => {
                let section = Section::new(&entry.key, &entry.node, &["from", "to", "typical"], problems);
                section.and_then(|section| value_in_range(&section, member, &key))
            }
            TomlValue::Array(nodes) => select_entry(nodes, member, &key),
            _ => None,
        };
        match (replacement, &mut entry.node.value) {
            (Some((value, number)), place) => {
                *place = value;
                drawn.insert(key, number);
            }
            (None, TomlValue::Table(inner)) => replace_ranges_in_table(inner, &key, member, problems, drawn),
            (None, TomlValue::Array(nodes)) => {
                for (index, node) in nodes.iter_mut().enumerate() {
                    if let TomlValue::Table(inner) = &mut node.value {
                        replace_ranges_in_table(
                            inner,
                            &format!("{key}.{}", index + 1),
                            member,
                            problems,
                            drawn,
                        );
                    }
                }
            }
            _ => {}
        }
    }
}

/// Selects the value in a range; returns `None` where the range is wrong, which is recorded as a problem.
fn value_in_range(section: &Section<'_>, member: Member<'_>, key: &str) -> Option<(TomlValue, DrawnNumber)> {
    let sizes = |key: &str| section.need(key, "", size);
    let numbers = |key: &str| section.need(key, "", any_number);
    if matches!(section.entry("from")?.node.value, TomlValue::Text(_)) {
        let [Bytes(from), Bytes(to), Bytes(typical)] = read_ends(section, sizes)?;
        // Buffers are multiples of a page, or at least of a sector.
        let step = [4096, 512, 1].into_iter().find(|step| from % step == 0 && to % step == 0)?;
        let bytes = match member {
            Member::Typical => typical,
            Member::Least => from,
            Member::Most => to,
            Member::Drawn(place) => {
                let exact = interpolate_range(from as f64, to as f64, place(key));
                (libm::round(exact / step as f64) as u64 * step).clamp(from, to)
            }
        };
        return Some((TomlValue::Text(format!("{bytes}B")), DrawnNumber::Size(Bytes(bytes))));
    }
    let [from, to, typical] = read_ends(section, numbers)?;
    let is_whole = ["from", "to"]
        .iter()
        .all(|key| matches!(section.entry(key).map(|entry| &entry.node.value), Some(TomlValue::Integer(_))));
    let number = match member {
        Member::Typical => typical,
        Member::Least => from,
        Member::Most => to,
        Member::Drawn(place) if is_whole => libm::round(interpolate_range(from, to, place(key))),
        Member::Drawn(place) => interpolate_range(from, to, place(key)),
    };
    Some((TomlValue::Number(number), DrawnNumber::Number(number)))
}

/// Reads `from`, `to` and `typical`, in this order.
fn read_ends<T: PartialOrd + Copy>(
    section: &Section<'_>,
    read: impl Fn(&str) -> Option<T>,
) -> Option<[T; 3]> {
    let [from, to, typical] = ["from", "to", "typical"].map(&read);
    let (from, to, typical) = (from?, to?, typical?);
    if to < from {
        section.report_wrong("to", "it lies below `from`", "");
    }
    if !(from..=to).contains(&typical) {
        section.report_wrong("typical", "it does not lie between `from` and `to`", "");
    }
    Some([from, to, typical])
}

/// Interpolates the value at a position from 0 to 1 in a range.
fn interpolate_range(from: f64, to: f64, place: f64) -> f64 {
    if from > 0.0 {
        libm::exp(libm::log(from) + place * (libm::log(to) - libm::log(from)))
    } else {
        from + place * (to - from)
    }
}

/// Selects one entry of an array that consists of flags, of numbers or of sizes; `None` for other arrays, which are plain
/// lists.
fn select_entry(nodes: &[Node], member: Member<'_>, key: &str) -> Option<(TomlValue, DrawnNumber)> {
    let entries: Vec<(TomlValue, DrawnNumber)> = nodes.iter().map(parse_entry).collect::<Option<_>>()?;
    let kind = |number: &DrawnNumber| std::mem::discriminant(number);
    if entries.len() < 2 || entries.iter().any(|(_, number)| kind(number) != kind(&entries[0].1)) {
        return None;
    }
    let index = match member {
        Member::Typical | Member::Least => 0,
        Member::Most => entries.len() - 1,
        // Rounding down gives each entry the same share.
        Member::Drawn(place) => ((place(key) * entries.len() as f64) as usize).min(entries.len() - 1),
    };
    entries.into_iter().nth(index)
}

fn parse_entry(node: &Node) -> Option<(TomlValue, DrawnNumber)> {
    let number = match &node.value {
        TomlValue::Boolean(flag) => DrawnNumber::Flag(*flag),
        TomlValue::Text(text) => DrawnNumber::Size(text.parse().ok()?),
        TomlValue::Integer(number) => DrawnNumber::Number(*number as f64),
        TomlValue::Number(number) => DrawnNumber::Number(*number),
        _ => return None,
    };
    Some((node.value.clone(), number))
}

#[cfg(test)]
mod tests {
    use super::{DrawnNumber, Member, read_member};
    use crate::value::{any_number, boolean, size};
    use crate::{Bytes, TextError};

    type Found = (Bytes, f64, bool);

    fn read(text: &str, member: Member<'_>) -> Result<(Found, super::DrawnNumbers), TextError> {
        read_member("class.toml", text, "the class", &["disk", "other"], &["disk"], member, |top| {
            let disk = top.need_inner_table("disk", "[disk]", &["ahead", "times", "through"])?;
            let found = (disk.need("ahead", "", size)?, disk.need("times", "", any_number)?);
            Some((found.0, found.1, disk.need("through", "", boolean)?))
        })
    }

    const CLASS: &str = r#"
        [disk]
        ahead = { from = "256KiB", to = "4MiB", typical = "512KiB" }
        times = { from = 2, to = 32, typical = 8 }
        through = [true, false]
    "#;

    #[test]
    fn a_member_has_one_value_of_each() {
        let kib = |kib: u64| Bytes(kib << 10);
        let half = |_: &str| 0.5;
        for (member, expected) in [
            (Member::Typical, (kib(512), 8.0, true)),
            (Member::Least, (kib(256), 2.0, true)),
            (Member::Most, (kib(4096), 32.0, false)),
            (Member::Drawn(&half), (kib(1024), 8.0, false)),
        ] {
            assert_eq!(read(CLASS, member).unwrap().0, expected);
        }
        let drawn =
            read(CLASS, Member::Drawn(&|key| if key == "disk.through" { 0.2 } else { 0.999 })).unwrap().1;
        let shown: Vec<String> = drawn.iter().map(|(key, number)| format!("{key} {number}")).collect();
        assert_eq!(shown, ["disk.ahead 3.99 MiB", "disk.through true", "disk.times 32"]);
        assert_eq!(drawn["disk.through"], DrawnNumber::Flag(true));
    }

    #[test]
    fn without_ranges_nothing_is_drawn() {
        let plain = "[disk]\nahead = \"1MiB\"\ntimes = 1.5\nthrough = false\n";
        assert_eq!(
            read(plain, Member::Most).unwrap(),
            ((Bytes(1 << 20), 1.5, false), super::DrawnNumbers::new())
        );
    }

    #[test]
    fn wrong_ranges_are_told_with_their_place() {
        for (was, is, told) in [
            ("to = 32", "to = 1", "`to`: it lies below `from`"),
            ("typical = 8", "typical = 80", "`typical`: it does not lie between"),
            ("to = 32, typical = 8", "to = 32", "times lacks `typical`"),
            ("typical = 8", "typical = 8, usual = 2", "unknown key `usual` in times"),
            ("to = 32", "to = \"32\"", "`to`"),
            ("[true, false]", "[true]", "`through`"),
            ("[true, false]", "[true, \"1MiB\"]", "`through`"),
        ] {
            let text = CLASS.replace(was, is);
            assert_ne!(text, CLASS);
            let error = read(&text, Member::Typical).unwrap_err().to_string();
            assert!(error.contains(told) && error.contains("class.toml:"), "{is}: {error}");
        }
    }
}
