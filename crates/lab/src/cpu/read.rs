//! Reads a processor model from its TOML. docs/background/simulated-time.md explains each key.

use crate::kernel::CPU_CLASSES;
use fsverdict_judgement::journal::ProcessorModel;
use fsverdict_text::value::{any_number, boolean, count, filled_text, share};
use fsverdict_text::{Node, Reason, Section, TextError, read_strictly};

use super::CpuModel;

/// Keys of a file, besides the prices.
const KEYS: [&str; 10] = [
    "name",
    "summary",
    "source",
    "date",
    "measured",
    "processors",
    "aes_instructions",
    "held_out_median",
    "held_out_p90",
    "picoseconds",
];
/// The maximum price in picoseconds: a millisecond. The kernel reads prices as 32-bit numbers (`get_option` in
/// lib/cmdline.c), so that it would take a larger one, drawn up to 20 % higher, for another price.
pub(super) const MOST_PS: f64 = 1e9;
/// As many processors as the kernel keeps a time for.
const MOST_PROCESSORS: u64 = 64;

pub(super) fn read(text: &str, file: &str) -> Result<CpuModel, TextError> {
    read_strictly(file, text, "the processor model", &KEYS, model)
}

fn model(top: &Section<'_>) -> Option<CpuModel> {
    let about = ProcessorModel {
        name: top.need("name", "", filled_text)?,
        source: top.need("source", "", filled_text)?,
        date: top.need("date", "date = \"2026-11-27\"", filled_text)?,
        measured: top.need("measured", "measured = false", boolean)?,
        processors: top.need("processors", "processors = 4", processors)?,
        aes_instructions: top.need("aes_instructions", "aes_instructions = true", boolean)?,
        held_out_median: top.get("held_out_median", share),
        held_out_p90: top.get("held_out_p90", any_number),
    };
    if about.measured && !(top.has_key("held_out_median") && top.has_key("held_out_p90")) {
        let message = "a measured model lacks `held_out_median` or `held_out_p90`";
        top.report_missing(
            top.at,
            message,
            "they say how far its prices are off; without them, write measured = false",
        );
    }
    let processors = about.processors;
    let word = if processors == 1 { "processor" } else { "processors" };
    let basis = if about.measured { "measured" } else { "estimated" };
    let summary = match top.get("summary", filled_text) {
        Some(summary) => format!("{summary} ({basis})"),
        None => format!("{processors} {word} ({basis}): {}", about.source),
    };
    let prices = top.need_inner_table("picoseconds", "[picoseconds]", &CPU_CLASSES)?;
    // All of them are looked at, so that all problems are reported at once.
    let read: Vec<Option<f64>> = CPU_CLASSES.iter().map(|class| prices.need(class, "", price)).collect();
    let prices_ps =
        read.into_iter().map(|price| price.map(|price| price.round() as u64)).collect::<Option<_>>()?;
    Some(CpuModel { about, summary, prices_ps })
}

fn processors(node: &Node) -> Result<u32, Reason> {
    match count(node)? {
        number if number <= MOST_PROCESSORS => Ok(number as u32),
        number => Err(Reason::plain(format!("it may be {MOST_PROCESSORS} at most, but is {number}"))),
    }
}

fn price(node: &Node) -> Result<f64, Reason> {
    match any_number(node)? {
        price if (0.0..=MOST_PS).contains(&price) => Ok(price),
        price => Err(Reason::plain(format!("a price is from 0 to {MOST_PS} picoseconds, not {price}"))),
    }
}
