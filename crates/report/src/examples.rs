//! Test runs with a known verdict (recommended, ranked, undecided and others), for tests of the reports.

use crate::fixtures::{Story, id};
use fsverdict_judgement::journal::{Ending, Event};
use fsverdict_judgement::plan::{Blocks, Environment, ProtectionFeature, Until};

/// A candidate's seconds to write and to read, and how far (as a share) they vary from block to block.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    pub(super) seconds: [f64; 2],
    pub(super) strays: f64,
}

pub(super) const fn one(name: &'static str, write: f64, read: f64, strays: f64) -> Contestant {
    Contestant { name, seconds: [write, read], strays }
}

/// A pseudo-random number between -1 and 1 that is the same in every test.
pub(super) fn chance(block: u32, place: u32, phase: u32) -> f64 {
    let mut mixed = (u64::from(block) << 40) ^ (u64::from(place) << 20) ^ u64::from(phase);
    // The finaliser of MurmurHash3, which spreads neighbouring numbers well.
    for factor in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
    }
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A run of this many blocks. Each block has its own slowness, the same for all candidates.
pub(super) fn run_of(contestants: &[Contestant], blocks: u32) -> Story {
    let names: Vec<&str> = contestants.iter().map(|one| one.name).collect();
    let mut story = Story::new(&names, &["write", "read"]);
    story.plan.protocol.blocks = Blocks { min: 3, max: 30 };
    for block in 1..=blocks {
        add_block(&mut story, contestants, block, 1, None);
    }
    story
}

fn add_block(story: &mut Story, contestants: &[Contestant], block: u32, attempt: u32, rule: Option<&str>) {
    let names: Vec<&str> = contestants.iter().map(|one| one.name).collect();
    story.open_block(block, attempt, &names);
    for (place, one) in (0..).zip(contestants) {
        let weather = 1.0 + 0.1 * chance(block, 99, 0);
        let seconds = |phase: u32| {
            one.seconds[phase as usize] * weather * (1.0 + one.strays * chance(block, place, phase + 1))
        };
        let id = fsverdict_judgement::journal::TrialId { attempt, ..id(block, one.name) };
        story.trial(&id, &[("write", seconds(0)), ("read", seconds(1))]);
    }
    story.close_block(block, attempt, rule);
}

/// btrfs is better than the others by a fifth and more, jfs a little behind ext4 or tied with it.
pub(super) fn recommended() -> Story {
    let contestants = [
        one("btrfs", 6.0, 2.0, 0.035),
        one("ext4", 6.2, 2.1, 0.035),
        one("xfs", 9.0, 3.1, 0.035),
        one("jfs", 14.0, 4.0, 0.035),
    ];
    let mut story = run_of(&contestants, 5);
    story.finish_for("recommended after 5 blocks");
    story
}

/// Two filesystems with LUKS and without it, of which another one is the faster with it; and ext2, which has no journal
/// and is the fastest of all.
pub(super) fn protected() -> Story {
    let contestants = [
        one("ext4", 6.0, 2.0, 0.01),
        one("xfs", 6.6, 2.2, 0.01),
        one("ext4+luks2", 7.4, 2.5, 0.01),
        one("xfs+luks2", 6.9, 2.3, 0.01),
        one("ext2", 5.0, 1.6, 0.01),
    ];
    let mut story = run_of(&contestants, 6);
    let level = |features: &[ProtectionFeature]| features.iter().copied().collect();
    let encrypted = ["ext4+luks2", "xfs+luks2"].map(|name| (name, level(&[ProtectionFeature::Encrypted])));
    let bare = ("ext2", level(&[ProtectionFeature::NotCrashSafe]));
    story.plan.goal.protection =
        encrypted.into_iter().chain([bare]).map(|(name, level)| (name.to_owned(), level)).collect();
    story.finish_for("unencrypted, crash-safe: recommended after 6 blocks");
    story
}

/// ext4 and xfs are equal within one per cent; jfs is behind.
pub(super) fn ranked() -> Story {
    let contestants =
        [one("ext4", 8.0, 2.7, 0.01), one("xfs", 8.05, 2.69, 0.01), one("jfs", 14.0, 4.0, 0.01)];
    let mut story = run_of(&contestants, 10);
    story.plan.protocol.until = Until::Ranked;
    story.finish_for("ranked after 10 blocks");
    story
}

/// ext4 seems ahead of xfs, but both vary too much to decide in the time available.
pub(super) fn undecided() -> Story {
    let contestants = [one("ext4", 8.0, 2.7, 0.3), one("xfs", 8.6, 2.9, 0.3), one("jfs", 24.0, 9.0, 0.3)];
    let mut story = run_of(&contestants, 8);
    story.end("the time of 20m is up: another block would take longer than the 2m left", Ending::Budget);
    story
}

/// A single candidate and its twin.
pub(super) fn against_itself(bias: f64) -> Story {
    let twin = one("ext4~twin", 8.0 * bias, 2.7 * bias, 0.01);
    let mut story = run_of(&[one("ext4", 8.0, 2.7, 0.01), twin], 10);
    story.finish_for("recommended after 10 blocks");
    story
}

