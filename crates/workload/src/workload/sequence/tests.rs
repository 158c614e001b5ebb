//! Tests that sequences on a real filesystem match the model, and that planted damage is found.

use std::os::fd::AsFd;

use super::enumerate::{CallSequence, SequenceBounds};
use super::judge_sequence::{SequenceProgress, judge_sequence, sequence_history};
use super::step::SequenceCall;
use super::work::{SequenceWork, describe_calls};
use super::{FOLDER, carry_out};
use crate::dataset::{Listing, open_path};

const BOUNDS: SequenceBounds = SequenceBounds { steps: 2, count: None, seed: 1 };

#[test]
fn the_bounds_hold_what_they_should_each_once() {
    let singles = SequenceBounds { steps: 1, ..BOUNDS }.all_sequences();
    let pairs = BOUNDS.all_sequences();
    assert!((100..400).contains(&singles.len()), "{}", singles.len());
    assert!((20_000..100_000).contains(&pairs.len()), "{}", pairs.len());
    let mut seen = std::collections::HashSet::new();
    assert!(pairs.iter().all(|sequence| seen.insert(sequence.clone())));
    let told: Vec<String> = pairs.iter().map(|sequence| describe_calls(sequence, 9)).collect();
    for wanted in [
        // f2fs with fsync_mode=posix loses the first of these files; btrfs of Linux 3.x to 4.x the others.
        "rename A/foo A/baz; create A/foo; fsync A/foo",
        "link A/foo A/baz; unlink A/baz; fsync A/foo",
        "rename A C; mkdir A; fsync A",
        "fallocate KEEP_SIZE A/foo 12288+16384; fdatasync A/foo",
        "sync; append A/foo 4096; fsync A/foo",
        // The mmapwrite of ACE, and two sequences that have since found bugs in btrfs' log.
        "punch hole A/foo 4096+4096; write through a mapping A/foo 4096+4096; fsync A/foo",
        "link O_TMPFILE A/baz; fsync A/baz",
        "clone A/foo A/bar; fsync A/bar",
        // Two bugs in btrfs' log: an fsync of what was unlinked while it was open, whose name another file has by then, and
        // a symbolic link that was renamed after its directory was synced.
        "unlink A/foo while it is open; create A/foo; fsync what is open without a name",
        "unlink A/foo while it is open; fsync what is open without a name; create A/foo; fsync A/foo",
        "rmdir B while it is open; mkdir B; fsync what is open without a name",
        "symlink foo A/baz; fsync A; rename A/baz A/qux; fsync A",
        "symlink foo A/baz; fsync A; rename A/foo A/baz; fsync A/baz",
    ] {
        assert!(told.iter().any(|told| told.contains(wanted)), "{wanted}");
    }
    let some = SequenceBounds { count: Some(100), ..BOUNDS };
    assert_eq!((some.all_sequences().len(), some.all_sequences() == some.all_sequences()), (100, true));
    assert_ne!(some.all_sequences(), SequenceBounds { seed: 2, ..some }.all_sequences());
    let triples = SequenceBounds { steps: 3, count: Some(500), seed: 1 }.all_sequences();
    assert_eq!(triples.len(), 500);
    assert!(triples.iter().all(|one| matches!(one.calls.last(), Some(SequenceCall::Persist(_)))));
}

/// Does some of them in a folder of this machine's, each of which is compared with the model.
#[test]
fn the_model_agrees_with_a_real_filesystem() {
    let folder = tempfile::tempdir().unwrap();
    let bounds = SequenceBounds { steps: 2, count: Some(600), seed: 5 };
    let done = carry_out(folder.path(), &SequenceWork { bounds, part: 0, only: None }, false).unwrap();
    assert_eq!(done.done.files, 600);
    assert_eq!(done.batches.len(), 600_usize.div_ceil(super::BATCH));
    // Nothing of them is left.
    assert_eq!(std::fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
}

/// The content of a folder with the two directories and files, and the progress of a sequence.
struct Recovered {
    folder: tempfile::TempDir,
}

const IDENTITY: u64 = 77 << 8;

impl Recovered {
    /// The initial state of every sequence.
    fn new() -> Recovered {
        let folder = tempfile::tempdir().unwrap();
        let recovered = Recovered { folder };
        std::fs::create_dir(recovered.at("A")).unwrap();
        std::fs::create_dir(recovered.at("B")).unwrap();
        recovered.write("A/foo", 0, 3 * 4096, 1);
        recovered.write("A/bar", 0, 4096, 2);
        let root = open_path(recovered.folder.path()).unwrap();
        super::calls::set_attribute(root.as_fd(), super::place::SequencePlace::AFoo, 1).unwrap();
        recovered
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    /// As the write of this number does.
    fn write(&self, path: &str, offset: u64, length: usize, number: u64) {
        let mut bytes = vec![0; length];
        super::contents::fill_pattern(&mut bytes, IDENTITY ^ number, offset);
        let file =
            std::fs::File::options().create(true).truncate(false).write(true).open(self.at(path)).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, offset).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.at(from), self.at(to)).unwrap();
    }

    /// The promises that are broken where all but the last so many calls of this sequence had returned, and the next had begun.
    fn broken(&self, sequence: &str, left: usize) -> Vec<&'static str> {
        let sequence = named(sequence);
        let returned = sequence.calls.len() - left;
        let progress = SequenceProgress {
            returned,
            begun: (returned + 1).min(sequence.calls.len()),
            is_synced: false,
            refused: None,
        };
        let history = sequence_history(&sequence, IDENTITY, progress);
        let (root, mut errors) = (open_path(self.folder.path()).unwrap(), Vec::new());
        let broken = judge_sequence(&history, IDENTITY, root.as_fd(), &mut Listing::new(), &mut errors);
        assert!(errors.is_empty());
        broken.into_iter().map(|(promise, _)| promise).collect()
    }
}

