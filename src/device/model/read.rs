//! From a model's TOML to its numbers. docs/device-models.md says what each key means.

use std::ops::RangeInclusive;

use super::Model;
use super::parameters::{
    Cache, Flash, Link, MediumParameters, Parameters, Platter, Queue, Seek, Shingles, State, Units, Victim,
};
use crate::device::limits::Discard;
use crate::plan::value::{any_number, boolean, filled_text, size};
use crate::plan::{Bytes, DrawnNumbers, Member, Node, PlanError, Section, read_member, suggest};
use crate::reason::Reason;

const SECTOR: u64 = 512;
const MS: f64 = 1e6;
const US: f64 = 1e3;
/// Nothing is larger: sector numbers and page numbers must fit.
const MOST: u64 = 1 << 44;
/// A rate in MB/s (10⁶ bytes) as nanoseconds a byte.
fn byte_ns(mb_s: f64) -> f64 {
    1e3 / mb_s
}
const RATE: RangeInclusive<f64> = 0.001..=1e6;
const TIME: RangeInclusive<f64> = 0.0..=1e7;

const MEDIA: [&str; 4] = ["ideal", "platter", "units", "flash"];

/// Where numbers may be ranges. What a guest sees of a device is the same of all of a class.
const VARIED: [&str; 7] = ["link", "cache", "shingles", "ideal", "platter", "units", "flash"];

/// Reads one member of a model in this state (`None`: as it comes from the shop), which its name lacks.
pub(super) fn read(
    text: &str,
    file: &str,
    state: Option<&str>,
    member: Member<'_>,
) -> Result<Model, PlanError> {
    let known = keys("name version summary device link queue cache shingles ideal platter units flash");
    let (model, drawn) =
        read_member((file, text), "the model", (&known, &VARIED), member, |top| model(top, state))?;
    Ok(Model { drawn, ..model })
}

fn keys(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

fn model(top: &Section<'_>, state: Option<&str>) -> Option<Model> {
    let name = top.need("name", "", filled_text)?;
    if let Some(letter) = name.chars().find(|letter| !letter.is_ascii_alphanumeric() && *letter != '-') {
        let hint = "letters, digits and hyphens: a state may follow a colon where the model is named";
        top.wrong("name", &format!("it may not contain {letter:?}"), hint);
    }
    let version = whole(top, "version", 1..=1_000_000)?;
    let summary = top.need("summary", "", filled_text)?;
    let known = keys("capacity rotational logical_block physical_block discard write_zeroes");
    let device = top.needed_inner("device", "[device]", &known)?;
    let discard = device.inner("discard", "discard", &["granularity", "maximum"]);
    let cache = top.inner("cache", "[cache]", &keys("size extents window delay_ms flush_us protected"));
    let cache = cache.as_ref().map(cache_of);
    let capacity_bytes = bytes(&device, "capacity", SECTOR, MOST)?;
    let (medium, states) = medium(top, capacity_bytes, cache.flatten().as_ref(), state)?;
    let parameters = Parameters {
        capacity_bytes,
        rotational: flag(&device, "rotational"),
        logical_block: block(&device, "logical_block")?,
        physical_block: block(&device, "physical_block")?,
        discard: match discard {
            None => None,
            Some(section) => Some(Discard {
                granularity: bytes(&section, "granularity", SECTOR, 1 << 30)? as u32,
                max_sectors: (bytes(&section, "maximum", SECTOR, 1 << 40)? / SECTOR).min(1 << 31) as u32,
            }),
        },
        write_zeroes: flag(&device, "write_zeroes"),
        link: link(top)?,
        queue: queue(top)?,
        cache: cache.flatten(),
        medium,
    };
    Some(Model { name, version, summary, states, parameters, drawn: DrawnNumbers::new() })
}

fn block(section: &Section<'_>, key: &str) -> Option<u32> {
    let bytes = bytes(section, key, SECTOR, 1 << 16)?;
    if !bytes.is_power_of_two() {
        section.wrong(key, "no power of two", "");
    }
    Some(bytes as u32)
}

fn link(top: &Section<'_>) -> Option<Link> {
    let section =
        &top.needed_inner("link", "[link]", &keys("mb_s full_duplex command_us read_us write_us"))?;
    Some(Link {
        byte_ns: byte_ns(number(section, "mb_s", RATE)?),
        full_duplex: flag(section, "full_duplex"),
        command_ns: (number(section, "command_us", TIME)? * US) as u64,
        read_ns: (number_or(section, "read_us", TIME, 0.0)? * US) as u64,
        write_ns: (number_or(section, "write_us", TIME, 0.0)? * US) as u64,
    })
}

fn queue(top: &Section<'_>) -> Option<Queue> {
    let section = &top.needed_inner("queue", "[queue]", &keys("depth largest window flush_queued"))?;
    let depth = whole(section, "depth", 1..=1024)?;
    Some(Queue {
        depth: depth as u32,
        max_sectors: (bytes(section, "largest", 4096, 1 << 25)? / SECTOR) as u32,
        window: number_or(section, "window", 1.0..=1024.0, 1.0)? as usize,
        flush_queued: flag(section, "flush_queued"),
    })
}

fn cache_of(section: &Section<'_>) -> Option<Cache> {
    Some(Cache {
        sectors: bytes(section, "size", 4096, 1 << 36)? / SECTOR,
        extents: number_or(section, "extents", 1.0..=1e6, 1e6)? as usize,
        window: number_or(section, "window", 1.0..=1024.0, 1.0)? as usize,
        delay_ns: (number_or(section, "delay_ms", 0.0..=60_000.0, 0.0)? * MS) as u64,
        flush_ns: (number(section, "flush_us", TIME)? * US) as u64,
        protected: flag(section, "protected"),
    })
}

type Medium = (MediumParameters, &'static [&'static str]);

