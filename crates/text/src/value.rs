//! Reads single TOML values: each function takes a node, and refuses other types and values out of bounds.

use std::path::PathBuf;

use super::limits;
use super::reason::Reason;
use super::source::{Node, TomlValue};
use super::units::{Bytes, parse_time};

fn wrong_type<T>(wanted: &str, node: &Node, hint: &str) -> Result<T, Reason> {
    Err(Reason::new(format!("{wanted} is wanted here, not {}", node.value.type_name()), hint))
}

pub fn text(node: &Node) -> Result<String, Reason> {
    match &node.value {
        TomlValue::Text(text) => Ok(text.clone()),
        _ => wrong_type("a string", node, "put it in quotes"),
    }
}

/// Reads a string that does not consist of white space alone.
pub fn filled_text(node: &Node) -> Result<String, Reason> {
    let text = text(node)?;
    if text.trim().is_empty() { Err(Reason::new("it is empty", "")) } else { Ok(text) }
}

/// Reads an array of strings, none of them empty.
pub fn filled_texts(node: &Node) -> Result<Vec<String>, Reason> {
    match &node.value {
        TomlValue::Array(nodes) => nodes.iter().map(filled_text).collect(),
        _ => wrong_type("an array of strings", node, "as in [\"mail\", \"maildir\"]"),
    }
}

pub fn boolean(node: &Node) -> Result<bool, Reason> {
    match node.value {
        TomlValue::Boolean(boolean) => Ok(boolean),
        _ => wrong_type("true or false", node, "without quotes"),
    }
}

/// Reads a whole number, zero or more.
pub fn whole(node: &Node) -> Result<u64, Reason> {
    match node.value {
        TomlValue::Integer(number) => u64::try_from(number)
            .map_err(|_| Reason::new(format!("it may not be negative, but is {number}"), "")),
        TomlValue::Number(number) => Err(Reason::new(
            format!("a whole number is wanted here, not {number}"),
            "without a fraction, as in 5000 or 5_000",
        )),
        _ => wrong_type("a whole number", node, "without quotes, as in 5000 or 5_000"),
    }
}

/// Reads a whole number from 1 to the largest count.
pub fn count(node: &Node) -> Result<u64, Reason> {
    match whole(node)? {
        0 => Err(Reason::new("it may not be 0", "")),
        number if number > limits::COUNT => {
            Err(Reason::new(format!("it may be {} at most, but is {number}", limits::COUNT), ""))
        }
        number => Ok(number),
    }
}

/// Reads any number.
pub fn any_number(node: &Node) -> Result<f64, Reason> {
    match node.value {
        // Whole numbers that people write are far below 2^53.
        TomlValue::Integer(number) => Ok(number as f64),
        TomlValue::Number(number) => Ok(number),
        _ => wrong_type("a number", node, "without quotes, as in 0.03"),
    }
}

/// Reads a list of pairs of numbers.
pub fn pairs(node: &Node) -> Result<Vec<(f64, f64)>, Reason> {
    let hint = "pairs of numbers, as in [[1, 0.8], [100, 2.5]]";
    let TomlValue::Array(nodes) = &node.value else { return wrong_type("a list of pairs", node, hint) };
    let pair = |node: &Node| match &node.value {
        TomlValue::Array(pair) if pair.len() == 2 => Ok((any_number(&pair[0])?, any_number(&pair[1])?)),
        _ => wrong_type("a pair of numbers", node, hint),
    };
    nodes.iter().map(pair).collect()
}

/// Reads a number that is 0, or positive and neither too large nor too small to calculate with.
pub fn number(node: &Node) -> Result<f64, Reason> {
    let number = any_number(node)?;
    if number == 0.0 || (1.0 / limits::NUMBER..=limits::NUMBER).contains(&number) {
        return Ok(number);
    }
    Err(Reason::new(
        format!("it must be 0, or from {:e} to {:e}, but is {number}", 1.0 / limits::NUMBER, limits::NUMBER),
        "0 leaves it out",
    ))
}

/// Reads a share, from 0 to 1.
pub fn share(node: &Node) -> Result<f64, Reason> {
    match number(node)? {
        share if share <= 1.0 => Ok(share),
        other => Err(Reason::new(format!("it is a share, from 0 to 1, but is {other}"), "50 % is 0.5")),
    }
}

/// Reads a size above zero, with its unit.
pub fn size(node: &Node) -> Result<Bytes, Reason> {
    match &node.value {
        TomlValue::Text(text) => match text.parse()? {
            Bytes(0) => Err(Reason::new("it may not be 0", "")),
            size => Ok(size),
        },
        TomlValue::Integer(number) => wrong_type(
            "a size with its unit",
            node,
            &format!("write \"{number}B\" if bytes are meant, or \"{number}MiB\""),
        ),
        _ => wrong_type("a size with its unit", node, "as in \"200MiB\""),
    }
}

/// Reads a length of time above zero, with its unit.
pub fn time(node: &Node) -> Result<std::time::Duration, Reason> {
    match &node.value {
        TomlValue::Text(text) => parse_time(text),
        TomlValue::Integer(number) => {
            wrong_type("a time with its unit", node, &format!("write \"{number}s\" or \"{number}m\""))
        }
        _ => wrong_type("a time with its unit", node, "as in \"20m\""),
    }
}

/// Reads an absolute path, because a plan must not depend on the working directory.
pub fn absolute_path(node: &Node) -> Result<PathBuf, Reason> {
    let path = PathBuf::from(filled_text(node)?);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(Reason::new(
            format!("the path \"{}\" is not absolute", path.display()),
            "start it with / ; a plan means the same wherever it is run from",
        ))
    }
}

/// Reads an array of absolute paths, at most as many as a command line would hold.
pub fn paths(node: &Node) -> Result<Vec<PathBuf>, Reason> {
    const MAX_PATHS: usize = 100;
    match &node.value {
        TomlValue::Array(nodes) if nodes.len() <= MAX_PATHS => nodes.iter().map(absolute_path).collect(),
        TomlValue::Array(_) => {
            Err(Reason::new(format!("it may name {MAX_PATHS} paths at most"), "name a folder above them"))
        }
        _ => wrong_type("an array of paths", node, "as in [\"/home/me/tools\"]"),
    }
}
