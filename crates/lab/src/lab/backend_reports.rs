//! Adds the reports of a device's process to the end of a trial: facts, cautions and failures.

use fsverdict_disk::backend::BackendReport;
use fsverdict_judgement::journal::{Caution, Event, Facts, Learnt, Status};
use fsverdict_linux::host::limits::HINT;
use fsverdict_text::Reason;

use super::LabError;
use super::backend::{Backend, ServingError};
use super::interruption::Interruption;
use super::traced::{Spans, TracedDevice};
use super::trial_end::TrialEnd;

/// The known facts about a trial's phases and devices: the phases in time, and the traces with the devices in their
/// initial state, if they are kept.
pub(super) struct Trail<'a> {
    pub(super) spans: &'a Spans,
    pub(super) devices: Vec<TracedDevice>,
}

/// Adds the device process's report to a trial's end. A guest that was stopped for a while did not notice: its time
/// stood still.
///
/// Returns an error, not the end of a trial, if this machine had no room for the device. Passes the figures of
/// `trail` to `watch`, too. Where times mean nothing (`timed` is false), a late device is no failure. `at` names the
/// last step of the guest, if there was one.
pub(super) fn add_backend_reports(
    endpoint: Backend,
    end: TrialEnd,
    at: Option<&str>,
    timed: bool,
    trail: Trail<'_>,
    watch: &mut dyn FnMut(Event),
) -> Result<TrialEnd, LabError> {
    let reports = match endpoint.wait_for_reports() {
        Ok(reports) => reports,
        Err(error) => {
            return Ok(TrialEnd {
                killed: true,
                interrupted: end
                    .interrupted
                    .filter(|interruption| interruption.spoils_reports())
                    .or(Some(error.as_interruption())),
                unheard: end.unheard || at.is_none() && matches!(error, ServingError::Killed { .. }),
                ..fail_trial(&end, Reason::plain(format!("the device's process: {error}")))
            });
        }
    };
    let at = at.unwrap_or("before its first step");
    let of_machine = reports.iter().find(|report| report.of_machine);
    if let Some(Reason { what, hint, .. }) = of_machine.and_then(|report| report.trouble.as_ref()) {
        let hint = if hint.is_empty() { HINT } else { hint };
        return Err(LabError::Machine(Reason::new(format!("{what} ({at})"), hint)));
    }
    // The device's report about a guest that was ended before its first request follows from that end.
    if end.unheard {
        return Ok(end);
    }
    let device_seconds = reports.first().and_then(simulated_seconds);
    let facts = (1..).zip(&reports).flat_map(|(number, report)| device_facts(number, report)).collect();
    watch(Event::Facts { facts, learnt: Learnt { device_seconds, ..Learnt::default() } });
    // A trial that was interrupted does not count, and reading gigabytes of its trace would keep the user waiting.
    if !trail.devices.is_empty() && end.interrupted.is_none() {
        match trail.spans.observations(trail.devices) {
            Ok(observations) => observations.into_iter().for_each(&mut *watch),
            Err(error) => {
                let text = format!("nothing is said of seeks: {error}");
                watch(Event::Caution(Caution::new(text)));
            }
        }
    }
    let late = reports.iter().find_map(|report| report.late.clone());
    if let (Some(late), false) = (&late, timed) {
        watch(Event::Caution(Caution::new(late.what.clone())));
    }
    let in_real_time = reports.iter().any(|report| report.lateness_ns.is_some());
    let trouble = reports.into_iter().find_map(|report| report.trouble);
    Ok(match trouble.or(late.filter(|_| timed)) {
        Some(Reason { what, hint, .. }) => fail_trial(&end, Reason::new(format!("{what} ({at})"), hint)),
        None => TrialEnd { stopped: end.stopped && in_real_time, ..end },
    })
}

/// Fails a trial for the error that the device's process reported, and keeps the earlier reason: a kernel's last
/// messages explain why requests ended.
fn fail_trial(end: &TrialEnd, why: Reason) -> TrialEnd {
    let Reason { what: mut reason, hint, .. } = why;
    if !end.reason.is_empty() {
        reason = format!("{reason}\n{}", end.reason);
    }
    let interrupted = end.interrupted.filter(|interruption| *interruption != Interruption::GuestEnded);
    TrialEnd {
        status: Status::Failed,
        reason,
        hint,
        // A guest that was ended from outside asks for nothing more; one without its device ends by itself.
        killed: end.killed && interrupted.is_some(),
        interrupted,
        stopped: false,
        wall: end.wall,
        unheard: end.unheard,
        device_error: None,
    }
}

/// Duration of the trial on its device in simulated time, in seconds to the microsecond.
fn simulated_seconds(report: &BackendReport) -> Option<f64> {
    let is_real = report.lateness_ns.is_some() && report.lateness_share.is_some();
    (!is_real).then(|| (report.simulated_ns as f64 / 1e3).round() / 1e6)
}

/// Facts about the device of this number, from 1.
fn device_facts(number: usize, report: &BackendReport) -> Facts {
    let of = if number > 1 { format!("device.{number}.") } else { "device.".to_owned() };
    let fact = |name: &str, value: String| (format!("{of}{name}"), value);
    let mut facts = Facts::from([
        fact("requests", report.requests.to_string()),
        fact("held", report.held_bytes.to_string()),
        fact("erases", report.wear.erases.to_string()),
        fact("medium_written", (report.wear.medium_sectors * 512).to_string()),
        fact("trace", format!("{:016x}", report.digest)),
    ]);
    facts.extend(report.log_is_full.then(|| fact("log_is_full", "true".to_owned())));
    facts.extend((report.refused > 0).then(|| fact("refused", report.refused.to_string())));
    facts.extend(match (report.lateness_ns, report.lateness_share) {
        (Some([median, late, worst]), Some(share)) => {
            let shown = format!("p50 {}, p99 {}, worst {} µs", median / 1000, late / 1000, worst / 1000);
            vec![fact("lateness", shown), fact("lateness_share", format!("{share:.4}"))]
        }
        // The clock is one for all of them.
        _ if number > 1 => Vec::new(),
        _ => vec![fact("seconds", format!("{:.6}", report.simulated_ns as f64 / 1e9))],
    });
    facts
}
