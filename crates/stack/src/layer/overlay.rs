//! An overlay above the filesystem: existing files are its lower tree, and changes go to the upper one.

use super::model::{InUse, Layer, LayerKind, LayerLine, MOUNT, UMOUNT, to_words};
use fsverdict_text::Reason;

/// Options of the kernel's that are on or off, which it has off unless it was built otherwise
/// (`Documentation/filesystems/overlayfs.rst`).
const SWITCHES: [&str; 2] = ["metacopy", "redirect_dir"];

pub(super) static OVERLAY: Layer = Layer {
    name: "overlay",
    summary: "An overlay (overlayfs) above the filesystem, as containers have it: it stands last in the list. What is written up to \
              the first phase that is cold becomes its lower tree; from there on all is seen through it, changes go to an upper tree \
              on the same filesystem, and a file is copied up as a whole when it is first opened for writing. metacopy, \
              which needs redirect_dir, or this alone behind a colon turns them on; both are off otherwise.",
    tools: &[MOUNT, UMOUNT],
    config: &["CONFIG_OVERLAY_FS"],
    modules: &["overlay"],
    driver: "overlay",
    kind: LayerKind::Above,
    options: |options| parse_switches(options).map(|_| 1),
    free_cpu: Some(
        "what an overlay computes for each name and file is not in these times, so that it looks cheaper than it is",
    ),
    open: LayerLine {
        step: "mount the overlay",
        argv: |site| {
            let below = site.device();
            let folders = ["lowerdir=", "upperdir=", "workdir="]
                .into_iter()
                .zip(LayerKind::FOLDERS)
                .map(|(option, folder)| format!("{option}{below}/{folder}"));
            let options: Vec<String> =
                folders.chain(parse_switches(site.options).unwrap_or_default()).collect();
            to_words(&[&["mount", "-i", "-t", "overlay", "-o", &options.join(","), "overlay", site.name]])
        },
    },
    close: Some(LayerLine {
        step: "unmount the overlay",
        argv: |site| to_words(&[&["umount", "-i", site.name]]),
    }),
    in_use: InUse {
        note: Some(
            "Measured through an overlay on it: mount -t overlay -o lowerdir=…,upperdir=…,workdir=… overlay FOLDER",
        ),
        ..Layer::PLAIN.in_use
    },
    ..Layer::PLAIN
};

/// All of them, as mount options.
fn parse_switches(text: &str) -> Result<Vec<String>, Reason> {
    let on: Vec<&str> = text.split(',').filter(|_| !text.is_empty()).collect();
    if let Some(wrong) = on.iter().find(|word| !SWITCHES.contains(word)) {
        let problem = format!("`{wrong}` is no option of an overlay");
        return Err(Reason::new(problem, "as in overlay, overlay:redirect_dir or overlay:metacopy"));
    }
    // The kernel refuses the first of them where the other is expressly off.
    let needs = |switch: &str| switch == "redirect_dir" && on.contains(&"metacopy");
    let state = |switch: &str| if on.contains(&switch) || needs(switch) { "on" } else { "off" };
    Ok(SWITCHES.iter().map(|switch| format!("{switch}={}", state(switch))).collect())
}

#[cfg(test)]
mod tests {
    use super::{OVERLAY, parse_switches};
    use crate::layer::LayerPlace;

    #[test]
    fn it_says_what_is_on_and_what_is_off() {
        let below = ["/below".to_owned()];
        for (options, switches) in [
            ("", "metacopy=off,redirect_dir=off"),
            ("redirect_dir", "metacopy=off,redirect_dir=on"),
            ("metacopy", "metacopy=on,redirect_dir=on"),
        ] {
            let site = LayerPlace { below: &below, name: "/mnt", options, key: "", bytes: None };
            let folders = "lowerdir=/below/lower,upperdir=/below/upper,workdir=/below/work";
            let wanted = format!("mount -i -t overlay -o {folders},{switches} overlay /mnt");
            assert_eq!((OVERLAY.open.argv)(&site).join(" "), wanted);
        }
        for wrong in ["volatile", "metacopy=on", ",", "metacopy,", "index"] {
            parse_switches(wrong).unwrap_err();
        }
    }
}
