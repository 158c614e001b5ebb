//! Each process that works for a trial is killed, once and each time: the trial is tried again, and no candidate is blamed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fsverdict_lab::lab::{ATTEMPTS, TRIAL_PROCESSES, TrialProcess};

use crate::common::{Journal, Place, Running, members, tool};

/// The process of this machine that a process of a guest runs in, as the table of processes calls it.
const STUB: &str = "stub of a guest kernel";

/// How often a process is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kills {
    None,
    Once,
    EachTime,
}

/// Programs that wait while a file of theirs is there, each with what it is called in the table of processes.
const TOOLS: [(&str, &str); 5] = [
    ("mkfs", "mkfs.ext4"),
    ("mkfs", "mkfs.ext2"),
    ("mount", "mount"),
    ("umount", "umount"),
    ("fsck", "e2fsck"),
];

/// How a run with one process killed came out.
struct Outcome {
    exit: Option<i32>,
    stderr: String,
    journal: Journal,
    /// The candidate whose trial it happened to.
    candidate: String,
    kills: usize,
}

/// Kills each process that `lab` has, or two `representatives`, by the signals that `signals_for` gives for it.
pub fn every_process_is_killed(
    lab: &str,
    representatives: [&str; 2],
    signals_for: impl Fn(&TrialProcess) -> &'static [i32],
) {
    let of_lab = TRIAL_PROCESSES
        .into_iter()
        .filter(|process| process.labs.contains(&lab) && !signals_for(process).is_empty());
    let processes = members(of_lab, |process| process.name.to_owned(), representatives);
    let undisturbed = attack(lab, processes[0].name, 9, Kills::None);
    assert_eq!(undisturbed.exit, Some(0), "{}", undisturbed.stderr);
    for process in processes {
        for signal in signals_for(&process).iter().copied() {
            let name = format!("{} by signal {signal}", process.name);
            // A single SIGTERM does what the first of several does.
            if signal == 9 {
                let once = attack(lab, process.name, signal, Kills::Once);
                let shown = format!("{name}, once: {}\n{:#?}", once.stderr, once.journal);
                assert_eq!(once.exit, Some(0), "{shown}");
                assert!(failed(&once.journal).is_empty(), "{shown}");
                assert_eq!(measured(&once.journal), measured(&undisturbed.journal), "{shown}");
            }
            let each = attack(lab, process.name, signal, Kills::EachTime);
            let shown = format!("{name}, each time: {}\n{:#?}", each.stderr, each.journal);
            if each.kills == 0 {
                // The first process of a PID namespace takes no signal that it has no handler for, but SIGKILL; a FUSE
                // server is started with SIGTERM ignored.
                assert_eq!((signal, each.exit), (15, Some(0)), "{shown}");
                continue;
            }
            let words = match (process.name, signal) {
                // Its kernel ends by itself then, and does not say why.
                ("guest kernel", 15) => {
                    "its guest was ended in the middle of its work three times".to_owned()
                }
                _ => format!("killed by signal {signal} three times"),
            };
            if process.name == "staging process" {
                assert_eq!(each.exit, Some(1), "{shown}");
                assert!(each.stderr.contains(&words) && each.journal.finished() == 0, "{shown}");
                continue;
            }
            assert_eq!((each.exit, each.kills), (Some(3), ATTEMPTS), "{shown}");
            let ends = failed(&each.journal);
            if process.name == STUB {
                // The kernel reports a stub that it needs, and the remains of one that it does not need are found.
                let is_from_outside = |reason: &str| {
                    reason.contains("three times") && reason.contains(&format!("signal {signal}"))
                };
                assert!(
                    ends.len() == 1 && ends[0].0 == each.candidate && is_from_outside(&ends[0].1),
                    "{shown}"
                );
                continue;
            }
            assert!(
                ends.len() == 1 && ends[0].0 == each.candidate && ends[0].1.starts_with(&words),
                "{shown}"
            );
            assert!(each.journal.all("surroundings").any(|seen| seen["from_outside"] == true), "{shown}");
        }
    }
}

