//! The live report: after each block, the page in the run's folder shows the results so far.

use crate::study::{Observer, Outlook, RunFolder};
use fsverdict_judgement::journal::{Event, Run, TrialId};
use fsverdict_judgement::plan::Plan;
use fsverdict_report::Format;

use super::CliError;
use super::report::{PAGE, gather_report, replace};

/// Writes the page after each block, and passes every event on to another observer.
pub(super) struct Live<'a> {
    pub(super) inner: Box<dyn Observer>,
    pub(super) folder: &'a RunFolder,
    pub(super) plan: &'a Plan,
}

impl Observer for Live<'_> {
    fn expect_trials(&mut self, outlook: Outlook) {
        self.inner.expect_trials(outlook);
    }

    fn observe_event(&mut self, trial: Option<&TrialId>, event: &Event) {
        self.inner.observe_event(trial, event);
    }

    fn block_ended(&mut self, run: &Run) {
        self.inner.block_ended(run);
        // The journal is the record; a page that cannot be written now is written, or reported, at the end.
        let _ = write_page(self.folder, self.plan, run);
    }
}

/// Replaces the page by one with the present results.
pub(super) fn write_page(folder: &RunFolder, plan: &Plan, run: &Run) -> Result<(), CliError> {
    let mut report = gather_report(Some(folder), plan, run, true);
    report.live = true;
    replace(&report, Format::Html, &folder.file(PAGE))
}

#[cfg(test)]
mod tests {
    use super::super::opened::read_run;
    use super::write_page;
    use crate::study::RunFolder;
    use fsverdict_judgement::plan::Plan;

    /// A folder for the recorded run, without its journal.
    fn place() -> (tempfile::TempDir, Plan, RunFolder) {
        let place = tempfile::tempdir().unwrap();
        let plan = serde_json::from_str(include_str!("../../tests/runs/demo/plan.json")).unwrap();
        let folder = RunFolder::create(place.path(), &plan).unwrap();
        (place, plan, folder)
    }

    #[test]
    fn of_a_page_that_cannot_be_written_nothing_stays() {
        let (place, plan, folder) = place();
        std::fs::write(folder.journal().path(), include_str!("../../tests/runs/demo/journal.jsonl")).unwrap();
        // What is in its place cannot be replaced by a file.
        std::fs::create_dir_all(place.path().join("report.html/in-the-way")).unwrap();
        let error = write_page(&folder, &plan, &read_run(&folder, &plan).unwrap()).unwrap_err();
        assert!(error.to_string().contains("report.html"), "{error}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3, "the journal has all the room");
    }

    #[test]
    fn the_page_is_replaced_and_nothing_else_stays() {
        let (place, plan, folder) = place();
        let recorded = include_str!("../../tests/runs/demo/journal.jsonl");
        std::fs::write(folder.journal().path(), recorded.lines().next().unwrap().to_owned() + "\n").unwrap();
        write_page(&folder, &plan, &read_run(&folder, &plan).unwrap()).unwrap();
        let page = || std::fs::read_to_string(place.path().join("report.html")).unwrap();
        assert!(page().contains("No result yet") && page().contains("http-equiv=\"refresh\""));
        std::fs::write(folder.journal().path(), recorded).unwrap();
        write_page(&folder, &plan, &read_run(&folder, &plan).unwrap()).unwrap();
        assert!(!page().contains("No result yet") && page().contains("reiserfs"));
        let mut names: Vec<String> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["journal.jsonl", "plan.json", "report.html"]);
    }
}
