//! Tests of the device guard: every known set-up in which another program's data could be overwritten, and the refusal
//! of each.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Refusal, grant_lease};
use crate::host::root::Root;

const MIB: u64 = 1 << 20;

/// A clean-up command that runs when the value is dropped.
struct Undo(Command);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = self.0.status();
    }
}

/// A process that ends when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn run_shell(line: &str, arguments: &[&str]) {
    output_of(Command::new("sh").args(["-ec", line, "sh"]).args(arguments));
}

/// A set-up in progress: its parts, dropped in reverse order.
struct Scene {
    kept: Vec<Box<dyn std::any::Any>>,
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Scene { kept: Vec::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn keep_alive(&mut self, thing: impl std::any::Any) {
        self.kept.push(Box::new(thing));
    }

    /// Creates a sparse file of 200 MiB.
    fn file(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        File::create(&path).unwrap().set_len(200 * MIB).unwrap();
        path
    }

    /// Done when the scene is over.
    fn undo_later(&mut self, argv: &[&str]) {
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]);
        self.keep_alive(Undo(command));
    }

    fn attach_loop(&mut self, file: &Path, more: &[&str]) -> String {
        let device = output_of(Command::new("losetup").args(["--find", "--show"]).args(more).arg(file));
        self.undo_later(&["losetup", "--detach", &device]);
        device
    }

    /// Attaches a file that is made this way.
    fn loop_over(&mut self, make: fn(&mut Scene) -> PathBuf, more: &[&str]) -> String {
        let file = make(self);
        self.attach_loop(&file, more)
    }

    fn sparse_file(&mut self) -> PathBuf {
        self.file("f")
    }

    fn attached_file(&mut self) -> (PathBuf, String) {
        let file = self.file("f");
        let device = self.attach_loop(&file, &[]);
        (file, device)
    }

    /// Attaches a loop device over it.
    fn mounted_file(&mut self) -> PathBuf {
        let (file, device) = self.attached_file();
        self.mount_device(&device);
        file
    }

    /// On a filesystem of its own, with letters in its name that the kernel's table has as numbers.
    fn swap_file(&mut self) -> PathBuf {
        let device = self.attached_file().1;
        self.mount_device(&device);
        let (swap, kept) = (self.path("point/folder/a swap\\file"), self.path("point/kept"));
        fs::create_dir(swap.parent().unwrap()).unwrap();
        // It is taken out of use by a name that stays where it is.
        let line = "dd if=/dev/zero of=\"$1\" bs=1M count=40 status=none; chmod 600 \"$1\"; mkswap -q \"$1\"
            ln \"$1\" \"$2\"; swapon -p 0 \"$1\"";
        run_shell(line, &[swap.to_str().unwrap(), kept.to_str().unwrap()]);
        self.undo_later(&["swapoff", kept.to_str().unwrap()]);
        swap
    }

    fn attach_by_another_name(&mut self, file: &Path) -> String {
        let link = file.with_file_name("link");
        fs::hard_link(file, &link).unwrap();
        self.attach_loop(&link, &[])
    }

    fn mount_device(&mut self, device: &str) {
        let point = self.path("point");
        fs::create_dir(&point).unwrap();
        let point = point.to_str().unwrap();
        run_shell("mkfs.ext4 -q -F \"$1\" && mount \"$1\" \"$2\"", &[device, point]);
        self.undo_later(&["umount", point]);
    }

    /// Runs a Perl program that opens this path for writing as F, prints a line once it is ready, and then waits.
    fn run_perl(&mut self, program: &str, path: &str) {
        let mut child = Command::new("perl")
            .args(["-e", &format!("sub begin {{ open F, '+<', $ARGV[0] or die }} $| = 1; {program}"), path])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        self.keep_alive(Running(child));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        while self.kept.pop().is_some() {}
    }
}

fn make_node(device: &str, path: &Path) {
    let line = "mknod \"$2\" b $((0x$(stat -c %t \"$1\"))) $((0x$(stat -c %T \"$1\")))";
    run_shell(line, &[device, path.to_str().unwrap()]);
}

/// Name; the set-up, and the device that is named; the expected words of the refusal, or `None` if the device is
/// cleared.
type ListCase = (&'static str, fn(&mut Scene) -> String, &'static str);

