//! A resolved plan as JSON: its digest, and its bounds wherever it is read from: the folder of a run, a bundle, a page,
//! the file of a shared run.
//!
//! Such a plan may be a stranger's. It is read by [`Plan`]'s own `Deserialize`, which counts every list while it reads it and then
//! calls [`check_bounds`], so that there is no way from bytes to a plan that leaves this out. A plan in TOML passes the same check.
//!
//! This bounds the cost of reading a plan. All checks are repeated before a plan is carried out.

use std::collections::BTreeSet;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits::{BLOCKS, DEPTH, NAME, PAIRS, PIECE, PULLS, REPETITIONS, THREADS};
use super::value::LONGEST_COMPUTING;
use super::{Dataset, DeviceSource, Phase, Plan, faults};
use fsverdict_text::{Bytes, Reason, limits};

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // The derived function, which `remote` makes one of the type's own.
        Plan::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let plan = Plan::deserialize(from)?;
        check_bounds(&plan).map_err(|reason| D::Error::custom(reason.what))?;
        Ok(plan)
    }
}

/// Checks that names are unique and no longer than a name may be, and that numbers are within their limits.
pub(super) fn check_bounds(plan: &Plan) -> Result<(), Reason> {
    check_names("candidates", plan.candidates.iter().map(|candidate| candidate.name.as_str()))?;
    check_names("phases", plan.phases.iter().map(|phase| phase.name.as_str()))?;
    check_names("services", plan.services.iter().map(|service| service.name.as_str()))?;
    check_names("datasets", plan.datasets.keys().map(String::as_str))?;
    check_names("weights", plan.goal.weights.keys().map(String::as_str))?;
    let pairs = plan.candidates.len().saturating_mul(plan.phases.len());
    if pairs > PAIRS {
        return Err(Reason::new(
            format!(
                "the plan is too large: {} candidates with {} phases each",
                plan.candidates.len(),
                plan.phases.len()
            ),
            format!("candidates times phases may be {PAIRS} at most: try fewer of one of them"),
        ));
    }
    check_protocol(plan)?;
    check_devices(plan)?;
    plan.datasets.iter().try_for_each(|(name, dataset)| {
        check_dataset(dataset).map_err(|reason| reason.after(format!("dataset `{}`: ", shorten_name(name))))
    })?;
    plan.phases.iter().try_for_each(|phase| {
        check_phase(phase).map_err(|reason| reason.after(format!("phase `{}`: ", shorten_name(&phase.name))))
    })
}

fn check_names<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Reason> {
    let mut known = BTreeSet::new();
    for name in names {
        if name.len() > NAME {
            return Err(Reason::new(
                format!("one of the {what} has a name of {} bytes: `{}`", name.len(), shorten_name(name)),
                format!("names have {NAME} bytes at most"),
            ));
        }
        if !known.insert(name) {
            return Err(Reason::new(
                format!("two of the {what} are called `{}`", shorten_name(name)),
                "each has a name of its own",
            ));
        }
    }
    Ok(())
}

/// As much of a name as fits an error.
fn shorten_name(name: &str) -> String {
    name.chars().take(60).collect()
}

fn check_at_most(what: &str, number: impl Into<u64>, most: u64) -> Result<(), Reason> {
    let number = number.into();
    if number <= most {
        return Ok(());
    }
    Err(Reason::new(format!("{what} may be {most} at most, but is {number}"), ""))
}

fn check_number(what: &str, number: f64) -> Result<(), Reason> {
    if number.is_finite() && number.abs() <= limits::NUMBER {
        return Ok(());
    }
    Err(Reason::new(format!("{what} may be {:e} at most, but is {number:e}", limits::NUMBER), ""))
}

fn check_time(what: &str, time: std::time::Duration) -> Result<(), Reason> {
    check_at_most(what, u64::try_from(time.as_millis()).unwrap_or(u64::MAX), limits::TIME)
}

fn check_protocol(plan: &Plan) -> Result<(), Reason> {
    let protocol = &plan.protocol;
    check_at_most("the number of blocks", protocol.blocks.max, BLOCKS)?;
    check_at_most("the least number of blocks", protocol.blocks.min, protocol.blocks.max.into())?;
    check_number("`tie`", protocol.tie)?;
    check_time("`timeout`", protocol.timeout)?;
    protocol.budget.map_or(Ok(()), |budget| check_time("`for`", budget))?;
    plan.goal.weights.values().try_for_each(|weight| check_number("a weight", *weight))?;
    plan.goal
        .require
        .numbers
        .iter()
        .try_for_each(|required| check_number("a requirement", required.value))?;
    if let Some(faults) = plan.faults {
        check_at_most("the number of states after a cut of power", faults.power_cuts, faults::MOST)?;
        check_at_most("the number of rotten blocks", faults.rot, faults::MOST)?;
        check_at_most("the number of recorded trials", faults.trials, faults::MOST_TRIALS)?;
    }
    Ok(())
}

fn check_size(what: &str, size: Bytes) -> Result<(), Reason> {
    check_at_most(what, size.0, limits::SIZE)
}

fn check_devices(plan: &Plan) -> Result<(), Reason> {
    let mut sizes = plan.device.all_sources().filter_map(DeviceSource::size);
    sizes.try_for_each(|size| check_size("the size of a device", size))
}

