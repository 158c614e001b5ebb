//! A browser that only notes what it was to open.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Place;

/// A browser that only notes what it was to open.
pub fn browser(place: &Place) -> (String, PathBuf) {
    let (program, seen) = (place.path().join("browser"), place.path().join("seen"));
    fs::write(&program, format!("#!/bin/sh\necho \"$1\" >'{0}.new' && mv '{0}.new' '{0}'\n", seen.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (format!("/nowhere/browser:{}", program.display()), seen)
}

pub fn opened(seen: &Path) -> String {
    let patience = Instant::now() + Duration::from_secs(10);
    while !seen.exists() {
        assert!(Instant::now() < patience, "the browser was not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::read_to_string(seen).unwrap().trim_end().to_owned()
}
