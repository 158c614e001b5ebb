//! The plan that `fsverdict ask` makes for a folder: no preset knows its content.

/// A plan with the usual work on files, for a folder of the user's. `path` is absolute.
pub(super) fn folder_plan(path: &str) -> String {
    let quoted = path.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped: String = quoted
        .chars()
        .map(|letter| match letter.is_control() {
            true => format!("\\U{:08X}", u32::from(letter)),
            false => letter.to_string(),
        })
        .collect();
    include_str!("folder.toml").replace("{path}", &escaped)
}

#[cfg(test)]
mod tests {
    use super::folder_plan;

    #[test]
    fn a_folder_s_name_stays_within_its_string() {
        let text = folder_plan("/a\"b\\c\nd");
        assert!(text.contains("path = \"/a\\\"b\\\\c\\U0000000Ad\"\n"), "{text}");
    }
}
