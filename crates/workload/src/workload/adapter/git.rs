//! git: where a command of it spends its time, from the events that it traces of itself.
//!
//! git writes a line of JSON for each event, including the end of each region of its work with its duration
//! (GIT_TRACE2_EVENT; git's api-trace2 document). Programs that git starts write to the same log, and count. The
//! options are a git command with its own options: `status`, `gc -q`.

use std::collections::BTreeMap;

use serde::Deserialize;

use fsverdict_judgement::journal::{MetricInfo, git};

use super::{Adapter, AdapterProblem, OutputFault, Reading, new_tool};
use fsverdict_stack::filesystem::{Packages, Tool};

pub(super) struct Git;

/// Regions by category and label, and the place of their metric.
const REGIONS: [(&str, &str, usize); 10] = [
    ("index", "do_read_index", 1),
    ("index", "preload", 2),
    ("index", "refresh", 2),
    ("dir", "read_directory", 3),
    ("index", "do_write_index", 4),
    ("unpack_trees", "check_updates", 5),
    ("pack-objects", "enumerate-objects", 6),
    ("pack-objects", "prepare-pack", 7),
    ("pack-objects", "write-pack-file", 8),
    ("index", "do_write_locked_index", 4),
];

const HINT: &str = "git 2.22 and newer trace themselves so; try the command by hand with GIT_TRACE2_EVENT=1";

#[derive(Deserialize)]
struct GitEvent {
    event: String,
    sid: String,
    #[serde(default)]
    t_abs: Option<f64>,
    #[serde(default)]
    t_rel: Option<f64>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    code: Option<i64>,
    #[serde(default)]
    signo: Option<i64>,
}

impl Adapter for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn summary(&self) -> &'static str {
        "git 2.22 and newer: a command of it (`status`, `checkout -q main`, `gc -q`), and where in it the time went"
    }

    fn tool(&self) -> Tool {
        new_tool("git", &["--version"], Packages::everywhere("git"))
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        git::METRICS
    }

    fn command_line(&self, options: &str) -> String {
        // Regions below the third level are parts of those above. File names in the log are ignored.
        let trace = "GIT_TRACE2_EVENT=\"$LOG/events\" GIT_TRACE2_EVENT_NESTING=3";
        let who = "-c user.name=fsverdict -c user.email=fsverdict@localhost";
        format!("export {trace}; exec git -C \"$FOLDER\" {who} {options} >/dev/null")
    }

    fn hint_for_output(&self, said: &str) -> Option<String> {
        if said.contains("not a git repository") {
            return Some(
                "a phase before makes it in the folder of `into`: command = 'git init -q \"$MOUNT/work\"'"
                    .to_owned(),
            );
        }
        ["is not a git command", "usage: git", "unknown option"].iter().any(|word| said.contains(word)).then(|| {
            "the options are a command of git's and what it takes: options = \"status\"; `-C FOLDER` is there already".to_owned()
        })
    }

    fn parse_output(&self, _: &str, log: &str) -> Result<Reading, AdapterProblem> {
        parse_git_log(log).map_err(|fault| (fault, HINT))
    }
}

