//! sqlite3: a fixed script of transactions on one table, and how many of each kind it does in a second.
//!
//! The options are those of sqlite3 itself, so that a plan chooses the journal and when it syncs: `-cmd "PRAGMA
//! journal_mode=WAL"`. The script takes the time between its parts by SQLite's own clock, which counts milliseconds.

use fsverdict_judgement::journal::{MetricInfo, sqlite};

use super::number::parse_number;
use super::{Adapter, AdapterProblem, OutputFault, Reading, new_tool};
use fsverdict_stack::filesystem::{Package, Packages, Tool};

pub(super) struct Sqlite;

/// The prefix of each line with a time.
const MARK: &str = "fsverdict";

/// The parts of the script in order: the metric of each, and how often it repeats.
const PARTS: [(&str, u32); 5] =
    [("insert", 500), ("update", 500), ("bulk", 20_000), ("read", 2000), ("delete", 500)];

/// In less than so many seconds a clock of milliseconds is too coarse for a rate.
const SHORTEST: f64 = 0.02;

impl Adapter for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn summary(&self) -> &'static str {
        "sqlite3: rows inserted, changed and deleted in transactions of their own, added in one, and read, a second"
    }

    fn tool(&self) -> Tool {
        new_tool(
            "sqlite3",
            &["--version"],
            Packages {
                fedora: Package::Official("sqlite"),
                arch: Package::Official("sqlite"),
                ..Packages::everywhere("sqlite3")
            },
        )
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        sqlite::METRICS
    }

    fn command_line(&self, options: &str) -> String {
        let mark = |part: &str| {
            format!("SELECT '{MARK} {part}', printf('%.3f', (julianday('now') - 2440587.5) * 86400);")
        };
        let each = |statement: &str| format!("seq 500 | sed 's/.*/{statement}/'");
        let numbers = |from: u32, to: u32| {
            format!("WITH RECURSIVE n(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM n WHERE n < {to})")
        };
        let begin = "CREATE TABLE entry (id INTEGER PRIMARY KEY, name TEXT UNIQUE, body TEXT);";
        // Keys come in an order that is scattered and the same each time: 7919 is a prime that divides none of the counts. In a
        // replacement of sed(1) an ampersand is the line, and \x27 a quote.
        let lines = [
            format!("echo \"{begin} {}\"", mark("begin")),
            each("INSERT INTO entry VALUES (&, \\x27name &\\x27, hex(zeroblob(50)));"),
            format!("echo \"{}\"", mark("insert")),
            each(
                "UPDATE entry SET body = hex(zeroblob(49)) || (10 + & % 90) WHERE id = 1 + (& * 7919) % 500;",
            ),
            format!("echo \"{}\"", mark("update")),
            format!(
                "echo \"INSERT INTO entry {} SELECT n, 'name ' || n, hex(zeroblob(50)) FROM n;\"",
                numbers(501, 20_500)
            ),
            format!("echo \"{}\"", mark("bulk")),
            format!(
                "echo \"{} SELECT 'read', sum(length(body)) FROM n JOIN entry ON id = 1 + (n * 7919) % 20500;\"",
                numbers(1, 2000)
            ),
            format!("echo \"{}\"", mark("read")),
            each("DELETE FROM entry WHERE id = 1 + (& * 7919) % 500;"),
            format!("echo \"{}\"", mark("delete")),
        ];
        format!("{{ {}; }} | sqlite3 -batch -bail -list {options} \"$FOLDER/fsverdict.db\"", lines.join("; "))
    }

    fn hint_for_output(&self, said: &str) -> Option<String> {
        ["unknown option", "Use -help"].iter().any(|word| said.contains(word)).then(|| {
            "the options are those of sqlite3(1): -cmd \"PRAGMA synchronous=NORMAL\"; the database is named already".to_owned()
        })
    }

    fn parse_output(&self, output: &str, _: &str) -> Result<Reading, AdapterProblem> {
        parse_speedtest(output).map_err(|fault| {
            (fault, "leave out options that change how rows are printed (-csv, -json, -separator)")
        })
    }
}

