//! Measures a device itself, as a trial without a filesystem: a modelled one in a guest, a real one where it may be erased.

use std::time::Duration;

use fsverdict_disk::calibrate::{Grid, GridFindings};
use fsverdict_judgement::journal::{Event, Status};
use fsverdict_judgement::plan::Plan;
use fsverdict_lab::lab::choose_lab;
use fsverdict_lab::trial::TrialSpec;
use fsverdict_text::Reason;

use super::claim::Permission;
use super::error::SessionError;

/// The time limit of a measurement. A slow USB stick takes a quarter of an hour.
const LIMIT: Duration = Duration::from_hours(2);

/// Measures this half of the grid on the device of a plan, in the plan's lab and with the kernel of its first candidate.
pub fn measure_device(
    plan: &Plan,
    grid: Grid,
    permission: &Permission<'_>,
) -> Result<GridFindings, SessionError> {
    let attachments = permission.claim_devices(plan)?;
    let choice = choose_lab(plan, plan.lab)?;
    let failed =
        |reason: Reason| SessionError::Disk(reason.after(format!("cannot measure {}: ", plan.device.source)));
    let candidate = plan.candidates.first().ok_or_else(|| failed(Reason::plain("no candidate")))?.clone();
    let bare = TrialSpec::without_work(candidate, plan.protocol.seed, LIMIT);
    let spec = TrialSpec { calibration: Some(grid), ..bare };
    let mut findings = None;
    let mut watch = |event| {
        if let Event::Facts { learnt, .. } = event {
            findings = findings.take().or(learnt.calibration);
        }
    };
    let end = choice.lab.run_trial(&spec, &attachments, 0, &mut watch)?;
    match findings.filter(|_| end.status == Status::Ok) {
        Some(times) => serde_json::from_value(times).map_err(|error| failed(Reason::plain(error))),
        None => Err(failed(Reason::new(end.reason, end.hint))),
    }
}