/// ext4 is 5 % ahead of xfs, but its identical twin seems 7 % behind: the machine is biased.
pub(super) fn with_a_twin() -> Story {
    let contestants = [
        one("ext4", 8.0, 2.7, 0.01),
        one("xfs", 8.4, 2.83, 0.01),
        one("jfs", 14.0, 4.0, 0.01),
        one("ext4~twin", 8.6, 2.9, 0.01),
    ];
    let mut story = run_of(&contestants, 6);
    story.finish_for("6 blocks, as planned");
    story
}

/// Two equal candidates: a pair as measured on a busy machine, with the first two blocks far from the others.
pub(super) fn set_aside() -> Story {
    let names = ["ext4", "ext4:noatime"];
    let mut story = Story::new(&names, &["write"]);
    for (block, times) in (1..).zip([0.903, 0.943, 1.124, 1.138, 1.136, 1.145, 1.045]) {
        story.open_block(block, 1, &names);
        for (name, seconds) in names.iter().zip([8.0, 8.0 * times]) {
            story.trial(&id(block, name), &[("write", seconds)]);
        }
        story.close_block(block, 1, None);
    }
    story.finish_for("recommended after 7 blocks");
    story
}

/// More blocks were disturbed than not.
pub(super) fn disturbed() -> Story {
    let contestants = [one("ext4", 8.0, 2.7, 0.01), one("jfs", 14.0, 4.0, 0.01)];
    let rule = Some("other programs used 41 % of the CPU (25 % is borne)");
    let mut story = run_of(&contestants, 2);
    for attempt in 1..=3 {
        add_block(&mut story, &contestants, 3, attempt, rule);
    }
    story.end("3 blocks were invalid and only 2 valid: this machine is too busy", Ending::Disturbed);
    story
}

/// The time was up before any block counted.
pub(super) fn disturbed_till_its_time_was_up() -> Story {
    let contestants = [one("ext4", 8.0, 2.7, 0.01), one("jfs", 14.0, 4.0, 0.01)];
    let mut story = run_of(&contestants, 0);
    add_block(&mut story, &contestants, 1, 1, Some("other programs used 41 % of the CPU (25 % is borne)"));
    story.end("the time of 20m is up, and no block counts: this machine is too busy", Ending::Budget);
    story
}

/// One block was disturbed and repeated.
pub(super) fn repeated() -> Story {
    let contestants = [one("ext4", 8.0, 2.7, 0.01), one("jfs", 14.0, 4.0, 0.01)];
    let mut story = run_of(&contestants, 2);
    let slower = [one("ext4", 80.0, 27.0, 0.01), one("jfs", 14.0, 4.0, 0.01)];
    add_block(
        &mut story,
        &slower,
        3,
        1,
        Some("the processor was 2.1 times as slow as usual in this run (1.5 is borne)"),
    );
    add_block(&mut story, &contestants, 3, 2, None);
    story.finish_for("recommended after 3 blocks");
    story
}

/// ext4 leads while both phases have the same weight; xfs reads faster, jfs takes half the CPU time and writes a third
/// less.
pub(super) fn with_tradeoffs() -> Story {
    let contestants = [
        one("ext4", 6.0, 3.0, 0.01),
        one("xfs", 10.0, 2.5, 0.01),
        one("jfs", 9.0, 3.6, 0.01),
        one("btrfs", 12.0, 3.9, 0.01),
    ];
    let mut story = run_of(&contestants, 8);
    for record in &mut story.records {
        let jfs = record.trial.as_ref().is_some_and(|trial| trial.candidate == "jfs");
        if let Event::Observation(observation) = &mut record.event
            && jfs
        {
            for found in &mut observation.measurements {
                found.value *= match found.metric.as_ref() {
                    "cpu" => 0.4,
                    "device_written" => 0.67,
                    _ => 1.0,
                };
            }
        }
    }
    story.finish_for("recommended after 8 blocks");
    story
}

pub(super) fn under_kernels() -> Story {
    const KERNELS: [&str; 3] = ["6.1", "6.12", "6.18"];
    let names: Vec<String> = ["ext2", "xfs"]
        .iter()
        .flat_map(|filesystem| KERNELS.map(|kernel| format!("{filesystem}-under-{kernel}")))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut story = Story::new(&names, &["write", "read"]);
    for (candidate, kernel) in story.plan.candidates.iter_mut().zip(KERNELS.iter().cycle()) {
        candidate.under = Environment { kernel: Some(kernel.into()), ..Environment::default() };
    }
    for block in 1..=3 {
        story.open_block(block, 1, &names);
        // Reading ext2 varies more between blocks than between kernels.
        let wobble = f64::from(block * block);
        let ext2 = [(1.0, 2.0 + wobble), (1.72, 3.0 - wobble / 9.0), (1.0, 2.0 + wobble)];
        let xfs = [(1.0, 2.0), (1.001, 1.0), (1.001, 2.0)];
        for (name, (write, read)) in names.iter().zip(ext2.into_iter().chain(xfs)) {
            story.trial(&id(block, name), &[("write", write), ("read", read)]);
        }
        story.close_block(block, 1, None);
    }
    story.finish();
    story
}
