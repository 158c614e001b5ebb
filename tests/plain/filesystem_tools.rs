//! The command lines of `filesystem/` and `layer/`, tried with the real tools on sparse image files: no root, no kernel driver.
//!
//! On Debian and Ubuntu `make test` installs every tool, so a missing one fails there; on another distribution, which may not have
//! it at all, the filesystem is left out aloud.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fsverdict_stack::filesystem::{
    Distribution, Filesystem, FsckStatus, Package, Tool, find_filesystem, registry,
};
use fsverdict_stack::layer::{self, LayerPlace};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// A sparse file of this size in a folder of its own.
fn image(bytes: u64) -> (TempDir, String) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("image");
    File::create(&path).unwrap().set_len(bytes).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// Where the program is; an ordinary user's PATH may lack the last two.
fn locate(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin"]).map(Path::new);
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// Whether every tool is here. Panics when one is missing that the distribution has.
fn have(tools: impl Iterator<Item = Tool>) -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let debian = Distribution::from_os_release(&release) == Some(Distribution::Debian);
    for tool in tools {
        if locate(tool.program).is_none() {
            let official = matches!(tool.packages.debian, Package::Official(_));
            assert!(!(debian && official), "{} is missing: install {:?}", tool.program, tool.packages.debian);
            eprintln!("left out: {} is not installed", tool.program);
            return false;
        }
    }
    true
}

/// Runs a command line that must never ask: there is nobody at its stdin.
fn run(argv: &[String]) -> Output {
    let program = locate(&argv[0]).unwrap();
    Command::new(program).args(&argv[1..]).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_owned()).collect()
}

fn make(filesystem: &Filesystem, device: &str, chosen: &[&str]) {
    let argv = filesystem.mkfs_argv(device, &words(chosen));
    let output = run(&argv);
    assert!(output.status.success(), "{argv:?}: {}\n{}", output.status, text(&output));
}

/// Those whose tools are here and work on an image; a pool would be made known to this machine's kernel.
fn of_devices() -> impl Iterator<Item = &'static &'static Filesystem> {
    registry().iter().filter(|filesystem| filesystem.pool.is_none() && have(filesystem.tools()))
}

/// What the checker says; `None` where there is none.
fn run_checker(filesystem: &Filesystem, device: &str) -> Option<FsckStatus> {
    let output = run(&filesystem.fsck_argv(device)?);
    filesystem.fsck_status_of(output.status.code().unwrap())
}

#[test]
fn every_tool_tells_its_version() {
    for filesystem in registry() {
        let cleaner = filesystem.cleaner.map(|cleaner| cleaner.tool);
        for tool in filesystem.tools().chain(cleaner).filter(|tool| have([*tool].into_iter())) {
            let output = text(&run(&words(&[&[tool.program], tool.version].concat())));
            let line = Tool::version_line(&output);
            assert!(line.is_some_and(|line| line.contains('.')), "{}: {output}", tool.program);
        }
    }
}

#[test]
fn every_mkfs_makes_what_its_checker_calls_clean() {
    for filesystem in of_devices() {
        let (_folder, device) = image(512 * MIB);
        make(filesystem, &device, &[]);
        make(filesystem, &device, &[]); // over its own signature: it must not ask
        let meaning = run_checker(filesystem, &device);
        assert!(matches!(meaning, None | Some(FsckStatus::Clean)), "{}: {meaning:?}", filesystem.name);
    }
}

#[test]
fn the_minimum_size_is_enough_and_one_mib_less_is_not() {
    for filesystem in of_devices() {
        let (_folder, device) = image(filesystem.minimum_size);
        make(filesystem, &device, &[]);
        assert!(
            matches!(run_checker(filesystem, &device), None | Some(FsckStatus::Clean)),
            "{}",
            filesystem.name
        );
        // The ext family and Reiser4 go lower, at the price of the journal or of all space; a FAT of 32 bits with so few
        // clusters is taken for one of 16.
        if !["ext2", "ext3", "ext4", "reiser4", "vfat"].contains(&filesystem.name) {
            let (_folder, device) = image(filesystem.minimum_size - MIB);
            let output = run(&filesystem.mkfs_argv(&device, &[]));
            assert!(!output.status.success(), "{} fits on less than its minimum size", filesystem.name);
        }
    }
}

/// Flips bits in the image, so that nothing in the range is what it was.
fn damage(device: &str, offset: u64, length: usize) {
    let file = OpenOptions::new().read(true).write(true).open(device).unwrap();
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
    file.write_all_at(&bytes, offset).unwrap();
}

/// Filesystem, and the ranges to damage (offset, length): what today's mkfs fills with metadata.
type Case = (&'static str, &'static [(u64, usize)]);

