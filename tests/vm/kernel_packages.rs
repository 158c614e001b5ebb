//! A stranger's kernel package, as a plan names it: nothing of it is unpacked to look at it, and when it is, its links lead
//! nowhere and nothing is left of it but folders and regular files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::attacks::to_its_end;
use crate::common::labs::namespaces::NAMESPACES;
use crate::common::{Place, Seen, one_command, tool};

const CONFIG: &str = "CONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\nCONFIG_PID_NS=y\nCONFIG_SERIAL_8250_CONSOLE=y\n\
    CONFIG_VIRTIO_PCI=y\nCONFIG_VIRTIO_BLK=y\nCONFIG_VIRTIO_CONSOLE=y\nCONFIG_NET_9P_VIRTIO=y\nCONFIG_9P_FS=y\n\
    CONFIG_EXT4_FS=y\n";

/// What a kernel's file begins with, as far as it is looked at.
fn head() -> Vec<u8> {
    let mut bytes = vec![0; 0x1000];
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    bytes[0x300..0x306].copy_from_slice(b"6.1.0 ");
    bytes
}

/// Where a package is put together.
fn stage(place: &Place) -> PathBuf {
    let stage = place.path().join("stage");
    let folders =
        ["DEBIAN", "boot", "lib/modules/6.1.0/kernel/drivers/gpu", "lib/modules/6.1.0/kernel/fs", "usr/bin"];
    for folder in folders {
        fs::create_dir_all(stage.join(folder)).unwrap();
    }
    let control = "Package: linux-image-6.1.0\nVersion: 1\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: none\n";
    for (name, bytes) in [
        ("DEBIAN/control", control.as_bytes()),
        ("boot/vmlinuz-6.1.0", &head()),
        ("boot/config-6.1.0", CONFIG.as_bytes()),
        ("lib/modules/6.1.0/modules.builtin", b""),
        ("lib/modules/6.1.0/kernel/fs/one.ko", b"x"),
        ("usr/bin/shell", b"#!/bin/sh\n"),
    ] {
        fs::write(stage.join(name), bytes).unwrap();
    }
    stage
}

/// A folder of the user's, with all the names that are pruned in it.
fn victim(place: &Place) -> PathBuf {
    let victim = place.path().join("victim");
    for name in ["gpu", "net", "drivers/gpu", "modules/6.1.0/kernel/drivers/gpu", "6.1.0/kernel/sound"] {
        fs::create_dir_all(victim.join(name)).unwrap();
        fs::write(victim.join(name).join("thesis"), "mine").unwrap();
    }
    victim
}

fn listing(folder: &Path) -> String {
    tool(&["find", folder.to_str().unwrap(), "-printf", "%P %y %m %s %i\n"])
}

/// What was unpacked, or is being.
fn unpacked(place: &Place) -> Vec<PathBuf> {
    let folder = place.path().join("cache/fsverdict/kernels");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
    entries.map(|entry| entry.path()).filter(hidden).filter(|path| path.is_dir()).collect()
}

/// With a QEMU that says its version and starts nothing.
fn fsverdict(place: &Place, arguments: &[&str]) -> Seen {
    with_qemu(place, "", arguments)
}

/// With a QEMU that does this, too.
fn with_qemu(place: &Place, line: &str, arguments: &[&str]) -> Seen {
    let path = prepare_qemu(place, line);
    Seen::of(&place.command(arguments).env("PATH", path).output().unwrap())
}

