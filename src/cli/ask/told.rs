//! Shows as a table how a question was understood: each entry with its value and the user's words for it.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{DeviceSource, Plan, ranked_candidates};
use fsverdict_report::{listing, wrap};
use fsverdict_text::{Bytes, duration_text, join_names, quoted};

use super::asked_plan::AskedPlan;
use super::left_out::LeftOutReason;
use super::prompt::WIDTH;
use super::question::{AskedWork, Question};
use super::settings::phase_of_throughput;

/// Columns of the names of entries, and of the user's words.
const NAME: usize = 12;
const WORDS: usize = 22;

/// Names of candidates that are listed.
const MOST_NAMES: usize = 12;

struct TableEntry {
    name: &'static str,
    is: String,
    words: String,
}

/// The table, within the columns of a terminal.
pub(super) fn tell(question: &Question, asked: &AskedPlan) -> String {
    let mut entries = vec![work(question), device(question, &asked.plan), candidates(question, asked)];
    if let (Some(share), AskedWork::Preset(preset)) = (asked.plan.scale, &question.work) {
        let is = format!("{} % of the preset's; fsverdict run {} takes all", share * 100.0, preset.name);
        entries.push(entry("data", is, ""));
    }
    entries.extend(asked.left_out.groups().map(|(reason, names)| {
        let joined = join_names(names, MOST_NAMES, "and");
        let lacked: Vec<&str> = asked.left_out.lacked.iter().map(|property| property.word()).collect();
        let is = match (reason, lacked.as_slice()) {
            (LeftOutReason::Unable, [_, ..]) => {
                let lack = if names.len() == 1 { "it lacks" } else { "they lack" };
                format!("{joined}: {lack} what is required ({})", lacked.join(", "))
            }
            _ => format!("{joined}: {}", reason.describe()),
        };
        entry("left out", is, "")
    }));
    entries.extend(asked.without_driver.iter().map(|why| entry("left out", why.clone(), "")));
    if let [only] = asked.plan.candidates.as_slice() {
        let is = format!("nothing is compared: only {} is left; its times are measured", only.name);
        entries.push(entry("note", is, ""));
    }
    entries.extend(named_alone(question, &asked.plan));
    entries.extend(requirements(question));
    entries.extend(throughputs(question, &asked.plan));
    entries.extend(
        question.faults.iter().map(|said| entry("faults", said.value.shown().to_owned(), &said.words)),
    );
    entries.extend(comparison(question));
    if let Some(time) = asked.plan.protocol.budget {
        let is = format!(
            "{} at most (--for) for preparation, trials and faults together, less where it is decided before",
            duration_text(time)
        );
        entries.push(entry("time limit", is, &question.time_words));
    }
    entries.extend(fewer_devices(question, &asked.plan));
    if !question.aside.is_empty() {
        entries.push(entry("left aside", "not understood".to_owned(), &question.aside.join(", ")));
    }
    let head = TableEntry { name: "", is: "understood as".to_owned(), words: "from your words".to_owned() };
    let lines = [head].iter().chain(&entries).flat_map(TableEntry::lines).collect::<Vec<_>>();
    let cautions = asked.cautions.iter().flat_map(|one| wrap(&format!("caution: {one}"), WIDTH));
    cautions.chain(lines).collect::<Vec<_>>().join("\n")
}

fn entry(name: &'static str, is: String, words: &str) -> TableEntry {
    TableEntry { name, is, words: words.to_owned() }
}

impl TableEntry {
    fn lines(&self) -> Vec<String> {
        let is = wrap(&self.is, WIDTH - NAME - WORDS - 2);
        let words = if self.words.is_empty() { vec!["–".to_owned()] } else { wrap(&self.words, WORDS) };
        let column = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
        let line = |at: usize| {
            let name = if at == 0 { self.name } else { "" };
            let middle = WIDTH - NAME - WORDS - 2;
            format!("{name:NAME$}{:middle$}  {}", column(&is, at), column(&words, at)).trim_end().to_owned()
        };
        (0..is.len().max(words.len())).map(line).collect()
    }
}

