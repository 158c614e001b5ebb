//! A built-in operation on a filesystem that is full.

use std::path::Path;

use fsverdict::dataset::prepare;
use fsverdict::workload::{Ledger, Workplace, run};
use fsverdict_judgement::plan::{Dataset, Operation};
use fsverdict_text::Bytes;

use crate::common::tool;

#[test]
fn loop_a_full_filesystem_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let mount = folder.path().to_str().unwrap();
    let crowd = Dataset::Flat { files: 500, file_size: Bytes(80 << 10) };
    let dataset = prepare("data", &crowd, 1).unwrap();
    tool(&["mount", "-t", "tmpfs", "-o", "size=4m", "fsverdict-test", mount]);
    let shown = run(&mut Workplace {
        operation: Operation::try_from("directory.fill".to_owned()).unwrap(),
        mount: folder.path(),
        into: Path::new("some/where"),
        dataset: &dataset,
        staged: None,
        ledger: &mut Ledger::new(),
        changed: 0.1,
    });
    tool(&["umount", mount]);
    let shown = shown.unwrap_err().to_string();
    assert!(shown.starts_with("directory.fill: cannot write "), "{shown}");
    assert!(shown.contains("the filesystem is full"), "{shown}");
}
