//! Reads what `zpool status` prints of one pool that was scrubbed (zpool-status(8)).

use super::exit::FsckStatus;

/// What was found. An error that was repaired is one that was there: the devices did not return what was written to them.
pub(super) fn judge_status(text: &str) -> FsckStatus {
    let value = |key: &str| {
        let mut lines = text.lines().map(str::trim_start);
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    };
    let (Some(state), Some(scan), Some(errors)) = (value("state"), value("scan"), value("errors")) else {
        return FsckStatus::OperationalError;
    };
    if errors != "No known data errors" || !scan.contains(" with 0 errors ") {
        return FsckStatus::ErrorsLeft;
    }
    let was_wrong = counted_errors(text).is_some() || !scan.starts_with("scrub repaired 0B ");
    match state {
        "ONLINE" | "DEGRADED" if was_wrong => FsckStatus::Corrected,
        "ONLINE" | "DEGRADED" => FsckStatus::Clean,
        _ => FsckStatus::ErrorsLeft,
    }
}

/// The lines about errors of a device, as one line; none where no error was counted since the import.
pub fn counted_errors(text: &str) -> Option<String> {
    let wrong = device_lines(text).filter(|line| counts_in(line).any(|count| count != "0"));
    let lines: Vec<String> =
        wrong.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    (!lines.is_empty()).then(|| format!("read, write and checksum errors: {}", lines.join(", ")))
}

/// The lines of the table of devices.
fn device_lines(text: &str) -> impl Iterator<Item = &str> {
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("NAME "));
    table.skip(1).take_while(|line| !line.trim().is_empty())
}

/// The errors of reading, of writing and of checksums, which follow a device's name and state.
fn counts_in(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().skip(2).take(3)
}

#[cfg(test)]
mod tests {
    use super::{counted_errors, judge_status};
    use crate::filesystem::FsckStatus;

    /// What OpenZFS 2.3.2 printed of pools of the laboratory kernel.
    const CLEAN: &str = "  pool: fsverdict-vda\n state: ONLINE\n  scan: scrub repaired 0B in 00:00:01 with 0 errors on Fri Nov 27 08:00:00 2026\nconfig:\n\n\tNAME             STATE     READ WRITE CKSUM\n\tfsverdict-vda    ONLINE       0     0     0\n\t  fsverdict/vda  ONLINE       0     0     0\n\nerrors: No known data errors\n";

    #[test]
    fn errors_of_a_scrub_are_seen_in_what_is_printed() {
        assert_eq!(judge_status(CLEAN), FsckStatus::Clean);
        for (from, to, expected) in [
            ("repaired 0B", "repaired 84.2M", FsckStatus::Corrected),
            (
                "fsverdict/vda  ONLINE       0     0     0",
                "fsverdict/vda  ONLINE       0     0   706",
                FsckStatus::Corrected,
            ),
            ("with 0 errors", "with 3 errors", FsckStatus::ErrorsLeft),
            ("No known data errors", "3 data errors, use '-v' for a list", FsckStatus::ErrorsLeft),
            ("state: ONLINE", "state: FAULTED", FsckStatus::ErrorsLeft),
            ("  scan:", "  none:", FsckStatus::OperationalError),
        ] {
            assert_eq!(judge_status(&CLEAN.replace(from, to)), expected, "{to}");
        }
        assert_eq!(judge_status(""), FsckStatus::OperationalError);
    }

    #[test]
    fn counted_errors_are_those_of_the_devices() {
        assert_eq!(counted_errors(CLEAN), None);
        let one = CLEAN.replace(
            "fsverdict/vda  ONLINE       0     0     0",
            "fsverdict/vda  ONLINE       0     0   706",
        );
        assert_eq!(
            counted_errors(&one).unwrap(),
            "read, write and checksum errors: fsverdict/vda ONLINE 0 0 706"
        );
    }
}