fn medium(
    top: &Section<'_>,
    capacity_bytes: u64,
    cache: Option<&Cache>,
    state: Option<&str>,
) -> Option<Medium> {
    let given: Vec<&str> = MEDIA.into_iter().filter(|medium| top.has(medium)).collect();
    let all = MEDIA.join("], [");
    match given.as_slice() {
        [] => top.wrong("name", "the model has no medium", format!("add one of [{all}]")),
        [_] => {}
        [_, second, ..] => {
            top.wrong(second, "there is another medium already", format!("keep one of [{all}]"));
        }
    }
    let filled = state == Some("filled");
    let shingles = top.inner("shingles", "[shingles]", &keys("cache extents band idle_ms"));
    if shingles.is_some() && !top.has("platter") {
        top.wrong("shingles", "they lie on a platter, and there is none", "add [platter]");
    }
    if let Some(section) = &top.inner("ideal", "[ideal]", &["access_us"]) {
        let access_ns = (number(section, "access_us", TIME)? * US) as u64;
        return Some((MediumParameters::Ideal { access_ns }, &[]));
    }
    if let Some(section) = &top.inner("platter", "[platter]", &keys(PLATTER)) {
        let platter = platter(section)?;
        let Some(section) = &shingles else { return Some((MediumParameters::Platter(platter), &[])) };
        let shingles = Shingles {
            cache_sectors: bytes(section, "cache", SECTOR, capacity_bytes / 2)? / SECTOR,
            cache_extents: whole(section, "extents", 1..=10_000_000)?,
            band_sectors: bytes(section, "band", 1 << 16, 1 << 32)? / SECTOR,
            idle_ns: (number(section, "idle_ms", 0.0..=1e6)? * MS) as u64,
            fill: if filled { 1.0 } else { 0.0 },
        };
        return Some((MediumParameters::Shingles(platter, shingles), &["fresh", "filled"]));
    }
    if let Some(section) = &top.inner("units", "[units]", &keys(UNITS)) {
        return Some((MediumParameters::Units(units(section, filled)?), &["fresh", "filled"]));
    }
    let section = &top.inner("flash", "[flash]", &keys(FLASH))?;
    let state = match state {
        Some("filled") => State::Filled,
        Some("steady") => State::Steady,
        _ => State::Fresh,
    };
    let flash = flash(section, state)?;
    if cache.is_none_or(|cache| cache.sectors * SECTOR < 2 * flash.page_bytes) {
        let hint = "a translation layer gathers what it programs: give it a [cache] of at least two pages";
        top.wrong("flash", "its pages need a write buffer in front of them", hint);
    }
    Some((MediumParameters::Flash(flash), &["fresh", "filled", "steady"]))
}

const PLATTER: &str =
    "outer_mb_s inner_mb_s seek rpm zones heads head_switch_ms write_settle_ms read_ahead segments";
const UNITS: &str = "page unit open read_us read_mb_s write_us write_mb_s copy_mb_s erase_ms log_pages";
const FLASH: &str = "channels dies_per_channel page block_pages read_us program_us erase_ms channel_mb_s \
                     over_provisioning reserve victim";

