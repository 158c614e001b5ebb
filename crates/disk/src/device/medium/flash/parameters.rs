//! Numbers of flash, and how they are read from a model's file.

use std::sync::Arc;

use super::super::super::fields::{
    MS, RATE, SECTOR, TIME, US, byte_ns, number_or, read_flag, read_number, read_size, read_whole, split_keys,
};
use super::super::super::knobs::{Effect, Knob, Knobs};
use super::super::{DriveInstance, MediumKind, MediumModel, MediumParameters, ModelSource};
use fsverdict_text::value::filled_text;
use fsverdict_text::{Node, Reason, Section, suggest};

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
                    over_provisioning reserve victim elsewhere page_registers read_ahead map_cache fast_size fast_share \
                    fast_read_us fast_program_us fold_delay_ms fold_first";

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
    /// The share of the drive's other part that holds data; `None` if the flash is as large as what is used of it.
    pub(crate) elsewhere: Option<f64>,
    /// Whether a die keeps the page that it read last.
    pub(crate) page_registers: bool,
    /// Bytes that are read ahead for a stream of reads; 0 for none.
    pub(crate) read_ahead_bytes: u64,
    /// Bytes of the mapping table that are at hand; `None` if all of it is.
    pub(crate) map_cache_bytes: Option<u64>,
    pub(crate) fast_cells: Option<FastCellParameters>,
}

/// Cells that hold one bit each, to which new pages go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FastCellParameters {
    /// Bytes that fit whatever the drive holds.
    pub(crate) bytes: u64,
    /// Bytes that fit besides, as a share of the flash that holds nothing else.
    pub(crate) share: f64,
    pub(crate) read_ns: u64,
    pub(crate) program_ns: u64,
    /// Idle time after which folding starts.
    pub(crate) fold_delay_ns: u64,
    /// Whether a write waits until as much has been folded, if there is no room. Otherwise it goes to slow cells.
    pub(crate) fold_first: bool,
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
    fn build_medium(&self, drive: &DriveInstance) -> Box<dyn MediumModel> {
        Box::new(super::FlashMedium::new(*self, drive))
    }
}

fn read(source: &ModelSource<'_, '_>) -> Option<FlashParameters> {
    let section = &source.top.inner_table("flash", "[flash]", &split_keys(KEYS))?;
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
        elsewhere: match section.has_key("elsewhere") {
            true => Some(read_number(section, "elsewhere", 0.0..=1.0)?),
            false => None,
        },
        page_registers: read_flag(section, "page_registers"),
        read_ahead_bytes: size_or_none(section, "read_ahead", 1 << 30)?.unwrap_or(0),
        map_cache_bytes: size_or_none(section, "map_cache", 1 << 36)?,
        fast_cells: read_fast_cells(section)?,
    };
    if source.cache.is_some_and(|cache| cache.sectors * SECTOR < 2 * flash.page_bytes) {
        let hint = "without [cache] each write is programmed by itself, as cards do it";
        source.top.report_wrong("flash", "a [cache] that gathers pages holds two of them at least", hint);
    }
    Some(flash)
}

/// Reads a size that may be absent.
fn size_or_none(section: &Section<'_>, key: &str, most: u64) -> Option<Option<u64>> {
    if section.has_key(key) { read_size(section, key, 4096, most).map(Some) } else { Some(None) }
}

/// Reads the fast cells, which a device has if it has a time to program them.
fn read_fast_cells(section: &Section<'_>) -> Option<Option<FastCellParameters>> {
    let has_some = ["fast_size", "fast_share", "fast_read_us", "fold_delay_ms", "fold_first"];
    if !section.has_key("fast_program_us") {
        if let Some(key) = has_some.into_iter().find(|key| section.has_key(key)) {
            section.report_wrong(key, "there are no fast cells", "add fast_program_us and fast_read_us");
        }
        return Some(None);
    }
    Some(Some(FastCellParameters {
        bytes: size_or_none(section, "fast_size", 1 << 44)?.unwrap_or(0),
        share: number_or(section, "fast_share", 0.0..=1.0, 0.0)?,
        read_ns: (read_number(section, "fast_read_us", TIME)? * US) as u64,
        program_ns: (read_number(section, "fast_program_us", TIME)? * US) as u64,
        fold_delay_ns: (number_or(section, "fold_delay_ms", 0.0..=1e6, 0.0)? * MS) as u64,
        fold_first: read_flag(section, "fold_first"),
    }))
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
