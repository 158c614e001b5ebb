//! Shows how a question was understood: each entry with its value and the user's words for it, and the command line that
//! asks the same again.

use fsverdict_judgement::plan::{
    Candidate, DeviceSource, Overrides, Plan, preset, ranked_candidates, read_with,
};
use fsverdict_report::{listing, wrap};
use fsverdict_text::{Bytes, duration_text, quoted, wrap_command};

use super::super::with_vocabulary;
use super::devices::describe_model;
use super::features::Wish;
use super::parsed::Worded;
use super::plan::{QuestionPlan, phase_of};
use super::plan_candidates::MOST_NAMES;
use super::question::Question;
use super::works::AskedWork;

/// The width of the messages, in columns.
pub(super) const WIDTH: usize = 80;
/// Columns of the names of entries, and of the user's words.
const NAME: usize = 12;
const WORDS: usize = 22;

/// The table, within the columns of a terminal.
pub(super) fn describe_question(question: &Question, asked: &QuestionPlan) -> String {
    let parsed = &question.parsed;
    let plan = &asked.plan;
    let mut lines: Vec<String> =
        asked.cautions.iter().flat_map(|part| wrap(&format!("caution: {part}"), WIDTH)).collect();
    let mut add = |name: &str, value: &str, words: &str| lines.extend(entry_lines(name, value, words));
    add("", "understood as", "from your words");
    add("workload", &describe_work(question), &question.work.words);
    let (device, device_words) = describe_device(question, plan);
    add("device", &device, device_words);
    if let Some(part) = &question.cpu {
        add("processor", plan.cpu.as_deref().unwrap_or(part.value), &part.words);
    }
    if let Some(part) = &parsed.memory {
        add("memory", &part.value.to_string(), &part.words);
    }
    let names: Vec<&str> = ranked_candidates(plan).map(|candidate| candidate.name.as_str()).collect();
    let named = parsed.candidates.iter().map(|part| part.words.as_str());
    let variants = parsed.variants.iter().map(|part| part.words.as_str());
    let excluded = parsed.excluded.iter().map(|part| part.words.as_str());
    let words: Vec<&str> = named.chain(variants).chain(excluded).collect();
    add("candidates", &listing(&names, MOST_NAMES), &words.join("; "));
    if let (Some(share), Some(work)) = (plan.scale, question.preset()) {
        let (percent, name) = (share * 100.0, work.preset.name);
        add("data", &format!("{percent} % of the preset's; fsverdict run {name} takes all"), "");
    }
    asked.left_out.iter().for_each(|value| add("left out", value, ""));
    list_surprises(question, plan).iter().for_each(|value| add("note", value, ""));
    for part in parsed.wished(Wish::Required) {
        add("required", part.feature.word, &part.words);
    }
    for Worded { value: limit, words } in &parsed.limits {
        if let Ok(phase) = phase_of(question, plan, limit) {
            add("required", &format!("{}.{} {}", phase.name, limit.metric, limit.bound), words);
        }
    }
    for part in parsed.wished(Wish::Unneeded) {
        add("not required", part.feature.word, &part.words);
    }
    for part in parsed.wished(Wish::Absent) {
        add("without", part.feature.word, &part.words);
    }
    for part in &question.faults {
        add("faults", part.value.shown, &part.words);
    }
    for part in parsed.wished(Wish::Compared) {
        add("comparison", &format!("each with and without {}", part.feature.word), &part.words);
    }
    if let Some(part) = &parsed.tolerance {
        add(
            "comparison",
            &format!("differences up to {:.0} % do not count", part.value * 100.0),
            &part.words,
        );
    }
    if let Some(time) = plan.protocol.budget.map(duration_text) {
        let value = format!(
            "{time} at most (--for) for preparation, trials and faults together, less where it is decided before"
        );
        add("time limit", &value, parsed.budget.as_ref().map_or("", |part| &part.words));
    }
    question.ignored.iter().for_each(|words| add("left aside", "by your consent", words));
    lines.push("without `ask`:".to_owned());
    lines.extend(command_line(question, asked).lines().map(|line| format!("  {line}")));
    lines.join("\n")
}

