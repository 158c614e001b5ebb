//! A phase tries to break out of its sandbox, in each lab, with the conductor as root and as an ordinary user: it must be
//! able to write to the filesystem under test and its scratch folder, and to nothing else.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::namespaces::NAMESPACES;
use crate::common::{Disk, PROGRAM, Place, Seen, is_root, one_command, tool};

/// What the phase tries: a name, and a shell line whose success would be an escape. Nothing in it would harm this
/// machine if it had any.
///
/// OUTSIDE is a file in a folder of the test's that whoever runs it may write to; VICTIM a block device of the test's,
/// of the number MAJOR MINOR; SOCKET, ABSTRACT and PORT are where a service of the test's listens; KEY is a System V
/// segment of its.
const ATTEMPTS: &[(&str, &str)] = &[
    ("write outside", "touch OUTSIDE-plain"),
    ("write /etc", "touch /etc/fsverdict-was-here"),
    ("remount", "mount -o remount,rw /"),
    ("remount as a bind mount", "mount -o remount,bind,rw /"),
    ("write outside after a remount", "touch OUTSIDE-remounted"),
    ("write the staged folder", r#"touch "$DOCS/new""#),
    ("remove what is staged", r#"rm "$DOCS/page""#),
    ("remount the staged folder", r#"mount -o remount,bind,rw "$DOCS/..""#),
    ("unmount the staged folder", r#"umount -l "$DOCS/..""#),
    ("unmount /proc", "umount /proc"),
    ("unmount /dev", "umount -l /dev"),
    ("mount devtmpfs", "mount -t devtmpfs none $SCRATCH/m"),
    ("mount proc", "mount -t proc none $SCRATCH/m"),
    ("mount sysfs", "mount -t sysfs none $SCRATCH/m"),
    ("mount tmpfs", "mount -t tmpfs none $SCRATCH/m"),
    ("mount binfmt_misc", "mount -t binfmt_misc none $SCRATCH/m"),
    ("mount the host", "mount -t hostfs -o / none $SCRATCH/m"),
    ("bind", "mount --bind / $SCRATCH/m"),
    ("write the victim", "ZERO of=VICTIM"),
    ("write the device under test", "ZERO of=$DEVICE"),
    ("write the disk of a guest", "ZERO of=/dev/ubda || ZERO of=/dev/ubdb"),
    ("mknod in the scratch folder", "mknod $SCRATCH/node b MAJOR MINOR"),
    ("mknod in the filesystem under test", "mknod $MOUNT/node b MAJOR MINOR"),
    ("write a node of its own", "ZERO of=$SCRATCH/node || ZERO of=$MOUNT/node"),
    ("make a node of the loop driver", "[ -e /dev/loop-control ] || mknod $SCRATCH/loop c 10 237"),
    ("make a node of the device mapper", "[ -e /dev/mapper ] || mknod $SCRATCH/mapper c 10 236"),
    ("make a node of memory", "[ -e /dev/mem ] || mknod $SCRATCH/mem c 1 1"),
    ("read the memory of the kernel", "head -c 1 /proc/kcore | grep -q ."),
    ("unshare mounts", "unshare --mount true"),
    (
        "unshare",
        "unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw / && touch OUTSIDE-unshared'",
    ),
    ("make a namespace, or mount in one", "perl -e 'NAMESPACES'"),
    ("nsenter", "nsenter --target 1 --mount true"),
    ("chroot", "chroot /proc/1/root touch OUTSIDE-chroot"),
    ("write through /proc/1/root", "touch /proc/1/root/OUTSIDE-root"),
    ("write through /proc/1/cwd", "(cd /proc/1/cwd && touch ../../../OUTSIDE-cwd)"),
    ("reach the socket of a service", "[ -e SOCKET ]"),
    (
        "reach an abstract socket",
        r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); exit !connect(S, pack_sockaddr_un("\0ABSTRACT"))'"#,
    ),
    (
        "reach a service on 127.0.0.1",
        r#"perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0); exit !connect(S, pack_sockaddr_in(PORT, inet_aton("127.0.0.1")))'"#,
    ),
    ("reach a System V segment", "perl -e 'exit !defined shmget(KEY, 0, 0)'"),
    ("look at packets", "perl -MSocket -e 'exit !socket(S, 17, SOCK_RAW, 0)'"),
    ("open by handle", OPEN_BY_HANDLE),
    ("list the programs of the kernel", r#"perl -e '$a = "\0" x 64; exit(syscall(321, 11, $a, 64) < 0)'"#),
    ("open the terminal", "true </dev/tty"),
    ("write to a descriptor of the user", "echo x >&9"),
    ("kill what is outside", "kill -0 PROCESS"),
    ("write /proc/sys", "SAME /proc/sys/vm/swappiness"),
    ("set who handles crashes", "SAME /proc/sys/kernel/core_pattern"),
    ("set who loads modules", "SAME /proc/sys/kernel/modprobe"),
    (
        "register a format of programs",
        "[ -w /proc/sys/fs/binfmt_misc/register ] && echo >/proc/sys/fs/binfmt_misc/register",
    ),
    ("ask the kernel for help", "echo h >/proc/sysrq-trigger"),
    ("write sysfs", "for file in /sys/block/*/queue/nomerges; do SAME $file && exit; done; false"),
    ("write an event", "for file in /sys/block/*/uevent; do echo change >$file && exit; done; false"),
    (
        "make a control group",
        "mkdir /sys/fs/cgroup/fsverdict-was-here || mkdir /sys/fs/cgroup/*/fsverdict-was-here",
    ),
    ("write debugfs", "mkdir /sys/kernel/debug/fsverdict-was-here"),
    ("set the name of the host", "hostname \"$(hostname)\""),
    ("set the clock", "date --set \"@$(date +%s)\""),
    ("write a program", "true >>/bin/true"),
    ("write what runs", "true >>/proc/1/exe"),
    (
        "change the mode of what runs",
        r#"perl -e 'exit !chmod((stat "/proc/1/exe")[2] & 07777, "/proc/1/exe")'"#,
    ),
    ("look at what the first process runs", "readlink /proc/1/exe"),
    ("look at what the first process has open", "readlink /proc/1/fd/0"),
    (
        "change the mode of the null device outside",
        "perl -e 'for $s (*STDIN, *STDOUT, *STDERR) { exit 0 if -c $s && chmod((stat $s)[2] & 07777, $s) } exit 1'",
    ),
    ("trace the first process outside", "perl -e 'exit(syscall(101, 16, PROCESS, 0, 0) < 0)'"),
    ("make a mount by descriptor", r#"perl -e '$n = "tmpfs"; exit(syscall(430, $n, 0) < 0)'"#),
    ("copy a mount by descriptor", r#"perl -e '$n = "/"; exit(syscall(428, -100, $n, 1) < 0)'"#),
    ("take a filesystem up by descriptor", r#"perl -e '$n = "/"; exit(syscall(433, -100, $n, 0) < 0)'"#),
    ("change the flags of mounts", CHANGE_FLAGS),
    ("change the flags of mounts in a user namespace", "unshare --user --map-root-user --mount CHANGE_FLAGS"),
    ("exchange the root", r#"perl -e '$n = "/"; exit(syscall(155, $n, $n) < 0)'"#),
    ("change the root", "perl -e 'exit !chroot(\"/tmp\")'"),
    (
        "look below what is hidden, in a user namespace",
        "unshare --user --map-root-user --mount sh -c 'mount --bind / $SCRATCH/m && [ -e $SCRATCH/mSOCKET ]'",
    ),
    (
        "uncover what is hidden, in a user namespace",
        "unshare --user --map-root-user --mount sh -c 'umount -l /run && [ -e SOCKET ]'",
    ),
    (
        "mount control groups in a user namespace",
        "unshare --user --map-root-user --mount --cgroup sh -c 'mount -t cgroup2 none $SCRATCH/m && mkdir $SCRATCH/m/x'",
    ),
    (
        "make a node in a user namespace",
        "unshare --user --map-root-user mknod $SCRATCH/own-node b MAJOR MINOR",
    ),
    (
        "join the namespace of the first process",
        r#"perl -e 'open(N, "<", "/proc/1/ns/mnt") or exit 1; exit(syscall(308, fileno(N), 0) < 0)'"#,
    ),
    ("load another kernel", "perl -e 'exit(syscall(246, 0, 0, 0, 0) < 0)'"),
    ("have Ctrl-Alt-Del told", "perl -e 'exit(syscall(169, 0xfee1dead, 672274793, 0) < 0)'"),
    ("reach the ports of devices", "perl -e 'exit(syscall(172, 3) < 0 && syscall(173, 0x80, 1, 1) < 0)'"),
    (
        "account for processes",
        r#"touch $SCRATCH/a && perl -e '$n = "$ENV{SCRATCH}/a"; exit(syscall(163, $n) < 0)'"#,
    ),
    ("set what the console shows", "perl -e 'exit(syscall(103, 7, 0, 0) < 0)'"),
    ("adjust the clock", r#"perl -e '$t = pack("I", 0x8001) . "\0" x 204; exit(syscall(159, $t) < 0)'"#),
    ("watch every file", "perl -e 'exit(syscall(300, 0, 0) < 0)'"),
    ("refer to a process outside", "perl -e 'exit(syscall(434, PROCESS, 0) < 0)'"),
    ("run before all others", "chrt -f 1 true || ionice -c 1 true || nice -n -5 sh -c '[ $(nice) -lt 0 ]'"),
    ("open what serves folders", "true 3<>/dev/fuse"),
    ("be spared when memory runs out", "echo -1000 >/proc/self/oom_score_adj"),
    (
        "swap",
        "dd if=/dev/zero of=$SCRATCH/swap bs=64k count=1 && mkswap $SCRATCH/swap && swapon $SCRATCH/swap",
    ),
];

/// Clears the flag that makes every mount read-only (mount_setattr(2), recursively).
const CHANGE_FLAGS: &str =
    r#"perl -e '$n = "/"; $a = pack("QQQQ", 0, 1, 0, 0); exit(syscall(442, -100, $n, 0x8000, $a, 32) < 0)'"#;

/// What it must be able to do.
const ALLOWED: &[(&str, &str)] = &[
    ("read the staged folder", r#"[ "$(cat "$DOCS/page")" = "read me" ]"#),
    ("write the filesystem", r#"touch "$MOUNT/own""#),
    ("write the scratch folder", r#"touch "$SCRATCH/own""#),
    ("share memory", "touch /dev/shm/own"),
    ("have a terminal of its own", "perl -e 'exit !open(T, \"+<\", \"/dev/ptmx\")'"),
    (
        "talk to itself",
        r#"perl -MSocket -e 'socket(L, AF_INET, SOCK_STREAM, 0); bind(L, pack_sockaddr_in(0, inet_aton("127.0.0.1"))) && listen(L, 1) or die; socket(S, AF_INET, SOCK_STREAM, 0); exit !connect(S, getsockname(L))'"#,
    ),
    ("make a System V segment", "perl -e 'exit !defined shmget(KEY + 1, 4096, 01600)'"),
    ("outlive a kill of its first process", "kill -9 1; kill -0 1"),
];

/// A handle of /etc/passwd (name_to_handle_at), opened again behind the mounts' back (open_by_handle_at).
const OPEN_BY_HANDLE: &str = r#"perl -e '$h = pack("Ii", 128, 0) . "\0" x 128; $m = pack("i", 0); $f = "/etc/passwd"; syscall(303, -100, $f, $h, $m, 0) == 0 or exit 1; open(R, "<", "/etc") or exit 1; exit(syscall(304, fileno(R), $h, 2) < 0)'"#;

/// The attempts as one script; a line `BROKE …` is a success it must not have.
fn script() -> String {
    let mut lines = vec!["exec 2>/dev/null".to_owned(), r#"mkdir "$SCRATCH/m""#.to_owned()];
    lines.extend(ATTEMPTS.iter().map(|(name, line)| format!("({line}) >/dev/null && echo 'BROKE {name}'")));
    lines.extend(ALLOWED.iter().map(|(name, line)| format!("({line}) >/dev/null && echo 'may {name}'")));
    lines.push(DESCRIPTORS.to_owned());
    lines.push("echo end of attempts".to_owned());
    let same = r#"(set -- "$(cat FILE)" && [ -n "$1" ] && echo "$1" >FILE)"#;
    let lines = lines.iter().map(|line| match line.split_once("SAME ") {
        Some((before, rest)) => {
            let (file, after) = rest.split_at(rest.find([';', ')', ' ']).unwrap_or(rest.len()));
            format!("{before}{}{after}", same.replace("FILE", file))
        }
        None => line
            .replace("ZERO", "dd if=/dev/zero bs=4096 count=1 conv=nocreat")
            .replace("CHANGE_FLAGS", CHANGE_FLAGS)
            .replace("NAMESPACES", NAMESPACES),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Everything but pipes that anybody in the sandbox has open.
const DESCRIPTORS: &str = r#"
for descriptor in /proc/[0-9]*/fd/*; do
    case $(readlink "$descriptor") in
    pipe:* | /dev/null | /proc/* | "") ;;
    *) echo "BROKE keep a descriptor of $(readlink "$descriptor")" ;;
    esac
done"#;

/// A System V segment of this test's, by its key; the next key is for the phase to try.
struct Segment(u32);

impl Segment {
    fn new() -> Segment {
        let key = 0x0f50_0000 + std::process::id() * 2;
        tool(&["perl", "-e", &format!("exit !defined shmget({key}, 4096, 01600)")]);
        Segment(key)
    }

    fn next_is_there(&self) -> bool {
        tool(&["perl", "-e", &format!("print defined shmget({}, 0, 0) ? 1 : 0", self.0 + 1)]) == "1"
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        for key in [self.0, self.0 + 1] {
            let line = format!("my $id = shmget({key}, 0, 0); shmctl($id, 0, 0) if defined $id");
            let _ = std::process::Command::new("perl").args(["-e", &line]).status();
        }
    }
}

/// The names in a folder.
pub fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// What a phase's command has in its environment, in each lab, as docs/reference/plan-format.md says; `PWD` is its shell's.
const ENVIRONMENT: [&str; 11] = [
    "DEVICE",
    "DOCS",
    "DOCS_BYTES",
    "DOCS_FILES",
    "DOCS_MIB",
    "HOME",
    "LC_ALL",
    "MOUNT",
    "PATH",
    "PWD",
    "SCRATCH",
];

/// A phase sees nothing of the environment of whoever started the run, where tokens and passwords are.
pub fn has_an_environment_of_its_own(lab: &str) {
    let place = Place::new();
    let docs = place.path().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("page"), "read me").unwrap();
    // The listing is a command of the shell itself: a program has variables of its own.
    let plan = one_command(lab, "cat /proc/self/environ | tr '\\0' '\\n'; test \"$DOCS\"");
    let plan = place.plan("plan", &(plan + &format!("dataset.docs.path = {docs:?}\n")));
    let output =
        place.command(&["run", &plan, "--out", "run"]).env("SECRET_TOKEN", "s3cret").output().unwrap();
    Seen::of(&output).exits(0);
    let journal = place.journal();
    let text = journal.program("do")["stdout"].as_str().unwrap();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    let documented: Vec<&str> = ENVIRONMENT.into_iter().chain(["TMPDIR"]).collect();
    assert_eq!(names, documented, "{text}");
    place.is_left_clean();
}

pub fn tries_to_break_out(lab: &str) {
    tries_to_break_out_above(lab, "");
}

/// The same, with this layer above the filesystem, in a cold phase: by then it is there.
pub fn tries_to_break_out_above(lab: &str, layer: &str) {
    let place = Place::new();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let docs = place.path().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("page"), "read me").unwrap();
    // A victim with a known content, which the attempts would zero.
    let victim = is_root().then(|| {
        let disk = Disk::new(&place, "victim", 1 << 20);
        fs::write(&disk.device, vec![0xa5; 1 << 20]).unwrap();
        (disk.bytes(), disk)
    });
    let device = victim.as_ref().map_or("/dev/loop0", |(_, disk)| disk.device.as_str());
    let number = fs::read_to_string(format!("/sys/block/{}/dev", device.trim_start_matches("/dev/")));
    let number = number.unwrap_or_else(|_| "7:0".to_owned());
    let (major, minor) = number.trim().split_once(':').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Several tests of this process do this at once.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("fsverdict-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _service = UnixListener::bind_addr(&address).unwrap();
    let segment = Segment::new();
    let attempts = script()
        .replace("MAJOR", major)
        .replace("MINOR", minor)
        .replace("VICTIM", device)
        .replace("ABSTRACT", &name)
        .replace("PORT", &listener.local_addr().unwrap().port().to_string())
        .replace("KEY", &segment.0.to_string())
        .replace("PROCESS", &std::process::id().to_string())
        .replace("OUTSIDE", outside.join("file").to_str().unwrap());

    // A service of this machine, whose socket only root can put where services have theirs.
    let socket = Path::new("/run").join(&name);
    let service = is_root().then(|| UnixListener::bind(&socket).unwrap());
    let attempts = attempts.replace("SOCKET", socket.to_str().unwrap());

    // A descriptor that the user's shell left open, of a file the phase has no business with.
    let plan = one_command(lab, &attempts) + &format!("dataset.docs.path = {docs:?}\n");
    let plan = match layer {
        "" => plan,
        _ => plan
            .replace("name = \"do\",", "name = \"do\", cold = true,")
            .replace("phase             = [", &format!("matrix.layers = [[{layer:?}]]\nphase = [")),
    };
    let plan = place.plan("plan", &plan);
    let inherited = outside.join("inherited");
    let line = format!("exec {PROGRAM} run {plan} --out run 9>{}", inherited.display());
    // On a terminal, into which a phase might type commands for the shell there (ioctl_tty(2), TIOCSTI).
    let seen = place.any("script", &["--quiet", "--return", "--command", &line, "/dev/null"]);
    if service.is_some() {
        fs::remove_file(&socket).unwrap();
    }
    seen.exits(0);
    let journal = place.journal();
    let said = journal.program("do")["stdout"].as_str().unwrap().to_owned();
    assert!(!said.contains("BROKE"), "{said}");
    for (name, _) in ALLOWED {
        assert!(said.contains(&format!("may {name}")), "`{name}` is missing: {said}");
    }
    assert!(said.contains("end of attempts"), "{said}");
    assert!(!segment.next_is_there(), "a System V segment outlived the phase");
    assert_eq!(names(&outside), ["inherited"]);
    assert_eq!(fs::read_to_string(&inherited).unwrap(), "");
    assert!(!std::path::Path::new("/etc/fsverdict-was-here").exists());
    if let Some((before, disk)) = &victim {
        assert!(before.iter().all(|byte| *byte == 0xa5));
        assert!(disk.bytes() == *before, "the victim was written");
    }
    drop(victim);
    place.is_left_clean();
}
