//! Companions of phases: services that span phases, and the background of one. Each is a shell in a sandbox of its
//! own. The end of its standard input tells it to stop, so it also stops when the agent is gone.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use fsverdict_judgement::journal::CommandRecord;
use fsverdict_judgement::plan::Service;
use fsverdict_linux::sandbox::FROM_OUTSIDE;
use fsverdict_linux::sandbox::program::{Program, RunningProgram};
use fsverdict_text::Reason;

use super::error::TrialError;
use super::sink::Sink;
use super::stack::Stack;

/// How often it is looked whether a service is ready.
const LOOKS: Duration = Duration::from_millis(20);

/// Time limit for stopping, from the request on.
const TO_STOP: Duration = Duration::from_secs(30);

/// Runs $LINE as $SERVICE until standard input ends, and then runs $STOP. $READY is polled until it succeeds, which
/// the file $IS_READY announces, or until the service ends. A service that was told to stop and ended by the signal
/// for that has ended well: it was not killed from outside.
const WRAPPER: &str = r#"
exec 3<&0
sh -u -c "$LINE" </dev/null 3<&- &
SERVICE=$!
export SERVICE
if [ -n "$READY" ]; then
    (
        exec 3<&-
        until sh -u -c "$READY" >/dev/null 2>&1; do
            kill -0 "$SERVICE" 2>/dev/null || exit
            sleep 0.05
        done
        : >"$IS_READY"
    ) &
else
    : >"$IS_READY"
fi
( cat <&3 >/dev/null; : >"$IS_READY.stop"; kill -0 "$SERVICE" 2>/dev/null && sh -u -c "$STOP" ) &
wait "$SERVICE"
STATUS=$?
[ -e "$IS_READY.stop" ] && [ "$STATUS" -gt 128 ] && exit 0
exit "$STATUS"
"#;

/// The default for stopping: SIGTERM, after which all remaining processes end with their namespace.
const USUAL_STOP: &str = r#"kill -TERM "$SERVICE""#;

/// Those that go on now.
#[derive(Debug, Default)]
pub(super) struct Companions {
    services: Vec<Companion>,
}

/// A running service or background.
#[derive(Debug)]
pub(super) struct Companion {
    name: String,
    /// The kind for messages: `service` or `background of phase`.
    what: &'static str,
    running: RunningProgram,
    is_ready: PathBuf,
    /// Whether it was told to stop; if it does not, the agent kills it.
    is_told_to_stop: Arc<AtomicBool>,
}

/// The shell lines of a companion.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompanionLines<'a> {
    pub(super) line: &'a str,
    pub(super) ready: Option<&'a str>,
    pub(super) stop: Option<&'a str>,
}

impl Companion {
    /// Lets `lines` go on in `program`'s place, a shell that is set up for the commands of a phase.
    pub(super) fn start_shell(
        name: &str,
        what: &'static str,
        lines: CompanionLines<'_>,
        scratch: &Path,
        shell: impl FnOnce(&str) -> Program,
    ) -> Result<Self, TrialError> {
        let is_ready = scratch.join(format!(".ready-{name}"));
        for old in [&is_ready, &scratch.join(format!(".ready-{name}.stop"))] {
            let _ = std::fs::remove_file(old);
        }
        let program = shell(WRAPPER)
            .with_open_input()
            .with_variable("LINE", lines.line)
            .with_variable("READY", lines.ready.unwrap_or_default())
            .with_variable("STOP", lines.stop.unwrap_or(USUAL_STOP))
            .with_variable("IS_READY", &is_ready);
        let running = program.prepare_start()?.start();
        Ok(Self { name: name.to_owned(), what, running, is_ready, is_told_to_stop: Arc::default() })
    }

    /// Sends a record into `events` as soon as it is killed from outside: a phase may wait for it without end, and its trial is then
    /// ended when its time is up.
    pub(super) fn report_kill(&self, events: Option<File>) {
        let (Some(process), Some(events)) = (self.running.process(), events) else { return };
        let (step, told) = (self.name.clone(), Arc::clone(&self.is_told_to_stop));
        std::thread::spawn(move || {
            let ended = loop {
                match waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                    Err(rustix::io::Errno::INTR) => {}
                    ended => break ended.ok().flatten(),
                }
            };
            let Some(ended) = ended else { return };
            let (exit, signal) = (ended.exit_status(), ended.terminating_signal());
            let by = |known: &i32| signal == Some(*known) || exit == Some(128 + known);
            if !told.load(Ordering::Relaxed) && FROM_OUTSIDE.iter().any(by) {
                let argv = vec![step.clone()];
                let (stdout, stderr) = (String::new(), String::new());
                let record = CommandRecord { step, argv, exit, signal, seconds: 0.0, stdout, stderr };
                Sink::new(events).send_command(&record);
            }
        });
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// When it has ended before, or is not ready in time: with its last lines.
    pub(super) fn await_ready(mut self, within: Duration) -> Result<Self, TrialError> {
        let begun = Instant::now();
        while !self.is_ready.exists() {
            if self.running.has_ended()? {
                return Err(self.ended_early("ended before it was ready"));
            }
            if begun.elapsed() > within {
                let hint =
                    "`ready` is a command that ends with 0 once it is; `within` says how long that may take";
                let seconds = within.as_secs_f64();
                let what = format!("was not ready within {seconds} s");
                return Err(self.error_with_output(&what, hint));
            }
            std::thread::sleep(LOOKS);
        }
        Ok(self)
    }

