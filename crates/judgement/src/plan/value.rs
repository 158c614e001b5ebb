//! Reads values that occur only in plans: each function takes a node, and refuses a value that is out of bounds.

use std::path::PathBuf;
use std::time::Duration;

use fsverdict_text::value::{absolute_path, count, filled_text, size, text, whole};
use fsverdict_text::{Bytes, Node, Reason, is_steering, parse_short_time};

use super::limits;

/// Reads a name without white space and without characters that interfere with lists and file names.
pub(super) fn name(node: &Node) -> Result<String, Reason> {
    let name = filled_text(node)?;
    let refused = |letter: &char| letter.is_whitespace() || ",/".contains(*letter) || is_steering(*letter);
    match name.chars().find(refused) {
        Some(letter) => Err(Reason::new(
            format!("the name \"{}\" may not contain {letter:?}", name.escape_debug()),
            "names have no white space, commas or slashes, so that they fit lists, files and options",
        )),
        None if super::is_twin(&name) => Err(Reason::new(
            format!(
                "the name \"{name}\" ends in {}, which marks a candidate that is entered twice",
                super::CONTROL_SUFFIX
            ),
            "aa = true in [protocol], or --aa, enters a candidate twice",
        )),
        None => Ok(name),
    }
}

/// Reads one of the words of a choice.
pub(super) fn read_word<T: std::str::FromStr<Err = Reason>>(node: &Node) -> Result<T, Reason> {
    text(node)?.parse()
}

/// The longest time that a program may compute between two calls of the kernel, which keeps its price in 32 bits.
pub(super) const LONGEST_COMPUTING: Duration = Duration::from_millis(4);

/// Reads how long a program computes between two calls of the kernel.
pub(super) fn read_computing(node: &Node) -> Result<Duration, Reason> {
    parse_short_time(&filled_text(node)?, LONGEST_COMPUTING)
}

/// Reads a whole number from 1 to this one.
pub(super) fn up_to<const MOST: u64>(node: &Node) -> Result<u32, Reason> {
    match count(node)? {
        number if number > MOST => Err(Reason::new(format!("it may be {MOST} at most, but is {number}"), "")),
        number => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
    }
}

/// Reads a chunk size in bytes, up to [`limits::PIECE`].
pub(super) fn read_piece_bytes(node: &Node) -> Result<Bytes, Reason> {
    match size(node)? {
        large if large.0 > limits::PIECE => Err(Reason::new(
            format!("it may be {} at most, but is {large}", Bytes(limits::PIECE)),
            "stream.write and stream.read are for what goes from beginning to end",
        )),
        piece => Ok(piece),
    }
}

/// Reads the number of calls between syncs; 0 is allowed.
pub(super) fn read_sync_interval(node: &Node) -> Result<u32, Reason> {
    whole(node).and_then(|number| {
        u32::try_from(number).map_err(|_| Reason::new(format!("{number} is more than there will be"), ""))
    })
}

/// Reads a kernel's path, or its name in the cache, which contains no `/`.
pub(super) fn read_kernel(node: &Node) -> Result<PathBuf, Reason> {
    let name = filled_text(node)?;
    if name.contains('/') { absolute_path(node) } else { Ok(PathBuf::from(name)) }
}

/// Reads a relative path below the mount point that does not leave it.
pub(super) fn inside_path(node: &Node) -> Result<String, Reason> {
    let text = filled_text(node)?;
    let stays = std::path::Path::new(&text)
        .components()
        .all(|component| matches!(component, std::path::Component::Normal(_)));
    if stays {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err(Reason::new(
            format!("\"{text}\" is not a folder below the mount point"),
            "name a folder without a leading / and without . and .. , as in \"backup/usr\"",
        ))
    }
}
