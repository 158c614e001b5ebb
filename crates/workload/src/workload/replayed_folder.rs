//! Checks the files of a replayed trace after a power cut: all that the trace's own calls made durable must be there,
//! and nothing that no call made.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::dataset::{Content, DatasetOrigin, Listing, Prepared, open_directory_below, open_path};
use fsverdict_calls::{CallFault, CallTrace, FileHistory, SegmentOrigin, TraceState, WritePeriods};
use fsverdict_judgement::journal::ProgramPromise;

use super::replay_files::STAND_IN;
use super::replayed::body_of;
use super::saved_check::SavedReading;
use super::state_after_cut::{FolderJudge, FolderReader};

/// The maximum depth that is read: more than that of a trace.
const DEEPEST: u32 = 128;

/// A folder in which the calls of a trace were made, and in which nothing else worked until a moment. All times are in
/// nanoseconds of the device's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayedFolder {
    /// The path relative to the mount point.
    pub into: String,
    pub dataset: String,
    /// Whether the calls were made in their order, by one thread.
    pub ordered: bool,
    pub began_ns: u64,
    /// When the syncfs after it returned.
    pub synced_ns: u64,
    /// From when on something else may have changed it.
    pub until_ns: u64,
    /// The calls that made something durable, from 1, with the times of their return.
    pub durable_calls: Vec<ProgramPromise>,
}

/// The calls of a trace that had been made at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MadeCalls {
    /// All calls up to this number had returned, and it made something durable.
    durable: u64,
    /// Calls after this number had not begun.
    begun: u64,
    is_synced: bool,
}

/// The history of a trace up to some call: the next state needs only the calls since.
#[derive(Debug)]
pub struct ReplayHistory {
    state: TraceState,
    history: FileHistory,
    /// The number of the last call, and whether it had returned.
    made: u64,
    has_returned: bool,
}

impl ReplayHistory {
    fn new(trace: &CallTrace, ordered: bool) -> Result<Self, CallFault> {
        let periods = if ordered { WritePeriods::BetweenSyncs } else { WritePeriods::One };
        let mut state = TraceState::initial_state(trace.names(), periods)?;
        let history = state.start_history();
        Ok(ReplayHistory { state, history, made: 0, has_returned: true })
    }

    fn advance(&mut self, trace: &CallTrace, to: MadeCalls) -> Result<(), CallFault> {
        // A call that makes something durable is the last one until it returns.
        if !self.has_returned && self.made <= to.durable {
            let last = (self.made as usize).checked_sub(1).and_then(|last| trace.calls().get(last));
            if let Some(call) = last {
                self.state.note_return(&mut self.history, call.work);
            }
            self.has_returned = true;
        }
        for (number, call) in (1..=to.begun).zip(trace.calls()).skip(self.made as usize) {
            self.state.apply(call.work)?;
            self.state.note_call(&mut self.history);
            (self.made, self.has_returned) = (number, number <= to.durable);
            if self.has_returned {
                self.state.note_return(&mut self.history, call.work);
            }
        }
        if to.is_synced {
            self.history.promise_all();
        }
        Ok(())
    }
}

impl ReplayedFolder {
    /// The calls that had been made at this nanosecond; none if something else may have changed the folder.
    fn made_at(&self, cut_ns: u64) -> Option<MadeCalls> {
        if !(self.began_ns..self.until_ns).contains(&cut_ns) {
            return None;
        }
        let is_synced = cut_ns >= self.synced_ns;
        let next = self.durable_calls.partition_point(|call| call.at_ns <= cut_ns);
        let number = |at: Option<&ProgramPromise>| at.map(|call| call.number);
        let durable = number(next.checked_sub(1).and_then(|last| self.durable_calls.get(last))).unwrap_or(0);
        // Each call that made something durable is noted when it has returned: the next one has not.
        let begun = number(self.durable_calls.get(next)).filter(|_| !is_synced).unwrap_or(u64::MAX);
        Some(MadeCalls { durable, begun, is_synced })
    }

