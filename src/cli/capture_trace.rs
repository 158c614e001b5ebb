//! `fsverdict capture --trace`: turns another program's recording of a workload into a plan that repeats it, without
//! names of persons or machines.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use fsverdict_judgement::plan::{DEFAULT_CPU, MOST_REPETITIONS};
use fsverdict_judgement::verdict::TooLittle;
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::results::result_writer;
use fsverdict_recordings::{
    Account, CapturedCalls, REFUSAL_SHARE, RecordRequest, STRACE_COMMAND, WARNING_SHARE, recorded_file,
};
use fsverdict_text::{Bytes, Reason};

use super::{CliError, Exit};

/// Reasons that an error shows.
const SHOWN_REASONS: usize = 4;
/// The modelled device that a plan's comment names.
const MODEL: &str = "sata-ssd";
/// The bytes of an image beyond the files of a trace, which filesystems need for themselves.
const MARGIN: u64 = 768 << 20;

#[derive(Debug, Args)]
pub(super) struct TraceCapture {
    /// A recorded workload: a latency log or iolog of fio, the text of blkparse, the output of strace, biosnoop or perf
    /// script, or a trace of fsverdict
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// The folder whose files are kept from a record of strace, by the path that the program used
    #[arg(long, value_name = "FOLDER", requires = "trace")]
    below: Option<PathBuf>,
    /// The span of the device that the plan uses; requests further apart are moved next to each other
    #[arg(long, value_name = "SIZE", requires = "trace", default_value = "1GiB")]
    at_most: Bytes,
    /// The device whose requests are kept, where a record has several: 8,16
    #[arg(long, value_name = "DEVICE", requires = "trace")]
    device: Option<String>,
    /// Replay the recording so many times in each trial, each time on files written again
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u32).range(1..=MOST_REPETITIONS as i64))]
    repeat: Option<u32>,
    /// Print a plan even if more than 20 % of the record's bytes, syncs or lines are lost
    #[arg(long, requires = "trace")]
    partial: bool,
}

impl TraceCapture {
    /// Refuses options that only a recording has, for a folder.
    pub(super) fn refuse_for_folder(&self) -> Result<(), Reason> {
        let given = [
            ("--repeat", self.repeat.is_some()),
            ("--below", self.below.is_some()),
            ("--device", self.device.is_some()),
            ("--partial", self.partial),
        ];
        let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        Err(Reason::new(
            format!("{option} is for a recording, and a folder has no calls to replay"),
            "name the recording in place of the folder: --trace FILE",
        ))
    }
}

pub(super) fn run(path: &Path, arguments: &TraceCapture, name: &str) -> Result<Exit, CliError> {
    let shown = path.display();
    if let Some(number) = path.to_str().filter(|text| text.parse::<u32>().is_ok() && !path.exists()) {
        return Err(CliError::usage(Reason::new(
            format!("there is no file `{number}`, and fsverdict does not attach to running processes"),
            format!(
                "record the process with strace (as root if it is not yours): {STRACE_COMMAND} -p {number}; then: fsverdict capture --trace calls.txt --below FOLDER"
            ),
        )));
    }
    let wanted = RecordRequest {
        below: arguments.below.clone(),
        at_most: arguments.at_most.0,
        device: arguments.device.clone(),
    };
    let recorded = recorded_file(path, &wanted)
        .map_err(|reason| CliError::usage(reason.after(format!("cannot use {shown}: "))))?;
    if !arguments.partial {
        refuse_large_loss(&recorded.account)
            .map_err(|reason| CliError::usage(reason.after(format!("cannot use {shown}: "))))?;
    }
    let repeat = arguments.repeat.unwrap_or(1);
    let short = describe_short_work(&recorded, repeat);
    short.iter().chain(&recorded.account.warnings()).for_each(|why| print_line(&format!("warning: {why}")));
    result_writer().write_all(as_plan(&recorded, name, repeat).as_bytes())?;
    Ok(Exit::Done)
}

