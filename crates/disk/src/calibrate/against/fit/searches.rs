//! The searches for one number of a model: by choices, pairs of choices, steps and factors, and by counting misses.

use super::super::super::text::{find_number, find_value, format_rounded, with_value};
use super::super::replay::replay_trace;
use super::{Fit, FitErrors, KeyPlace, MIN_CAPPED_GAIN, POLICY_GAIN};
use crate::device::knobs::{ShownBy, TracedKnob};
use crate::device::{Action, Model};

/// Steps by which a rate is changed, as shares, the largest first.
const STEPS_RATE: [f64; 6] = [0.3, 0.15, 0.07, 0.03, 0.015, 0.007];
/// A smaller share of missed reads is ignored.
const MIN_MISSED_SHARE: f64 = 0.005;
/// Policies with more choices than this are not combined with another policy.
pub(super) const MAX_COMBINED_CHOICES: usize = 3;

impl Fit<'_> {
    pub(super) fn try_choices(
        &mut self,
        place: KeyPlace<'_>,
        choices: &[&str],
        error_of: fn(&FitErrors) -> f64,
        gain: f64,
    ) {
        for choice in choices {
            if find_value(&self.text, place.section, place.key) != Some(*choice) {
                self.try_value(place, choice, error_of, gain);
            }
        }
    }

    /// Tries pairs of policies, because one may show an effect only with the other.
    pub(super) fn try_pairs(&mut self, knobs: &[TracedKnob]) {
        let policy_of = |TracedKnob(section, key, shown): &TracedKnob| match shown {
            ShownBy::Policy(choices) if choices.len() <= MAX_COMBINED_CHOICES => {
                Some((*section, *key, *choices))
            }
            _ => None,
        };
        let policies: Vec<(&str, &str, &[&str])> = knobs.iter().filter_map(policy_of).collect();
        for (index, (section, key, choices)) in policies.iter().enumerate() {
            for choice in *choices {
                for (other_section, other, others) in &policies[index + 1..] {
                    for also in *others {
                        let text = with_value(&self.text, section, key, choice);
                        self.try_text(
                            &with_value(&text, other_section, other, also),
                            |errors| errors.uncapped,
                            POLICY_GAIN,
                        );
                    }
                }
            }
        }
    }

    pub(super) fn search_by_steps(
        &mut self,
        place: KeyPlace<'_>,
        absent: &str,
        steps: &[f64],
        error_of: fn(&FitErrors) -> f64,
        gain: f64,
    ) {
        for step in steps {
            for sign in [1.0, -1.0] {
                let current = |fit: &Self| {
                    find_number(&fit.text, place.section, place.key)
                        .or_else(|| find_number(&fit.text, place.section, absent))
                        .unwrap_or(0.0)
                };
                while self.try_value(
                    place,
                    &format_rounded((current(self) + sign * step).max(0.0)),
                    error_of,
                    gain,
                ) {}
            }
        }
    }

    /// Fits the share of sequential reads that miss the buffer: those that take more than twice as long as a model
    /// without misses predicts.
    pub(super) fn fit_missed_share(&mut self, place: KeyPlace<'_>) {
        let text = with_value(&self.text, place.section, place.key, "0");
        let predicted = Model::read(&text, self.name, self.state)
            .ok()
            .and_then(|model| replay_trace(&model, self.trace).ok());
        let Some(predicted) = predicted else { return };
        let (mut sequential, mut late) = (0.0, 0.0);
        for (records, predicted_ns) in self.trace.windows(3).zip(&predicted[2..]) {
            let [far, before, this] = [0, 1, 2].map(|index| &records[index].record);
            let reads = before.operation == Action::Read && this.operation == Action::Read;
            // Only the first sequential read of a run counts: the request before it was not sequential.
            if reads && before.end() == this.sector && far.end() != before.sector {
                let measured_ns = this.latency_ns().unwrap_or_default() as f64;
                sequential += 1.0;
                late += f64::from(u8::from(measured_ns > 2.0 * predicted_ns))
                    - f64::from(u8::from(*predicted_ns > 2.0 * measured_ns));
            }
        }
        let share = if sequential > 0.0 { late / sequential } else { 0.0 };
        if share >= MIN_MISSED_SHARE {
            self.try_value(place, &format_rounded(share), |errors| errors.kinds, 0.0);
        }
    }

    /// Multiplies and divides the key's value by 1 + step, for each of `STEPS_RATE`, as long as the capped error falls by
    /// 0.2 % or more.
    pub(super) fn search_by_factors(&mut self, place: KeyPlace<'_>) {
        for step in STEPS_RATE {
            for factor in [1.0 + step, 1.0 / (1.0 + step)] {
                while let Some(current) = find_number(&self.text, place.section, place.key)
                    && self.try_value(
                        place,
                        &format_rounded(current * factor),
                        |errors| errors.capped,
                        MIN_CAPPED_GAIN,
                    )
                {}
            }
        }
    }
}
