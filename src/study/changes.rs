//! Compares the conditions of a resumed run with those of its beginning. Some differences are forbidden, because trials
//! before and after them could not be compared; others become cautions.

use fsverdict_judgement::journal::{Facts, Header};

/// Facts that must not change: with another kernel, processor or device, the same filesystem has other results.
const BINDING: [(&str, &str); 9] = [
    ("lab.kernel_release", "kernel of the guest"),
    ("kernel.machine", "architecture"),
    ("cpu.model", "processor"),
    ("cpu.count", "number of processors"),
    ("device.kind", "kind of device"),
    ("device.identity", "device"),
    ("device.model", "model of the device"),
    ("device.file_below", "file below the loop device"),
    ("device.size", "size of the device"),
];
/// The fact that must not change for native trials either; a guest has a kernel of its own.
const NATIVE_KERNEL: (&str, &str) = ("kernel.release", "kernel");
/// Facts that do not affect results: names that may change, and choices that are made again each time.
const FREE: [&str; 7] = [
    "device.path",
    "device.folder",
    "device.description",
    "lab.cpu_of_guest",
    "lab.cpu_of_conductor",
    "lab.jobs",
    "lab.kernel_choice",
];

/// The differences from the beginning of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Differences with which the run cannot continue, each as a sentence.
    pub forbidden: Vec<String>,
    /// Differences with which it can continue, as cautions for its reader.
    pub cautions: Vec<String>,
}

impl Changes {
    /// Compares the beginning of a run with the current digest of its plan and the current facts.
    pub fn since(header: &Header, plan_digest: &str, now: &Facts) -> Self {
        let before = &header.environment;
        let mut changes = Changes::default();
        let version = "fsverdict.version";
        // Another version of fsverdict may serialise the same plan differently, or may interpret it differently.
        if plan_digest != header.plan_digest {
            changes.forbidden.push(if before.get(version) == now.get(version) {
                "the plan (plan.json) was changed after the run had begun".to_owned()
            } else {
                "this version of fsverdict understands the plan otherwise than the one that began".to_owned()
            });
        }
        let native = (header.lab == "native").then_some(NATIVE_KERNEL);
        let binding: Vec<(&str, &str)> = BINDING.into_iter().chain(native).collect();
        for (name, was) in before {
            let Some(is) = now.get(name).filter(|is| *is != was) else { continue };
            let name = &without_device_number(name);
            if let Some((_, what)) = binding.iter().find(|(known, _)| known == name) {
                changes.forbidden.push(format!("another {what}: it was {was}, and is {is} now"));
            } else if !FREE.contains(&name.as_str()) {
                changes
                    .cautions
                    .push(format!("carried on with another {name}: it was {was}, and is {is} now"));
            }
        }
        changes
    }
}

/// The name of a fact without the number of its device: `device.size` for `device.2.size`.
fn without_device_number(fact: &str) -> String {
    let numbered = fact.strip_prefix("device.").and_then(|rest| rest.split_once('.'));
    match numbered {
        Some((number, rest)) if number.parse::<usize>().is_ok() => format!("device.{rest}"),
        _ => fact.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Changes;
    use fsverdict_judgement::journal::{Facts, Run};
    use fsverdict_judgement::plan::{Plan, digest};

    #[test]
    fn what_may_not_differ_is_refused_and_what_may_is_said() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo/");
        let plan: Plan =
            serde_json::from_str(&std::fs::read_to_string(format!("{folder}plan.json")).unwrap()).unwrap();
        let mut run = Run::read(&plan, std::path::Path::new(&format!("{folder}journal.jsonl"))).unwrap();
        run.header.plan_digest = digest(&plan);
        run.header.environment.insert("device.identity".to_owned(), "disk-1".to_owned());
        run.header.environment.insert("device.2.identity".to_owned(), "disk-3".to_owned());
        run.header.environment.insert("device.2.folder".to_owned(), "/here".to_owned());
        run.header.environment.insert("device.file_below".to_owned(), "inode 7".to_owned());
        let seen = |run: &Run, plan: &Plan, fact: &str, value: &str| {
            let mut now = run.header.environment.clone();
            now.extend(Facts::from([(fact.to_owned(), value.to_owned())]));
            let Changes { forbidden, cautions } = Changes::since(&run.header, &digest(plan), &now);
            (forbidden.join("; "), cautions.join("; "))
        };
        let cases = [
            ("cpu.count", "2", "", ""),
            (
                "lab.kernel_release",
                "6.12",
                "another kernel of the guest: it was 6.1.176, and is 6.12 now",
                "",
            ),
            ("device.identity", "disk-2", "another device: it was disk-1, and is disk-2 now", ""),
            (
                "device.file_below",
                "inode 8",
                "another file below the loop device: it was inode 7, and is inode 8 now",
                "",
            ),
            ("kernel.release", "7.0", "", "kernel.release: it was 6.18.44-fc-v669, and is 7.0 now"),
            ("tool.mkfs.xfs", "7", "", "tool.mkfs.xfs: it was mkfs.xfs version 6.1.0, and is 7 now"),
            ("fsverdict.version", "9", "", "fsverdict.version: it was 0.1.0, and is 9 now"),
            ("device.folder", "/elsewhere", "", ""),
            ("device.2.identity", "disk-4", "another device: it was disk-3, and is disk-4 now", ""),
            ("device.2.folder", "/elsewhere", "", ""),
            ("tool.new", "1", "", ""),
        ];
        for (fact, value, forbidden, caution) in cases {
            let found = seen(&run, &plan, fact, value);
            assert_eq!(found.0, forbidden, "{fact}");
            assert!(found.1.ends_with(caution) && found.1.is_empty() == caution.is_empty(), "{found:?}");
        }
        let mut edited = plan.clone();
        edited.protocol.tie = 0.2;
        assert!(seen(&run, &edited, "tool.new", "1").0.contains("plan.json"));
        assert!(seen(&run, &edited, "fsverdict.version", "9").0.contains("understands the plan otherwise"));
        run.header.lab = "native".to_owned();
        assert!(seen(&run, &plan, "kernel.release", "7.0").0.contains("another kernel"));
    }
}
