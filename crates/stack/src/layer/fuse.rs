//! A pass-through in user space above the filesystem: `bindfs` gets every request and carries it out on the filesystem.

use super::model::{InUse, Layer, LayerKind, LayerLine, UMOUNT, to_words};
use crate::filesystem::{Package, Packages, Tool};

const BINDFS: Tool = Tool {
    program: "bindfs",
    version: &["--version"],
    packages: Packages {
        arch: Package::Elsewhere("bindfs, in the AUR"),
        opensuse: Package::Elsewhere("bindfs, in the filesystems project of the Open Build Service"),
        ..Packages::everywhere("bindfs")
    },
};

const ENV: Tool =
    Tool { program: "env", version: &["--version"], packages: Packages::everywhere("coreutils") };

/// The signals at which libfuse unmounts and ends well, as if the trial had unmounted it. It leaves those alone that are
/// ignored when it starts.
const IGNORED: &str = "--ignore-signal=HUP,INT,TERM";

/// Where the kernel hands requests out.
const DEVICE: &str = "/dev/fuse";

pub(super) static FUSE: Layer = Layer {
    name: "fuse",
    summary: "A pass-through in user space (FUSE) above the filesystem, as the least that a filesystem of one's own there costs: it \
              stands last in the list. Every request goes from the kernel to bindfs, which does the same to the filesystem with one \
              thread and answers. What is written is handed on at once. Direct I/O, clones, FIEMAP, fallocate and the fsync of a \
              folder do not reach the filesystem through it.",
    tools: &[BINDFS, ENV, UMOUNT],
    config: &["CONFIG_FUSE_FS"],
    modules: &["fuse"],
    driver: "fuse",
    nodes: &[DEVICE],
    kind: LayerKind::Served,
    free_cpu: Some(
        "what a filesystem in user space computes for each request, and the way there and back, are not in these \
         times, so that it looks cheaper than it is",
    ),
    open: LayerLine {
        step: "serve the filesystem",
        // -f: it stays in the foreground, a child of the agent, and its exit status is that of serving.
        argv: |site| {
            to_words(&[&["env", IGNORED, "bindfs", "-f", "-o", "nosuid,nodev", site.device(), site.name]])
        },
    },
    close: Some(LayerLine {
        step: "unmount what is served",
        argv: |site| to_words(&[&["umount", "-i", site.name]]),
    }),
    in_use: InUse {
        note: Some(
            "Measured through bindfs, which changes nothing of what passes through it: it shows what a filesystem in user space costs",
        ),
        ..Layer::PLAIN.in_use
    },
    ..Layer::PLAIN
};

#[cfg(test)]
mod tests {
    use super::FUSE;
    use crate::layer::LayerPlace;

    #[test]
    fn bindfs_serves_the_folder_below_in_the_foreground() {
        let below = ["/below".to_owned()];
        let site = LayerPlace { below: &below, name: "/mnt", options: "", key: "", bytes: None };
        let argv = (FUSE.open.argv)(&site).join(" ");
        assert_eq!(argv, "env --ignore-signal=HUP,INT,TERM bindfs -f -o nosuid,nodev /below /mnt");
        for wrong in ["writeback", "threads=4", ","] {
            (FUSE.options)(wrong).unwrap_err();
        }
    }
}