fn parse_speedtest(output: &str) -> Result<Reading, OutputFault> {
    let at =
        |part: &str| {
            let start = format!("{MARK} {part}|");
            let time = output.lines().find_map(|line| line.trim().strip_prefix(start.as_str()));
            parse_number(time.ok_or_else(|| {
                OutputFault::Missing(format!("it does not say when `{part}` was over").into())
            })?)
        };
    let mut reading = Reading::default();
    // The sum over rows that were read is empty where there was none.
    let read_nothing = output.lines().any(|line| line.trim() == "read|");
    let mut too_fast = Vec::new();
    let mut before = at("begin")?;
    for ((part, count), metric) in PARTS.iter().zip(sqlite::METRICS) {
        let now = at(part)?;
        match now - before {
            took if took < 0.0 => {
                return Err(OutputFault::Implausible(format!("its clock went back during `{part}`")));
            }
            _ if *part == "read" && read_nothing => {
                reading.notes.push("sqlite3 found no row to read, and there is no rate of it".to_owned());
            }
            took if took < SHORTEST => too_fast.push(metric.name),
            took => reading.add_metric(metric, f64::from(*count) / took),
        }
        before = now;
    }
    reading.too_fast("sqlite3", &too_fast);
    Ok(reading)
}

#[cfg(test)]
mod tests {
    use super::super::Adapter;
    use super::{PARTS, Sqlite};
    use fsverdict_judgement::journal::sqlite::METRICS;

    /// Printed by sqlite3 3.40.1 with -cmd "PRAGMA journal_mode=WAL", on a disk.
    const PRINTED: &str = include_str!("fixtures/sqlite-3.40.txt");

    #[test]
    fn each_part_has_its_rate() {
        assert!(PARTS.iter().zip(METRICS).all(|((part, _), metric)| metric.name == format!("sqlite_{part}")));
        let reading = Sqlite.read_output("fsverdict begin|10.000\nfsverdict insert|12.500\nwal\nfsverdict update|17.500\nfsverdict bulk|17.510\nread|5\nfsverdict read|17.510\nfsverdict delete|18.010\n", "").unwrap();
        let times: Vec<(&str, f64)> =
            reading.measurements.iter().map(|one| (one.metric.as_ref(), one.value)).collect();
        let [("sqlite_insert", insert), ("sqlite_update", update), ("sqlite_delete", delete)] = times[..]
        else {
            panic!("{times:?}")
        };
        assert!(
            (insert - 200.0).abs() < 1e-6 && (update - 100.0).abs() < 1e-6 && (delete - 1000.0).abs() < 1e-3
        );
        assert!(reading.notes[0].contains("sqlite_bulk, sqlite_read"), "{:?}", reading.notes);
        assert!(
            Sqlite
                .read_output(PRINTED, "")
                .unwrap()
                .measurements
                .iter()
                .any(|one| one.metric == "sqlite_insert")
        );
    }

    #[test]
    fn a_rate_of_reading_nothing_is_absent() {
        let text = "fsverdict begin|10.000\nfsverdict insert|12.500\nfsverdict update|17.500\nfsverdict bulk|18.510\nread|\nfsverdict read|19.510\nfsverdict delete|20.010\n";
        let reading = Sqlite.read_output(text, "").unwrap();
        assert!(
            !reading.measurements.iter().any(|one| one.metric == "sqlite_read"),
            "{:?}",
            reading.measurements
        );
        assert!(reading.notes[0].contains("no row to read"), "{:?}", reading.notes);
    }

    #[test]
    fn the_script_does_what_its_metrics_say() {
        use std::process::Command;
        if Command::new("sqlite3").arg("-version").output().is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let shell = |line: &str| {
            let done =
                Command::new("sh").args(["-u", "-c", line]).env("FOLDER", folder.path()).output().unwrap();
            assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
            String::from_utf8(done.stdout).unwrap()
        };
        let printed = shell(&Sqlite.command_line("-cmd 'PRAGMA synchronous=OFF'"));
        Sqlite.read_output(&printed, "").unwrap();
        // 500 of 20500 are deleted again, each of them once; those that were changed are among them.
        let asked = "sqlite3 \"$FOLDER/fsverdict.db\" 'SELECT count(*), min(id), max(id), sum(length(body)) FROM entry'";
        assert_eq!(shell(asked), "20000|501|20500|2000000\n");
        assert!(printed.contains("read|200000\n"), "{printed}");
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let cut = &PRINTED[..PRINTED.find("fsverdict bulk").unwrap()];
        let csv = PRINTED.replace('|', ",");
        let back = PRINTED.replacen("fsverdict delete|1", "fsverdict delete|0", 1);
        for (wrong, why) in [
            ("", "when `begin` was over"),
            (cut, "when `bulk` was over"),
            (csv.as_str(), "when `begin` was over"),
            (back.as_str(), "went back"),
        ] {
            let shown = Sqlite.read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(
            Sqlite
                .hint_for_output("sqlite3: Error: unknown option: -frob\nUse -help")
                .unwrap()
                .contains("sqlite3(1)")
        );
        assert_eq!(Sqlite.hint_for_output("disk I/O error"), None);
    }
}
