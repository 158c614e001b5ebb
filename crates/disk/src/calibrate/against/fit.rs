//! Fits those numbers of a model that a trace shows and no data sheet states: to the first fifth of the trace, so
//! that the rest can score them.
//!
//! There are two kinds of evidence. Requests that do not wait for a platter take the time of firmware and link, to
//! the microsecond: policies and such times minimise the sum of |ln(predicted/measured)|, in which a hit taken for a
//! miss costs most. Other requests wait for a platter at an unknown angle: numbers that move their times minimise the
//! demerit of their distribution within kinds.

mod searches;

use std::collections::BTreeMap;

use super::super::demerit::Demerit;
use super::super::text::{find_number, find_value, format_rounded, has_section, with_value};
use super::measured::{Measured, request_kinds};
use super::rate::rate_by_length;
use super::replay::{ReplayError, replay_trace};
use crate::device::Model;
use crate::device::knobs::{ShownBy, TracedKnob};
use searches::MAX_COMBINED_CHOICES;

/// A model with the numbers that a trace shows.
#[derive(Debug)]
pub struct Fitted {
    pub model: Model,
    /// Text of the model's file, in TOML.
    pub toml: String,
    /// Changed numbers: the key, the value in the original file, and the fitted value.
    pub numbers: Vec<[String; 3]>,
    /// Keys that the trace moved to the end of their range, each with its value: the model may lack the mechanism that
    /// would explain the times.
    pub at_bound: Vec<String>,
}

/// Number of a trace's requests to which a model is fitted.
pub fn first_fifth(trace: &[Measured]) -> usize {
    trace.len() / 5
}

/// A change of a policy must reduce the error by this share: platter angles that differ by chance change it by about
/// 1 %.
const POLICY_GAIN: f64 = 0.03;
/// The same for times that requests show sharply.
const MIN_CAPPED_GAIN: f64 = 0.002;
/// The same for times that the platter's angle blurs.
const BLURRED_GAIN: f64 = 0.03;
/// Largest |ln(predicted/measured)| that counts where times are fitted: a request that misses carries no information
/// on them. In the first round, when a time may be far off, every error counts.
const ERROR_CAP: f64 = 0.15;
/// Times that are tried besides those of the file, in milliseconds, so that a start far from the drive's does not decide
/// where the search ends.
const FIRST_TIMES_MS: [f64; 9] = [0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.1, 1.6, 2.3];
/// Overheads that a search starts from besides those of the file, in milliseconds.
const STARTS_MS: [f64; 2] = [0.0, 0.5];
/// Steps by which a time is changed, in milliseconds, the largest first.
const STEPS_MS: [f64; 7] = [0.4, 0.2, 0.1, 0.05, 0.025, 0.012, 0.006];
const ROUNDS: usize = 3;

/// Errors of a model on a trace.
#[derive(Debug, Clone, Copy)]
struct FitErrors {
    /// Sum of |ln(predicted/measured)|.
    uncapped: f64,
    /// The same with each request's error limited to `error_cap`.
    capped: f64,
    /// The demerit within kinds of requests: as a share of the mean of each, and (`blurred`) in nanoseconds.
    kinds: f64,
    blurred: f64,
}

struct Fit<'a> {
    name: &'a str,
    state: Option<&'a str>,
    trace: &'a [Measured],
    kinds: Vec<String>,
    text: String,
    current: FitErrors,
    /// Largest error of a request that counts in `capped`.
    error_cap: f64,
}

/// Fits the model in this file to the first fifth of a trace.
///
/// # Errors
/// When the model cannot be read, or a request lies beyond the model's capacity.
pub fn fit_model(
    text: &str,
    name: &str,
    state: Option<&str>,
    trace: &[Measured],
) -> Result<Fitted, ReplayError> {
    let model = Model::read(text, name, state)?;
    let first = &trace[..first_fifth(trace)];
    // A request of any part of the trace may lie beyond the model's end.
    replay_trace(&model, trace)?;
    let knobs = model.knobs().traced;
    let fit = fit_from_starts(text, name, state, first, knobs);
    let fitted = fit.as_ref().map_or(text, |fit| &fit.text);
    let numbers = knobs.iter().filter_map(|TracedKnob(section, key, _)| {
        let (was, is) = (find_value(text, section, key), find_value(fitted, section, key)?);
        let shown = |value: Option<&str>| value.unwrap_or("–").to_owned();
        let same =
            was == Some(is) || find_number(text, section, key).is_some_and(|was| format_rounded(was) == is);
        (!same).then(|| [format!("[{section}] {key}"), shown(was), is.to_owned()])
    });
    let numbers: Vec<[String; 3]> = numbers.collect();
    let at_bound = knobs.iter().filter_map(|knob| bound_reached(knob, text, fitted)).collect();
    Ok(Fitted { model: Model::read(fitted, name, state)?, toml: fitted.to_owned(), numbers, at_bound })
}