/// Refuses a trace that lost a large part of its recording: it is another workload.
fn refuse_large_loss(account: &Account) -> Result<(), Reason> {
    let (share, unit) = account.largest_loss();
    if share <= REFUSAL_SHARE {
        return Ok(());
    }
    let whole = match account.unit {
        "calls" => format!("record it with all calls ({STRACE_COMMAND} PROGRAM)"),
        _ => "record it as a whole, and give the file as the program wrote it".to_owned(),
    };
    Err(Reason::new(
        format!(
            "the trace would lose {} of its recorded {unit}. {}",
            percent(share),
            account.summary(SHOWN_REASONS)
        ),
        format!("{whole}; or accept the loss with --partial"),
    ))
}

/// A share as a whole number of hundredths, and never 0 % or 100 % where it is not.
fn percent(share: f64) -> String {
    let rounded = (share * 100.0).round();
    if share < 1.0 && rounded >= 100.0 {
        return "more than 99 %".to_owned();
    }
    format!("{rounded} %")
}

/// The first line of a plan with a trace that lacks some of its recording, or that may.
fn warning(account: &Account) -> Option<String> {
    let (share, unit) = account.largest_loss();
    let shortened = account.shortened_share();
    let mut sentences = account.warnings();
    if share > WARNING_SHARE {
        sentences.push(format!("This plan lacks {} of the recorded {unit}.", percent(share)));
    }
    if shortened > WARNING_SHARE {
        sentences.push(format!(
            "The last {} of the {} do not fit into a plan.",
            percent(shortened),
            account.unit
        ));
    }
    (!sentences.is_empty()).then(|| format!("# Warning: {}\n", sentences.join(" ")))
}

/// The reason if a replay is too short to decide by, and the repetitions that make it last.
fn describe_short_work(found: &CapturedCalls, repeat: u32) -> Option<String> {
    let once = Some(found.in_calls.as_secs_f64()).filter(|seconds| *seconds > 0.0)?;
    let why = TooLittle::from_seconds(once * f64::from(repeat))?;
    let enough = (TooLittle::LEAST_SECONDS / once).ceil();
    let remedy = match enough <= MOST_REPETITIONS as f64 {
        true => format!("--repeat {enough} makes it last"),
        false => "record more of it".to_owned(),
    };
    Some(format!("{why} ({} calls, by the recording); {remedy}", found.trace.calls().len()))
}

