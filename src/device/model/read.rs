//! From a model's TOML to its numbers. docs/device-models.md says what each key means.

use toml::de::DeTable;

use super::Model;
use super::parameters::{
    Cache, Flash, Link, MediumParameters, Parameters, Platter, Queue, Seek, Shingles, State, Units, Victim,
};
use super::reader::{Document, Section};
use crate::device::limits::Discard;
use crate::plan::{Bytes, LONGEST_PLAN, PlanError};

const SECTOR: u64 = 512;
const MS: f64 = 1e6;
const US: f64 = 1e3;
/// Nothing is larger: sector numbers and page numbers must fit.
const MOST: u64 = 1 << 44;
/// A rate in MB/s (10⁶ bytes) as nanoseconds a byte.
fn byte_ns(mb_s: f64) -> f64 {
    1e3 / mb_s
}
const RATE: std::ops::RangeInclusive<f64> = 0.001..=1e6;
const TIME: std::ops::RangeInclusive<f64> = 0.0..=1e7;

/// Reads a model in this state (`None`: as it comes from the shop), which its name lacks.
pub(super) fn read(text: &str, file: &str, state: Option<&str>) -> Result<Model, PlanError> {
    let document = Document { file, text };
    if text.len() as u64 > LONGEST_PLAN {
        let message = format!("a model of {} is none", Bytes(text.len() as u64));
        return Err(document.error(0..0, message, String::new()));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        document.error(error.span().unwrap_or(0..0), format!("not TOML: {}", error.message()), String::new())
    })?;
    let top = Section::new(document, parsed.get_ref());
    let name = top.text("name")?.to_owned();
    if let Some(letter) = name.chars().find(|letter| !letter.is_ascii_alphanumeric() && *letter != '-') {
        let hint = "letters, digits and hyphens: a state may follow a colon where the model is named";
        return Err(top.wrong("name", &format!("it may not contain {letter:?}"), hint));
    }
    let version = top.whole("version", 1..=1_000_000)?;
    let summary = top.text("summary")?.to_owned();
    let device = top.required_section("device", "[device]")?;
    let capacity_bytes = device.bytes("capacity", SECTOR, MOST)?;
    let rotational = device.boolean("rotational")?;
    let logical_block = block(&device, "logical_block")?;
    let physical_block = block(&device, "physical_block")?;
    let discard = match device.section("discard", "discard")? {
        None => None,
        Some(section) => {
            let granularity = section.bytes("granularity", SECTOR, 1 << 30)? as u32;
            let max_sectors = (section.bytes("maximum", SECTOR, 1 << 40)? / SECTOR).min(1 << 31) as u32;
            section.finish()?;
            Some(Discard { granularity, max_sectors })
        }
    };
    let write_zeroes = device.boolean("write_zeroes")?;
    device.finish()?;
    let link = link(&top)?;
    let queue = queue(&top)?;
    let cache = top.section("cache", "[cache]")?.as_ref().map(cache).transpose()?;
    let (medium, states) = medium(&top, capacity_bytes, cache.as_ref(), state)?;
    let parameters = Parameters {
        capacity_bytes,
        rotational,
        logical_block,
        physical_block,
        discard,
        write_zeroes,
        link,
        queue,
        cache,
        medium,
    };
    Ok(Model { name, version, summary, states, parameters })
}

fn block(section: &Section<'_>, key: &'static str) -> Result<u32, PlanError> {
    let bytes = section.bytes(key, SECTOR, 1 << 16)?;
    if bytes.is_power_of_two() { Ok(bytes as u32) } else { Err(section.wrong(key, "no power of two", "")) }
}

fn link(top: &Section<'_>) -> Result<Link, PlanError> {
    let section = top.required_section("link", "[link]")?;
    let link = Link {
        byte_ns: byte_ns(section.number("mb_s", RATE)?),
        full_duplex: section.boolean("full_duplex")?,
        command_ns: (section.number("command_us", TIME)? * US) as u64,
        read_ns: (section.number_or("read_us", TIME, 0.0)? * US) as u64,
        write_ns: (section.number_or("write_us", TIME, 0.0)? * US) as u64,
    };
    section.finish()?;
    Ok(link)
}

