//! Judges the outcome of a rotten block from what was observed of it, and describes it as a finding.

use std::collections::BTreeSet;

use fsverdict_judgement::journal::{RotFinding, RotOutcome, RotWitness, SyncAnswer};
use fsverdict_linux::host::foreign::neutralise;
use fsverdict_workload::workload::SavedReading;

use super::RotSeen;
use crate::trial::stack::MOUNT;
use crate::trial::sync_after_error::TriedSyncs;

/// Largest size of the messages that are reported, in bytes.
const SEEN: usize = 600;

impl RotSeen {
    /// An fsync that reported success wrongly is a broken promise without a warning.
    pub(super) fn note_syncs(&mut self, tried: &TriedSyncs) {
        let Some((answer, path)) = tried.worst_answer() else { return };
        self.sync = Some(answer);
        let name = path.strip_prefix(MOUNT).unwrap_or(path).display();
        match answer {
            SyncAnswer::NeverTold => {
                let what = format!("{name}: written over and synced, and not there after the next mount");
                self.first.broken.entry("fsync").or_insert(what);
            }
            SyncAnswer::ToldOnce | SyncAnswer::ToldOnceAndShown => self.told.push(format!(
                "{name}: the first fsync failed, the second said that all is done, and it is not"
            )),
            _ => {}
        }
    }

    fn judge_outcome(&self) -> RotOutcome {
        let Some(last) = &self.last else { return RotOutcome::Unmountable };
        let before_checker = self.noticed.iter().any(|witness| *witness != RotWitness::Checker);
        let is_lost = !last.broken.is_empty() || !last.errors.is_empty();
        // Wrong content was returned before anything gave a warning.
        let is_deceived = !self.first.broken.is_empty() && !self.warned;
        match (is_deceived, is_lost) {
            (true, _) | (false, true) if self.noticed.is_empty() => RotOutcome::SilentLoss,
            (true, _) => RotOutcome::LossFound,
            (false, true) if before_checker => RotOutcome::LossReported,
            (false, true) => RotOutcome::LossFound,
            (false, false) if self.impaired => RotOutcome::Impaired,
            (false, false) if self.repaired => RotOutcome::Repaired,
            (false, false) if !self.noticed.is_empty() => RotOutcome::Healed,
            (false, false) => RotOutcome::Unharmed,
        }
    }

    pub(super) fn into_finding(self, state: String) -> RotFinding {
        let outcome = self.judge_outcome();
        let none = SavedReading::default();
        let last = self.last.as_ref().unwrap_or(&none);
        let broken: BTreeSet<&str> = self.first.broken.keys().chain(last.broken.keys()).copied().collect();
        let lines: Vec<&String> = self
            .first
            .broken
            .values()
            .chain(&self.first.errors)
            .chain(last.broken.values())
            .chain(&last.errors)
            .chain(&self.told)
            .collect();
        let mut distinct_lines: Vec<&str> = Vec::new();
        for line in lines.into_iter().map(String::as_str) {
            if !distinct_lines.contains(&line) {
                distinct_lines.push(line);
            }
        }
        // Checkers move the cursor about.
        let mut seen = neutralise(&distinct_lines.join("; ")).replace('\u{2408}', "");
        seen.truncate(seen.floor_char_boundary(SEEN));
        RotFinding {
            state,
            outcome,
            noticed: self.noticed.into_iter().collect(),
            broken: broken.into_iter().map(str::to_owned).collect(),
            seen,
            sync: self.sync,
        }
    }
}