/// A plan that prepares the files that exist before the trace, and makes its calls again.
fn as_plan(found: &CapturedCalls, name: &str, repeat: u32) -> String {
    let totals = found.trace.totals();
    let mut head = warning(&found.account).unwrap_or_default();
    if let Some(why) = describe_short_work(found, repeat) {
        // Writing to a string cannot fail.
        let _ = writeln!(head, "# Warning: {why}.");
    }
    let _ = write!(
        head,
        "# {}, by fsverdict capture --trace: numbers alone, no name and no content.\n\
         # Kept: {} calls in their order, their places and lengths, pauses, and where files lie ({} files of {} before).\n",
        found.form,
        found.trace.calls().len(),
        totals.files,
        Bytes(totals.bytes)
    );
    for note in &found.notes {
        // Writing to a string cannot fail.
        let _ = writeln!(head, "# {note}");
    }
    for line in found.account.to_lines() {
        let _ = writeln!(head, "# {line}");
    }
    head.push_str(
        "# Nor: owners, times, extended attributes, mmap, what was in any file and what it was called.\n",
    );
    let image = totals.most_bytes.saturating_mul(2).saturating_add(MARGIN).next_multiple_of(256 << 20);
    let repeated = match repeat {
        1 => String::new(),
        times => format!("repeat    = {times} # each time on files written again\n"),
    };
    let bare = if found.trace.suits_a_device() {
        "\n# On the bare device, before all other phases: operation = \"device.replay\"; this phase takes no `cold` key and needs no `prepare`.\n"
    } else {
        ""
    };
    format!(
        "{head}
title = \"What was recorded, done again\"
lab   = \"auto\"
# On a modelled device, which a busy machine does not disturb, computation takes the time of this processor:
#   fsverdict run PLAN --device model:{model}@{size}B --set cpu={DEFAULT_CPU}
# On this machine's own device it takes that of this machine's.

[device]
image = \"{image}B\" # {readable}

[goal]
weights = {{ replay = 1 }}

[matrix]
filesystem = [\"ext4\", \"xfs\", \"btrfs\"]

[dataset.{name}]
calls = '''
{calls}'''

[[phase]]
name      = \"prepare\"
operation = \"tree.write\"
dataset   = \"{name}\"

# pace = \"recorded\" keeps the pauses; look at latency_p99 then, and not at the time.
[[phase]]
name      = \"replay\"
operation = \"trace.replay\"
dataset   = \"{name}\"
cold      = true
{repeated}{bare}",
        model = MODEL,
        size = image,
        readable = Bytes(image),
        calls = found.trace,
    )
}

#[cfg(test)]
mod tests {
    use super::{as_plan, describe_short_work};
    use crate::cli::with_vocabulary;
    use fsverdict_judgement::plan::{Overrides, read_with, write};
    use fsverdict_recordings::{RecordRequest, read_record};

    fn plan_of(record: &[u8], below: Option<&str>) -> String {
        let wanted = RecordRequest { below: below.map(Into::into), at_most: 64 << 20, device: None };
        let found = read_record(record, &wanted).unwrap_or_else(|reason| panic!("{reason:?}"));
        let text = as_plan(&found, "captured", 1);
        let read = |text: &str| with_vocabulary(|words| read_with(text, "p", &Overrides::default(), words));
        let plan = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        // What is written of it is the same plan, and what is kept of a run, too.
        assert_eq!(read(&write(&plan)).unwrap(), plan);
        let kept = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<fsverdict_judgement::plan::Plan>(&kept).unwrap(), plan);
        text
    }

    const STRACE: &str = r#"
7 100.000000 openat(AT_FDCWD</srv>, "/srv/db/secret plan\n.db", O_RDWR|O_CREAT, 0644) = 3</srv/db/secret plan\n.db> <0.000100>
7 100.000200 pread64(3</srv/db/secret plan\n.db>, ""..., 4096, 8192) = 4096 <0.000050>
8 100.001000 pwrite64(3</srv/db/secret plan\n.db>, ""..., 4096, 0) = 4096 <0.000050>
7 100.002000 fdatasync(3</srv/db/secret plan\n.db> <unfinished ...>
8 100.002100 mkdir("/srv/db/hidden", 0755) = 0 <0.000010>
7 100.005000 <... fdatasync resumed>) = 0 <0.003000>
7 100.105000 openat(AT_FDCWD</srv>, "db/hidden/wal", O_WRONLY|O_CREAT|O_EXCL|O_APPEND, 0644) = 4</srv/db/hidden/wal> <0.000100>
7 100.106000 write(4</srv/db/hidden/wal>, ""..., 100) = 100 <0.000010>
7 100.107000 write(4</srv/db/hidden/wal>, ""..., 100) = 100 <0.000010>
7 100.108000 close(4</srv/db/hidden/wal>) = 0 <0.000010>
7 100.109000 rename("/srv/db/hidden/wal", "/srv/db/zqx") = 0 <0.000010>
7 100.110000 openat(AT_FDCWD</srv>, "/etc/passwd", O_RDONLY) = 5</etc/passwd> <0.000010>
7 100.111000 newfstatat(AT_FDCWD</srv>, "/srv/db/none", 0x7ffd, 0) = -1 ENOENT (No such file or directory) <0.000010>
7 100.112000 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 3</srv/db/secret plan\n.db>, 0) = 0x7f0 <0.000010>
8 100.113000 +++ exited with 0 +++
7 100.113000 +++ exited with 0 +++
"#;

    #[test]
    fn what_strace_saw_is_a_plan_without_a_name() {
        let text = plan_of(STRACE.as_bytes(), Some("/srv/db"));
        for secret in ["secret", "hidden", "wal", "passwd", "zqx"] {
            assert!(!text.split("[[phase]]").next().unwrap().contains(secret), "{secret}: {text}");
        }
        let calls = text.split("'''").nth(1).unwrap();
        assert_eq!(
            calls,
            "
file 0 15 12288
name 0 6
name 2 3
name 0 3
name 0 4
open 1 1 create
+100 read 1 8192 4096
+750 write 1 0 4096
+1050 mkdir 2
fdatasync 1
+100000 open 2 3 create
+900 write 2 0 100
+990 write 2 100 100
+990 close 2
+990 rename 3 4
+1990 stat 5
+1990 close 1
"
        );
        assert!(text.contains("\n# Not kept: mmap (1), first in line 15: mmap(NULL, 4096"), "{text}");
        assert!(
            text.contains("# Account: 13 calls seen = 11 kept + 1 not kept + 1 outside + 0 unread."),
            "{text}"
        );
    }

    #[test]
    fn a_recording_of_milliseconds_is_warned_of_and_repeated_on_fresh_files() {
        let wanted = RecordRequest { below: Some("/srv/db".into()), at_most: 64 << 20, device: None };
        let found = read_record(STRACE.as_bytes(), &wanted).unwrap();
        let why = describe_short_work(&found, 1).unwrap();
        assert!(
            why.starts_with("all of the work, done once, takes 3.") && why.contains(" ms: too little"),
            "{why}"
        );
        let enough: u32 = why.split_once("--repeat ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
        let text = as_plan(&found, "captured", 2);
        assert!(text.starts_with("# Warning: all of the work, done once, takes 6."), "{text}");
        let plan = with_vocabulary(|words| read_with(&text, "p", &Overrides::default(), words)).unwrap();
        assert_eq!(plan.phases.last().unwrap().repeat, Some(2));
        assert_eq!(describe_short_work(&found, enough), None);
        assert!(!as_plan(&found, "captured", enough).contains("Warning"));
    }

    #[test]
    fn logs_of_fio_and_blkparse_are_plans_with_one_file() {
        let fio = "5, 100000, 1, 4096, 8192, 0\n6, 100000, 1, 4096, 12288, 0\n90, 100000, 0, 4096, 107374182400, 0\n";
        let text = plan_of(fio.as_bytes(), None);
        assert!(text.contains("Folded: ") && text.contains("device.replay"), "{text}");
        assert!(text.contains("write 1 8192 4096\n+900 write 1 12288 4096\n"), "{text}");
        let blkparse = "8,0 1 1 0.001 7 D WS 2048 + 8 [name]\n8,0 1 2 0.002 7 C WS 2048 + 8 [0]\n8,0 1 3 0.002 7 D FF 0 + 0 [n]\n8,0 1 4 0.003 7 C FF 0 + 0 [0]\n";
        let text = plan_of(blkparse.as_bytes(), None);
        assert!(text.contains("write 1 1048576 4096\nfdatasync 1\n") && !text.contains("[name]"), "{text}");
        let iolog = "fio version 2 iolog\nmine.0.0 add\nmine.0.0 open\nmine.0.0 write 0 4096\nmine.0.0 wait 500\nmine.0.0 sync 0 0\nmine.0.0 close\n";
        let text = plan_of(iolog.as_bytes(), None);
        assert!(
            text.contains("file 0 8 4096\nopen 1 1 direct\nwrite 1 0 4096\n+500 fsync 1\nclose 1\n"),
            "{text}"
        );
    }
}
