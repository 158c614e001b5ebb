//! The axes of a candidate, one row each: every property that can be varied, and how it is read and shown. The value
//! itself is a field of [`Candidate`] or of [`Environment`](super::Environment).

use std::path::Path;

use fsverdict_text::Reason;

use super::axis::{Axis, AxisLevel, AxisRole, Disclosure, EnvironmentAxis, ListKey, Read, Setting};
use super::environment::read_memory;
use super::layers::{self, Layers};
use super::value::{name, read_kernel};
use super::{Candidate, DeviceSource, FREE_CPU};
use fsverdict_text::value::{absolute_path, filled_text, text};
use fsverdict_text::{Node, TomlValue, split_words};

/// The default row: an option that is shown as it is, may identify a person, and has one key and no list of accepted
/// values.
const fn default_axis(key: &'static str, read: Read, level: fn(&Candidate) -> AxisLevel<'_>) -> Axis {
    Axis {
        key,
        role: AxisRole::Option,
        read,
        level,
        known: None,
        list: None,
        mark: "",
        in_name: |level, _| level.text(),
        preposition: None,
        column: 2,
        disclosure: Disclosure::Anything,
    }
}

/// In the order in which a matrix varies them, the last the fastest, which is also that of names, factors, fields and columns.
pub static AXES: [Axis; 10] = [
    Axis {
        role: AxisRole::Filesystem,
        preposition: Some("on"),
        column: 0,
        disclosure: Disclosure::Nothing,
        ..default_axis(
            "filesystem",
            |node| setting_of(filled_text(node), |candidate, value| candidate.filesystem = value),
            |candidate| AxisLevel::Word(&candidate.filesystem),
        )
    },
    Axis {
        role: AxisRole::Place,
        in_name: |level, in_full| {
            let path = level.text();
            if in_full { path.trim_start_matches('/').to_owned() } else { last_part(&path) }
        },
        disclosure: Disclosure::Path,
        ..default_axis(
            "path",
            |node| setting_of(absolute_path(node), |candidate, value| candidate.path = Some(value)),
            |candidate| candidate.path.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Path),
        )
    },
    Axis {
        mark: ":",
        in_name: option_values,
        ..default_axis(
            "mkfs",
            |node| setting_of(read_words(node), |candidate, value| candidate.mkfs = value),
            |candidate| AxisLevel::Words(&candidate.mkfs),
        )
    },
    Axis {
        mark: ":",
        ..default_axis(
            "mount",
            |node| setting_of(read_mount_options(node), |candidate, value| candidate.mount = value),
            |candidate| AxisLevel::Options(&candidate.mount),
        )
    },
    Axis {
        known: Some(|vocabulary| layers::words_in_short(vocabulary.layers)),
        list: Some(ListKey {
            key: layers::LIST,
            noun: "layer",
            read: |node| setting_of(Layers::read_list(node), |candidate, value| candidate.layers = value),
            known: |vocabulary| vocabulary.layers.to_vec(),
            needed: layers::need_the_list,
        }),
        mark: "+",
        column: 1,
        disclosure: Disclosure::Nothing,
        ..default_axis(
            layers::SHORT,
            |node| setting_of(Layers::read_short(node), |candidate, value| candidate.layers = value),
            |candidate| AxisLevel::Layers(&candidate.layers),
        )
    },
    Axis {
        mark: "@",
        disclosure: Disclosure::Nothing,
        ..default_axis(
            "scheduler",
            |node| setting_of(read_scheduler(node), |candidate, value| candidate.scheduler = value),
            |candidate| candidate.scheduler.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Word),
        )
    },
    Axis {
        role: AxisRole::Circumstance(EnvironmentAxis {
            noun: "device",
            title: |level| model_name(level, false),
            of_plan: |plan| match &plan.device.source {
                DeviceSource::Model { name, .. } => AxisLevel::Word(name),
                _ => AxisLevel::Nothing,
            },
        }),
        mark: "-on-",
        in_name: model_name,
        preposition: Some("on the device"),
        ..default_axis(
            "model",
            |node| setting_of(filled_text(node), |candidate, value| candidate.under.model = Some(value)),
            |candidate| candidate.under.model.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Word),
        )
    },
    Axis {
        role: AxisRole::Circumstance(EnvironmentAxis {
            noun: "kernel",
            title: |level| format!("Linux {}", kernel_name(level, false)),
            of_plan: |plan| plan.kernel.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Path),
        }),
        mark: "-under-",
        in_name: kernel_name,
        disclosure: Disclosure::Path,
        ..default_axis(
            "kernel",
            |node| setting_of(read_kernel(node), |candidate, value| candidate.under.kernel = Some(value)),
            |candidate| candidate.under.kernel.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Path),
        )
    },
    Axis {
        role: AxisRole::Circumstance(EnvironmentAxis {
            noun: "memory",
            title: |level| format!("{} of memory", level.text()),
            of_plan: |plan| plan.memory.map_or(AxisLevel::Nothing, AxisLevel::Size),
        }),
        mark: "-with-",
        in_name: |level, _| level.text().replace(' ', ""),
        ..default_axis(
            "memory",
            |node| setting_of(read_memory(node), |candidate, value| candidate.under.memory = Some(value)),
            |candidate| candidate.under.memory.map_or(AxisLevel::Nothing, AxisLevel::Size),
        )
    },
    Axis {
        role: AxisRole::Circumstance(EnvironmentAxis {
            noun: "processor",
            title: |level| match level.text() {
                free if free == FREE_CPU => "free computation".to_owned(),
                _ => format!("processor {}", model_name(level, false)),
            },
            of_plan: |plan| plan.cpu.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Word),
        }),
        mark: "-cpu-",
        in_name: model_name,
        ..default_axis(
            "cpu",
            |node| setting_of(filled_text(node), |candidate, value| candidate.under.cpu = Some(value)),
            |candidate| candidate.under.cpu.as_deref().map_or(AxisLevel::Nothing, AxisLevel::Word),
        )
    },
];

