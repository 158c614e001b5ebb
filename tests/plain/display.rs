//! No character that steers a terminal or hides something leaves the program: not on standard output, not on standard error, in no
//! page, no file and no name of a file. A run, a plan and words of a stranger's that hold all of them go through every command of the
//! command line and every form in which it shows something.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use clap::CommandFactory;
use fsverdict::cli::Cli;
use fsverdict_judgement::journal::Record;
use fsverdict_judgement::plan::Plan;
use fsverdict_text::is_hidden;
use serde_json::{Value, json};

use crate::common::Place;

/// Escape sequences, control characters of both sets, marks and overrides of direction, separators of lines and paragraphs.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{8}\r\u{7f}\u{85}\u{9b}31m\u{9f}\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

/// What each command is given, so that it reads and repeats what is hostile: `RUN`, `BUNDLE`, `SHARED`, `PLAN`, `PAGE` and `CALLS`
/// stand for where that lies, `HOSTILE` for a word.
const COMMANDS: &[(&str, &[&[&str]])] = &[
    (
        "ask",
        &[
            &["HOSTILE"],
            &["--work", "HOSTILE"],
            &["mail", "on", "HOSTILE"],
            &["mail", "--must", "HOSTILE"],
            &["mail", "HOSTILE", "--dry-run"],
        ],
    ),
    (
        "run",
        &[
            &["HOSTILE"],
            &["PLAN", "--dry-run"],
            &["PAGE", "--dry-run"],
            &["RUN"],
            &["demo", "--set", "HOSTILE"],
            &["demo", "--fs", "HOSTILE"],
            &["demo", "--lab", "HOSTILE"],
            &["demo", "--HOSTILE"],
        ],
    ),
    ("resume", &[&["RUN"], &["HOSTILE"]]),
    ("block", &[&["RUN", "--site", "a", "--block", "1"], &["RUN", "--site", "HOSTILE", "--block", "1"]]),
    ("merge", &[&["SHARED"], &["BUNDLE", "DEMO"]]),
    (
        "bundle",
        &[
            &["RUN", "--output", "NEW"],
            &["RUN", "--with-names", "--output", "NEW"],
            &["RUN", "--also", "HOSTILE", "--output", "NEW"],
        ],
    ),
    ("report", &[&["RUN"], &["RUN", "--all"], &["BUNDLE"], &["HOSTILE"]]),
    ("status", &[&["RUN"], &["HOSTILE"]]),
    (
        "atlas",
        &[
            &["build", "RUN", "games", "--devices", "nvme-ssd", "--render", "--out", "NEW"],
            &["build", "HOSTILE", "--render", "--out", "NEW"],
        ],
    ),
    ("compare", &[&["RUN", "BUNDLE"], &["RUN", "DEMO"]]),
    ("trace", &[&["RUN", "HOSTILE"]]),
    ("crash", &[&["RUN"]]),
    ("doctor", &[&["PLAN"], &["HOSTILE"]]),
    ("list", &[&["HOSTILE"], &["presets"]]),
    ("show", &[&["RUN"], &["PLAN"], &["PAGE"], &["HOSTILE"]]),
    ("kernel", &[&["list"], &["import", "HOSTILE"], &["HOSTILE"]]),
    ("tools", &[&["list"], &["HOSTILE"]]),
    ("calibrate", &[&["HOSTILE"], &["--against", "HOSTILE"]]),
    ("capture", &[&["HOSTILE"], &["--trace", "CALLS", "--below", "HOSTILE"], &["--trace", "HOSTILE"]]),
    ("clean", &[&["HOSTILE"]]),
    ("man", &[&["HOSTILE"], &["plan"]]),
    ("completions", &[&["HOSTILE"], &["bash"]]),
];

/// A form that is no text: it is refused on a terminal.
const BINARY: &str = "blktrace";

/// Appends the hostile characters to every text of a value that somebody may have chosen: all but those without which it could not
/// be read.
fn plant(value: &Value, is_readable: &dyn Fn(&Value) -> bool) -> Value {
    let mut planted = value.clone();
    for pointer in texts(value, String::new()) {
        let before = planted.clone();
        let text = planted.pointer_mut(&pointer).unwrap();
        *text = format!("{}{HOSTILE}", text.as_str().unwrap()).into();
        if !is_readable(&planted) {
            planted = before;
        }
    }
    planted
}

