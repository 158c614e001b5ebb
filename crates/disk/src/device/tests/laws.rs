//! Tests properties that hold for every model and any requests.

use std::collections::HashMap;

use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

use super::super::{Action, Completion, Device, Model, Request, built_in};

const SIZE: u64 = 4 << 30;

fn every_model() -> Vec<Model> {
    let mut models = Vec::new();
    for built_in in built_in() {
        let plain = Model::named(built_in.name).unwrap();
        let states = plain.all_states();
        models.push(plain);
        models
            .extend(states.iter().map(|state| Model::named(&format!("{}:{state}", built_in.name)).unwrap()));
    }
    models
}

/// Requests of every kind, near one another and far, at once and after long pauses.
fn requests() -> impl Strategy<Value = Vec<(u64, Action, u64, u32)>> {
    let pause = prop::sample::select(vec![0_u64, 0, 1000, 300_000, 20_000_000, 3_000_000_000]);
    let operation = prop::sample::select(vec![
        Action::Read,
        Action::Read,
        Action::Write,
        Action::Write,
        Action::Write,
        Action::Flush,
        Action::Discard,
        Action::WriteZeroes,
    ]);
    let place = (any::<u64>(), any::<bool>(), 0_u32..3000);
    let request = (pause, operation, place).prop_map(|(pause, operation, (sector, near, sectors))| {
        // Some requests lie beyond the end.
        let last = SIZE / 512 + 1000;
        let sector = if near { sector % 10_000 } else { sector % last };
        if operation == Action::Flush {
            (pause, operation, 0, 0)
        } else {
            (pause, operation, sector, sectors)
        }
    });
    prop::collection::vec(request, 1..60)
}

/// Submits requests at their times and advances to the device's events; panics where a property is violated.
fn live(model: &Model, seed: u64, requests: &[(u64, Action, u64, u32)]) -> Vec<Completion> {
    let mut device = Device::new(model, SIZE, seed).unwrap();
    let mut done = Vec::new();
    let mut now_ns = 0;
    let mut last_event = 0;
    let mut turns = 0;
    let mut arrivals = requests.iter().enumerate().peekable();
    let mut due_ns = arrivals.peek().map(|(_, request)| request.0);
    loop {
        let event_ns = device.next_event();
        if let Some(event_ns) = event_ns {
            assert!(event_ns >= now_ns, "an event in the past");
        }
        match (event_ns, due_ns) {
            (None, None) => break,
            (Some(event_ns), due_ns) if due_ns.is_none_or(|due_ns| event_ns <= due_ns) => {
                assert!(event_ns >= last_event, "events went back");
                last_event = event_ns;
                now_ns = event_ns;
                device.advance(now_ns, &mut done);
            }
            _ => {
                let Some((id, &(_, operation, sector, sectors))) = arrivals.next() else { break };
                now_ns = due_ns.unwrap_or(now_ns);
                device.submit(now_ns, Request { id: id as u64, operation, sector, sectors });
                due_ns = arrivals.peek().map(|(_, request)| now_ns + request.0);
            }
        }
        turns += 1;
        assert!(turns < 2_000_000, "it never ends");
    }
    assert_eq!(device.pending_requests().count(), 0);
    done
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_done_once_and_after_it_was_submitted(requests in requests(), seed in any::<u64>()) {
        for model in every_model() {
            let done = live(&model, seed, &requests);
            let mut seen = HashMap::new();
            for completion in &done {
                prop_assert!(completion.completed_ns >= completion.submitted_ns);
                *seen.entry(completion.request.id).or_insert(0) += 1;
            }
            prop_assert_eq!(done.len(), requests.len());
            prop_assert!(seen.values().all(|times| *times == 1));
            prop_assert!(done.windows(2).all(|pair| pair[0].completed_ns <= pair[1].completed_ns));
            prop_assert_eq!(&live(&model, seed, &requests), &done, "the same again is not the same: {}", model.name);
        }
    }

    /// Additional calls of `advance` change nothing: time may pass in steps or at once.
    #[test]
    fn how_often_it_is_asked_does_not_matter(requests in requests()) {
        for model in every_model() {
            let mut often = Device::new(&model, SIZE, 1).unwrap();
            let mut seldom = Device::new(&model, SIZE, 1).unwrap();
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let mut now_ns = 0;
            for (id, &(pause, operation, sector, sectors)) in requests.iter().enumerate() {
                for part in 1..=3 {
                    often.advance(now_ns + pause * part / 4, &mut first);
                }
                now_ns += pause;
                let request = Request { id: id as u64, operation, sector, sectors };
                often.submit(now_ns, request);
                seldom.submit(now_ns, request);
            }
            often.advance(u64::MAX / 2, &mut first);
            seldom.advance(u64::MAX / 2, &mut second);
            prop_assert_eq!(first, second);
        }
    }
}
