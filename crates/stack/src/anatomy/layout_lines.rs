//! The lines in which a reader's process hands over a layout: ranges of blocks as JSON, of bounded length and number.

use std::collections::HashSet;
use std::io::Write;

use fsverdict_judgement::journal::{BlockUse, ReadingStopped};
use serde::{Deserialize, Serialize};

use super::block_uses::UsedBlocks;
use super::layout::ImageLayout;

/// No line is longer, bytes.
const LONGEST_LINE: usize = 512;

/// A line. Ranges are the first block and the number of blocks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum LayoutLine {
    /// These blocks hold this.
    Held(BlockUse, u64, u64),
    /// These written blocks are used.
    Used(u64, u64),
    /// The last line.
    End { knows_used: bool, stopped: Option<ReadingStopped> },
}

/// Writes a layout. The reading of it has ended.
pub(super) fn write_layout(layout: &ImageLayout, output: &mut impl Write) -> std::io::Result<()> {
    let mut write_line = |line: &LayoutLine| -> std::io::Result<()> {
        serde_json::to_writer(&mut *output, line)?;
        output.write_all(b"\n")
    };
    let blocks = layout.held.blocks.iter().map(|(block, held)| (*block, Some(*held)));
    for (held, first, count) in to_ranges(blocks) {
        write_line(&LayoutLine::Held(held.unwrap_or(BlockUse::Unknown), first, count))?;
    }
    let mut used: Vec<u64> = layout.held.used.iter().flatten().copied().collect();
    used.sort_unstable();
    for (_, first, count) in to_ranges(used.into_iter().map(|block| (block, None))) {
        write_line(&LayoutLine::Used(first, count))?;
    }
    let knows_used = layout.held.used.is_some();
    write_line(&LayoutLine::End { knows_used, stopped: layout.stopped.clone() })?;
    output.flush()
}

/// Joins neighbouring blocks of the same use into ranges: the use, the first block, and the number of blocks.
fn to_ranges(blocks: impl Iterator<Item = (u64, Option<BlockUse>)>) -> Vec<(Option<BlockUse>, u64, u64)> {
    let mut joined: Vec<(Option<BlockUse>, u64, u64)> = Vec::new();
    for (block, held) in blocks {
        match joined.last_mut() {
            Some((last, first, count)) if *last == held && *first + *count == block => *count += 1,
            _ => joined.push((held, block, 1)),
        }
    }
    joined
}

/// Why lines are no layout of the image.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum LineError {
    #[error("a line is longer than {LONGEST_LINE} bytes")]
    TooLong,
    #[error("a line is not part of a layout")]
    NotALine,
    #[error("a range reaches beyond the device")]
    BeyondDevice,
    #[error("it lists more blocks than an image of this size can have")]
    TooMany,
    #[error("there is text after the last line")]
    AfterEnd,
}

/// A layout that is received line by line. A process that was taken over can send anything: it is held to the limits of a reader.
#[derive(Debug)]
pub(super) struct ReceivedLayout {
    device_blocks: u64,
    describable: u64,
    held: UsedBlocks,
    used: HashSet<u64>,
    has_ended: bool,
    layout: Option<ImageLayout>,
}

impl ReceivedLayout {
    /// Of an image with this many blocks, of which a layout can describe `describable`.
    pub(super) fn new(device_blocks: u64, describable: u64) -> ReceivedLayout {
        ReceivedLayout {
            device_blocks,
            describable,
            held: UsedBlocks::default(),
            used: HashSet::new(),
            has_ended: false,
            layout: None,
        }
    }

    /// Adds a line without its end; whether it was the last.
    pub(super) fn add_line(&mut self, line: &[u8]) -> Result<bool, LineError> {
        if line.len() > LONGEST_LINE {
            return Err(LineError::TooLong);
        }
        if self.has_ended {
            return Err(LineError::AfterEnd);
        }
        match serde_json::from_slice(line).map_err(|_| LineError::NotALine)? {
            LayoutLine::Held(held, first, count) => {
                for block in self.parse_range(first, count, self.held.blocks.len())? {
                    self.held.blocks.insert(block, held);
                }
            }
            LayoutLine::Used(first, count) => {
                self.used.extend(self.parse_range(first, count, self.used.len())?);
            }
            LayoutLine::End { knows_used, stopped } => {
                let mut held_blocks = std::mem::take(&mut self.held);
                held_blocks.used = knows_used.then(|| std::mem::take(&mut self.used));
                let stopped = stopped.map(ReadingStopped::with_bounded_text);
                self.layout = Some(ImageLayout { held: held_blocks, is_known: true, stopped });
                self.has_ended = true;
            }
        }
        Ok(self.has_ended)
    }

