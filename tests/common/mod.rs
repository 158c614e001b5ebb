//! What the tests of the real binary share: a place of its own for each run, its journal, and what it left behind.
//!
//! Other runs may be under way on the same machine, so nothing here looks at the machine as a whole: processes are
//! known by a variable in their environment, loop devices by the folder of the file behind them.

#![allow(dead_code, unused_imports, reason = "no test binary uses all of it")]
#![allow(unreachable_pub, reason = "a module of several test binaries")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may panic in its helpers too"
)]

pub mod attacks;
pub mod carried;
pub mod daemons;
mod disk;
pub mod fetched;
mod journal;
pub mod kernels;
pub mod labs;
mod left;
pub mod opening;
pub mod outputs;
mod plans;
mod seen;
pub mod shards;
pub mod sources;

pub use disk::Disk;
pub use fsverdict_testutil::{is_full, members};
pub use journal::Journal;
pub use plans::{one_command, two_disks, two_folders};
pub use seen::Seen;

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Every process of a run bears it in its environment, with the place as its value.
const MARK: &str = "FSVERDICT_TEST_PLACE";

/// The binary under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fsverdict");

/// A folder with a home and a cache of its own; what runs in it can be told from everything else.
pub struct Place {
    folder: TempDir,
}

/// Tests run beside one another: what the neighbours do must not throw out blocks.
const UNDISTURBED: [&str; 2] = ["--set", "protocol.disturbed=false"];

