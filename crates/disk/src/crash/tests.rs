//! Tests crash states on a small log whose states can be derived by hand, and on random logs against the kernel's
//! format.

use std::collections::BTreeSet;
use std::fs::File;

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

use super::image::ImageStateError;
use super::{
    CrashState, CutWindow, LogError, LogWriter, LossRule, StateImage, Survivors, WriteLog, export_log,
    sample_states,
};
use crate::device::{Action, Completion, Model, Request, Store};

pub(super) const SIZE: u64 = 1 << 20;
const RULE: LossRule = LossRule { volatile: true, any_order: true, flushes: true, unit_sectors: 1 };
const ALL: CutWindow = CutWindow { from_ns: 0, until_ns: u64::MAX };

pub(super) fn done(
    operation: Action,
    sector: u64,
    sectors: u32,
    submitted_ns: u64,
    completed_ns: u64,
) -> Completion {
    Completion { request: Request { id: 0, operation, sector, sectors }, submitted_ns, completed_ns }
}

/// Writes a log of these requests; each byte of a write is the request's number, from 1.
pub(super) fn log_of(completions: &[Completion]) -> (File, WriteLog) {
    let file = tempfile::tempfile().unwrap();
    let mut writer = LogWriter::new(file.try_clone().unwrap(), 1 << 24).unwrap();
    for (number, completion) in (1_u8..).zip(completions) {
        let bytes = match completion.request.operation {
            Action::Write => vec![number; completion.request.sectors as usize * 512],
            _ => Vec::new(),
        };
        writer.append_completion(completion, &bytes).unwrap();
    }
    assert!(!writer.is_full());
    writer.flush_buffer().unwrap();
    let read = std::os::unix::fs::FileExt::read_at;
    // The log is read from the current offset of the file, which is the beginning in a copy.
    let copy = tempfile::tempfile().unwrap();
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    assert_eq!(read(&file, &mut bytes, 0).unwrap(), bytes.len());
    std::os::unix::fs::FileExt::write_all_at(&copy, &bytes, 0).unwrap();
    (copy.try_clone().unwrap(), WriteLog::read_log(copy).unwrap())
}

/// Two writes, a flush, and two more writes that overlap in time, followed by a flush.
fn small() -> Vec<Completion> {
    vec![
        done(Action::Write, 0, 1, 0, 10),
        done(Action::Write, 8, 2, 5, 20),
        done(Action::Flush, 0, 0, 15, 30),
        done(Action::Write, 0, 1, 31, 40),
        done(Action::Write, 16, 1, 32, 50),
        done(Action::Flush, 0, 0, 60, 70),
    ]
}

/// The first byte of sectors 0, 8, 9 and 16.
fn held(log: &[Completion], state: CrashState) -> [u8; 4] {
    let mut store = Store::new(tempfile::tempfile().unwrap(), SIZE).unwrap();
    let mut image = StateImage::new(log_of(log).1, RULE);
    image.enter_state(&mut store, state).unwrap();
    [0, 8, 9, 16].map(|sector| {
        let mut byte = [0];
        store.read_at(&mut byte, sector * 512).unwrap();
        byte[0]
    })
}

#[test]
fn what_was_completed_before_a_flush_was_submitted_stays() {
    let log = small();
    let held = |cut, survivors| held(&log, CrashState { cut, survivors });
    // The flush was submitted while the second write was in flight, so that this write may still be lost.
    assert_eq!(held(3, Survivors::None), [1, 0, 0, 0]);
    assert_eq!(held(3, Survivors::All), [1, 2, 2, 0]);
    assert_eq!(held(2, Survivors::None), [0, 0, 0, 0]);
    assert_eq!(held(3, Survivors::Torn { before: 0, sectors: 1 }), [1, 2, 0, 0]);
    // At 40 ns the write that completes at 50 ns is in flight, and may be on the medium already.
    assert_eq!(held(4, Survivors::None), [1, 0, 0, 0]);
    assert_eq!(held(4, Survivors::Only(2)), [1, 0, 0, 5]);
    assert_eq!(held(4, Survivors::Without(2)), [4, 2, 2, 0]);
    assert_eq!(held(4, Survivors::First(2)), [4, 2, 2, 0]);
    assert_eq!(held(6, Survivors::None), [4, 2, 2, 5]);
}