fn work(question: &Question) -> TableEntry {
    let is = match &question.work {
        AskedWork::Preset(preset) => format!("{}: {}", preset.name, preset.asked_by().summary),
        AskedWork::Folder(folder) => format!(
            "up to {} of {}: copied, read back, searched and removed",
            Bytes(200_000_000),
            quoted(&folder.to_string_lossy())
        ),
    };
    entry("workload", is, &question.work_words)
}

fn device(question: &Question, plan: &Plan) -> TableEntry {
    match &question.device {
        Some(device) => entry("device", device.shown.clone(), &device.said),
        None => entry("device", own_device(plan), ""),
    }
}

/// The entry about a number of devices that the plan does not have.
fn fewer_devices(question: &Question, plan: &Plan) -> Option<TableEntry> {
    let asked_count = question.device_count.as_ref()?;
    let count = plan.device.count();
    (u64::from(asked_count.value) != u64::try_from(count).ok()?).then(|| {
        let is = match count {
            1 => "the answer is about one of them; `fsverdict ask nas` is about two with the same on both"
                .to_owned(),
            several => format!(
                "the answer is about {several} of them; the candidates of `{}` use so many",
                question.name()
            ),
        };
        entry("left aside", is, &asked_count.words)
    })
}

fn candidates(question: &Question, asked: &AskedPlan) -> TableEntry {
    let heard = &question.candidates;
    let names: Vec<&str> = ranked_candidates(&asked.plan).map(|candidate| candidate.name.as_str()).collect();
    let named = heard.named.iter().map(|said| said.words.clone());
    let options = heard.options.iter().map(|said| said.words.clone());
    let excluded = heard.excluded.iter().map(|said| said.words.clone());
    let unencrypted = heard.unencrypted.iter().map(|said| said.words.clone());
    let layers = heard.layers.iter().map(|said| said.words.clone());
    let words: Vec<String> = named.chain(layers).chain(options).chain(excluded).chain(unencrypted).collect();
    entry("candidates", listing(&names, MOST_NAMES), &words.join("; "))
}

/// The entry on a filesystem that is named alone, beside others of the plan.
fn named_alone(question: &Question, plan: &Plan) -> Option<TableEntry> {
    let heard = &question.candidates;
    let [only] = heard.named.as_slice() else { return None };
    let name = only.value.filesystem.name;
    let has_others = plan.candidates.iter().any(|one| one.filesystem != name);
    (has_others && heard.compared.is_empty() && only.value.options.is_empty()).then(|| {
        entry("note", format!("{name} is named alone, so the others of the question stand beside it"), "")
    })
}

fn requirements(question: &Question) -> Vec<TableEntry> {
    let properties =
        question.must.iter().map(|said| entry("required", said.value.word().to_owned(), &said.words));
    let phase = match &question.work {
        AskedWork::Preset(preset) => preset.asked_by().latency.unwrap_or_default(),
        AskedWork::Folder(_) => String::new(),
    };
    let limits = question
        .limits
        .iter()
        .map(|said| entry("required", format!("{phase}.{}", said.value.shown()), &said.words));
    properties.chain(limits).collect()
}

fn throughputs(question: &Question, plan: &Plan) -> Vec<TableEntry> {
    let each = question.throughputs.iter().filter_map(|said| {
        let phase = phase_of_throughput(question, plan, said.value.is_of_reading).ok()?;
        Some(entry("required", format!("{}.throughput {}", phase.name, said.value.bound()), &said.words))
    });
    each.collect()
}

fn comparison(question: &Question) -> Vec<TableEntry> {
    let features = question.candidates.compared.iter();
    let compared = features
        .map(|said| entry("comparison", format!("each with and without {}", said.value.word()), &said.words));
    let tolerance = question.tolerance.iter().map(|said| {
        let is = format!("differences up to {:.0} % do not count", said.value.share * 100.0);
        entry("comparison", is, &said.words)
    });
    compared.chain(tolerance).collect()
}

/// The device of a plan, for a question that named none.
fn own_device(plan: &Plan) -> String {
    match (plan.models().as_slice(), &plan.device.source) {
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
    }
}
