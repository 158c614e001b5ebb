//! Chooses the kernel of a plan that names none: the newest in the cache that passed its trial and supports the
//! plan's filesystems, layers, clock and prices.

use crate::kernel::{KernelCache, KernelEntry, KernelTrial, way_out};
use fsverdict_judgement::plan::{Candidate, Plan, once_each};

use super::kernel::{Kernel, Provision, parse_configuration};
use super::modelled;

/// Which kernel it is, and why it and no other.
#[derive(Debug, Clone)]
pub struct ByDefault {
    pub entry: KernelEntry,
    pub why: String,
}

/// A cached kernel with its rank for a plan: better kernels compare greater.
struct RankedKernel {
    entry: KernelEntry,
    worth: KernelWorth,
    /// The candidates' filesystems and layers that it does not carry.
    lacks: Vec<String>,
}

/// The worth of a kernel for a plan, by what counts most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KernelWorth {
    keeps_clock: bool,
    /// Whether it counts its computation, so that computation can have a price.
    counts: bool,
    /// How many of the plan's candidates it carries.
    carried: usize,
    is_tried: bool,
    /// Whether it has no part that a plan has to ask for: such a part changes the requests of every filesystem.
    is_plain: bool,
}

/// Chooses the cached kernel for the candidates that name none. A kernel that failed its trial is not considered.
pub fn by_default(plan: &Plan) -> Option<ByDefault> {
    choose_default(plan, KernelCache::of_user().list_kernels())
}

fn choose_default(plan: &Plan, entries: Vec<KernelEntry>) -> Option<ByDefault> {
    let is_meant = |candidate: &&Candidate| plan.kernel_of(candidate).is_none();
    let nameless: Vec<&Candidate> = plan.candidates.iter().filter(is_meant).collect();
    let mut rivals: Vec<RankedKernel> = entries
        .into_iter()
        .filter(|entry| !matches!(entry.facts.trial, Some(KernelTrial::Failed(_))))
        .map(|entry| RankedKernel::from_entry(entry, plan, &nameless))
        .collect();
    // They come in order of their releases, and of equals the last is taken.
    let at = (0..rivals.len()).max_by_key(|at| rivals.get(*at).map(|rival| rival.worth))?;
    let newer: Vec<String> = rivals.drain(at + 1..).map(|rival| rival.why_not()).collect();
    let taken = rivals.pop()?;
    let tried = if taken.worth.is_tried { "tried" } else { "not tried" };
    let mut why = match taken.lacks.as_slice() {
        [] => format!("the newest in the cache that carries all of the plan ({tried})"),
        lacks => format!(
            "of those in the cache it carries most of the plan ({tried}), and nothing for {}",
            lacks.join(", ")
        ),
    };
    for text in newer {
        why.push_str("; ");
        why.push_str(&text);
    }
    Some(ByDefault { entry: taken.entry, why })
}

impl RankedKernel {
    fn from_entry(entry: KernelEntry, plan: &Plan, nameless: &[&Candidate]) -> Self {
        let kernel = at_rest(&entry);
        let keeps_clock = !plan.device.source.is_modelled()
            || modelled::choose_clock(plan.clock, std::iter::once(&kernel)).is_ok()
                && modelled::find_driver(&kernel).is_ok();
        let needs_counting = nameless.iter().any(|candidate| plan.cpu_of(candidate).is_some());
        let unfit = nameless.iter().filter(|candidate| kernel.required_modules(candidate).is_err());
        let lacks = once_each(unfit.clone().map(|candidate| what_it_takes(&kernel, candidate)));
        let worth = KernelWorth {
            keeps_clock,
            counts: entry.facts.counting || !needs_counting,
            carried: nameless.len() - unfit.count(),
            is_tried: entry.facts.trial.is_some(),
            is_plain: entry.facts.zfs.is_none(),
        };
        RankedKernel { entry, worth, lacks }
    }

    /// Why it was not taken although it is newer.
    fn why_not(&self) -> String {
        let name = &self.entry.name;
        if !self.worth.keeps_clock {
            format!("{name} is newer, and cannot keep the plan's clock")
        } else if !self.worth.counts {
            format!("{name} is newer, and does not count what it computes, so that `cpu` cannot price it")
        } else if self.lacks.is_empty() && self.worth.is_tried {
            format!("{name} is newer, and has ZFS, which the plan does not name")
        } else if self.lacks.is_empty() {
            format!("{name} is newer, and was not tried (`fsverdict kernel build` of its sources does)")
        } else {
            format!("{name} is newer, and has nothing for {}", self.lacks.join(", "))
        }
    }
}

/// Names the part of a candidate that this kernel lacks: its filesystem, or something below it.
fn what_it_takes(kernel: &Kernel, candidate: &Candidate) -> String {
    let filesystem = Candidate::with_defaults(&candidate.filesystem);
    if kernel.required_modules(&filesystem).is_err() {
        return candidate.filesystem.clone();
    }
    let scheduler = candidate.scheduler.as_deref().unwrap_or_default();
    if candidate.layers.is_empty() { scheduler.to_owned() } else { candidate.layers.to_string() }
}

