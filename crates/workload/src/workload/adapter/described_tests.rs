//! The adapters that are described by a file, with recorded outputs of their programs.

use super::{Adapter, Reading, adapter_by_name};
use fsverdict_judgement::journal::adapter_metric;

fn known(name: &str) -> &'static Adapter {
    adapter_by_name(name).unwrap()
}

/// The value of a metric that the adapters know.
fn value(reading: &Reading, metric: &str) -> Option<f64> {
    let known = adapter_metric(metric).unwrap();
    let measured = reading.measurements.iter().find(|measured| measured.metric == metric)?;
    assert_eq!(measured.unit, known.unit);
    Some(measured.value)
}

mod bonnie {
    use super::{known, value};

    /// Printed by bonnie++ 2.00a with -s 1024 -r 0 -n 16:1024:1024, on a tmpfs.
    const FULL: &str = include_str!("fixtures/bonnie-2.00.csv");
    /// With -s 64 -r 0 -n 1: most tests too short.
    const SHORT: &str = include_str!("fixtures/bonnie-2.00-too-short.csv");
    /// With -s 0 -n 4: no big file.
    const FILES: &str = include_str!("fixtures/bonnie-2.00-files-only.csv");
    /// In the order of 1.03 (format 1 of bon_csv2html(1)), the numbers made up.
    const OLD: &str = "host,2000M,31220,92,33851,15,16401,6,40303,94,71220,11,182.5,1,16,+++++,+++,+++++,+++,+++++,+++,9120,88,+++++,+++,8210,71\n";

    #[test]
    fn the_line_of_version_2_gives_rates_cpu_and_latencies() {
        let reading = known("bonnie++").read_output(FULL, "").unwrap();
        assert_eq!(value(&reading, "bonnie_block_write"), Some(222_901.0 * 1024.0));
        assert_eq!(value(&reading, "bonnie_block_write_cpu"), Some(0.49));
        assert_eq!(value(&reading, "bonnie_char_write_latency"), Some(20_963.0 * 1e-6));
        assert_eq!(value(&reading, "bonnie_random_delete_latency"), Some(12_084.0 * 1e-6));
        assert_eq!(value(&reading, "bonnie_block_read"), None);
        assert_eq!(reading.working_set, Some(1 << 30));
        assert!(reading.notes[0].contains("bonnie_block_read, bonnie_seeks"), "{}", reading.notes[0]);
    }

    #[test]
    fn tests_left_out_or_too_short_are_left_out() {
        let reading = known("bonnie++").read_output(SHORT, "").unwrap();
        assert_eq!(reading.working_set, Some(64 << 20));
        assert_eq!(value(&reading, "bonnie_char_read"), Some(1035.0 * 1024.0));
        let reading = known("bonnie++").read_output(FILES, "").unwrap();
        assert_eq!(reading.working_set, None);
        assert!(reading.measurements.iter().all(|measurement| measurement.metric.ends_with("_latency")));
    }

    #[test]
    fn what_took_no_time_has_no_number_and_fails_nothing() {
        // A rate, its CPU, both, or a latency, for which the guest's clock did not move.
        for (from, to) in
            [("222901,49,", ",49,"), ("222901,49,", "222901,,"), ("222901,49,", ",,"), (",20963us,", ",,")]
        {
            assert!(FULL.contains(from), "{from}");
            let reading = known("bonnie++").read_output(&FULL.replacen(from, to, 1), "").unwrap();
            assert!(value(&reading, "bonnie_block_read_cpu").is_some() || !reading.measurements.is_empty());
            let kept = value(&reading, "bonnie_block_write").is_some();
            assert_eq!(kept, !to.starts_with(",") || from.starts_with(",20963us"), "{to}");
            assert_eq!(reading.notes[0].contains("bonnie_block_write,"), !kept, "{}", reading.notes[0]);
        }
    }

    #[test]
    fn a_rate_of_0_is_absent_and_a_share_of_the_processor_is_not() {
        let reading = known("bonnie++").read_output(&FULL.replacen("222901,49,", "0,0,", 1), "").unwrap();
        assert_eq!(value(&reading, "bonnie_block_write"), None);
        assert_eq!(value(&reading, "bonnie_block_write_cpu"), Some(0.0));
        assert!(reading.notes[0].contains("bonnie_block_write"), "{}", reading.notes[0]);
    }

    #[test]
    fn the_line_of_version_1_has_no_latencies() {
        let reading = known("bonnie++").read_output(OLD, "").unwrap();
        assert_eq!(value(&reading, "bonnie_seeks"), Some(182.5));
        assert_eq!(value(&reading, "bonnie_block_write_cpu"), Some(0.15));
        assert_eq!(value(&reading, "bonnie_random_delete"), Some(8210.0));
        assert_eq!(reading.working_set, Some(2000 << 20));
        assert!(!reading.measurements.iter().any(|measurement| measurement.metric.ends_with("_latency")));
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let cut = &FULL[..FULL.len() / 2];
        let word = FULL.replacen("222901", "fast", 1);
        for (wrong, why) in [
            ("", "no line"),
            (cut, "values, not 27, 48 or 50"),
            (word.as_str(), "\"fast\" is not a number"),
            (&format!("{FULL}{FULL}"), "leave out -x"),
        ] {
            let error = known("bonnie++").read_output(wrong, "").unwrap_err();
            let shown = format!("{error}\n{}", error.hint);
            assert!(shown.contains(why) && shown.contains(wrong.trim()), "{shown}");
        }
    }

