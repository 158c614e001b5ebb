//! Which trials count, by hand-made journals.

use super::made::{self, ToldEvent};
use super::{
    CandidateStatus, Caution, CautionKind, CautionSummary, Event, JournalError, Observation, Run, Spent,
    Status, Surroundings, TrialId, TrialStanding, Unit,
};
use crate::plan::Plan;

/// A plan of three candidates, of which only the names matter here.
fn plan() -> Plan {
    made::plan(&serde_json::json!({ "candidates": [
        { "name": "a", "filesystem": "ext4", "encryption": "none" },
        { "name": "b", "filesystem": "xfs", "encryption": "none" },
        { "name": "c", "filesystem": "jfs", "encryption": "none" }
    ] }))
}

fn run(events: &[ToldEvent]) -> Result<Run, JournalError> {
    Run::derive(&plan(), &made::journal(events.iter().cloned()))
}

fn start() -> ToldEvent {
    (None, made::started())
}

fn open(block: u32, attempt: u32) -> ToldEvent {
    (None, made::block_started(block, attempt, &["b", "a"]))
}

fn close(block: u32, attempt: u32, invalid: Option<&str>) -> ToldEvent {
    (None, Event::BlockFinished { block, attempt, invalid: invalid.map(str::to_owned) })
}

fn id(block: u32, attempt: u32, candidate: &str) -> Option<TrialId> {
    Some(TrialId { block, candidate: candidate.to_owned(), attempt })
}

fn measured(id: Option<&TrialId>, value: f64) -> ToldEvent {
    (id.cloned(), made::durable("write", value))
}

/// A whole trial, with one value.
fn trial(id: Option<TrialId>, value: f64, status: Status) -> Vec<ToldEvent> {
    let failed = (status == Status::Failed).then_some("because");
    vec![(id.clone(), Event::TrialStarted {}), measured(id.as_ref(), value), (id, made::ended(failed, 2.0))]
}

fn story(parts: &[Vec<ToldEvent>]) -> Run {
    run(&parts.concat()).unwrap()
}

#[test]
fn a_journal_must_begin_with_its_run() {
    assert!(matches!(run(&[]), Err(JournalError::NoRun { .. })));
    assert!(matches!(run(&[open(1, 1)]), Err(JournalError::NoRun { .. })));
}

#[test]
fn a_repeated_phase_took_the_mean_of_its_repetitions() {
    let id = id(1, 1, "a");
    let again = [3.0, 2.0, 7.0].into_iter().zip(0..).map(|(value, repetition)| {
        let first = made::measured("write", &[("durable", Unit::Seconds, value)]);
        (id.clone(), Event::Observation(Observation { repetition, ..first }))
    });
    let run = story(&[
        vec![start(), open(1, 1), (id.clone(), Event::TrialStarted {})],
        again.collect(),
        vec![(id.clone(), made::ended(None, 2.0))],
    ]);
    assert_eq!(run.trials[0].value("write", "durable"), Some(4.0));
    assert_eq!((run.trials[0].observations.len(), run.trials[0].observations[0].repetition), (1, 2));
}