/// Candidate and reason of each trial that did not end well.
fn failed(journal: &Journal) -> Vec<(String, String)> {
    let ends = journal.all("trial_finished").filter(|end| end["status"] != "ok");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    ends.map(|end| (text(&end["trial"]["candidate"]), text(&end["reason"]))).collect()
}

/// Candidate (without its layers, which only some processes need) and phase of what was measured, each once.
fn measured(journal: &Journal) -> std::collections::BTreeSet<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let all = journal.all("observation");
    let candidate = |name: String| name.split('+').next().unwrap_or_default().to_owned();
    all.map(|seen| (candidate(text(&seen["trial"]["candidate"])), text(&seen["phase"]))).collect()
}

fn attack(lab: &str, name: &str, signal: i32, kills: Kills) -> Outcome {
    let place = Place::new();
    let is_tool = TOOLS.iter().any(|(tool, _)| *tool == name);
    let hold = if is_tool { format!("hold-{name}") } else { "hold".to_owned() };
    if kills != Kills::None {
        fs::write(place.path().join(&hold), "").unwrap();
    }
    let stderr = place.path().join("stderr");
    let plan = place.plan("plan", &plan(&place, lab, name));
    let mut command = place.command(&["run", &plan, "--out", "run", "--quiet"]);
    command.args(["--set", "protocol.disturbed=false"]).stdout(Stdio::null());
    if lab == "simulated" {
        // One trial at a time, so that it is known whose process is killed.
        command.args(["--jobs", "1"]);
    }
    command.stderr(fs::File::create(&stderr).unwrap()).env("PATH", waiting_tools(&place));
    let mut running = Running { place: &place, child: command.spawn().unwrap() };
    let wanted = match kills {
        Kills::None => 0,
        Kills::Once => 1,
        Kills::EachTime => usize::MAX,
    };
    let (mut done, mut candidate, mut immune) = (0, String::new(), false);
    let patience = Instant::now() + Duration::from_secs(300);
    while done < wanted && !immune {
        assert!(Instant::now() < patience, "{name}: {:#?}", place.journal());
        if running.child.try_wait().unwrap().is_some() {
            break;
        }
        let journal = place.journal();
        if journal.finished() > 0 {
            break;
        }
        let anywhere = is_tool || name == "staging process";
        // What was just killed takes others with it, which are not to be met once more.
        let begun = journal.all("trial_started").count();
        // A phase notices only once it is over that one of these is gone, and a trial that is torn down unmounts once more.
        let is_let_go = ["service", "shell of a service", "background of a phase", "umount", "FUSE server"]
            .contains(&name);
        if is_let_go && done > 0 && begun > done && kills == Kills::EachTime {
            fs::write(place.path().join(&hold), "").unwrap();
        }
        if done > 0 && name != "staging process" && begun <= done {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        match (is_held(&journal) || anywhere).then(|| find(&place, name)).flatten() {
            Some(process) => {
                let is_deaf = takes_no_signal(process, signal);
                tool(&["sh", "-c", &format!("kill -{signal} {process} 2> /dev/null || true")]);
                // One that was about to end by itself is gone, too.
                immune = is_deaf || !is_gone(process);
                done += usize::from(!immune);
                if is_let_go {
                    fs::remove_file(place.path().join(&hold)).unwrap();
                }
                let begun = journal.all("trial_started").last();
                candidate =
                    begun.map_or(candidate, |one| one["trial"]["candidate"].as_str().unwrap().to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    let _ = fs::remove_file(place.path().join(&hold));
    let exit = running.end();
    place.is_left_clean();
    let stderr = fs::read_to_string(&stderr).unwrap();
    Outcome { exit, stderr, journal: place.journal(), candidate, kills: done }
}

/// Whether the present try of a trial, not one before it, has come to the held phase.
fn is_held(journal: &Journal) -> bool {
    let mut last = journal.0.iter().rev();
    let last = last.find(|event| event["event"] == "step_started" || event["event"] == "trial_started");
    last.is_some_and(|event| event["step"] == "hold")
}

/// Whether this is the first process of a PID namespace, and has no handler for the signal, which then does nothing to it.
fn takes_no_signal(process: u32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let is_first = field("NSpid:").split_whitespace().nth(1).is_some_and(|number| number == "1");
    let caught = u64::from_str_radix(field("SigCgt:").trim(), 16).unwrap_or(0);
    signal != 9 && is_first && caught & (1 << (signal - 1)) == 0
}

/// A zombie is gone, too. A stub that stopped at a signal is there until the lab ends its guest, and the lab looks once a
/// second.
fn is_gone(process: u32) -> bool {
    let patience = Instant::now() + Duration::from_millis(2500);
    while Instant::now() < patience {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).chars().next();
        if state.is_none_or(|state| "ZX".contains(state)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn plan(place: &Place, lab: &str, name: &str) -> String {
    let device = match lab {
        "simulated" => "{ model = \"usb-stick\", size = \"1GB\" }",
        // Which has to be larger than what is staged.
        _ if name == "staging process" => "{ image = \"256MiB\" }",
        _ => "{ image = \"64MiB\" }",
    };
    let (native, timeout) = (lab == "native", if lab == "simulated" { "20000h" } else { "120s" });
    let lab = if lab == "simulated" { "uml" } else { lab };
    let fuse = if name == "FUSE server" { "layers = [[\"fuse\"]]\n" } else { "" };
    let staged = match name {
        "staging process" => {
            "dataset.docs = { profile = \"mixed\", files = 20000, directories = 50, size = \"100MiB\" }\n"
        }
        _ => "",
    };
    let phase = if staged.is_empty() { "" } else { ", dataset = \"docs\"" };
    let (service, beside) = match native {
        true => (SERVICE, ", beside = 'while :; do sleep 0.3; done'"),
        false => ("", ""),
    };
    let used = if staged.is_empty() { "" } else { "test -e \"$DOCS\"; " };
    format!(
        r#"
title        = "To be killed"
lab          = "{lab}"
device       = {device}
protocol     = {{ blocks = 1, order = 11, timeout = "{timeout}" }}
dataset.tree = {{ profile = "mixed", files = 10, directories = 2, size = "64KiB" }}
{staged}phase = [
    {{ name = "write", operation = "tree.write", dataset = "tree" }},
    {{ name = "hold", command = '''{used}while test -e {hold}; do sleep 0.2; done'''{phase}{beside} }},
    {{ name = "read", operation = "tree.read", dataset = "tree", cold = true }},
]
{service}
[matrix]
filesystem = ["ext2", "ext4"]
{fuse}"#,
        hold = place.path().join("hold").display()
    )
}

const SERVICE: &str = r#"
[[service]]
name  = "db"
start = "while :; do sleep 0.4; done"
from  = "hold"
to    = "hold"
"#;

/// A PATH on which the tools of a trial wait while their file is there.
fn waiting_tools(place: &Place) -> String {
    let bin = place.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, program) in TOOLS {
        let real = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(|folder| format!("{folder}/{program}"));
        let real = real.into_iter().find(|path| fs::exists(path).unwrap()).unwrap();
        let hold = place.path().join(format!("hold-{name}"));
        // Asked for its version, before any trial, it does not wait: a trial's names a device or a folder.
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in */*) while test -e {}; do sleep 0.05; done;; esac\nexec {real} \"$@\"\n",
            hold.display()
        );
        fs::write(bin.join(program), script).unwrap();
        fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// The process of this name in the table, if it is there just now.
fn find(place: &Place, name: &str) -> Option<u32> {
    let processes = place.processes();
    let parent = |pid: u32| -> u32 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let found = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        found.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    let is_sandbox = |pid: u32| line_of(pid).get(1).is_some_and(|word| word == "sandbox");
    let has = |line: &[String], text: &str| line.iter().any(|word| word.contains(text));
    let first = |is: &dyn Fn(u32, &[String]) -> bool| {
        processes.iter().find(|(pid, line)| is(*pid, line)).map(|(pid, _)| *pid)
    };
    // A step of this program, which runs below a sandbox.
    let step = |word: &str| {
        first(&|pid, line: &[String]| {
            line.get(1).is_some_and(|given| given == word) && is_sandbox(parent(pid))
        })
    };
    let command = || first(&|pid, line: &[String]| has(line, "while test -e") && is_sandbox(parent(pid)));
    let service =
        || first(&|pid, line: &[String]| has(line, "sleep 0.4") && has(&line_of(parent(pid)), "IS_READY"));
    let guest = || {
        first(&|pid, line: &[String]| {
            let is_kernel =
                line.iter().take(3).any(|word| word.starts_with("mem=")) || has(line, "-no-reboot");
            is_kernel && !is_sandbox(pid) && is_sandbox(parent(pid))
        })
    };
    let found = match name {
        "supervisor of the agent" => step("agent").map(parent),
        "agent" => step("agent"),
        "supervisor of a phase" => command().map(parent).map(parent),
        "first process of a phase" => command().map(parent),
        "phase command" => command(),
        "service" => service(),
        "shell of a service" => service().map(parent),
        "background of a phase" => {
            first(&|pid, line: &[String]| has(line, "sleep 0.3") && has(&line_of(parent(pid)), "IS_READY"))
        }
        "FUSE server" => {
            first(&|_, line: &[String]| line.first().is_some_and(|word| word.ends_with("bindfs")))
        }
        "staging process" => step("stage"),
        "supervisor of a guest" => guest().map(parent).map(parent),
        "guest kernel" => guest(),
        // It is the first process that the kernel starts, and the only one that it does not trace.
        "I/O process of a guest kernel" => guest().and_then(|kernel| children_of(kernel).first().copied()),
        STUB => guest().and_then(lasting_stub),
        "supervisor of a device process" => step("device").map(parent).map(parent),
        "device process" => step("device"),
        tool => {
            let programs: Vec<&str> =
                TOOLS.iter().filter(|(name, _)| *name == tool).map(|(_, program)| *program).collect();
            assert!(
                !programs.is_empty(),
                "{tool} is in the table of processes, and this test does not know it"
            );
            let bin = place.path().join("bin");
            let is_tool = |line: &[String]| {
                let is_program = |word: &String| {
                    programs.iter().any(|program| *word == bin.join(program).to_string_lossy())
                };
                let program = line.iter().position(is_program);
                let has_path = |at| line[at + 1..].iter().any(|word| word.contains('/'));
                line.first().is_some_and(|word| word.ends_with("sh")) && program.is_some_and(has_path)
            };
            // What it has just forked has its command line for a moment.
            first(&|pid, line: &[String]| is_tool(line) && !is_tool(&line_of(parent(pid))))
        }
    };
    // What lost its parent meanwhile has another one, which is none of this run's. A stub has no command line to be known by.
    found.filter(|process| name == STUB || processes.iter().any(|(own, _)| own == process))
}

/// The stub of the held phase's shell: the youngest that is there for much longer than a `sleep 0.2`, once the phase has had
/// time to start. The kernel does not need the stub of a program that is being started or that ends by itself, and the stub
/// of a program that waits for another one takes no signal before that other one ends.
fn lasting_stub(kernel: u32) -> Option<u32> {
    std::thread::sleep(Duration::from_secs(1));
    let looks: Vec<Vec<u32>> = (0..3)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(400));
            children_of(kernel)
        })
        .collect();
    let lasts = |stub: &u32| looks.iter().all(|look| look.contains(stub));
    looks.first()?.iter().copied().skip(1).rfind(lasts)
}

/// The children of a process, the oldest first.
fn children_of(process: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn line_of(pid: u32) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
