//! Folders as cuts of power leave them, right and wrong, made by hand.

use std::fs;
use std::path::Path;

use fsverdict_judgement::journal::{ACKNOWLEDGED, AgeBin, LossAges, Save};
use fsverdict_judgement::plan::Dataset;
use fsverdict_text::Bytes;

use super::{SavedFolder, SavedPhase, SavedReading};
use crate::dataset::{Body, DatasetOrigin, Prepared, prepare_dataset};
use crate::workload::PROMISES;
use fsverdict_linux::host::syscall::files_reader::FilesReader;

const FILES: u32 = 4;
const SIZE: u64 = 3000;

fn notes() -> Prepared {
    prepare_dataset("notes", &Dataset::Flat { files: u64::from(FILES), file_size: Bytes(SIZE) }, 1).unwrap()
}

fn name(dataset: &Prepared, file: u32) -> String {
    let DatasetOrigin::Generated { tree, .. } = &dataset.origin else { panic!() };
    tree.name_at(tree.entries[file as usize].name).to_string_lossy().into_owned()
}

fn content(dataset: &Prepared, file: u32, generation: u32) -> Vec<u8> {
    let DatasetOrigin::Generated { tree, content } = &dataset.origin else { panic!() };
    let mut bytes = Vec::new();
    let body = Body { identity: tree.entries[file as usize].what, generation, size: SIZE };
    content.for_each_piece(&body, |piece| bytes.extend_from_slice(piece));
    bytes
}

/// Each file is saved in 10 ns, one after the other, and all is durable at 100.
fn folder(careful: bool) -> SavedFolder {
    let save = |file: u32| {
        let began_ns = u64::from(file) * 10;
        Save { file, generation: 1, began_ns, saved_ns: began_ns + 9, careful }
    };
    let phase = SavedPhase { saves: (0..FILES).map(save).collect(), synced_ns: 100 };
    SavedFolder { into: "notes".to_owned(), dataset: "notes".to_owned(), phases: vec![phase] }
}

/// A folder in which the first two files have been saved, and the others not.
fn half(change: impl Fn(&Prepared, &Path)) -> (tempfile::TempDir, Prepared) {
    let (place, dataset) = (tempfile::tempdir().unwrap(), notes());
    let at = place.path().join("notes");
    fs::create_dir(&at).unwrap();
    for file in 0..FILES {
        fs::write(at.join(name(&dataset, file)), content(&dataset, file, u32::from(file < 2))).unwrap();
    }
    change(&dataset, &at);
    (place, dataset)
}

fn read(careful: bool, cut_ns: u64, change: impl Fn(&Prepared, &Path)) -> SavedReading {
    let (place, dataset) = half(change);
    let one_by_one = folder(careful).check_after_cut(place.path(), &dataset, cut_ns, None);
    let at_once =
        folder(careful).check_after_cut(place.path(), &dataset, cut_ns, Some(&mut FilesReader::default()));
    assert_eq!(one_by_one, at_once);
    one_by_one
}

fn broken(careful: bool, cut_ns: u64, change: impl Fn(&Prepared, &Path)) -> Vec<&'static str> {
    read(careful, cut_ns, change).broken.into_keys().collect()
}

#[test]
fn what_was_saved_must_be_there_and_what_was_not_may() {
    let nothing = |_: &Prepared, _: &Path| {};
    // The second file's saving had ended at 19, the third's begun at 20.
    assert_eq!(broken(true, 19, nothing), Vec::<&str>::new());
    assert_eq!(broken(true, 25, nothing), Vec::<&str>::new());
    // The third's has ended, and the old content is there.
    assert_eq!(broken(true, 29, nothing), ["fsync"]);
    // No save of the second had begun: it must not exist.
    assert_eq!(broken(true, 5, nothing), ["unheard-of"]);
    // Without fsync nothing is promised until all is durable.
    assert_eq!(broken(false, 39, nothing), Vec::<&str>::new());
    assert_eq!(broken(false, 100, nothing), ["fsync"]);
}

