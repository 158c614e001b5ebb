//! A device that is missing, made anew, or compared with the others while phases go on.

use crate::common::Place;

const STATES: &str = r#"
title        = "States of an array"
protocol     = { blocks = 1, timeout = "120s" }
dataset.tree = { profile = "mixed", files = 60, directories = 8, size = "4MiB" }
dataset.late = { profile = "mixed", files = 60, directories = 8, size = "1MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "scrub", operation = "tree.read", dataset = "tree", cold = true, state = "scrubbing" },
    { name = "lost", operation = "tree.write", dataset = "late", state = "degraded" },
    { name = "lost-read", operation = "tree.read", dataset = "tree", cold = true, state = "degraded" },
    { name = "rebuild", operation = "tree.read", dataset = "tree", cold = true, state = "rebuilding" },
    { name = "again", operation = "tree.read", dataset = "late", cold = true },
    { name = "lost-again", operation = "tree.read", dataset = "late", state = "degraded" },
]
[[candidate]]
name       = "once"
filesystem = "ext4"
"#;

/// Candidates by name, as they stand in a plan, in this lab on two of these devices; and one that keeps its data once.
pub fn goes_through_its_states(lab: &str, device: &str, candidates: &[(&str, &str)]) {
    let place = Place::new();
    let each = candidates.iter().map(|(name, says)| format!("[[candidate]]\nname = \"{name}\"\n{says}\n"));
    let plan =
        format!("lab = \"{lab}\"\ndevice = {{ {device}, count = 2 }}\n{STATES}{}", each.collect::<String>());
    let refused =
        "the phase `scrub` wants its devices scrubbing, and it keeps its data once: none can be missing";
    place.run(&plan, &[]).exits(3).says(&[refused, "layers = [\"md:raid1\"]"]);
    assert_eq!(place.status("once").0, "skipped");
    let journal = place.journal();
    for (name, _) in candidates {
        assert_eq!(place.status(name).0, "ok", "{name}");
        let of = |event: &&serde_json::Value| event["trial"]["candidate"] == *name;
        let ran = |words: &str| {
            let line = |event: &serde_json::Value| {
                let argv = event["argv"].as_array().unwrap().iter();
                argv.map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
            };
            journal.all("command").filter(of).filter(|event| line(event).contains(words)).count()
        };
        // Once for both degraded phases and the rebuild after them, and once for the last.
        let (out, back) = if ran("mdadm") > 0 { ("--fail", "--add") } else { ("wipefs", "replace start") };
        assert_eq!((ran(out), ran(back)), (2, 2), "{name}");
        for (phase, metric) in [("scrub", "scrub"), ("rebuild", "rebuild")] {
            let seen = journal.all("observation").filter(of).find(|seen| seen["phase"] == phase).unwrap();
            let has = |metric: &str| {
                seen["measurements"].as_array().unwrap().iter().any(|one| one["metric"] == metric)
            };
            assert!(has(metric) && has("latency_p99"), "{seen:#}");
        }
        let timed = journal.all("observation").filter(of).filter(|seen| {
            let mut all = seen["measurements"].as_array().unwrap().iter();
            all.any(|one| one["metric"] == "rebuild" || one["metric"] == "scrub")
        });
        assert_eq!(timed.count(), 2, "{name}");
    }
    place.is_left_clean();
}
