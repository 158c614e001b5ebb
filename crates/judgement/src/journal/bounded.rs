//! Findings of a guest, cut to a size that can be kept: a hostile guest can report texts of any length.

use super::loss_age::LossAges;
use super::power_cut::StateFinding;
use super::rot::RotFinding;

/// The maximum bytes of a description and of a name; `NAMES` is the maximum number of promises in one finding.
const SEEN: usize = 8192;
const NAME: usize = 256;
const NAMES: usize = 256;
/// The maximum number of detectors in one finding; fewer exist.
const WITNESSES: usize = 16;

impl StateFinding {
    /// The maximum length of a finding in bytes of JSON: control characters take six bytes each.
    pub const LONGEST: usize = 6 * (SEEN + 200 + NAME + NAMES * (NAME + 4)) + 40 * LossAges::BINS + 200;

    /// The finding with texts and lists of bounded length; it says how much was cut.
    pub fn with_bounded_text(mut self) -> StateFinding {
        bound_text(&mut self.state, NAME);
        bound_texts(&mut self.broken, &mut self.seen);
        self.ages.truncate();
        if !self.back_s.is_finite() {
            self.back_s = 0.0;
        }
        self
    }

    /// The finding with only its outcome, for when there is no room for more.
    pub fn without_texts(self, reason: &str) -> StateFinding {
        StateFinding {
            broken: Vec::new(),
            seen: format!("not kept: {reason}"),
            ages: LossAges::default(),
            ..self
        }
    }
}

impl RotFinding {
    /// The finding with texts and lists of bounded length; it says how much was cut.
    pub fn with_bounded_text(mut self) -> RotFinding {
        bound_text(&mut self.state, NAME);
        bound_texts(&mut self.broken, &mut self.seen);
        self.noticed.truncate(WITNESSES);
        self
    }
}

fn bound_texts(broken: &mut Vec<String>, seen: &mut String) {
    bound_text(seen, SEEN);
    let surplus = broken.len().saturating_sub(NAMES);
    broken.truncate(NAMES);
    broken.iter_mut().for_each(|name| bound_text(name, NAME));
    if surplus > 0 {
        seen.push_str(&format!(" [and {surplus} more broken promises, whose names were not recorded]"));
    }
}

/// Cuts a text to this many bytes.
fn bound_text(text: &mut String, most: usize) {
    let Some(surplus) = text.len().checked_sub(most).filter(|surplus| *surplus > 0) else { return };
    text.truncate(text.floor_char_boundary(most));
    text.push_str(&format!(" [not kept: {surplus} more bytes]"));
}

#[cfg(test)]
mod tests {
    use super::super::power_cut::CutOutcome;
    use super::super::rot::{RotFinding, RotOutcome, RotWitness};
    use super::{LossAges, StateFinding};

    /// A finding with one field that a hostile guest made very long.
    fn hostile(field: usize) -> StateFinding {
        let long = |own: usize| if own == field { "\u{1b}é".repeat(400_000) } else { "x".to_owned() };
        let many = |own: usize| {
            if own == field { vec!["\u{1b}".repeat(1000); 50_000] } else { vec!["x".to_owned()] }
        };
        let ages = format!("[{}]", vec!["{\"looked\":4294967295,\"lost\":4294967295}"; 50_000].join(","));
        StateFinding {
            state: long(0),
            outcome: CutOutcome::SilentLoss,
            broken: many(1),
            seen: long(2),
            back_s: if field == 3 { f64::INFINITY } else { 0.0 },
            ages: if field == 4 { serde_json::from_str(&ages).unwrap() } else { LossAges::default() },
        }
    }

    #[test]
    fn whatever_a_guest_reports_of_a_state_is_kept_in_bounded_room() {
        for field in 0..5 {
            let bounded = hostile(field).with_bounded_text();
            let text = serde_json::to_string(&bounded).unwrap();
            assert!(text.len() <= StateFinding::LONGEST, "field {field}: {} bytes", text.len());
            assert_eq!(text.contains("not kept: "), field < 3, "field {field}");
        }
    }

    #[test]
    fn whatever_a_guest_reports_of_rot_is_kept_in_bounded_room() {
        for field in 0..4 {
            let StateFinding { state, broken, seen, .. } = hostile(field);
            let noticed = vec![RotWitness::Mount; if field == 3 { 1_000_000 } else { 1 }];
            let outcome = RotOutcome::SilentLoss;
            let finding =
                RotFinding { state, outcome, noticed, broken, seen, sync: None }.with_bounded_text();
            let text = serde_json::to_string(&finding).unwrap();
            assert!(text.len() <= StateFinding::LONGEST, "field {field}: {} bytes", text.len());
        }
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let short = hostile(99);
        assert_eq!(short.clone().with_bounded_text(), short);
    }
}
