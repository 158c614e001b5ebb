//! No untrusted program can make a namespace, and mount something in it, whichever sandbox it is in; and it has nothing of the
//! user's environment but PATH.

use std::process::Command;

use fsverdict_linux::sandbox::{Capabilities, Devices, Isolation, Sandbox};

use crate::common::labs::namespaces::{NAMESPACES, WITHOUT_SANDBOX};
use crate::common::sources::{MAKEFILE, kernel, tree};
use crate::common::{PROGRAM, Place, Seen, is_root, tool, two_folders};

/// Of which programs each is: the command of a phase, of a service and of a background, the processes of `kernel build`, the
/// one that unpacks packages; a uml kernel, QEMU, the process that serves a device; the reader of images.
const UNTRUSTED: [Capabilities; 3] = [Capabilities::Phase, Capabilities::Reader, Capabilities::Nothing];

/// Runs a program in such a sandbox, as whoever runs the tests.
fn run_in_sandbox(capabilities: Capabilities, isolation: Isolation, devices: Devices, argv: &[&str]) -> Seen {
    let mut sandbox = Sandbox::new(isolation, argv.iter().copied());
    sandbox.capabilities = capabilities;
    sandbox.devices = devices;
    let mut command = Command::new(PROGRAM);
    command.arg("sandbox").env("FSVERDICT_SANDBOX", serde_json::to_string(&sandbox).unwrap());
    Seen::of(&command.env("SECRET_TOKEN", "s3cret").output().unwrap())
}

#[test]
fn what_makes_namespaces_can_do_so_without_a_sandbox() {
    let output = Command::new("perl").args(["-e", NAMESPACES]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for line in WITHOUT_SANDBOX {
        assert!(text.lines().any(|other| other == line), "`{line}` is missing: {text}");
    }
    assert!(output.status.success());
}

#[test]
fn no_untrusted_program_can_make_a_namespace_in_any_sandbox() {
    // As root there are both: that of root, and that of ordinary users.
    let isolations: &[Isolation] = match is_root() {
        true => &[Isolation::Namespaces, Isolation::UserNamespaces],
        false => &[Isolation::UserNamespaces],
    };
    for &isolation in isolations {
        for capabilities in UNTRUSTED {
            for devices in [Devices::Shared, Devices::Bare, Devices::BareAndKvm] {
                let seen =
                    run_in_sandbox(capabilities, isolation, devices, &["/usr/bin/perl", "-e", NAMESPACES]);
                assert_eq!(
                    (seen.code, seen.stdout.as_str()),
                    (Some(1), ""),
                    "{capabilities:?} {isolation:?}: {seen:?}"
                );
            }
            let seen = run_in_sandbox(capabilities, isolation, Devices::Bare, &["/usr/bin/env"]);
            assert!(seen.stdout.starts_with("PATH=") && seen.stdout.lines().count() == 1, "{seen:?}");
            let mounts =
                run_in_sandbox(capabilities, isolation, Devices::Bare, &["/bin/cat", "/proc/self/mountinfo"]);
            let roots = mounts.stdout.lines().filter(|line| line.split(' ').nth(4) == Some("/")).count();
            assert_eq!(roots, 1, "what forbids namespaces is no mount that a program sees: {mounts:?}");
        }
    }
}

#[test]
fn a_phase_in_an_ordinary_users_folder_can_make_no_namespace() {
    let place = Place::new();
    let folders = ["one", "other"].map(|name| place.path().join(name));
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    std::fs::create_dir(place.path().join("run")).unwrap();
    // Exit status 1: it ran, and made nothing.
    let attempt = format!("perl -e '{NAMESPACES}'; test $? = 1 && cp -a $TREE copy");
    let plan = place.plan("plan", &two_folders(&folders[0], &folders[1], &attempt));
    tool(&["chmod", "-R", "a+rwX", place.path().to_str().unwrap()]);
    place.unprivileged(&["run", &plan, "--out", "run"]).exits(0);
    place.is_left_clean();
}

#[test]
fn a_makefile_of_kernel_sources_can_make_no_namespace() {
    let place = Place::new();
    // Exit status 1: it ran, and made nothing.
    let tree = tree(&place, &MAKEFILE.replace("\tcp made", "\tperl attempt; test $$? = 1\n\tcp made"));
    std::fs::write(tree.join("attempt"), NAMESPACES).unwrap();
    kernel(&place, &["build", tree.to_str().unwrap()]).exits(0);
    place.is_left_clean();
}
