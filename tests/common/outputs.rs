//! Every command that writes a file which the user names, or files of a run, and how it is told where.

use std::fs;
use std::path::Path;

use fsverdict_disk::device::trace::{Flags, TraceWriter, Traced};
use fsverdict_disk::device::{Action, Completion, Request};
use fsverdict_folders::FolderHandle;
use fsverdict_lab::lab::TraceFile;

use super::Place;
use super::carried::exported;
use super::shards::{shard, shared_run};

/// A command, with `{}` where the folder of its output stands.
#[derive(Debug, Clone, Copy)]
pub struct Writer {
    pub arguments: &'static [&'static str],
    /// What it writes into that folder.
    pub writes: &'static [&'static str],
}

/// The class: whoever adds an output adds it here.
pub const WRITERS: [Writer; 20] = [
    Writer { arguments: &["report", "run", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["report", "run", "--format", "html", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["report", "run", "--format", "markdown", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["report", "run", "--format", "csv", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["report", "run", "--format", "json", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["report", "{}/run", "--open"], writes: &["run/report.html"] },
    Writer { arguments: &["compare", "run", "other", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["compare", "run", "other", "--format", "html", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["trace", "run", "ext3", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["trace", "run", "ext3", "--format", "csv", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["trace", "run", "ext3", "--format", "iolog", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["trace", "run", "ext3", "--format", "blktrace", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["bundle", "run", "-o", "{}/out"], writes: &["out"] },
    Writer { arguments: &["bundle", "run", "--with-names", "-o", "{}/out"], writes: &["out"] },
    Writer {
        arguments: &["calibrate", "--against", "trace.txt", "--model", "sata-ssd", "-o", "{}/out"],
        writes: &["out"],
    },
    Writer {
        arguments: &["calibrate", "--against", "trace.txt", "--model", "hdd-7200", "--fit={}/out"],
        writes: &["out"],
    },
    Writer { arguments: &["ask", "mail", "on", "hdd", "--plan", "{}/out", "--dry-run"], writes: &["out"] },
    Writer { arguments: &["man", "{}"], writes: &["fsverdict.1"] },
    Writer {
        arguments: &["merge", "{}/shared"],
        writes: &["shared/journal.jsonl", "shared/report.html", "shared/report.md", "shared/report.json"],
    },
    Writer { arguments: &["kernel", "export", "6.13.1", "{}/out"], writes: &["out"] },
];

impl Writer {
    /// The arguments with this folder.
    pub fn arguments_below(&self, folder: &str) -> Vec<String> {
        self.arguments.iter().map(|word| word.replace("{}", folder)).collect()
    }
}

/// What the commands read, beside the folder `into`: a run, a trace of a device, and, in that folder, what is written to where it lies.
pub fn inputs(place: &Place, into: &Path) {
    place.recorded();
    place.recorded_as("other");
    exported(place);
    let run = place.path().join("run");
    fs::create_dir(run.join("traces")).unwrap();
    let file = TraceFile::for_trial(&FolderHandle::open(&run).unwrap(), "ext3", 1, 1);
    let mut writer = TraceWriter::new(fs::File::create(file.path()).unwrap(), u64::MAX).unwrap();
    for id in 0..1000 {
        let request = Request { id, operation: Action::Write, sector: id * 64, sectors: 8 };
        let submitted_ns = id * 1_000_000;
        let done = Completion { request, submitted_ns, completed_ns: submitted_ns + 500_000 };
        writer.record(&Traced::done(&done, Flags::default())).unwrap();
    }
    writer.finish().unwrap();
    let line = |at: u64| {
        format!("R {} 8 {} 10000\nR {} 8 400 10000\n", at * 506_816, 9000 + at * 100, at * 506_816 + 8)
    };
    fs::write(place.path().join("trace.txt"), (0..50).map(line).collect::<String>()).unwrap();
    fs::create_dir_all(into.join("run")).unwrap();
    for name in ["plan.json", "journal.jsonl"] {
        fs::copy(run.join(name), into.join("run").join(name)).unwrap();
    }
    shared_run(&into.join("shared"), 1);
    shard(&into.join("shared"), ("a", 1), ("", 1.0));
}

/// What lies in the folder, and how it begins and how long it is.
pub fn listed(folder: &Path) -> Vec<(String, u64, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            found.push((name, bytes.len() as u64, bytes.into_iter().take(4096).collect()));
        }
    }
    found.sort();
    found
}
