//! Opens the HTML report of a recorded run in a real browser: every chart is drawn, nothing is complained of, and it
//! fits a phone and the dark. Without chromium these tests say so and check nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{members, not_run};

/// Runs in tests/runs: what was measured, as the journal has it.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs");
const PROBE: &str = include_str!("browser/probe.html");
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    BROWSERS.iter().find_map(|name| places.iter().map(|place| place.join(name)).find(|file| file.is_file()))
}

#[track_caller]
fn browser_or_not() -> Option<PathBuf> {
    let found = browser();
    if found.is_none() {
        not_run(&format!("there is no {} on the PATH", BROWSERS.join(", ")));
    }
    found
}

/// The page of a recorded run, made by the program itself.
fn report(run: &Path, folder: &Path) -> PathBuf {
    let page = folder.join("report.html");
    let made = Command::new(env!("CARGO_BIN_EXE_fsverdict"))
        .arg("report")
        .arg(run)
        .args(["--format", "html", "--output"])
        .arg(&page)
        .output()
        .unwrap();
    assert!(page.is_file(), "{}", String::from_utf8_lossy(&made.stderr));
    page
}

/// What the browser has on the page in the end, and what it complained of.
struct Opened {
    document: String,
    complaints: Vec<String>,
}

fn open(browser: &Path, page: &Path, more: &[&str]) -> Opened {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--hide-scrollbars", "--window-size=1280,900"])
        .args(["--allow-file-access-from-files", "--virtual-time-budget=30000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    Opened {
        document: String::from_utf8_lossy(&output.stdout).into_owned(),
        complaints: said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect(),
    }
}

/// What a reader sees in a frame of this width.
fn look(browser: &Path, run: &Path, width: u32, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    report(run, folder.path());
    let probe = folder.path().join("probe.html");
    std::fs::write(&probe, PROBE.replace("PAGE", "report.html").replace("WIDTH", &width.to_string()))
        .unwrap();
    let opened = open(browser, &probe, more);
    assert_eq!(opened.complaints, Vec::<String>::new());
    let (_, rest) = opened.document.split_once("<pre id=\"seen\">").unwrap();
    let (seen, _) = rest.split_once("</pre>").unwrap();
    let seen: Value = serde_json::from_str(seen).unwrap_or_else(|error| panic!("{error}: {seen}"));
    assert_eq!(seen["error"], "", "{seen}");
    seen
}

fn demo() -> PathBuf {
    Path::new(RECORDED).join("demo")
}

/// The recorded run in another form.
fn reported(format: &str) -> Vec<u8> {
    let done = Command::new(env!("CARGO_BIN_EXE_fsverdict"))
        .arg("report")
        .arg(demo())
        .args(["--format", format])
        .output();
    done.unwrap().stdout
}

#[test]
fn the_page_of_a_real_run_opens_without_a_complaint() {
    let Some(browser) = browser_or_not() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = report(&demo(), folder.path());
    assert!(std::fs::metadata(&page).unwrap().len() < 6_000_000);
    let opened = open(&browser, &page, &[]);
    assert_eq!(opened.complaints, Vec::<String>::new());
    let document = &opened.document;
    let json: Value = serde_json::from_slice(&reported("json")).unwrap();
    assert!(document.contains(json["run"]["title"].as_str().unwrap()));
    assert!(
        document.contains("id=\"verdict\" class=\"sentence\"")
            || document.contains("class=\"sentence\" id=\"verdict\"")
    );
    // Four phases, durable against returned, time against CPU and bytes written, mkfs, mount and umount (space was counted in
    // another way then). One block
    // shows no drift.
    assert!(document.contains("data-ready=\"10\""), "{}", &document[..300]);
    assert!(!document.contains("data-error"));
}

#[test]
fn every_chart_is_drawn_and_its_controls_work() {
    let Some(browser) = browser_or_not() else { return };
    let seen = look(&browser, &demo(), 1200, &[]);
    assert_eq!(seen["figures"], 10, "{seen}");
    assert_eq!(seen["drawn"], seen["figures"], "{seen}");
    assert!(seen["points"].as_u64().unwrap() >= 32, "each of sixteen trials at both clocks: {seen}");
    assert_eq!(seen["unnamed"], 0, "{seen}");
    assert_eq!((seen["rows"].as_u64(), seen["rows_less"].as_u64()), (Some(16), Some(15)), "{seen}");
    assert_eq!((seen["ticks"].as_u64(), seen["ticks_less"].as_u64()), (Some(16), Some(15)), "{seen}");
    assert_eq!(seen["axis_changed"], true, "{seen}");
    assert!(
        seen["csv"].as_str().unwrap().as_bytes() == reported("csv"),
        "the button saves what the command prints"
    );
    let cell = seen["cell"].as_str().unwrap();
    assert!(cell.ends_with('s') && !cell.contains('×'), "{seen}");
}

#[test]
fn verdict_cautions_and_picture_are_seen_without_scrolling() {
    let Some(browser) = browser_or_not() else { return };
    let seen = look(&browser, &demo(), 1366, &[]);
    assert!(seen["picture_bottom"].as_u64().unwrap() <= 768, "{seen}");
    assert_eq!((seen["cautions"].as_u64(), seen["broken_names"].as_u64()), (Some(1), Some(0)), "{seen}");
    assert_eq!(seen["basis_lines"], 2, "{seen}");
}

#[test]
fn every_point_and_interval_lies_within_its_axes() {
    let Some(browser) = browser_or_not() else { return };
    let runs = ["demo", "nights/1", "nights/4", "recorded"];
    for run in members(runs, |run| (*run).to_owned(), ["demo", "nights/1"]) {
        let seen = look(&browser, &Path::new(RECORDED).join(run), 1366, &[]);
        assert_eq!(seen["outside"], serde_json::json!([]), "{run}: {seen}");
        assert!(seen["figures"].as_u64().unwrap() > 3, "{run}: {seen}");
    }
}

#[test]
fn a_phone_need_not_scroll_sideways() {
    let Some(browser) = browser_or_not() else { return };
    let seen = look(&browser, &demo(), 390, &[]);
    assert_eq!(seen["page_width"], 390, "{seen}");
    assert_eq!(seen["content_width"], 390, "{seen}");
    assert_eq!(seen["too_wide"], 0, "{seen}");
    assert_eq!(
        (seen["sideways"].as_u64(), seen["content_width_unfolded"].as_u64()),
        (Some(0), Some(390)),
        "{seen}"
    );
    assert!(seen["cards"].as_u64().unwrap() >= 2, "{seen}");
    assert_eq!(seen["drawn"], seen["figures"], "{seen}");
}

#[test]
fn the_page_is_dark_where_the_reader_wants_it() {
    let Some(browser) = browser_or_not() else { return };
    let sum = |seen: &Value, name: &str| -> u64 {
        seen[name].as_array().unwrap().iter().filter_map(Value::as_u64).sum()
    };
    let light = look(&browser, &demo(), 1200, &["--blink-settings=preferredColorScheme=1"]);
    let dark = look(&browser, &demo(), 1200, &["--blink-settings=preferredColorScheme=0"]);
    assert!(sum(&light, "paper") > 700 && sum(&light, "ink") < 150, "{light}");
    assert!(sum(&dark, "paper") < 100 && sum(&dark, "ink") > 600, "{dark}");
    assert_eq!(dark["drawn"], dark["figures"], "{dark}");
}

#[test]
fn a_run_without_a_trial_opens_too() {
    let Some(browser) = browser_or_not() else { return };
    let folder = tempfile::tempdir().unwrap();
    let journal = std::fs::read_to_string(demo().join("journal.jsonl")).unwrap();
    let first = journal.lines().next().unwrap();
    std::fs::write(folder.path().join("journal.jsonl"), format!("{first}\n")).unwrap();
    std::fs::copy(demo().join("plan.json"), folder.path().join("plan.json")).unwrap();
    let opened = open(&browser, &report(folder.path(), folder.path()), &[]);
    assert_eq!(opened.complaints, Vec::<String>::new());
    assert!(opened.document.contains("No result yet") && opened.document.contains("data-ready=\"0\""));
}

/// What somebody might put into any text of a run: a way out of every kind of place it could stand in, and then what loads
/// something or runs a script.
const HOSTILE: &str = r#"</title></script></style></pre>"'><script>document.documentElement.dataset.pwned = 1</script>
    <img src=http://127.0.0.1:PORT/img onerror="document.documentElement.dataset.pwned = 2">
    <base href=http://127.0.0.1:PORT/><link rel=stylesheet href=http://127.0.0.1:PORT/css>
    <iframe src=http://127.0.0.1:PORT/frame></iframe><object data=http://127.0.0.1:PORT/object></object>
    <style>@import url(http://127.0.0.1:PORT/import);body{display:none}</style>
    <form action=http://127.0.0.1:PORT/form><input name=x autofocus onfocus="document.documentElement.dataset.pwned = 3"></form>"#;
/// No policy keeps a page from being replaced by this: it must never stand there as markup.
const REFRESH: &str = r#"<meta http-equiv=refresh content="0;url=http://127.0.0.1:PORT/refresh">"#;
/// Keys of plans and journals whose text anybody may have chosen.
const CHOSEN: [&str; 7] = ["title", "reason", "text", "stderr", "lab_reason", "fidelity", "hint"];

/// Makes every such text this one.
fn plant(value: &mut Value, hostile: &str) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if CHOSEN.contains(&key.as_str()) {
                    *value = hostile.into();
                }
                plant(value, hostile);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| plant(value, hostile)),
        _ => {}
    }
}