/// The key and value of a number that was moved to the end of its range.
fn bound_reached(TracedKnob(section, key, shown): &TracedKnob, text: &str, fitted: &str) -> Option<String> {
    let value = find_value(fitted, section, key)?;
    let was_moved = find_value(text, section, key) != Some(value);
    let is_end = match shown {
        ShownBy::Policy(choices) => choices.len() > MAX_COMBINED_CHOICES && choices.last() == Some(&value),
        ShownBy::Sharp(..) | ShownBy::Blurred(..) => find_number(fitted, section, key) == Some(0.0),
        ShownBy::SharpPolicy(_) | ShownBy::Rate | ShownBy::Missed => false,
    };
    (was_moved && is_end).then(|| format!("[{section}] {key} = {value}"))
}

/// Where a search starts.
struct SearchStart {
    text: String,
    /// Whether its times may be far from the drive's, so that the whole range is tried first.
    is_rough: bool,
}

/// The best of several searches, which start from the file's overheads and from others with the rate that the lengths
/// of requests show; `None` where the trace has no requests.
fn fit_from_starts<'a>(
    text: &str,
    name: &'a str,
    state: Option<&'a str>,
    first: &'a [Measured],
    knobs: &[TracedKnob],
) -> Option<Fit<'a>> {
    if first.is_empty() {
        return None;
    }
    let kinds = request_kinds(first);
    let rate = rate_by_length(first, &kinds);
    let rough = |start_ms: &f64| {
        let text = knobs.iter().fold(text.to_owned(), |text, TracedKnob(section, key, shown)| {
            let value = find_value(&text, section, key).and(match shown {
                ShownBy::Sharp(_, unit) | ShownBy::Blurred(_, unit) => Some(start_ms * unit),
                ShownBy::Rate => rate,
                _ => None,
            });
            value.map_or(text.clone(), |value| with_value(&text, section, key, &format_rounded(value)))
        });
        SearchStart { text, is_rough: true }
    };
    let as_given = SearchStart { text: text.to_owned(), is_rough: false };
    let search = |start: SearchStart| {
        let zero = FitErrors { uncapped: 0.0, capped: 0.0, kinds: 0.0, blurred: 0.0 };
        let error_cap = if start.is_rough { f64::INFINITY } else { ERROR_CAP };
        let (kinds, text) = (kinds.clone(), start.text);
        let mut fit = Fit { name, state, trace: first, kinds, text, current: zero, error_cap };
        fit.search(knobs, start.is_rough)?;
        Some(fit)
    };
    let starts = std::iter::once(as_given).chain(STARTS_MS.iter().map(rough));
    // Searches take long and share nothing.
    let searched: Vec<Option<Fit<'a>>> = std::thread::scope(|scope| {
        let running: Vec<_> = starts.map(|start| scope.spawn(|| search(start))).collect();
        running.into_iter().filter_map(|search| search.join().ok()).collect()
    });
    searched.into_iter().flatten().min_by(|one, other| one.current.kinds.total_cmp(&other.current.kinds))
}

/// Section and key of a number in a model's file.
#[derive(Debug, Clone, Copy)]
struct KeyPlace<'a> {
    section: &'a str,
    key: &'a str,
}