#[test]
fn damage_is_found_and_left_alone() {
    let cases: [Case; 7] = [
        ("ext4", &[(4096, 64)]),
        ("xfs", &[(8192, 512)]),
        ("btrfs", &[(38_797_312, 65536), (72_351_744, 65536)]), // both copies
        ("jfs", &[(16 * 4096, 4096)]),
        ("reiserfs", &[(8211 * 4096, 4096)]),
        ("reiser4", &[(20 * 4096, 4096)]),
        ("f2fs", &[(1536 * 4096, 4096)]), // the segment table; with -f its checker would say "corrected"
    ];
    for (name, ranges) in cases {
        let filesystem = find_filesystem(name).unwrap();
        if !have(filesystem.tools()) {
            continue;
        }
        let (_folder, device) = image(512 * MIB);
        make(filesystem, &device, &[]);
        for &(offset, length) in ranges {
            damage(&device, offset, length);
        }
        for round in ["first", "second"] {
            assert_eq!(
                run_checker(filesystem, &device),
                Some(FsckStatus::ErrorsLeft),
                "{name}, {round} time"
            );
        }
    }
}

#[test]
fn a_device_that_is_not_there_is_never_called_consistent() {
    for filesystem in of_devices() {
        let meaning = run_checker(filesystem, "/var/tmp/there-is-no-such-image");
        let consistent = [FsckStatus::Clean, FsckStatus::Corrected, FsckStatus::CorrectedReboot].map(Some);
        assert!(!consistent.contains(&meaning), "{}: {meaning:?}", filesystem.name);
    }
}

/// What dumpe2fs says after this label.
fn ext_value(device: &str, label: &str) -> String {
    let output = text(&run(&words(&["dumpe2fs", "-h", device])));
    let value = output.lines().find_map(|line| line.strip_prefix(label)).map(|value| value.trim().to_owned());
    value.unwrap_or_default()
}

#[test]
fn extras_reach_mke2fs_beside_the_defaults() {
    let ext3 = find_filesystem("ext3").unwrap();
    if !have(ext3.tools()) {
        return;
    }
    let (_folder, device) = image(256 * MIB);
    make(ext3, &device, &[]);
    assert!(ext_value(&device, "Filesystem features:").contains("dir_index"));
    assert_eq!(
        ext_value(&device, "Block size:"),
        "4096",
        "mke2fs.conf would choose 1024 for less than 512 MiB"
    );
    assert_eq!(ext_value(&device, "Inode count:"), (256 * MIB / 16384).to_string());

    make(ext3, &device, &["-O", "^dir_index", "-E", "stride=4", "-E", "stripe_width=8", "-N", "50000"]);
    assert!(!ext_value(&device, "Filesystem features:").contains("dir_index"));
    assert_eq!(ext_value(&device, "RAID stride:"), "4", "of two -E mke2fs alone heeds the last only");
    assert_eq!(ext_value(&device, "RAID stripe width:"), "8");
    assert!(ext_value(&device, "Inode count:").parse::<u64>().unwrap() >= 50_000);

    make(find_filesystem("ext4").unwrap(), &device, &["-O", "^has_journal", "-T", "news"]);
    assert!(!ext_value(&device, "Filesystem features:").contains("has_journal"));
    assert_eq!(ext_value(&device, "Inode count:"), (256 * MIB / 4096).to_string());
}

#[test]
fn luks_formats_with_the_stated_header_and_cheap_keys() {
    let luks = ["luks1", "luks2"].map(|name| layer::find_layer(name).unwrap());
    for layer in luks.into_iter().filter(|layer| have(layer.tools.iter().copied())) {
        let (folder, device) = image(64 * MIB);
        let key = folder.path().join("key");
        std::fs::write(&key, [7; 32]).unwrap();
        let site = LayerPlace {
            below: std::slice::from_ref(&device),
            name: "",
            options: "",
            key: key.to_str().unwrap(),
            bytes: None,
        };
        let argv = (layer.make.unwrap().argv)(&site);
        for _ in 0..2 {
            let output = run(&argv);
            assert!(output.status.success(), "{argv:?}: {}", text(&output));
            assert_eq!(text(&output), "", "{}: nothing to warn of", layer.name);
        }
        let dump = text(&run(&words(&["cryptsetup", "luksDump", &device])));
        assert!(dump.contains("1000"), "{dump}");
        let number = |label: &str| {
            let line = dump.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap();
            line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        let header = if layer.name == "luks1" { number("Payload offset:") * 512 } else { number("offset:") };
        assert_eq!(header, layer.header, "{}", layer.name);
    }
}
