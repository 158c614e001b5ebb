//! A trial told as command lines, for `--dry-run`: what the agent would run, in order.

use std::path::Path;

use crate::plan::{Candidate, Operation, Phase, Work, quoted};

use super::stack::MOUNT;

/// The command lines of one trial; steps that are no programs are described in brackets.
pub fn command_lines(candidate: &Candidate, phases: &[Phase]) -> Vec<String> {
    if let Some(folder) = &candidate.path {
        return in_folder(folder, phases);
    }
    let (Some(filesystem), Some(encryption)) = (
        crate::filesystem::find(&candidate.filesystem),
        crate::layer::find_encryption(&candidate.encryption),
    ) else {
        return Vec::new();
    };
    let device = if encryption.is_none() { "$DEVICE" } else { "/dev/mapper/fsverdict-$DEVICE" };
    // What stands for a device or a key is not to be taken by its letters.
    let word = |word: &String| if word.contains('$') { word.clone() } else { quoted(word) };
    let line = |argv: Vec<String>| argv.iter().map(word).collect::<Vec<_>>().join(" ");
    let mount = || line(filesystem.mount(&candidate.mount).argv(device, MOUNT));
    let unmount = format!("umount -i {MOUNT}");
    let check = |name: &str| match filesystem.fsck_argv(device) {
        Some(argv) => format!("{}    [timed as {name}]", line(argv)),
        None => format!("[{} has no checker]", filesystem.name),
    };
    let mut lines = vec!["[discard the device]".to_owned()];
    lines.extend(candidate.scheduler.iter().map(|scheduler| format!("[I/O scheduler {scheduler}]")));
    lines.extend(encryption.format_argv("$DEVICE", "$KEY").map(line));
    lines.extend(encryption.open_argv("$DEVICE", "fsverdict-$DEVICE", "$KEY").map(line));
    lines.push(format!("{}    [timed as mkfs]", line(filesystem.mkfs_argv(device, &candidate.mkfs))));
    lines.push(format!("{}    [timed as mount]", mount()));
    for phase in phases {
        if phase.cold {
            lines.push(format!("{unmount}; [sync $DEVICE]; [drop caches]; {}", mount()));
        }
        lines.push(match &phase.work {
            Work::Operation(Operation::Fsck) => {
                format!("{unmount}; {}; {}", check(&phase.name), mount())
            }
            _ => work(phase),
        });
    }
    lines.push(format!("{unmount}    [timed as umount]"));
    let last_is_check = phases.last().is_some_and(|phase| phase.work == Work::Operation(Operation::Fsck));
    if !last_is_check {
        lines.push(check("fsck"));
    }
    lines.extend(encryption.close_argv("fsverdict-$DEVICE").map(line));
    lines
}

fn in_folder(folder: &Path, phases: &[Phase]) -> Vec<String> {
    let own = quoted(&folder.join(".fsverdict-…").to_string_lossy());
    let mut lines = vec![format!("[make {own}, which is $MOUNT]")];
    for phase in phases {
        if phase.cold {
            lines.push("[syncfs]; [drop caches]".to_owned());
        }
        lines.push(work(phase));
    }
    lines.push(format!("[remove {own}]"));
    lines
}

fn work(phase: &Phase) -> String {
    let line = match &phase.work {
        Work::Operation(name) => format!("[{name} on {}]", phase.dataset.as_deref().unwrap_or("nothing")),
        Work::Command(command) => command.clone(),
        Work::Adapter { name, options } => format!("{name} {options}"),
    };
    format!("{line}; [syncfs]    [timed as {}]", phase.name)
}