impl Fit<'_> {
    /// The errors of the model in `text` on the first fifth; `None` if the text is no valid model.
    fn compute_errors(&self, text: &str) -> Option<FitErrors> {
        let model = Model::read(text, self.name, self.state).ok()?;
        let predicted = replay_trace(&model, self.trace).ok()?;
        let mut errors = FitErrors { uncapped: 0.0, capped: 0.0, kinds: 0.0, blurred: 0.0 };
        let mut by_kind: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for ((measured, kind), predicted_ns) in self.trace.iter().zip(&self.kinds).zip(predicted) {
            let measured_ns = measured.record.latency_ns().unwrap_or_default() as f64;
            let error = (predicted_ns.max(1e3) / measured_ns.max(1e3)).ln().abs();
            errors.uncapped += error;
            errors.capped += error.min(self.error_cap);
            by_kind.entry(kind).or_default().push((measured_ns, predicted_ns));
        }
        let demerits: Vec<Demerit> =
            by_kind.values().filter_map(|pairs| Demerit::from_pairs(pairs)).collect();
        errors.kinds = Demerit::weighted_mean(&demerits);
        let squares = demerits.iter().map(|kind| (kind.share * kind.measured).powi(2) * kind.n as f64);
        errors.blurred = (squares.sum::<f64>() / self.trace.len() as f64).sqrt();
        Some(errors)
    }

    /// Fits all numbers, in rounds, because the effect of one may be hidden until another is fitted; `None` if the text
    /// is no valid model.
    fn search(&mut self, knobs: &[TracedKnob], is_rough: bool) -> Option<()> {
        self.current = self.compute_errors(&self.text)?;
        for round in 0..ROUNDS {
            let previous = self.text.clone();
            for knob in knobs {
                if has_section(&self.text, knob.0) {
                    if round == 0 && is_rough {
                        self.try_first_times(knob);
                    }
                    self.fit_knob(knob);
                }
            }
            self.try_pairs(knobs);
            if self.error_cap > ERROR_CAP {
                self.error_cap = ERROR_CAP;
                self.current = self.compute_errors(&self.text)?;
            } else if self.text == previous {
                break;
            }
        }
        Some(())
    }

    /// Tries times over the whole range that drives have.
    fn try_first_times(&mut self, TracedKnob(section, key, shown): &TracedKnob) {
        let place = KeyPlace { section, key };
        let (unit, error_of, gain): (f64, fn(&FitErrors) -> f64, f64) = match shown {
            ShownBy::Sharp(_, unit) => (*unit, |errors| errors.capped, MIN_CAPPED_GAIN),
            ShownBy::Blurred(_, unit) => (*unit, |errors| errors.blurred, BLURRED_GAIN),
            _ => return,
        };
        for time_ms in FIRST_TIMES_MS {
            self.try_value(place, &format_rounded(time_ms * unit), error_of, gain);
        }
    }

    /// Fits one number by the search that its kind of evidence needs.
    fn fit_knob(&mut self, TracedKnob(section, key, shown): &TracedKnob) {
        let place = KeyPlace { section, key };
        match shown {
            ShownBy::Policy(choices) => {
                self.try_choices(place, choices, |errors| errors.uncapped, POLICY_GAIN);
            }
            ShownBy::SharpPolicy(choices) => {
                self.try_choices(place, choices, |errors| errors.capped, MIN_CAPPED_GAIN);
            }
            ShownBy::Missed => self.fit_missed_share(place),
            ShownBy::Sharp(absent, unit) => {
                let steps = STEPS_MS.map(|step| step * unit);
                self.search_by_steps(place, absent, &steps, |errors| errors.capped, MIN_CAPPED_GAIN);
            }
            ShownBy::Blurred(absent, unit) => {
                // Smaller steps change the error less than the platter's angle does by chance.
                let steps: Vec<f64> = STEPS_MS[..4].iter().map(|step| step * unit).collect();
                self.search_by_steps(place, absent, &steps, |errors| errors.blurred, BLURRED_GAIN);
            }
            // Overheads that are far off would move it away from the rate that the lengths of requests show.
            ShownBy::Rate if self.error_cap > ERROR_CAP => {}
            ShownBy::Rate => self.search_by_factors(place),
        }
    }

    /// Accepts a value if it reduces the error by the share `gain`; returns whether it did.
    fn try_value(
        &mut self,
        key: KeyPlace<'_>,
        value: &str,
        error_of: fn(&FitErrors) -> f64,
        gain: f64,
    ) -> bool {
        self.try_text(&with_value(&self.text, key.section, key.key, value), error_of, gain)
    }

    fn try_text(&mut self, text: &str, error_of: fn(&FitErrors) -> f64, gain: f64) -> bool {
        match self.compute_errors(text) {
            Some(errors) if error_of(&errors) < error_of(&self.current) * (1.0 - gain) => {
                (self.text, self.current) = (text.to_owned(), errors);
                true
            }
            _ => false,
        }
    }
}