/// A kernel in the cache by its configuration there, without its file being read. Nothing is known to be in one that lacks it.
fn at_rest(entry: &KernelEntry) -> Kernel {
    let config = entry.read_configuration().unwrap_or_default();
    let laboratory_modules = entry.find_modules();
    Kernel {
        path: entry.kernel.clone(),
        way_out,
        release: entry.facts.release.clone(),
        modules: None,
        laboratory_modules,
        programs: None,
        configuration: parse_configuration(&String::from_utf8_lossy(&config)),
        seen: true,
        why: None,
        cooperates: false,
    }
}

/// A hint for a kernel without this option: name a cached one that has it, or build one.
pub(super) fn way_to(symbol: &str) -> String {
    let having = |entry: &KernelEntry| at_rest(entry).find_provision(symbol) != Provision::Absent;
    match KernelCache::of_user().list_kernels().into_iter().rfind(having) {
        Some(entry) => format!(
            "the kernel {} in the cache has it: `kernel = \"{}\"` in the plan takes that one",
            entry.name,
            if entry.facts.zfs.is_some() { &entry.name } else { &entry.facts.release }
        ),
        None => way_out(symbol),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::choose_default;
    use crate::kernel::KernelCache;
    use fsverdict_judgement::plan::{Candidate, Plan};

    const FACTS: &str = r#"{"release":"RELEASE","digest":"00000000000000aa","source":"/s","patches":[],"refused":[],"compiler":"gcc","built":"2026-01-01T00:00:00Z"TRIAL}"#;
    const PASSED: &str = r#","trial":{"passed":{"at":"2026-01-01T00:00:00Z","filesystems":["ext4"],"encryptions":[],"without_tools":[],"trace":"0"}}"#;
    const FAILED: &str =
        r#","trial":{"failed":{"at":"2026-01-01T00:00:00Z","what":"a trial of ext4","reason":"panic"}}"#;

    fn put(folder: &Path, release: &str, config: &str, trial: &str) {
        let folder = folder.join(format!("{release}-00000000000000aa"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("linux"), "").unwrap();
        std::fs::write(folder.join("config"), config).unwrap();
        let facts = FACTS.replace("RELEASE", release).replace("TRIAL", trial);
        std::fs::write(folder.join("facts.json"), facts).unwrap();
    }

    fn plan(filesystems: &[&str]) -> Plan {
        let mut plan: Plan =
            serde_json::from_str(include_str!("../../../../tests/runs/demo/plan.json")).unwrap();
        plan.candidates = filesystems.iter().map(|name| Candidate::with_defaults(name)).collect();
        plan
    }

    #[test]
    fn the_newest_that_was_tried_and_carries_all_is_taken() {
        let (ext4, both) = ("CONFIG_EXT4_FS=y\n", "CONFIG_EXT4_FS=y\nCONFIG_REISERFS_FS=y\n");
        let place = tempfile::tempdir().unwrap();
        let taken = |filesystems: &[&str]| {
            let found =
                choose_default(&plan(filesystems), KernelCache::with_folder(place.path()).list_kernels());
            found.map_or((String::new(), String::new()), |found| (found.entry.facts.release, found.why))
        };
        assert_eq!(taken(&["ext4"]).0, "");
        put(place.path(), "6.1.9", both, "");
        assert_eq!(taken(&["ext4"]).0, "6.1.9");
        assert!(taken(&["ext4"]).1.contains("not tried"));
        put(place.path(), "7.2.1", ext4, PASSED);
        put(place.path(), "7.3.0", ext4, "");
        put(place.path(), "8.0.0", both, FAILED);
        let (release, why) = taken(&["ext4"]);
        assert_eq!(release, "7.2.1");
        assert!(why.contains("7.3.0-00000000000000aa is newer, and was not tried"), "{why}");
        assert!(!why.contains("8.0.0"), "{why}");
        // One that was not tried and carries all goes before one that was and does not.
        let (release, why) = taken(&["ext4", "reiserfs"]);
        assert_eq!(release, "6.1.9");
        assert!(why.contains("7.2.1-00000000000000aa is newer, and has nothing for reiserfs"), "{why}");
        put(place.path(), "6.12.9", both, PASSED);
        assert_eq!(taken(&["ext4", "reiserfs"]).0, "6.12.9");
        // A plan with a price of computation has a kernel that counts, also where a newer one does not.
        let priced = || {
            let plan = Plan { cpu: Some("core2".to_owned()), ..plan(&["ext4"]) };
            let found = choose_default(&plan, KernelCache::with_folder(place.path()).list_kernels());
            found.map_or((String::new(), String::new()), |found| (found.entry.facts.release, found.why))
        };
        put(place.path(), "6.12.8", ext4, &format!("{PASSED},\"counting\":true"));
        let (release, why) = priced();
        assert_eq!(release, "6.12.8");
        assert!(why.contains("7.2.1-00000000000000aa is newer, and does not count"), "{why}");
        assert_eq!(taken(&["ext4"]).0, "7.2.1");
        // One with ZFS serves plans that name ZFS, and others only if there is no other.
        let with_zfs = format!("{ext4}CONFIG_ZFS=y\n");
        put(place.path(), "6.12.10", &with_zfs, &format!("{PASSED},\"counting\":true,\"zfs\":\"2.3.2\""));
        assert_eq!(taken(&["zfs", "ext4"]).0, "6.12.10");
        assert_eq!(priced().0, "6.12.8");
        let (release, why) = taken(&["ext4", "reiser4"]);
        assert_eq!(release, "7.2.1");
        assert!(why.contains("nothing for reiser4"), "{why}");
    }
}
