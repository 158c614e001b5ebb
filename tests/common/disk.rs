//! A disk of a test's own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Place, not_run, tool};

/// A file with a loop device on top: to a program a real block device. Both go when it does.
pub struct Disk {
    pub file: PathBuf,
    pub device: String,
}

impl Disk {
    pub fn new(place: &Place, name: &str, bytes: u64) -> Disk {
        let file = place.path().join(name);
        fs::File::create(&file).unwrap().set_len(bytes).unwrap();
        let device = tool(&["losetup", "--find", "--show", file.to_str().unwrap()]);
        Disk { file, device }
    }

    /// `loop7`.
    pub fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    /// Where its I/O scheduler is set, what stands there, and another that is offered; none if there is no other.
    pub fn another_scheduler(&self) -> Option<(String, String, String)> {
        let setting = format!("/sys/block/{}/queue/scheduler", self.name());
        let before = fs::read_to_string(&setting).unwrap();
        let other = before.split_whitespace().find(|name| !name.starts_with('[')).map(str::to_owned);
        if other.is_none() {
            not_run(&format!("this kernel offers loop devices one scheduler only: {before}"));
        }
        Some((setting, before, other?))
    }

    /// Every byte of it, as it lies in the file.
    pub fn bytes(&self) -> Vec<u8> {
        tool(&["blockdev", "--flushbufs", &self.device]);
        fs::read(&self.file).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}
