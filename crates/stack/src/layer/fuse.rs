//! A pass-through in user space above the filesystem: every request goes to a program of ours and from there to the filesystem.

use super::model::{InUse, Layer, LayerKind, LayerLine, LayerPlace, to_words};
use super::tools::UMOUNT;
use crate::passthrough::{COMMAND, DEVICE, ServingManner};
use fsverdict_linux::host::procfs::THIS_PROGRAM;
use fsverdict_text::Reason;

/// Enough threads that reads need not wait for syncs.
const USUAL: ServingManner = ServingManner { threads: 4, writeback: false };
const MOST_THREADS: usize = 64;
const EXAMPLE: &str = "as in fuse, fuse:writeback or fuse:threads=8";

pub(super) static FUSE: Layer = Layer {
    name: "fuse",
    summary: "A pass-through in user space (FUSE) above the filesystem, as the least that a filesystem of one's own there costs: it \
              stands last in the list. Every request goes from the kernel to a process of fsverdict's, which does the same to the \
              filesystem and answers. What is written is handed on at once, or later with fuse:writeback; threads=4 (unless said \
              otherwise) answer behind a comma. Direct I/O, clones and FIEMAP do not reach the filesystem through it.",
    tools: &[UMOUNT],
    config: &["CONFIG_FUSE_FS"],
    modules: &["fuse"],
    driver: "fuse",
    nodes: &[DEVICE],
    kind: LayerKind::Served,
    options: |options| parse_manner(options).map(|_| 1),
    free_cpu: Some(
        "what a filesystem in user space computes for each request, and the way there and back, are not in these \
         times, so that it looks cheaper than it is",
    ),
    open: LayerLine {
        step: "serve the filesystem",
        argv: |site| {
            let manner = serving_manner(site).words();
            let [threads, writeback] = &manner;
            to_words(&[&[THIS_PROGRAM, COMMAND, site.device(), site.name, threads, writeback]])
        },
    },
    close: Some(LayerLine {
        step: "unmount what is served",
        argv: |site| to_words(&[&["umount", "-i", site.name]]),
    }),
    in_use: InUse {
        note: Some(
            "Measured through a pass-through in user space, which does nothing of its own: it is there to tell what such a one costs",
        ),
        ..Layer::PLAIN.in_use
    },
    ..Layer::PLAIN
};

fn serving_manner(site: &LayerPlace<'_>) -> ServingManner {
    parse_manner(site.options).unwrap_or(USUAL)
}

fn parse_manner(text: &str) -> Result<ServingManner, Reason> {
    let mut manner = USUAL;
    for word in text.split(',').filter(|_| !text.is_empty()) {
        match word.split_once('=') {
            None if word == "writeback" => manner.writeback = true,
            Some(("threads", number)) => {
                let threads = number.parse().ok().filter(|threads| (1..=MOST_THREADS).contains(threads));
                let problem = || format!("1 to {MOST_THREADS} threads answer, not `{number}`");
                manner.threads = threads.ok_or_else(|| Reason::new(problem(), EXAMPLE))?;
            }
            _ => return Err(Reason::new(format!("this layer has no option `{word}`"), EXAMPLE)),
        }
    }
    Ok(manner)
}

#[cfg(test)]
mod tests {
    use super::{FUSE, parse_manner};
    use crate::layer::LayerPlace;

    #[test]
    fn it_says_how_it_is_served() {
        let below = ["/below".to_owned()];
        for (options, said) in [("", "4 false"), ("writeback", "4 true"), ("threads=1,writeback", "1 true")] {
            let site = LayerPlace { below: &below, name: "/mnt", options, key: "", bytes: None };
            let argv = (FUSE.open.argv)(&site).join(" ");
            assert_eq!(argv, format!("/proc/self/exe pass-through /below /mnt {said}"));
        }
        for wrong in ["threads=0", "threads=65", "threads", "writeback=yes", ",", "splice", "threads=4,"] {
            parse_manner(wrong).unwrap_err();
        }
    }
}
