//! Plans that several tests run.

use std::path::Path;

/// A plan of one block: a scratch image of 64 MiB with ext4, and a command as its one phase, `do`. There is no header of
/// a table in it, so that lines may follow.
pub fn one_command(lab: &str, command: &str) -> String {
    format!(
        r#"
title             = "One command"
lab               = "{lab}"
device.image      = "64MiB"
protocol          = {{ blocks = 1, timeout = "60s", disturbed = false }}
matrix.filesystem = ["ext4"]
phase             = [{{ name = "do", command = '''{command}''' }}]
"#
    )
}

/// A plan of so many blocks, each some seconds of disk time.
pub fn two_disks(min: u32, max: u32) -> String {
    format!(
        r#"
title             = "Two disks"
device            = {{ model = "usb-disk-5400", size = "2GB" }}
protocol          = {{ blocks = {{ min = {min}, max = {max} }}, timeout = "60s", circumstances = "fixed" }}
dataset.tree      = {{ profile = "mixed", files = 60, directories = 6, size = "1MiB" }}
matrix.filesystem = ["ext4", "xfs"]
phase             = [{{ name = "write", operation = "tree.write", dataset = "tree" }}]
"#
    )
}

/// Two folders of a place, side by side; `command` is the second phase.
pub fn two_folders(one: &Path, other: &Path, command: &str) -> String {
    format!(
        r#"
title        = "Two folders"
protocol     = {{ blocks = 1, timeout = "60s", disturbed = false }}
dataset.tree = {{ profile = "mixed", files = 40, directories = 6, size = "1MiB" }}
candidate    = [
    {{ filesystem = "directory", path = "{}" }},
    {{ filesystem = "directory", path = "{}" }},
]
phase = [
    {{ name = "write", operation = "tree.write", dataset = "tree" }},
    {{ name = "do", command = '''{command}''', verify = {{ dataset = "tree", at = "copy" }} }},
    {{ name = "read", operation = "tree.read", dataset = "tree", cold = true }},
]
"#,
        one.display(),
        other.display()
    )
}
