//! Recordings in forms that are not read, told by their structure, so that the refusal names them.

use fsverdict_text::Reason;

use super::strace::STRACE_COMMAND;

/// Lines at the beginning that are looked at.
const LOOKED_AT: usize = 60;

/// A form that is known, and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherForm {
    /// `[   1:   1] name X openat(AT_FDCWD /, …) = 3 (0x3) (21µs)`
    Gvisor,
    /// `  0.012 ( 0.003 ms): name/812 openat(dfd: CWD, …) = 3`
    PerfTrace,
    /// `% time     seconds  usecs/call     calls    errors syscall`: how often each call was made, and none of them.
    StraceSummary,
    /// `Device            r/s     rkB/s …`: rates and sizes, of which no request is known.
    Iostat,
}

/// The form of a recording, if it is one of these.
pub(super) fn find_form(beginning: &[u8]) -> Option<OtherForm> {
    let beginning = String::from_utf8_lossy(beginning);
    beginning.lines().take(LOOKED_AT).find_map(|line| {
        if is_gvisor(line) {
            return Some(OtherForm::Gvisor);
        }
        if is_strace_summary(line) {
            return Some(OtherForm::StraceSummary);
        }
        if is_iostat(line) {
            return Some(OtherForm::Iostat);
        }
        is_perf_trace(line).then_some(OtherForm::PerfTrace)
    })
}

/// A task in brackets, the name of its program, and whether a call is entered or left: `[   1:   1] name X openat(`.
fn is_gvisor(line: &str) -> bool {
    let tasks = line.match_indices('[').filter_map(|(at, _)| line[at + 1..].split_once(']'));
    let is_number = |text: &str| {
        let text = text.trim();
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    tasks.into_iter().any(|(task, rest)| {
        let two =
            task.split_once(':').is_some_and(|(process, thread)| is_number(process) && is_number(thread));
        let called = [" X ", " E "].iter().filter_map(|mark| rest.split_once(mark)).any(|(_, call)| {
            let name = call.split('(').next().unwrap_or_default();
            let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            call.contains('(') && !name.is_empty() && letters
        });
        two && called
    })
}

/// Milliseconds since the beginning, how long it took in brackets, and the program with its number: `0.012 ( 0.003 ms): name/812 read(`.
fn is_perf_trace(line: &str) -> bool {
    let Some((since, rest)) = line.trim_start().split_once('(') else { return false };
    let Some((took, rest)) = rest.split_once("):") else { return false };
    let took = took.trim();
    let lasted = took.strip_suffix("ms").is_some_and(|number| number.trim().parse::<f64>().is_ok());
    since.trim().parse::<f64>().is_ok() && (lasted || took.is_empty()) && rest.contains('(')
}

/// The heading of strace -c. With -C it stands below the calls.
fn is_strace_summary(line: &str) -> bool {
    line.trim_start().starts_with("% time") && line.trim_end().ends_with("syscall")
}

/// The heading of iostat(1), of any version, with `-x` or without.
fn is_iostat(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next().is_some_and(|first| first.trim_end_matches(':') == "Device")
        && words.any(|word| ["r/s", "tps"].contains(&word))
}

impl OtherForm {
    pub(super) fn to_reason(self) -> Reason {
        let strace = format!("record the program with strace: {STRACE_COMMAND} PROGRAM");
        let (form_name, hint) = match self {
            OtherForm::Gvisor => ("a log of gVisor's (runsc --strace)", strace),
            OtherForm::PerfTrace => ("the output of perf trace", strace),
            OtherForm::StraceSummary => ("the summary of strace -c or -C, sums without the calls", strace),
            OtherForm::Iostat => (
                "the output of iostat, averages that do not say which requests there were",
                "record the requests themselves: perf record -a -e 'block:block_rq_*' sleep 60; perf script > FILE (root)".to_owned(),
            ),
        };
        Reason::new(format!("this is {form_name}, and cannot be converted into a trace"), hint)
    }
}

#[cfg(test)]
mod tests {
    use super::{OtherForm, find_form};
    use crate::{RecordRequest, read_record};

    /// Lines as each of the programs prints them.
    const EXAMPLES: [(OtherForm, &str, &str); 5] = [
        (
            OtherForm::Iostat,
            "iostat",
            "Linux 6.1.0 (vm)\n\nDevice            r/s     rkB/s\nsda 900,00   9000,00\n",
        ),
        (
            OtherForm::StraceSummary,
            "strace -c",
            "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n 62.10    0.000072          12         6           write\n",
        ),
        (OtherForm::Iostat, "iostat", "Device:  tps kB_read/s kB_wrtn/s\nsda 1 1 1\n"),
        (
            OtherForm::Gvisor,
            "gVisor",
            "I0603 15:07:07.655424       1 strace.go:587] [   1:   1] python3 E openat(AT_FDCWD /, 0x7f41 /srv/db/a, O_RDWR|O_CREAT, 0o600)\nI0603 15:07:07.655500       1 strace.go:625] [   1:   1] python3 X openat(AT_FDCWD /, 0x7f41 /srv/db/a, O_RDWR|O_CREAT, 0o600) = 3 (0x3) (23.4µs)\n",
        ),
        (
            OtherForm::PerfTrace,
            "perf trace",
            "     0.000 ( 0.012 ms): python3/812 openat(dfd: CWD, filename: 0x7f41, flags: RDWR|CREAT) = 3\n     0.030 (         ): python3/812 write(fd: 3, buf: 0x7f41, count: 100) ...\n",
        ),
    ];

    #[test]
    fn forms_that_are_not_read_are_refused_by_their_names() {
        for (form, name, text) in EXAMPLES {
            assert_eq!(find_form(text.as_bytes()), Some(form), "{text}");
            let wanted = RecordRequest { below: Some("/srv/db".into()), at_most: 1 << 20, device: None };
            let refused = read_record(text.as_bytes(), &wanted).unwrap_err();
            assert!(refused.what.contains(name) && !refused.what.contains("log_offset"), "{refused:?}");
        }
        for other in
            ["1, 2, 0, 4096, 0", "8,0 1 1 0.5 7 D R 1 + 2 [x]", "R 1 2 3 4", "0,4096,4096", "[1:2] x"]
        {
            assert_eq!(find_form(other.as_bytes()), None, "{other}");
        }
    }
}
