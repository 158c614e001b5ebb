//! Whether the first process of a trial's sandbox is held by a debugger: unlike a stop by a signal, nobody is told of that
//! (ptrace(2)), and what holds it may never let go.

use fsverdict_linux::host::procfs::{ProcessStat, tracer_of};
use fsverdict_linux::host::root::{Root, names_in};
use fsverdict_linux::sandbox::FROM_OUTSIDE;

/// One that is found held so many times in a row, a second apart, is given up. Who is only watched, system call by system
/// call, is let go in between.
const PATIENCE: u32 = 20;
/// So many processes of a trial are looked at in one go, at most.
const MOST_PROCESSES: usize = 200;
/// So many times are no chance.
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
    pub(super) fn of(supervisor: u32) -> Self {
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

    /// To be asked where nothing has been heard of the trial for a second.
    pub(super) fn look(&mut self) {
        match self.held() {
            Some(process) => {
                self.times += 1;
                self.tracer = tracer_of(&self.root, process);
            }
            None => self.times = 0,
        }
        self.was_held |= self.times >= HELD;
    }

    /// Looks whether any process of the trial is stopped just now. Its own parent alone is told of a stop, and what a command of the
    /// plan has started is nobody's child here: of that a stop is seen that lasts until the next look.
    pub(super) fn look_for_stops(&mut self) {
        self.was_stopped |= self.processes().iter().any(|stat| stat.state == 'T');
    }

    /// Looks for a helper process of a guest's kernel that was killed from outside. User-Mode Linux does the I/O of its disks in such
    /// a process: it does not notice the death, and waits for an answer forever. What it ends itself it waits for at once, so a
    /// process counts that is dead at two looks, a second apart.
    pub(super) fn look_for_dead_helpers(&mut self) {
        let killed = |stat: &ProcessStat| stat.killed_by.filter(|signal| FROM_OUTSIDE.contains(signal));
        let dead: Vec<ProcessStat> = self.processes().into_iter().filter(|stat| !stat.runs()).collect();
        let still_dead = dead.iter().filter(|stat| self.dead.contains(&stat.pid));
        self.dead_helper = self.dead_helper.or(still_dead.filter_map(killed).next());
        self.dead = dead.into_iter().map(|stat| stat.pid).collect();
    }

    /// The supervisor and the processes below it, up to [`MOST_PROCESSES`].
    fn processes(&self) -> Vec<ProcessStat> {
        let mut waiting = vec![self.supervisor];
        let mut found = Vec::new();
        while let Some(process) = waiting.pop().filter(|_| found.len() < MOST_PROCESSES) {
            found.extend(ProcessStat::read(&self.root, process));
            waiting.extend(self.children(process));
        }
        found
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.times >= PATIENCE
    }

    /// What holds it, if it was found held when it was last looked at.
    pub(super) fn told(&self) -> Option<String> {
        let by = self.tracer.map_or("another process".to_owned(), |tracer| format!("process {tracer}"));
        (self.times > 0).then(|| format!("its first process is held by a debugger, {by}"))
    }

    /// The supervisor, or the first process of its sandbox. What that starts is none of ours: a User-Mode-Linux kernel holds its
    /// own processes all the time.
    fn held(&self) -> Option<u32> {
        let is_held =
            |process: &u32| ProcessStat::read(&self.root, process).is_ok_and(|stat| stat.state == 't');
        let started = self.children(self.supervisor);
        [self.supervisor].into_iter().chain(started).find(is_held)
    }

    fn children(&self, process: u32) -> Vec<u32> {
        let threads = names_in(&self.root.path(format!("proc/{process}/task")));
        let children = threads.into_iter().flat_map(|thread| {
            let text = self.root.text(format!("proc/{process}/task/{thread}/children"));
            text.unwrap_or_default().split_whitespace().flat_map(str::parse).collect::<Vec<u32>>()
        });
        children.collect()
    }
}
