//! Shows how a question was understood: each entry with its value and the user's words for it, and the command line that
//! asks the same again.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{
    Candidate, DeviceSource, Overrides, Plan, preset, ranked_candidates, read_with,
};
use fsverdict_report::{listing, wrap};
use fsverdict_text::{Bytes, duration_text, join_names, quoted, wrap_command};

use super::super::with_vocabulary;
use super::left_out::LeftOutReason;
use super::parsed::Worded;
use super::question::{AskedWork, Question};
use super::question_to_plan::{QuestionPlan, phase_of_latency, phase_of_throughput};

/// The width of the messages, in columns.
pub(super) const WIDTH: usize = 80;
/// Columns of the names of entries, and of the user's words.
const NAME: usize = 12;
const WORDS: usize = 22;
/// Names of candidates that are listed.
const MOST_NAMES: usize = 12;

struct TableEntry {
    name: &'static str,
    value: String,
    words: String,
}

/// The table, within the columns of a terminal.
pub(super) fn describe_question(question: &Question, asked: &QuestionPlan) -> String {
    let parsed = &question.parsed;
    let plan = &asked.plan;
    let mut entries = vec![work(question), device(question, plan)];
    entries.extend(
        question.cpu.iter().map(|one| {
            entry("processor", plan.cpu.clone().unwrap_or_else(|| one.value.to_owned()), &one.words)
        }),
    );
    entries.extend(parsed.memory.iter().map(|one| entry("memory", one.value.to_string(), &one.words)));
    entries.push(candidates(question, plan));
    if let (Some(share), Some(work)) = (plan.scale, question.preset()) {
        let value =
            format!("{} % of the preset's; fsverdict run {} takes all", share * 100.0, work.preset.name);
        entries.push(entry("data", value, ""));
    }
    entries.extend(left_out(asked));
    entries.extend(notes(question, plan));
    entries
        .extend(parsed.required.iter().map(|one| entry("required", one.value.word().to_owned(), &one.words)));
    if let Ok(phase) = phase_of_latency(question, plan) {
        let bounds = parsed.limits.iter();
        entries.extend(bounds.map(|one| {
            entry(
                "required",
                format!("{}.{} {}", phase.name, one.value.metric, one.value.bound()),
                &one.words,
            )
        }));
    }
    for one in &parsed.throughputs {
        if let Ok(phase) = phase_of_throughput(question, plan, one.value.is_of_reading) {
            entries.push(entry(
                "required",
                format!("{}.throughput {}", phase.name, one.value.bound()),
                &one.words,
            ));
        }
    }
    entries.extend(
        parsed.unneeded.iter().map(|one| entry("not required", one.value.word().to_owned(), &one.words)),
    );
    entries.extend(parsed.absent.iter().map(|one| entry("without", one.value.word().to_owned(), &one.words)));
    entries
        .extend(question.faults.iter().map(|one| entry("faults", one.value.shown().to_owned(), &one.words)));
    entries.extend(
        parsed.compared.iter().map(|one| {
            entry("comparison", format!("each with and without {}", one.value.word()), &one.words)
        }),
    );
    entries.extend(parsed.tolerance.iter().map(|one| {
        entry("comparison", format!("differences up to {:.0} % do not count", one.value * 100.0), &one.words)
    }));
    if let Some(time) = plan.protocol.budget {
        let value = format!(
            "{} at most (--for) for preparation, trials and faults together, less where it is decided before",
            duration_text(time)
        );
        entries.push(entry("time limit", value, parsed.budget.as_ref().map_or("", |one| one.words.as_str())));
    }
    entries.extend(
        question.ignored.iter().map(|words| entry("left aside", "by your consent".to_owned(), words)),
    );
    let head = entry("", "understood as".to_owned(), "from your words");
    let lines = [head].iter().chain(&entries).flat_map(TableEntry::lines).collect::<Vec<_>>();
    let cautions = asked.cautions.iter().flat_map(|one| wrap(&format!("caution: {one}"), WIDTH));
    let again = std::iter::once("without `ask`:".to_owned()).chain(command_lines(question, asked));
    cautions.chain(lines).chain(again).collect::<Vec<_>>().join("\n")
}

fn entry(name: &'static str, value: String, words: &str) -> TableEntry {
    TableEntry { name, value, words: words.to_owned() }
}

impl TableEntry {
    fn lines(&self) -> Vec<String> {
        let middle = WIDTH - NAME - WORDS - 2;
        let value = wrap(&self.value, middle);
        let words = if self.words.is_empty() { vec!["–".to_owned()] } else { wrap(&self.words, WORDS) };
        let column = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
        let line = |at: usize| {
            let name = if at == 0 { self.name } else { "" };
            format!("{name:NAME$}{:middle$}  {}", column(&value, at), column(&words, at))
                .trim_end()
                .to_owned()
        };
        (0..value.len().max(words.len())).map(line).collect()
    }
}