/// The sequence that is told so.
fn named(sequence: &str) -> CallSequence {
    let steps = 1 + u32::try_from(sequence.matches(';').count()).unwrap() / 2;
    let all = [1, 2].map(|steps| SequenceBounds { steps, ..BOUNDS }.all_sequences()).concat();
    let found = all.into_iter().find(|one| describe_calls(one, 9) == sequence);
    found.unwrap_or_else(|| panic!("{sequence} is none of {steps} steps"))
}

#[test]
fn old_and_new_are_right_while_nothing_is_promised() {
    let here = Recovered::new();
    let renaming = "rename A/foo A/baz; fsync A";
    assert_eq!(here.broken(renaming, 2), [""; 0]);
    assert_eq!(here.broken(renaming, 1), [""; 0]);
    // Once the directory is synced, the new name must be there and the old one gone.
    assert_eq!(here.broken(renaming, 0), ["directory", "directory"]);
    here.rename("A/foo", "A/baz");
    assert_eq!(here.broken(renaming, 0), [""; 0]);
    assert_eq!(here.broken(renaming, 1), [""; 0]);
    // Nothing had begun.
    assert!(here.broken(renaming, 2).is_empty());
}

#[test]
fn what_is_renamed_is_found_once() {
    let here = Recovered::new();
    std::fs::remove_file(here.at("A/foo")).unwrap();
    assert_eq!(here.broken("rename A/foo A/baz; fsync A/baz", 1), ["rename"]);
    let here = Recovered::new();
    std::fs::hard_link(here.at("A/foo"), here.at("A/baz")).unwrap();
    assert_eq!(here.broken("rename A/foo A/baz; sync", 1), ["rename"]);
    // Simulates f2fs with fsync_mode=posix: the renamed file has no name at all.
    let here = Recovered::new();
    std::fs::remove_file(here.at("A/foo")).unwrap();
    std::fs::write(here.at("A/foo"), "").unwrap();
    assert_eq!(here.broken("rename A/foo A/baz; create A/foo; fsync A/foo", 0), ["rename"]);
}

#[test]
fn who_took_over_a_name_is_not_synced_with_who_gave_it_up() {
    let here = Recovered::new();
    here.rename("A/bar", "B/foo");
    let taken_over = "rename A/bar B/foo; fsync B/foo; rename A/foo A/bar; fsync B/foo";
    assert_eq!(here.broken(taken_over, 0), [""; 0]);
    here.rename("A/foo", "A/bar");
    assert_eq!(here.broken(taken_over, 0), [""; 0]);
    // Under the name that it had it would be there twice, or again.
    here.rename("A/bar", "A/foo");
    here.rename("B/foo", "A/bar");
    assert_eq!(here.broken(taken_over, 0), ["entry", "entry"]);
}

#[test]
fn a_clone_is_not_taken_for_what_it_was_cloned_from() {
    let here = Recovered::new();
    let exchanged = "exchange A/foo A/bar; clone A/bar A/foo; fsync A/foo";
    here.rename("A/foo", "A/baz");
    here.rename("A/bar", "A/foo");
    here.rename("A/baz", "A/bar");
    here.write("A/foo", 0, 3 * 4096, 1);
    assert_eq!(here.broken(exchanged, 0), [""; 0]);
    // Without the clone it has bar's content, of which the fsync says that it was replaced.
    let here = Recovered::new();
    assert_eq!(here.broken("clone A/foo A/bar; fsync A/bar", 0), ["fsync"]);
    assert_eq!(here.broken("clone A/foo A/bar; fsync A/bar", 1), [""; 0]);
}

