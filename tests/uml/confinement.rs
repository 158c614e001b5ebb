//! A phase cannot break out of a guest, and a program that a plan names as its kernel is as confined as one.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

use crate::common::labs::confinement::{has_an_environment_of_its_own, names, tries_to_break_out};
use crate::common::labs::namespaces::NAMESPACES;
use crate::common::{Disk, Place, is_root, kernels, one_command};

#[test]
fn uml_a_phase_cannot_break_out_of_a_guest() {
    tries_to_break_out("uml");
}

#[test]
fn uml_a_phase_has_an_environment_of_its_own() {
    has_an_environment_of_its_own("uml");
}

/// What a program tries that a plan names as its kernel: asked about itself, and started as a guest. Outside any sandbox,
/// as root, all of it would succeed: it must do no harm then, so it touches nothing but what is the test's.
const OF_A_KERNEL: &[(&str, &str)] = &[
    ("write outside", "touch OUTSIDE-plain"),
    ("remount", "mount -o remount,bind,rw / || mount -o remount,rw /"),
    (
        "remount in a namespace of its own",
        "unshare --user --map-root-user --mount sh -c 'mount -o remount,bind,rw / && touch OUTSIDE-unshared'",
    ),
    ("write outside after a remount", "touch OUTSIDE-remounted"),
    ("make a namespace, or mount in one", "perl -e 'NAMESPACES'"),
    ("mount", "mount -t tmpfs none FOLDER"),
    ("mount devtmpfs", "mount -t devtmpfs none FOLDER"),
    ("write the victim", "dd if=/dev/zero of=VICTIM bs=4096 count=1 conv=nocreat"),
    ("see a disk", "ls -l /dev | grep -q ^b"),
    ("make a node", "mknod FOLDER/node b MAJOR MINOR"),
    ("write /proc/sys", "cat /proc/sys/vm/swappiness >/proc/sys/vm/swappiness"),
    ("write sysfs", "[ -w /sys/class/block ]"),
    (
        "reach an abstract socket",
        r#"perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); exit !connect(S, pack_sockaddr_un("\0ABSTRACT"))'"#,
    ),
    ("reach the socket of a service", "[ -e SOCKET ]"),
    ("see other processes", "[ -e /proc/PROCESS ]"),
    ("read nothing", "! cat SECRET"),
];

#[test]
fn uml_a_program_named_as_kernel_can_read_and_nothing_else() {
    let place = Place::new();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let at = |name: &str| place.path().join(name).display().to_string();
    // Only its owner can read it: a guest of root's sees the datasets of root's.
    fs::write(at("secret"), "x").unwrap();
    let owner_only = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600);
    fs::set_permissions(at("secret"), owner_only).unwrap();
    let victim = is_root().then(|| Disk::new(&place, "victim", 1 << 20));
    let device = victim.as_ref().map_or("/dev/loop0", |disk| disk.device.as_str());
    let name = format!("fsverdict-test-{}-kernel", std::process::id());
    let _service = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let socket = PathBuf::from("/run").join(&name);
    let service = is_root().then(|| UnixListener::bind(&socket).unwrap());
    let attempts: String = OF_A_KERNEL
        .iter()
        .map(|(name, line)| format!("({line}) >/dev/null 2>&1 </dev/null && broke=\"$broke, {name}\"\n"))
        .collect();
    let attempts = attempts
        .replace("NAMESPACES", NAMESPACES)
        .replace("OUTSIDE", outside.join("file").to_str().unwrap())
        .replace("FOLDER", outside.to_str().unwrap())
        .replace("SECRET", &at("secret"))
        .replace("VICTIM", device)
        .replace("MAJOR MINOR", "7 0")
        .replace("ABSTRACT", &name)
        .replace("SOCKET", socket.to_str().unwrap())
        .replace("PROCESS", &std::process::id().to_string());
    let line = format!("broke=\n{attempts}echo \"as a guest it broke: $broke.\"; exit 3");
    kernels::script(&place, &line, &kernels::strings("6.1.0", &kernels::OPTIONS));
    let plan = one_command("uml", "true") + &format!("kernel = {:?}\n", at("kernel"));
    let seen = place.run(&plan, &[]);
    if service.is_some() {
        fs::remove_file(&socket).unwrap();
    }
    let (_, reason) = place.status("ext4");
    assert!(reason.contains("as a guest it broke: ."), "{reason}\n{seen:#?}");
    assert_eq!(names(&outside), [""; 0], "written by the kernel");
    if let Some(victim) = &victim {
        assert!(victim.bytes().iter().all(|byte| *byte == 0), "the victim was written");
    }
    drop(victim);
    place.is_left_clean();
}
