//! Changes to a plan from the command line: `--set`, `--fs`, `--lab`, `--device`, `--blocks`, `--for`, `--scale`.

use std::time::Duration;

use fsverdict_text::Reason;

use super::lab::KernelOwner;
use super::scale::{grow, scale};
use super::space::scale_image;
use super::{Blocks, Candidate, DeviceSource, LabChoice, Plan, Twice, Vocabulary};
use fsverdict_text::{
    Node, Problems, TextProblem, TextSpan, Texts, TomlEntry, TomlTable, TomlValue, parse, suggest,
};

/// The changes that the command line makes to a plan; the default changes nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `KEY=VALUE`, in TOML, applied to the plan's own TOML in this order: `protocol.blocks=5`,
    /// `phase.read.cold=false` (a phase by its name), `candidate.1.mount=noatime` (a candidate by name or number).
    pub set: Vec<String>,
    /// Candidates that replace the plan's; if empty, the plan's stay.
    pub candidates: Vec<Candidate>,
    /// Keep only candidates with these names or filesystems; if empty, keep all.
    pub filesystems: Vec<String>,
    pub lab: Option<LabChoice>,
    /// Devices that replace the plan's; see [`replace_sources`](super::PlannedDevice::replace_sources).
    pub device: Vec<DeviceSource>,
    pub blocks: Option<Blocks>,
    /// Stop starting new blocks when they cannot end within this time.
    pub budget: Option<Duration>,
    pub twice: Option<Twice>,
    /// Shrink the data to this share, and the image with them unless `device` gives one; see [`scale`].
    pub scale: Option<f64>,
    /// Multiply the data by this factor, after scaling, on the same device; a scratch image grows with them.
    pub grown: Option<f64>,
}

impl Overrides {
    /// Whether `--set` changes this key of the plan, or one below it.
    fn changes_key(&self, key: &str) -> bool {
        let mut keys = self.set.iter().filter_map(|setting| setting.split(['=', '.']).next());
        keys.any(|set| set.trim() == key)
    }
}

/// Applies every `KEY=VALUE` to the tree, and reports those that cannot be applied.
pub(super) fn apply_settings(tree: &mut Node, settings: &[String], texts: &mut Texts, problems: &Problems) {
    for setting in settings {
        let text = texts.add_text("--set", setting);
        let result =
            parse_setting(setting, text, texts).and_then(|change| merge_tables(tree, "", change, texts));
        if let Err(problem) = result {
            problems.push(problem);
        }
    }
}

/// Removes the models that the matrix varies, and their size: a device named by the user means results for that device
/// only.
pub(super) fn forget_models(tree: &mut Node) {
    fn table<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut TomlTable> {
        let TomlValue::Table(table) = &mut node.value else { return None };
        let TomlValue::Table(inner) = &mut table.get_mut(key)?.node.value else { return None };
        Some(inner)
    }
    let Some(matrix) = table(tree, "matrix").filter(|matrix| matrix.get("model").is_some()) else { return };
    matrix.entries.retain(|entry| entry.key != "model");
    if let Some(device) = table(tree, "device").filter(|device| device.get("model").is_none()) {
        device.entries.retain(|entry| entry.key != "size");
    }
}

/// Parses `KEY=VALUE` as TOML; a value that is not valid TOML is taken as a string, so that quotes may be omitted.
fn parse_setting(setting: &str, text: usize, texts: &mut Texts) -> Result<TomlTable, TextProblem> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(TextProblem {
            at: texts.whole_span(text),
            message: format!("\"{setting}\" is not KEY=VALUE"),
            hint: "for example: --set protocol.blocks=5".to_owned(),
        });
    };
    let first = |problems: Vec<TextProblem>| {
        problems.into_iter().next().unwrap_or_else(|| texts.unreadable_text(text))
    };
    let as_toml = parse(texts, text).map_err(first).and_then(table_of);
    if as_toml.is_ok() || value.trim_start().starts_with(['"', '\'', '[', '{']) {
        return as_toml;
    }
    // Parses the same key with a valid value that is not longer than the given one, so that source positions stay correct.
    let stand_in = texts.add_text("--set", &format!("{key}=0"));
    let first = |problems: Vec<TextProblem>| {
        problems.into_iter().next().unwrap_or_else(|| texts.unreadable_text(text))
    };
    let mut table = parse(texts, stand_in).map_err(first).and_then(table_of).map_err(|problem| {
        TextProblem { at: TextSpan { text, end: problem.at.end.min(setting.len()), ..problem.at }, ..problem }
    })?;
    let at = TextSpan { text, start: key.len() + 1, end: setting.len() };
    replace_leaf(&mut table, text, &Node { at, value: TomlValue::Text(value.trim().to_owned()) });
    Ok(table)
}

