//! A run that is interrupted and resumed ends as the uninterrupted one would have: same order, same verdict.
//!
//! Real trials were recorded (`tests/runs/recorded`: four candidates, eight blocks, in User-Mode Linux) and are played
//! back by a lab that does nothing else. The journal is cut behind and within the events around the trials; what is
//! left of it is resumed.

mod player;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fsverdict::study::{JumpWatch, Silent, Study};
use fsverdict_folders::FolderHandle;
use fsverdict_judgement::journal::{
    Beginning, CandidateStatus, Event, Facts, OpenJournal, Run, SCHEMA, TrialId, read,
};
use fsverdict_judgement::plan::{Blocks, Candidate, Disturbance, Plan, digest};
use fsverdict_lab::lab::{Attachment, Lab};
use fsverdict_report::{Format, Report, write};
use fsverdict_text::Bytes;
use player::{Machine, Player, RECORDED, Tale, lock};

fn plan(candidates: &[&str]) -> Plan {
    let text = std::fs::read_to_string(Path::new(RECORDED).join("plan.json")).unwrap();
    let mut plan: Plan = serde_json::from_str(&text).unwrap();
    plan.protocol.blocks = Blocks { min: 3, max: 8 };
    plan.protocol.disturbed = Some(Disturbance::default());
    let known = plan.candidates.clone();
    plan.candidates = candidates
        .iter()
        .map(|name| {
            let of = |name: &str| known.iter().find(|candidate| candidate.name == name).cloned();
            let found = of(name).or_else(|| of(name.strip_suffix("~twin")?)).unwrap();
            Candidate { name: (*name).to_owned(), ..found }
        })
        .collect();
    plan
}

/// A folder in memory where there is one: each event is synced to the disk.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Begins the run, or resumes what is there.
fn conduct(plan: &Plan, player: &Player, journal: &Path) {
    let resumed = journal.exists();
    let folder = FolderHandle::open(journal.parent().unwrap()).unwrap();
    let place = folder.file(journal.file_name().unwrap());
    let mut journal = if resumed {
        OpenJournal::resume(plan, &place).unwrap()
    } else {
        let start = Event::RunStarted {
            schema: SCHEMA,
            id: "played".to_owned(),
            title: plan.title.clone(),
            plan_digest: digest(plan),
            lab: player.name().to_owned(),
            lab_reason: String::new(),
            fidelity: player.fidelity(),
            environment: Facts::new(),
            beginning: Beginning::default(),
        };
        OpenJournal::begin(plan, &place, start).unwrap()
    };
    if journal.run().unwrap().finished.is_some() {
        return;
    }
    lock(&player.now).take();
    let mut study = Study {
        plan,
        lab: player,
        attachments: Attachment::Image { folder: PathBuf::from("/nowhere"), size: 512 << 20, room: 0 }.into(),
        journal,
        observer: &mut Silent,
        watcher: Box::new(Machine(player)),
        jobs: player.tale.jobs + 1,
        deadline: None,
        refused: Vec::new(),
        jumps: JumpWatch::start(),
    };
    study.conduct(resumed.then_some(Event::RunResumed { more: None })).unwrap();
}

/// Blocks with attempts and orders, trials, report.
type Told = (Vec<(u32, u32, Vec<String>)>, Vec<TrialId>, String);

/// Every block with its order, every trial that ended, and the whole of the report: all that an interruption may not
/// change.
fn shown(plan: &Plan, journal: &Path) -> Told {
    let records = read(journal).unwrap();
    let run = Run::derive(plan, &records).unwrap();
    let blocks = run.blocks.iter().map(|state| (state.block, state.attempt, state.order.clone())).collect();
    let trials = run.trials.iter().map(|trial| trial.id.clone()).collect();
    let mut report = Vec::new();
    write(&Report::new(plan, &run, None), Format::Json, &mut report).unwrap();
    (blocks, trials, String::from_utf8(report).unwrap())
}