#[test]
fn only_complete_and_valid_blocks_count() {
    let run = story(&[
        vec![start(), open(1, 1)],
        trial(id(1, 1, "b"), 9.0, Status::Ok),
        trial(id(1, 1, "a"), 9.0, Status::Ok),
        vec![close(1, 1, Some("steal")), open(1, 2)],
        trial(id(1, 2, "b"), 1.0, Status::Ok),
        trial(id(1, 2, "a"), 2.0, Status::Ok),
        vec![close(1, 2, None), open(2, 1)],
        trial(id(2, 1, "b"), 5.0, Status::Ok),
    ]);
    assert_eq!(run.counted_values("b", "write", "durable"), [(1, 1.0)]);
    assert_eq!(run.counted_values("a", "write", "durable"), [(1, 2.0)]);
    assert_eq!(run.complete_blocks(), 1);
    assert_eq!(
        run.invalid_blocks().map(|(block, rule)| (block.attempt, rule)).collect::<Vec<_>>(),
        [(1, "steal")]
    );
    let standings: Vec<TrialStanding> = run.trials.iter().map(|trial| trial.standing).collect();
    let expected = [
        TrialStanding::Discarded,
        TrialStanding::Discarded,
        TrialStanding::Counted,
        TrialStanding::Counted,
        TrialStanding::Open,
    ];
    assert_eq!(standings, expected);
    let point = run.resume_point().unwrap();
    assert_eq!((point.block, point.attempt), (2, 1));
    assert_eq!(point.untried_candidates().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_trial_begun_again_after_an_interruption_counts_once() {
    let run = story(&[
        vec![start(), open(1, 1)],
        trial(id(1, 1, "b"), 1.0, Status::Ok),
        vec![(id(1, 1, "a"), Event::TrialStarted {}), measured(id(1, 1, "a").as_ref(), 7.0)],
        vec![(None, Event::RunResumed { more: None })],
        trial(id(1, 1, "a"), 2.0, Status::Ok),
        vec![close(1, 1, None)],
    ]);
    assert_eq!(run.counted_values("a", "write", "durable"), [(1, 2.0)]);
    assert_eq!(run.trials.len(), 2);
    assert_eq!((run.resumed, run.interrupted.len()), (1, 0));
    assert!(run.resume_point().is_none());
}

/// Trials of two blocks side by side: each record finds its own, whichever came before it.
#[test]
fn trials_may_overlap_and_blocks_end_out_of_order() {
    let trials = [(1, "b", 1.0), (2, "b", 3.0), (1, "a", 2.0), (2, "a", 4.0)];
    let part =
        |(block, candidate, value): (u32, &str, f64)| trial(id(block, 1, candidate), value, Status::Ok);
    let begun: Vec<_> = trials.iter().map(|one| part(*one)[0].clone()).collect();
    let measured: Vec<_> = trials.iter().rev().map(|one| part(*one)[1].clone()).collect();
    let ended = |block: u32| -> Vec<_> {
        trials.iter().filter(|one| one.0 == block).map(|one| part(*one)[2].clone()).collect()
    };
    let mut parts = vec![vec![start(), open(1, 1), open(2, 1)], begun, measured, ended(2)];
    let run = story(&parts);
    assert_eq!(run.interrupted, [id(1, 1, "a").unwrap(), id(1, 1, "b").unwrap()]);
    parts.push(vec![close(2, 1, None)]);
    // The second block has ended, and yet nothing is concluded from it before the first has.
    let run = story(&parts);
    assert_eq!((run.complete_blocks(), run.counted_values("a", "write", "durable")), (0, Vec::new()));
    assert_eq!(run.resume_point().map(|block| block.block), Some(1));
    assert_eq!(run.next_block(), (3, 1));
    parts.extend([ended(1), vec![close(1, 1, None)]]);
    let run = story(&parts);
    let mut sample = run.counted_values("a", "write", "durable");
    sample.sort_by_key(|(block, _)| *block);
    assert_eq!((run.complete_blocks(), sample), (2, vec![(1, 2.0), (2, 4.0)]));
    parts.push(vec![close(1, 1, Some("steal"))]);
    assert_eq!((story(&parts).next_block(), story(&parts).complete_blocks()), ((1, 2), 0));
}

#[test]
fn the_interrupted_trial_is_named() {
    let run = story(&[vec![start(), open(1, 1), (id(1, 1, "b"), Event::TrialStarted {})]]);
    assert_eq!(run.interrupted, [id(1, 1, "b").unwrap()]);
    assert!(run.trials.is_empty());
    assert_eq!(run.candidates[1].status, CandidateStatus::Untried);
}

#[test]
fn candidates_are_ok_skipped_or_failed_with_the_reason() {
    let skipped = Event::CandidateSkipped {
        candidate: "c".to_owned(),
        reason: "no driver".to_owned(),
        hint: "install it".to_owned(),
    };
    let run = story(&[
        vec![start(), (None, skipped), open(1, 1)],
        trial(id(1, 1, "b"), 1.0, Status::Failed),
        trial(id(1, 1, "a"), 2.0, Status::Ok),
        vec![close(1, 1, None), open(2, 1)],
        trial(id(2, 1, "b"), 1.0, Status::Ok),
        trial(id(2, 1, "a"), 2.0, Status::Ok),
        vec![close(2, 1, None)],
    ]);
    let shown: Vec<(CandidateStatus, &str)> =
        run.candidates.iter().map(|state| (state.status, state.reason.as_str())).collect();
    let expected = [
        (CandidateStatus::Ok, ""),
        (CandidateStatus::Failed, "1 of 2 trials failed, first in block 1: because"),
        (CandidateStatus::Skipped, "no driver"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(run.counted_values("b", "write", "durable"), [(2, 1.0)]);
}

#[test]
fn a_failure_in_a_block_thrown_out_is_no_failure() {
    let run = story(&[
        vec![start(), open(1, 1)],
        trial(id(1, 1, "b"), 1.0, Status::Failed),
        vec![close(1, 1, Some("killed from outside")), open(1, 2)],
        trial(id(1, 2, "b"), 1.0, Status::Ok),
        vec![close(1, 2, None)],
    ]);
    assert_eq!(run.candidates[1].status, CandidateStatus::Ok);
}

#[test]
fn a_killed_trial_is_tried_again_on_resuming_while_its_block_is_the_last() {
    let killed = || {
        let mut events = trial(id(1, 1, "b"), 1.0, Status::Failed);
        events.insert(
            2,
            (id(1, 1, "b"), Event::Surroundings(Surroundings { killed: true, ..Surroundings::default() })),
        );
        let dropped = Event::CandidateDropped { candidate: "b".into(), reason: "its trial failed".into() };
        events.extend([close(1, 1, None), (None, dropped)]);
        events
    };
    let beginning = || [vec![start(), open(1, 1)], trial(id(1, 1, "a"), 2.0, Status::Ok), killed()].concat();
    let again = [
        vec![(None, Event::RunResumed { more: None })],
        trial(id(1, 1, "b"), 3.0, Status::Ok),
        vec![close(1, 1, None)],
    ];
    let run = story(&[beginning(), vec![(None, Event::RunResumed { more: None })]]);
    assert_eq!(run.resume_point().unwrap().untried_candidates().collect::<Vec<_>>(), ["b"]);
    let run = story(&[vec![beginning()], again.into()].concat());
    assert_eq!(run.resume_point(), None);
    assert_eq!((run.candidates[1].status, &run.candidates[1].dropped), (CandidateStatus::Ok, &None));
    assert_eq!(
        (run.counted_values("b", "write", "durable"), run.counted_values("a", "write", "durable")),
        (vec![(1, 3.0)], vec![(1, 2.0)])
    );
    let run = story(&[beginning(), vec![open(2, 1), (None, Event::RunResumed { more: None })]]);
    assert_eq!((run.resume_point().unwrap().block, run.candidates[1].status), (2, CandidateStatus::Failed));
}

#[test]
fn a_trial_that_was_ended_from_outside_judges_nobody_and_is_tried_again_on_resuming() {
    let ended = |killed: bool| {
        let mut events = trial(id(1, 1, "b"), 1.0, Status::Failed);
        let seen = Surroundings { killed, from_outside: true, ..Surroundings::default() };
        events.insert(2, (id(1, 1, "b"), Event::Surroundings(seen)));
        events.push(close(1, 1, None));
        events
    };
    let beginning =
        |killed| [vec![start(), open(1, 1)], trial(id(1, 1, "a"), 2.0, Status::Ok), ended(killed)].concat();
    let run = story(&[beginning(true)]);
    let state = &run.candidates[1];
    assert_eq!((state.status, state.ended_from_outside), (CandidateStatus::Skipped, true));
    let resumed = vec![(None, Event::RunResumed { more: None })];
    // It is among those to be tried, and not skipped while it is.
    let run = story(&[beginning(true), resumed.clone()]);
    assert_eq!(run.resume_point().unwrap().untried_candidates().collect::<Vec<_>>(), ["b"]);
    assert_eq!(run.candidates[1].status, CandidateStatus::Untried);
    let again = [trial(id(1, 1, "b"), 3.0, Status::Ok), vec![close(1, 1, None)]].concat();
    assert_eq!(story(&[beginning(true), resumed.clone(), again]).candidates[1].status, CandidateStatus::Ok);
    // What cannot pass, as where a guest's memory is too small, is not tried again.
    let run = story(&[beginning(false), resumed]);
    assert_eq!((run.resume_point(), run.candidates[1].status), (None, CandidateStatus::Skipped));
    // A trial that failed by itself counts, whatever ended another.
    let later =
        [vec![open(2, 1)], trial(id(2, 1, "b"), 1.0, Status::Failed), vec![close(2, 1, None)]].concat();
    assert_eq!(story(&[beginning(true), later]).candidates[1].status, CandidateStatus::Failed);
}

#[test]
fn cautions_are_held_once_with_their_trials() {
    let within = |phase: &str, text: &str| Event::Caution(Caution::in_phase(phase, text));
    let caution = |text: &str| within("", text);
    let mut parts = vec![vec![start(), (None, caution("image on tmpfs")), open(1, 1)]];
    for name in ["b", "a"] {
        let mut events = trial(id(1, 1, name), 1.0, Status::Ok);
        events.insert(1, (id(1, 1, name), caution("hot")));
        events.insert(2, (id(1, 1, name), within("write", "hot")));
        events.insert(3, (id(1, 1, name), within("read", "hot")));
        // Noticed by the conductor once the trial had ended.
        events.push((id(1, 1, name), caution("late")));
        parts.push(events);
    }
    let held = story(&parts).summarize_cautions();
    let shown: Vec<(&str, usize, usize)> =
        held.iter().map(|known| (known.text.as_str(), known.trials, known.candidates.len())).collect();
    assert_eq!(shown, [("image on tmpfs", 0, 0), ("hot", 2, 2), ("late", 2, 2)]);
    assert_eq!(held[1].candidates, ["a", "b"], "in the plan's order");
    assert_eq!(held[1].phases, ["write", "read"]);
}

#[test]
fn computing_that_some_are_spared_tilts_a_comparison_with_others() {
    let summary = |kind: CautionKind, text: &str, candidates: &[&str]| CautionSummary {
        text: text.to_owned(),
        kind,
        candidates: candidates.iter().map(|name| (*name).to_owned()).collect(),
        ..CautionSummary::default()
    };
    let cipher = "what the cipher costs is not in these times";
    let known = |candidates: &[&str]| summary(CautionKind::FreeWork, cipher, candidates);
    let left_out = Some(cipher);
    assert!(known(&["b"]).write_sentence().starts_with("CPU is taken as free: what the cipher"));
    let cases = [
        (known(&["b"]), &["a", "b"][..], left_out),
        (known(&["a", "b"]), &["a", "b", "c"], left_out),
        (known(&["a", "b"]), &["a", "b"], None),
        (known(&["c"]), &["a", "b"], None),
        (summary(CautionKind::Other, "the data fit in memory", &["b"]), &["a", "b"], None),
    ];
    for (caution, compared, wanted) in cases {
        assert_eq!(caution.uneven_free_work(compared), wanted, "{caution:?} among {compared:?}");
    }
}

#[test]
fn where_a_trials_time_went_is_known_from_when_its_steps_began() {
    let one = id(1, 1, "a");
    let step = |name: &str| (one.clone(), Event::StepStarted { step: name.to_owned() });
    let end = trial(one.clone(), 1.0, Status::Ok).pop().unwrap();
    let begin = (one.clone(), Event::TrialStarted {});
    let steps = ["claim", "stage usr", "stage iso", "mkfs", "write", "verify", "tear down"].map(step);
    // A second lies between two records.
    let mut events = vec![start(), open(1, 1), begin];
    events.extend(steps);
    events.extend([end, close(1, 1, None)]);
    let run = run(&events).unwrap();
    let spent = Spent { boot: 2.0, staging: 2.0, work: 3.0, teardown: 1.0 };
    assert_eq!(run.trials[0].spent, Some(spent));
}