fn queue(top: &Section<'_>) -> Result<Queue, PlanError> {
    let section = top.required_section("queue", "[queue]")?;
    let depth = section.whole("depth", 1..=1024)?;
    let queue = Queue {
        depth: depth as u32,
        max_sectors: (section.bytes("largest", 4096, 1 << 25)? / SECTOR) as u32,
        window: section.number_or("window", 1.0..=1024.0, 1.0)? as usize,
        flush_queued: section.boolean("flush_queued")?,
    };
    section.finish()?;
    Ok(queue)
}

fn cache(section: &Section<'_>) -> Result<Cache, PlanError> {
    let cache = Cache {
        sectors: section.bytes("size", 4096, 1 << 36)? / SECTOR,
        extents: section.number_or("extents", 1.0..=1e6, 1e6)? as usize,
        window: section.number_or("window", 1.0..=1024.0, 1.0)? as usize,
        delay_ns: (section.number_or("delay_ms", 0.0..=60_000.0, 0.0)? * MS) as u64,
        flush_ns: (section.number("flush_us", TIME)? * US) as u64,
        protected: section.boolean("protected")?,
    };
    section.finish()?;
    Ok(cache)
}

const KINDS: [&str; 4] = ["ideal", "platter", "units", "flash"];

fn medium(
    top: &Section<'_>,
    capacity_bytes: u64,
    cache: Option<&Cache>,
    state: Option<&str>,
) -> Result<(MediumParameters, &'static [&'static str]), PlanError> {
    let filled = state == Some("filled");
    let mut found: Option<(MediumParameters, &'static [&'static str])> = None;
    let shingles = top.section("shingles", "[shingles]")?;
    if let Some(section) = top.section("ideal", "[ideal]")? {
        found = Some((
            MediumParameters::Ideal { access_ns: (section.number("access_us", TIME)? * US) as u64 },
            &[],
        ));
        section.finish()?;
    }
    if let Some(section) = top.section("platter", "[platter]")? {
        let platter = platter(&section)?;
        found = Some(match shingles {
            None => (MediumParameters::Platter(platter), &[]),
            Some(section) => {
                let shingles = Shingles {
                    cache_sectors: section.bytes("cache", SECTOR, capacity_bytes / 2)? / SECTOR,
                    cache_extents: section.whole("extents", 1..=10_000_000)?,
                    band_sectors: section.bytes("band", 1 << 16, 1 << 32)? / SECTOR,
                    idle_ns: (section.number("idle_ms", 0.0..=1e6)? * MS) as u64,
                    fill: if filled { 1.0 } else { 0.0 },
                };
                section.finish()?;
                (MediumParameters::Shingles(platter, shingles), &["fresh", "filled"])
            }
        });
    } else if shingles.is_some() {
        return Err(top.wrong("shingles", "they lie on a platter, and there is none", "add [platter]"));
    }
    if let Some(section) = top.section("units", "[units]")? {
        if found.is_some() {
            return Err(two_media(top, "units"));
        }
        found = Some((MediumParameters::Units(units(&section, filled)?), &["fresh", "filled"]));
    }
    if let Some(section) = top.section("flash", "[flash]")? {
        if found.is_some() {
            return Err(two_media(top, "flash"));
        }
        let state = match state {
            Some("filled") => State::Filled,
            Some("steady") => State::Steady,
            _ => State::Fresh,
        };
        let flash = flash(&section, state)?;
        if cache.is_none_or(|cache| cache.sectors * SECTOR < 2 * flash.page_bytes) {
            let hint =
                "a translation layer gathers what it programs: give it a [cache] of at least two pages";
            return Err(top.wrong("flash", "its pages need a write buffer in front of them", hint));
        }
        found = Some((MediumParameters::Flash(flash), &["fresh", "filled", "steady"]));
    }
    top.finish()?;
    found.ok_or_else(|| {
        top.wrong("name", "the model has no medium", &format!("add one of [{}]", KINDS.join("], [")))
    })
}

fn two_media(top: &Section<'_>, key: &str) -> PlanError {
    top.wrong(key, "there is another medium already", &format!("keep one of [{}]", KINDS.join("], [")))
}

