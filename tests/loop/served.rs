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
        chmod 640 a; [ "$(stat -c %a a)" = 640 ]; touch -d @1000000000 e; [ "$(stat -c %Y e)" = 1000000000 ]
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
layers     = [["fuse"]]
"#;

#[test]
fn loop_what_is_done_through_fuse_is_done_to_the_filesystem() {
    let place = Place::new();
    place.run(&format!("{SERVED}{CANDIDATES}"), &[]).exits(0);
    let journal = place.journal();
    assert_eq!(journal.all("trial_finished").filter(|end| end["status"] == "ok").count(), 3, "{journal:#?}");
    // It is served anew after each unmount, and ends well with the mount: at the cold phase, for the checker, and at the end.
    let served = journal.all("command").filter(|one| one["step"] == "serve the filesystem");
    assert_eq!(served.filter(|one| one["exit"] == 0).count(), 3 * 3, "{journal:#?}");
    // What the filesystem itself is mounted with is told, not what FUSE is.
    let kinds: Vec<_> = journal.all("facts").filter_map(|one| one["facts"]["mount.type"].as_str()).collect();
    assert!(kinds.len() == 3 && !kinds.contains(&"fuse"), "{kinds:?}");
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

/// What a hostile caller does through what is served: a name, and shell lines whose success would reach out of it, or hold its
/// server up. VICTIM is a file of this machine's in a folder that the server could write to.
const HOSTILE_CALLS: &[(&str, &str)] = &[
    ("write through a link", "ln -s /etc etc; touch etc/fsverdict-was-here"),
    ("write through a link with dots", "ln -s ../../../../../../../etc dots; touch dots/fsverdict-was-here"),
    ("change a file through a link", "ln -s /etc/passwd own; chmod 644 own || chown 0:0 own || touch -c own"),
    ("link a file of this machine", "ln /etc/passwd hard"),
    ("rename out of it", r#"touch in; perl -e 'exit !rename("in", "/etc/fsverdict-was-here")'"#),
    ("make a device", "mknod node b 7 0 || mknod node c 1 1"),
    ("make a name with a slash", r#"perl -e '$n = "a/b\0"; exit(syscall(83, $n, 0755) < 0)'"#),
    ("make a name that is too long", r#"perl -e 'exit !mkdir("x" x 256)'"#),
    ("remove its root", "rmdir . || rmdir ../mount"),
    (
        "set an attribute that is too long",
        r#"perl -e '$v = "x" x 65537; $n = "user.a"; $f = "."; exit(syscall(188, $f, $n, $v, 65537, 0) < 0)'"#,
    ),
    ("read beyond the end", r#"echo 1 >short; [ -n "$(dd if=short bs=1 skip=1000000 count=10)" ]"#),
    ("give a file of another a set-user-ID bit", RACE),
    ("wait for ever at a FIFO", "mkfifo fifo; timeout 1 cat fifo"),
    (
        "open a handle of a file",
        r#"perl -e '$h = pack("Ii", 128, 0) . "\0" x 128; $m = pack("i", 0); $f = "."; syscall(303, -100, $f, $h, $m, 0) == 0 or exit 1; open(R, "<", ".") or exit 1; exit(syscall(304, fileno(R), $h, 0) < 0)'"#,
    ),
    (
        "ask for a call that devices have",
        r#"perl -e 'open(R, "<", "short"); $a = "\0" x 64; exit !ioctl(R, 0x1277, $a)'"#,
    ),
];

/// Somebody else than root makes files with a set-user-ID bit, and meanwhile links to a file of this machine's take their places.
const RACE: &str = r#"mkdir -m 777 race; cd race; perl -e '
    if (fork) { $> = 1000; for (1 .. 3000) { sysopen(F, "f", 0101, 06777); close F; unlink "f" } wait; exit 1 }
    for (1 .. 3000) { symlink("VICTIM", "l"); rename("l", "f") }'"#;

/// What must go on whatever it does: many open files without a name, many names, and deep folders.
const STILL_SERVED: &str = r#"
perl -e 'for (1 .. 800) { open($f[$_], "+>", "g$_") or exit 1; unlink "g$_"; print {$f[$_]} "x" } exit 0' && echo may hold
perl -e 'open(F, ">", "many"); for (1 .. 2000) { link("many", "many$_") or exit 1 } for (1 .. 2000) { unlink "many$_" or exit 1 }' && echo may link
perl -e 'for (1 .. 300) { mkdir "deep" and chdir "deep" or exit 1 } exit 0' && echo may descend
perl -e 'for (1 .. 4) { fork } for (1 .. 100) { mkdir "m$$"; rename "m$$", "n"; rename "n", "n/n"; rmdir "n" } while (wait > 0) {}' && echo may race
touch last && [ -e last ] && echo may go on
"#;

#[test]
fn loop_a_hostile_caller_reaches_nothing_through_fuse() {
    let place = Place::new();
    let victim = format!("/run/fsverdict-test-{}-served", std::process::id());
    std::fs::write(&victim, "secret").unwrap();
    let permissions: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&victim, permissions).unwrap();
    let calls = HOSTILE_CALLS
        .iter()
        .map(|(name, line)| format!("(mkdir -p h; cd h; {line}) >/dev/null 2>&1 && echo 'BROKE {name}'"));
    let lines: Vec<String> = calls.collect();
    let script = format!("cd \"$MOUNT\"; chmod 777 .\n{}\n{STILL_SERVED}", lines.join("\n"));
    let script = script.replace("VICTIM", &victim);
    let plan = crate::common::one_command("native", &script)
        .replace("phase             = [", "matrix.layers = [[\"fuse\"]]\nphase = [");
    let seen = place.run(&plan, &[]);
    let status = std::fs::metadata(&victim).unwrap();
    let content = std::fs::read(&victim).unwrap();
    std::fs::remove_file(&victim).unwrap();
    seen.exits(0);
    let said = place.journal().program("do")["stdout"].as_str().unwrap().to_owned();
    assert!(!said.contains("BROKE"), "{said}");
    for words in ["hold", "link", "descend", "race", "go on"] {
        assert!(said.contains(&format!("may {words}")), "{words}: {said}");
    }
    use std::os::unix::fs::MetadataExt;
    assert_eq!((status.mode() & 0o7777, status.uid(), content), (0o600, 0, b"secret".to_vec()));
    place.is_left_clean();
}
