//! Edits a model's TOML text: reads and replaces single values, and keeps comments that still hold.

/// Finds the value of a key as it is written; sections are named as in `[platter.seek]`, the top level is empty.
pub(super) fn find_value<'a>(text: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let line_index = find_key(text, section, key)?;
    let line = text.lines().nth(line_index)?;
    Some(line.split_once('=')?.1.split('#').next()?.trim())
}

/// The value of a key as a number: of a range or a choice, the typical one.
pub(super) fn find_number(text: &str, section: &str, key: &str) -> Option<f64> {
    let value = find_value(text, section, key)?;
    let value = match value.split_once("typical") {
        Some((_, typical)) => typical.trim_start_matches([' ', '=']).split(['}', ',']).next()?,
        None => value.trim_start_matches('[').split(',').next()?,
    };
    value.trim().replace('_', "").parse().ok()
}

/// Returns the text with the value of a key replaced, or added on a new line after the section's heading.
pub(super) fn with_value(text: &str, section: &str, key: &str, value: &str) -> String {
    let line = format!("{key} = {value}");
    let line_index = find_key(text, section, key);
    let mut lines: Vec<&str> = text.lines().collect();
    match line_index {
        Some(line_index) => lines[line_index] = &line,
        None => {
            let after = lines
                .iter()
                .position(|line| section_name(line) == Some(section))
                .map_or(0, |index| index + 1);
            lines.insert(after, &line);
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the text without a section.
pub(super) fn without_section(text: &str, section: &str) -> String {
    let mut current = "";
    let lines = text.lines().filter(|line| {
        current = section_name(line).unwrap_or(current);
        current != section
    });
    lines.map(|line| format!("{line}\n")).collect()
}

pub(super) fn has_section(text: &str, section: &str) -> bool {
    text.lines().any(|line| section_name(line) == Some(section))
}

/// The name between the brackets, if a line begins a section.
fn section_name(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('[')?.split(']').next()
}

/// Index of the line that defines a key.
fn find_key(text: &str, section: &str, key: &str) -> Option<usize> {
    let mut current = "";
    text.lines().position(|line| {
        current = section_name(line).unwrap_or(current);
        current == section && line.split_once('=').is_some_and(|(name, _)| name.trim() == key)
    })
}

/// Formats a number with four significant digits.
pub(super) fn format_rounded(number: f64) -> String {
    if number.fract() == 0.0 {
        return number.to_string();
    }
    let decimals = (3.0 - number.abs().max(1e-3).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::find_number;

    #[test]
    fn a_number_of_a_class_is_the_typical_one() {
        let text = "[a]\nplain = 1_200\nrange = { from = 1, to = 30, typical = 4_000 }  # µs\nchoice = [7200, 5400]\n\
                    other = { typical = 2.5, from = 1, to = 3 }\nword = \"8KiB\"\n";
        let found =
            ["plain", "range", "choice", "other", "word", "absent"].map(|key| find_number(text, "a", key));
        assert_eq!(found, [Some(1200.0), Some(4000.0), Some(7200.0), Some(2.5), None, None]);
    }
}
