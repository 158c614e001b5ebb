//! Readers of filesystems' layouts: sound images are read to their end, and damaged ones within limits, with the place at which
//! reading stopped.

mod cases;
mod damage;
mod images;

use std::collections::BTreeSet;

use fsverdict_judgement::journal::{BlockUse, StopReason};
use fsverdict_stack::anatomy::{
    ImageLayout, ImageReader, KnownContent, LayoutLimits, LayoutProcess, block_uses,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{PROGRAM, Place, is_full, tool};
use cases::CASES;
use images::{BLOCK, Image, RECIPES};

/// Limits that the reader of a sound image of these sizes stays far below.
const LIMITS: LayoutLimits = LayoutLimits { memory_mib: 256, processor_s: 20, wall_s: 120 };
/// Mutated images of each filesystem.
const SEEDS: u64 = 30;

/// Reads a layout in a process of this program's, as a run does, within the limits.
fn read(filesystem: &str, image: &Image) -> ImageLayout {
    let written: Vec<u64> = image.written.iter().copied().collect();
    let process = LayoutProcess::without_sandbox(PROGRAM, LIMITS);
    process.read_layout(filesystem, &image.file, image.size, &written).unwrap()
}

/// What a reader says of its end; panics where a limit of the process ended it, or it failed.
fn stopped_within_limits(layout: &ImageLayout, case: &str) -> Option<String> {
    let stopped = layout.stopped.as_ref()?;
    let is_of_process = matches!(
        stopped.reason,
        StopReason::KilledBySignal { .. }
            | StopReason::MemoryLimit { .. }
            | StopReason::ProcessorTimeLimit { .. }
            | StopReason::WallTimeLimit { .. }
            | StopReason::InvalidResult
    );
    assert!(!is_of_process, "{case}: {stopped}");
    Some(stopped.to_string())
}

fn uses(layout: ImageLayout, image: &Image) -> BTreeSet<BlockUse> {
    let written: Vec<u64> = image.written.iter().copied().collect();
    let reader = ImageReader::new(&image.file, image.size, &written);
    let uses = block_uses(layout, &reader, &KnownContent::default());
    assert!(uses.held.keys().all(|block| *block < image.size / BLOCK));
    uses.held.into_values().collect()
}

#[test]
fn sound_images_are_read_to_their_end() {
    for recipe in RECIPES {
        let image = recipe.make();
        let layout = read(recipe.filesystem, &image);
        assert_eq!(layout.stopped, None, "{}", recipe.filesystem);
        let uses = uses(layout, &image);
        // With blocks of 1 KiB, as ext3 has them here, superblock and descriptors share 4 KiB, which count as a map.
        let superblock = uses.contains(&BlockUse::Superblock) || recipe.filesystem == "ext3";
        assert!(superblock && uses.contains(&BlockUse::Map), "{}: {uses:?}", recipe.filesystem);
        assert!(!uses.contains(&BlockUse::Unknown), "{}: {uses:?}", recipe.filesystem);
    }
}

#[test]
fn hostile_layouts_are_read_within_limits_and_where_reading_stopped_is_told() {
    let mut filesystems: Vec<&str> = CASES.iter().map(|case| case.filesystem).collect();
    filesystems.dedup();
    assert_eq!(filesystems, RECIPES.iter().map(|recipe| recipe.filesystem).collect::<Vec<&str>>());
    for recipe in RECIPES {
        let mut image = recipe.make();
        for case in CASES.iter().filter(|case| case.filesystem == recipe.filesystem) {
            let name = format!("{}: {}", case.filesystem, case.name);
            (case.damage)(&mut image);
            let layout = read(case.filesystem, &image);
            let told = stopped_within_limits(&layout, &name);
            match (case.stops, &told) {
                (Some(stops), Some(told)) => assert!(told.contains(stops), "{name}: {told}"),
                (None, None) => {}
                _ => panic!("{name}: {told:?}, not {:?}", case.stops),
            }
            // What was known so far is kept, and what was not reached is not taken for unused.
            assert!(!uses(layout, &image).is_empty(), "{name}");
            image.restore();
        }
    }
}

/// Numbers that layouts break on.
fn hostile_number(random: &mut Xoshiro256PlusPlus, block: u64) -> u64 {
    let choices =
        [0, 1, 2, 63, 64, 65, 255, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX, block];
    match random.next_u64() % 4 {
        0 => random.next_u64(),
        1 => block * BLOCK,
        _ => choices[(random.next_u64() % choices.len() as u64) as usize],
    }
}

#[test]
fn images_damaged_by_chance_are_read_within_limits() {
    for recipe in RECIPES {
        let mut image = recipe.make();
        let blocks: Vec<u64> = image.written.iter().copied().collect();
        let (mut stopped, mut complete) = (0, 0);
        let seeds = if is_full() { SEEDS } else { SEEDS / 5 };
        for seed in 0..seeds {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut chance = |limit: u64| random.next_u64() % limit;
            let changes = 1 + chance(12);
            for _ in 0..changes {
                // Half of the changes are to the first blocks, where superblocks lie.
                let among = if chance(2) == 0 { 4.min(blocks.len() as u64) } else { blocks.len() as u64 };
                let block = blocks[chance(among) as usize];
                let width = [1, 2, 4, 8][chance(4) as usize];
                let head = [64, 512, BLOCK][chance(3) as usize];
                let at = block * BLOCK + chance(head / width) * width;
                let number = hostile_number(&mut Xoshiro256PlusPlus::seed_from_u64(chance(u64::MAX)), block);
                let bytes = if chance(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                image.put(at, &bytes[..width as usize]);
            }
            let layout = read(recipe.filesystem, &image);
            match stopped_within_limits(&layout, &format!("{}: seed {seed}", recipe.filesystem)) {
                Some(_) => stopped += 1,
                None => complete += 1,
            }
            uses(layout, &image);
            image.restore();
        }
        assert_eq!(stopped + complete, seeds, "{}", recipe.filesystem);
    }
}

/// How a reader's process may end, as a script for the shell, and what is told of it.
const ENDINGS: &[(&str, &str)] = &[
    ("kill -9 $$", "stopped: the reader was killed by signal 9"),
    ("kill -11 $$", "stopped: the reader was killed by signal 11"),
    ("exit 137", "stopped: the reader was killed by signal 9"),
    (
        "echo memory allocation of 9 bytes failed >&2; kill -6 $$",
        "stopped: the reader used more than 256 MiB",
    ),
    ("kill -24 $$", "stopped: the reader used more than 20 s of processor time"),
    ("sleep 60", "stopped: the reader did not end within 3 s"),
    ("yes", "stopped: the reader did not end within 3 s"),
    ("exit 0", "stopped: the reader sent no valid result"),
    ("exit 1", "stopped: the reader sent no valid result"),
    ("echo '{\"held\":[\"map\",0,1]}'", "stopped: the reader sent no valid result"),
    ("echo '{\"held\":[\"map\",0,99999999]}'", "stopped: the reader sent no valid result"),
    ("head -c 100000000 /dev/zero", "stopped: the reader sent no valid result"),
];

#[test]
fn however_a_readers_process_ends_the_run_goes_on_and_says_how() {
    let folder = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    for (number, (script, told)) in ENDINGS.iter().enumerate() {
        // A busy machine must not end those early that are about something else.
        let wall_s = if told.ends_with("within 3 s") { 3 } else { LIMITS.wall_s };
        let limits = LayoutLimits { wall_s, ..LIMITS };
        let text = folder.path().join("text");
        let path = folder.path().join(number.to_string());
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Another process writes the program: a test that forks meanwhile would inherit a descriptor of this one's that is
        // open for writing, and such a file cannot be executed.
        tool(&["install", "--mode=755", text.to_str().unwrap(), path.to_str().unwrap()]);
        let process = LayoutProcess::without_sandbox(path.to_str().unwrap(), limits);
        let layout = process.read_layout("ext4", &file, 1 << 20, &[0]).unwrap();
        assert_eq!(layout.stopped.unwrap().to_string(), *told, "{script}");
    }
}

#[test]
fn a_reader_that_needs_more_memory_than_it_may_have_says_so() {
    let recipe = &RECIPES[2];
    let image = recipe.make();
    let limits = LayoutLimits { memory_mib: 1, ..LIMITS };
    let process = LayoutProcess::without_sandbox(PROGRAM, limits);
    let layout = process.read_layout(recipe.filesystem, &image.file, image.size, &[0; 100_000]).unwrap();
    assert_eq!(layout.stopped.unwrap().to_string(), "stopped: the reader used more than 1 MiB");
}

#[test]
fn where_reading_stopped_is_in_every_form_of_the_report() {
    let place = Place::new();
    place.recorded();
    let path = place.path().join("run/journal.jsonl");
    let journal = std::fs::read_to_string(&path).unwrap();
    let rotten = r#"{"at":"2026-11-21T07:57:36Z","event":"rotten","candidate":"btrfs","looked":1,"held":{"map":{"blocks":1,"looked":1,"outcomes":{"unharmed":1}}},"decays":{},"stopped":{"block":4711,"reason":"refers_to_itself"},"trace":"x"}"#;
    std::fs::write(&path, format!("{journal}{rotten}\n")).unwrap();
    for form in [&["report", "run", "--format", "markdown"][..], &["report", "run", "--all"]] {
        place.fsverdict(form).exits(0).shows_broken(&["stopped: block 4711 refers to itself"]);
    }
    let json = place.fsverdict(&["report", "run", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["rot"][0]["stopped"]["block"], 4711);
    assert_eq!(report["rot"][0]["stopped"]["reason"], "refers_to_itself");
}