/// Cuts the journal of an uninterrupted run at events that are no observations (at so many of them one), behind the last
/// line or within the next, and resumes. The JSON report of the uninterrupted run.
fn survives_interruptions(candidates: &[&str], every: usize, tale: Tale) -> serde_json::Value {
    let (plan, player, folder) = (plan(candidates), Player::new(tale), folder());
    let whole = folder.path().join("whole.jsonl");
    conduct(&plan, &player, &whole);
    let expected = shown(&plan, &whole);
    let text = std::fs::read_to_string(&whole).unwrap();
    let mut cuts = Vec::new();
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if end > 0 && !line.contains("\"event\":\"observation\"") {
            // By turns behind the line before and within this one.
            cuts.push(if cuts.len() % 2 == 0 { end } else { end + line.len() / 2 });
        }
        end += line.len();
    }
    let cut = folder.path().join("cut.jsonl");
    for at in cuts.into_iter().step_by(every) {
        std::fs::write(&cut, &text[..at]).unwrap();
        conduct(&plan, &player, &cut);
        let resumed = shown(&plan, &cut);
        let around = &text[at.saturating_sub(200)..at];
        assert_eq!(resumed.0, expected.0, "the order, cut behind …{around}");
        assert_eq!(resumed.1, expected.1, "the trials, cut behind …{around}");
        assert_eq!(resumed.2, expected.2, "the report, cut behind …{around}");
    }
    serde_json::from_str(&expected.2).unwrap()
}

const ALL: [&str; 4] = ["ext4", "ext4-plain", "btrfs", "nilfs2"];

#[test]
fn as_recorded() {
    let report = survives_interruptions(&ALL, 3, Tale::default());
    assert_eq!(report["run"]["complete"], true);
}

#[test]
fn when_candidates_are_behind() {
    let slower = vec![("nilfs2", 9.0), ("btrfs", 4.0), ("ext4-plain", 3.0)];
    let report = survives_interruptions(&ALL, 4, Tale { slower, ..Tale::default() });
    assert_eq!(report["verdict"]["recommended"], "ext4", "{report:#}");
    // Trials stray by 45 %: only the slowest is behind for certain.
    assert_eq!(report["verdict"]["behind"], serde_json::json!(["nilfs2"]), "{report:#}");
}

#[test]
fn with_a_twin() {
    let slower = vec![("nilfs2", 9.0), ("btrfs", 6.0)];
    let report = survives_interruptions(
        &["ext4", "btrfs", "nilfs2", "ext4~twin"],
        5,
        Tale { slower, ..Tale::default() },
    );
    assert_eq!(report["verdict"]["recommended"], "ext4", "{report:#}");
}

#[test]
fn what_is_settled_under_some_circumstances_is_tried_no_further() {
    let (mut plan, folder) = (plan(&ALL), folder());
    // The two of each memory are a contest of their own.
    for (at, candidate) in plan.candidates.iter_mut().enumerate() {
        candidate.under.memory = Some(Bytes(if at < 2 { 256 << 20 } else { 512 << 20 }));
    }
    let player = Player::new(Tale { slower: vec![("nilfs2", 9.0)], ..Tale::default() });
    let journal = folder.path().join("journal.jsonl");
    conduct(&plan, &player, &journal);
    let (blocks, ..) = shown(&plan, &journal);
    let tried = |name: &str| blocks.iter().filter(|(.., order)| order.iter().any(|one| one == name)).count();
    assert_eq!(ALL.map(tried), [8, 8, 3, 3]);
}

