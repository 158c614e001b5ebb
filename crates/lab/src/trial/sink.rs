//! Where the agent's events go: JSON lines to the conductor.

use std::fs::File;
use std::io::Write;

use fsverdict_judgement::journal::{Caution, CommandRecord, Event, Facts, Learnt, Observation};

/// Sends events. A conductor that is gone is not an error here: the agent is about to be ended with it.
pub struct Sink {
    output: Box<dyn Write>,
    /// The same pipe once more, for what is noticed while the agent waits for something else.
    beside: Option<File>,
}

impl Sink {
    pub fn new(output: impl Write + 'static) -> Self {
        Sink { output: Box::new(output), beside: None }
    }

    /// Into a pipe, which takes lines of several threads one by one (pipe(7)).
    pub fn from_pipe(pipe: File) -> Self {
        let beside = pipe.try_clone().ok();
        Sink { beside, ..Sink::new(pipe) }
    }

    /// A sink of another thread's, if there can be one.
    pub(super) fn for_thread(&self) -> Option<File> {
        self.beside.as_ref()?.try_clone().ok()
    }

    pub fn send(&mut self, event: &Event) {
        if let Ok(mut line) = serde_json::to_vec(event) {
            line.push(b'\n');
            let _ = self.output.write_all(&line).and_then(|()| self.output.flush());
        }
    }

    pub fn step(&mut self, step: &str) {
        self.send(&Event::StepStarted { step: step.to_owned() });
    }

    pub fn command(&mut self, record: &CommandRecord) {
        self.send(&Event::Command(record.clone()));
    }

    pub fn observation(&mut self, observation: Observation) {
        self.send(&Event::Observation(observation));
    }

    /// Something a reader must know; `phase` is empty for the whole trial.
    pub fn caution(&mut self, phase: &str, text: impl Into<String>) {
        self.send(&Event::Caution(Caution { phase: phase.to_owned(), text: text.into() }));
    }

    pub fn facts(&mut self, facts: Facts) {
        if !facts.is_empty() {
            self.learnt(facts, Learnt::default());
        }
    }

    /// What the program itself goes by, with what is shown of it.
    pub fn learnt(&mut self, facts: Facts, learnt: Learnt) {
        self.send(&Event::Facts { facts, learnt });
    }
}