    /// Whether it still goes on.
    ///
    /// # Errors
    /// When it does not: with its last lines.
    pub(super) fn require_running(mut self, when: &str) -> Result<Self, TrialError> {
        match self.running.has_ended()? {
            true => Err(self.ended_early(&format!("ended {when}"))),
            false => Ok(self),
        }
    }

    /// Stops it, and waits until nothing of it is left.
    pub(super) fn stop_and_wait(self) -> Result<CommandRecord, TrialError> {
        self.is_told_to_stop.store(true, Ordering::Relaxed);
        Ok(self.running.stop_within(&self.name, TO_STOP)?)
    }

    fn ended_early(self, what: &str) -> TrialError {
        let hint = "it has to go on in the foreground until it is stopped";
        self.error_with_output(what, hint)
    }

    fn error_with_output(self, what: &str, hint: &str) -> TrialError {
        let (subject, name) = (self.what, self.name.clone());
        let (said, record) = match self.stop_and_wait() {
            Ok(record) => (last_lines(&record), Some(Box::new(record))),
            Err(error) => (error.to_string(), None),
        };
        TrialError::Companion {
            reason: Reason::new(format!("the {subject} `{name}` {what}: {said}"), hint),
            record,
        }
    }
}

impl Companions {
    pub(super) fn add_service(&mut self, companion: Companion) {
        self.services.push(companion);
    }

    /// Stops the service of this name, which must have gone on until now.
    pub(super) fn stop_service(&mut self, service: &Service) -> Result<Option<CommandRecord>, TrialError> {
        let Some(at) = self.services.iter().position(|running| running.name == service.name) else {
            return Ok(None);
        };
        self.services.remove(at).require_running("before it was to stop")?.stop_and_wait().map(Some)
    }

    /// All must go on.
    pub(super) fn require_all_running(&mut self, phase: &str) -> Result<(), TrialError> {
        let when = format!("by the end of phase `{phase}`");
        self.services = std::mem::take(&mut self.services)
            .into_iter()
            .map(|running| running.require_running(&when))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Ends all that still run, the last first; their output no longer matters.
    pub(super) fn end_all(&mut self, stack: &mut Stack<'_>) {
        for one in std::mem::take(&mut self.services).into_iter().rev() {
            if let Ok(record) = one.stop_and_wait() {
                stack.sink.send_command(&record);
            }
        }
    }
}

/// The exit status and the last output on either stream, on one line.
fn last_lines(record: &CommandRecord) -> String {
    const LINES: usize = 6;
    const CHARACTERS: usize = 200;
    let both = format!("{}\n{}", record.stdout, record.stderr);
    let filled: Vec<&str> = both.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &filled[filled.len().saturating_sub(LINES)..];
    let cut: Vec<String> = last.iter().map(|line| line.chars().take(CHARACTERS).collect()).collect();
    let status = record.exit.map_or_else(|| "killed".to_owned(), |status| format!("exit status {status}"));
    match cut.is_empty() {
        true => format!("{status}, and it said nothing"),
        false => format!("{status}; its last lines: {}", cut.join(" / ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::{Companion, CompanionLines};
    use fsverdict_linux::sandbox::program::Program;

    fn start(folder: &Path, line: &str, ready: Option<&str>, stop: Option<&str>) -> Companion {
        let shell = |wrapper: &str| Program::new(["/bin/sh", "-u", "-c", wrapper]).in_folder(folder);
        Companion::start_shell("db", "service", CompanionLines { line, ready, stop }, folder, shell).unwrap()
    }

    const SECOND: Duration = Duration::from_secs(20);

    #[test]
    fn a_service_is_waited_for_and_stopped_as_it_asks() {
        let folder = tempfile::tempdir().unwrap();
        let line = "trap 'echo stopped; exit 3' TERM; : > up; while :; do sleep 0.05; done";
        let service = start(folder.path(), line, Some("test -e up"), None).await_ready(SECOND).unwrap();
        let record = service.require_running("now").unwrap().stop_and_wait().unwrap();
        assert_eq!((record.exit, record.stdout.as_str()), (Some(3), "stopped\n"));
        let deaf = start(folder.path(), "exec sleep 1000", None, None).await_ready(SECOND).unwrap();
        assert_eq!(
            deaf.stop_and_wait().unwrap().exit,
            Some(0),
            "it ended by the signal that it was told to stop with"
        );
        let own = start(folder.path(), "while test ! -e go; do sleep 0.05; done", None, Some("touch go"));
        assert_eq!(own.await_ready(SECOND).unwrap().stop_and_wait().unwrap().exit, Some(0));
    }

    #[test]
    fn one_that_does_not_start_or_dies_is_told_with_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let dies = start(folder.path(), "echo no port; exit 7", Some("false"), None);
        let said = dies.await_ready(SECOND).unwrap_err().to_string();
        assert!(
            said.contains("service `db` ended before it was ready: exit status 7; its last lines: no port"),
            "{said}"
        );
        let never = start(folder.path(), "echo waiting; sleep 1000", Some("false"), None);
        let said = never.await_ready(Duration::from_millis(300)).unwrap_err().to_string();
        assert!(said.contains("was not ready within 0.3 s") && said.contains("waiting"), "{said}");
        let later = start(folder.path(), "exit 0", None, None).await_ready(SECOND).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let said = later.require_running("by the end of phase `x`").unwrap_err().to_string();
        assert!(said.contains("ended by the end of phase `x`: exit status 0, and it said nothing"), "{said}");
    }
}