#[test]
fn an_image_goes_from_state_to_state_and_back() {
    let log = small();
    let mut store = Store::new(tempfile::tempfile().unwrap(), SIZE).unwrap();
    let mut image = StateImage::new(log_of(&log).1, RULE);
    let mut whole = |store: &mut Store, cut, survivors| -> Result<Vec<u8>, ImageStateError> {
        image.enter_state(store, CrashState { cut, survivors })?;
        let mut bytes = vec![0; 32 * 512];
        store.read_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    let first = whole(&mut store, 4, Survivors::Some(3)).unwrap();
    let last = whole(&mut store, 6, Survivors::None).unwrap();
    // What a guest writes over a state is dropped with it.
    store.write_at(&[9; 700], 100).unwrap();
    store.discard_bytes(512 * 8, 512).unwrap();
    assert_eq!(whole(&mut store, 6, Survivors::None).unwrap(), last);
    assert_eq!(whole(&mut store, 4, Survivors::Some(3)).unwrap(), first);
    assert_ne!(first, last);
}

#[test]
fn a_device_without_a_volatile_cache_loses_only_what_is_underway() {
    let (_, log) = log_of(&small());
    let through = LossRule { volatile: false, ..RULE };
    assert_eq!(log.uncertain_requests(4, RULE), [1, 3, 4]);
    assert_eq!(log.uncertain_requests(4, through), [4]);
    // A device that ignores flushes loses what they should have made durable.
    assert_eq!(log.uncertain_requests(6, RULE.flushes_ignored()), [0, 1, 3, 4]);
    let nothing = sample_states(&log, RULE.nothing_lost(), &[ALL], 100, 1, |_| 0);
    assert!(nothing.iter().all(|state| [Survivors::None, Survivors::All].contains(&state.survivors)));
}

#[test]
fn states_are_drawn_once_each_in_order_and_by_seed() {
    let (_, log) = log_of(&small());
    let draw = |seed, rule| sample_states(&log, rule, &[ALL], 1000, seed, |_| 0);
    let all = draw(1, RULE);
    assert_eq!(all, draw(1, RULE));
    assert!(all.is_sorted_by_key(|state| state.cut));
    let contents: BTreeSet<[u8; 4]> = all.iter().map(|state| held(&small(), *state)).collect();
    assert_eq!(contents.len(), all.len(), "{all:?}");
    // By hand: nothing; the first write; the second write whole or torn, with or without the first; after the flush
    // the second, the fourth and the fifth write, each present or not; and the state after the last flush.
    assert!(contents.contains(&[1, 2, 0, 0]) && contents.contains(&[1, 0, 0, 5]), "{contents:?}");
    // No write is torn from its end, and what a flush made durable is overwritten or present.
    assert!(contents.iter().all(|held| held[1] != 0 || held[2] == 0), "{contents:?}");
    assert!(contents.iter().all(|held| held[3] != 5 || held[0] != 0), "{contents:?}");
    // Where promises are made between two times, equal contents are sampled for each of them.
    let promised = sample_states(&log, RULE, &[ALL], 1000, 1, |now| usize::from(now >= 40));
    assert!(promised.len() > all.len());
    let late = CutWindow { from_ns: 60, until_ns: 80 };
    let late = sample_states(&log, RULE, &[late], 10, 1, |_| 0);
    assert_eq!(late, [CrashState { cut: 6, survivors: Survivors::None }]);
}

#[test]
fn a_content_is_kept_once_and_zeroes_never() {
    let file = tempfile::tempfile().unwrap();
    let mut writer = LogWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
    for number in 0..10 {
        let bytes = [if number == 9 { 0 } else { 7 }; 4096];
        writer.append_completion(&done(Action::Write, number * 8, 8, number, number), &bytes).unwrap();
    }
    writer.flush_buffer().unwrap();
    assert_eq!(file.metadata().unwrap().len(), 8 + 10 * 40 + 4096);
    // A full log reports that, and holds what came before.
    let file = tempfile::tempfile().unwrap();
    let mut writer = LogWriter::new(file.try_clone().unwrap(), 580).unwrap();
    writer.append_completion(&done(Action::Write, 0, 1, 0, 1), &[1; 512]).unwrap();
    writer.append_completion(&done(Action::Flush, 0, 0, 1, 2), &[]).unwrap();
    assert!(writer.is_full());
}

#[test]
fn a_log_of_the_kernels_form_has_flushes_where_they_made_durable() {
    let (_, log) = log_of(&small());
    let mut bytes = Vec::new();
    export_log(&log, &mut bytes).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!([number(0), number(8), number(16), number(24)], [0x6a_7366_7773_6872, 1, 6, 512]);
    let (mut at, mut entries) = (512, Vec::new());
    while at < bytes.len() {
        let entry = (number(at), number(at + 8), number(at + 16));
        entries.push(entry);
        at += 512 + if entry.2 == 0 { entry.1 as usize * 512 } else { 0 };
    }
    let flush = (0, 0, 1);
    assert_eq!(entries, [(0, 1, 0), flush, (8, 2, 0), (0, 1, 0), (16, 1, 0), flush]);
}

/// Replays a log in the kernel's format up to the flush of this number, following log-writes.rst and
/// `drivers/md/dm-log-writes.c` alone: a sector with magic, version, number of entries and sector size; then for each
/// entry a sector with place, length and flags, followed by the data.
fn replayed(log: &[u8], flushes: usize) -> Vec<u8> {
    let number = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap()) as usize;
    let mut device = vec![0; SIZE as usize];
    let (mut at, mut flushed) = (512, 0);
    for _ in 0..number(16) {
        let (begin, bytes, flags) = (number(at) * 512, number(at + 8) * 512, number(at + 16));
        at += 512;
        match flags {
            0 => {
                device[begin..begin + bytes].copy_from_slice(&log[at..at + bytes]);
                at += bytes;
            }
            4 => device[begin..begin + bytes].fill(0),
            _ => flushed += 1,
        }
        if flags == 1 && flushed == flushes {
            return device;
        }
    }
    panic!("it has {flushed} flushes")
}

