//! The rule that ends a run: whom it recommends, who rests, who comes back.

use proptest::prelude::{Just, any, prop_oneof, proptest};

use super::looks::error_of_look;
use super::race::{BlockOutcome, Race, Rule, Ruling};

const RULE: Rule = Rule { tie: 0.03, minimum: 3, maximum: 10, ranked: false, early: true };

/// Scores in per cent; a negative number is one without a result.
fn row(percent: &[f64]) -> Vec<Option<f64>> {
    percent.iter().map(|value| Some(if *value >= 0.0 { value / 100.0 } else { f64::NAN })).collect()
}

fn after(rule: Rule, blocks: &[Vec<f64>]) -> (Race, BlockOutcome) {
    let mut race = Race::new(rule, blocks[0].len());
    let mut looks: Vec<BlockOutcome> = blocks.iter().map(|block| race.add_block(&row(block))).collect();
    (race, looks.pop().unwrap())
}

#[test]
fn verdicts() {
    let ranked = Rule { ranked: true, ..RULE };
    let far = Rule { maximum: 30, ..ranked };
    let blocks = |rows: &[&[f64]]| rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    let same = |row: &[f64], times: usize| vec![row.to_vec(); times];
    let clear = blocks(&[&[1.0, 50.0], &[2.0, 50.5], &[1.5, 51.0]]);
    let lucky = blocks(&[&[1.0, 9.0], &[2.0, 10.6], &[1.5, 10.0]]);
    let close = blocks(&[&[1.0, 9.0], &[2.0, 1.5], &[1.0, 9.5]]);
    let screened = blocks(&[&[0.0, 100.0, 99.0, 5.0, 90.0], &[5.0, 100.5, 98.0, 4.0, 91.0]]);
    let screened_off = blocks(&[&[0.0, 100.0, 100.5, 90.0, 90.1], &[0.0, 100.2, 100.4, 90.1, 90.3]]);
    let withdrawn = blocks(&[&[1.0, 50.0], &[1.1, 50.0], &[1.0, -1.0]]);
    let [recommended, undecided, go_on] = [Ruling::Recommended, Ruling::Undecided, Ruling::Continue];
    for (name, rule, blocks, outcome, racing) in [
        ("clear", RULE, clear.clone(), recommended, vec![0, 1]),
        ("too early", RULE, clear[..2].to_vec(), go_on, vec![0, 1]),
        ("the same to the last digit", ranked, same(&[1.0, 1.0], 8), go_on, vec![0, 1]),
        (
            "the same as often as it takes to see a step",
            ranked,
            same(&[1.0, 1.0], 10),
            recommended,
            vec![0, 1],
        ),
        ("apart, without any noise", far, same(&[1.0, 1.5, 9.0], 12), recommended, vec![0, 1, 2]),
        ("close", RULE, close, go_on, vec![0, 1]),
        ("three lucky ones place nobody", ranked, lucky.clone(), go_on, vec![0, 1]),
        ("five do", ranked, [lucky.clone(), lucky[..2].to_vec()].concat(), recommended, vec![0, 1]),
        ("withdrawn", RULE, withdrawn, undecided, vec![0]),
        ("nobody", RULE, same(&[-1.0, -1.0], 3), undecided, vec![]),
        ("screened", RULE, screened.clone(), go_on, vec![0, 3]),
        ("where nobody may rest early", Rule { early: false, ..RULE }, screened, go_on, vec![0, 1, 2, 3, 4]),
        ("nobody leads alone", RULE, screened_off, go_on, vec![0, 3]),
    ] {
        let (race, look) = after(rule, &blocks);
        assert_eq!((look.outcome, race.racing()), (outcome, racing), "{name}: {look:?}");
    }
}

#[test]
fn who_failed_at_one_site_leads_at_none() {
    let mut race = Race::new(RULE, 3);
    race.add_round(&[[-1.0, 5.0, 6.0], [1.0, 5.0, 6.0]].map(|scores| (0, row(&scores))));
    let look = race.current_outcome();
    assert_eq!((look.leader, look.rivals.len(), race.racing()), (Some(1), 1, vec![1, 2]));
}

