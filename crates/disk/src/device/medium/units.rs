//! Sticks and cards: allocation units of several megabytes, few of which can be open at once.
//!
//! A write to an open unit that continues where the last one ended takes only its own time. Any other write to it
//! goes to the unit's log, where it has one, or closes it. To open one unit too many, the least recently used one is
//! closed. Closing copies the data that the unit lacks. After Bergmann, "Optimizing Linux with cheap flash drives",
//! LWN 2011, and flashbench.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::cache::Extent;
use super::super::fields::{
    MS, RATE, SECTOR, TIME, US, number_or, read_number, read_size, read_whole, sector_ns, split_keys,
};
use super::super::knobs::{Effect, Knob, Knobs};
use super::super::wear::Wear;
use super::{AccessSpan, DriveInstance, MediumKind, MediumModel, MediumParameters, ModelSource};

pub(super) const KIND: MediumKind = MediumKind {
    section: "units",
    lies_on: None,
    states: &["fresh", "filled"],
    like: "usb-stick",
    read: |source| Some(Arc::new(read_parameters(source)?)),
    knobs: Knobs {
        reading: &[&[
            Knob("units", "read_us", |f| f.access, Effect::Moves(1e-3)),
            Knob("units", "read_mb_s", |f| f.access_byte, Effect::Rate),
        ]],
        writing: &[
            &[
                Knob("units", "write_us", |f| f.write_command, Effect::Moves(1e-3)),
                Knob("units", "write_mb_s", |f| f.written_byte, Effect::Rate),
                Knob("units", "open", |f| f.streams, Effect::Counts),
            ],
            &[Knob("units", "copy_mb_s", |f| f.copied_byte, Effect::Slower)],
        ],
        traced: &[],
    },
};

const KEYS: &str = "page unit open read_us read_mb_s write_us write_mb_s copy_mb_s erase_ms log_pages";

/// Allocation units of sticks and cards, few of which can be open at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitsParameters {
    unit_sectors: u64,
    open: usize,
    page_sectors: u64,
    read_ns: u64,
    read_sector_ns: f64,
    write_ns: u64,
    write_sector_ns: f64,
    copy_sector_ns: f64,
    erase_ns: u64,
    /// Pages of an open unit's log for writes that do not continue where the last one ended; 0 for none.
    log_pages: u64,
    /// Whether every unit holds data at the start.
    filled: bool,
}

fn read_parameters(source: &ModelSource<'_, '_>) -> Option<UnitsParameters> {
    let section = &source.top.inner_table("units", "[units]", &split_keys(KEYS))?;
    let page_bytes = read_size(section, "page", SECTOR, 1 << 24)?;
    Some(UnitsParameters {
        unit_sectors: read_size(section, "unit", page_bytes, 1 << 32)? / SECTOR,
        open: read_whole(section, "open", 1..=1024)? as usize,
        page_sectors: page_bytes / SECTOR,
        read_ns: (read_number(section, "read_us", TIME)? * US) as u64,
        read_sector_ns: sector_ns(read_number(section, "read_mb_s", RATE)?),
        write_ns: (read_number(section, "write_us", TIME)? * US) as u64,
        write_sector_ns: sector_ns(read_number(section, "write_mb_s", RATE)?),
        copy_sector_ns: sector_ns(read_number(section, "copy_mb_s", RATE)?),
        erase_ns: (read_number(section, "erase_ms", 0.0..=10_000.0)? * MS) as u64,
        log_pages: number_or(section, "log_pages", 0.0..=1e6, 0.0)? as u64,
        filled: source.state == Some("filled"),
    })
}

impl MediumParameters for UnitsParameters {
    fn build_medium(&self, _: &DriveInstance) -> Box<dyn MediumModel> {
        Box::new(Units::new(*self))
    }
}

/// The units of a stick or card.
#[derive(Debug)]
struct Units {
    parameters: UnitsParameters,
    /// Open units, the least recently used first.
    open: Vec<OpenUnit>,
    /// Sectors with data, from the start of each unit that is not open; units never written are absent.
    filled_sectors: HashMap<u64, u64>,
    erases: HashMap<u64, u64>,
    wear: Wear,
}

/// A unit that is being rewritten.
#[derive(Debug, Clone, Copy)]
struct OpenUnit {
    unit: u64,
    /// Sectors that are written, from its start.
    written: u64,
    /// Sectors with data in the unit that it replaces, from its start.
    filled_sectors: u64,
    /// Pages in its log.
    logged: u64,
}