fn requests() -> impl Strategy<Value = Vec<Completion>> {
    let one = (0..8_u8, 0..64_u64, 1..8_u32, 0..30_u64);
    proptest::collection::vec(one, 1..60).prop_map(|drawn| {
        let mut now = 0;
        let request = |(kind, sector, sectors, before): (u8, u64, u32, u64)| {
            now += 10;
            let (operation, sector, sectors) = match kind {
                0 => (Action::Flush, 0, 0),
                1 => (Action::Discard, sector, sectors),
                2 => (Action::WriteZeroes, sector, sectors),
                _ => (Action::Write, sector, sectors),
            };
            // Writes overlap each other and flushes; a flush ends before the next begins.
            let before = if operation == Action::Flush { before.min(9) } else { before };
            done(operation, sector, sectors, now - before.min(now), now)
        };
        drawn.into_iter().map(request).collect()
    })
}

#[test]
fn every_built_in_model_has_a_rule() {
    let rule = |name: &str| LossRule::from_model(&Model::named(name).unwrap());
    assert!(rule("usb-disk-5400").volatile && rule("sata-ssd").volatile);
    assert!(!rule("nvme-plp").volatile);
    assert_eq!((rule("hdd-7200").unit_sectors, rule("usb-disk-5400").unit_sectors), (8, 1));
}

#[test]
fn what_is_no_log_is_told() {
    let file = tempfile::tempfile().unwrap();
    assert!(matches!(WriteLog::read_log(file), Err(LogError::Foreign)));
    let (file, log) = log_of(&small());
    let length = file.metadata().unwrap().len();
    // The writer was killed before it finished.
    file.set_len(length - 50).unwrap();
    std::io::Seek::rewind(&mut &file).unwrap();
    assert_eq!(
        WriteLog::read_log(file.try_clone().unwrap()).unwrap().requests().len(),
        log.requests().len() - 2
    );
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xff; 8], 8 + 24).unwrap();
    std::io::Seek::rewind(&mut &file).unwrap();
    assert!(matches!(WriteLog::read_log(file), Err(LogError::Damaged { at: 8 })));
}

fn survivors() -> impl Strategy<Value = Survivors> {
    (0..7_u8, any::<u32>(), any::<u32>()).prop_map(|(kind, one, other)| match kind {
        0 => Survivors::None,
        1 => Survivors::All,
        2 => Survivors::First(one),
        3 => Survivors::Only(one),
        4 => Survivors::Without(one),
        5 => Survivors::Some(one),
        _ => Survivors::Torn { before: one, sectors: other },
    })
}

proptest! {
    #[test]
    fn a_state_is_found_by_its_name(cut in any::<usize>(), survivors in survivors()) {
        let state = CrashState { cut, survivors };
        prop_assert_eq!(state.to_string().parse::<CrashState>().unwrap(), state);
    }

    #[test]
    fn what_a_reader_of_the_kernels_form_makes_is_what_the_image_of_the_state_is(requests in requests()) {
        let log = log_of(&requests).1;
        let mut bytes = Vec::new();
        export_log(&log, &mut bytes).unwrap();
        let flushes: Vec<usize> = (0..requests.len()).filter(|at| log.requests()[*at].is_flush()).collect();
        let mut store = Store::new(tempfile::tempfile().unwrap(), SIZE).unwrap();
        let mut image = StateImage::new(log, RULE);
        for (number, flush) in flushes.into_iter().enumerate() {
            image.enter_state(&mut store, CrashState { cut: flush + 1, survivors: Survivors::None }).unwrap();
            let mut held = vec![0; SIZE as usize];
            store.read_at(&mut held, 0).unwrap();
            prop_assert!(held == replayed(&bytes, number + 1), "flush {}", number + 1);
        }
    }

    #[test]
    fn other_names_are_refused(name in "[0-9]{0,3}[-a-z.]{0,12}[0-9]{0,3}") {
        if let Ok(state) = name.parse::<CrashState>() {
            prop_assert!(state.to_string().len() <= name.len());
        }
    }

    #[test]
    fn no_bytes_make_reading_a_log_fail_otherwise(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"fsvwlog1", 0).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 8).unwrap();
        let _ = WriteLog::read_log(file);
    }
}