    #[test]
    fn a_refusal_of_its_own_gets_a_way_out() {
        let hint = known("bonnie++")
            .hint_for_output("File size should be double RAM for good results, RAM is 24104M.\nusage:\n");
        assert!(hint.unwrap().contains("-r 0"));
        assert!(
            known("bonnie++")
                .hint_for_output("bonnie++: invalid option -- '-'\nusage:\n")
                .unwrap()
                .contains("bonnie++(8)")
        );
        assert_eq!(known("bonnie++").hint_for_output("Can't write block 7380."), None);
    }

    #[test]
    fn it_runs_as_root_only_when_nobody_says_otherwise() {
        assert_eq!(
            known("bonnie++").command_line("-s 2000"),
            "exec bonnie++ -q -d \"$FOLDER\" -u root -s 2000"
        );
        assert_eq!(known("bonnie++").command_line("-u nobody"), "exec bonnie++ -q -d \"$FOLDER\" -u nobody");
    }
}

mod dbench {
    use super::{known, value};

    /// Printed by dbench 4.00 with -t 4 2, on a tmpfs.
    const PRINTED: &str = include_str!("fixtures/dbench-4.00.txt");

    #[test]
    fn throughput_latencies_and_the_slowest_second_are_read() {
        let reading = known("dbench").read_output(PRINTED, "").unwrap();
        assert_eq!(value(&reading, "dbench_throughput"), Some(382.734e6));
        assert!((value(&reading, "dbench_latency_max").unwrap() - 0.207_133).abs() < 1e-9);
        assert!((value(&reading, "dbench_write_latency_max").unwrap() - 0.080_097).abs() < 1e-9);
        assert!((value(&reading, "dbench_read_latency_mean").unwrap() - 0.009e-3).abs() < 1e-12);
        let course = reading.course.clone().unwrap();
        assert_eq!(course.rates.len(), 3);
        assert!((course.rates[2] - (3.0 * 382.73 - 2.0 * 365.91) * 1e6).abs() < 1.0, "{course:?}");
        assert!((value(&reading, "dbench_slowest_second").unwrap() - 352.76e6).abs() < 1.0);
    }

    #[test]
    fn synced_writes_change_the_words_of_its_last_line_and_no_number() {
        let synced = PRINTED.replacen("MB/sec  2 clients", "MB/sec (sync open) (sync dirs)  2 clients", 1);
        assert_eq!(
            known("dbench").read_output(&synced, "").unwrap(),
            known("dbench").read_output(PRINTED, "").unwrap()
        );
    }

    #[test]
    fn a_mean_that_is_printed_as_0_is_absent() {
        assert!(PRINTED.contains("Flush           3510     0.000     0.003"));
        let reading = known("dbench").read_output(PRINTED, "").unwrap();
        assert_eq!(value(&reading, "dbench_flush_latency_mean"), None);
        assert!(value(&reading, "dbench_flush_latency_max").unwrap() > 0.0);
        let none = PRINTED.replacen("Throughput 382.734", "Throughput 0", 1);
        let reading = known("dbench").read_output(&none, "").unwrap();
        assert_eq!(value(&reading, "dbench_throughput"), None);
        assert!(reading.notes[0].contains("dbench_throughput"), "{:?}", reading.notes);
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let table = PRINTED.find(" NTCreateX").unwrap()..PRINTED.find("\nThroughput").unwrap();
        let idle = PRINTED.replacen(&PRINTED[table], "", 1);
        assert!(known("dbench").read_output(&idle, "").unwrap_err().to_string().contains("did no operation"));
        let word = PRINTED.replacen("382.734", "many", 1);
        let row = PRINTED.replacen(" Flush           3510", " Flush", 1);
        for (wrong, why) in [
            ("", "does not say"),
            (&PRINTED[..PRINTED.len() - 90], "does not say"),
            (word.as_str(), "\"many\" is not a number"),
            (row.as_str(), "its table has the line"),
        ] {
            let shown = known("dbench").read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(known("dbench").hint_for_output("Usage: [OPTION...]").unwrap().contains("dbench(1)"));
        assert_eq!(known("dbench").hint_for_output("write failed on handle"), None);
    }
}

mod fs_mark {
    use super::{known, value};

    /// Printed by fs_mark 3.3 with -v -n 200 -s 4096 -S 1 -L 3, on a tmpfs.
    const VERBOSE: &str = include_str!("fixtures/fs_mark-3.3.txt");
    /// The same without -v.
    const TERSE: &str = include_str!("fixtures/fs_mark-3.3-terse.txt");

    fn rates(output: &str) -> Vec<f64> {
        output
            .lines()
            .skip_while(|line| !line.starts_with("FSUse"))
            .skip(1)
            .map(|line| line.split_whitespace().nth(3).unwrap().parse().unwrap())
            .collect()
    }

