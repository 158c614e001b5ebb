//! Runs programs: argv in, exit status, bounded output and time out. Nothing else in fsverdict starts a process
//! it waits for.
//!
//! Each program runs in its own process group, so that a time limit also ends its children.

mod alarm;
mod error;
mod find;
mod line_hearer;
mod output;
mod running;
mod stops;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::{Sandbox, StartBarrier, ToolSpawner, make_inheritable};
use fsverdict_judgement::journal::CommandRecord;

use alarm::Alarm;
use output::{OutputTail, collect_output, tail_of};

pub use error::ProgramError;
pub use find::{
    FETCHED_PROGRAMS, FETCHED_TOOLS, fetched_program_folders, find_fetched_program, find_installed_program,
    find_program,
};
pub use line_hearer::LineHearer;
pub use running::RunningProgram;
pub use stops::report_stops_to;

/// How much of each output stream is kept (its end), in bytes, unless asked otherwise.
const KEPT_OUTPUT: usize = 16 * 1024;

/// The variable that sets the language of messages.
const LANGUAGE: &str = "LC_ALL";

#[derive(Debug, Clone)]
pub struct Program {
    argv: Vec<String>,
    environment: Vec<(String, OsString)>,
    input: ProgramInput,
    output_file: Option<Arc<File>>,
    limit: Option<Duration>,
    kept: usize,
    hearer: Option<LineHearer>,
    folder: Option<PathBuf>,
    sandbox: Option<Sandbox>,
    tool_spawner: Option<ToolSpawner>,
}

/// What a program reads from its standard input.
#[derive(Debug, Clone)]
enum ProgramInput {
    Nothing,
    Bytes(Vec<u8>),
    File(Arc<File>),
    /// It stays open and empty for as long as this process holds it.
    Open,
}

/// A program that stands ready: everything is set up, nothing of its own has run.
#[derive(Debug)]
pub struct PreparedProgram {
    argv: Vec<String>,
    child: Child,
    group: Pid,
    /// Its standard input, where that is to stay open.
    line: Option<ChildStdin>,
    stdout: Option<OutputTail>,
    stderr: Option<OutputTail>,
    limit: Option<Duration>,
    go: Option<OwnedFd>,
}