/// btrfs once replayed its log into such a link without a target.
#[test]
fn a_symbolic_link_that_was_renamed_must_lead_where_it_did() {
    let renamed = "symlink foo A/baz; fsync A; rename A/baz A/qux; fsync A";
    let here = Recovered::new();
    assert_eq!(here.broken(renamed, 0), ["directory"]);
    std::os::unix::fs::symlink("foo", here.at("A/qux")).unwrap();
    assert_eq!(here.broken(renamed, 0), [""; 0]);
    std::fs::remove_file(here.at("A/qux")).unwrap();
    std::os::unix::fs::symlink("fo", here.at("A/qux")).unwrap();
    assert_eq!(here.broken(renamed, 0), ["unheard-of"]);
}

#[test]
fn an_fsync_of_what_has_no_name_promises_nothing_of_the_name() {
    let here = Recovered::new();
    let removed = "unlink A/foo while it is open; fsync what is open without a name";
    // Gone or still there.
    assert_eq!(here.broken(removed, 0), [""; 0]);
    std::fs::remove_file(here.at("A/foo")).unwrap();
    assert_eq!(here.broken(removed, 0), [""; 0]);
    // What was never touched is judged as ever.
    std::fs::write(here.at("A/bar"), "other").unwrap();
    assert!(!here.broken(removed, 0).is_empty());
}

/// Every sequence with a call on an open file or a renamed link is carried out on this machine, and compared.
#[test]
fn what_is_open_without_a_name_and_renamed_links_can_be_carried_out() {
    let folder = tempfile::tempdir().unwrap();
    let all = BOUNDS.all_sequences();
    let wanted =
        |told: &str| told.contains("without a name") || told.contains("symlink") && told.contains("A/qux");
    let numbers =
        (0..).zip(&all).filter(|(_, one)| wanted(&describe_calls(one, 9))).map(|(number, _)| number);
    let numbers: Vec<u32> = numbers.collect();
    assert!(numbers.len() > 100, "{}", numbers.len());
    for number in numbers.into_iter().step_by(40) {
        let calls = (0..all[number as usize].calls.len() as u32).collect();
        let only = Some(super::OneSequence { number, calls });
        let done = carry_out(folder.path(), &SequenceWork { bounds: BOUNDS, part: 0, only }, false).unwrap();
        assert_eq!(done.done.files, 1);
        // Not every filesystem clones, sets blocks aside or writes past its cache.
        let told = describe_calls(&all[number as usize], 9);
        let may_refuse = ["clone", "fallocate", "zero range", "punch", "O_DIRECT", "exchange", "attr"];
        let is_refused = done.batches[0].calls[0].refused;
        assert!(!is_refused || may_refuse.iter().any(|call| told.contains(call)), "{told}");
    }
}

#[test]
fn content_attributes_links_and_names_are_looked_at() {
    let here = Recovered::new();
    let write = "write A/foo 0+4096; fsync A/foo";
    assert_eq!(here.broken(write, 1), [""; 0]);
    assert_eq!(here.broken(write, 0), ["fsync"]);
    here.write("A/foo", 0, 2048, 3);
    // Half of it while it was not promised.
    assert_eq!(here.broken(write, 1), [""; 0]);
    assert_eq!(here.broken(write, 0), ["fsync"]);
    here.write("A/foo", 0, 4096, 3);
    assert_eq!(here.broken(write, 0), [""; 0]);
    here.write("A/foo", 0, 10, 9);
    assert_eq!(here.broken(write, 1), ["foreign"]);
    let here = Recovered::new();
    assert_eq!(here.broken("setxattr A/foo user.fsverdict=2; fsync A/foo", 1), [""; 0]);
    assert_eq!(here.broken("setxattr A/foo user.fsverdict=2; fsync A/foo", 0), ["attribute"]);
    assert_eq!(here.broken("create A/baz; fsync A/baz", 0), ["entry"]);
    assert_eq!(here.broken("create A/baz; fsync A", 0), ["directory"]);
    std::fs::write(here.at("B/what"), "").unwrap();
    assert_eq!(here.broken("create A/baz; fsync A", 1), ["unheard-of"]);
    let here = Recovered::new();
    std::fs::hard_link(here.at("A/foo"), here.folder.path().with_extension("elsewhere")).unwrap();
    assert_eq!(here.broken("create A/baz; fsync A", 1), ["links"]);
    std::fs::remove_file(here.folder.path().with_extension("elsewhere")).unwrap();
    // Blocks that were set aside behind the end.
    assert_eq!(here.broken("fallocate KEEP_SIZE A/foo 12288+16384; fsync A/foo", 0), ["allocation"]);
}
