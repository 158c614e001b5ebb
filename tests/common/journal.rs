//! The journal of a run, as its lines say.

use serde_json::Value;

/// The events of a run.
#[derive(Debug)]
pub struct Journal(pub Vec<Value>);

impl Journal {
    /// The events of this kind.
    pub fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> + 'a {
        self.0.iter().filter(move |event| event["event"] == kind)
    }

    /// How many trials have ended.
    pub fn finished(&self) -> usize {
        self.all("trial_finished").count()
    }

    /// The step that is under way.
    pub fn step(&self) -> &str {
        let last = self.0.iter().rev().find(|event| event["event"] == "step_started");
        last.and_then(|event| event["step"].as_str()).unwrap_or_default()
    }

    /// The program that was run in this step; there must be one.
    pub fn program(&self, step: &str) -> &Value {
        let found = self.all("command").find(|event| event["step"] == step);
        found.unwrap_or_else(|| panic!("no program was run in `{step}`: {self:#?}"))
    }

    /// A measurement of each trial's phase of this name, once for each time it was done.
    pub fn measured(&self, phase: &str, metric: &str) -> Vec<f64> {
        let of = |seen: &Value| {
            let mut all = seen["measurements"].as_array().unwrap().iter();
            all.find(|one| one["metric"] == metric).map(|one| one["value"].as_f64().unwrap())
        };
        // What a modelled device counted of a phase is an observation by itself.
        let seen = self.all("observation").filter(|event| event["phase"] == phase);
        let found: Vec<f64> = seen.filter_map(of).collect();
        assert!(!found.is_empty(), "no {metric} of {phase} in {self:#?}");
        found
    }

    /// What is recorded of a fact, by its name.
    pub fn fact(&self, name: &str) -> Vec<String> {
        let found = self.all("facts").filter_map(|event| event["facts"][name].as_str());
        found.map(str::to_owned).collect()
    }
}
