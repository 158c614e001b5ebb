//! Folders of the user's as candidates: what happens there, what is left, and what is never touched.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Place, kill, tool, two_folders};
use rustix::process::Signal;

/// Folders of these names with a file of the user's in each, which must stay as it is.
fn folders(place: &Path, names: [&str; 2]) -> [std::path::PathBuf; 2] {
    names.map(|name| {
        let folder = place.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("thesis"), name).unwrap();
        folder
    })
}

fn holds_only_the_thesis(folder: &Path) {
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis"], "{}", folder.display());
    assert_eq!(
        fs::read_to_string(folder.join("thesis")).unwrap(),
        folder.file_name().unwrap().to_str().unwrap()
    );
}

/// What a phase tries on what lies around its folder: all of it must fail, and then the copy is made that is verified.
const MISCHIEF: &str = r#"
    for target in "$MOUNT/../thesis" "$1/thesis"; do ( echo no > "$target" ) 2>/dev/null && exit 9; done
    ln -s "$1" "$MOUNT/link"; ( echo no > "$MOUNT/link/thesis" ) 2>/dev/null && exit 9
    cp -a "$TREE" "$MOUNT/copy" && mkdir -p "$MOUNT/shut/in" && chmod 0 "$MOUNT/shut"
"#;

#[test]
fn folders_are_compared_by_anybody_and_left_as_they_were() {
    let place = Place::new();
    let [one, other] = folders(place.path(), ["one", "other"]);
    let mischief = MISCHIEF.replace("$1", &one.display().to_string());
    let plan = place.plan("plan", &two_folders(&one, &other, &mischief));
    fs::create_dir(place.path().join("run")).unwrap();
    tool(&["chmod", "-R", "a+rwX", place.path().to_str().unwrap()]);
    place.unprivileged(&["run", &plan, "--dry-run"]).exits(0).shows(&[
        "one:",
        ".fsverdict-…",
        "folders are this",
    ]);
    place.unprivileged(&["run", &plan, "--out", "run"]).exits(0).shows(&["one", "other"]);
    for folder in [&one, &other] {
        holds_only_the_thesis(folder);
    }
    let journal = place.journal();
    assert!(journal.all("trial_finished").all(|end| end["status"] == "ok"), "{journal:#?}");
    let phases: Vec<_> = journal.all("observation").map(|event| event["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["write", "do", "read", "write", "do", "read"]);
    let shown: Vec<_> = journal.all("caution").map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(shown.iter().filter(|text| text.contains("nothing is made, mounted or checked")).count(), 1);
    place.is_left_clean();
}

/// Everybody may do without root what the order of trials hangs on: the seed that is drawn, and a run that goes on.
#[test]
fn a_run_draws_the_seed_of_its_order_and_goes_on_for_as_many_blocks_as_asked_for() {
    let place = Place::new();
    let [one, other] = folders(place.path(), ["one", "other"]);
    let plan = place.plan("plan", &two_folders(&one, &other, "cp -a $TREE copy"));
    let seed = |run: &str, more: &[&str]| -> String {
        place.fsverdict(&[&["run", &plan, "--out", run, "--quiet"], more].concat()).exits(0);
        let shown = place.fsverdict(&["report", run, "--format", "json"]).exits(0).stdout;
        let report: serde_json::Value = serde_json::from_str(&shown).unwrap();
        report["run"]["environment"]["order.seed"].as_str().unwrap().to_owned()
    };
    // Of a million: three alike are no chance.
    let drawn = [seed("run", &[]), seed("again", &[]), seed("third", &[])];
    assert!(drawn.iter().any(|seed| *seed != drawn[0]), "{drawn:?}");
    assert_eq!(seed("given", &["--set", "protocol.order=42"]), "42");

    place.fsverdict(&["resume", "run"]).exits(0);
    assert_eq!(place.journal().finished(), 2);
    place.fsverdict(&["resume", "run", "--more", "2"]).exits(0);
    let journal = place.journal();
    let order = |at: usize| journal.all("block_started").nth(at).unwrap()["order"].clone();
    let turned: Vec<_> = order(0).as_array().unwrap().iter().rev().cloned().collect();
    // The order of the first block turned round: by the seed that was drawn before, not a new one.
    assert_eq!((journal.finished(), order(1)), (6, turned.into()));
    assert_eq!(journal.all("run_resumed").last().unwrap()["more"], 2);
    assert!(journal.all("run_finished").last().unwrap()["reason"].as_str().unwrap().contains("as asked for"));
    assert_eq!(place.report()["run"]["blocks"], 3);
}

#[test]
fn a_folder_that_cannot_be_used_is_skipped_with_the_way_out() {
    let place = Place::new();
    let [one, _] = folders(place.path(), ["one", "other"]);
    let plan = two_folders(&one, &place.path().join("none"), "true")
        .replace(", verify = { dataset = \"tree\", at = \"copy\" }", "");
    place.run(&plan, &[]).exits(3).says(&[
        "skipped none: cannot work in",
        "No such file",
        "hint: name an existing folder",
    ]);
    holds_only_the_thesis(&one);
}

#[test]
fn a_killed_run_leaves_nothing_and_without_its_helper_what_clean_finds() {
    for with_helper in [true, false] {
        let place = Place::new();
        let [one, other] = folders(place.path(), ["one", "other"]);
        let mut run = place.start(&two_folders(&one, &other, "sleep 60"), &[]);
        run.wait_for("the second phase", |journal| journal.step() == "do");
        if !with_helper {
            kill(
                place
                    .processes()
                    .iter()
                    .find(|(_, line)| line.iter().any(|word| word == "stand-by"))
                    .unwrap()
                    .0,
            );
        }
        run.signal(Signal::KILL);
        if !with_helper {
            let patience = Instant::now() + Duration::from_secs(5);
            while !place.processes().is_empty() {
                assert!(Instant::now() < patience, "{:#?}", place.processes());
                std::thread::sleep(Duration::from_millis(50));
            }
            place.fsverdict(&["clean"]).exits(0).shows(&["removed folder"]);
        }
        place.is_left_clean();
        for folder in [&one, &other] {
            holds_only_the_thesis(folder);
        }
    }
}
