//! Modules of a laboratory kernel that are compiled when a plan first needs them: from a tree that has a makefile's targets and
//! nothing else, by several processes at once, after a kill, and without sources.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::sources::command;
use crate::common::{Place, Seen, kill};

/// Makes any module in its place, and keeps account of each; waits once where `slow` is there.
const MAKEFILE: &str = "\
%.ko:
\t@echo '  CC [M]  $@'
\tmkdir -p $(dir $(O)/$@)
\techo $@ >> $(O)/made
\t@test ! -e slow || test -e $(O)/waited || { touch $(O)/waited; sleep 300; }
\techo $@ > $(O)/$@
";
const PLAN: &str = r#"
title     = "A trial in a kernel that is none"
lab       = "uml"
kernel    = "KERNEL"
device    = { image = "64MB" }
protocol  = { blocks = 1 }
phase     = [{ name = "nothing", command = "true" }]
candidate = [{ filesystem = "ext4" }]
"#;

/// A kernel that does not boot, with modules that are not compiled yet; its folder.
fn put_kernel(place: &Place) -> PathBuf {
    let folder = place.path().join("cache/fsverdict/kernels/6.12.117-00000000000000aa");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let options = ["HOSTFS=y", "PID_NS=y", "BLK_DEV_UBD=y", "SSL=y", "EXT4_FS=m", "MODULES=y"];
    let config: String = options.iter().map(|option| format!("CONFIG_{option}\n")).collect();
    write("config", &config);
    let strings = config.replace('\n', "\n\0");
    write("linux", &format!("#!/bin/sh\nexit\n\0Linux version 6.12.117 (me@here) (cc) #1\n\0{strings}"));
    fs::set_permissions(folder.join("linux"), fs::Permissions::from_mode(0o755)).unwrap();
    write("build/prepared", "");
    write("build/source/Makefile", MAKEFILE);
    write("build/source/objects/vmlinux.o", "");
    fs::create_dir(folder.join("modules")).unwrap();
    folder
}

fn run_command(place: &Place, kernel: &Path, out: &str) -> Command {
    let plan = PLAN.replace("KERNEL", kernel.join("linux").to_str().unwrap());
    let plan = place.plan(out, &plan);
    // The programs of a build are where `kernel` finds them.
    let path =
        command(place, &[]).get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
    let mut command = place.command(&["run", &plan, "--out", out, "--yes"]);
    command.env("PATH", path);
    command
}

fn run(place: &Place, kernel: &Path, out: &str) -> Seen {
    Seen::of(&run_command(place, kernel, out).output().unwrap())
}

fn made(kernel: &Path) -> String {
    fs::read_to_string(kernel.join("build/source/objects/made")).unwrap_or_default()
}

#[test]
fn a_module_is_compiled_once_and_without_sources_the_candidate_is_refused() {
    let place = Place::new();
    let kernel = put_kernel(&place);
    const SAID: &str = "compiling ext4 for the laboratory kernel 6.12.117: about 9 seconds";
    run(&place, &kernel, "one").says(&[SAID]);
    assert_eq!(fs::read_to_string(kernel.join("modules/ext4.ko")).unwrap(), "fs/ext4/ext4.ko\n");
    assert!(!run(&place, &kernel, "two").stderr.contains("compiling"));
    assert_eq!(made(&kernel), "fs/ext4/ext4.ko\n");
    fs::remove_dir_all(kernel.join("build")).unwrap();
    assert!(!run(&place, &kernel, "three").stderr.contains("never compiled"));
    fs::remove_file(kernel.join("modules/ext4.ko")).unwrap();
    fs::write(kernel.join("modules/jfs.ko"), "").unwrap();
    let seen = run(&place, &kernel, "four");
    let said = format!("{}{}", seen.stdout, seen.stderr);
    assert!(said.contains("the module ext4 of the kernel") && said.contains("kernel build --all"), "{said}");
}

#[test]
fn two_runs_at_once_compile_a_module_once() {
    let place = Place::new();
    let kernel = put_kernel(&place);
    let start = |out: &str| -> Child {
        run_command(&place, &kernel, out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let both = [start("one"), start("two")];
    for mut child in both {
        child.wait().unwrap();
    }
    assert_eq!(made(&kernel), "fs/ext4/ext4.ko\n");
    assert_eq!(fs::read_to_string(kernel.join("modules/ext4.ko")).unwrap(), "fs/ext4/ext4.ko\n");
}

#[test]
fn a_compilation_that_was_killed_leaves_nothing_running_and_is_done_again() {
    let place = Place::new();
    let kernel = put_kernel(&place);
    fs::write(kernel.join("build/source/slow"), "").unwrap();
    let mut killed = run_command(&place, &kernel, "one").stderr(Stdio::null()).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while !kernel.join("build/source/objects/waited").exists() {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(50));
    }
    kill(killed.id());
    killed.wait().unwrap();
    place.is_left_clean();
    assert_eq!(fs::read_dir(kernel.join("modules")).unwrap().count(), 0);
    run(&place, &kernel, "two").says(&["compiling ext4"]);
    assert_eq!(fs::read_dir(kernel.join("modules")).unwrap().count(), 1);
}
