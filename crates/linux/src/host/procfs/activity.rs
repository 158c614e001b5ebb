//! Describes the activity of running programs.

use crate::host::root::{Root, names_in};

use super::process::ProcessStat;

/// More programs than this are not named.
const MOST_TOLD: usize = 3;

/// Describes the childless programs below a process: `cp was waiting for a disk (in folio_wait_bit)`. `None` if there
/// are none.
pub fn describe_activity(root: &Root, ancestor: u32) -> Option<String> {
    let processes: Vec<ProcessStat> = names_in(&root.path("proc"))
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|name| ProcessStat::read(root, name).ok())
        .collect();
    let parent =
        |pid: &u32| processes.iter().find(|process| process.pid == *pid).map(|process| process.parent);
    let below = |pid: u32| std::iter::successors(Some(pid), parent).skip(1).any(|pid| pid == ancestor);
    let last = processes
        .iter()
        .filter(|process| below(process.pid) && !processes.iter().any(|other| other.parent == process.pid));
    let shown: Vec<String> = last.take(MOST_TOLD).map(|process| describe_process(root, process)).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

fn describe_process(root: &Root, process: &ProcessStat) -> String {
    let at = root.text(format!("proc/{}/wchan", process.pid)).unwrap_or_default();
    let at = if matches!(at.trim(), "" | "0") { String::new() } else { format!(" (in {})", at.trim()) };
    // Our own program is started by this name.
    let name = if process.name == "exe" { "fsverdict itself" } else { &process.name };
    let state = match process.state {
        'R' => "was running",
        'D' => "was waiting for a disk",
        'T' | 't' => "was stopped",
        _ => "was waiting",
    };
    format!("{name} {state}{at}")
}

#[cfg(test)]
mod tests {
    use super::describe_activity;
    use crate::host::root::fake_root;

    #[test]
    fn the_last_programs_below_a_process_are_told_of() {
        let rest = "1 1 0 -1 0 1 2 3 4 11 12 13 14 20 0 1 0 500 1000 1";
        let stat = |pid: u32, name: &str, state: &str, parent: u32| {
            (format!("proc/{pid}/stat"), format!("{pid} ({name}) {state} {parent} {rest}"))
        };
        let mut files = vec![
            stat(7, "exe", "S", 1),
            stat(8, "sh", "S", 7),
            stat(9, "a ) (b", "D", 8),
            stat(10, "exe", "R", 7),
            stat(11, "other", "R", 1),
        ];
        files.push(("proc/9/wchan".to_owned(), "folio_wait_bit".to_owned()));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
        let (_folder, root) = fake_root(&files);
        let shown = describe_activity(&root, 7).unwrap();
        let mut shown: Vec<&str> = shown.split(", ").collect();
        shown.sort_unstable();
        assert_eq!(
            shown,
            ["a ) (b was waiting for a disk (in folio_wait_bit)", "fsverdict itself was running"]
        );
        assert_eq!(describe_activity(&root, 11), None);
    }
}