/// The PATH with such a QEMU.
fn prepare_qemu(place: &Place, line: &str) -> String {
    let folder = place.path().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let qemu = folder.join("qemu-system-x86_64");
    let script = format!(
        "#!/bin/sh\necho QEMU emulator version 7.2.0\ntest \"$1\" = --version && exit\n{line}\nexit 1\n"
    );
    fs::write(&qemu, script).unwrap();
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

fn replace_by_link(path: &Path, target: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
    symlink(target, path).unwrap();
}

/// Looks at the package that is staged, then runs it; the user's folder must be as it was all the while.
fn try_package(place: &Place, stage: &Path, attack: &str) -> Seen {
    let victim = victim(place);
    let before = listing(&victim);
    let package = place.path().join("linux-image.deb");
    tool(&[
        "dpkg-deb",
        "--build",
        "--root-owner-group",
        "-Znone",
        stage.to_str().unwrap(),
        package.to_str().unwrap(),
    ]);
    let text = one_command("vm", "true") + &format!("kernel = {package:?}\n");
    let plan = place.plan("plan", &text);
    let seen = fsverdict(place, &["run", &plan, "--dry-run"]);
    assert_eq!(listing(&victim), before, "{attack}, --dry-run");
    seen.exits(0).shows(&["unpacked when it is run"]);
    let seen = fsverdict(place, &["doctor", &plan]);
    assert!(seen.stdout.contains("unpacked when it is run"), "{seen:?}");
    assert_eq!(listing(&victim), before, "{attack}, doctor");
    assert!(unpacked(place).is_empty(), "{attack}");
    let seen = fsverdict(place, &["run", &plan, "--out", "run"]);
    assert_eq!(listing(&victim), before, "{attack}, run: {seen:?}");
    for folder in unpacked(place) {
        let rest = tool(&["find", folder.to_str().unwrap(), "-not", "-type", "f", "-not", "-type", "d"]);
        assert_eq!(rest.trim(), "", "{attack}");
    }
    seen
}

#[test]
fn vm_links_of_a_package_lead_nowhere() {
    for (at, to) in [
        ("lib/modules/6.1.0/kernel/drivers", ""),
        ("lib/modules/6.1.0/kernel", ""),
        ("lib/modules/6.1.0", "6.1.0"),
        ("lib/modules", ""),
        ("lib", ""),
        ("boot", ""),
    ] {
        let place = Place::new();
        let stage = stage(&place);
        replace_by_link(&stage.join(at), &place.path().join("victim").join(to));
        try_package(&place, &stage, at);
    }
}

#[test]
fn vm_what_a_package_holds_beside_files_is_left_out() {
    let place = Place::new();
    let stage = stage(&place);
    let shadow = place.path().join("secret");
    fs::write(&shadow, CONFIG).unwrap();
    replace_by_link(&stage.join("boot/config-6.1.0"), &shadow);
    let seen = try_package(&place, &stage, "a configuration that is a link").exits(1);
    seen.says(&["nothing says what the kernel", "config-6.1.0"]);

    let place = Place::new();
    let stage = self::stage(&place);
    fs::remove_file(stage.join("boot/config-6.1.0")).unwrap();
    tool(&["mkfifo", stage.join("boot/config-6.1.0").to_str().unwrap()]);
    try_package(&place, &stage, "a configuration that is a FIFO")
        .exits(1)
        .says(&["nothing says what the kernel"]);
}

#[test]
fn vm_what_is_kept_of_a_package_is_ours_and_no_program() {
    let place = Place::new();
    let stage = stage(&place);
    let kernel = stage.join("boot/vmlinuz-6.1.0");
    fs::set_permissions(&kernel, fs::Permissions::from_mode(0o6755)).unwrap();
    try_package(&place, &stage, "set-user-ID");
    let folders = unpacked(&place);
    let [folder] = folders.as_slice() else { panic!("{folders:?}") };
    let facts = folder.join("boot/vmlinuz-6.1.0").metadata().unwrap();
    assert_eq!((facts.mode() & 0o7777, facts.uid()), (0o644, rustix::process::geteuid().as_raw()));
    assert!(
        !folder.join("usr/bin").exists() && !folder.join("lib/modules/6.1.0/kernel/drivers/gpu").exists()
    );
    assert!(folder.join("lib/modules/6.1.0/kernel/fs/one.ko").is_file());
    assert!(folder.join("lib/modules/6.1.0/modules.dep").is_file());
    // What is there already can be looked at.
    let plan = place.path().join("plan.toml");
    let seen = fsverdict(&place, &["run", plan.to_str().unwrap(), "--dry-run"]).exits(0);
    assert!(seen.stdout.contains("vmlinuz-6.1.0"), "{seen:?}");
}

#[test]
fn vm_a_program_named_qemu_can_make_no_namespace() {
    let place = Place::new();
    let stage = stage(&place);
    try_package(&place, &stage, "nothing");
    let plan = place.path().join("plan.toml");
    // Exit status 1: it ran, and made nothing.
    let attempt = format!("perl -e '{NAMESPACES}'; test $? = 1 && echo made no namespace >&2");
    let seen = with_qemu(&place, &attempt, &["run", plan.to_str().unwrap(), "--out", "again"]);
    assert!(seen.stdout.contains("made no namespace"), "{seen:?}");
}

/// Events without end, by a guest that is a stranger's: the lines come faster than they are read.
#[test]
fn vm_a_guest_that_never_stops_reporting_is_ended_at_its_time() {
    let step = r#"{"event":"step_started","step":"again"}"#;
    let facts = r#"{"event":"facts","facts":{"long":"LONG"}}"#.replace("LONG", &"x".repeat(5 << 20));
    let result = r#"{"event":"trial_finished","status":"failed","reason":"it says so","wall":0.0}"#;
    for (line, wanted) in [(step, "within the 2s"), (facts.as_str(), "within the 2s"), (result, "it says so")]
    {
        let place = Place::new();
        try_package(&place, &stage(&place), "nothing");
        let file = place.path().join("line");
        fs::write(&file, line).unwrap();
        // The port is the one descriptor that is named so; a line may be longer than an argument.
        let flood = format!(
            "for word; do case $word in fd=*,set=0) port=${{word#fd=}}; port=${{port%,*}} ;; esac; done\n\
             exec perl -e 'open(L, \"<\", shift); $line = <L>; 1 while print \"$line\\n\"' {file:?} >/proc/self/fd/$port"
        );
        let plan = place.path().join("plan.toml");
        let timeout = "protocol.timeout=2s";
        let arguments = ["run", plan.to_str().unwrap(), "--out", "flooded", "--set", timeout];
        let path = prepare_qemu(&place, &flood);
        let seen = to_its_end(place.command(&arguments), Some(&path));
        assert_eq!(seen.code, Some(1), "{wanted}: {seen:?}");
        assert!(seen.stdout.contains(wanted), "{wanted}: {seen:?}");
        let journal = fs::metadata(place.path().join("flooded/journal.jsonl")).unwrap().len();
        assert!(journal < 300 << 20, "{wanted}: {journal} bytes");
        place.is_left_clean();
    }
}
