//! What a workload did, captured and made again; trees by threads and pieces at depth; data that grow until the answer stays.

use crate::common::Place;

/// A database's file and its log, in a folder whose names nobody is to see.
const STRACE: &str = r#"7 1.000000 mkdir("/srv/hidden", 0755) = 0 <0.000010>
7 1.001000 openat(AT_FDCWD</srv>, "/srv/hidden/secret.db", O_RDWR|O_CREAT, 0644) = 3</srv/hidden/secret.db> <0.000100>
7 1.002000 pwrite64(3</srv/hidden/secret.db>, ""..., 8192, 4096) = 8192 <0.000050>
7 1.003000 fdatasync(3</srv/hidden/secret.db>) = 0 <0.000050>
7 1.004000 pread64(3</srv/hidden/secret.db>, ""..., 4096, 4096) = 4096 <0.000050>
7 1.005000 openat(AT_FDCWD</srv>, "/srv/zwerg", O_RDONLY) = 4</srv/zwerg> <0.000100>
7 1.006000 read(4</srv/zwerg>, ""..., 65536) = 65536 <0.000050>
7 1.007000 close(4</srv/zwerg>) = 0 <0.000010>
7 1.008000 rename("/srv/zwerg", "/srv/hidden/new") = 0 <0.000010>
7 1.009000 ftruncate(3</srv/hidden/secret.db>, 10000) = 0 <0.000010>
7 1.010000 newfstatat(AT_FDCWD</srv>, "/srv/quark", 0x7ffd, 0) = -1 ENOENT (No such file or directory) <0.000010>
"#;

pub fn what_strace_saw_is_made_again_and_nothing_is_named(lab: &str) {
    let place = Place::new();
    std::fs::write(place.path().join("calls.txt"), STRACE).unwrap();
    let captured = place.fsverdict(&["capture", "--trace", "calls.txt", "--below", "/srv"]).exits(0);
    for name in ["hidden", "secret", "/srv", "quark", "zwerg"] {
        assert!(!captured.stdout.contains(name), "{name}: {}", captured.stdout);
    }
    let plan = captured.stdout.replace(
        "lab   = \"auto\"",
        &format!("lab = \"{lab}\"\nprotocol = {{ blocks = 1, disturbed = false }}"),
    );
    place.run(&plan, &["--fs", "ext4"]).exits(0);
    let journal = place.journal();
    assert_eq!(journal.measured("replay", "logical_bytes"), [77_824.0]);
    place.is_left_clean();
}

pub fn requests_are_made_again_on_the_bare_device_and_in_a_file_by_threads(lab: &str) {
    let place = Place::new();
    let lines: String =
        (0..200).map(|at| format!("{at}, 100000, {}, 4096, {}, 0\n", at % 2, at * 37 % 200 * 4096)).collect();
    std::fs::write(place.path().join("log"), lines).unwrap();
    let captured = place.fsverdict(&["capture", "--trace", "log", "--name", "log"]).exits(0);
    let calls = captured.stdout.split("'''").nth(1).unwrap();
    let plan = format!(
        r#"
title             = "Requests"
lab               = "{lab}"
device.image      = "256MiB"
protocol          = {{ blocks = 1, timeout = "90s", disturbed = false }}
matrix.filesystem = ["ext4"]
[dataset.log]
calls = '''{calls}'''
[dataset.big]
file = "4MiB"
[dataset.tree]
profile = "mixed"
files = 200
directories = 30
size = "2MiB"
[[phase]]
name = "raw"
operation = "device.replay"
dataset = "log"
threads = 2
[[phase]]
name = "prepare"
operation = "tree.write"
dataset = "log"
[[phase]]
name = "replay"
operation = "trace.replay"
dataset = "log"
threads = 2
pace = "recorded"
cold = true
[[phase]]
name = "tree"
operation = "tree.write"
dataset = "tree"
threads = 2
[[phase]]
name = "look"
operation = "tree.read"
dataset = "tree"
threads = 2
cold = true
[[phase]]
name = "file"
operation = "stream.write"
dataset = "big"
[[phase]]
name = "deep"
operation = "random.read"
dataset = "big"
depth = 8
cold = true
[[phase]]
name = "deeper"
operation = "random.write"
dataset = "big"
depth = 16
threads = 2
sync_every = 50
"#
    );
    place.run(&plan, &[]).exits(0);
    let journal = place.journal();
    for phase in ["raw", "replay"] {
        assert_eq!(journal.measured(phase, "logical_bytes"), [819_200.0], "{phase}");
    }
    assert_eq!(journal.measured("deep", "logical_bytes"), [4_194_304.0]);
    place.is_left_clean();
}