#[test]
fn when_blocks_are_disturbed_and_candidates_missing_or_failing() {
    let tale = Tale {
        missing: vec!["ext4-plain"],
        // In a block that does not count a failure does not count either.
        failing: vec![(1, 1, "ext4"), (2, 1, "nilfs2")],
        busy: vec![(1, 1), (3, 1), (3, 2)],
        slower: vec![("btrfs", 5.0)],
        ..Tale::default()
    };
    let report = survives_interruptions(&ALL, 2, tale);
    assert_eq!(report["run"]["blocks_invalid"], 3, "{report:#}");
    let status = |name: &str| {
        let candidates = report["candidates"].as_array().unwrap();
        let found = candidates.iter().find(|candidate| candidate["name"] == name).unwrap();
        found["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(ALL.map(status), ["ok", "skipped", "ok", "failed"]);
}

/// A run once gave a verdict from blocks of which half had copied 27 kB and half 30 MB.
#[test]
fn when_a_folder_of_the_user_changes() {
    let held = [(2, 1, "ext4"), (3, 1, "ext4"), (3, 1, "btrfs"), (3, 1, "nilfs2"), (3, 1, "ext4-plain")];
    let held = held.map(|(block, attempt, name)| (block, attempt, name, "2 files")).into();
    let report = survives_interruptions(&ALL, 7, Tale { held, ..Tale::default() });
    let invalid = report["run"]["invalid"].to_string() + &report["verdict"]["cautions"].to_string();
    assert_eq!(report["run"]["blocks_invalid"], 1, "{report:#}");
    for text in
        ["did not work on the same data", "from block 3 on", "from block 4 on", "2 files, and then 1 files"]
    {
        assert!(invalid.contains(text), "{text}: {invalid}");
    }
}

#[test]
fn a_killed_trial_is_tried_again_once() {
    let killed = Mutex::new(vec![(1, "ext4"), (2, "btrfs"), (2, "btrfs")]);
    let (plan, player, folder) = (plan(&ALL), Player::new(Tale { killed, ..Tale::default() }), folder());
    let journal = folder.path().join("journal.jsonl");
    conduct(&plan, &player, &journal);
    let run = Run::read(&plan, &journal).unwrap();
    let failed: Vec<&str> = run
        .candidates
        .iter()
        .filter(|state| state.status == CandidateStatus::Failed)
        .map(|state| state.name.as_str())
        .collect();
    assert_eq!(failed, ["btrfs"]);
    let again = run.summarize_cautions().into_iter().filter(|held| held.text.contains("second time"));
    assert_eq!(again.flat_map(|held| held.candidates).collect::<Vec<_>>(), ["ext4", "btrfs"]);
}

/// Three times in a row: the candidate is not judged by it, all others are, and a run that is resumed tries it again while its block is
/// the last.
#[test]
fn a_trial_that_is_killed_from_outside_three_times_fails_no_candidate() {
    for (times, expected) in [(2, CandidateStatus::Ok), (3, CandidateStatus::Skipped)] {
        let killed = Mutex::new(vec![(1, "btrfs"); times]);
        let player = Player::new(Tale { killed, from_outside: true, ..Tale::default() });
        let (plan, folder) = (plan(&ALL), folder());
        let journal = folder.path().join("journal.jsonl");
        conduct(&plan, &player, &journal);
        let run = Run::read(&plan, &journal).unwrap();
        let state = |name: &str| run.candidates.iter().find(|state| state.name == name).unwrap();
        assert_eq!(state("btrfs").status, expected, "{times}: {:?}", state("btrfs"));
        assert!(run.candidates.iter().all(|state| state.status != CandidateStatus::Failed), "{times}");
        assert_eq!(state("ext4").status, CandidateStatus::Ok);
        if times == 3 {
            let reason = &state("btrfs").reason;
            assert!(reason.starts_with("killed by signal 9 three times: it broke"), "{reason}");
            let report = shown(&plan, &journal).2;
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            let entries = report["candidates"].as_array().unwrap();
            let entry = entries.iter().find(|entry| entry["name"] == "btrfs").unwrap();
            assert_eq!(entry["status"], "skipped", "{entry:#}");
        }
    }
}

#[test]
fn when_nothing_may_be_ranked() {
    let busy = vec![(1, 1), (1, 2), (2, 1)];
    let report = survives_interruptions(&ALL, 5, Tale { busy, ..Tale::default() });
    assert_eq!(report["run"]["ended"]["by"], "disturbed");
    assert_eq!(report["verdict"]["ranking"], serde_json::json!([]));
    assert!(report["verdict"]["refused"].as_str().unwrap().contains("only 1 valid"));
}

#[test]
fn how_many_trials_are_under_way_at_once_changes_nothing() {
    let tale = |jobs| {
        let slower = vec![("nilfs2", 9.0), ("btrfs", 4.0)];
        let killed = Mutex::new(vec![(1, "btrfs")]);
        Player::new(Tale { slower, killed, failing: vec![(2, 1, "ext4-plain")], jobs, ..Tale::default() })
    };
    let (plan, folder) = (plan(&ALL), folder());
    let (one, three) = (folder.path().join("one.jsonl"), folder.path().join("three.jsonl"));
    let in_order = |journal: &Path| {
        let mut shown = shown(&plan, journal);
        shown.1.sort();
        shown
    };
    conduct(&plan, &tale(0), &one);
    let expected = in_order(&one);
    // Begun by the same event, so that the reports can be the same to the second.
    let first = std::fs::read_to_string(&one).unwrap().lines().next().unwrap().to_owned() + "\n";
    std::fs::write(&three, &first).unwrap();
    conduct(&plan, &tale(2), &three);
    assert_eq!(in_order(&three), expected);
    let text = std::fs::read_to_string(&three).unwrap();
    let overlaps = "\"event\":\"trial_started\"";
    let begun: Vec<usize> =
        text.lines().enumerate().filter(|(_, l)| l.contains(overlaps)).map(|(at, _)| at).collect();
    assert!(begun[1] - begun[0] < 3, "none overlapped: {text}");
    // Cut with three under way, and carried on with one or three at once.
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    for (jobs, lines) in [(0, begun[2] + 2), (2, begun[2] + 5), (0, begun[4] + 3), (2, begun[5] + 1)] {
        std::fs::write(&three, &text[..ends[lines]]).unwrap();
        let left = Player::new(Tale { killed: Mutex::default(), ..tale(jobs).tale });
        conduct(&plan, &left, &three);
        let (shown, lines) = (in_order(&three), &text[..ends[lines]]);
        assert_eq!((shown.0, shown.1), (expected.0.clone(), expected.1.clone()), "{lines}");
        let judged = |report: &str| {
            serde_json::from_str::<serde_json::Value>(report).unwrap()["verdict"]["ranking"].clone()
        };
        assert_eq!(judged(&shown.2), judged(&expected.2), "{lines}");
    }
}

#[test]
fn a_conductor_killed_after_every_single_trial() {
    let slower = vec![("nilfs2", 9.0), ("btrfs", 4.0)];
    let (plan, player, folder) = (plan(&ALL), Player::new(Tale { slower, ..Tale::default() }), folder());
    let (whole, pieces) = (folder.path().join("whole.jsonl"), folder.path().join("pieces.jsonl"));
    conduct(&plan, &player, &whole);
    // Begun by the same event, so that the reports can be the same to the second.
    let text = std::fs::read_to_string(&whole).unwrap();
    std::fs::write(&pieces, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let mut ended = 0;
    loop {
        conduct(&plan, &player, &pieces);
        // It came no further than the first trial that had not ended before.
        let text = std::fs::read_to_string(&pieces).unwrap();
        let ends = text.match_indices("\"event\":\"trial_finished\"").map(|(at, _)| at);
        let Some(next) = ends.clone().nth(ended) else { break };
        let line_end = next + text[next..].find('\n').unwrap() + 1;
        std::fs::write(&pieces, &text[..line_end]).unwrap();
        ended += 1;
    }
    conduct(&plan, &player, &pieces);
    let (whole, pieces) = (shown(&plan, &whole), shown(&plan, &pieces));
    assert_eq!(whole.1.len(), ended);
    assert_eq!(pieces, whole);
}
