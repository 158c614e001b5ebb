//! What of a place's runs is under way, and what they left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{MARK, Place};

/// A program of a phase has some ten: a shell, sandboxes, agent and conductor.
const ANCESTORS: usize = 20;

impl Place {
    /// The processes of this place, by pid, with their command lines: those with its mark in their environment, and what
    /// they started. An untrusted program has no mark, but a sandbox above it has, and ends with it. Zombies and the
    /// stubs of a guest's kernel have no command line and are left out.
    pub fn processes(&self) -> Vec<(u32, Vec<String>)> {
        let mark = format!("{MARK}={}", self.path().display());
        let is_marked = |pid: u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
        // The parent of each, or itself where it has the mark.
        let parents: BTreeMap<u32, u32> =
            numbers.map(|pid| (pid, if is_marked(pid) { pid } else { parent(pid) })).collect();
        let is_ours = |pid: u32| {
            let ancestors = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
            ancestors.take(ANCESTORS).any(|pid| parents.get(&pid) == Some(&pid))
        };
        let ours = parents.keys().copied().filter(|pid| is_ours(*pid));
        ours.map(|pid| (pid, command_line(pid))).filter(|(_, line)| !line.is_empty()).collect()
    }

    /// The process that does a trial's work: the first below a sandbox whose command line has this word (`agent`);
    /// `linux.uml` stands for a guest's kernel, whatever its file is called.
    #[track_caller]
    pub fn worker(&self, word: &str) -> u32 {
        let processes = self.processes();
        let is_sandbox = |line: &[String]| line.get(1).is_some_and(|word| word == "sandbox");
        let below_a_sandbox = |pid: u32| is_sandbox(&command_line(parent(pid)));
        let is_guest = |given: &str| word == "linux.uml" && given.starts_with("mem=");
        let does =
            |line: &[String]| line.iter().take(2).any(|given| given.ends_with(word) || is_guest(given));
        let found =
            processes.iter().find(|(pid, line)| does(line) && !is_sandbox(line) && below_a_sandbox(*pid));
        found.unwrap_or_else(|| panic!("no {word} is running: {processes:#?}")).0
    }

    /// The loop devices over a file in this place.
    pub fn loop_devices(&self) -> Vec<String> {
        let devices = fs::read_dir("/sys/block").unwrap().flatten();
        let ours = devices.filter(|device| {
            fs::read_to_string(device.path().join("loop/backing_file"))
                .is_ok_and(|file| Path::new(file.trim()).starts_with(self.path()))
        });
        ours.map(|device| device.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Whatever of this place's runs is still there: processes, loop devices, mounts, scratch files.
    pub fn leftovers(&self) -> Vec<String> {
        let mut left: Vec<String> =
            self.processes().into_iter().map(|(pid, line)| format!("process {pid}: {line:?}")).collect();
        left.extend(self.loop_devices().into_iter().map(|name| format!("loop device {name}")));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let folder = self.path().to_str().unwrap();
        left.extend(mounts.lines().filter(|line| line.contains(folder)).map(|line| format!("mount {line}")));
        let scratch = self.path().join("cache/fsverdict");
        let files = fs::read_dir(scratch).into_iter().flatten().flatten();
        let files = files.filter(|file| !["kernels", "tools"].iter().any(|kept| file.file_name() == *kept));
        left.extend(files.map(|file| format!("file {}", file.path().display())));
        left
    }

    /// Nothing of this place's runs may be there, at the latest in some seconds: a device that fails under load is let go late.
    #[track_caller]
    pub fn is_left_clean(&self) {
        let patience = Instant::now() + Duration::from_secs(15);
        loop {
            let left = self.leftovers();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < patience, "left behind: {left:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn command_line(pid: u32) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = text.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn parent(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}