#[test]
fn what_is_gone_or_torn_is_told_apart() {
    let torn = |dataset: &Prepared, at: &Path| {
        fs::write(at.join(name(dataset, 1)), &content(dataset, 1, 1)[..1000]).unwrap();
    };
    assert_eq!((broken(true, 25, torn), broken(false, 25, torn)), (vec!["fsync"], vec!["whole"]));
    let gone = |dataset: &Prepared, at: &Path| fs::remove_file(at.join(name(dataset, 0))).unwrap();
    assert_eq!(broken(true, 25, gone), ["name"]);
    let other = |dataset: &Prepared, at: &Path| {
        fs::write(at.join(name(dataset, 0)), content(dataset, 3, 0)).unwrap();
    };
    assert_eq!(broken(true, 25, other), ["foreign", "fsync"]);
    let linked = |to: &'static str| {
        move |dataset: &Prepared, at: &Path| {
            let name = name(dataset, 2);
            fs::hard_link(at.join(&name), at.join(format!("{name}{to}"))).unwrap();
        }
    };
    assert_eq!(broken(true, 25, linked(".other")), ["links", "unheard-of"]);
    // A rename that was under way may have left both names.
    assert_eq!(broken(true, 25, linked(".new")), Vec::<&str>::new());
    let all = |_: &Prepared, at: &Path| fs::remove_dir_all(at).unwrap();
    assert_eq!(broken(true, 25, all), ["name"]);
}

#[test]
fn the_other_name_of_a_file_may_be_there_while_it_is_saved() {
    let beside = |bytes: fn(&Prepared) -> Vec<u8>, file: u32| {
        move |dataset: &Prepared, at: &Path| {
            fs::write(at.join(format!("{}.new", name(dataset, file))), bytes(dataset)).unwrap();
        }
    };
    let half_written = |dataset: &Prepared| [&content(dataset, 2, 1)[..512], &[0; 700]].concat();
    assert_eq!(broken(true, 25, beside(half_written, 2)), Vec::<&str>::new());
    // Before its save began, the file did not exist.
    assert_eq!(broken(true, 25, beside(half_written, 3)), ["unheard-of"]);
    let foreign = |dataset: &Prepared| content(dataset, 0, 0);
    assert_eq!(broken(true, 25, beside(foreign, 2)), ["foreign"]);
    let stranger = |_: &Prepared, at: &Path| fs::write(at.join("stranger"), "").unwrap();
    assert_eq!(broken(true, 25, stranger), ["unheard-of"]);
}

#[test]
fn every_promise_that_can_be_broken_is_told_of() {
    let names: Vec<&str> = PROMISES.iter().map(|promise| promise.name).collect();
    assert_eq!(names.len(), names.iter().collect::<std::collections::BTreeSet<_>>().len());
    let page = include_str!("../../../../docs/guides/power-cuts.md");
    for promise in PROMISES {
        assert!(page.contains(&format!("| `{}` |", promise.name)), "{}", promise.name);
        assert!(!promise.source.is_empty() && !promise.says.ends_with('.'));
    }
    assert!(ACKNOWLEDGED.iter().all(|known| names.contains(known)));
}

#[test]
fn files_are_counted_by_how_long_before_the_cut_their_saving_began() {
    let gone = |dataset: &Prepared, at: &Path| fs::remove_file(at.join(name(dataset, 1))).unwrap();
    // Two had begun, and one of them is gone.
    let ages = read(false, 15, gone).ages;
    assert_eq!(ages.bin_at(0), AgeBin { looked: 2, lost: 1 });
    // Much later all had begun, and the others' new contents, which are not there, had been promised by then.
    let ages = read(false, 3_000_000_000, |_, _| {}).ages;
    let seen: Vec<usize> = (0..LossAges::BINS).filter(|at| ages.bin_at(*at).looked > 0).collect();
    let [bin] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(LossAges::seconds(*bin), (2.0, Some(5.0)));
    assert_eq!(ages.bin_at(*bin), AgeBin { looked: 4, lost: 2 });
    assert_eq!(folder(true).last_between(11, 29), Some(20));
    assert_eq!(folder(true).last_between(40, 90), None);
}

#[test]
fn a_state_is_told_in_words() {
    let told = folder(true).describe_at(&notes(), 25);
    assert!(told[0].ends_with("3000 bytes, content 1"), "{}", told[0]);
    assert!(told[2].ends_with("content 0, or 1, which was being saved"), "{}", told[2]);
    assert!(told[3].ends_with("content 0"), "{}", told[3]);
    // The same as cksum(1) says it: of the one that was being saved either content will do.
    let lines = folder(true).list_expected(&notes(), 25);
    let of = |file: u32| lines.iter().filter(|line| line.ends_with(&name(&notes(), file))).count();
    assert_eq!([0, 1, 2, 3].map(of), [1, 1, 2, 1]);
    assert!(lines[0].starts_with("f 1 3000 ") && lines[0].contains(" notes/"), "{}", lines[0]);
}