fn work(question: &Question) -> TableEntry {
    let value = match &question.work.value {
        AskedWork::Preset(work) => format!("{}: {}", work.preset.name, work.ask.summary),
        AskedWork::Folder(folder) => format!(
            "up to {} of {}: copied, read back, searched and removed",
            Bytes(200_000_000),
            quoted(&folder.to_string_lossy())
        ),
    };
    entry("workload", value, &question.work.words)
}

/// The device that was asked of, or the plan's own.
fn device(question: &Question, plan: &Plan) -> TableEntry {
    if let Some(device) = &question.device {
        let count = question.parsed.device_count.as_ref();
        let words = count.map_or(device.words.as_str(), |count| count.words.as_str());
        return entry("device", device.shown.clone(), words);
    }
    let value = match (plan.models().as_slice(), &plan.device.source) {
        ([], DeviceSource::Image(size)) => {
            format!("a scratch image of {size} on this machine's disk, which is removed again")
        }
        ([], source) => source.to_string(),
        ([one], _) => {
            let summary = Model::named(one.split(':').next().unwrap_or(one));
            format!(
                "modelled, {one}{}",
                summary.map_or(String::new(), |model| format!(": {}", model.summary))
            )
        }
        (several, _) => format!("modelled, {}, one after the other", listing(several, 8)),
    };
    entry("device", value, "")
}

fn candidates(question: &Question, plan: &Plan) -> TableEntry {
    let parsed = &question.parsed;
    let names: Vec<&str> = ranked_candidates(plan).map(|candidate| candidate.name.as_str()).collect();
    let named = parsed.candidates.iter().map(|one| one.words.as_str());
    let variants = parsed.variants.iter().map(|one| one.words.as_str());
    let words: Vec<&str> =
        named.chain(variants).chain(parsed.excluded.iter().map(|one| one.words.as_str())).collect();
    entry("candidates", listing(&names, MOST_NAMES), &words.join("; "))
}

fn left_out(asked: &QuestionPlan) -> Vec<TableEntry> {
    let of_reason = |(reason, names): (LeftOutReason, &[String])| {
        let joined = join_names(names, MOST_NAMES, "and");
        let lacked: Vec<&str> = asked.left_out.lacked.iter().map(|property| property.word()).collect();
        let value = match (reason, lacked.as_slice()) {
            (LeftOutReason::Unable, [_, ..]) => {
                let lack = if names.len() == 1 { "it lacks" } else { "they lack" };
                format!("{joined}: {lack} what is required ({})", lacked.join(", "))
            }
            _ => format!("{joined}: {}", reason.describe()),
        };
        entry("left out", value, "")
    };
    let without_driver = asked.without_driver.iter().map(|why| entry("left out", why.clone(), ""));
    asked.left_out.groups().map(of_reason).chain(without_driver).collect()
}

/// Notes on surprises: one candidate alone, or others beside the one that is named.
fn notes(question: &Question, plan: &Plan) -> Vec<TableEntry> {
    let mut notes = Vec::new();
    if let [only] = plan.candidates.as_slice() {
        let value = format!("nothing is compared: only {} is left; its times are measured", only.name);
        notes.push(entry("note", value, ""));
    }
    if let [Worded { value: only, .. }] = question.parsed.candidates.as_slice() {
        let name = only.filesystem.name;
        if plan.candidates.iter().any(|one| one.filesystem != name) {
            let value = format!("{name} is named alone, so the preset's other candidates stand beside it");
            notes.push(entry("note", value, ""));
        }
    }
    notes
}

/// The command line that asks the same again: of the preset with its changes, or of a plan that is kept first.
fn command_lines(question: &Question, asked: &QuestionPlan) -> Vec<String> {
    let lines = match run_arguments(question, asked) {
        Some(arguments) => {
            let line = arguments.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(" ");
            wrap_command(&line, WIDTH - 2, 2)
        }
        None => {
            let steps = "this question with `--plan mine.toml --dry-run`, and then `fsverdict run mine.toml`";
            wrap(steps, WIDTH - 2).join("\n")
        }
    };
    lines.lines().map(|line| format!("  {line}")).collect()
}

/// The arguments of `fsverdict run` that make the same plan, if its candidates are the preset's.
pub(super) fn run_arguments(question: &Question, asked: &QuestionPlan) -> Option<Vec<String>> {
    let preset = preset(question.preset()?.preset.name)?;
    let overrides = &asked.overrides;
    let read = |overrides: &Overrides| {
        with_vocabulary(|known| read_with(preset.toml, preset.name, overrides, known)).ok()
    };
    let names = |candidates: &[Candidate]| candidates.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
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
