//! Traces of modelled devices are shown in figures and given to other programs.

use fsverdict_disk::device::trace::{Flags, TraceWriter, Traced};
use fsverdict_disk::device::{Action, Completion, Request};
use fsverdict_folders::FolderHandle;
use fsverdict_lab::lab::TraceFile;

use crate::common::Place;

#[test]
fn a_trace_is_shown_in_figures_and_given_to_others() {
    let place = Place::new();
    let run = place.path().join("run");
    place.recorded();
    std::fs::create_dir(run.join("traces")).unwrap();
    let handle = FolderHandle::open(&run).unwrap();
    let run_name = run.to_str().unwrap();
    place
        .fsverdict(&["trace", run_name, "ext3"])
        .exits(1)
        .says(&["has no such trace", "hint: traces are kept of trials on a modelled device"]);
    for (block, sectors) in [(1, 8), (2, 16)] {
        let file = TraceFile::for_trial(&handle, "ext3", block, 1);
        let mut writer = TraceWriter::new(std::fs::File::create(file.path()).unwrap(), u64::MAX).unwrap();
        for index in 0..100 {
            let (submitted_ns, sector) = (index * 1_000_000, index * u64::from(sectors) * (1 + index % 2));
            let request = Request { id: index, operation: Action::Write, sector, sectors };
            let completed_ns = submitted_ns + 500_000;
            let done = Completion { request, submitted_ns, completed_ns };
            writer.record(&Traced::done(&done, Flags::default())).unwrap();
        }
        writer.finish().unwrap();
    }
    place.fsverdict(&["trace", run_name, "ext3"]).exits(0).shows(&[
        "ext3, block 2",
        "800 KiB",
        "0.500",
        "1.00 on average",
    ]);
    place
        .fsverdict(&["trace", run_name, "ext3", "--block", "1"])
        .exits(0)
        .shows(&["ext3, block 1", "400 KiB"]);
    let table = place.fsverdict(&["trace", run_name, "ext3", "--format", "csv"]).exits(0).stdout;
    assert_eq!(table.lines().count(), 101);
    let out = run.join("vda.blktrace.0");
    place
        .fsverdict(&["trace", run_name, "ext3", "--format", "blktrace", "-o", out.to_str().unwrap()])
        .exits(0);
    assert_eq!(std::fs::metadata(&out).unwrap().len(), 300 * 48);
    place
        .fsverdict(&["trace", run_name, "ext3", "--block", "9"])
        .exits(2)
        .says(&["the last trace of ext3 is from block 2"]);
    place
        .fsverdict(&["trace", run_name, "ext7"])
        .exits(2)
        .says(&["no candidate `ext7`", "hint: did you mean `ext2`"]);
    std::fs::write(TraceFile::for_trial(&handle, "xfs", 1, 1).path(), "rubbish").unwrap();
    place.fsverdict(&["trace", run_name, "xfs"]).exits(1).says(&["1-xfs-1.trace: this is no trace"]);
}