#[test]
fn trials_that_were_saved_are_used() {
    let mut race = Race::new(Rule { maximum: 4, ..RULE }, 6);
    let all = |at: u32| row(&[f64::from(at % 2) * 8.0, 4.0, 300.0, 301.0, 302.0, 303.0]);
    let ended = (1..50).find(|at| block_of(&mut race, &all(*at)).outcome == Ruling::Undecided);
    assert_eq!((ended, race.racing()), (Some(8), vec![0, 1]));
}

#[test]
fn who_cannot_be_tried_leaves_no_trials_to_the_others() {
    let even = |at: u32| [Some(f64::from(at % 2) * 0.08), Some(0.04), None];
    let mut race = Race::new(Rule { maximum: 4, ..RULE }, 3);
    let after_each = [1, 2, 3, 4].map(|at| (race.add_block(&even(at)).outcome, race.trials_left()));
    let go_on = Ruling::Continue;
    assert_eq!(after_each, [(go_on, 6), (go_on, 4), (go_on, 2), (Ruling::Undecided, 0)]);
}

#[test]
fn who_rests_is_called_back_when_those_who_race_have_failed() {
    let apart =
        [[10.0, 14.0, 90.0, 91.0, 92.0], [13.0, 10.0, 90.5, 91.0, 91.0], [10.0, 12.0, 90.0, 92.0, 91.5]];
    let mut race = Race::new(RULE, 5);
    apart.iter().for_each(|scores| drop(block_of(&mut race, &row(scores))));
    assert_eq!(race.racing(), [0, 1]);
    let look = race.add_block(&[Some(f64::NAN), Some(f64::NAN), None, None, None]);
    assert_eq!((look.outcome, race.racing()), (Ruling::Continue, vec![2, 3, 4]));
    assert_eq!((look.leader, look.rivals.len()), (Some(2), 2));
    // Who is left over of those who race does not win by that, either.
    let mut race = Race::new(RULE, 5);
    apart.iter().for_each(|scores| drop(block_of(&mut race, &row(scores))));
    let look = race.add_block(&[Some(f64::NAN), Some(0.12), None, None, None]);
    assert_eq!((look.outcome, look.leader, race.racing()), (Ruling::Continue, Some(1), vec![1, 2, 3, 4]));
}

#[test]
fn what_was_set_aside_has_a_say_about_who_is_no_better_and_who_is_tied() {
    // Twice of eight times the other is 40 % faster.
    let others = [0.4, 0.8, 0.1, -51.0, 0.6, 0.3, -51.5, 0.5];
    let (_, look) = after(Rule { maximum: 30, ..RULE }, &others.map(|other| vec![100.0, 100.0 + other]));
    let rival = look.rivals[0];
    assert_eq!((look.leader, rival.evidence.count, look.outcome), (Some(0), 6, Ruling::Continue));
    assert!(!rival.not_better && !rival.tied && rival.min_sample_size == 11, "{rival:?}");
}

#[test]
fn who_rests_comes_back_when_nobody_else_is_in_question() {
    let mut race = Race::new(Rule { maximum: 30, ..RULE }, 5);
    let mut asked = Vec::new();
    for block in 0..20 {
        let away = if block % 2 == 0 { 8.0 } else { -8.0 };
        block_of(&mut race, &row(&[10.0, 14.0, 40.0 + away, 41.0 - away, 42.0 + away]));
        asked.push(race.racing().contains(&2));
    }
    let comes_back = asked.windows(2).any(|two| two == [false, true]);
    assert!(comes_back && race.racing().len() > 1, "{asked:?}");
}

/// A block of those the rule asks for.
fn block_of(race: &mut Race, all: &[Option<f64>]) -> BlockOutcome {
    let racing = race.racing();
    let scores: Vec<_> = (0..all.len()).map(|at| all[at].filter(|_| racing.contains(&at))).collect();
    race.add_block(&scores)
}

