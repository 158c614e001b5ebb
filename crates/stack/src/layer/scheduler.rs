//! The I/O schedulers a device can be set to through `/sys/block/DEVICE/queue/scheduler`.

/// An I/O scheduler of the multi-queue block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduler {
    /// Its name in sysfs and in plans.
    pub name: &'static str,
    pub summary: &'static str,
    /// The kernel configuration symbol and module that provide it; `None` if it is always present.
    pub driver: Option<(&'static str, &'static str)>,
}

/// Every scheduler of today's kernels.
pub const SCHEDULERS: [Scheduler; 4] = [
    Scheduler {
        name: "bfq",
        summary: "Shares the device among processes by budgets; for disks and slow flash where waiting is felt.",
        driver: Some(("CONFIG_IOSCHED_BFQ", "bfq")),
    },
    Scheduler {
        name: "kyber",
        summary: "Throttles queues to latency targets; for fast devices.",
        driver: Some(("CONFIG_MQ_IOSCHED_KYBER", "kyber-iosched")),
    },
    Scheduler {
        name: "mq-deadline",
        summary: "Sorts requests by sector within a deadline; the kernel's usual choice for devices with one queue.",
        driver: Some(("CONFIG_MQ_IOSCHED_DEADLINE", "mq-deadline")),
    },
    Scheduler {
        name: "none",
        summary: "First in, first out; the kernel's usual choice for devices with many queues.",
        driver: None,
    },
];

pub fn find_scheduler(name: &str) -> Option<Scheduler> {
    SCHEDULERS.into_iter().find(|scheduler| scheduler.name == name)
}

#[cfg(test)]
mod tests {
    use super::{SCHEDULERS, find_scheduler};

    #[test]
    fn schedulers_are_sorted_found_and_documented() {
        assert!(SCHEDULERS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for scheduler in SCHEDULERS {
            assert_eq!(find_scheduler(scheduler.name), Some(scheduler));
            assert!(scheduler.summary.ends_with('.'), "{}", scheduler.name);
            assert_eq!(scheduler.driver.is_none(), scheduler.name == "none");
        }
        assert_eq!(find_scheduler("cfq"), None);
    }
}
