//! fio: bandwidth, requests per second, latencies and CPU of each group of jobs from its JSON output, and the
//! throughput of each second from its bandwidth log.

use serde::Deserialize;

use fsverdict_judgement::journal::WorkCourse;
use fsverdict_judgement::plan::Unit;

use super::fio_output::{FioJob, FioOutput, groups_of, measure_group};
use super::number::parse_number;
use super::{AdapterProblem, OutputFault, Reading};
use crate::workload::json::{BrokenJson, last_document};

/// So many groups are read at most.
const GROUPS: usize = 16;

/// Lines of fio's log come every 1000 ms, by so many milliseconds more or less.
const NEAR: u64 = 200;

/// A log of more seconds than a day is none.
const SECONDS: u64 = 86_400;

pub(super) fn parse_fio(output: &str, log: &str, hint: &'static str) -> Result<Reading, AdapterProblem> {
    // fio reports this itself on the same stream, and then prints the results up to then.
    if let Some(rest) = output.split("fio: terminating on signal").nth(1) {
        let signal: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        let problem = format!("it was ended by signal {signal} before it was done");
        return Err((OutputFault::Failed(problem), "let it run to its end: --runtime bounds it"));
    }
    // With --status-interval each document covers the run so far: the last one covers all of it.
    let document =
        last_document(output).map_err(|broken| (OutputFault::Json(describe_broken_json(&broken)), hint))?;
    let document = document.ok_or_else(|| (OutputFault::Missing("there is no JSON in it".into()), hint))?;
    let output =
        FioOutput::deserialize(document).map_err(|error| (OutputFault::Json(error.to_string()), hint))?;
    if let Some(job) = output.jobs.iter().find(|job| job.error != 0) {
        let problem = format!("the job `{}` ended with error {}", job.jobname, job.error);
        return Err((OutputFault::Failed(problem), "try its options by hand"));
    }
    let groups = groups_of(&output.jobs);
    if groups.len() > GROUPS {
        let hint = "make phases of them: each is measured on its own then";
        let problem =
            format!("it reports {} groups of jobs, but at most {GROUPS} are supported", groups.len());
        return Err((OutputFault::Unsupported(problem.into()), hint));
    }
    let mut reading = Reading::default();
    let mut too_fast = Vec::new();
    // Of several groups each has its name behind those of its metrics.
    let firsts: Vec<&FioJob> = groups.iter().filter_map(|group| group.first().copied()).collect();
    let names = group_names(&firsts);
    for (group, name) in groups.iter().zip(&names) {
        let name = (names.len() > 1).then_some(name);
        add_group(&mut reading, &mut too_fast, group, name);
        if group.len() > 1 {
            reading.notes.push(format!(
                "{} jobs of one group were added up; percentiles of several jobs cannot be: leave group_reporting on",
                group.len()
            ));
            // Jobs with names of their own are measured apart, too.
            if name.is_none() && group.len() <= GROUPS && has_distinct_names(group) {
                for (job, name) in group.iter().zip(&group_names(group)) {
                    add_group(&mut reading, &mut Vec::new(), &[*job], Some(name));
                }
            }
        }
    }
    for job in &output.jobs {
        reading.bytes_read = reading.bytes_read.saturating_add(job.bytes_read());
        reading.bytes_written = reading.bytes_written.saturating_add(job.bytes_written());
    }
    if reading.measurements.is_empty() {
        return Err((OutputFault::NothingDone("no job read, wrote or discarded anything".into()), hint));
    }
    reading.too_fast("fio", &too_fast);
    // Times in the log are those since a group began, so that those of several lie over one another.
    if let [_] = groups[..] {
        reading.set_course(parse_course(log).map_err(|fault| (fault, hint))?, "fio_slowest_second");
    }
    Ok(reading)
}

/// Adds the measurements of jobs, with a name behind those of the metrics.
fn add_group(reading: &mut Reading, too_fast: &mut Vec<String>, jobs: &[&FioJob], name: Option<&String>) {
    let group = measure_group(jobs);
    too_fast.extend(group.too_fast);
    for mut measurement in group.measurements {
        if let Some(name) = name {
            measurement.metric = format!("{}@{name}", measurement.metric).into();
        }
        reading.measurements.push(measurement);
    }
}

