//! Datasets in folders: the same bytes for the same seed, real folders copied faithfully, what cannot be had refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use fsverdict_judgement::plan::{Dataset, TreeForm, TreeShape};
use fsverdict_text::Bytes;
use fsverdict_workload::dataset::{
    CompareError, HardLinks, Manifest, Staged, prepare_dataset, stage_dataset,
};

fn shape(profile: &str) -> TreeShape {
    TreeShape {
        profile: profile.into(),
        files: 300,
        directories: 25,
        size: Bytes(6_000_000),
        compressible: None,
        duplicates: None,
        hard_links: None,
        sizes: Vec::new(),
        form: TreeForm::PLAIN,
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_every_machine() {
    // Digests of names, sizes and contents, fixed when the format was: a change here breaks the comparison of runs.
    let many = TreeShape { duplicates: Some(0.1), hard_links: Some(0.1), ..shape("source-code") };
    let cases = [
        (Dataset::Tree(shape("mixed")), 1, 0xfef8_8a14_a1b3_65e0),
        (Dataset::Tree(shape("mixed")), 2, 0x8630_1055_c49d_71ca),
        (Dataset::Tree(many), 1, 0xbb86_8fe0_068c_f3ca),
        (Dataset::Tree(shape("media")), 1, 0x70c4_4936_685c_1325),
        (Dataset::Tree(shape("small-files")), 1, 0x2a3e_11a4_1e2c_a126),
        (Dataset::Flat { files: 500, file_size: Bytes(700) }, 1, 0xf3cd_a666_c45a_7501),
        (Dataset::File { size: Bytes(5_000_001), compressible: 0.25 }, 1, 0xfc6d_3d3b_2db5_ad00),
    ];
    for (spec, seed, golden) in cases {
        let prepared = prepare_dataset("tree", &spec, seed).unwrap();
        let digest = Manifest::for_generation(&prepared, None, 0).unwrap().digest();
        assert_eq!(digest, golden, "{spec:?} with seed {seed} is {digest:#018x}");
    }
}

#[test]
fn what_is_staged_is_what_the_manifest_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut links = shape("source-code");
    (links.duplicates, links.hard_links) = (Some(0.2), Some(0.2));
    for (name, spec) in [
        ("tree", Dataset::Tree(links)),
        ("flat", Dataset::Flat { files: 100, file_size: Bytes(10) }),
        ("file", Dataset::File { size: Bytes(1_000_001), compressible: 0.5 }),
    ] {
        let prepared = prepare_dataset(name, &spec, 1).unwrap();
        let staged = stage_dataset(&prepared, &folder.path().join(name), None).unwrap();
        let manifest = Manifest::for_generation(&prepared, Some(&staged), 0).unwrap();
        manifest.compare_with(&staged.path, HardLinks::Exact).unwrap();
        assert_eq!(prepared.totals(), Some(staged.totals()));
        let later = Manifest::for_generation(&prepared, Some(&staged), 1).unwrap();
        assert!(matches!(
            later.compare_with(&staged.path, HardLinks::Exact),
            Err(CompareError::Different { .. })
        ));
    }
}

/// A folder with everything in it that a folder can have.
fn folder_of_everything(root: &Path) {
    fs::create_dir_all(root.join("one/deep/deeper")).unwrap();
    fs::create_dir_all(root.join("two")).unwrap();
    fs::write(root.join("one/deep/deeper/script"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("one/deep/deeper/script"), PermissionsExt::from_mode(0o4755)).unwrap();
    fs::write(root.join("one/empty"), "").unwrap();
    fs::write(root.join("two/big"), vec![5; 700_000]).unwrap();
    fs::hard_link(root.join("two/big"), root.join("one/also big")).unwrap();
    symlink("/nowhere/at all", root.join("two/broken")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("two/socket")).unwrap();
    assert!(Command::new("mkfifo").arg(root.join("two/pipe")).status().unwrap().success());
    fs::File::open(root.join("one/empty")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
}

#[test]
fn a_real_folder_is_copied_with_links_modes_and_times() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    folder_of_everything(source.path());
    let spec = Dataset::Folder { path: source.path().into(), size: None };
    let prepared = prepare_dataset("docs", &spec, 1).unwrap();
    assert!(prepared.totals().is_none() && prepared.needs_staging());
    let staged = stage_dataset(&prepared, &target.path().join("docs"), None).unwrap();
    assert_eq!(staged.skipped.special, 2);
    assert_eq!(staged.notes, ["dataset `docs`: left out: 2 sockets, pipes or devices"]);
    let totals = staged.totals();
    assert_eq!((totals.files, totals.directories, totals.symlinks, totals.hard_links), (4, 5, 1, 1));
    let status = |path: &str| fs::symlink_metadata(staged.path.join(path)).unwrap();
    assert_eq!(status("one/deep/deeper/script").mode() & 0o7777, 0o755); // without its set-user-id bit
    assert_eq!(status("one/also big").ino(), status("two/big").ino());
    assert_eq!(status("one/empty").mtime(), 0);
    assert_eq!(fs::read_link(staged.path.join("two/broken")).unwrap(), Path::new("/nowhere/at all"));
    let times = |path: &Path| fs::metadata(path.join("one/deep")).unwrap().mtime_nsec();
    assert_eq!(times(&staged.path), times(source.path()));
    let manifest = Manifest::for_generation(&prepared, Some(&staged), 0).unwrap();
    manifest.compare_with(&staged.path, HardLinks::Exact).unwrap();
    // A copy that made two files of one passes only where that is allowed.
    let copy = target.path().join("copy");
    assert!(
        Command::new("cp")
            .args(["-R", "--no-preserve=links"])
            .arg(staged.path)
            .arg(&copy)
            .status()
            .unwrap()
            .success()
    );
    manifest.compare_with(&copy, HardLinks::MayBeCopies).unwrap();
    let shown = manifest.compare_with(&copy, HardLinks::Exact).unwrap_err().to_string();
    assert!(shown.contains("has 1 hard links instead of 2"), "{shown}");
    fs::remove_file(copy.join("two/broken")).unwrap();
    symlink("elsewhere", copy.join("two/broken")).unwrap();
    let shown = manifest.compare_with(&copy, HardLinks::MayBeCopies).unwrap_err().to_string();
    assert!(shown.contains("two/broken points to elsewhere instead of /nowhere/at all"), "{shown}");
}

/// Stages a dataset below `target`, and lists what it must hold.
fn stage_into(target: &Path, name: &str, spec: &Dataset) -> (Staged, Manifest) {
    let prepared = prepare_dataset(name, spec, 1).unwrap();
    let staged = stage_dataset(&prepared, &target.join(name), None).unwrap();
    let manifest = Manifest::for_generation(&prepared, Some(&staged), 0).unwrap();
    (staged, manifest)
}

#[test]
fn a_part_of_a_real_folder_is_always_the_same_part_of_about_the_size_asked() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for first in 0..10 {
        for second in 0..10 {
            let folder = source.path().join(format!("{first}/{second}/x"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("data"), vec![1; 1000 + 100 * second]).unwrap();
        }
        fs::write(source.path().join(format!("{first}/loose")), vec![2; 500]).unwrap();
    }
    fs::create_dir(source.path().join("0/huge")).unwrap();
    fs::write(source.path().join("0/huge/data"), vec![1; 1_000_000]).unwrap();
    let spec = Dataset::Folder { path: source.path().into(), size: Some(Bytes(50_000)) };
    let stage_as = |name: &str, spec: &Dataset| stage_into(target.path(), name, spec);
    let (first, taken_first) = stage_as("first", &spec);
    let (second, taken_second) = stage_as("second", &spec);
    let bytes = first.totals().bytes;
    assert!((45_000..=55_000).contains(&bytes), "{bytes}");
    assert!(
        matches!(first.notes.as_slice(), [note] if note.contains(" of 111 files (")),
        "{:?}",
        first.notes
    );
    assert_eq!(taken_first.digest(), taken_second.digest());
    taken_first.compare_with(&second.path, HardLinks::Exact).unwrap();
    // Whole subdirectories, and more than one of them.
    let taken: Vec<_> = fs::read_dir(first.path).unwrap().collect();
    assert!(taken.len() > 3);
    let all = Dataset::Folder { path: source.path().into(), size: Some(Bytes(100_000_000)) };
    let (all, everything) = stage_as("all", &all);
    everything.compare_with(source.path(), HardLinks::Exact).unwrap();
    assert_eq!(all.notes.len(), 1);
}

/// Units larger than the size were skipped, so that hardly anything was copied.
#[test]
fn of_folders_larger_than_the_size_a_part_is_taken() {
    let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for year in 0..3 {
        for day in 0..10 {
            let folder = source.path().join(format!("photos/{year}/{day}"));
            fs::create_dir_all(&folder).unwrap();
            for file in 0..20 {
                fs::write(folder.join(format!("{file}")), vec![7; 1000]).unwrap();
            }
        }
    }
    fs::write(source.path().join("list"), vec![1; 2048]).unwrap();
    let staged_as = |name: &str, path: &Path| {
        let spec = Dataset::Folder { path: path.into(), size: Some(Bytes(50_000)) };
        let (staged, manifest) = stage_into(target.path(), name, &spec);
        (staged, manifest.digest())
    };
    let (first, digest) = staged_as("first", source.path());
    let totals = first.totals();
    assert!((45_000..=55_000).contains(&totals.bytes) && totals.files > 40, "{totals:?}");
    // No directory is made for files that are left out.
    assert!(totals.directories < 9, "{totals:?}");
    assert!(first.notes[0].contains(" of 602048 bytes ("), "{:?}", first.notes);
    assert_eq!(digest, staged_as("again", source.path()).1);
    // A single large file is cut.
    let film = tempfile::tempdir().unwrap();
    fs::write(film.path().join("film"), vec![1; 900_000]).unwrap();
    let (film, _) = staged_as("film", film.path());
    assert_eq!((film.totals().files, film.totals().bytes), (1, 50_000));
    assert!(
        film.notes[0].ends_with("50000 of 900000 bytes (5.56 %) and 1 of 1 files (100.00 %)"),
        "{:?}",
        film.notes
    );
}

/// Drops root's privileges, where the test has them, by way of a child: `setpriv` is in util-linux.
#[test]
fn what_an_ordinary_user_may_not_read_is_left_out_and_counted() {
    const INSIDE: &str = "FSVERDICT_TEST_UNREADABLE";
    if let Some(folder) = std::env::var_os(INSIDE) {
        let folder = Path::new(&folder);
        let spec = Dataset::Folder { path: folder.join("source"), size: None };
        let staged =
            stage_dataset(&prepare_dataset("home", &spec, 1).unwrap(), &folder.join("target/home"), None)
                .unwrap();
        assert_eq!(staged.skipped.unreadable, 2);
        assert_eq!(staged.totals().files, 1);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("closed")).unwrap();
    fs::create_dir(folder.path().join("target")).unwrap();
    for name in ["open", "secret", "closed/inside"] {
        fs::write(source.join(name), name).unwrap();
    }
    let set = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    set(&source.join("secret"), 0);
    set(&source.join("closed"), 0);
    set(folder.path(), 0o755);
    set(&folder.path().join("target"), 0o777);
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut child = if fs::metadata(&source).unwrap().uid() == 0 {
        let mut child = Command::new("setpriv");
        child.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        child
    } else {
        Command::new(&program)
    };
    let output = child
        .args(["--exact", "what_an_ordinary_user_may_not_read_is_left_out_and_counted"])
        .env(INSIDE, folder.path())
        .output()
        .unwrap();
    set(&source.join("closed"), 0o700);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_cannot_be_had_is_refused_with_a_hint() {
    let shown = |spec: &Dataset| prepare_dataset("data", spec, 1).unwrap_err().to_string();
    let tree = |change: fn(&mut TreeShape)| {
        let mut shape = shape("mixed");
        change(&mut shape);
        shown(&Dataset::Tree(shape))
    };
    assert!(tree(|shape| shape.profile = "mixd".into()).contains("there is no profile `mixd`"));
    assert!(tree(|shape| shape.directories = 0).contains("at least one directory"));
    assert!(tree(|shape| shape.files = 0).contains("in no files"));
    assert!(tree(|shape| shape.files = 1 << 40).contains("ask for fewer"));
    assert!(tree(|shape| shape.duplicates = Some(1.5)).contains("is not a share"));
    assert!(
        tree(|shape| (shape.duplicates, shape.hard_links) = (Some(0.5), Some(0.6))).contains("leave no file")
    );
    let missing = shown(&Dataset::Folder { path: "/no/such/folder".into(), size: None });
    assert!(missing.contains("/no/such/folder") && missing.contains("hint:"), "{missing}");
    let file = shown(&Dataset::Folder { path: "/proc/version".into(), size: None });
    assert!(file.contains("hint:"), "{file}");
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare_dataset("data", &Dataset::Flat { files: 1, file_size: Bytes(1) }, 1).unwrap();
    assert!(
        stage_dataset(&prepared, folder.path(), None).unwrap_err().to_string().contains("cannot stage it")
    );
}