#[test]
fn who_rested_is_not_placed_by_what_later_blocks_allow() {
    let mut race = Race::new(Rule { maximum: 30, ..RULE }, 5);
    let rows = (0..20).map(|at| f64::from(at % 2)).map(|away| row(&[1.0 - away, 1.0 + away, 3.5, 3.6, 3.7]));
    let look = rows.map(|scores| block_of(&mut race, &scores)).last().unwrap();
    let rested = look.rivals.iter().find(|rival| rival.candidate == 2).unwrap();
    assert!(
        rested.evidence.count == 2 && rested.evidence.p_above(0.0) < error_of_look(20, 2) && !rested.behind
    );
}

#[test]
fn where_all_withdraw_what_was_known_before_is_the_last() {
    let mut race = Race::new(RULE, 2);
    assert_eq!(race.last_outcome(), None);
    let blocks = [[1.0, 6.0], [3.0, 1.5], [1.0, 4.0]].map(|scores| race.add_block(&row(&scores)));
    race.add_block(&[Some(f64::NAN), Some(f64::NAN)]);
    assert!(
        race.last_outcome().as_ref() == blocks.last() && race.current_outcome().leader.is_none(),
        "{:?}",
        race.last_outcome()
    );
}

#[test]
fn passing_what_lies_beyond_the_plan_leads_to_the_same() {
    let row = |at: u32| row(&[1.0 + f64::from(at % 3), 2.5 - f64::from(at % 2), 1.9]);
    let [mut passed, mut looked] = [(); 2].map(|()| Race::new(RULE, 3));
    for at in 0..100 {
        passed.add_decided_round(&[(0, row(at))]);
        looked.add_round(&[(0, row(at))]);
    }
    for race in [&mut passed, &mut looked] {
        race.add_round(&[(0, row(100))]);
    }
    assert_eq!((passed.current_outcome(), passed.racing()), (looked.current_outcome(), looked.racing()));
}

#[test]
fn what_would_settle_it_is_known() {
    let (race, look) = after(RULE, &[[1.0, 6.0], [3.0, 1.5], [1.0, 4.0], [2.0, 3.0]].map(Vec::from));
    let blocks = race.settled_after(&look.rivals[0]).unwrap();
    assert!((5..60).contains(&blocks), "{blocks}");
}

proptest! {
    #[test]
    fn a_replay_decides_alike_and_nobody_races_alone(seed in any::<u64>(), blocks in 3u64..12) {
        let score = |block: u64, candidate: u64| {
            let mixed = (seed ^ (block << 20) ^ candidate).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            Some(0.2 * candidate as f64 + mixed as f64 / (1 << 24) as f64)
        };
        let mut race = Race::new(RULE, 4);
        let mut again = Race::new(RULE, 4);
        for block in 0..blocks {
            let scores: Vec<_> = (0..4).map(|candidate| score(block, candidate)).collect();
            let look = block_of(&mut race, &scores);
            assert_eq!(block_of(&mut again, &scores), look);
            assert!(race.racing().len() > 1 && look.leader.is_none_or(|leader| race.racing().contains(&leader)));
        }
    }

    #[test]
    fn an_interval_agrees_with_what_is_concluded(
        scores in proptest::collection::vec(proptest::collection::vec(0.0..1.0f64, 4), 2..14),
        noise in prop_oneof![Just(0.002), Just(0.02), Just(0.2)],
        apart in prop_oneof![Just(0.0), Just(0.04), Just(0.1)],
    ) {
        let mut race = Race::new(RULE, 4);
        for row in &scores {
            let row: Vec<_> = (0..).zip(row).map(|(at, value)| Some(apart * f64::from(at) + noise * value)).collect();
            for rival in block_of(&mut race, &row).rivals {
                let Some((low, high)) = rival.ratio.ends() else { continue };
                assert!(rival.behind == (low > 1.0) && low <= high, "{rival:?}");
                assert!(!rival.not_better || low >= 1.0 / 1.03, "{rival:?}");
                assert!(!rival.tied || high <= 1.03, "{rival:?}");
            }
        }
    }
}
