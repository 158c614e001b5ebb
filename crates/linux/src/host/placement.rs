//! Chooses processors. If processes of a guest kernel migrate between processors, every traced system call crosses
//! processors: the same trial then takes up to twice as long, by chance.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use fsverdict_judgement::journal::Facts;

/// The processors of one trial's guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Of the guest kernel and its helper processes.
    pub guest: usize,
    /// The processor of the helper threads that read a guest's events and console. The same processor if only one is
    /// allowed.
    pub server: usize,
}

impl Placement {
    /// The last processor that this thread may use for the guest (interrupts go to the first by default), and the one
    /// before it for the helper threads.
    ///
    /// # Errors
    /// When the kernel does not say which are allowed, or allows none.
    pub fn choose_processors() -> std::io::Result<Self> {
        let allowed = sched_getaffinity(None)?;
        let mut processors = (0..CpuSet::MAX_CPU).rev().filter(|number| allowed.is_set(*number));
        let guest = processors.next().ok_or(rustix::io::Errno::NODEV)?;
        Ok(Placement { guest, server: processors.next().unwrap_or(guest) })
    }

    /// One placement for each processor that this thread may use, the last one first: a guest together with its
    /// helpers. For guests that stop their clocks while they wait for each other.
    pub fn every_placement() -> std::io::Result<Vec<Self>> {
        let allowed = sched_getaffinity(None)?;
        let processors = (0..CpuSet::MAX_CPU).rev().filter(|number| allowed.is_set(*number));
        Ok(processors.map(|number| Placement { guest: number, server: number }).collect())
    }

    pub fn to_facts(&self) -> Facts {
        [
            ("lab.cpu_of_guest".to_owned(), self.guest.to_string()),
            ("lab.cpu_of_conductor".to_owned(), self.server.to_string()),
        ]
        .into()
    }
}

/// This thread on one processor, with every process and thread it starts, until this is dropped.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    pub fn pin_to(processor: usize) -> std::io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // These processors were allowed a moment ago; if they are not any more, nothing can be mended here.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::{Pinned, Placement};

    #[test]
    fn a_thread_and_its_children_are_on_one_processor_for_a_while() {
        let before = sched_getaffinity(None).unwrap();
        let placement = Placement::choose_processors().unwrap();
        let pinned = Pinned::pin_to(placement.guest).unwrap();
        let seen = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap();
        let seen = String::from_utf8(seen.stdout).unwrap();
        let allowed = seen.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).unwrap();
        assert_eq!(allowed, placement.guest.to_string());
        drop(pinned);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
