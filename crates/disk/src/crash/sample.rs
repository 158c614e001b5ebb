//! Samples crash states by a seed, each once, because there are more of them than can be examined.

use std::collections::HashSet;

use crate::device::random::uniform_below;

use super::log::WriteLog;
use super::loss::LossRule;
use super::state::{CrashState, Survivors};

/// The time in which power may be cut, in nanoseconds of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutWindow {
    pub from_ns: u64,
    pub until_ns: u64,
}

/// The content of a device in a state, without the state's name: it is equal where the bytes are.
#[derive(PartialEq, Eq, Hash)]
struct StateContent {
    durable: usize,
    /// Indices of requests, and the number of sectors that survive of each.
    chosen: Vec<(usize, u32)>,
}

/// Draws up to `wanted` crash states in these windows, which are sorted and disjoint. No two of them have the same
/// content and the same `moment`. They are in the order in which an image can go from each to the next. `moment` is
/// the number of promises made by a time in nanoseconds: states with equal contents are examined once for each
/// promise.
pub fn sample_states(
    log: &WriteLog,
    rule: LossRule,
    windows: &[CutWindow],
    wanted: usize,
    seed: u64,
    moment: impl Fn(u64) -> usize,
) -> Vec<CrashState> {
    let requests = log.requests();
    let completed_in = |window: &CutWindow| {
        let first = requests.partition_point(|request| request.completed_ns < window.from_ns);
        let end = requests.partition_point(|request| request.completed_ns <= window.until_ns);
        // If no request completes in the window, the device's content is that from before.
        if first < end { first..end } else { first.saturating_sub(1)..end }
    };
    let cuts: Vec<usize> = windows.iter().flat_map(completed_in).map(|request| request + 1).collect();
    let (mut states, mut sampled): (Vec<CrashState>, HashSet<(StateContent, usize)>) = Default::default();
    if cuts.is_empty() {
        return states;
    }
    // Where there are few states, most draws repeat an earlier one.
    let draws = (wanted as u64).saturating_mul(8);
    for draw in 0..draws {
        if states.len() >= wanted {
            break;
        }
        let Some(cut) = cuts.get(uniform_below(seed, draw * 4, cuts.len() as u64) as usize).copied() else {
            continue;
        };
        let uncertain = log.uncertain_requests(cut, rule);
        let state = CrashState { cut, survivors: draw_survivors(log, &uncertain, rule, seed, draw) };
        let content = state_content(log, state, rule);
        if sampled.insert((content, moment(log.moment_ns(cut)))) {
            states.push(state);
        }
    }
    states.sort_unstable();
    states
}

/// Draws the writes that survive.
fn draw_survivors(log: &WriteLog, uncertain: &[usize], rule: LossRule, seed: u64, draw: u64) -> Survivors {
    let count = uncertain.len() as u64;
    if count == 0 {
        return Survivors::None;
    }
    if rule == rule.nothing_lost() {
        return Survivors::All;
    }
    let draw_below = |stream: u64, limit: u64| uniform_below(seed, draw * 4 + stream, limit);
    let index = draw_below(1, count) as u32;
    let kinds = if rule.any_order { 7 } else { 4 };
    match draw_below(2, kinds) {
        0 => Survivors::None,
        1 => Survivors::All,
        2 => Survivors::First(index),
        3 => {
            let sectors = uncertain.get(index as usize).and_then(|number| log.requests().get(*number));
            let units = sectors.map_or(0, |logged| logged.request.sectors / rule.unit_sectors);
            match units {
                0 | 1 => Survivors::First(index),
                units => {
                    let written = 1 + draw_below(3, u64::from(units) - 1) as u32;
                    Survivors::Torn { before: index, sectors: written * rule.unit_sectors }
                }
            }
        }
        4 => Survivors::Only(index),
        5 => Survivors::Without(index),
        _ => Survivors::Some(draw_below(3, u64::from(u32::MAX)) as u32),
    }
}

/// Computes the content of the device in a state.
fn state_content(log: &WriteLog, state: CrashState, rule: LossRule) -> StateContent {
    let mut durable = log.durable_count(state.cut, rule);
    let mut chosen: Vec<(usize, u32)> = Vec::new();
    for (number, request) in (0..).zip(log.uncertain_requests(state.cut, rule)) {
        let Some(logged) = log.requests().get(request) else { continue };
        if let Some(sectors) = state.survivors.surviving_sectors(number, logged.request.sectors) {
            chosen.push((request, sectors));
        }
    }
    // Survivors that follow the durable requests without a gap are as good as durable.
    let is_complete = |(request, sectors): &(usize, u32)| {
        log.requests().get(*request).is_some_and(|logged| logged.request.sectors == *sectors)
    };
    let mut rest = chosen.into_iter().peekable();
    loop {
        while log.requests().get(durable).is_some_and(|request| !request.changes_content())
            && rest.peek().is_some()
        {
            durable += 1;
        }
        match rest.next_if(|next| next.0 == durable && is_complete(next)) {
            Some(_) => durable += 1,
            None => break,
        }
    }
    // Trailing flushes make no difference to the content.
    while durable > 0 && log.requests().get(durable - 1).is_some_and(|request| !request.changes_content()) {
        durable -= 1;
    }
    StateContent { durable, chosen: rest.collect() }
}