impl Program {
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Program {
            argv: argv.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            input: ProgramInput::Nothing,
            output_file: None,
            limit: None,
            kept: KEPT_OUTPUT,
            hearer: None,
            folder: None,
            sandbox: None,
            tool_spawner: None,
        }
    }

    /// Runs it in a sandbox, of which only the argv is replaced.
    pub fn inside(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Starts it in the thread of a [`ToolSpawner`], with that thread's capabilities and mounts.
    pub fn from(mut self, tool_spawner: &ToolSpawner) -> Self {
        self.tool_spawner = Some(tool_spawner.clone());
        self
    }

    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Its standard input; empty by default.
    pub fn with_input(mut self, bytes: &[u8]) -> Self {
        self.input = ProgramInput::Bytes(bytes.to_vec());
        self
    }

    /// Its standard input is read from here, from the file's current position on.
    pub fn with_input_file(mut self, file: &Arc<File>) -> Self {
        self.input = ProgramInput::File(Arc::clone(file));
        self
    }

    /// Its standard output is written here, from the file's current position on, and is in no record.
    pub fn with_output_file(mut self, file: &Arc<File>) -> Self {
        self.output_file = Some(Arc::clone(file));
        self
    }

    /// Keeps its standard input open and empty until it or this process ends, for any reason: a program that reads it
    /// notices.
    pub fn with_open_input(mut self) -> Self {
        self.input = ProgramInput::Open;
        self
    }

    /// Ends it, and all it started, after this long.
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Keeps this many bytes of the end of each output stream.
    pub fn with_output_limit(mut self, bytes: usize) -> Self {
        self.kept = bytes;
        self
    }

    /// Has each line of its standard output heard as soon as it is read.
    pub fn heard_by(mut self, hearer: LineHearer) -> Self {
        self.hearer = Some(hearer);
        self
    }

    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Runs it and records how it ended, with success or not. `step` is its name in the trace.
    ///
    /// # Errors
    /// Only if it could not be started or waited for.
    pub fn run(&self, step: &str) -> Result<CommandRecord, ProgramError> {
        self.prepare_start()?.run(step)
    }

    /// Starts it up to the point where its first own instruction would run, if it runs in a sandbox; a program
    /// without a sandbox has no such point and simply starts.
    pub fn prepare_start(&self) -> Result<PreparedProgram, ProgramError> {
        let name = self.argv.first().map_or("", String::as_str);
        let start = |source: std::io::Error| ProgramError::Start { program: name.to_owned(), source };
        let path = find_program(name).ok_or_else(|| ProgramError::Missing { program: name.to_owned() })?;
        let BuiltCommand { mut command, barrier, stop_report_pipe } =
            self.build_command(path).map_err(start)?;
        let of_file = |file: &Arc<File>| file.try_clone().map(Stdio::from).map_err(start);
        command.stdout(self.output_file.as_ref().map_or(Ok(Stdio::piped()), of_file)?);
        command.stderr(Stdio::piped()).process_group(0);
        command.stdin(match &self.input {
            ProgramInput::Nothing => Stdio::null(),
            ProgramInput::Bytes(_) | ProgramInput::Open => Stdio::piped(),
            ProgramInput::File(file) => of_file(file)?,
        });
        // Tools are read by programs here, so they speak the untranslated language.
        command.env(LANGUAGE, "C").envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = match &self.tool_spawner {
            Some(tool_spawner) => tool_spawner.spawn_in_thread(command),
            None => command.spawn(),
        }
        .map_err(start)?;
        drop(stop_report_pipe);
        let group = Pid::from_child(&child);
        let mut line = child.stdin.take();
        if let (ProgramInput::Bytes(bytes), Some(pipe)) = (&self.input, &mut line) {
            // A program that ends without reading its input tells us by its exit status.
            let _ = pipe.write_all(bytes);
        }
        let line = line.filter(|_| matches!(self.input, ProgramInput::Open));
        let hearer = self.hearer.clone();
        let stdout = child.stdout.take().map(|pipe| tail_of(pipe, self.kept, hearer));
        let stderr = child.stderr.take().map(|pipe| tail_of(pipe, self.kept, None));
        let mut ready = PreparedProgram {
            argv: self.argv.clone(),
            child,
            group,
            line,
            stdout,
            stderr,
            limit: self.limit,
            go: None,
        };
        if let Some(barrier) = barrier {
            let (reached, go) = barrier.into_parent_fds();
            // End of file: the sandbox broke while it was set up, and says why on standard error.
            if File::from(reached).read_exact(&mut [0]).is_err() {
                let status = ready.child.wait().map_err(start)?;
                let message = collect_output(ready.stderr.take());
                return Err(start(std::io::Error::other(format!("{} ({status})", message.trim()))));
            }
            ready.go = Some(go);
        }
        Ok(ready)
    }

    /// Builds the command. The stop-report pipe must stay open until the child is spawned.
    fn build_command(&self, path: PathBuf) -> std::io::Result<BuiltCommand> {
        let Some(sandbox) = &self.sandbox else {
            let mut command = Command::new(path);
            command.args(self.argv.iter().skip(1));
            return Ok(BuiltCommand { command, barrier: None, stop_report_pipe: None });
        };
        let barrier = StartBarrier::new().map_err(std::io::Error::other)?;
        let mut sandbox = sandbox.clone();
        sandbox.argv = self.argv.clone();
        if let Some(program) = sandbox.argv.first_mut() {
            *program = path.to_string_lossy().into_owned();
        }
        sandbox.variables = self.environment.iter().map(|(name, _)| name.clone()).collect();
        sandbox.variables.push(LANGUAGE.to_owned());
        sandbox.gate = Some(barrier.child_fds().map_err(std::io::Error::other)?);
        let stop_report_pipe = stops::pipe_for_supervisor();
        if let Some(pipe) = &stop_report_pipe {
            sandbox.stops = Some(make_inheritable(pipe.as_fd()).map_err(std::io::Error::other)?);
        }
        let command = sandbox.command().map_err(std::io::Error::other)?;
        Ok(BuiltCommand { command, barrier: Some(barrier), stop_report_pipe })
    }
}

/// A command that can be spawned, and what its sandbox needs meanwhile.
struct BuiltCommand {
    command: Command,
    /// Where the sandboxed process waits before it runs the program; `None` without a sandbox.
    barrier: Option<StartBarrier>,
    /// The pipe on which the supervisor reports that the program was stopped or continued.
    stop_report_pipe: Option<OwnedFd>,
}

impl PreparedProgram {
    fn program_name(&self) -> String {
        self.argv.first().cloned().unwrap_or_default()
    }

