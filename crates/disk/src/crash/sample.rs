//! Which states are looked at, of more than anybody can: drawn by a seed, each once.

use std::collections::HashSet;

use crate::device::random::below;

use super::log::WriteLog;
use super::loss::LossRule;
use super::state::{CrashState, Survivors};

/// From when to when power may be cut, in nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutWindow {
    pub from_ns: u64,
    pub until_ns: u64,
}

/// What a device holds in a state, without the name it goes by: equal where the bytes are.
#[derive(PartialEq, Eq, Hash)]
struct Kept {
    durable: usize,
    /// Numbers of requests with the sectors that are left of them.
    chosen: Vec<(usize, u32)>,
}

/// Up to `wanted` states of these windows, which are in order and apart, no two of which hold the same or stand for the same moment; in the order in which an image
/// can go from each to the next. `moment` counts what was promised by a time: of states with equal contents one
/// is looked at for each promise.
pub fn sample(
    log: &WriteLog,
    rule: LossRule,
    windows: &[CutWindow],
    wanted: usize,
    seed: u64,
    moment: impl Fn(u64) -> usize,
) -> Vec<CrashState> {
    let requests = log.requests();
    let numbers = |window: &CutWindow| {
        let first = requests.partition_point(|one| one.completed_ns < window.from_ns);
        let end = requests.partition_point(|one| one.completed_ns <= window.until_ns);
        // Where nothing is completed in it, the device holds what it held before.
        if first < end { first..end } else { first.saturating_sub(1)..end }
    };
    let cuts: Vec<usize> = windows.iter().flat_map(numbers).map(|request| request + 1).collect();
    let (mut states, mut seen): (Vec<CrashState>, HashSet<(Kept, usize)>) = Default::default();
    if cuts.is_empty() {
        return states;
    }
    // Where states are few, most draws are of those that were seen.
    let draws = (wanted as u64).saturating_mul(8);
    for draw in 0..draws {
        if states.len() >= wanted {
            break;
        }
        let Some(cut) = cuts.get(below(seed, draw * 4, cuts.len() as u64) as usize).copied() else {
            continue;
        };
        let uncertain = log.uncertain(cut, rule);
        let state = CrashState { cut, survivors: survivors(log, &uncertain, rule, seed, draw) };
        let kept = kept(log, state, rule);
        if seen.insert((kept, moment(log.moment_ns(cut)))) {
            states.push(state);
        }
    }
    states.sort_unstable();
    states
}

/// What survives, by this draw of the seed.
fn survivors(log: &WriteLog, uncertain: &[usize], rule: LossRule, seed: u64, draw: u64) -> Survivors {
    let count = uncertain.len() as u64;
    if count == 0 {
        return Survivors::None;
    }
    if rule == rule.nothing_lost() {
        return Survivors::All;
    }
    let chance = |which: u64, limit: u64| below(seed, draw * 4 + which, limit);
    let one = chance(1, count) as u32;
    let kinds = if rule.any_order { 7 } else { 4 };
    match chance(2, kinds) {
        0 => Survivors::None,
        1 => Survivors::All,
        2 => Survivors::First(one),
        3 => {
            let sectors = uncertain.get(one as usize).and_then(|number| log.requests().get(*number));
            let units = sectors.map_or(0, |logged| logged.request.sectors / rule.unit_sectors);
            match units {
                0 | 1 => Survivors::First(one),
                units => {
                    let kept = 1 + chance(3, u64::from(units) - 1) as u32;
                    Survivors::Torn { before: one, sectors: kept * rule.unit_sectors }
                }
            }
        }
        4 => Survivors::Only(one),
        5 => Survivors::Without(one),
        _ => Survivors::Some(chance(3, u64::from(u32::MAX)) as u32),
    }
}

fn kept(log: &WriteLog, state: CrashState, rule: LossRule) -> Kept {
    let mut durable = log.durable(state.cut, rule);
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for (number, request) in (0..).zip(log.uncertain(state.cut, rule)) {
        let Some(logged) = log.requests().get(request) else { continue };
        if let Some(sectors) = state.survivors.keeps(number, logged.request.sectors) {
            chosen.push((request, sectors));
        }
    }
    // What follows without a gap is as good as durable.
    let whole = |(request, sectors): &(usize, u32)| {
        log.requests().get(*request).is_some_and(|logged| logged.request.sectors == *sectors)
    };
    let mut rest = chosen.into_iter().peekable();
    loop {
        while log.requests().get(durable).is_some_and(|one| !one.changes()) && rest.peek().is_some() {
            durable += 1;
        }
        match rest.next_if(|next| next.0 == durable && whole(next)) {
            Some(_) => durable += 1,
            None => break,
        }
    }
    // Flushes behind the last change make no difference to what is held.
    while durable > 0 && log.requests().get(durable - 1).is_some_and(|one| !one.changes()) {
        durable -= 1;
    }
    Kept { durable, chosen: rest.collect() }
}