fn platter(section: &Section<'_>) -> Result<Platter, PlanError> {
    let outer = section.number("outer_mb_s", RATE)?;
    let inner = section.number("inner_mb_s", 0.001..=outer)?;
    let seek = section.required_section("seek", "seek")?;
    let minimum = seek.number_or("minimum_ms", 0.0..=1000.0, -1.0)?;
    let curve = if minimum >= 0.0 {
        let average = seek.number("average_ms", minimum..=1000.0)?;
        // The mean of √x over the distances between two random places, whose density is 2(1−x), is 8/15.
        let full = minimum + (average - minimum) * 15.0 / 8.0;
        Seek::Root { minimum_ns: minimum * MS, full_ns: full * MS }
    } else {
        Seek::Knee {
            a_ns: seek.number("a_ms", 0.0..=1000.0)? * MS,
            b_ns: seek.number("b_ms", 0.0..=1000.0)? * MS,
            knee: seek.number("knee", 0.0..=1e7)?,
            c_ns: seek.number("c_ms", 0.0..=1000.0)? * MS,
            e_ns: seek.number("e_ms", 0.0..=1000.0)? * MS,
        }
    };
    seek.finish()?;
    let platter = Platter {
        rotation_ns: 60e9 / section.number("rpm", 100.0..=100_000.0)?,
        outer_sector_ns: byte_ns(outer) * SECTOR as f64,
        inner_sector_ns: byte_ns(inner) * SECTOR as f64,
        zones: section.whole("zones", 1..=1000)? as u32,
        heads: section.whole("heads", 1..=64)? as u32,
        seek: curve,
        head_switch_ns: section.number("head_switch_ms", 0.0..=100.0)? * MS,
        write_settle_ns: section.number("write_settle_ms", 0.0..=100.0)? * MS,
        read_ahead_sectors: section.bytes("read_ahead", 4096, 1 << 32)? / SECTOR,
        segments: section.whole("segments", 1..=1024)? as usize,
    };
    section.finish()?;
    Ok(platter)
}

fn units(section: &Section<'_>, filled: bool) -> Result<Units, PlanError> {
    let page_bytes = section.bytes("page", SECTOR, 1 << 24)?;
    let sector_ns = |mb_s: f64| byte_ns(mb_s) * SECTOR as f64;
    let units = Units {
        unit_sectors: section.bytes("unit", page_bytes, 1 << 32)? / SECTOR,
        open: section.whole("open", 1..=1024)? as usize,
        page_sectors: page_bytes / SECTOR,
        read_ns: (section.number("read_us", TIME)? * US) as u64,
        read_sector_ns: sector_ns(section.number("read_mb_s", RATE)?),
        write_ns: (section.number("write_us", TIME)? * US) as u64,
        write_sector_ns: sector_ns(section.number("write_mb_s", RATE)?),
        copy_sector_ns: sector_ns(section.number("copy_mb_s", RATE)?),
        erase_ns: (section.number("erase_ms", 0.0..=10_000.0)? * MS) as u64,
        log_pages: section.number_or("log_pages", 0.0..=1e6, 0.0)? as u64,
        filled,
    };
    section.finish()?;
    Ok(units)
}

fn flash(section: &Section<'_>, state: State) -> Result<Flash, PlanError> {
    let flash = Flash {
        channels: section.whole("channels", 1..=64)? as usize,
        dies_per_channel: section.whole("dies_per_channel", 1..=64)? as usize,
        page_bytes: section.bytes("page", 4096, 1 << 20)?,
        block_pages: section.whole("block_pages", 1..=65_536)?,
        read_ns: (section.number("read_us", TIME)? * US) as u64,
        program_ns: (section.number("program_us", TIME)? * US) as u64,
        erase_ns: (section.number("erase_ms", 0.0..=1000.0)? * MS) as u64,
        channel_byte_ns: byte_ns(section.number("channel_mb_s", RATE)?),
        over_provisioning: section.number("over_provisioning", 0.01..=10.0)?,
        reserve: section.number_or("reserve", 0.0..=0.5, 0.0)?,
        victim: section.word("victim", &[("greedy", Victim::Greedy), ("fifo", Victim::Fifo)])?,
        state,
    };
    section.finish()?;
    Ok(flash)
}
