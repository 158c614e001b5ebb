//! Blocks of several sites, made from a recorded block of sixteen candidates with a little noise.

use std::fs;
use std::path::Path;

use serde_json::Value;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo/");

/// The folder of a run that is shared, with a plan of just so many blocks in all.
pub(crate) fn shared_run(folder: &Path, blocks: usize) {
    let mut plan: Value =
        serde_json::from_str(&fs::read_to_string(format!("{RECORDED}plan.json")).unwrap()).unwrap();
    plan["protocol"]["blocks"] = serde_json::json!({ "min": blocks, "max": blocks });
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
}

/// A site's block; `slower` takes so many times as long there.
pub(crate) fn shard(folder: &Path, (site, block): (&str, u32), (slower, factor): (&str, f64)) {
    let plan = fs::read_to_string(folder.join("plan.json")).unwrap();
    let digest = fsverdict_judgement::plan::digest(&serde_json::from_str(&plan).unwrap());
    let journal = fs::read_to_string(format!("{RECORDED}journal.jsonl")).unwrap();
    let mut random = (u64::from(block) << 32) + site.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte));
    let mut lines = Vec::new();
    for line in journal.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "run_started" {
            event["plan_digest"] = digest.clone().into();
            event["environment"]["site"] = site.into();
            event["environment"]["device.identity"] = format!("disk of {site}").into();
            event["environment"]["fsverdict.binary"] = "00c0ffee00c0ffee".into();
        } else if event["block"] == 1 || event["trial"]["block"] == 1 {
            let place =
                if event["block"].is_number() { &mut event["block"] } else { &mut event["trial"]["block"] };
            *place = block.into();
            let changed = event["trial"]["candidate"] == slower;
            // Knuth's linear congruential generator: up to 2 % either way, the same for all numbers of a phase.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = 0.98 + 0.04 * ((random >> 40) as f64 / f64::from(1 << 24));
            for measurement in event["measurements"].as_array_mut().into_iter().flatten() {
                let value =
                    measurement["value"].as_f64().unwrap() * noise * if changed { factor } else { 1.0 };
                measurement["value"] = value.into();
            }
        } else {
            continue;
        }
        lines.push(event.to_string());
    }
    let path = folder.join(format!("sites/{site}/block-{block:04}.jsonl"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines.join("\n") + "\n").unwrap();
}
