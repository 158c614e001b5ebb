//! `fsverdict tools`: packages are fetched, unpacked and tested, or refused; stand-ins take the place of apt-get and dpkg-deb.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::carried::{bomb, package};
use crate::common::fetched::{LOADER, TOOL, command, fetch, loader_path, tools, write_script};
use crate::common::{Place, Seen, kill, not_run, tool};

type File<'a> = (&'a str, u8, u64, &'a [u8]);

fn file<'a>(path: &'a str, content: &'a str) -> File<'a> {
    (path, b'0', content.len() as u64, content.as_bytes())
}

/// Whether bcachefs-tools are installed, so that nothing is fetched.
fn is_installed() -> bool {
    let found = Place::new().any("sh", &["-c", "command -v mkfs.bcachefs"]).code == Some(0);
    if found {
        not_run("mkfs.bcachefs is installed, and goes before fetched tools");
    }
    found
}

/// The content of the folder of fetched tools.
fn entries(place: &Place) -> Vec<String> {
    let found = fs::read_dir(tools(place)).into_iter().flatten().flatten();
    found.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn fetched_tools_are_tested_listed_and_removed() {
    if is_installed() {
        return;
    }
    let place = Place::new();
    let loader = loader_path();
    let beside = loader.replace("ld-linux-here.so.2", "libx.so.1.2");
    let link = loader.replace("ld-linux-here.so.2", "liby.so.1");
    let whole = package(&[
        file("./usr/sbin/bcachefs", TOOL),
        file(&loader, LOADER),
        file(&beside, "x"),
        (&link, b'2', 0, b""),
        file("./usr/share/doc/x", "x"),
    ]);
    let seen = fetch(&place, &whole).exits(0).says(&["testing", "bcachefs-tools 1:9.9.9-1", "fetched 9.9.9"]);
    let programs = tools(&place).join("bcachefs/bin");
    assert_eq!(seen.stdout.trim(), programs.to_str().unwrap());
    let said = tool(&[programs.join("fsck.bcachefs").to_str().unwrap(), "a b"]);
    assert_eq!(said, "fetched 9.9.9 as fsck.bcachefs a b");
    let library = tools(&place).join("bcachefs/lib/libx.so.1");
    assert_eq!(fs::read_link(library).unwrap().to_str(), Some("libx.so.1.2"));
    assert!(tools(&place).join("bcachefs/lib/liby.so.1").symlink_metadata().is_err());
    assert_eq!(entries(&place), ["bcachefs"]);
    let listed = command(&place, &whole, &["list"]).output().unwrap();
    Seen::of(&listed).exits(0).shows(&[programs.to_str().unwrap()]).says(&["1:9.9.9-1"]);
    // The system's own go before them, and is not fetched.
    write_script(&place.path().join("client/mkfs.bcachefs"), "#!/bin/sh\n");
    let seen = fetch(&place, b"").exits(0).says(&["installed", "nothing was fetched"]);
    assert!(seen.stdout.contains("client/mkfs.bcachefs"), "{seen:?}");
    place.fsverdict(&["tools", "bcachefs", "--remove"]).exits(0).shows(&["removed"]);
    place.fsverdict(&["tools", "bcachefs", "--remove"]).exits(1).says(&["cannot remove", "tools list"]);
    assert!(entries(&place).is_empty());
    place.is_left_clean();
}

#[test]
fn hostile_packages_of_tools_are_refused_and_nothing_of_them_stays() {
    if is_installed() {
        return;
    }
    let place = Place::new();
    let loader = loader_path();
    let good = [file("./usr/sbin/bcachefs", TOOL), file(&loader, LOADER)];
    let failing = TOOL.replace("echo", "test $NAME = bcachefs ||  exit 3; echo");
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (package(&[("./usr/sbin/bcachefs", b'2', 0, b""), good[1]]), &["have no program bcachefs"]),
        (package(&[("./usr/sbin/bcachefs", b'1', 0, b""), good[1]]), &["have no program bcachefs"]),
        (package(&[good[0], good[1], file("./../../escaped", "x")]), &["leads out"]),
        (package(&[good[0], good[1], file("/usr/sbin/escaped", "x")]), &["leads out"]),
        (package(&[good[0], good[0], good[1]]), &["File exists"]),
        (package(&[good[0]]), &["have no loader"]),
        (package(&[good[0], good[1], ("./usr/share/x", b'0', 1 << 40, b"")]), &["longer than 512 MiB"]),
        (package(&[good[0], good[1], ("./x", b'L', 1 << 40, b"")]), &["longer than 512 MiB"]),
        (
            bomb(&[good[1]], "./usr/sbin/bcachefs", (64 << 20) + 1),
            &["`usr/sbin/bcachefs` is larger than 64 MiB"],
        ),
        (
            package(&[file("./usr/sbin/bcachefs", &failing), good[1]]),
            &["removed again", "formatting an image"],
        ),
        (b"not a package".to_vec(), &["could not be unpacked"]),
    ];
    for (content, words) in cases {
        fetch(&place, &content).exits(1).says(words).says(&["hint:", "docs/guides/bcachefs.md"]);
        assert!(entries(&place).is_empty(), "{words:?}");
    }
    assert!(!place.path().join("escaped").exists() && !place.path().join("cache/escaped").exists());
    place.is_left_clean();
}

#[test]
fn without_a_network_or_killed_nothing_half_fetched_is_used() {
    if is_installed() {
        return;
    }
    let place = Place::new();
    let loader = loader_path();
    let whole = package(&[file("./usr/sbin/bcachefs", TOOL), file(&loader, LOADER)]);
    fs::write(place.path().join("offline"), "").unwrap();
    let words = ["could not be fetched: Could not resolve the archive", "copy the folder"];
    fetch(&place, &whole).exits(1).says(&words);
    assert!(entries(&place).is_empty());
    fs::remove_file(place.path().join("offline")).unwrap();
    fs::write(place.path().join("slow"), "").unwrap();
    let mut child = command(&place, &whole, &["bcachefs"]).spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while !place.path().join("waited").exists() {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(50));
    }
    fetch(&place, &whole).exits(1).says(&["another fsverdict is at work"]);
    kill(child.id());
    child.wait().unwrap();
    place.is_left_clean();
    assert_eq!(entries(&place), [".new-bcachefs"]);
    place.fsverdict(&["tools", "list"]).exits(0);
    place.fsverdict(&["clean", "--dry-run"]).exits(0).shows(&["would remove folder", ".new-bcachefs"]);
    place.fsverdict(&["clean"]).exits(0).shows(&["removed folder", ".new-bcachefs"]);
    assert!(entries(&place).is_empty());
    // The next call removes it, too.
    fs::create_dir_all(tools(&place).join(".new-bcachefs/fetched")).unwrap();
    fs::remove_file(place.path().join("slow")).unwrap();
    fetch(&place, &whole).exits(0);
    assert_eq!(entries(&place), ["bcachefs"]);
}
