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
    format!(
        r#"# Which filesystem for this folder of mine? Made by `fsverdict ask`; docs/reference/plan-format.md says what may stand here.

title = "My own files: copied, read, searched, removed"
lab   = "auto"
cpu   = "laptop-2022"  # computation takes the time of a laptop of 2022, estimated (--set cpu=free: no time)

[device]
model = "usb-disk-5400"
size  = "30GB"

[protocol]
blocks = {{ min = 3, max = 10 }}
seed   = 1

[goal]
metric    = "durable"
# Copied once, read and searched twice, removed at the end.
frequency = {{ copy = 1, read = 2, search = 2, remove = 1 }}

# Whole folders of it, the same each time, up to about this much.
[dataset.files]
path = "{escaped}"
size = "200MB"

[matrix]
filesystem = ["ext4", "xfs", "btrfs", "f2fs"]

# cp without -a: not every filesystem keeps owners and permissions.
[[phase]]
name    = "copy"
command = 'cp -r "$FILES" "$MOUNT/files"'
dataset = "files"

[[phase]]
name    = "read"
command = 'find "$MOUNT/files" -type f -exec cat {{}} + > /dev/null'
dataset = "files"
cold    = true

[[phase]]
name    = "search"
command = 'find "$MOUNT/files" -newer / > "$SCRATCH/found"'
cold    = true

[[phase]]
name    = "remove"
command = 'rm -rf "$MOUNT/files"'
cold    = true
"#
    )
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
