//! The evidence of a verdict as data: ranking, standings, noise floor, tradeoffs, sensitivity.

use serde::Serialize;

use crate::statistics::FloorSource;
use crate::verdict::{Relation, Turn, Verdict};

/// A candidate with its score.
#[derive(Serialize)]
pub(super) struct RankPart<'a> {
    candidate: &'a str,
    score: f64,
}

/// A candidate against the leader.
#[derive(Serialize)]
pub(super) struct StandingPart<'a> {
    candidate: &'a str,
    against: &'a str,
    ratio: RatioPart,
    p: f64,
    relation: Relation,
}

#[derive(Serialize)]
struct RatioPart {
    point: f64,
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
}

/// The noise floor.
#[derive(Serialize)]
pub(super) struct FloorPart {
    floor: f64,
    seen: f64,
    source: FloorSource,
    n: usize,
}

/// A candidate's costs.
#[derive(Serialize)]
pub(super) struct TradeoffPart<'a> {
    candidate: &'a str,
    score: f64,
    cpu: Option<f64>,
    space: Option<f64>,
    written: Option<f64>,
    pareto: bool,
    beaten_by: Option<&'a str>,
}

/// The range of a weight in which the leader leads.
#[derive(Serialize)]
pub(super) struct RangePart<'a> {
    phase: &'a str,
    weight: f64,
    low: Option<TurnPart<'a>>,
    high: Option<TurnPart<'a>>,
}

#[derive(Serialize)]
struct TurnPart<'a> {
    weight: f64,
    winner: &'a str,
}

/// By score, best first.
pub(super) fn ranking(verdict: &Verdict) -> Vec<RankPart<'_>> {
    verdict.ranking.iter().map(|rank| RankPart { candidate: &rank.candidate, score: rank.score }).collect()
}

/// The closest to the leader first.
pub(super) fn standings(verdict: &Verdict) -> Vec<StandingPart<'_>> {
    let standings = verdict.standings.iter().map(|standing| {
        let ratio = &standing.ratio;
        StandingPart {
            candidate: &standing.candidate,
            against: &standing.against,
            ratio: RatioPart { point: ratio.point, low: ratio.low, high: ratio.high, n: ratio.n },
            p: standing.p,
            relation: standing.relation,
        }
    });
    standings.collect()
}

/// The noise floor, where there is one.
pub(super) fn floor(verdict: &Verdict) -> Option<FloorPart> {
    verdict.floor.map(|floor| FloorPart {
        floor: floor.floor,
        seen: floor.seen,
        source: floor.source,
        n: floor.n,
    })
}

/// In the order of the ranking.
pub(super) fn tradeoffs(verdict: &Verdict) -> Vec<TradeoffPart<'_>> {
    let tradeoffs = verdict.tradeoffs.iter().map(|one| TradeoffPart {
        candidate: &one.candidate,
        score: one.score,
        cpu: one.cpu,
        space: one.space,
        written: one.written,
        pareto: one.beaten_by.is_none(),
        beaten_by: one.beaten_by.as_deref(),
    });
    tradeoffs.collect()
}

/// One per phase of the goal.
pub(super) fn sensitivity(verdict: &Verdict) -> Vec<RangePart<'_>> {
    fn turn(turn: Option<&Turn>) -> Option<TurnPart<'_>> {
        turn.map(|turn| TurnPart { weight: turn.weight, winner: &turn.winner })
    }
    let ranges = verdict.sensitivity.iter().map(|range| RangePart {
        phase: &range.phase,
        weight: range.weight,
        low: turn(range.low.as_ref()),
        high: turn(range.high.as_ref()),
    });
    ranges.collect()
}