fn parse_git_log(log: &str) -> Result<Reading, OutputFault> {
    let mut taken: BTreeMap<usize, f64> = BTreeMap::new();
    let mut total = None;
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let event: GitEvent = serde_json::from_str(line)
            .map_err(|_| OutputFault::of_line("its trace has the line", line, 80))?;
        match event.event.as_str() {
            // The first process of all has a name without the names of those that started it.
            "atexit" if !event.sid.contains('/') => {
                let time = event.t_abs.ok_or_else(|| OutputFault::of_line("no time stands in", line, 80))?;
                if let Some(code) = event.code.filter(|code| *code != 0) {
                    return Err(OutputFault::Failed(format!("git ended with status {code}")));
                }
                total = Some(total.unwrap_or(0.0) + time);
            }
            "signal" if !event.sid.contains('/') => {
                let signal = event.signo.map_or(String::new(), |signal| format!(" {signal}"));
                let problem = format!("git was ended by signal{signal} before it was done");
                return Err(OutputFault::Failed(problem));
            }
            "region_leave" => {
                let region = event.category.as_deref().zip(event.label.as_deref());
                let place = REGIONS.iter().find(|(category, label, _)| region == Some((*category, *label)));
                if let Some(((_, _, place), time)) = place.zip(event.t_rel) {
                    *taken.entry(*place).or_default() += time;
                }
            }
            _ => {}
        }
    }
    let total = total.ok_or(OutputFault::Missing(
        "its trace has no end: git ended before it was done, or did not trace itself".into(),
    ))?;
    let mut reading = Reading::default();
    reading.add_metric(&git::METRICS[0], total);
    for (place, time) in taken {
        reading.add_metric(&git::METRICS[place], time);
    }
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::super::{Adapter, Reading};
    use super::Git;
    use fsverdict_judgement::journal::git::METRICS;

    /// Of `git status` by git 2.39.5 on a tree of 763 files.
    const STATUS: &str = include_str!("fixtures/git-2.39-status.jsonl");
    /// Of `git gc`, which starts others.
    const GC: &str = include_str!("fixtures/git-2.39-gc.jsonl");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(METRICS.iter().any(|known| known.name == metric), "{metric}");
        reading.measurements.iter().find(|found| found.metric == metric).map(|found| found.value)
    }

    #[test]
    fn the_regions_of_a_status_are_read() {
        let reading = Git.read_output("", STATUS).unwrap();
        let time = |label: &str| -> f64 {
            let of = |line: &&str| {
                line.contains("region_leave") && line.contains(&format!("\"label\":\"{label}\""))
            };
            let line = STATUS.lines().find(of).unwrap();
            let from = &line[line.find("\"t_rel\":").unwrap() + 8..];
            from.split(',').next().unwrap().parse().unwrap()
        };
        assert_eq!(value(&reading, "git_index_read"), Some(time("do_read_index")));
        assert_eq!(value(&reading, "git_untracked"), Some(time("read_directory")));
        assert!(value(&reading, "git_refresh").unwrap() >= time("refresh"));
        assert!(value(&reading, "git_total").unwrap() >= time("refresh") + time("read_directory"));
        assert_eq!(value(&reading, "git_pack_write"), None);
    }

    #[test]
    fn what_a_command_starts_counts_but_once_in_the_whole() {
        let reading = Git.read_output("", GC).unwrap();
        let parts = ["git_pack_enumerate", "git_pack_deltas", "git_pack_write"]
            .map(|name| value(&reading, name).unwrap());
        assert!(parts.iter().sum::<f64>() <= value(&reading, "git_total").unwrap(), "{parts:?}");
        assert!(GC.lines().filter(|line| line.contains("\"event\":\"atexit\"")).count() > 2);
    }

    #[test]
    fn anything_else_is_an_error() {
        let cut = &STATUS[..STATUS.len() / 2];
        let endless = STATUS.replace("atexit", "exit");
        for (wrong, why) in [
            ("", "has no end"),
            (cut, "its trace has the line"),
            (endless.as_str(), "has no end"),
            ("{}", "its trace has the line"),
            (&STATUS.replace("\"code\":0", "\"code\":128"), "git ended with status 128"),
            ("{\"event\":\"signal\",\"sid\":\"x\",\"t_abs\":0.1,\"signo\":15}", "git was ended by signal 15"),
        ] {
            let shown = Git.read_output("", wrong).unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(
            Git.hint_for_output("fatal: not a git repository (or any parent)").unwrap().contains("git init")
        );
        assert!(Git.hint_for_output("git: 'frob' is not a git command.").unwrap().contains("status"));
        assert_eq!(Git.hint_for_output("error: unable to write file"), None);
    }
}
