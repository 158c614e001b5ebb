//! Where the agent's events go: JSON lines to the conductor.

use std::fs::File;
use std::io::Write;

use fsverdict_judgement::journal::{Caution, CommandRecord, Event, Facts, Learnt, Observation};

/// Sends events. A conductor that is gone is not an error here: the agent is about to be ended with it.
pub struct Sink {
    output: Box<dyn Write>,
    /// A second descriptor of the pipe, for observations made while the agent waits for something else.
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

    pub fn send_event(&mut self, event: &Event) {
        // A caution can always be written, so this ends.
        match serde_json::to_vec(event) {
            Ok(mut line) => {
                line.push(b'\n');
                let _ = self.output.write_all(&line).and_then(|()| self.output.flush());
            }
            Err(error) => {
                let text = format!("an event of the trial could not be written: {error}");
                self.send_caution("", text);
            }
        }
    }

    pub fn send_step(&mut self, step: &str) {
        self.send_event(&Event::StepStarted { step: step.to_owned() });
    }

    pub fn send_command(&mut self, record: &CommandRecord) {
        self.send_event(&Event::Command(record.clone()));
    }

    pub fn send_observation(&mut self, observation: Observation) {
        self.send_event(&Event::Observation(observation));
    }

    /// Something a reader must know; `phase` is empty for the whole trial.
    pub fn send_caution(&mut self, phase: &str, text: impl Into<String>) {
        self.send_event(&Event::Caution(Caution::in_phase(phase, text)));
    }

    pub fn send_facts(&mut self, facts: Facts) {
        if !facts.is_empty() {
            self.send_learnt(facts, Learnt::default());
        }
    }

    /// Sends facts for the program's own use, together with those for display.
    pub fn send_learnt(&mut self, facts: Facts, learnt: Learnt) {
        self.send_event(&Event::Facts { facts, learnt });
    }
}
