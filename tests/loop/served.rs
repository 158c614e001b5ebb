//! A filesystem that is seen through a pass-through in user space (FUSE), natively.

use crate::common::Place;
use crate::common::labs::crash::{plan_on, series_is_killed};

/// All that operations do is compared with what must be there; what programs do, by the program itself.
const SERVED: &str = r#"
title        = "Through FUSE"
lab          = "native"
device.image = "384MiB"
protocol     = { blocks = 1, seed = 5, timeout = "60s", disturbed = false }
dataset.tree = { profile = "mixed", files = 40, directories = 6, size = "1MiB" }
dataset.big  = { file = "4MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "over", operation = "tree.overwrite", dataset = "tree" },
    { name = "load", operation = "stream.write", dataset = "big" },
    { name = "change", operation = "random.write", dataset = "big", sync_every = 64 },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
    { name = "first", operation = "rotation.create", dataset = "tree", into = "backup" },
    { name = "next", operation = "rotation.next", dataset = "tree", into = "backup", changed = 0.2 },
    { name = "drop", operation = "rotation.drop", dataset = "tree", into = "backup" },
    { name = "own", command = '''
        set -e; cd "$MOUNT"; mkdir -m 2750 own; cd own; echo 1 >a; ln a b; ln -s a c; mkfifo p; echo 2 >d; mv d e
        [ "$(stat -c %h b)" = 2 ]; [ "$(readlink c)" = a ]; [ "$(cat c)" = 1 ]; [ "$(cat e)" = 2 ]; [ ! -e d ]
        chmod 640 a; [ "$(stat -c %a b)" = 640 ]; touch -d @1000000000 e; [ "$(stat -c %Y e)" = 1000000000 ]
        chown 5:6 e; [ "$(stat -c %u:%g e)" = 5:6 ]; truncate -s 70000 e; [ "$(stat -c %s e)" = 70000 ]
        [ "$(stat -c %a .)" = 2750 ]; exec 5>open; rm open; echo hello >&5; sync; exec 5>&-
        cp -a . ../copy; diff -r --no-dereference -x p . ../copy; mv ../copy ../moved; rm -r ../moved; [ ! -e ../moved ]
        echo 3 >f; mv f a; [ "$(cat a)" = 3 ]; [ "$(cat b)" = 1 ]''' },
    { name = "remove", operation = "tree.remove", dataset = "tree" },
]
"#;

const CANDIDATES: &str = r#"
[matrix]
filesystem = ["ext4", "xfs", "btrfs"]
layers     = [["fuse"], ["fuse:writeback,threads=1"]]
"#;

#[test]
fn loop_what_is_done_through_fuse_is_done_to_the_filesystem() {
    let place = Place::new();
    place.run(&format!("{SERVED}{CANDIDATES}"), &[]).exits(0);
    let journal = place.journal();
    assert_eq!(journal.all("trial_finished").filter(|end| end["status"] == "ok").count(), 6, "{journal:#?}");
    // It is served anew after each unmount, and ends well with the mount: at the cold phase, for the checker, and at the end.
    let served = journal.all("command").filter(|one| one["step"] == "serve the filesystem");
    assert_eq!(served.filter(|one| one["exit"] == 0).count(), 6 * 3, "{journal:#?}");
    // What the filesystem itself is mounted with is told, not what FUSE is.
    let kinds: Vec<_> = journal.all("facts").filter_map(|one| one["facts"]["mount.type"].as_str()).collect();
    assert!(kinds.len() == 6 && !kinds.contains(&"fuse"), "{kinds:?}");
    place.is_left_clean();
}

#[test]
fn loop_clones_are_not_had_through_fuse() {
    let place = Place::new();
    let cloned = SERVED.replace("rotation.next", "rotation.clone");
    let plan = format!("{cloned}\n[[candidate]]\nfilesystem = \"btrfs\"\nlayers = [\"fuse\"]\n");
    place.run(&plan, &[]).says(&["clones of files, which what is seen through `fuse` does not have"]);
    place.is_left_clean();
}

#[test]
fn loop_killed_runs_through_fuse_leave_nothing() {
    let each =
        ["ext4", "xfs"].map(|name| format!("[[candidate]]\nfilesystem = \"{name}\"\nlayers = [\"fuse\"]\n"));
    let devices = "{ image = \"320MiB\" }";
    series_is_killed(&|place| plan_on(place, "native", devices, &each.concat()), 4);
}