/// A run of which every text that somebody chose is this, a candidate's name included.
fn hostile_run(folder: &Path, hostile: &str) {
    let in_json = serde_json::to_string(hostile).unwrap();
    for name in ["plan.json", "journal.jsonl"] {
        let text = std::fs::read_to_string(demo().join(name)).unwrap();
        let lines = if name == "plan.json" { vec![text.as_str()] } else { text.lines().collect() };
        let lines = lines.iter().map(|line| {
            let mut value: Value = serde_json::from_str(&line.replace("\"btrfs+luks2\"", &in_json)).unwrap();
            plant(&mut value, hostile);
            if let Some(facts) = value.get_mut("environment") {
                facts["cpu.model"] = hostile.into();
                facts[hostile] = hostile.into();
            }
            value.to_string() + "\n"
        });
        std::fs::write(folder.join(name), lines.collect::<String>()).unwrap();
    }
}

/// Somebody who listens, and how many have asked for something. A browser may connect ahead of what it then is not to load.
fn listener() -> (String, impl Fn() -> usize) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let asks = |mut stream: std::net::TcpStream| {
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
        std::io::Read::read(&mut stream, &mut [0; 100]).is_ok_and(|bytes| bytes > 0)
    };
    (port, move || {
        std::iter::from_fn(|| listener.accept().ok())
            .filter_map(|(stream, _)| asks(stream).then_some(()))
            .count()
    })
}