    /// Compares all names and contents with those that may be there when power is cut at this nanosecond. `history` is
    /// that of the state before.
    pub fn check_after_cut(
        &self,
        mount: &Path,
        dataset: &Prepared,
        cut_ns: u64,
        history: &mut Option<ReplayHistory>,
        reading: &mut SavedReading,
    ) -> Result<(), CallFault> {
        let Some(made) = self.made_at(cut_ns) else { return Ok(()) };
        let (Some(trace), DatasetOrigin::Generated { content, .. }) = (&dataset.calls, &dataset.origin)
        else {
            return Ok(());
        };
        // Each state is judged by the calls up to its own moment.
        let known = history.take().filter(|known| known.made <= made.begun);
        let known = history.insert(match known {
            Some(known) => known,
            None => ReplayHistory::new(trace, self.ordered)?,
        });
        known.advance(trace, made)?;
        self.check_folder(mount, trace, content, made, &known.history, reading);
        Ok(())
    }

    fn check_folder(
        &self,
        mount: &Path,
        trace: &CallTrace,
        content: &Content,
        made: MadeCalls,
        history: &FileHistory,
        reading: &mut SavedReading,
    ) {
        let about = |seen: &str| format!("{}: {seen} ({})", self.into, describe_calls(made));
        let folder = open_path(mount)
            .and_then(|mount| open_directory_below(mount.as_fd(), Path::new(&self.into), false));
        let folder = match folder {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return reading.note_broken("name", || about("the folder is gone")),
            Err(errno) => return reading.errors.push(about(&errno.to_string())),
        };
        let (mut listing, mut errors) = (Listing::new(), Vec::new());
        let mut reader = FolderReader {
            listing: &mut listing,
            errors: &mut errors,
            most: usize::MAX,
            deepest: DEEPEST,
            attribute: None,
            passed_over: Some(STAND_IN),
        };
        if let Some(found) = reader.read_folder(folder.as_fd()) {
            let text = |label| trace.name_text(label);
            let fill = |origin: SegmentOrigin, place: u64, bytes: &mut [u8]| {
                content.fill_range(&body_of(origin), place, bytes);
            };
            let folder = folder.as_fd();
            let judge =
                FolderJudge { history, text: &text, fill: &fill, attribute: |value| vec![value], folder };
            for (promise, seen) in judge.judge(&found, &mut errors) {
                reading.note_broken(promise, || about(&seen));
            }
        }
        reading.errors.extend(errors.iter().map(|error| about(error)));
    }

    /// From its first call to its sync.
    pub fn window(&self) -> [u64; 2] {
        [self.began_ns, self.synced_ns]
    }

    /// How many promises had been made by this nanosecond.
    pub fn promised_by(&self, now_ns: u64) -> usize {
        let calls = self.durable_calls.partition_point(|call| call.at_ns <= now_ns);
        calls + usize::from(self.synced_ns <= now_ns)
    }

    /// When the last of its calls made something durable, from one moment to just before another.
    pub fn last_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let mut moments = self.durable_calls.iter().map(|call| call.at_ns);
        moments.rfind(|at_ns| (from_ns..until_ns).contains(at_ns))
    }

    /// Describes the data that must exist when power is cut at this nanosecond.
    pub fn describe_at(&self, cut_ns: u64) -> Option<String> {
        let calls = describe_calls(self.made_at(cut_ns)?);
        Some(format!("{}: the files of a replayed trace, {calls}", self.into))
    }
}