impl Units {
    fn new(parameters: UnitsParameters) -> Units {
        Units {
            parameters,
            open: Vec::new(),
            filled_sectors: HashMap::new(),
            erases: HashMap::new(),
            wear: Wear::default(),
        }
    }

    fn max_open(&self) -> usize {
        self.parameters.open
    }

    fn copy_ns(&mut self, sectors: u64) -> u64 {
        self.wear.add_writes(0, sectors);
        (sectors as f64 * self.parameters.copy_sector_ns) as u64
    }

    /// Closes a unit: copies the data that it lacks from the old one, or all of it in order if writes went to its log,
    /// and erases the old one. Returns the time that this takes.
    fn close_unit(&mut self, index: usize) -> u64 {
        let open = self.open.remove(index);
        let rest = open.filled_sectors.saturating_sub(open.written);
        let copied = if open.logged > 0 { open.written.max(open.filled_sectors) } else { rest };
        self.filled_sectors.insert(open.unit, open.written.max(open.filled_sectors));
        let erases = self.erases.entry(open.unit).or_default();
        *erases += 1;
        self.wear.most_erased = self.wear.most_erased.max(*erases);
        self.wear.erases += 1;
        self.copy_ns(copied) + self.parameters.erase_ns
    }

    /// Makes this unit the most recently used open one, and closes older ones to make room. Returns the time that this
    /// takes, in nanoseconds.
    fn open_unit(&mut self, unit: u64) -> u64 {
        if let Some(index) = self.open.iter().position(|open| open.unit == unit) {
            let open = self.open.remove(index);
            self.open.push(open);
            return 0;
        }
        let mut took_ns = 0;
        while self.open.len() >= self.max_open() {
            took_ns += self.close_unit(0);
        }
        let unwritten = if self.parameters.filled { self.parameters.unit_sectors } else { 0 };
        let filled_sectors = self.filled_sectors.get(&unit).copied().unwrap_or(unwritten);
        self.open.push(OpenUnit { unit, written: 0, filled_sectors, logged: 0 });
        took_ns
    }

    /// Writes sectors within one unit; returns the time that this takes.
    fn write_to_unit(&mut self, unit: u64, from: u64, sectors: u64) -> u64 {
        let page = self.parameters.page_sectors;
        let end = from + sectors;
        let pages = end.div_ceil(page) - from / page;
        let mut took_ns = self.open_unit(unit);
        let Some(mut open) = self.open.last().copied() else { return took_ns };
        if from < open.written {
            if open.logged + pages > self.parameters.log_pages {
                took_ns += self.close_unit(self.open.len() - 1);
                took_ns += self.open_unit(unit);
                open = self.open.last().copied().unwrap_or(open);
            } else {
                open.logged += pages;
            }
        }
        if from >= open.written {
            let gap = from.min(open.filled_sectors).saturating_sub(open.written);
            took_ns += self.copy_ns(gap);
            open.written = end;
        } else {
            open.written = open.written.max(end);
        }
        if let Some(last) = self.open.last_mut() {
            *last = open;
        }
        self.wear.add_writes(sectors, pages * page);
        took_ns + (pages as f64 * page as f64 * self.parameters.write_sector_ns) as u64
    }
}

impl MediumModel for Units {
    fn read(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let begin_ns = at_ns + self.parameters.read_ns;
        let took_ns = (extent.sectors as f64 * self.parameters.read_sector_ns) as u64;
        AccessSpan { begin_ns, end_ns: begin_ns + took_ns }
    }

    fn write(&mut self, at_ns: u64, extent: Extent) -> AccessSpan {
        let size = self.parameters.unit_sectors;
        let mut end_ns = at_ns + self.parameters.write_ns;
        let (mut sector, end) = (extent.sector, extent.sector + extent.sectors);
        while sector < end {
            let sectors = (end - sector).min(size - sector % size);
            end_ns += self.write_to_unit(sector / size, sector % size, sectors);
            sector += sectors;
        }
        AccessSpan { begin_ns: at_ns, end_ns }
    }

    fn discard(&mut self, at_ns: u64, extent: Extent) -> u64 {
        // Only whole units are released, because the rest of a unit must be kept.
        let size = self.parameters.unit_sectors;
        for unit in extent.sector.div_ceil(size)..(extent.sector + extent.sectors) / size {
            self.open.retain(|open| open.unit != unit);
            self.filled_sectors.insert(unit, 0);
        }
        at_ns + self.parameters.write_ns
    }

    fn wear(&self) -> Wear {
        self.wear
    }
}