fn table_of(node: Node) -> Result<TomlTable, TextProblem> {
    match node.value {
        TomlValue::Table(table) => Ok(table),
        other => Err(TextProblem {
            at: node.at,
            message: format!("a table is wanted, not {}", other.type_name()),
            hint: String::new(),
        }),
    }
}

/// Replaces the single value at the end of a dotted key with `leaf`, and moves all source positions to `text`.
fn replace_leaf(table: &mut TomlTable, text: usize, leaf: &Node) {
    for entry in &mut table.entries {
        entry.key_at.text = text;
        entry.node.at.text = text;
        match &mut entry.node.value {
            TomlValue::Table(inner) => replace_leaf(inner, text, leaf),
            _ => entry.node = leaf.clone(),
        }
    }
}

/// Merges a change into the tree: tables key by key, members of the list called `key` by name or number; all other
/// values are replaced.
fn merge_tables(node: &mut Node, key: &str, change: TomlTable, texts: &Texts) -> Result<(), TextProblem> {
    match &mut node.value {
        TomlValue::Table(table) => merge_table(table, change, texts),
        TomlValue::Array(members)
            if members.iter().all(|member| matches!(member.value, TomlValue::Table(_))) =>
        {
            for TomlEntry { key: member, key_at, node: value } in change.entries {
                let member = find_member(members, key, &member, key_at)?;
                match value.value {
                    TomlValue::Table(inner) if !texts.is_inline_table(value.at) => {
                        merge_tables(member, "", inner, texts)?;
                    }
                    other => *member = Node { at: value.at, value: other },
                }
            }
            Ok(())
        }
        _ => {
            node.value = TomlValue::Table(change);
            Ok(())
        }
    }
}

fn merge_table(table: &mut TomlTable, change: TomlTable, texts: &Texts) -> Result<(), TextProblem> {
    for entry in change.entries {
        match (table.get_mut(&entry.key), entry) {
            // `a.b = 1` is a change within `a`; `a = { b = 1 }` replaces it.
            (Some(old), TomlEntry { key, node: Node { value: TomlValue::Table(inner), at }, .. })
                if !texts.is_inline_table(at)
                    && matches!(old.node.value, TomlValue::Table(_) | TomlValue::Array(_)) =>
            {
                merge_tables(&mut old.node, &key, inner, texts)?;
            }
            (Some(old), new) => *old = new,
            (None, TomlEntry { key, key_at, node: Node { value: TomlValue::Table(_), .. } })
                if key == "candidate" =>
            {
                return Err(TextProblem {
                    at: key_at,
                    message: "the plan names no candidate by itself".to_owned(),
                    hint:
                        "those of [matrix] are changed by its keys: --set matrix.mount='[\"\", \"noatime\"]'"
                            .to_owned(),
                });
            }
            (None, new) => table.entries.push(new),
        }
    }
    Ok(())
}

fn find_member<'a>(
    members: &'a mut [Node],
    list: &str,
    key: &str,
    at: TextSpan,
) -> Result<&'a mut Node, TextProblem> {
    let names: Vec<Option<String>> = members.iter().map(name_of).collect();
    let by_name = names.iter().position(|name| name.as_deref() == Some(key));
    let by_number =
        || key.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).filter(|i| *i < names.len());
    match by_name.or_else(by_number) {
        Some(index) => Ok(&mut members[index]),
        None => {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            let numbers = format!("by number: 1 to {}", members.len());
            let hint =
                if known.is_empty() { numbers } else { format!("{} ({numbers})", suggest(key, &known)) };
            Err(TextProblem { at, message: format!("there is no {list} `{key}`"), hint })
        }
    }
}

fn name_of(node: &Node) -> Option<String> {
    let TomlValue::Table(table) = &node.value else { return None };
    match &table.get("name")?.node.value {
        TomlValue::Text(name) => Some(name.clone()),
        _ => None,
    }
}