/// Where the texts of a value are; metrics keep their names, lest nothing be known of any number.
fn texts(value: &Value, at: String) -> Vec<String> {
    match value {
        Value::String(_) => vec![at],
        Value::Array(values) => values
            .iter()
            .enumerate()
            .flat_map(|(number, value)| texts(value, format!("{at}/{number}")))
            .collect(),
        Value::Object(members) => {
            let wanted = members.iter().filter(|(name, _)| *name != "metric");
            wanted
                .flat_map(|(name, value)| {
                    texts(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")))
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

fn hostile_plan() -> Value {
    let mut plan: Value = serde_json::from_str(include_str!("../runs/demo/plan.json")).unwrap();
    let phase = plan["phases"][0]["name"].clone();
    let required =
        json!({ "phase": phase, "metric": "durable", "bound": "at_most", "value": 1e-6, "said": "<= 1us" });
    plan["goal"]["require"] = json!({ "numbers": [required] });
    plan["published"] = json!([{
        "finding": "f", "source": "s", "phase": phase, "metric": "durable",
        "claim": { "kind": "spread", "spread": 2.0, "among": [] },
    }]);
    let weights = plan["goal"]["weights"].as_object().unwrap().clone();
    let planted = plant(&plan, &|value| serde_json::from_value::<Plan>(value.clone()).is_ok());
    let mut planted = planted;
    planted["goal"]["weights"] = weights
        .into_iter()
        .map(|(name, weight)| (format!("{name}{HOSTILE}"), weight))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert!(serde_json::from_value::<Plan>(planted.clone()).is_ok());
    planted
}

fn hostile_journal() -> String {
    let lines = include_str!("../runs/demo/journal.jsonl").lines().map(|line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        for facts in ["environment", "facts"] {
            if let Some(Value::Object(facts)) = value.get_mut(facts) {
                facts.insert(format!("fact{HOSTILE}"), "fact".into());
            }
        }
        let planted = plant(&value, &|value| serde_json::from_value::<Record>(value.clone()).is_ok());
        planted.to_string() + "\n"
    });
    let caution =
        json!({ "at": "2026-11-21T07:00:00Z", "event": "caution", "text": format!("caution {HOSTILE}") });
    lines.collect::<String>() + &format!("{caution}\n")
}

/// A plan of which every text is hostile, as its author would write it.
fn hostile_toml() -> String {
    let escaped: String = HOSTILE.chars().map(|letter| format!("\\U{:08X}", u32::from(letter))).collect();
    format!(
        "title = \"t{escaped}\"\nprotocol.blocks = 3\ndevice.image = \"1GiB\"\n\
         dataset.tree = {{ profile = \"mixed\", files = 10, directories = 2, size = \"1MiB\" }}\n\
         matrix.filesystem = [\"ext4\"]\nmatrix.mkfs = [\"-L 'l{escaped}'\"]\n\
         phase = [{{ name = \"write\", operation = \"tree.write\", dataset = \"tree\" }},\n\
         {{ name = \"c\", command = \"true {escaped}\" }}]\n"
    )
}

/// Everything hostile, each in its place below a folder.
fn lay_out(place: &Path) {
    let (plan, journal) = (hostile_plan().to_string(), hostile_journal());
    for folder in ["run", "shared/sites/a"] {
        fs::create_dir_all(place.join(folder)).unwrap();
    }
    fs::write(place.join("run/plan.json"), &plan).unwrap();
    fs::write(place.join("run/journal.jsonl"), &journal).unwrap();
    fs::write(place.join("shared/plan.json"), &plan).unwrap();
    fs::write(place.join("shared/sites/a/block-0001.jsonl"), &journal).unwrap();
    let compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(compressed);
    for (name, content) in [("x/plan.json", &plan), ("x/journal.jsonl", &journal)] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    fs::write(place.join("bundle.tar.gz"), archive.into_inner().unwrap().finish().unwrap()).unwrap();
    let toml = hostile_toml();
    fs::write(place.join("plan.toml"), &toml).unwrap();
    let escaped = toml.replace('&', "&amp;").replace('"', "&quot;");
    let page = format!("<!DOCTYPE html><pre id=\"plan\" tabindex=\"0\">{escaped}</pre>");
    fs::write(place.join("page.html"), page).unwrap();
    let calls = format!("7 100.0 mkdir(\"/srv/d{HOSTILE}\", 0755) = 0\n{HOSTILE}\n");
    fs::write(place.join("calls.txt"), calls).unwrap();
}

/// What of a text may not be displayed, with what stands around it.
fn hidden_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let at = text.find(is_hidden)?;
    let before: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
    Some(format!("{:?} after {before:?}", text[at..].chars().next().unwrap()))
}

fn run_hostile(place: &Place, command: &str, words: &[&str], format: Option<&str>) -> Output {
    let file = |word: &str| match word {
        "RUN" => "run".to_owned(),
        "BUNDLE" => "bundle.tar.gz".to_owned(),
        "SHARED" => "shared".to_owned(),
        "PLAN" => "plan.toml".to_owned(),
        "PAGE" => "page.html".to_owned(),
        "CALLS" => "calls.txt".to_owned(),
        "NEW" => "new.tar.gz".to_owned(),
        "DEMO" => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo").to_owned(),
        other => other.replace("HOSTILE", HOSTILE),
    };
    let _ = fs::remove_file(place.path().join("new.tar.gz"));
    let mut all: Vec<String> = vec![command.to_owned()];
    all.extend(words.iter().map(|word| file(word)));
    if let Some(format) = format {
        all.extend(["--format".to_owned(), format.to_owned()]);
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // Where colours are wished for, nothing but styles is added.
    place.command(&all).env_remove("NO_COLOR").output().unwrap()
}

#[test]
fn nothing_hostile_passes_through_any_command_in_any_form() {
    let place = Place::new();
    lay_out(place.path());
    let tree = Cli::command();
    let known: Vec<&str> =
        tree.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
    let rows: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(known, rows, "every command has its row");
    let (mut wrong, mut shown, mut tried) = (Vec::new(), 0, 0);
    for command in tree.get_subcommands().filter(|one| !one.is_hide_set()) {
        let (_, uses) = COMMANDS.iter().find(|(name, _)| *name == command.get_name()).unwrap();
        let formats = command.get_arguments().find(|argument| argument.get_long() == Some("format"));
        let formats: Vec<String> = formats
            .map(|argument| {
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
            })
            .unwrap_or_default();
        let formats = formats.iter().map(String::as_str).filter(|format| *format != BINARY).map(Some);
        for format in [None].into_iter().chain(formats) {
            for words in *uses {
                let output = run_hostile(&place, command.get_name(), words, format);
                tried += 1;
                let is_stopped = output.status.code().is_none_or(|code| code > 125);
                let said = String::from_utf8_lossy(&output.stdout).into_owned()
                    + &String::from_utf8_lossy(&output.stderr);
                shown += usize::from(said.contains('·') || said.contains("\\u009b") || said.contains("\\U"));
                for (where_to, bytes) in
                    [("standard output", &output.stdout), ("standard error", &output.stderr)]
                {
                    if let Some(found) = hidden_in(bytes) {
                        wrong.push(format!(
                            "{} {words:?} {format:?}, {where_to}: {found}",
                            command.get_name()
                        ));
                    }
                }
                if is_stopped || said.is_empty() {
                    wrong.push(format!("{} {words:?} {format:?}: {}", command.get_name(), output.status));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    // What was planted has been shown, in its place something that is visible.
    assert!(shown > 30 && tried > 60, "{shown} of {tried}");
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_hostile_gets_into_a_page_a_file_or_its_name() {
    let place = Place::new();
    lay_out(place.path());
    let before = files(place.path());
    let formats = ["terminal", "html", "markdown", "csv", "json"];
    for format in formats {
        for (number, words) in
            [["report", "run"].as_slice(), &["report", "bundle.tar.gz"], &["compare", "run", "bundle.tar.gz"]]
                .iter()
                .enumerate()
        {
            let output = format!("written-{number}.{format}");
            let words = [words, ["--format", format, "--output", output.as_str()].as_slice()].concat();
            let seen = place.fsverdict(&words);
            assert!(seen.code == Some(0) || words[0] == "compare", "{seen:#?}");
        }
    }
    // A run that has ended makes its reports anew.
    place.fsverdict(&["report", "run", "--open"]);
    place.fsverdict(&["bundle", "run", "--with-names", "--output", "named.tar.gz"]);
    place.fsverdict(&["run", "plan.toml", "--dry-run"]);
    place.fsverdict(&["merge", "shared"]);
    let written: Vec<PathBuf> =
        files(place.path()).into_iter().filter(|path| !before.contains(path)).collect();
    assert!(written.len() > 10, "{written:?}");
    for path in written {
        let name = path.as_os_str().as_encoded_bytes();
        assert_eq!(hidden_in(name), None, "{}", path.display());
        if path.extension().is_some_and(|kind| formats.iter().any(|format| kind == *format)) {
            assert_eq!(hidden_in(&fs::read(&path).unwrap()), None, "{}", path.display());
        }
    }
    let json = fs::read_to_string(place.path().join("written-0.json")).unwrap();
    assert!(json.contains("\\u009b") && json.contains("\\u202e"), "data come back whole from JSON");
    let document: Value = serde_json::from_str(&json).unwrap();
    assert!(document["candidates"][0]["name"].as_str().unwrap().ends_with(HOSTILE));
    let page = fs::read_to_string(place.path().join("written-0.html")).unwrap();
    assert!(page.contains("·"));
}

/// Everything that is displayed goes through the two writers that see to it.
#[test]
fn results_and_talk_leave_through_one_writer_each() {
    const ALLOWED: [&str; 4] = [
        "crates/linux/src/host/results.rs",
        "crates/linux/src/host/messages.rs",
        // What an agent tells its conductor.
        "crates/lab/src/trial/staged_once.rs",
        "crates/lab/src/trial/sink.rs",
    ];
    const WRITES: [&str; 8] = [
        "stdout().lock()",
        "stderr().lock()",
        "println!",
        "print!(",
        "io::stdout().write",
        "io::stderr().write",
        "anstream::stdout",
        "anstream::stderr",
    ];
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut others = Vec::new();
    let mut looked_at = 0;
    for path in ["src", "crates/report/src", "crates/text/src", "crates/judgement/src"]
        .iter()
        .flat_map(|folder| files(&package.join(folder)))
    {
        let name = path.strip_prefix(package).unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".rs") || ALLOWED.contains(&name.as_str()) {
            continue;
        }
        looked_at += 1;
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        others.extend(
            lines
                .filter(|line| WRITES.iter().any(|write| line.contains(write)))
                .map(|line| format!("{name}: {line}")),
        );
    }
    assert!(looked_at > 300 && others.is_empty(), "{looked_at}: {others:#?}");
}

/// What rounding left of the difference of two times, 3e-17 s, was shown as `0.000000000028` microseconds.
#[test]
fn a_time_below_the_resolution_of_any_clock_is_shown_as_none() {
    let place = Place::new();
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo");
    // CSV gives what was recorded as it was recorded.
    for form in ["terminal", "markdown", "json", "html"] {
        let seen = match form {
            "terminal" => place.fsverdict(&["report", recorded, "--all"]),
            _ => place.fsverdict(&["report", recorded, "--all", "--format", form]),
        };
        let seen = seen.exits(0);
        let is_tiny = |word: &str| {
            let number = word.parse::<f64>().unwrap_or(0.0);
            (word.contains("0.0000000") || word.contains("e-1")) && number != 0.0 && number.abs() < 1e-9
        };
        let words =
            seen.stdout.split(|letter: char| !(letter.is_ascii_alphanumeric() || ".-+".contains(letter)));
        let tiny: Vec<&str> = words.filter(|word| is_tiny(word)).collect();
        assert!(tiny.is_empty(), "{form}: {tiny:?}");
    }
}