/// Named with the identity of its content: consent never lifts these refusals.
const IN_USE: &[ListCase] = &[
    (
        "a second loop device over a mounted file",
        |scene| scene.loop_over(Scene::mounted_file, &[]),
        "mounted on",
    ),
    (
        "a hard link of a mounted file",
        |scene| {
            let file = scene.mounted_file();
            scene.attach_by_another_name(&file)
        },
        "which maps the same bytes",
    ),
    (
        "a window of a mounted file",
        |scene| scene.loop_over(Scene::mounted_file, &["-o", "70M", "--sizelimit", "40M"]),
        "mounted on",
    ),
    (
        "a mounted file that lost its name, and another name of it",
        |scene| {
            let file = scene.file("f");
            fs::hard_link(&file, scene.path("link")).unwrap();
            let mounted = scene.attach_loop(&file, &[]);
            scene.mount_device(&mounted);
            fs::remove_file(&file).unwrap();
            let link = scene.path("link");
            scene.attach_loop(&link, &[])
        },
        "which maps the same bytes",
    ),
    (
        "a second loop device that is not in use yet",
        |scene| {
            let file = scene.file("f");
            scene.attach_loop(&file, &[]);
            scene.attach_loop(&file, &[])
        },
        "which maps the same bytes",
    ),
    (
        "a loop device on it by a node that is gone",
        |scene| {
            let (_, device) = scene.attached_file();
            let other = scene.path("node");
            make_node(&device, &other);
            let upper = scene.attach_loop(&other, &[]);
            fs::remove_file(&other).unwrap();
            scene.mount_device(&upper);
            device
        },
        "mounted on",
    ),
    (
        "a loop device over its file whose own node is gone",
        |scene| {
            let (file, mounted) = scene.attached_file();
            scene.mount_device(&mounted);
            let aside = format!("{mounted}-aside");
            fs::rename(&mounted, &aside).unwrap();
            scene.undo_later(&["mv", &aside, &mounted]);
            scene.attach_loop(&file, &[])
        },
        "mounted on",
    ),
    (
        "three loop devices on one another, by nodes that are gone",
        |scene| {
            let file = scene.file("f");
            let mut upper = scene.attach_loop(&file, &[]);
            for name in ["one", "two"] {
                let other = scene.path(name);
                make_node(&upper, &other);
                upper = scene.attach_loop(&other, &["-o", "1M"]);
                fs::remove_file(&other).unwrap();
            }
            scene.mount_device(&upper);
            scene.attach_by_another_name(&file)
        },
        "which maps the same bytes",
    ),
    (
        "a program that has its file open for writing",
        |scene| {
            let file = scene.file("f");
            scene.run_perl(r#"begin; print "ready\n"; <STDIN>"#, file.to_str().unwrap());
            scene.attach_loop(&file, &[])
        },
        "has it open for writing",
    ),
    (
        "a program that has mapped it and closed it",
        |scene| {
            let (_, device) = scene.attached_file();
            scene.run_perl(MAPPED, &device);
            device
        },
        "has it mapped for writing",
    ),
    (
        "a program that has mapped its file and closed it",
        |scene| {
            let file = scene.file("f");
            scene.run_perl(MAPPED, file.to_str().unwrap());
            scene.attach_loop(&file, &[])
        },
        "has it mapped for writing",
    ),
    (
        "a program whose first thread has ended",
        |scene| {
            let (_, device) = scene.attached_file();
            scene.run_perl(THREAD, &device);
            device
        },
        "has it open for writing",
    ),
    (
        "swap",
        |scene| {
            let (_, device) = scene.attached_file();
            run_shell("mkswap -q \"$1\" && swapon \"$1\"", &[&device]);
            scene.undo_later(&["swapoff", &device]);
            device
        },
        "is swap space",
    ),
    (
        "a loop device over a swap file",
        |scene| {
            let swap = scene.swap_file();
            scene.attach_loop(&swap, &[])
        },
        "a swap\\file is swap space",
    ),
    (
        "a swap file by another name, moved since",
        |scene| {
            let swap = scene.swap_file();
            let device = scene.attach_by_another_name(&swap);
            // It cannot be renamed itself.
            let folder = swap.parent().unwrap();
            fs::rename(folder, folder.with_file_name("moved")).unwrap();
            device
        },
        "/moved/a swap\\file is swap space",
    ),
    (
        "a swap file with another file in its place",
        |scene| {
            let swap = scene.swap_file();
            let device = scene.attach_loop(&swap, &[]);
            let other = scene.file("other");
            run_shell("mount --bind \"$1\" \"$2\"", &[other.to_str().unwrap(), swap.to_str().unwrap()]);
            scene.undo_later(&["umount", swap.to_str().unwrap()]);
            device
        },
        "a swap\\file is not found there",
    ),
];

/// mmap(2), shared and for writing, by its number on x86-64 and arm64.
const MAPPED: &str = r#"begin; my $mmap = qx(uname -m) =~ /^x86_64/ ? 9 : 222;
syscall($mmap, 0, 4096, 3, 1, fileno(F), 0) > 0 or die; close F; print "ready\n"; <STDIN>"#;

/// The first thread's exit(2), which the other thread survives.
const THREAD: &str = r#"use threads; my $exit = qx(uname -m) =~ /^x86_64/ ? 60 : 93;
threads->create(sub { begin; print "ready\n"; <STDIN> }); syscall($exit, 0)"#;

/// Named without an identity: the guard asks for one, or clears the device.
const WITHOUT_CONSENT: &[ListCase] = &[
    ("nothing anywhere", |scene| scene.loop_over(Scene::sparse_file, &[]), ""),
    (
        "room that was reserved but never written",
        |scene| {
            let file = scene.file("f");
            run_shell("fallocate -l 200M \"$1\"", &[file.to_str().unwrap()]);
            scene.attach_loop(&file, &[])
        },
        "",
    ),
    (
        "zeros that were written",
        |scene| {
            let file = scene.file("f");
            run_shell(
                "dd if=/dev/zero of=\"$1\" bs=1M count=30 conv=notrunc status=none",
                &[file.to_str().unwrap()],
            );
            scene.attach_loop(&file, &[])
        },
        "",
    ),
    (
        "4 KiB in the middle",
        |scene| {
            let file = scene.file("f");
            File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .write_all_at(&[0xa5; 4096], 77 * MIB + 12288)
                .unwrap();
            scene.attach_loop(&file, &[])
        },
        "data that no known signature explains, 77.01 MiB from its start",
    ),
    (
        "4 KiB in the middle of a file without a name, written through the device and not yet in the file",
        |scene| {
            let (file, device) = scene.attached_file();
            fs::remove_file(&file).unwrap();
            let open = File::options().write(true).open(&device).unwrap();
            open.write_all_at(&[0xa5; 4096], 77 * MIB + 12288).unwrap();
            scene.keep_alive(File::open(&device).unwrap());
            device
        },
        "data that no known signature explains",
    ),
    (
        "a window of zeros in a file",
        |scene| scene.loop_over(Scene::sparse_file, &["-o", "20M", "--sizelimit", "20M"]),
        "is not known to be empty; it is, or has:\n  a part of the file",
    ),
];

fn examine_case(case: &ListCase, consent: bool) -> Result<(), Refusal> {
    let (_, prepare, _) = case;
    let mut scene = Scene::new();
    let device = prepare(&mut scene);
    let name = device.trim_start_matches("/dev/");
    let backing = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap();
    // Not held any longer when the scene is cleared away.
    grant_lease(&Root::default(), Path::new(&device), MIB, consent.then_some(backing.trim())).map(drop)
}

#[test]
fn loop_device_list() {
    let cases =
        IN_USE.iter().map(|case| (case, true)).chain(WITHOUT_CONSENT.iter().map(|case| (case, false)));
    let mut wrong = Vec::new();
    for (case, consent) in cases {
        let (name, _, expected) = case;
        let shown = examine_case(case, consent).map_err(|refusal| refusal.to_string());
        let right = match &shown {
            Ok(()) => expected.is_empty(),
            Err(shown) => !expected.is_empty() && shown.contains(expected),
        };
        if !right {
            wrong.push(format!("{name}: expected {expected:?}, got {shown:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
