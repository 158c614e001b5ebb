//! The description of a layer.

use crate::filesystem::{Package, Packages, Tool};
use fsverdict_judgement::plan::ProtectionFeature;
use fsverdict_text::Reason;

/// A layer between devices and a filesystem: a block device that programs make and open; or, above the filesystem, a
/// mount.
///
/// Natively it must be one of the kernel's device mapper, because the kernel can remove such a device by itself when its last
/// user is gone. A guest's kernel takes everything with it.
#[derive(Debug, Clone, Copy)]
pub struct Layer {
    /// As plans name it.
    pub name: &'static str,
    pub summary: &'static str,
    pub tools: &'static [Tool],
    /// Kernel configuration symbols that must all be `y` or `m`.
    pub config: &'static [&'static str],
    /// Modules to load, in order, where they are not built in. One that is missing because it is built in is no failure.
    pub modules: &'static [&'static str],
    /// The one of them that a kernel which loads its own is asked for, where it has no device mapper yet.
    pub driver: &'static str,
    /// Nodes below `/dev` that its programs need besides the device.
    pub nodes: &'static [&'static str],
    /// Bytes of the device below that it keeps for itself.
    pub header: u64,
    /// Whether it puts all the devices below it together into one.
    pub pools: bool,
    /// How it changes a candidate's protection level with these options.
    pub protection: fn(&str) -> Option<ProtectionFeature>,
    /// Its kind for the kernel.
    pub kind: LayerKind,
    /// How many devices it takes at least with these options, which follow its name in a plan; or why it does not take them.
    pub options: fn(&str) -> Result<usize, Reason>,
    /// Options with which it can be made, for a layer that needs some; the tests of the registry try every layer with them.
    pub example_options: &'static str,
    /// Whether it is tried by default: of several with the same requirements, one is.
    pub usual: bool,
    /// The part that times leave out if computation was free, if the layer computes.
    pub free_cpu: Option<&'static str>,
    /// The algorithm that processes each byte, as named by `openssl speed` and `cryptsetup benchmark`, if its cost can
    /// be measured.
    pub cipher: Option<Cipher>,
    /// Makes it on the device below, overwrites any content, and asks nothing.
    pub make: Option<LayerLine>,
    /// Opens it under its name, with discards passed through: without that a candidate with a layer would differ from the plain
    /// one in a second respect, and a scratch image would never shrink again.
    pub open: LayerLine,
    /// Makes the kernel remove the opened device as soon as its last user closes it; at once if there is none.
    ///
    /// Given right after opening, by an agent that itself keeps the device open until teardown (else the first unmount, or the
    /// end of fsck, would remove it), it leaves nothing behind even when the agent is killed.
    pub mark: Option<LayerLine>,
    /// Writes data to the opened device that are needed before it can be read; it gets that device as the one below.
    pub fill: Option<LayerLine>,
    /// Takes it down where the kernel does not do it by itself.
    pub close: Option<LayerLine>,
    /// Prints the table of the opened device for the record.
    pub describe: Option<LayerLine>,
    /// How it is sealed after all data are written, if it can be.
    pub seal: Option<LayerSeal>,
    /// Opens it where it was made in another guest; none: as ever.
    pub reopen: Option<LayerLine>,
    /// How it makes snapshots, if it can.
    pub snapshots: Option<LayerSnapshots>,
    pub in_use: InUse,
}

impl Layer {
    /// A mapping that takes no options, stores nothing, costs nothing, and that the kernel removes by itself: a layer's
    /// file states the differences from it, with `..Layer::PLAIN`. Name, summary, tools, drivers, and how it is opened
    /// have no default; the tests of the registry fail where they are missing.
    pub const PLAIN: Layer = Layer {
        name: "",
        summary: "",
        tools: &[],
        config: &[],
        modules: &[],
        driver: "",
        nodes: &[],
        header: 0,
        pools: false,
        protection: |_| None,
        kind: LayerKind::Mapping,
        options: |options| match options {
            "" => Ok(1),
            other => Err(Reason::plain(format!("this layer has no option `{other}`"))),
        },
        example_options: "",
        usual: false,
        free_cpu: None,
        cipher: None,
        make: None,
        open: LayerLine { step: "", argv: |_| Vec::new() },
        mark: None,
        fill: None,
        close: None,
        describe: None,
        seal: None,
        reopen: None,
        snapshots: None,
        in_use: InUse { lines: |_| Vec::new(), at_boot: None, note: None },
    };
}

