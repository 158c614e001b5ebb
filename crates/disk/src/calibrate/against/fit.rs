//! What a trace shows of a model's numbers that no data sheet tells: found on its first fifth, to be scored on the rest.
//!
//! Two things tell. Requests that wait for no platter take what firmware and link take, to the microsecond: policies and
//! such times are chosen by the sum of |ln(said/measured)|, in which to take a hit for a miss costs most. The others wait for a
//! platter whose angle nobody knows: what moves those is chosen by their distribution, the demerit within kinds.

use std::collections::BTreeMap;

use super::super::demerit::Demerit;
use super::super::text::{has_section, number, rounded, value, with};
use super::measured::{Measured, kinds};
use super::replay::{ReplayError, replay};
use crate::device::knobs::{ShownBy, TracedKnob};
use crate::device::{Action, Model};

/// A model with the numbers that a trace shows.
#[derive(Debug)]
pub struct Fitted {
    pub model: Model,
    /// Its file.
    pub toml: String,
    /// What was changed: the key, what the file said, and what the trace shows.
    pub numbers: Vec<[String; 3]>,
}

/// How many of a trace's requests are fitted to.
pub fn first_fifth(trace: &[Measured]) -> usize {
    trace.len() / 5
}

/// A change must gain this much, as a share, to be believed: angles that fall otherwise gain or lose about 1 %.
const POLICY_GAIN: f64 = 0.03;
const SHARP_GAIN: f64 = 0.002;
const BLURRED_GAIN: f64 = 0.03;
/// The largest |ln(said/measured)| that counts where times are moved: what is a miss has nothing to say.
const SHARP_MOST: f64 = 0.15;
/// Milliseconds of the first step of a time, and of its last.
const STEPS_MS: [f64; 7] = [0.4, 0.2, 0.1, 0.05, 0.025, 0.012, 0.006];
/// The same of a rate, as shares.
const STEPS_RATE: [f64; 6] = [0.3, 0.15, 0.07, 0.03, 0.015, 0.007];
const ROUNDS: usize = 3;
/// Less than this share of reads is nothing to speak of.
const LEAST_SHARE: f64 = 0.005;
/// Policies with more choices than this are not tried two at a time.
const FEW: usize = 3;

/// How far a model is off.
#[derive(Debug, Clone, Copy)]
struct FitErrors {
    policies: f64,
    sharp: f64,
    /// The demerit within kinds of requests, as a share of the mean of each, and in nanoseconds.
    kinds: f64,
    blurred: f64,
}

struct Fit<'a> {
    name: &'a str,
    state: Option<&'a str>,
    trace: &'a [Measured],
    kinds: Vec<String>,
    text: String,
    now: FitErrors,
}

/// Fits the model in this file to the first fifth of a trace.
///
/// # Errors
/// When the model cannot be read, or a request lies beyond what it holds.
pub fn fit(text: &str, name: &str, state: Option<&str>, trace: &[Measured]) -> Result<Fitted, ReplayError> {
    let model = Model::read(text, name, state)?;
    let first = &trace[..first_fifth(trace)];
    // Beyond the end of the model is beyond it in the rest as well.
    replay(&model, trace)?;
    let knobs = model.knobs().traced;
    let zero = FitErrors { policies: 0.0, sharp: 0.0, kinds: 0.0, blurred: 0.0 };
    let text = text.to_owned();
    let mut fit = Fit { name, state, trace: first, kinds: kinds(first), text: text.clone(), now: zero };
    if let Some(errors) = fit.errors(&text).filter(|_| !first.is_empty()) {
        fit.now = errors;
        // A number may hide what another does.
        for _ in 0..ROUNDS {
            let before = fit.text.clone();
            for knob in knobs {
                if has_section(&fit.text, knob.0) {
                    fit.turn(knob);
                }
            }
            fit.choose_two(knobs);
            if fit.text == before {
                break;
            }
        }
    }
    let numbers = knobs.iter().filter_map(|TracedKnob(section, key, _)| {
        let (was, is) = (value(&text, section, key), value(&fit.text, section, key)?);
        let shown = |value: Option<&str>| value.unwrap_or("–").to_owned();
        let same = was == Some(is) || number(&text, section, key).is_some_and(|was| rounded(was) == is);
        (!same).then(|| [format!("[{section}] {key}"), shown(was), is.to_owned()])
    });
    let numbers = numbers.collect();
    Ok(Fitted { model: Model::read(&fit.text, name, state)?, toml: fit.text, numbers })
}

/// Where a number stands in a model's file.
#[derive(Debug, Clone, Copy)]
struct KeyPlace<'a> {
    section: &'a str,
    key: &'a str,
}