    #[test]
    fn rates_and_the_time_of_each_call_are_read() {
        let reading = known("fs_mark").read_output(VERBOSE, "").unwrap();
        let rates = rates(VERBOSE);
        assert_eq!(rates.len(), 3);
        let mean = 3.0 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>();
        assert!((value(&reading, "fs_mark_rate").unwrap() - mean).abs() < 1e-6);
        assert_eq!(value(&reading, "fs_mark_slowest"), rates.iter().copied().reduce(f64::min));
        assert!(value(&reading, "fs_mark_create_max") >= value(&reading, "fs_mark_create_mean"));
        assert_eq!(value(&reading, "fs_mark_sync_max"), None, "sync(2) was not called");
        assert_eq!(reading.bytes_written, 600 * 4096);
        assert_eq!(reading.course.unwrap().rates, rates);
    }

    #[test]
    fn without_v_there_are_rates_alone() {
        let reading = known("fs_mark").read_output(TERSE, "").unwrap();
        assert!(value(&reading, "fs_mark_rate").is_some());
        assert_eq!(value(&reading, "fs_mark_fsync_mean"), None);
    }

    #[test]
    fn what_took_no_time_has_no_rate_and_fails_nothing() {
        let rate = VERBOSE.lines().last().unwrap().split_whitespace().nth(3).unwrap();
        let reading = known("fs_mark").read_output(&VERBOSE.replacen(rate, "inf", 1), "").unwrap();
        assert_eq!(value(&reading, "fs_mark_rate"), None);
        assert!(reading.notes[0].contains("fs_mark_rate"), "{:?}", reading.notes);
    }

    #[test]
    fn a_run_that_ended_early_is_an_error() {
        let lines: Vec<&str> = VERBOSE.lines().collect();
        let short = lines[..lines.len() - 1].join("\n");
        let error = known("fs_mark").read_output(&short, "").unwrap_err().to_string();
        assert!(error.contains("its table has 2 of 3 iterations"), "{error}");
        let attached = short.replacen("-L  3", "-L3", 1);
        assert!(known("fs_mark").read_output(&attached, "").unwrap_err().to_string().contains("2 of 3"));
    }

    #[test]
    fn anything_else_is_an_error_that_shows_it() {
        let cut = &VERBOSE[..VERBOSE.trim_end().len() - 40];
        let word = TERSE.replace("4096", "some");
        for (wrong, why) in [
            ("", "no table"),
            ("FSUse% Count\n", "is empty"),
            (cut, "a row has"),
            (word.as_str(), "\"some\" is not a number"),
        ] {
            let shown = known("fs_mark").read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(known("fs_mark").hint_for_output("Usage: fs_mark\n").unwrap().contains("fs_mark(1)"));
        assert_eq!(known("fs_mark").hint_for_output("Error in creat: No space"), None);
    }
}

mod git {
    use super::{known, value};

    /// Of `git status` by git 2.39.5 on a tree of 763 files.
    const STATUS: &str = include_str!("fixtures/git-2.39-status.jsonl");
    /// Of `git gc`, which starts others.
    const GC: &str = include_str!("fixtures/git-2.39-gc.jsonl");

    #[test]
    fn the_regions_of_a_status_are_read() {
        let reading = known("git").read_output("", STATUS).unwrap();
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
        let reading = known("git").read_output("", GC).unwrap();
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
            let shown = known("git").read_output("", wrong).unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(
            known("git")
                .hint_for_output("fatal: not a git repository (or any parent)")
                .unwrap()
                .contains("git init")
        );
        assert!(
            known("git").hint_for_output("git: 'frob' is not a git command.").unwrap().contains("status")
        );
        assert_eq!(known("git").hint_for_output("error: unable to write file"), None);
    }
}

mod sqlite {
    use super::known;

    /// Printed by sqlite3 3.40.1 with -cmd "PRAGMA journal_mode=WAL", on a disk.
    const PRINTED: &str = include_str!("fixtures/sqlite-3.40.txt");

    #[test]
    fn each_part_has_its_rate() {
        let reading = known("sqlite").read_output("fsverdict begin|10.000\nfsverdict insert|12.500\nwal\nfsverdict update|17.500\nfsverdict bulk|17.510\nread|5\nfsverdict read|17.510\nfsverdict delete|18.010\n", "").unwrap();
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
            known("sqlite")
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
        let reading = known("sqlite").read_output(text, "").unwrap();
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
        let printed = shell(&known("sqlite").command_line("-cmd 'PRAGMA synchronous=OFF'"));
        known("sqlite").read_output(&printed, "").unwrap();
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
            let shown = known("sqlite").read_output(wrong, "").unwrap_err().to_string();
            assert!(shown.contains(why), "{shown}");
        }
        assert!(
            known("sqlite")
                .hint_for_output("sqlite3: Error: unknown option: -frob\nUse -help")
                .unwrap()
                .contains("sqlite3(1)")
        );
        assert_eq!(known("sqlite").hint_for_output("disk I/O error"), None);
    }
}