fn has_distinct_names(jobs: &[&FioJob]) -> bool {
    let mut names: Vec<&str> = jobs.iter().map(|job| job.jobname.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

/// Describes an error in JSON and its position in the output.
fn describe_broken_json(broken: &BrokenJson) -> String {
    let BrokenJson { begins, breaks, what, cut_off } = broken;
    match cut_off {
        true => format!("its JSON begins in line {begins} and is cut off: {what}"),
        false => format!("its JSON begins in line {begins} and breaks in line {breaks}: {what}"),
    }
}

/// The names of groups as metrics carry them: those of their jobs, in letters, digits, hyphens and underscores, each once.
fn group_names(jobs: &[&FioJob]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        let plain = |one: char| if one.is_ascii_alphanumeric() || "-_".contains(one) { one } else { '_' };
        let mut name: String = job.jobname.chars().take(40).map(plain).collect();
        if name.is_empty() || names.contains(&name) {
            name = format!("{name}{}", at + 1);
        }
        names.push(name);
    }
    names
}

/// The sum over jobs and directions for each second, from lines such as `1001, 61230, 1, 0, 0`: milliseconds, KiB/s on
/// average since the line before, and irrelevant columns. The last partial second is left out.
fn parse_course(log: &str) -> Result<Option<WorkCourse>, OutputFault> {
    let mut rates: Vec<f64> = Vec::new();
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let wrong = || OutputFault::of_line("its log has the line", line, 80);
        let mut words = line.split(',').map(str::trim);
        let milliseconds = words.next().and_then(|word| word.parse::<u64>().ok()).ok_or_else(wrong)?;
        let rate = parse_number(words.next().unwrap_or_default()).map_err(|_| wrong())? * 1024.0;
        let second = (milliseconds + 500) / 1000;
        if second == 0 || milliseconds.abs_diff(second * 1000) > NEAR {
            continue;
        }
        if second > SECONDS {
            return Ok(None);
        }
        let at = second as usize - 1;
        if at >= rates.len() {
            rates.resize(at + 1, 0.0);
        }
        rates[at] += rate;
    }
    Ok((rates.len() > 1).then_some(WorkCourse { unit: Unit::BytesPerSecond, every: 1.0, rates }))
}

#[cfg(test)]
mod tests {
    use super::super::{Reading, adapter_by_name};
    use fsverdict_judgement::journal::adapter_metric;

    /// Printed by fio 3.33 with --rw=randrw --bs=4k --size=32M, on a tmpfs.
    const MIXED: &str = include_str!("fixtures/fio-3.33.json");
    /// With --rw=write --numjobs=2 --fsync=8.
    const JOBS: &str = include_str!("fixtures/fio-3.33-two-jobs.json");
    /// A writing job, then after `--stonewall` a reading one.
    const GROUPS: &str = include_str!("fixtures/fio-3.33-two-groups.json");

    fn value(reading: &Reading, metric: &str) -> Option<f64> {
        assert!(adapter_metric(metric).is_some(), "{metric}");
        reading
            .measurements
            .iter()
            .find(|measurement| measurement.metric == metric)
            .map(|measurement| measurement.value)
    }

    #[test]
    fn both_directions_are_read() {
        let reading = adapter_by_name("fio").unwrap().read_output(MIXED, "").unwrap();
        assert_eq!(value(&reading, "fio_read_bandwidth"), Some(572_027_586.0));
        assert_eq!(value(&reading, "fio_write_iops"), Some(142_827.586_207));
        assert_eq!(value(&reading, "fio_read_latency_p99"), Some(7328e-9));
        assert_eq!(value(&reading, "fio_write_latency_max"), Some(6_145_596e-9));
        assert_eq!((reading.bytes_read, reading.bytes_written), (16_588_800, 16_965_632));
        assert_eq!(value(&reading, "fio_sync_latency_p99"), None);
    }