/// How the kernel knows an opened layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// By its name for the device mapper.
    Mapping,
    /// A software RAID, named below `/dev/md` by its program. The kernel stops none by itself.
    Array,
    /// As the mapping of a volume in a group of this name, which has others beside it. They stay until they are
    /// removed.
    Volume,
    /// As a mount of its own above the filesystem, which is no device. It goes with the mounts of the trial.
    Above,
    /// As such a mount, which the program serves that the line opening it starts: it ends with the mount, and that with it.
    Served,
}

impl LayerKind {
    /// The name of the volume in a group.
    pub const VOLUME: &'static str = "volume";
    /// Folders of the filesystem below: the merged view, the upper tree, and the work folder.
    pub const FOLDERS: [&'static str; 3] = ["lower", "upper", "work"];

    /// Whether the kernel removes it by itself with its last user, so that a crash leaves nothing.
    pub const fn goes_by_itself(self) -> bool {
        matches!(self, LayerKind::Mapping | LayerKind::Above | LayerKind::Served)
    }

    /// Whether it lies above the filesystem.
    pub const fn is_above(self) -> bool {
        matches!(self, LayerKind::Above | LayerKind::Served)
    }

    /// Where an opened layer of this name is found, for people and programs.
    pub fn device_node(self, name: &str) -> String {
        match self {
            LayerKind::Mapping => format!("/dev/mapper/{name}"),
            LayerKind::Array => format!("/dev/md/{name}"),
            LayerKind::Volume => format!("/dev/{name}/{}", Self::VOLUME),
            LayerKind::Above | LayerKind::Served => name.to_owned(),
        }
    }
}

/// A cipher, by the names that programs which measure it have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cipher {
    pub cryptsetup: &'static str,
    pub key_bits: &'static str,
    pub openssl: &'static str,
}

/// A command line of a layer.
#[derive(Debug, Clone, Copy)]
pub struct LayerLine {
    /// Its name in the journal.
    pub step: &'static str,
    pub argv: fn(&LayerPlace<'_>) -> Vec<String>,
}

/// Where a layer lies.
#[derive(Debug, Clone, Copy)]
pub struct LayerPlace<'a> {
    /// The devices below; all layers but those that put several together have one.
    pub below: &'a [String],
    /// Its own name, by which [`LayerKind`] finds its device node.
    pub name: &'a str,
    /// The options after its name in the plan.
    pub options: &'a str,
    /// A file with a key, all its bytes; `-` is standard input. It protects nothing.
    pub key: &'a str,
    /// How many bytes all devices below have together, where that is known.
    pub bytes: Option<u64>,
}

impl<'a> LayerPlace<'a> {
    /// The one device below.
    pub fn device(&self) -> &'a str {
        self.below.first().map_or("", String::as_str)
    }
}

/// The written device is complete and read-only from here on: it is closed, sealed with these commands, and opened with
/// others.
#[derive(Debug, Clone, Copy)]
pub struct LayerSeal {
    pub make: LayerLine,
    pub open: LayerLine,
    /// As [`Layer::mark`].
    pub mark: LayerLine,
    pub describe: LayerLine,
}

/// Snapshots of a layer by its own programs.
#[derive(Debug, Clone, Copy)]
pub struct LayerSnapshots {
    /// Whether there is room for one with these options.
    pub has_room: fn(&str) -> bool,
    /// Which options give room.
    pub hint: &'static str,
    /// Keeps a state under this number, which the trial chooses.
    pub create: fn(&LayerPlace<'_>, &str) -> Vec<String>,
    pub delete: fn(&LayerPlace<'_>, &str) -> Vec<String>,
    /// Restores the snapshot of this number while the layer is not in use; both lines run in order.
    pub rollback: fn(&LayerPlace<'_>, &str) -> [Vec<String>; 2],
}

/// The set-up on a real system, where a key is secret and time does not matter.
#[derive(Debug, Clone, Copy)]
pub struct InUse {
    /// The command lines that make and open it; they may ask.
    pub lines: fn(&LayerPlace<'_>) -> Vec<Vec<String>>,
    /// A command of a shell that has it opened at each boot, given its place and the device below as a table may have it.
    pub at_boot: Option<fn(site: &LayerPlace<'_>, below: &str) -> String>,
    /// The difference from the measured set-up.
    pub note: Option<&'static str>,
}

const IN_MOUNT: Packages =
    Packages { debian: Package::Official("mount"), ..Packages::everywhere("util-linux") };
pub(super) const MOUNT: Tool = Tool { program: "mount", version: &["--version"], packages: IN_MOUNT };
pub(super) const UMOUNT: Tool = Tool { program: "umount", version: &["--version"], packages: IN_MOUNT };

/// The words of a command line, group by group.
pub(super) fn to_words(groups: &[&[&str]]) -> Vec<String> {
    groups.concat().into_iter().map(str::to_owned).collect()
}

pub(super) fn as_strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}
