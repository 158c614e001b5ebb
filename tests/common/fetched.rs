//! Stand-ins for apt-get, apt-cache and dpkg-deb, and packages of tools that consist of shell scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Place, Seen};

/// The loader of such a package: it runs the program that it is given, under the name that it is given.
pub const LOADER: &str =
    "#!/bin/sh\nname=$2; shift 4; program=$1; shift\nNAME=$name exec \"$program\" \"$@\"\n";
/// A program that says its name and its arguments.
pub const TOOL: &str = "#!/bin/sh\necho \"fetched 9.9.9 as $NAME $*\"\n";

pub fn write_script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Where packages have the loader, and its name.
pub fn loader_path() -> String {
    format!("./usr/lib/{}-linux-gnu/ld-linux-here.so.2", std::env::consts::ARCH)
}

/// `fsverdict tools …` with the stand-ins, which give this package. A file `offline` or `slow` in the place makes
/// apt-get fail or wait.
pub fn command(place: &Place, package: &[u8], arguments: &[&str]) -> Command {
    let (folder, at) = (place.path().join("client"), place.path().display().to_string());
    fs::create_dir_all(&folder).unwrap();
    fs::write(place.path().join("package"), package).unwrap();
    let client = format!(
        "#!/bin/sh\ncase \" $* \" in\n\
         *' update '*) [ ! -e {at}/offline ] || {{ echo 'E: Could not resolve the archive' >&2; exit 100; }};;\n\
         *' download '*) [ ! -e {at}/offline ] || {{ echo 'E: Could not resolve the archive' >&2; exit 100; }}\n\
         [ ! -e {at}/slow ] || {{ touch {at}/waited; exec sleep 300; }}\n\
         cp {at}/package 'bcachefs-tools_1%3a9.9.9-1_all.deb';;\nesac\n"
    );
    write_script(&folder.join("apt-get"), &client);
    let shown = "#!/bin/sh\ncase \" $* \" in\n*' bcachefs-tools '*) echo 'Depends: libx (>= 2), python3:any';;\n*) echo 'Package: libx';;\nesac\n";
    write_script(&folder.join("apt-cache"), shown);
    write_script(&folder.join("dpkg-deb"), "#!/bin/sh\nexec gzip -dc \"$2\"\n");
    let mut command = place.command(&[&["tools"], arguments].concat());
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    command
}

pub fn fetch(place: &Place, package: &[u8]) -> Seen {
    Seen::of(&command(place, package, &["bcachefs"]).output().unwrap())
}

/// The folder of fetched tools of a place.
pub fn tools(place: &Place) -> PathBuf {
    place.path().join("cache/fsverdict/tools")
}
