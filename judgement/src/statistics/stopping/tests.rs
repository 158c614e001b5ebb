//! The stopping rule on data made up for the purpose.

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

use super::{Look, Outcome, Stopping, StoppingRule};

/// Feeds rows until the rule ends; candidates that are out have no score.
fn replay(rule: StoppingRule, rows: &[Vec<f64>]) -> (Stopping, Vec<Look>) {
    let mut state = Stopping::new(rule, rows[0].len());
    let mut looks = Vec::new();
    for row in rows {
        let surviving = state.surviving();
        let scores: Vec<Option<f64>> = (0..row.len())
            .map(|candidate| surviving.contains(&candidate).then_some(row[candidate]))
            .collect();
        looks.push(state.block(&scores));
        if looks.last().unwrap().outcome != Outcome::Continue {
            break;
        }
    }
    (state, looks)
}

/// Small, regular "noise", different for every block and candidate.
fn rows(centres: &[f64], noise: f64, blocks: usize) -> Vec<Vec<f64>> {
    (0..blocks)
        .map(|block| {
            centres
                .iter()
                .enumerate()
                .map(|(candidate, centre)| {
                    let wiggle = (block * 37 + candidate * 61 + block * candidate * 13) % 101;
                    centre + noise * (wiggle as f64 / 50.0 - 1.0)
                })
                .collect()
        })
        .collect()
}

#[test]
fn a_large_gap_is_decided_after_three_blocks() {
    let (state, looks) = replay(StoppingRule::new(3, 30, 0.03), &rows(&[0.0, 1.0, 1.2], 0.03, 30));
    assert_eq!((looks.len(), looks[2].outcome), (3, Outcome::Decided));
    assert_eq!((state.surviving(), looks[2].leader), (vec![0], Some(0)));
    assert!(looks[2].spent > 0.0 && looks[1].spent == 0.0);
}

#[test]
fn small_equal_noise_is_a_tie() {
    let (_, looks) = replay(StoppingRule::new(3, 30, 0.03), &rows(&[0.0, 0.0, 1.0], 0.01, 30));
    let last = looks.last().unwrap();
    assert_eq!(last.outcome, Outcome::Tied);
    assert_eq!(last.tied.len(), 1);
    assert!(looks.len() < 15);
}

#[test]
fn a_difference_below_the_threshold_rules_nobody_out() {
    let (state, looks) = replay(StoppingRule::new(3, 30, 0.03), &rows(&[0.0, 0.02], 0.002, 30));
    assert_eq!(state.surviving().len(), 2);
    assert_eq!(looks.last().unwrap().outcome, Outcome::Tied);
}

#[test]
fn noise_ends_undecided() {
    let mut patient = StoppingRule::new(3, 12, 0.03);
    patient.give_up = false;
    let table = rows(&[0.0, 0.02], 0.4, 12);
    let (_, looks) = replay(patient, &table);
    assert_eq!((looks.len(), looks[11].outcome), (12, Outcome::Undecided));
    let (_, thrifty) = replay(StoppingRule::new(3, 12, 0.03), &table);
    assert_eq!(thrifty.last().unwrap().outcome, Outcome::Hopeless);
    assert!(thrifty.len() < 12);
}

#[test]
fn two_blocks_conclude_nothing() {
    let (_, looks) = replay(StoppingRule::new(2, 2, 0.03), &rows(&[0.0, 5.0], 0.01, 2));
    assert_eq!(looks.last().unwrap().outcome, Outcome::Undecided);
}

#[test]
fn a_candidate_without_a_score_is_withdrawn_not_ruled_out() {
    let mut state = Stopping::new(StoppingRule::new(3, 30, 0.03), 3);
    state.block(&[Some(0.0), Some(0.1), None]);
    assert_eq!(state.surviving(), [0, 1]);
    let look = state.block(&[Some(0.0), Some(f64::NAN), Some(9.0)]);
    assert_eq!(state.surviving(), [0]);
    assert!(look.eliminate.is_empty());
    assert_eq!(look.outcome, Outcome::Decided);
}

#[test]
fn closing_spends_what_is_left() {
    let mut state = Stopping::new(StoppingRule::new(3, 30, 0.03), 2);
    for row in rows(&[0.0, 0.06], 0.03, 7) {
        state.block(&[Some(row[0]), Some(row[1])]);
    }
    let last = state.close();
    assert!((last.spent_so_far - 0.05).abs() < 1e-12);
    assert_ne!(last.outcome, Outcome::Continue);
    let mut short = Stopping::new(StoppingRule::new(3, 30, 0.03), 2);
    short.block(&[Some(0.0), Some(1.0)]);
    assert_eq!(short.close().outcome, Outcome::Undecided);
}

#[test]
fn never_spends_more_than_alpha() {
    let mut rule = StoppingRule::new(3, 30, 0.03);
    rule.give_up = false;
    let (_, looks) = replay(rule, &rows(&[0.0, 0.0], 0.5, 30));
    assert!((looks.last().unwrap().spent_so_far - 0.05).abs() < 1e-12);
    assert!((looks.iter().map(|look| look.spent).sum::<f64>() - 0.05).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn slow_and_fast_blocks_do_not_matter_for_three(shift in proptest::collection::vec(-3.0..3.0, 8)) {
        let table = rows(&[0.0, 0.08, 0.3], 0.05, 8);
        let shifted: Vec<Vec<f64>> =
            table.iter().zip(&shift).map(|(row, by)| row.iter().map(|value| value + by).collect()).collect();
        let rule = StoppingRule::new(3, 8, 0.03);
        let (one, two) = (replay(rule, &table).1, replay(rule, &shifted).1);
        prop_assert_eq!(one.len(), two.len());
        for (a, b) in one.iter().zip(&two) {
            prop_assert_eq!((&a.eliminate, &a.tied, a.outcome), (&b.eliminate, &b.tied, b.outcome));
        }
    }

    #[test]
    fn the_order_of_candidates_does_not_matter(noise in 0.01..0.2f64) {
        let table = rows(&[0.0, 0.1, 0.15, 0.5], noise, 10);
        let turned: Vec<Vec<f64>> = table.iter().map(|row| row.iter().rev().copied().collect()).collect();
        let rule = StoppingRule::new(3, 10, 0.03);
        let (one, two) = (replay(rule, &table), replay(rule, &turned));
        let mut back: Vec<usize> = two.0.surviving().iter().map(|candidate| 3 - candidate).collect();
        back.sort_unstable();
        prop_assert_eq!(one.0.surviving(), back);
        prop_assert_eq!(one.1.len(), two.1.len());
    }

    #[test]
    fn replaying_a_prefix_gives_the_same_looks(blocks in 3usize..12) {
        let table = rows(&[0.0, 0.05, 0.1], 0.1, 12);
        let rule = StoppingRule::new(3, 12, 0.03);
        let (whole, part) = (replay(rule, &table).1, replay(rule, &table[..blocks]).1);
        prop_assert!(whole.len() >= part.len());
        prop_assert_eq!(&whole[..part.len()], &part[..]);
    }
}