    #[test]
    fn jobs_of_one_group_are_one_and_syncs_are_their_own() {
        let reading = adapter_by_name("fio").unwrap().read_output(JOBS, "").unwrap();
        assert_eq!(reading.bytes_written, 32 << 20);
        assert!(value(&reading, "fio_sync_latency_p99").unwrap() > 0.0);
        assert_eq!(value(&reading, "fio_read_iops"), None);
        assert!(value(&reading, "fio_cpu_system").unwrap() <= 2.0);
    }

    #[test]
    fn each_of_several_groups_has_its_own_numbers() {
        let reading = adapter_by_name("fio").unwrap().read_output(GROUPS, "").unwrap();
        let of = |name: &str| {
            reading
                .measurements
                .iter()
                .find(|measurement| measurement.metric == name)
                .map(|measurement| measurement.value)
        };
        assert!(of("fio_write_bandwidth@w").unwrap() > 0.0 && of("fio_read_iops@r").unwrap() > 0.0);
        assert_eq!((of("fio_write_bandwidth@r"), of("fio_write_bandwidth")), (None, None));
        assert!(reading.bytes_read > 0 && reading.bytes_written > 0);
        assert!(adapter_metric("fio_write_bandwidth@w").is_some());
        let same = GROUPS.replacen("\"jobname\" : \"r\"", "\"jobname\" : \"w\"", 1);
        assert!(
            adapter_by_name("fio")
                .unwrap()
                .read_output(&same, "")
                .unwrap()
                .measurements
                .iter()
                .any(|measurement| measurement.metric == "fio_read_iops@w2")
        );
    }

    #[test]
    fn each_second_has_what_all_jobs_did_in_it() {
        // Two jobs, one of which did nothing in the third second; the rest of the fifth is none.
        let log = "1001, 100, 1, 0, 0\n2001, 50, 1, 0, 0\n3002, 20, 1, 0, 0\n4000, 80, 1, 0, 0\n4400, 999, 1, 0, 0\n1000, 10, 0, 0, 0, 5\n2001, 10, 0, 0, 0, 5\n4001, 10, 0, 0, 0, 5\n";
        let reading = adapter_by_name("fio").unwrap().read_output(JOBS, log).unwrap();
        let kib: Vec<f64> = reading.course.clone().unwrap().rates.iter().map(|rate| rate / 1024.0).collect();
        assert_eq!(kib, [110.0, 60.0, 20.0, 90.0]);
        assert_eq!(value(&reading, "fio_slowest_second"), Some(20.0 * 1024.0));
        assert!(
            adapter_by_name("fio")
                .unwrap()
                .read_output(JOBS, "1001; 5\n")
                .unwrap_err()
                .to_string()
                .contains("its log has the line")
        );
        assert_eq!(adapter_by_name("fio").unwrap().read_output(GROUPS, log).unwrap().course, None);
    }

    #[test]
    fn what_fio_says_before_its_json_does_not_matter() {
        let shown = format!("fio: a warning with a {{ in it\n{JOBS}\n");
        assert_eq!(
            adapter_by_name("fio").unwrap().read_output(&shown, ""),
            adapter_by_name("fio").unwrap().read_output(JOBS, "")
        );
    }

    #[test]
    fn a_refusal_of_its_own_gets_a_way_out() {
        assert!(
            adapter_by_name("fio")
                .unwrap()
                .hint_for_output("fio: failed parsing rw=randwrit")
                .unwrap()
                .contains("--cmdhelp")
        );
        assert!(
            adapter_by_name("fio")
                .unwrap()
                .hint_for_output("fio: unable to open '/x.fio' job file")
                .unwrap()
                .contains("absolute path")
        );
        assert_eq!(adapter_by_name("fio").unwrap().hint_for_output("fio: io_u error on file"), None);
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let failed = JOBS.replacen("\"error\" : 0", "\"error\" : 28", 1);
        for (wrong, why) in [
            ("", "no JSON"),
            ("fio: unrecognized option", "no JSON"),
            (&MIXED[..MIXED.len() / 2], "EOF"),
            (failed.as_str(), "error 28"),
            ("{}", "missing field `jobs`"),
        ] {
            let shown = adapter_by_name("fio").unwrap().read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
            assert!(shown.contains(wrong.trim().get(..1000).unwrap_or(wrong.trim())), "{shown}");
        }
    }
}
