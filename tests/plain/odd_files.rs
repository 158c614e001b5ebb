//! Whatever a path names that is no file of the kind a command reads (a pipe, a socket, a folder, a device of characters, a
//! file of terabytes that is a hole) is refused at once: it is neither waited for nor read without end.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use crate::common::sources::{MAKEFILE, tarball, tree};
use crate::common::{Place, Seen, one_command, tool};

/// The kinds of files, by their names in the place; a terminal's end is a device that waits for somebody to type.
const ODD: [&str; 6] = ["pipe", "socket", "folder", "/dev/zero", "/dev/ptmx", "sparse"];

/// Every command that reads a file or device that the user names, with `FILE` in its place, and the kinds that are as good
/// as any other there.
const COMMANDS: [(&str, &[&str]); 22] = [
    // A file is read in a few thousand places, however large it is.
    ("calibrate FILE", &["sparse"]),
    ("calibrate --against FILE --model hdd-7200", &[]),
    ("calibrate --against plan.toml --model FILE", &[]),
    ("kernel build FILE", &[]),
    ("kernel build linux.tar --patch FILE", &[]),
    ("kernel build linux.tar --with zfs --zfs-source FILE", &["folder"]),
    ("kernel import FILE", &[]),
    ("capture --trace FILE", &[]),
    ("report FILE", &[]),
    ("compare FILE FILE", &[]),
    ("merge FILE FILE", &[]),
    ("bundle FILE", &[]),
    ("status FILE", &[]),
    ("resume FILE", &[]),
    ("trace FILE ext4", &[]),
    ("run demo --dry-run --device FILE", &[]),
    ("run demo --dry-run --on ssh --sites FILE", &[]),
    ("run demo --dry-run --set device.model=FILE", &[]),
    ("run demo --dry-run --set cpu=FILE", &[]),
    ("run plan.toml --dry-run --set kernel=FILE", &[]),
    ("run plan.toml --dry-run --lab vm --set kernel=FILE", &[]),
    ("run demo --dry-run --set dataset.usr.path=FILE", &["folder"]),
];

#[test]
fn whatever_is_named_is_neither_waited_for_nor_read_without_end() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name).display().to_string();
    place.plan("plan", &one_command("uml", "true"));
    let tree = tree(&place, MAKEFILE);
    tarball(&place, &tree);
    tool(&["mkfifo", &at("pipe")]);
    let _socket = UnixListener::bind(at("socket")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    File::create(at("sparse")).unwrap().set_len(15 << 40).unwrap();
    tool(&["chmod", "a+x", &at("sparse"), &at("pipe")]);
    let mut wrong = Vec::new();
    for (line, fine) in COMMANDS {
        for odd in ODD.into_iter().filter(|odd| !fine.contains(odd)) {
            let path = if odd.starts_with('/') { odd.to_owned() } else { at(odd) };
            let line = line.replace("FILE", &path);
            let words: Vec<&str> = line.split(' ').collect();
            // Whoever waits is ended, and has no status.
            let mut command = assert_cmd::Command::from_std(place.command(&words));
            let seen = Seen::of(&command.timeout(Duration::from_secs(60)).output().unwrap());
            let is_told = seen.stderr.contains("error: ") && seen.stderr.contains("hint: ");
            if !matches!(seen.code, Some(1 | 2)) || !is_told {
                wrong.push(format!("{line}: {:?}: {}", seen.code, seen.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    place.is_left_clean();
}