    fn parse_range(&self, first: u64, count: u64, known: usize) -> Result<std::ops::Range<u64>, LineError> {
        let end = first.checked_add(count).filter(|end| *end <= self.device_blocks);
        let end = end.ok_or(LineError::BeyondDevice)?;
        match (known as u64).checked_add(count) {
            // A reader stops with the first block that is too many.
            Some(all) if count > 0 && all <= self.describable + 1 => Ok(first..end),
            _ => Err(LineError::TooMany),
        }
    }

    /// The layout, once its last line has come.
    pub(super) fn take_layout(&mut self) -> Option<ImageLayout> {
        self.layout.take()
    }
}

#[cfg(test)]
mod tests {
    use super::{LineError, ReceivedLayout, write_layout};
    use crate::anatomy::layout::ImageLayout;
    use fsverdict_judgement::journal::{BlockUse, ReadingStopped, StopReason};

    #[test]
    fn a_layout_arrives_as_it_was_read() {
        let mut layout = ImageLayout { is_known: true, ..ImageLayout::default() };
        let held = [(0, BlockUse::Superblock), (1, BlockUse::Map), (2, BlockUse::Map), (9, BlockUse::Map)];
        layout.held.blocks = held.into();
        layout.held.used = Some([0, 1, 2, 7, 9].into());
        layout.stopped = Some(ReadingStopped::at_block(9, StopReason::RefersToItself));
        let mut lines = Vec::new();
        write_layout(&layout, &mut lines).unwrap();
        let mut received = ReceivedLayout::new(10, 10);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            received.add_line(line).unwrap();
        }
        let arrived = received.take_layout().unwrap();
        assert_eq!(arrived.held.blocks, layout.held.blocks);
        assert_eq!(arrived.held.used, layout.held.used);
        assert_eq!(arrived.stopped, layout.stopped);
        assert!(arrived.is_known);
    }

    /// Lines that a process sends that was taken over by its image, and what is wrong with the last.
    const HOSTILE: &[(&[&str], LineError)] = &[
        (&["{\"held\":[\"map\",0,11]}"], LineError::BeyondDevice),
        (&["{\"held\":[\"map\",18446744073709551615,2]}"], LineError::BeyondDevice),
        (&["{\"used\":[10,1]}"], LineError::BeyondDevice),
        (&["{\"held\":[\"map\",0,5]}", "{\"held\":[\"map\",0,5]}"], LineError::TooMany),
        (&["{\"used\":[0,5]}", "{\"used\":[5,5]}"], LineError::TooMany),
        (&["{\"used\":[0,0]}"], LineError::TooMany),
        (&["{\"held\":[\"map\",-1,1]}"], LineError::NotALine),
        (&["{\"held\":[\"root\",0,1]}"], LineError::NotALine),
        (&["{\"other\":1}"], LineError::NotALine),
        (&["\u{1b}[2J"], LineError::NotALine),
        (&[""], LineError::NotALine),
        (&["{\"end\":{\"knows_used\":false,\"stopped\":null}}", "{\"used\":[0,1]}"], LineError::AfterEnd),
    ];

    #[test]
    fn a_hostile_reader_cannot_describe_more_than_its_image_can_hold() {
        for (lines, wrong) in HOSTILE {
            let mut received = ReceivedLayout::new(10, 6);
            let (last, first) = lines.split_last().unwrap();
            for line in first {
                received.add_line(line.as_bytes()).unwrap();
            }
            assert_eq!(received.add_line(last.as_bytes()).as_ref(), Err(wrong), "{lines:?}");
        }
        let long = format!("{{\"held\":[\"map\",0,1]}}{}", " ".repeat(600));
        assert_eq!(ReceivedLayout::new(10, 6).add_line(long.as_bytes()), Err(LineError::TooLong));
    }
}