/// The axis of this key, or with it as its other one.
pub fn find_axis(key: &str) -> Option<&'static Axis> {
    AXES.iter().find(|axis| axis.spellings().any(|spelling| spelling.key == key))
}

/// The axes that have a column in the CSV, in the order of these.
pub fn csv_columns() -> Vec<&'static Axis> {
    let mut columns: Vec<&Axis> = AXES.iter().filter(|axis| !matches!(axis.role, AxisRole::Place)).collect();
    columns.sort_by_key(|axis| axis.column);
    columns
}

/// Turns the value that was read into a function that sets it in a candidate.
fn setting_of<T: Clone + 'static>(
    read: Result<T, Reason>,
    set: fn(&mut Candidate, T),
) -> Result<Setting, Reason> {
    read.map(|value| -> Setting { Box::new(move |candidate| set(candidate, value.clone())) })
}

fn last_part(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The values of mkfs options, since letters such as `-O` say little; in full all of it in one.
fn option_values(level: &AxisLevel<'_>, in_full: bool) -> String {
    let AxisLevel::Words(words) = level else { return level.text() };
    if in_full {
        return words.concat();
    }
    let values: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    // Options that are all letters (`-K`) have no values to stand for them.
    if values.is_empty() { words.join(",") } else { values.join(",") }
}

/// A model of the user's own is a file.
fn model_name(level: &AxisLevel<'_>, in_full: bool) -> String {
    let model = level.text();
    let stem = Path::new(&model).file_stem().filter(|_| model.contains('/') && !in_full);
    stem.map_or_else(|| model.clone(), |stem| stem.to_string_lossy().into_owned())
}

fn kernel_name(level: &AxisLevel<'_>, in_full: bool) -> String {
    if in_full { level.text() } else { last_part(&level.text()) }
}

/// mkfs options: a string that is split as a shell does, or the words themselves.
fn read_words(node: &Node) -> Result<Vec<String>, Reason> {
    let words = match &node.value {
        TomlValue::Text(line) => split_words(line),
        TomlValue::Array(nodes) => nodes.iter().map(text).collect(),
        other => Err(Reason::new(
            format!("a string or an array of strings is wanted here, not {}", other.type_name()),
            "as in \"-O ^dir_index\" or [\"-O\", \"^dir_index\"]",
        )),
    }?;
    no_other_device(words)
}

/// Refuses options that name a device. A trial reaches no device but its own in any case; this check tells the user so
/// before anything has run.
fn no_other_device(words: Vec<String>) -> Result<Vec<String>, Reason> {
    match words.iter().find(|word| word.contains("/dev/")) {
        None => Ok(words),
        Some(word) => Err(Reason::new(
            format!("`{word}` names another device"),
            "a trial has no devices but those under test: a journal or log on the second of them is {device.2}",
        )),
    }
}

/// Mount options, separated by commas.
fn read_mount_options(node: &Node) -> Result<Vec<String>, Reason> {
    let line = text(node)?;
    if line.trim().is_empty() {
        return Ok(Vec::new());
    }
    let options: Vec<String> = line.split(',').map(|option| option.trim().to_owned()).collect();
    if options.iter().any(|option| option.is_empty() || option.contains(char::is_whitespace)) {
        return Err(Reason::new(
            format!("\"{line}\" is not a list of mount options"),
            "mount options are separated by commas, without `-o`, as in \"noatime,compress=zstd\"",
        ));
    }
    no_other_device(options)
}

/// An I/O scheduler; the empty string leaves the device's own.
fn read_scheduler(node: &Node) -> Result<Option<String>, Reason> {
    match text(node)? {
        empty if empty.is_empty() => Ok(None),
        _ => name(node).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::axis::AxisRole;
    use super::{AXES, Axis, Candidate, Layers, csv_columns};
    use fsverdict_text::{Node, TextSpan, TomlValue};

    fn read(axis: &Axis, text: &str) -> Candidate {
        let at = TextSpan { text: 0, start: 0, end: 0 };
        let mut one = Candidate::with_defaults("");
        (axis.read)(&Node { at, value: TomlValue::Text(text.to_owned()) }).unwrap()(&mut one);
        one
    }

    #[test]
    fn what_is_read_on_an_axis_is_set_on_that_axis_alone() {
        let plain = Candidate::with_defaults("");
        for axis in &AXES {
            // A path must be absolute, and a size have a unit; all else takes any word.
            let one = read(axis, if matches!(axis.role, AxisRole::Place) { "/mnt/64MiB" } else { "64MiB" });
            let differs = |other: &&Axis| other.set_level(&one) != other.set_level(&plain);
            let found: Vec<&str> = AXES.iter().filter(differs).map(|axis| axis.key).collect();
            assert_eq!(found, [axis.key]);
        }
    }

    #[test]
    fn keys_are_unique_and_all_levels_but_the_first_of_a_name_have_a_mark() {
        let all = || AXES.iter().flat_map(Axis::spellings).map(|spelling| spelling.key);
        assert_eq!(all().collect::<BTreeSet<_>>().len(), all().count());
        for axis in &AXES {
            let begins = matches!(axis.role, AxisRole::Filesystem | AxisRole::Place);
            assert_eq!(axis.mark.is_empty(), begins, "{}", axis.key);
        }
    }

    #[test]
    fn layers_are_written_with_the_key_that_can_express_them() {
        for (names, key, json) in [
            (&[][..], "encryption", r#""none""#),
            (&["luks2"], "encryption", r#""luks2""#),
            (&["thin"], "layers", r#"["thin"]"#),
            (&["luks2", "thin"], "layers", r#"["luks2","thin"]"#),
        ] {
            let layers = Layers::from_names(names.iter().copied()).unwrap();
            let candidate = Candidate { layers, ..Candidate::with_defaults("ext4") };
            let axis = super::find_axis("layers").unwrap();
            let level = axis.level(&candidate);
            assert_eq!(axis.key_of(&level.text()), key);
            assert_eq!(serde_json::to_string(&level).unwrap(), json);
            assert_eq!(axis.set_level(&candidate).is_nothing(), names.is_empty());
        }
    }

    #[test]
    fn columns_keep_their_order() {
        let keys: Vec<&str> = csv_columns().into_iter().map(|axis| axis.key).collect();
        assert_eq!(keys[..4], ["filesystem", "encryption", "mkfs", "mount"]);
        assert!(!keys.contains(&"path") && keys.len() == AXES.len() - 1);
    }
}