fn check_dataset(dataset: &Dataset) -> Result<(), Reason> {
    match dataset {
        Dataset::Tree(shape) => {
            check_at_most("the number of files", shape.files, limits::COUNT)?;
            check_at_most("the number of directories", shape.directories, limits::COUNT)?;
            check_size("the size", shape.size)
        }
        Dataset::Flat { files, file_size } => {
            check_at_most("the number of files", *files, limits::COUNT)?;
            check_size("the size of a file", *file_size)
        }
        Dataset::File { size, .. } => check_size("the size", *size),
        Dataset::Folder { size, .. } => size.map_or(Ok(()), |size| check_size("the size", size)),
        // It has bounds of its own, for every source.
        Dataset::Trace { .. } => Ok(()),
    }
}

fn check_phase(phase: &Phase) -> Result<(), Reason> {
    let numbers = [
        ("`repeat`", phase.repeat, REPETITIONS),
        ("`pulls`", phase.pulls, PULLS),
        ("`rounds`", phase.rounds, PULLS),
        ("`threads`", phase.threads, THREADS),
        ("`depth`", phase.depth, DEPTH),
    ];
    for (what, number, most) in numbers {
        check_at_most(what, number.unwrap_or(0), most)?;
    }
    let computing = phase.computing.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let most = u64::try_from(LONGEST_COMPUTING.as_nanos()).unwrap_or(u64::MAX);
    check_at_most("`computing` in nanoseconds", computing, most)?;
    check_at_most("`piece`", phase.piece.map_or(0, |piece| piece.0), PIECE)?;
    check_names("metrics", phase.metrics.keys().map(String::as_str))
}

/// 16 hexadecimal digits that change whenever anything in the resolved plan does, on every machine alike.
///
/// It is the xxh3 hash of the plan's JSON, with fields in the order of their definition and with sorted maps. A plan
/// holds only strings, numbers and lists, so it can always be written as JSON.
///
/// Protection levels and safeguards follow from the candidates and are left out: versions that know of more of them do
/// the same work. So is where the work comes from, which changes nothing of it.
pub fn digest(plan: &Plan) -> String {
    let mut plan = plan.clone();
    plan.goal.protection.clear();
    plan.goal.safeguards.clear();
    plan.work = None;
    let json = serde_json::to_vec(&plan).unwrap_or_default();
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&json))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::plan::Plan;

    const DEMO: &str = include_str!("../../../../tests/runs/demo/plan.json");

    /// Changes the demonstration's plan, and reads it: what is wrong with it, or nothing.
    fn read_changed(change: impl FnOnce(&mut Value)) -> String {
        let mut value: Value = serde_json::from_str(DEMO).unwrap();
        change(&mut value);
        serde_json::from_value::<Plan>(value).map_or_else(|error| error.to_string(), |_| String::new())
    }

    /// So many copies of the first entry of a list, each under a name of its own.
    fn fill(list: &mut Value, count: usize) {
        let first = list[0].clone();
        *list = (0..count)
            .map(|number| {
                let mut copy = first.clone();
                copy["name"] = format!("n{number}").into();
                copy
            })
            .collect();
    }

    #[test]
    fn a_plan_is_bounded_whatever_it_is_read_from() {
        assert_eq!(read_changed(|_| ()), "");
        assert_eq!(read_changed(|plan| fill(&mut plan["candidates"], 1001)), "");
        type Change = fn(&mut Value);
        let cases: [(&str, Change); 14] = [
            ("two of the candidates are called", |plan| {
                plan["candidates"] = vec![plan["candidates"][0].clone(); 20].into();
            }),
            ("more than 1001 entries", |plan| fill(&mut plan["candidates"], 1002)),
            ("more than 1000 entries", |plan| fill(&mut plan["phases"], 1001)),
            ("two of the phases are called", |plan| {
                plan["phases"] = vec![plan["phases"][0].clone(); 2].into();
            }),
            ("candidates times phases", |plan| {
                fill(&mut plan["candidates"], 1000);
                fill(&mut plan["phases"], 101);
            }),
            ("has a name of 1025 bytes", |plan| plan["candidates"][0]["name"] = "x".repeat(1025).into()),
            ("more than 1000 entries", |plan| plan["candidates"][0]["mkfs"] = vec!["-x"; 1001].into()),
            ("blocks may be 10000 at most", |plan| {
                plan["protocol"]["blocks"]["max"] = 4_000_000_000_u32.into();
            }),
            ("least number of blocks", |plan| plan["protocol"]["blocks"] = json!({ "min": 6, "max": 5 })),
            ("recorded trials may be 1000", |plan| {
                plan["faults"] = json!({ "power_cuts": 1, "trials": 4_000_000_000_u32 });
            }),
            ("`repeat` may be 1000", |plan| plan["phases"][0]["repeat"] = 4_000_000_000_u32.into()),
            ("more than 7 entries", |plan| {
                plan["device"]["further"] = vec![plan["device"]["source"].clone(); 8].into();
            }),
            ("a weight may be", |plan| plan["goal"]["weights"] = json!({ "x": 1e300 })),
            ("the size of a device", |plan| plan["device"]["source"] = json!({ "image": 1_u64 << 60 })),
        ];
        for (words, change) in cases {
            let error = read_changed(change);
            // The hint is not part of what a reader of JSON says.
            let words =
                if words == "candidates times phases" { "1000 candidates with 101 phases" } else { words };
            assert!(error.contains(words) && error.len() < 300, "{words}: {error}");
        }
    }
}
