//! A model's TOML with some of its numbers replaced, and its comments kept where they still hold.

/// The value of a key, as it is written; sections as in `[platter.seek]`, none for the top.
pub(super) fn value<'a>(text: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let at = position(text, section, key)?;
    let line = text.lines().nth(at)?;
    Some(line.split_once('=')?.1.split('#').next()?.trim())
}

pub(super) fn number(text: &str, section: &str, key: &str) -> Option<f64> {
    value(text, section, key)?.replace('_', "").parse().ok()
}

/// The text with this value in place of the key's, or in a line of its own after the section's heading.
pub(super) fn with(text: &str, section: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = {value}");
    let at = position(text, section, key);
    let mut lines: Vec<&str> = text.lines().collect();
    match at {
        Some(at) => lines[at] = &line,
        None => {
            let after = lines.iter().position(|line| heading(line) == Some(section)).map_or(0, |at| at + 1);
            lines.insert(after, &line);
        }
    }
    lines.join("\n") + "\n"
}

pub(super) fn has_section(text: &str, section: &str) -> bool {
    text.lines().any(|line| heading(line) == Some(section))
}

/// What stands between the brackets, where a line begins a section.
fn heading(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('[')?.split(']').next()
}

fn position(text: &str, section: &str, key: &str) -> Option<usize> {
    let mut current = "";
    text.lines().position(|line| {
        current = heading(line).unwrap_or(current);
        current == section && line.split_once('=').is_some_and(|(name, _)| name.trim() == key)
    })
}

/// With as many digits as were measured.
pub(super) fn rounded(number: f64) -> String {
    if number.fract() == 0.0 {
        return number.to_string();
    }
    let decimals = (3.0 - number.abs().max(1e-3).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{number:.decimals$}")
}