fn platter(section: &Section<'_>) -> Option<Platter> {
    let outer = number(section, "outer_mb_s", RATE)?;
    let inner = number(section, "inner_mb_s", 0.001..=outer)?;
    let forms = [keys("minimum_ms average_ms"), keys("a_ms b_ms knee c_ms e_ms")];
    let seek = section.needed_inner("seek", "seek", &forms.concat())?;
    let by_mean = seek.has("minimum_ms");
    seek.forbid(&forms[usize::from(by_mean)], "the other way to give the curve", "give it in one way");
    let curve = if by_mean {
        let minimum = number(&seek, "minimum_ms", 0.0..=1000.0)?;
        let average = number(&seek, "average_ms", minimum..=1000.0)?;
        // The mean of √x over the distances between two random places, whose density is 2(1−x), is 8/15.
        let full = minimum + (average - minimum) * 15.0 / 8.0;
        Seek::Root { minimum_ns: minimum * MS, full_ns: full * MS }
    } else {
        Seek::Knee {
            a_ns: number(&seek, "a_ms", 0.0..=1000.0)? * MS,
            b_ns: number(&seek, "b_ms", 0.0..=1000.0)? * MS,
            knee: number(&seek, "knee", 0.0..=1e7)?,
            c_ns: number(&seek, "c_ms", 0.0..=1000.0)? * MS,
            e_ns: number(&seek, "e_ms", 0.0..=1000.0)? * MS,
        }
    };
    Some(Platter {
        rotation_ns: 60e9 / number(section, "rpm", 100.0..=100_000.0)?,
        outer_sector_ns: byte_ns(outer) * SECTOR as f64,
        inner_sector_ns: byte_ns(inner) * SECTOR as f64,
        zones: whole(section, "zones", 1..=1000)? as u32,
        heads: whole(section, "heads", 1..=64)? as u32,
        seek: curve,
        head_switch_ns: number(section, "head_switch_ms", 0.0..=100.0)? * MS,
        write_settle_ns: number(section, "write_settle_ms", 0.0..=100.0)? * MS,
        read_ahead_sectors: bytes(section, "read_ahead", 4096, 1 << 32)? / SECTOR,
        segments: whole(section, "segments", 1..=1024)? as usize,
    })
}

fn units(section: &Section<'_>, filled: bool) -> Option<Units> {
    let page_bytes = bytes(section, "page", SECTOR, 1 << 24)?;
    let sector_ns = |mb_s: f64| byte_ns(mb_s) * SECTOR as f64;
    Some(Units {
        unit_sectors: bytes(section, "unit", page_bytes, 1 << 32)? / SECTOR,
        open: whole(section, "open", 1..=1024)? as usize,
        page_sectors: page_bytes / SECTOR,
        read_ns: (number(section, "read_us", TIME)? * US) as u64,
        read_sector_ns: sector_ns(number(section, "read_mb_s", RATE)?),
        write_ns: (number(section, "write_us", TIME)? * US) as u64,
        write_sector_ns: sector_ns(number(section, "write_mb_s", RATE)?),
        copy_sector_ns: sector_ns(number(section, "copy_mb_s", RATE)?),
        erase_ns: (number(section, "erase_ms", 0.0..=10_000.0)? * MS) as u64,
        log_pages: number_or(section, "log_pages", 0.0..=1e6, 0.0)? as u64,
        filled,
    })
}

fn flash(section: &Section<'_>, state: State) -> Option<Flash> {
    Some(Flash {
        channels: whole(section, "channels", 1..=64)? as usize,
        dies_per_channel: whole(section, "dies_per_channel", 1..=64)? as usize,
        page_bytes: bytes(section, "page", 4096, 1 << 20)?,
        block_pages: whole(section, "block_pages", 1..=65_536)?,
        read_ns: (number(section, "read_us", TIME)? * US) as u64,
        program_ns: (number(section, "program_us", TIME)? * US) as u64,
        erase_ns: (number(section, "erase_ms", 0.0..=1000.0)? * MS) as u64,
        channel_byte_ns: byte_ns(number(section, "channel_mb_s", RATE)?),
        over_provisioning: number(section, "over_provisioning", 0.01..=10.0)?,
        reserve: number_or(section, "reserve", 0.0..=0.5, 0.0)?,
        victim: section.get("victim", victim).unwrap_or(Victim::Greedy),
        state,
    })
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

fn number(section: &Section<'_>, key: &str, bounds: RangeInclusive<f64>) -> Option<f64> {
    let within = |node: &Node| match any_number(node)? {
        number if bounds.contains(&number) => Ok(number),
        number => {
            let (least, most) = (bounds.start(), bounds.end());
            Err(Reason::new(format!("it must be from {least} to {most}, but is {number}"), ""))
        }
    };
    section.need(key, "", within)
}

/// As [`number`], with what counts where the key is absent.
fn number_or(section: &Section<'_>, key: &str, bounds: RangeInclusive<f64>, absent: f64) -> Option<f64> {
    if section.has(key) { number(section, key, bounds) } else { Some(absent) }
}

fn whole(section: &Section<'_>, key: &str, bounds: RangeInclusive<u64>) -> Option<u64> {
    let number = number(section, key, *bounds.start() as f64..=*bounds.end() as f64)?;
    if number.fract() != 0.0 {
        section.wrong(key, &format!("a whole number is wanted here, not {number}"), "");
    }
    Some(number as u64)
}

/// A size in bytes: a multiple of `multiple`, up to `most`.
fn bytes(section: &Section<'_>, key: &str, multiple: u64, most: u64) -> Option<u64> {
    let Bytes(bytes) = section.need(key, "", size)?;
    if bytes > most || !bytes.is_multiple_of(multiple) {
        let (multiple, most) = (Bytes(multiple), Bytes(most));
        let is = Bytes(bytes);
        section.wrong(key, &format!("it must be a multiple of {multiple} up to {most}, but is {is}"), "");
    }
    Some(bytes)
}

/// False where absent.
fn flag(section: &Section<'_>, key: &str) -> bool {
    section.get(key, boolean).unwrap_or(false)
}
