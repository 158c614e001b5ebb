//! Detects whether a debugger holds the first process of a trial's sandbox. Unlike a stop by a signal, no process is
//! notified of that (ptrace(2)), and the debugger may never let go.

use fsverdict_linux::host::procfs::{ProcessStat, child_processes, process_tree, tracer_of};
use fsverdict_linux::host::root::Root;
use fsverdict_linux::sandbox::FROM_OUTSIDE;

/// A trial that is held at this many checks in a row, one second apart, is given up. A process that is only traced,
/// system call by system call, runs between checks.
const PATIENCE: u32 = 20;
/// Number of checks after which a hold is not a coincidence.
const HELD: u32 = 3;

/// Looks after the supervisor of a sandbox and the processes it started.
#[derive(Debug)]
pub(super) struct SupervisorWatch {
    root: Root,
    supervisor: u32,
    times: u32,
    tracer: Option<u32>,
    pub(super) was_held: bool,
    /// Whether any process of the trial was found stopped (SIGSTOP).
    pub(super) was_stopped: bool,
    /// Processes that were dead, and not waited for by their parent, when they were last looked at.
    dead: Vec<u32>,
    /// The signal that killed a helper process of a guest's kernel.
    pub(super) dead_helper: Option<i32>,
}

impl SupervisorWatch {
    pub(super) fn new(supervisor: u32) -> Self {
        SupervisorWatch {
            root: Root::default(),
            supervisor,
            times: 0,
            tracer: None,
            was_held: false,
            was_stopped: false,
            dead: Vec::new(),
            dead_helper: None,
        }
    }

    /// The number of the supervisor's process.
    pub(super) fn process(&self) -> u32 {
        self.supervisor
    }

    /// Checks for a hold; called after a second without any event.
    pub(super) fn check_now(&mut self) {
        match self.find_held() {
            Some(process) => {
                self.times += 1;
                self.tracer = tracer_of(&self.root, process);
            }
            None => self.times = 0,
        }
        self.was_held |= self.times >= HELD;
    }

    /// Checks whether any process of the trial is stopped. Only a parent is notified of a stop, and programs that a
    /// plan's command started are not children of this process: their stops are seen if they last until the next
    /// check.
    pub(super) fn look_for_stops(&mut self) {
        self.was_stopped |= process_tree(&self.root, self.supervisor).iter().any(|stat| stat.state == 'T');
    }

    /// Looks for a helper process of a guest's kernel that was killed from outside. User-Mode Linux performs its
    /// disks' I/O in such a process; it does not notice the death and waits for an answer forever. The kernel reaps
    /// helpers that it ends itself at once, so a process counts as dead if two checks, a second apart, find it dead.
    pub(super) fn look_for_dead_helpers(&mut self) {
        let killed = |stat: &ProcessStat| stat.killed_by.filter(|signal| FROM_OUTSIDE.contains(signal));
        let dead: Vec<ProcessStat> =
            process_tree(&self.root, self.supervisor).into_iter().filter(|stat| !stat.runs()).collect();
        let still_dead = dead.iter().filter(|stat| self.dead.contains(&stat.pid));
        self.dead_helper = self.dead_helper.or(still_dead.filter_map(killed).next());
        self.dead = dead.into_iter().map(|stat| stat.pid).collect();
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.times >= PATIENCE
    }

    /// Describes the process that holds the trial, if the last check found it held.
    pub(super) fn describe_hold(&self) -> Option<String> {
        let by = self.tracer.map_or("another process".to_owned(), |tracer| format!("process {tracer}"));
        (self.times > 0).then(|| format!("its first process is held by a debugger, {by}"))
    }

    /// The supervisor or the first process of its sandbox, if held. Their children are not examined: a
    /// User-Mode-Linux kernel traces its own processes all the time.
    fn find_held(&self) -> Option<u32> {
        let is_held =
            |process: &u32| ProcessStat::read(&self.root, process).is_ok_and(|stat| stat.state == 't');
        let started = child_processes(&self.root, self.supervisor);
        [self.supervisor].into_iter().chain(started).find(is_held)
    }
}