/// Applies the other changes to the typed plan; returns the origin of the device if the command line names it.
pub(super) fn apply(
    plan: &mut Plan,
    overrides: &Overrides,
    vocabulary: &Vocabulary<'_>,
    texts: &mut Texts,
    problems: &Problems,
) -> Option<TextSpan> {
    if !overrides.candidates.is_empty() {
        plan.candidates.clone_from(&overrides.candidates);
    }
    if !overrides.filesystems.is_empty() {
        let at = texts.add_option("--fs", &overrides.filesystems.join(","));
        problems.record_error(at, keep_filesystems(plan, &overrides.filesystems));
    }
    if let Some(lab) = overrides.lab {
        problems.record_error(texts.add_option("--lab", &lab.to_string()), choose_lab(plan, lab));
    }
    let device_at = (!overrides.device.is_empty()).then(|| {
        if overrides.device.iter().any(|source| matches!(source, DeviceSource::Path(_))) {
            // The folder only applies to images, and only modelled devices can be made to fail.
            plan.device.folder = None;
            plan.device.fails = None;
        }
        plan.device.replace_sources(&overrides.device);
        let given: Vec<String> = overrides.device.iter().map(as_given).collect();
        texts.add_option("--device", &given.join(" --device "))
    });
    drop_what_the_lab_lacks(plan, overrides);
    drop_changed_job(plan, overrides);
    plan.protocol.blocks = overrides.blocks.unwrap_or(plan.protocol.blocks);
    plan.protocol.budget = overrides.budget.or(plan.protocol.budget);
    if let Some(factor) = overrides.scale {
        problems.record_error(texts.add_option("--scale", &factor.to_string()), scale(plan, factor));
        if overrides.device.is_empty() {
            scale_image(plan, factor, vocabulary);
        }
    }
    if let Some(factor) = overrides.grown {
        problems.record_error(texts.add_option("--settle-size", &factor.to_string()), grow(plan, factor));
    }
    device_at
}

/// Removes settings that have no meaning where the command line moved the trials: the processor model in real time, where
/// computation takes as long as this machine's processor needs, and the memory of a guest where there is none. A setting
/// that the command line names itself stays, and is refused.
fn drop_what_the_lab_lacks(plan: &mut Plan, overrides: &Overrides) {
    let is_moved = overrides.lab.is_some() || !overrides.device.is_empty();
    if !is_moved && !["device", "lab", "clock"].into_iter().any(|key| overrides.changes_key(key)) {
        return;
    }
    if !plan.may_simulate() && !overrides.changes_key("cpu") {
        plan.cpu = None;
    }
    if plan.lab.lab_offer().kernel == KernelOwner::Machine && !overrides.changes_key("memory") {
        plan.memory = None;
    }
}

/// Removes the name of the job where the command line makes another one of it.
fn drop_changed_job(plan: &mut Plan, overrides: &Overrides) {
    if ["goal", "phase"].into_iter().any(|key| overrides.changes_key(key))
        && let Some(work) = &mut plan.work
    {
        work.job = None;
    }
}

/// A device in the syntax of the command line.
fn as_given(source: &DeviceSource) -> String {
    match source {
        DeviceSource::Image(size) => format!("image:{size}"),
        DeviceSource::Path(path) => path.display().to_string(),
        DeviceSource::Model { name, size } => format!("model:{name}@{size}"),
        DeviceSource::Folders => source.to_string(),
    }
}

/// Keeps only the candidates named in the words, by their name or filesystem.
fn keep_filesystems(plan: &mut Plan, words: &[String]) -> Result<(), Reason> {
    for word in words {
        if !plan.candidates.iter().any(|candidate| candidate.name == *word || candidate.filesystem == *word) {
            let mut known: Vec<&str> = Vec::new();
            for candidate in &plan.candidates {
                known.extend([candidate.filesystem.as_str(), candidate.name.as_str()]);
            }
            known.sort_unstable();
            known.dedup();
            return Err(Reason::new(
                format!("the plan has no candidate and no filesystem `{word}`"),
                suggest(word, &known),
            ));
        }
    }
    plan.candidates
        .retain(|candidate| words.contains(&candidate.name) || words.contains(&candidate.filesystem));
    Ok(())
}

fn choose_lab(plan: &mut Plan, lab: LabChoice) -> Result<(), Reason> {
    if let (KernelOwner::Machine, Some(kernel)) = (lab.lab_offer().kernel, &plan.kernel) {
        return Err(Reason::new(
            format!("the plan names the kernel {}, but {lab} is this machine's own", kernel.display()),
            format!("choose {}, or take `kernel` out of the plan", LabChoice::guest_labs(["--lab ", ""])),
        ));
    }
    plan.lab = lab;
    Ok(())
}