fn entry_lines(name: &str, value: &str, words: &str) -> Vec<String> {
    let middle = WIDTH - NAME - WORDS - 2;
    let value = wrap(value, middle);
    let words = if words.is_empty() { vec!["–".to_owned()] } else { wrap(words, WORDS) };
    let column = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
    let line = |at: usize| {
        let name = if at == 0 { name } else { "" };
        let line = format!("{name:NAME$}{:middle$}  {}", column(&value, at), column(&words, at));
        line.trim_end().to_owned()
    };
    (0..value.len().max(words.len())).map(line).collect()
}

fn describe_work(question: &Question) -> String {
    match &question.work.value {
        AskedWork::Preset(work) => format!("{}: {}", work.preset.name, work.ask.summary),
        AskedWork::Folder(folder) => format!(
            "up to {} of {}: copied, read back, searched and removed",
            Bytes(200_000_000),
            quoted(&folder.to_string_lossy())
        ),
    }
}

/// The device that was asked of, or the plan's own, and the words for it.
fn describe_device<'a>(question: &'a Question, plan: &Plan) -> (String, &'a str) {
    if let Some(device) = &question.device {
        let count = question.parsed.device_count.as_ref();
        return (device.shown.clone(), count.map_or(&device.words, |count| &count.words));
    }
    let value = match (plan.models().as_slice(), &plan.device.source) {
        ([], DeviceSource::Image(size)) => {
            format!("a scratch image of {size} on this machine's disk, which is removed again")
        }
        ([], source) => source.to_string(),
        ([part], _) => describe_model(part),
        (several, _) => format!("modelled, {}, one after the other", listing(several, 8)),
    };
    (value, "")
}

/// Surprises: one candidate alone, or others beside the one that is named.
fn list_surprises(question: &Question, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    if let [only] = plan.candidates.as_slice() {
        notes.push(format!("nothing is compared: only {} is left; its times are measured", only.name));
    }
    if let [Worded { value: only, .. }] = question.parsed.candidates.as_slice() {
        let name = only.filesystem.name;
        if plan.candidates.iter().any(|part| part.filesystem != name) {
            notes.push(format!("{name} is named alone, so the preset's other candidates stand beside it"));
        }
    }
    notes
}

/// The command line that asks the same again: of the preset with its changes, or of a plan that is kept first.
fn command_line(question: &Question, asked: &QuestionPlan) -> String {
    match run_arguments(question, asked) {
        Some(arguments) => {
            let words: Vec<String> = arguments.iter().map(|part| quoted(part)).collect();
            wrap_command(&words.join(" "), WIDTH - 2, 2)
        }
        None => {
            let steps = "this question with `--plan mine.toml --dry-run`, and then `fsverdict run mine.toml`";
            wrap(steps, WIDTH - 2).join("\n")
        }
    }
}

/// The arguments of `fsverdict run` that make the same plan, if its candidates are the preset's.
pub(super) fn run_arguments(question: &Question, asked: &QuestionPlan) -> Option<Vec<String>> {
    let preset = preset(question.preset()?.preset.name)?;
    let overrides = &asked.overrides;
    let read = |overrides: &Overrides| {
        with_vocabulary(|known| read_with(preset.toml, preset.name, overrides, known)).ok()
    };
    let names =
        |candidates: &[Candidate]| candidates.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    let filesystems = names(&overrides.candidates);
    let by_name = Overrides { candidates: Vec::new(), filesystems: filesystems.clone(), ..overrides.clone() };
    if read(&by_name)? != asked.plan {
        return None;
    }
    let own = names(&read(&Overrides::default())?.candidates);
    let mut arguments = ["fsverdict", "run", preset.name].map(str::to_owned).to_vec();
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    if own != filesystems {
        add("--fs", filesystems.join(","));
    }
    overrides.device.iter().for_each(|device| add("--device", device_argument(device)));
    overrides.set.iter().for_each(|setting| add("--set", setting.clone()));
    overrides.scale.iter().for_each(|scale| add("--scale", scale.to_string()));
    overrides.budget.iter().for_each(|time| add("--for", format!("{}s", time.as_secs())));
    Some(arguments)
}

/// A device as `--device` takes it.
fn device_argument(device: &DeviceSource) -> String {
    let size = |size: &Bytes| size.to_string().replace(' ', "");
    match device {
        DeviceSource::Model { name, size: bytes } => format!("model:{name}@{}", size(bytes)),
        DeviceSource::Image(bytes) => format!("image:{}", size(bytes)),
        other => other.to_string(),
    }
}
