//! Estimates how long a trial takes before any trial of the run has ended: by an earlier run of the same work, or else by
//! the sizes in the plan and the speed of this machine.

use std::path::PathBuf;
use std::time::Instant;

use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::{Dataset, Phase, PhaseWork, Plan, Syncs};
use fsverdict_lab::lab::ChosenLab;

use super::super::folder::RunFolder;

/// How many of the latest runs are looked through for one of the same work.
const LATEST: usize = 20;

/// The time that parts of a trial take.
struct TrialRates {
    /// Seconds for the start, mkfs, mount, the check at the end and the removal.
    fixed: f64,
    /// Bytes a second that are written, read or verified.
    bytes: f64,
    /// Seconds for each file, and for each time that something is synced.
    file: f64,
    sync: f64,
}

/// In simulated time, by the processors that the guests run on (docs/results/preset-times.md). The device's own time
/// passes without waiting.
const SIMULATED: TrialRates = TrialRates { fixed: 3.0, bytes: 80e6, file: 1e-3, sync: 4e-3 };
/// On this machine's own disks.
const NATIVE: TrialRates = TrialRates { fixed: 1.5, bytes: 150e6, file: 0.3e-3, sync: 5e-3 };

/// Seconds that one reading of a small file in /proc took on the machine on which the rates were measured.
const USUAL_READING: f64 = 12e-6;
/// Readings in each of so many tries, of which the best counts.
const READINGS: u32 = 300;
const TRIES: u32 = 5;
/// The slowest and the fastest machine that is believed in, as factors of the time.
const FACTORS: [f64; 2] = [0.3, 6.0];

/// The assumed size of a folder of the user's, in bytes, if the plan does not limit it.
const UNKNOWN_SIZE: u64 = 200_000_000;

/// The expected time of a trial.
#[derive(Debug, Clone)]
pub struct TrialTimeEstimate {
    pub seconds: f64,
    /// The folder of the earlier run that the time is from; `None` if it is estimated by sizes.
    pub earlier_run: Option<PathBuf>,
    /// The number of trials that run at once.
    jobs: usize,
}

impl TrialTimeEstimate {
    /// The estimate for a run of this plan that has not begun.
    pub fn before_run(plan: &Plan, choice: &ChosenLab) -> Self {
        match find_earlier_run(plan, choice) {
            // That run's time for each trial shows already how many ran at once.
            Some((run, seconds)) => TrialTimeEstimate { seconds, earlier_run: Some(run), jobs: 1 },
            None => TrialTimeEstimate {
                seconds: estimate_by_sizes(plan, choice),
                earlier_run: None,
                jobs: choice.jobs.max(1),
            },
        }
    }

    /// The seconds of so many trials.
    pub fn seconds_of_trials(&self, trials: usize) -> f64 {
        self.seconds * trials.div_ceil(self.jobs) as f64
    }
}

/// The latest run of the same work on the same device in the same lab among those in `runs`, and seconds of a trial
/// there.
fn find_earlier_run(plan: &Plan, choice: &ChosenLab) -> Option<(PathBuf, f64)> {
    let mut folders: Vec<_> = std::fs::read_dir("runs")
        .ok()?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    folders.sort();
    folders.into_iter().rev().take(LATEST).find_map(|(_, path)| {
        let (folder, old) = RunFolder::open(&path).ok()?;
        let alike = (&old.phases, &old.datasets, &old.device) == (&plan.phases, &plan.datasets, &plan.device);
        let run = Run::read_in_folder(&old, &folder.journal())
            .ok()
            .filter(|run| alike && run.header.lab == choice.lab.name())?;
        (!run.trials.is_empty()).then(|| (path, run.worked / run.trials.len() as f64))
    })
}

/// The seconds of a trial of this plan in this lab; phases of programs count by their datasets alone.
fn estimate_by_sizes(plan: &Plan, choice: &ChosenLab) -> f64 {
    let rates = if choice.lab.side_by_side().is_some() { SIMULATED } else { NATIVE };
    let phases = plan.phases.iter().map(|phase| {
        let times = f64::from(phase.repeat.unwrap_or(1));
        times * phase_seconds(plan, phase, &rates)
    });
    (rates.fixed + phases.sum::<f64>()) * slowness()
}

fn phase_seconds(plan: &Plan, phase: &Phase, rates: &TrialRates) -> f64 {
    let Some(dataset) = phase.dataset.as_ref().and_then(|name| plan.datasets.get(name)) else { return 0.0 };
    let (bytes, files) = match dataset {
        Dataset::Tree(shape) => (shape.size.0, shape.files),
        Dataset::Flat { files, file_size } => (files.saturating_mul(file_size.0), *files),
        Dataset::File { size, .. } => (size.0, 1),
        Dataset::Folder { size, .. } => (size.map_or(UNKNOWN_SIZE, |size| size.0), 1),
        Dataset::Trace { calls } => (calls.totals().most_bytes, calls.names().len() as u64),
    };
    let (bytes, files) = (bytes as f64, files as f64);
    // 0 is never.
    let each = phase.sync_every.filter(|every| *every > 0).map(f64::from);
    let piece = phase.piece.map_or(4096.0, |piece| piece.0.max(1) as f64);
    let syncs = match &phase.work {
        PhaseWork::Operation(operation) => match (operation.syncs(), each) {
            (Syncs::Calls(_), Some(each)) => bytes / piece / each,
            (Syncs::Files(_), Some(each)) => files / each,
            (Syncs::EachFile, _) => files,
            (Syncs::Calls(_) | Syncs::Files(_), None) | (Syncs::AtEnd, _) => 0.0,
        },
        PhaseWork::Command(_) | PhaseWork::Adapter { .. } => 0.0,
    };
    bytes / rates.bytes + files * rates.file + syncs * rates.sync
}

/// How much slower this machine is now than the one on which the rates were measured, by the time that its kernel takes
/// for a small file.
fn slowness() -> f64 {
    let read = || {
        let started = Instant::now();
        let all = (0..READINGS).all(|_| std::fs::read("/proc/self/stat").is_ok());
        all.then(|| started.elapsed().as_secs_f64() / f64::from(READINGS))
    };
    let best = (0..TRIES).filter_map(|_| read()).fold(f64::INFINITY, f64::min);
    let [least, most] = FACTORS;
    if best.is_finite() { (best / USUAL_READING).clamp(least, most) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::{SIMULATED, phase_seconds, slowness};
    use fsverdict_judgement::plan::{Overrides, Plan, preset, presets, read_with};

    use crate::cli::with_vocabulary;

    fn seconds(name: &str) -> f64 {
        let text = preset(name).unwrap().toml;
        let plan: Plan =
            with_vocabulary(|vocabulary| read_with(text, name, &Overrides::default(), vocabulary)).unwrap();
        plan.phases.iter().map(|phase| phase_seconds(&plan, phase, &SIMULATED)).sum()
    }

    #[test]
    fn more_syncs_and_more_bytes_take_longer() {
        // 10 029 appended records that are synced, against 200 files that are saved.
        assert!(seconds("fsync-tail") > 10.0 * seconds("bit-rot"));
        assert!(seconds("build-farm") > 10.0 * seconds("games"));
        // Cameras and logs never sync.
        for preset in presets() {
            let seconds = seconds(preset.name);
            assert!(seconds < 86_400.0, "{}: {seconds} s a trial", preset.name);
        }
        let factor = slowness();
        assert!((0.3..=6.0).contains(&factor));
    }
}
