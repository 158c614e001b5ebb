//! What the report of a long run costs, and how the page's cost grows: a recorded run's first block, repeated until it has up to
//! 100 000 observations with a little noise, is rendered by the program itself in every form.
//!
//! `cargo bench --bench report_render` takes half a minute and 300 MB in the temporary folder; a path behind `--` names
//! another program to measure. The page is to take less than 2 s and 200 MB, and to be smaller than 6 MB.

#![expect(
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to clean up but its own folder"
)]

#[path = "common/spent.rs"]
mod spent;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo");
const OBSERVATIONS: [usize; 4] = [12_500, 25_000, 50_000, 100_000];

/// Writes a run of about so many observations; how many it has.
fn long_run(folder: &Path, observations: usize) -> usize {
    fs::copy(Path::new(RECORDED).join("plan.json"), folder.join("plan.json")).unwrap();
    let journal = fs::read_to_string(Path::new(RECORDED).join("journal.jsonl")).unwrap();
    let events: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut long = std::io::BufWriter::new(fs::File::create(folder.join("journal.jsonl")).unwrap());
    let mut write = |event: &Value| writeln!(long, "{event}").unwrap();
    write(events.iter().find(|event| event["event"] == "run_started").unwrap());
    let first = |event: &&Value| event["block"] == 1 || event["trial"]["block"] == 1;
    let block: Vec<&Value> = events.iter().filter(first).collect();
    let (mut written, mut noise) = (0, 1_u64);
    for number in 1.. {
        for event in &block {
            let mut event = (*event).clone();
            if event["block"].is_number() {
                event["block"] = number.into();
            }
            if event["trial"].is_object() {
                event["trial"]["block"] = number.into();
            }
            if event["event"] == "observation" {
                written += 1;
                for measurement in event["measurements"].as_array_mut().unwrap() {
                    // Marsaglia's xorshift: up to 5 % either way.
                    noise ^= noise << 13;
                    noise ^= noise >> 7;
                    noise ^= noise << 17;
                    let factor = 0.95 + 0.1 * (noise % 1000) as f64 / 1000.0;
                    measurement["value"] = (measurement["value"].as_f64().unwrap() * factor).into();
                }
            }
            // The commands of one trial per candidate are enough for the page.
            if number == 1 || event["event"] != "command" {
                write(&event);
            }
        }
        if written >= observations {
            break;
        }
    }
    written
}

/// What one rendering took.
struct Cost {
    /// Seconds.
    wall: f64,
    /// Seconds of CPU.
    spent: f64,
    /// The most memory in use at one time, in bytes, as /proc told while it ran.
    peak: u64,
}

fn render(program: &str, run: &Path, format: &str, output: &Path) -> Cost {
    let mut command = Command::new(program);
    command.arg("report").arg(run).args(["--format", format, "--output"]).arg(output);
    let (peak, wall, spent) = spent::over(|| peak_of(&mut command.stderr(Stdio::inherit()).spawn().unwrap()));
    Cost { wall, spent, peak }
}

/// Waits until it has ended: the most memory that it had in use at one time, in bytes.
fn peak_of(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) * 1024);
        std::thread::sleep(Duration::from_millis(5));
    }
    peak
}

fn main() {
    let program = spent::program(env!("CARGO_BIN_EXE_fsverdict"));
    for observations in OBSERVATIONS {
        let folder = tempfile::tempdir().unwrap();
        println!("{} observations", long_run(folder.path(), observations));
        let forms: &[&str] = match Some(&observations) == OBSERVATIONS.last() {
            true => &["html", "markdown", "terminal", "json", "csv"],
            false => &["html"],
        };
        for form in forms {
            let output = folder.path().join(form);
            let Cost { wall, spent, peak } = render(&program, folder.path(), form, &output);
            let size = fs::metadata(&output).unwrap().len();
            println!(
                "{form:9} {wall:5.2} s  {spent:5.2} s of CPU  {:4} MB of memory  {:7.2} MB of output",
                peak / 1_000_000,
                size as f64 / 1e6
            );
        }
    }
}
