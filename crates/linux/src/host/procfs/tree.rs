//! The processes below another one, and the processor time that they have had together.

use std::time::Duration;

use crate::host::root::{Root, names_in};

use super::ProcessStat;

/// Largest number of processes that are read at a time.
const MOST_PROCESSES: usize = 200;

/// The process `first` and those below it, up to `MOST_PROCESSES`.
pub fn process_tree(root: &Root, first: u32) -> Vec<ProcessStat> {
    let mut waiting = vec![first];
    let mut processes = Vec::new();
    while let Some(process) = waiting.pop().filter(|_| processes.len() < MOST_PROCESSES) {
        processes.extend(ProcessStat::read(root, process));
        waiting.extend(child_processes(root, process));
    }
    processes
}

/// The processes that the threads of `process` have started and not yet waited for.
pub fn child_processes(root: &Root, process: u32) -> Vec<u32> {
    let threads = names_in(&root.path(format!("proc/{process}/task")));
    let children = threads.into_iter().flat_map(|thread| {
        let text = root.text(format!("proc/{process}/task/{thread}/children"));
        text.unwrap_or_default().split_whitespace().flat_map(str::parse).collect::<Vec<u32>>()
    });
    children.collect()
}

/// The processor time, user and system, of the process `first` and all below it, ended ones included that were waited for.
pub fn processor_time(root: &Root, first: u32) -> Duration {
    let ticks: u64 = process_tree(root, first).iter().map(ProcessStat::all_ticks).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::processor_time;
    use crate::host::root::fake_root;

    #[test]
    fn the_time_of_a_process_includes_that_of_all_below_it() {
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        // User and system time of its own, then of the children it has waited for.
        let stat = |pid: u32, parent: u32| {
            let times = format!("{ticks_per_second} {ticks_per_second} {ticks_per_second} 0");
            let text = format!("{pid} (exe) S {parent} 1 1 0 -1 0 1 2 3 4 {times} 20 0 1 0 500 1000 1");
            (format!("proc/{pid}/stat"), text)
        };
        let children =
            |pid: u32, children: &str| (format!("proc/{pid}/task/{pid}/children"), children.to_owned());
        let files = [stat(7, 1), stat(8, 7), stat(9, 8), stat(10, 1), children(7, "8 "), children(8, "9 ")];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let (_folder, root) = fake_root(&files);
        assert_eq!(processor_time(&root, 7), Duration::from_secs(9));
        assert_eq!(processor_time(&root, 9), Duration::from_secs(3));
        assert_eq!(processor_time(&root, 11), Duration::ZERO, "it does not exist");
    }
}
