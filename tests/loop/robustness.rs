//! What the surroundings do to a run: a folder that goes away, a journal that takes no more, limits that leave it little.

use std::fs::{self};
use std::net::TcpListener;
use std::process::Stdio;

use crate::common::{PROGRAM, Place, Seen, one_command, tool};

#[test]
fn loop_a_run_that_was_ended_before_its_first_record_can_be_begun_anew() {
    let place = Place::new();
    let plan = one_command("native", "true");
    place.run(&plan, &[]).exits(0);
    let journal = place.path().join("run/journal.jsonl");
    let first = fs::read_to_string(&journal).unwrap().lines().next().unwrap().to_owned();
    for left in [None, Some(""), Some(&first[..50]), Some(&first)] {
        let _ = fs::remove_file(&journal);
        if let Some(left) = left {
            fs::write(&journal, left).unwrap();
        }
        if left.is_none() {
            // A folder with a plan alone may have been prepared for another machine.
            place.fsverdict(&["resume", "run"]).exits(0);
            continue;
        }
        // Both name the same way on, and it is one.
        place.fsverdict(&["resume", "run"]).exits(1).says(&["nothing was recorded", "--out"]);
        place.fsverdict(&["report", "run"]).exits(1).says(&["nothing was recorded", "--out"]);
        place.run(&plan, &[]).exits(0);
    }
    place.run(&plan, &[]).exits(1).says(&["already holds a run", "resume"]);
}

#[test]
fn loop_a_run_whose_folder_is_removed_says_so() {
    let place = Place::new();
    let path = place.plan("plan", &one_command("native", "sleep 3"));
    let mut run = place.command(&["run", &path, "--out", "run"]);
    let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while place.journal().step() != "do" {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fs::remove_dir_all(place.path().join("run")).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("was removed or replaced") && !said.contains("fsverdict resume"), "{said}");
    place.is_left_clean();
}

#[test]
fn loop_a_journal_that_is_append_only_is_carried_on_and_one_torn_is_reported() {
    let place = Place::new();
    place.recorded();
    let path = place.path().join("run/journal.jsonl");
    let name = path.to_str().unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    let torn = format!("{whole}{{\"at\"");
    for (text, code, said) in [(&whole, 0, "this run is complete"), (&torn, 1, "lsattr")] {
        fs::write(&path, text).unwrap();
        tool(&["chattr", "+a", name]);
        let seen = place.fsverdict(&["resume", "run"]);
        tool(&["chattr", "-a", name]);
        seen.exits(code).says(&[said]);
    }
}

#[test]
fn loop_what_a_failing_command_says_does_not_steer_the_terminal() {
    let place = Place::new();
    let seen = place.run(&one_command("native", r"printf '\033]0;owned\007\033[2J' >&2; exit 1"), &[]);
    assert!(seen.stderr.contains("owned"), "{seen:#?}");
    assert!(!seen.stderr.contains(['\u{1b}', '\u{7}']), "{seen:#?}");
    let (_, reason) = place.status("ext4");
    assert!(reason.contains("owned") && !reason.contains('\u{1b}'), "{reason}");
    place.is_left_clean();
}

/// Nobody can tell who sent SIGTERM; a crash may be the filesystem's doing.
#[test]
fn loop_a_phase_that_crashes_has_failed_and_one_that_is_terminated_is_not_judged() {
    for (signal, status, words) in [
        ("TERM", "skipped", "killed by signal 15 three times"),
        ("KILL", "skipped", "killed by signal 9 three times"),
        ("ABRT", "failed", "134"),
        ("SEGV", "failed", "139"),
        ("BUS", "failed", "135"),
    ] {
        let place = Place::new();
        place.run(&one_command("native", &format!("kill -{signal} $$; echo survived")), &[]).exits(1);
        let (found, reason) = place.status("ext4");
        assert!(found == status && reason.contains(words), "{signal}: {found}: {reason}");
        place.is_left_clean();
    }
}

#[test]
fn loop_this_machines_network_is_there_for_the_phase_that_asks_for_it() {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let connect = format!(
        "perl -MSocket -e \"socket(S, AF_INET, SOCK_STREAM, 0); print connect(S, \
         pack_sockaddr_in({port}, inet_aton('127.0.0.1'))) ? 'reached' : 'refused'\" "
    );
    for (network, said) in [(true, "reached"), (false, "refused")] {
        let place = Place::new();
        let with = format!("network = {network}, name");
        let plan = |lab: &str| one_command(lab, &connect).replace("name", &with);
        place.run(&plan("native"), &[]).exits(0);
        assert_eq!(place.journal().program("do")["stdout"], said);
        place.is_left_clean();
        if network {
            // A guest has none to give.
            let plan = place.plan("other", &plan("uml"));
            let seen = place.fsverdict(&["run", &plan, "--out", "other"]).exits(2);
            seen.says(&["`do` wants this machine's network", "let lab be \"native\""]);
        }
    }
}

/// Whoever starts it may have left it little to work with, or told the kernel not to tell of ended children.
fn run_from(place: &Place, shell: &str) -> Seen {
    let plan = place.plan("plan", &one_command("native", "true"));
    let line = format!("{shell} \"$@\"");
    place.any("sh", &["-c", &line, "sh", PROGRAM, "run", &plan, "--out", "run"])
}

#[test]
fn loop_limits_under_which_nothing_can_be_tried_are_told_before_anything_is() {
    for (limit, hint) in
        [("-n 16", "hint: ulimit -n"), ("-f 200", "hint: ulimit -f"), ("-s 64", "hint: ulimit -s")]
    {
        let place = Place::new();
        run_from(&place, &format!("ulimit {limit}; exec"))
            .exits(1)
            .says(&["programs started from this shell", hint]);
        assert!(!place.path().join("run").exists(), "{limit}");
    }
}

#[test]
fn loop_children_are_waited_for_where_the_caller_ignored_their_ends() {
    let place = Place::new();
    run_from(&place, "exec perl -e '$SIG{CHLD} = \"IGNORE\"; exec @ARGV'").exits(0);
    assert_eq!(place.status("ext4").0, "ok");
}
