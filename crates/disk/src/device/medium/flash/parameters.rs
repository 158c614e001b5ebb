//! Numbers of flash, and how they are read from a model's file.

use std::sync::Arc;

use super::super::super::fields::{
    MS, RATE, SECTOR, TIME, US, byte_ns, number_or, read_number, read_size, read_whole, split_keys,
};
use super::super::super::knobs::{Effect, Knob, Knobs};
use super::super::{MediumKind, MediumModel, MediumParameters, ModelSource, Whole};
use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, Reason, suggest};

pub(in super::super) const KIND: MediumKind = MediumKind {
    section: "flash",
    lies_on: None,
    states: &["fresh", "filled", "steady"],
    like: "sata-ssd",
    read: |source| Some(Arc::new(read(source)?)),
    knobs: Knobs {
        reading: &[&[
            Knob("link", "read_us", |f| f.access, Effect::Moves(1e-3)),
            Knob("link", "mb_s", |f| f.onward_byte, Effect::Rate),
        ]],
        writing: &[&[
            Knob("link", "write_us", |f| f.write_command, Effect::Moves(1e-3)),
            Knob("flash", "program_us", |f| f.written_byte, Effect::Times),
            Knob("cache", "flush_us", |f| f.flush, Effect::Moves(1e-3)),
        ]],
        traced: &[],
    },
};

const KEYS: &str = "channels dies_per_channel page block_pages read_us program_us erase_ms channel_mb_s \
                    over_provisioning reserve victim";

/// Flash behind a page-mapped translation layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FlashParameters {
    pub(crate) channels: usize,
    pub(crate) dies_per_channel: usize,
    pub(crate) page_bytes: u64,
    pub(crate) block_pages: u64,
    pub(crate) read_ns: u64,
    pub(crate) program_ns: u64,
    pub(crate) erase_ns: u64,
    pub(crate) channel_byte_ns: f64,
    /// Flash beyond the size that the host sees, as a share of that size.
    pub(crate) over_provisioning: f64,
    /// Cleaning starts when a smaller share of the blocks is free.
    pub(crate) reserve: f64,
    pub(crate) victim: Victim,
    pub(crate) state: FlashState,
}

/// How the next block to clean is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Greedy,
    Fifo,
}

/// State of the flash before the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlashState {
    /// It was never written, or everything was discarded.
    Fresh,
    /// It was written once from end to end.
    Filled,
    /// It was written at random, uniformly, until the effort of cleaning no longer grew.
    Steady,
}

impl MediumParameters for FlashParameters {
    fn build_medium(&self, whole: &Whole) -> Box<dyn MediumModel> {
        Box::new(super::FlashMedium::new(*self, whole.size_bytes, whole.seed))
    }
}

fn read(source: &ModelSource<'_, '_>) -> Option<FlashParameters> {
    let section = &source.top.inner("flash", "[flash]", &split_keys(KEYS))?;
    let flash = FlashParameters {
        channels: read_whole(section, "channels", 1..=64)? as usize,
        dies_per_channel: read_whole(section, "dies_per_channel", 1..=64)? as usize,
        page_bytes: read_size(section, "page", 4096, 1 << 20)?,
        block_pages: read_whole(section, "block_pages", 1..=65_536)?,
        read_ns: (read_number(section, "read_us", TIME)? * US) as u64,
        program_ns: (read_number(section, "program_us", TIME)? * US) as u64,
        erase_ns: (read_number(section, "erase_ms", 0.0..=1000.0)? * MS) as u64,
        channel_byte_ns: byte_ns(read_number(section, "channel_mb_s", RATE)?),
        over_provisioning: read_number(section, "over_provisioning", 0.01..=10.0)?,
        reserve: number_or(section, "reserve", 0.0..=0.5, 0.0)?,
        victim: section.get("victim", victim).unwrap_or(Victim::Greedy),
        state: match source.state {
            Some("filled") => FlashState::Filled,
            Some("steady") => FlashState::Steady,
            _ => FlashState::Fresh,
        },
    };
    if source.cache.is_some_and(|cache| cache.sectors * SECTOR < 2 * flash.page_bytes) {
        let hint = "without [cache] each write is programmed by itself, as cards do it";
        source.top.wrong("flash", "a [cache] that gathers pages holds two of them at least", hint);
    }
    Some(flash)
}

fn victim(node: &Node) -> Result<Victim, Reason> {
    match filled_text(node)?.as_str() {
        "greedy" => Ok(Victim::Greedy),
        "fifo" => Ok(Victim::Fifo),
        other => {
            let message = format!("there is no such choice as `{other}`");
            Err(Reason::new(message, suggest(other, &["greedy", "fifo"])))
        }
    }
}
