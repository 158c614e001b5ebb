//! Numbers of a plan's own, what a goal requires, and who keeps a phase company.

use crate::common::{Place, not_run};
use fsverdict_linux::sandbox::program::find_program;

/// A plan of one command, `do`, with this goal, and with these lines after its phase.
fn with(lab: &str, goal: &str, command: &str, lines: &str) -> String {
    format!(
        r#"
title             = "A question"
lab               = "{lab}"
device.image      = "64MiB"
protocol          = {{ blocks = 1, timeout = "60s", disturbed = false }}
matrix.filesystem = ["ext4"]
goal              = {{ {goal} }}
[[phase]]
name    = "do"
command = '''{command}'''
{lines}
"#
    )
}

const TPS: &str = "[phase.metric.tps]\nmatch = 'tps = (\\S+)'\nunit = '1/s'\nbetter = 'more'\n";

pub fn a_number_is_read_and_what_is_none_is_a_clear_fate(lab: &str) {
    let place = Place::new();
    let goal = "metric = 'tps', require = { 'do.tps' = '>= 1000', crash_safe = true }";
    let plan = with(lab, goal, "echo 'tps = 1'; echo 'tps = 1250.5'", TPS);
    place.run(&plan, &[]).exits(0).shows(&["do.tps >= 1000", "1.25"]);
    assert_eq!(place.journal().measured("do", "tps"), [1250.5]);
    let json = TPS.replace("match = 'tps = (\\S+)'", "json = '/result/tps'");
    assert_ne!(json, TPS);
    // One of each form: `workload/own_metric.rs` has all ways in which there is no number.
    for (said, metric, why) in [
        ("echo 'tps is 5'", TPS, "nothing that it printed matches"),
        ("echo '{\"result\": {\"qps\": 5}}'", json.as_str(), "nothing stands at /result/tps"),
    ] {
        let place = Place::new();
        place.run(&with(lab, "", said, metric), &[]).exits(1);
        place.failed("ext4", &["phase `do`: its metric `tps` cannot be read", why]);
        place.is_left_clean();
    }
}

/// Two filesystems, of which ext4 says 2000 and the other 10.
pub fn a_constraint_is_missed_by_one_and_by_all(lab: &str) {
    let says = r#"if test -e "$MOUNT/lost+found"; then echo tps = 2000; else echo tps = 10; fi"#;
    for (bound, shown, left_out) in [
        (">= 1000", "Ruled out: btrfs misses do.tps >= 1000: 10", 1),
        (">= 5000", "No candidate meets the requirements: ext4 misses do.tps >= 5000: 2.0 1000/s", 2),
    ] {
        let place = Place::new();
        let goal = format!("metric = 'tps', require = {{ 'do.tps' = '{bound}' }}");
        let plan = with(lab, &goal, says, TPS)
            .replace("[\"ext4\"]", "[\"ext4\", \"btrfs\"]")
            .replace("64MiB", "256MiB");
        // One trial each concludes nothing.
        let seen = place.run(&plan, &["--blocks", "3"]).exits(0);
        let folded: Vec<&str> = seen.stdout.split_whitespace().collect();
        assert!(folded.join(" ").contains(shown), "{}", seen.stdout);
        let ruled_out = place.report()["verdict"]["ruled_out"].as_array().map_or(0, Vec::len);
        assert_eq!(ruled_out, left_out, "{bound}");
    }
}

pub fn what_lacks_a_property_is_skipped(lab: &str) {
    let place = Place::new();
    place.run(&with(lab, "require = { data_checksums = true }", "true", ""), &[]).exits(1);
    let (status, reason) = place.status("ext4");
    assert_eq!(status, "skipped");
    assert!(reason.contains("the goal requires `data_checksums`, which it does not have"), "{reason}");
}

/// A service that answers through a file, what is done before and after, and what goes on in the background.
const COMPANY: &str = r#"
before = 'echo before > "$MOUNT/order"'
beside = 'while :; do date +%N >> "$MOUNT/company"; done'
after  = 'test "$(cat "$MOUNT/order")" = "$(printf "before\nwork")"; echo after >> "$MOUNT/order"'
[[service]]
name  = "answers"
start = 'trap "exit 0" TERM; : > "$MOUNT/up"; while :; do if test -e "$MOUNT/asked"; then mv "$MOUNT/asked" "$MOUNT/told"; fi; sleep 0.01; done'
ready = 'test -e "$MOUNT/up"'
"#;

pub fn services_and_company_go_on_while_phases_do_and_nothing_of_them_stays(lab: &str) {
    let place = Place::new();
    let work = r#"echo work >> "$MOUNT/order"; : > "$MOUNT/asked"; until test -e "$MOUNT/told"; do sleep 0.01; done; test -s "$MOUNT/company""#;
    let plan = with(lab, "", work, COMPANY);
    place.run(&plan, &[]).exits(0);
    let journal = place.journal();
    for step in ["before do", "after do", "answers"] {
        assert_eq!(journal.program(step)["exit"], 0, "{step}");
    }
    place.is_left_clean();
}

pub fn a_service_that_does_not_start_and_a_background_that_dies_are_said(lab: &str) {
    for (lines, words) in [
        (
            "[[service]]\nname = 'db'\nstart = 'echo no such port >&2; exit 4'\nready = 'false'\n",
            ["the service `db` ended before it was ready", "exit status 4; its last lines: no such port"],
        ),
        (
            "beside = 'echo disk on fire; exit 5'\n",
            [
                "the background of phase `do` ended before phase `do` was over",
                "exit status 5; its last lines: disk on fire",
            ],
        ),
        ("before = 'echo nothing there >&2; exit 6'\n", ["before do", "nothing there"]),
    ] {
        let place = Place::new();
        place.run(&with(lab, "", "sleep 0.3", lines), &[]).exits(1);
        place.failed("ext4", &words);
        place.is_left_clean();
    }
}

/// PostgreSQL on the filesystem under test, whose server becomes another user, since it refuses to be root.
pub fn a_server_that_refuses_root_serves_a_benchmark(lab: &str, more: &[&str]) {
    if find_program("pgbench").is_none() {
        not_run("pgbench is not installed");
        return;
    }
    let place = Place::new();
    let plan = include_str!("../../../presets/postgres.toml")
        .replace("-q -s 10", "-q -s 1")
        .replace("-n -c 8 -t 150", "-n -c 2 -t 20")
        .replace("-S -c 8 -t 150", "-S -c 2 -t 30");
    let mut arguments = vec!["--lab", lab, "--fs", "ext4", "--blocks", "1"];
    arguments.extend(more);
    place.run(&plan, &arguments).exits(0);
    let journal = place.journal();
    for (phase, transactions) in [("transactions", 40), ("lookups", 60)] {
        let [rate] = journal.measured(phase, "pgbench_tps")[..] else { panic!("{phase}") };
        assert!(rate > 0.0);
        let told = journal.program(phase)["stdout"].as_str().unwrap().to_owned();
        assert!(told.contains(&format!("actually processed: {transactions}/{transactions}")), "{told}");
    }
    // Every commit is safe: of two clients two may be at once.
    assert!(journal.measured("transactions", "device_flushes")[0] >= 20.0);
    place.is_left_clean();
}