#[test]
fn a_hostile_run_makes_a_page_that_runs_and_loads_nothing_of_its() {
    let Some(browser) = browser_or_not() else { return };
    let (port, came) = listener();
    let folder = tempfile::tempdir().unwrap();
    hostile_run(folder.path(), &format!("{HOSTILE}{REFRESH}").replace("PORT", &port));
    let opened = open(&browser, &report(folder.path(), folder.path()), &[]);
    assert_eq!(opened.complaints, Vec::<String>::new());
    assert!(opened.document.contains("data-ready=\"10\""), "{}", &opened.document[..300]);
    assert!(!opened.document.contains("data-pwned=") && !opened.document.contains("data-error"));
    assert!(opened.document.contains("&lt;base href="), "what was planted is there, as text");
    assert_eq!(came(), 0);
}

#[test]
fn what_stands_in_a_page_as_markup_all_the_same_runs_and_loads_nothing() {
    let Some(browser) = browser_or_not() else { return };
    let (port, came) = listener();
    let folder = tempfile::tempdir().unwrap();
    let page = report(&demo(), folder.path());
    let text = std::fs::read_to_string(&page).unwrap();
    // As if something were not escaped.
    let planted = text.replacen("<main>", &format!("<main>{}", HOSTILE.replace("PORT", &port)), 1);
    assert_ne!(planted, text);
    std::fs::write(&page, planted).unwrap();
    let opened = open(&browser, &page, &[]);
    let refused = |line: &String| line.contains("Content Security Policy");
    assert!(opened.complaints.iter().any(refused), "{:?}", opened.complaints);
    assert!(!opened.document.contains("data-pwned="), "a script ran");
    assert_eq!(came(), 0, "something was loaded");
    // Our own scripts still run.
    assert!(opened.document.contains("data-ready=\"10\""));
}