    /// Lets it go and waits for its end. The clock of the record starts here.
    pub fn run(mut self, step: &str) -> Result<CommandRecord, ProgramError> {
        let name = self.argv.first().cloned().unwrap_or_default();
        let started = Instant::now();
        if let Some(go) = self.go.take() {
            // If it has died meanwhile, its exit status says so.
            let _ = File::from(go).write_all(b"g");
        }
        let alarm = self.limit.map(|limit| Alarm::kill_after(self.group, limit));
        let status = stops::wait_for_end(&mut self.child)
            .map_err(|source| ProgramError::Wait { program: name, source })?;
        let seconds = started.elapsed().as_secs_f64();
        drop(self.line);
        let rang = alarm.is_some_and(Alarm::cancel);
        Ok(CommandRecord {
            step: step.to_owned(),
            argv: self.argv,
            exit: status.code(),
            signal: if rang { None } else { status.signal() },
            seconds,
            stdout: collect_output(self.stdout),
            stderr: collect_output(self.stderr),
        })
    }
}

impl PreparedProgram {
    /// Lets it go, and does not wait. The limit of the program does not count.
    pub fn start(mut self) -> RunningProgram {
        let started = Instant::now();
        if let Some(go) = self.go.take() {
            let _ = File::from(go).write_all(b"g");
        }
        RunningProgram { ready: Some(self), started }
    }
}

/// Turns a record of anything but exit status 0 into an error.
pub fn require_success(record: CommandRecord) -> Result<CommandRecord, ProgramError> {
    if record.exit == Some(0) { Ok(record) } else { Err(ProgramError::Failed(Box::new(record))) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::{Program, ProgramError, find_program, require_success};

    #[test]
    fn output_exit_and_input_are_reported() {
        let record = Program::new(["sh", "-c", "cat; echo oops >&2; exit 3"])
            .with_input(b"hello")
            .run("step")
            .unwrap();
        assert_eq!(
            (record.exit, record.stdout.as_str(), record.stderr.as_str()),
            (Some(3), "hello", "oops\n")
        );
        let error = require_success(record).unwrap_err().to_string();
        assert!(error.contains("exited with status 3: oops"), "{error}");
    }

    #[test]
    fn files_take_the_place_of_input_and_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream");
        std::fs::write(&path, "seven\n").unwrap();
        let open = |path: &std::path::Path| {
            std::fs::File::options().read(true).append(true).create(true).open(path).map(Arc::new).unwrap()
        };
        let copy = folder.path().join("copy");
        let program = Program::new(["cat"]).with_input_file(&open(&path)).with_output_file(&open(&copy));
        let record = program.run("copy").unwrap();
        assert_eq!((record.exit, record.stdout.as_str()), (Some(0), ""));
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "seven\n");
    }

    #[test]
    fn an_error_tells_the_gist_and_no_usage() {
        let shown = |line: &str| {
            require_success(Program::new(["/bin/sh", "-c", line]).run("s").unwrap()).unwrap_err().to_string()
        };
        let error = shown("exec sh -c 'echo too small; echo Usage: mkfs; echo more; exit 1'");
        assert!(error.starts_with("`sh -c") && error.ends_with("exited with status 1: too small"), "{error}");
        let error = shown("seq 100; exit 1");
        assert!(error.ends_with("1\n2\n[96 lines left out]\n99\n100"), "{error}");
        let error = shown("\necho no\nexit 1\n");
        assert_eq!(error, "`echo no …` exited with status 1: no");
        let error = shown("echo usage: x; exit 1");
        assert!(error.ends_with(": usage: x"), "{error}");
        let error = shown("seq 100000; exit 1");
        let first = error.split_once("status 1: ").unwrap().1.lines().next().unwrap();
        assert_eq!(first.len(), 5, "a whole line, not the end of one: {error}");
    }

    #[test]
    fn a_time_limit_ends_the_whole_group() {
        let started = Instant::now();
        let record = Program::new(["sh", "-c", "sleep 60 & sleep 60"])
            .with_time_limit(Duration::from_millis(200))
            .run("s")
            .unwrap();
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!((record.exit, record.signal), (None, None));
        assert!(require_success(record).unwrap_err().to_string().contains("time limit"));
    }

    #[test]
    fn only_the_end_of_long_output_is_kept() {
        let record = Program::new(["sh", "-c", "seq 1 100000"]).with_output_limit(10).run("s").unwrap();
        assert_eq!(record.stdout, "99\n100000\n"[..].to_owned());
    }

    #[test]
    fn a_missing_program_is_named() {
        assert!(find_program("no-such-program-anywhere").is_none());
        let error = Program::new(["no-such-program-anywhere"]).run("s").unwrap_err();
        assert!(
            matches!(error, ProgramError::Missing { .. })
                && error.to_string().contains("no-such-program-anywhere")
        );
    }
}