fn describe_calls(made: MadeCalls) -> String {
    match made {
        MadeCalls { is_synced: true, .. } => "all calls made and synced".to_owned(),
        MadeCalls { durable: 0, .. } => "before its first sync returned".to_owned(),
        MadeCalls { durable, .. } => format!("after its call {durable} returned, which is a sync"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use fsverdict_judgement::journal::ProgramPromise;
    use fsverdict_judgement::plan::Dataset;

    use super::{ReplayedFolder, SavedReading, body_of};
    use crate::dataset::{DatasetOrigin, Prepared, prepare_dataset};
    use fsverdict_calls::SegmentOrigin;

    /// Writes over a block with a sync each, then makes a file that takes another's name.
    const CALLS: &str = "\
file 0 1 8192
file 0 1 100
name 0 1
open 1 1
write 1 0 4096
fdatasync 1
write 1 0 4096
fdatasync 1
open 2 3 create
write 2 0 100
fsync 2
fdatasync 1
rename 3 2
fsyncdir 0
";

    struct Replayed {
        place: tempfile::TempDir,
        dataset: Prepared,
        folder: ReplayedFolder,
    }

    impl Replayed {
        /// The files as they were before the first call.
        fn new() -> Replayed {
            let calls = CALLS.parse().unwrap();
            let dataset = prepare_dataset("log", &Dataset::Trace { calls }, 1).unwrap();
            let durable_calls = [(3, 30), (5, 50), (8, 80), (9, 90), (11, 110)]
                .map(|(number, at_ns)| ProgramPromise { number, at_ns })
                .to_vec();
            let (into, named) = ("log".to_owned(), "log".to_owned());
            let folder = ReplayedFolder {
                into,
                dataset: named,
                ordered: true,
                began_ns: 10,
                synced_ns: 200,
                until_ns: 300,
                durable_calls,
            };
            let replayed = Replayed { place: tempfile::tempdir().unwrap(), dataset, folder };
            fs::create_dir(replayed.place.path().join("log")).unwrap();
            replayed.write("1", 0, 0, 8192);
            replayed.write("2", 1, 0, 100);
            replayed
        }

        /// As the trace does: of the file of this number, in this period.
        fn write(&self, name: &str, file: u32, written: u32, length: usize) {
            let DatasetOrigin::Generated { content, .. } = &self.dataset.origin else { panic!() };
            let mut bytes = vec![0; length];
            content.fill_range(&body_of(SegmentOrigin { file, shift: 0, written }), 0, &mut bytes);
            let path = self.place.path().join("log").join(name);
            let opened = fs::File::options().create(true).truncate(false).write(true).open(path).unwrap();
            opened.write_all_at(&bytes, 0).unwrap();
        }

        fn rename(&self) {
            let folder = self.place.path().join("log");
            fs::rename(folder.join("3"), folder.join("2")).unwrap();
        }

        fn broken(&self, cut_ns: u64) -> Vec<&'static str> {
            let mut reading = SavedReading::default();
            let place = self.place.path();
            self.folder.check_after_cut(place, &self.dataset, cut_ns, &mut None, &mut reading).unwrap();
            assert!(reading.errors.is_empty(), "{:?}", reading.errors);
            reading.broken.into_keys().collect()
        }
    }

    #[test]
    fn what_the_calls_of_a_trace_synced_must_be_there_and_what_came_later_may_be() {
        let replayed = Replayed::new();
        let none: [&str; 0] = [];
        // Before the first sync, and where something else may have worked.
        assert_eq!((replayed.broken(29), replayed.broken(300)), (none.to_vec(), none.to_vec()));
        assert_eq!(replayed.broken(30), ["fsync"]);
        replayed.write("1", 0, 1, 4096);
        assert_eq!((replayed.broken(20), replayed.broken(30)), (none.to_vec(), none.to_vec()));
        // It was written over, and synced again.
        assert_eq!(replayed.broken(50), ["fsync"]);
        replayed.write("1", 0, 2, 4096);
        assert_eq!(replayed.broken(30), none);
        assert_eq!(replayed.broken(50), none);
        // Nothing of a call that had not begun may be there.
        assert_eq!(replayed.broken(20), ["foreign"]);
        assert_eq!(replayed.broken(80), ["entry"]);
        replayed.write("3", 2, 3, 100);
        assert_eq!(replayed.broken(80), none);
        assert_eq!(replayed.broken(90), none);
        assert_eq!(replayed.broken(110), ["directory"]);
        replayed.rename();
        // The call that renames began after the one before it had returned.
        assert_eq!(replayed.broken(80), ["entry", "foreign"]);
        assert_eq!(
            [90, 110, 250].map(|cut_ns| replayed.broken(cut_ns)),
            [none.to_vec(), none.to_vec(), none.to_vec()]
        );
        fs::write(replayed.place.path().join("log/other"), "").unwrap();
        assert_eq!(replayed.broken(250), ["unheard-of"]);
        fs::remove_dir_all(replayed.place.path().join("log")).unwrap();
        assert_eq!(replayed.broken(110), ["name"]);
    }

    #[test]
    fn states_one_after_another_are_judged_as_each_alone() {
        let replayed = Replayed::new();
        let (mut history, place) = (None, replayed.place.path());
        for cut_ns in [20, 30, 30, 110, 50, 250, 80] {
            let mut reading = SavedReading::default();
            let checked =
                replayed.folder.check_after_cut(place, &replayed.dataset, cut_ns, &mut history, &mut reading);
            checked.unwrap();
            assert_eq!(reading.broken.into_keys().collect::<Vec<_>>(), replayed.broken(cut_ns), "{cut_ns}");
        }
        assert!(replayed.folder.describe_at(60).unwrap().contains("after its call 5 returned"));
        assert_eq!(replayed.folder.describe_at(300), None);
    }
}
