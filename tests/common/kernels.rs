//! Scripts in the place of kernels: what a kernel says of itself is read from the bytes of its file, and a script that ends
//! before them may have those of any kernel behind it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Place;

/// Options without which no guest starts, and a filesystem.
pub const OPTIONS: [&str; 5] = ["HOSTFS", "PID_NS", "BLK_DEV_UBD", "SSL", "EXT4_FS"];

/// The strings of a kernel with these options.
pub fn strings(release: &str, options: &[&str]) -> Vec<u8> {
    let banner = format!("Linux version {release} (me@here) (cc) #1\n\0");
    let options = options.iter().map(|option| format!("CONFIG_{option}=y\n\0"));
    [banner].into_iter().chain(options).collect::<String>().into_bytes()
}

/// A program `kernel` that does what the script says, and has these bytes behind it.
pub fn script(place: &Place, script: &str, bytes: &[u8]) -> PathBuf {
    let path = place.path().join("kernel");
    fs::write(&path, [format!("#!/bin/sh\n{script}\nexit\n\0").as_bytes(), bytes].concat()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A program that does this first, and then is the kernel at `kernel`.
pub fn wrapped(place: &Place, first: &str, kernel: &Path) -> PathBuf {
    let kernel = kernel.canonicalize().unwrap();
    let modules = kernel.with_file_name("modules");
    if modules.is_dir() {
        std::os::unix::fs::symlink(modules, place.path().join("modules")).unwrap();
    }
    let line = format!("{first}\nexec {} \"$@\"", kernel.display());
    script(place, &line, &fs::read(&kernel).unwrap())
}
