//! Reads the numbers of a model from its TOML. docs/reference/device-models.md explains each key.

use super::super::fields::{
    MS, RATE, SECTOR, TIME, US, byte_ns, flag_or, number_or, read_flag, read_number, read_size, read_whole,
    split_keys,
};
use super::super::medium;
use super::super::parameters::{CacheParameters, LinkParameters, Queue};
use super::sections::read_errors;
use super::sections::read_words;
use super::{AskedState, Model, ModelParameters};
use crate::device::limits::Discard;
use fsverdict_text::value::filled_text;
use fsverdict_text::{DrawnNumbers, Member, Section, TextError, read_member};

/// Largest size in bytes: sector numbers and page numbers must fit.
const MOST: u64 = 1 << 44;

const CACHE_KEYS: &str = "size extents window delay_ms flush_us protected onwards_us onwards_after_read_us elsewhere_us \
                          elsewhere_after_read_us onwards_on_track announced";

/// Reads one member of a model in this state; the model's name does not contain the state.
pub(super) fn read(
    text: &str,
    file: &str,
    state: AskedState<'_>,
    member: Member<'_>,
) -> Result<Model, TextError> {
    // Numbers of these sections may be ranges. A guest sees the same of every device of a class.
    let varied: Vec<&str> = ["link", "cache"].into_iter().chain(medium::medium_sections()).collect();
    let known = [&["name", "version", "summary", "ask", "errors", "device", "queue"], &varied[..]].concat();
    let (model, drawn) =
        read_member(file, text, "the model", &known, &varied, member, |top| model(top, state))?;
    Ok(Model { drawn, ..model })
}

fn model(top: &Section<'_>, state: AskedState<'_>) -> Option<Model> {
    let name = top.need("name", "", filled_text)?;
    if let Some(letter) = name.chars().find(|letter| !letter.is_ascii_alphanumeric() && *letter != '-') {
        let hint = "letters, digits and hyphens: a state may follow a colon where the model is named";
        top.report_wrong("name", &format!("it may not contain {letter:?}"), hint);
    }
    let version = read_whole(top, "version", 1..=1_000_000)?;
    let summary = top.need("summary", "", filled_text)?;
    let known = split_keys("capacity rotational logical_block physical_block discard write_zeroes");
    let words = read_words(top);
    let errors = read_errors(top)?;
    let device = top.need_inner_table("device", "[device]", &known)?;
    let discard = device.inner_table("discard", "discard", &["granularity", "maximum"]);
    let takes_discards = discard.is_some();
    let cache = top.inner_table("cache", "[cache]", &split_keys(CACHE_KEYS));
    let built_in = cache.as_ref().and_then(cache_of);
    let write_cache = built_in.is_some_and(|cache| cache.announced && !cache.protected);
    let cache = built_in.filter(|_| !(state.write_through && write_cache));
    let capacity_bytes = read_size(&device, "capacity", SECTOR, MOST)?;
    let source = medium::ModelSource { top, capacity_bytes, cache: built_in.as_ref(), state: state.medium };
    let medium = medium::read_medium(&source)?;
    let states = medium.kind.states;
    let parameters = ModelParameters {
        capacity_bytes,
        rotational: read_flag(&device, "rotational"),
        logical_block: block(&device, "logical_block")?,
        physical_block: block(&device, "physical_block")?,
        discard: match discard.filter(|_| !state.no_discard) {
            None => None,
            Some(section) => Some(Discard {
                granularity: read_size(&section, "granularity", SECTOR, 1 << 30)? as u32,
                max_sectors: (read_size(&section, "maximum", SECTOR, 1 << 40)? / SECTOR).min(1 << 31) as u32,
            }),
        },
        write_zeroes: read_flag(&device, "write_zeroes"),
        link: link(top)?,
        queue: queue(top)?,
        cache,
        medium,
    };
    Some(Model {
        name,
        version,
        summary,
        states,
        write_cache,
        takes_discards,
        words,
        errors,
        parameters,
        drawn: DrawnNumbers::new(),
    })
}

fn block(section: &Section<'_>, key: &str) -> Option<u32> {
    let bytes = read_size(section, key, SECTOR, 1 << 16)?;
    if !bytes.is_power_of_two() {
        section.report_wrong(key, "no power of two", "");
    }
    Some(bytes as u32)
}

fn link(top: &Section<'_>) -> Option<LinkParameters> {
    let section =
        &top.need_inner_table("link", "[link]", &split_keys("mb_s full_duplex command_us read_us write_us"))?;
    Some(LinkParameters {
        byte_ns: byte_ns(read_number(section, "mb_s", RATE)?),
        full_duplex: read_flag(section, "full_duplex"),
        command_ns: (read_number(section, "command_us", TIME)? * US) as u64,
        read_ns: (number_or(section, "read_us", TIME, 0.0)? * US) as u64,
        write_ns: (number_or(section, "write_us", TIME, 0.0)? * US) as u64,
    })
}

fn queue(top: &Section<'_>) -> Option<Queue> {
    let section =
        &top.need_inner_table("queue", "[queue]", &split_keys("depth largest window flush_queued"))?;
    let depth = read_whole(section, "depth", 1..=1024)?;
    Some(Queue {
        depth: depth as u32,
        max_sectors: (read_size(section, "largest", 4096, 1 << 25)? / SECTOR) as u32,
        window: number_or(section, "window", 1.0..=1024.0, 1.0)? as usize,
        flush_queued: read_flag(section, "flush_queued"),
    })
}

fn cache_of(section: &Section<'_>) -> Option<CacheParameters> {
    let us = |key: &str, absent_us: f64| number_or(section, key, TIME, absent_us);
    let pair = |plain: &str, after_read: &str| {
        let plain = us(plain, 0.0)?;
        Some(((plain * US) as u64, (us(after_read, plain)? * US) as u64))
    };
    Some(CacheParameters {
        sectors: read_size(section, "size", 4096, 1 << 36)? / SECTOR,
        extents: number_or(section, "extents", 1.0..=1e6, 1e6)? as usize,
        window: number_or(section, "window", 1.0..=1024.0, 1.0)? as usize,
        delay_ns: (number_or(section, "delay_ms", 0.0..=60_000.0, 0.0)? * MS) as u64,
        onwards_ns: pair("onwards_us", "onwards_after_read_us")?,
        onwards_on_track: read_flag(section, "onwards_on_track"),
        elsewhere_ns: pair("elsewhere_us", "elsewhere_after_read_us")?,
        flush_ns: (read_number(section, "flush_us", TIME)? * US) as u64,
        protected: read_flag(section, "protected"),
        announced: flag_or(section, "announced", true),
    })
}
