//! The identity of a resolved plan: two runs with the same digest did the same work.

use super::Plan;

/// 16 hexadecimal digits that change whenever anything in the resolved plan does, on every machine alike.
///
/// It is the xxh3 hash of the plan's JSON, with fields in the order of their definition and with sorted maps. A plan
/// holds only strings, numbers and lists, so it can always be written as JSON.
///
/// Protection levels follow from the candidates and are left out: versions that know of more levels do the same work.
pub fn digest(plan: &Plan) -> String {
    let json = match plan.goal.protection.is_empty() {
        true => serde_json::to_vec(plan),
        false => {
            let mut plan = plan.clone();
            plan.goal.protection.clear();
            serde_json::to_vec(&plan)
        }
    };
    let json = json.unwrap_or_default();
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&json))
}