impl Place {
    pub fn new() -> Place {
        // Not in /tmp, which may be memory and which sandboxes cover; the guest's root is the host's, so it is seen there.
        let folder = tempfile::Builder::new().prefix("fsverdict-it-").tempdir_in("/var/tmp").unwrap();
        for name in ["home", "cache"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        // The kernels of whoever runs the tests; those that everybody has are found anyway.
        let own = |name: &str| std::env::var_os(name).map(std::path::PathBuf::from);
        let cache = own("XDG_CACHE_HOME").or_else(|| Some(own("HOME")?.join(".cache")));
        let kernels = cache.unwrap_or_default().join("fsverdict/kernels");
        let there = folder.path().join("cache/fsverdict/kernels");
        for kernel in fs::read_dir(kernels).into_iter().flatten().flatten() {
            fs::create_dir_all(&there).unwrap();
            std::os::unix::fs::symlink(kernel.path(), there.join(kernel.file_name())).unwrap();
        }
        Place { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn furnished(&self, mut command: Command) -> Command {
        command
            .current_dir(self.path())
            .env("HOME", self.path().join("home"))
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env_remove("XDG_STATE_HOME")
            .env(MARK, self.path())
            .env("NO_COLOR", "1")
            .env("LC_ALL", "C")
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        command
    }

    /// `fsverdict` with these arguments, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.furnished(Command::new(PROGRAM));
        command.args(arguments);
        command
    }

    /// `fsverdict` with these arguments, to its end.
    pub fn fsverdict(&self, arguments: &[&str]) -> Seen {
        let output = assert_cmd::Command::from_std(self.command(arguments))
            .timeout(Duration::from_secs(900))
            .output()
            .unwrap();
        Seen::of(&output)
    }

    /// `fsverdict compare` of these runs, with bars where it draws some.
    pub fn compare(&self, runs: &[&str], format: &str) -> Seen {
        let words = [&["compare"], runs, &["--format", format]].concat();
        Seen::of(&self.command(&words).env("LC_ALL", "C.UTF-8").output().unwrap())
    }

    /// Another program with these arguments, in the same surroundings, to its end.
    pub fn any(&self, program: &str, arguments: &[&str]) -> Seen {
        let mut command = self.furnished(Command::new(program));
        Seen::of(&command.args(arguments).output().unwrap())
    }

    /// `fsverdict` as an ordinary user: whoever runs the tests, or `nobody` when that is root.
    pub fn unprivileged(&self, arguments: &[&str]) -> Seen {
        if !is_root() {
            return self.fsverdict(arguments);
        }
        let mut command = self.furnished(Command::new("setpriv"));
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        // The binary may lie below a folder that is root's alone.
        let program = self.path().join("fsverdict");
        fs::copy(PROGRAM, &program).unwrap();
        let open = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(self.path(), open).unwrap();
        command.arg(&program).args(arguments);
        let seen = Seen::of(&command.output().unwrap());
        fs::remove_file(&program).unwrap();
        seen
    }

    /// Writes a plan and returns its path.
    pub fn plan(&self, name: &str, text: &str) -> String {
        let path = self.path().join(format!("{name}.toml"));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs a plan into the folder `run`.
    pub fn run(&self, plan: &str, more: &[&str]) -> Seen {
        let path = self.plan("plan", plan);
        let arguments: Vec<&str> = ["run", path.as_str(), "--out", "run"]
            .into_iter()
            .chain(UNDISTURBED)
            .chain(more.iter().copied())
            .collect();
        self.fsverdict(&arguments)
    }

    /// Puts a complete run that was recorded elsewhere into the folder `run`.
    pub fn recorded(&self) {
        self.recorded_as("run");
    }

    /// The same, into the folder `name`.
    pub fn recorded_as(&self, name: &str) {
        self.recorded_from("demo", name);
    }

    /// Another of the recorded runs, into the folder `name`.
    pub fn recorded_from(&self, run: &str, name: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs").join(run);
        let there = self.path().join(name);
        fs::create_dir(&there).unwrap();
        for file in ["plan.json", "journal.jsonl"] {
            fs::copy(from.join(file), there.join(file)).unwrap();
        }
    }

    /// Starts a plan in the background, into the folder `run`.
    pub fn start(&self, plan: &str, more: &[&str]) -> Running<'_> {
        let path = self.plan("plan", plan);
        let mut command = self.command(&["run", &path, "--out", "run", "--quiet"]);
        let child =
            command.args(UNDISTURBED).args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Running { place: self, child }
    }

    /// The journal of the folder `run`, as far as it goes.
    pub fn journal(&self) -> Journal {
        let text = fs::read_to_string(self.path().join("run/journal.jsonl")).unwrap_or_default();
        // A line that is being written just now is not there yet.
        Journal(text.lines().map_while(|line| serde_json::from_str(line).ok()).collect())
    }

    /// The JSON report of the folder `run`.
    pub fn report(&self) -> Value {
        let seen = self.fsverdict(&["report", "run", "--format", "json"]);
        serde_json::from_str(&seen.stdout).unwrap_or_else(|error| panic!("{error}: {seen:#?}"))
    }

    /// Status and reason of a candidate in the JSON report.
    pub fn status(&self, candidate: &str) -> (String, String) {
        let report = self.report();
        let found = report["candidates"].as_array().unwrap().iter().find(|entry| entry["name"] == candidate);
        let found = found.unwrap_or_else(|| panic!("no candidate {candidate}: {report:#}"));
        let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"))
    }

    /// The candidate must have failed, for a reason that holds each of these; the reason.
    #[track_caller]
    pub fn failed(&self, candidate: &str, words: &[&str]) -> String {
        let (status, reason) = self.status(candidate);
        let all = words.iter().all(|word| reason.contains(word));
        assert!(status == "failed" && all, "{candidate} {status}, and not for {words:?}: {reason}");
        reason
    }
}

/// kill -9.
pub fn kill(pid: u32) {
    tool(&["kill", "-9", &pid.to_string()]);
}

/// A run under way; killed when it goes out of scope.
pub struct Running<'a> {
    pub place: &'a Place,
    pub child: Child,
}

impl Running<'_> {
    /// Waits until the journal is as wanted; the run must not end before that.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, is: impl Fn(&Journal) -> bool) -> Journal {
        let patience = Instant::now() + Duration::from_secs(300);
        loop {
            let journal = self.place.journal();
            if is(&journal) {
                return journal;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the run ended ({ended:?}) before {what}: {journal:#?}");
            assert!(Instant::now() < patience, "never saw {what}: {journal:#?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it by a signal, which is what it must then have ended by.
    pub fn signal(&mut self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        assert_eq!(self.child.wait().unwrap().signal(), Some(signal.as_raw()));
    }

    /// The exit status, when it has ended by itself.
    pub fn end(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Are we root?
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A lab that can be used here by whoever runs the tests.
pub fn usable_lab() -> Option<&'static str> {
    if is_root() { Some("native") } else { has_uml().then_some("uml") }
}

/// Whether the packaged User-Mode-Linux kernel is there.
pub fn has_uml() -> bool {
    ["/usr/bin/linux.uml", "/usr/local/bin/linux.uml"].iter().any(|path| Path::new(path).exists())
}

/// Reports that a test cannot run here: `scripts/test-tiers` then counts it as not run, never as passed.
#[track_caller]
pub fn not_run(reason: &str) {
    let line = format!("NOT RUN {}: {reason}\n", std::panic::Location::caller());
    // Past libtest, which swallows what a test prints that does not fail.
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Unmounts what a test has mounted. While another test starts a process, its child has this process' open files until it
/// becomes another program, so that a filesystem may be busy for a moment: it is tried again for up to ten seconds.
#[track_caller]
pub fn unmount(point: &Path) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        let output = Command::new("umount").arg(point).stdin(Stdio::null()).output().unwrap();
        if output.status.success() {
            return;
        }
        let is_busy = String::from_utf8_lossy(&output.stderr).contains("busy");
        assert!(is_busy && std::time::Instant::now() < deadline, "umount {}: {output:?}", point.display());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Runs a tool of the test's own; it must succeed. Its standard output.
#[track_caller]
pub fn tool(argv: &[&str]) -> String {
    let output = Command::new(argv[0]).args(&argv[1..]).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{argv:?}: {error}"));
    assert!(output.status.success(), "{argv:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