impl Fit<'_> {
    /// How far a model is off on the first fifth; nothing where it is none.
    fn errors(&self, text: &str) -> Option<FitErrors> {
        let model = Model::read(text, self.name, self.state).ok()?;
        let took = replay(&model, self.trace).ok()?;
        let mut errors = FitErrors { policies: 0.0, sharp: 0.0, kinds: 0.0, blurred: 0.0 };
        let mut by_kind: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for ((one, kind), said) in self.trace.iter().zip(&self.kinds).zip(took) {
            let real = one.record.latency_ns().unwrap_or_default() as f64;
            let off = (said.max(1e3) / real.max(1e3)).ln().abs();
            errors.policies += off;
            errors.sharp += off.min(SHARP_MOST);
            by_kind.entry(kind).or_default().push((real, said));
        }
        let found: Vec<Demerit> = by_kind.values().filter_map(|pairs| Demerit::of(pairs)).collect();
        errors.kinds = Demerit::within(&found);
        let squares = found.iter().map(|kind| (kind.share * kind.measured).powi(2) * kind.n as f64);
        errors.blurred = (squares.sum::<f64>() / self.trace.len() as f64).sqrt();
        Some(errors)
    }

    fn turn(&mut self, TracedKnob(section, key, shown): &TracedKnob) {
        let place = KeyPlace { section, key };
        match shown {
            ShownBy::Policy(choices) => {
                self.choose(place, choices, |errors| errors.policies, POLICY_GAIN);
            }
            ShownBy::Missed => self.count_missed(place),
            ShownBy::Sharp(absent, unit) => {
                let steps = STEPS_MS.map(|step| step * unit);
                self.step(place, absent, &steps, |errors| errors.sharp, SHARP_GAIN);
            }
            ShownBy::Blurred(absent, unit) => {
                // Smaller steps are below what angles do by chance.
                let steps: Vec<f64> = STEPS_MS[..4].iter().map(|step| step * unit).collect();
                self.step(place, absent, &steps, |errors| errors.blurred, BLURRED_GAIN);
            }
            ShownBy::Rate => self.scale(place),
        }
    }

    /// Takes a value if it gains enough.
    fn try_value(&mut self, key: KeyPlace<'_>, value: &str, of: fn(&FitErrors) -> f64, gain: f64) -> bool {
        self.try_text(&with(&self.text, key.section, key.key, value), of, gain)
    }

    fn try_text(&mut self, text: &str, of: fn(&FitErrors) -> f64, gain: f64) -> bool {
        match self.errors(text) {
            Some(errors) if of(&errors) < of(&self.now) * (1.0 - gain) => {
                (self.text, self.now) = (text.to_owned(), errors);
                true
            }
            _ => false,
        }
    }

    fn choose(&mut self, place: KeyPlace<'_>, choices: &[&str], of: fn(&FitErrors) -> f64, gain: f64) {
        for choice in choices {
            if value(&self.text, place.section, place.key) != Some(*choice) {
                self.try_value(place, choice, of, gain);
            }
        }
    }

    /// Policies of which one shows nothing without the other.
    fn choose_two(&mut self, knobs: &[TracedKnob]) {
        let of = |TracedKnob(section, key, shown): &TracedKnob| match shown {
            ShownBy::Policy(choices) if choices.len() <= FEW => Some((*section, *key, *choices)),
            _ => None,
        };
        let few: Vec<(&str, &str, &[&str])> = knobs.iter().filter_map(of).collect();
        for (at, (section, key, choices)) in few.iter().enumerate() {
            for choice in *choices {
                for (other_section, other, others) in &few[at + 1..] {
                    for also in *others {
                        let text = with(&self.text, section, key, choice);
                        self.try_text(
                            &with(&text, other_section, other, also),
                            |errors| errors.policies,
                            POLICY_GAIN,
                        );
                    }
                }
            }
        }
    }

    fn step(
        &mut self,
        place: KeyPlace<'_>,
        absent: &str,
        steps: &[f64],
        of: fn(&FitErrors) -> f64,
        gain: f64,
    ) {
        for step in steps {
            for way in [1.0, -1.0] {
                let now = |fit: &Self| {
                    number(&fit.text, place.section, place.key)
                        .or_else(|| number(&fit.text, place.section, absent))
                        .unwrap_or(0.0)
                };
                while self.try_value(place, &rounded((now(self) + way * step).max(0.0)), of, gain) {}
            }
        }
    }

    /// Reads that go on where the one before ended come from the buffer; those that take more than twice as long did not.
    fn count_missed(&mut self, place: KeyPlace<'_>) {
        let text = with(&self.text, place.section, place.key, "0");
        let took =
            Model::read(&text, self.name, self.state).ok().and_then(|model| replay(&model, self.trace).ok());
        let Some(took) = took else { return };
        let (mut onwards, mut late) = (0.0, 0.0);
        for (three, said) in self.trace.windows(3).zip(&took[2..]) {
            let [far, before, this] = [0, 1, 2].map(|at| &three[at].record);
            let reads = before.operation == Action::Read && this.operation == Action::Read;
            // The first that goes on: the one before was none that did.
            if reads && before.end() == this.sector && far.end() != before.sector {
                let real = this.latency_ns().unwrap_or_default() as f64;
                onwards += 1.0;
                late += f64::from(u8::from(real > 2.0 * said)) - f64::from(u8::from(*said > 2.0 * real));
            }
        }
        let share = if onwards > 0.0 { late / onwards } else { 0.0 };
        if share >= LEAST_SHARE {
            self.try_value(place, &rounded(share), |errors| errors.kinds, 0.0);
        }
    }

    fn scale(&mut self, place: KeyPlace<'_>) {
        for step in STEPS_RATE {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                while let Some(now) = number(&self.text, place.section, place.key)
                    && self.try_value(place, &rounded(now * factor), |errors| errors.sharp, SHARP_GAIN)
                {
                }
            }
        }
    }
}
