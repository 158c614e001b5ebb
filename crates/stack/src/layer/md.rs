//! Software RAID by the kernel's md: an array of several devices.

use fsverdict_judgement::plan::ProtectionFeature;

use super::model::{InUse, Layer, LayerKind, LayerLine, LayerPlace, as_strs, to_words};
use crate::filesystem::{Packages, Tool};
use fsverdict_text::{Bytes, Reason};

const MDADM: Tool =
    Tool { program: "mdadm", version: &["--version"], packages: Packages::everywhere("mdadm") };

pub(super) static MD: Layer = Layer {
    name: "md",
    summary: "Software RAID of all devices by md, as mdadm makes it (metadata 1.2 at the front of each device): md:raid0, raid1, \
              raid10, raid5 or raid6, with chunk=SIZE, bitmap=none or internal, and for raid10 layout=n2 or another behind commas. \
              The write-intent bitmap is internal unless said otherwise, but for raid0, which has none. The array is taken for \
              synchronous from the start, as the devices are empty: what is measured is an array whose first synchronisation \
              is over.",
    tools: &[MDADM],
    config: &[
        "CONFIG_BLK_DEV_MD",
        "CONFIG_MD_RAID0",
        "CONFIG_MD_RAID1",
        "CONFIG_MD_RAID10",
        "CONFIG_MD_RAID456",
    ],
    modules: &["raid0", "raid1", "raid10", "raid456", "md-mod"],
    driver: "md-mod",
    // Metadata, bitmap and the space before the data: mdadm reserves a thousandth of a small device, at least this
    // much.
    header: 4 << 20,
    pools: true,
    protection: |options| is_redundant(options).then_some(ProtectionFeature::Redundant),
    kind: LayerKind::Array,
    options: |options| Ok(ArrayOptions::parse(options)?.level.minimum_devices()),
    example_options: "raid1",
    free_cpu: Some(
        "what an array computes is not in these times, so that parity (raid5, raid6) looks cheaper than it is",
    ),
    open: LayerLine { step: "make the array", argv: create_command },
    close: Some(LayerLine {
        step: "stop the array",
        argv: |site| to_words(&[&["mdadm", "--stop", &LayerKind::Array.device_node(site.name)]]),
    }),
    describe: Some(LayerLine {
        step: "describe the array",
        argv: |site| to_words(&[&["mdadm", "--detail", &LayerKind::Array.device_node(site.name)]]),
    }),
    reopen: Some(LayerLine {
        step: "assemble the array",
        argv: |site| {
            let node = LayerKind::Array.device_node(site.name);
            to_words(&[&["mdadm", "--assemble", "--run", &node], &as_strs(site.below)])
        },
    }),
    in_use: InUse {
        lines: |site| {
            let node = LayerKind::Array.device_node(site.name);
            vec![to_words(&[
                &["mdadm", "--create", &node],
                &as_strs(&shape_arguments(site)),
                &as_strs(site.below),
            ])]
        },
        at_boot: Some(|site, _| {
            format!("mdadm --detail --brief \"/dev/md/{}\" >>/etc/mdadm/mdadm.conf", site.name)
        }),
        note: Some(
            "Measured on an array that was synchronous from the start: mdadm makes one that copies or computes for hours first, and is slower until then",
        ),
    },
    ..Layer::PLAIN
};

/// Whether the data survive the loss of a device.
fn is_redundant(options: &str) -> bool {
    ArrayOptions::parse(options).is_ok_and(|options| options.level != ArrayLevel::Raid0)
}

/// `--run`: it asks nothing. The devices are empty, so that their parity is right and their copies are alike as they are.
fn create_command(site: &LayerPlace<'_>) -> Vec<String> {
    let node = LayerKind::Array.device_node(site.name);
    let head = ["mdadm", "--create", &node, "--run", "--homehost=any", "--metadata=1.2", "--assume-clean"];
    // An array without redundancy has nothing that could be out of step, and mdadm refuses to be told so.
    let head = if is_redundant(site.options) { &head[..] } else { &head[..6] };
    to_words(&[head, &as_strs(&shape_arguments(site)), &as_strs(site.below)])
}

/// The arguments that define this array.
fn shape_arguments(site: &LayerPlace<'_>) -> Vec<String> {
    let Ok(options) = ArrayOptions::parse(site.options) else { return Vec::new() };
    let mut words =
        vec![format!("--level={}", options.level.name()), format!("--raid-devices={}", site.below.len())];
    words.extend(options.chunk.map(|chunk| format!("--chunk={}", chunk.0 >> 10)));
    words.extend(options.layout.map(|layout| format!("--layout={layout}")));
    if options.level != ArrayLevel::Raid0 {
        words.push(format!("--bitmap={}", if options.bitmap { "internal" } else { "none" }));
    }
    words
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayLevel {
    Raid0,
    Raid1,
    Raid10,
    Raid5,
    Raid6,
}

impl ArrayLevel {
    const ALL: [ArrayLevel; 5] =
        [ArrayLevel::Raid0, ArrayLevel::Raid1, ArrayLevel::Raid10, ArrayLevel::Raid5, ArrayLevel::Raid6];

    const fn name(self) -> &'static str {
        match self {
            ArrayLevel::Raid0 => "raid0",
            ArrayLevel::Raid1 => "raid1",
            ArrayLevel::Raid10 => "raid10",
            ArrayLevel::Raid5 => "raid5",
            ArrayLevel::Raid6 => "raid6",
        }
    }

    /// Of so many devices it is made at least.
    const fn minimum_devices(self) -> usize {
        match self {
            ArrayLevel::Raid0 | ArrayLevel::Raid1 | ArrayLevel::Raid10 => 2,
            ArrayLevel::Raid5 => 3,
            ArrayLevel::Raid6 => 4,
        }
    }
}

/// The options after the layer's name in a plan: `raid5,chunk=64KiB,bitmap=none`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ArrayOptions {
    level: ArrayLevel,
    /// Whole KiB.
    chunk: Option<Bytes>,
    /// Of a raid10: near, far or offset copies and their number.
    layout: Option<String>,
    bitmap: bool,
}

impl ArrayOptions {
    fn parse(text: &str) -> Result<Self, Reason> {
        let wrong = |what: String| Reason::new(what, "as in md:raid1, or md:raid5,chunk=64KiB,bitmap=none");
        let mut words = text.split(',');
        let level = words.next().unwrap_or_default();
        let level = ArrayLevel::ALL.into_iter().find(|known| known.name() == level).ok_or_else(|| {
            let known = ArrayLevel::ALL.map(ArrayLevel::name).join(", ");
            wrong(format!("there is no level `{level}`, but {known}"))
        })?;
        let mut options = ArrayOptions { level, chunk: None, layout: None, bitmap: true };
        for word in words {
            match word.split_once('=') {
                Some(("chunk", size)) if level != ArrayLevel::Raid1 => {
                    let size: Bytes = size.parse().map_err(|error: Reason| wrong(error.what))?;
                    if !size.0.is_power_of_two() || !(4 << 10..=1 << 30).contains(&size.0) {
                        return Err(wrong(format!(
                            "a chunk is a power of two from 4 KiB to 1 GiB, not {size}"
                        )));
                    }
                    options.chunk = Some(size);
                }
                Some(("layout", layout)) if level == ArrayLevel::Raid10 => {
                    let copies = layout.strip_prefix(['n', 'f', 'o']);
                    if !copies.is_some_and(|copies| ["2", "3", "4"].contains(&copies)) {
                        return Err(wrong(format!(
                            "a layout is n, f or o and the number of copies, as in n2, not `{layout}`"
                        )));
                    }
                    options.layout = Some(layout.to_owned());
                }
                Some(("bitmap", kind)) if level != ArrayLevel::Raid0 => {
                    options.bitmap = match kind {
                        "internal" => true,
                        "none" => false,
                        other => return Err(wrong(format!("a bitmap is internal or none, not `{other}`"))),
                    };
                }
                _ => return Err(wrong(format!("`{word}` is no option of {}", level.name()))),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::{ArrayOptions, MD};
    use crate::layer::{LayerPlace, check_options};

    fn made(options: &str, devices: usize) -> String {
        let below: Vec<String> = (0..devices).map(|number| format!("/dev/d{number}")).collect();
        let site = LayerPlace { below: &below, name: "n", options, key: "", bytes: None };
        (MD.open.argv)(&site).join(" ")
    }

    #[test]
    fn arrays_are_made_as_the_plan_says_and_ask_nothing() {
        let head = "mdadm --create /dev/md/n --run --homehost=any --metadata=1.2";
        for (options, devices, wanted) in [
            ("raid1", 2, "--assume-clean --level=raid1 --raid-devices=2 --bitmap=internal"),
            ("raid0,chunk=128KiB", 2, "--level=raid0 --raid-devices=2 --chunk=128"),
            (
                "raid5,chunk=64KiB,bitmap=none",
                3,
                "--assume-clean --level=raid5 --raid-devices=3 --chunk=64 --bitmap=none",
            ),
            (
                "raid10,layout=f2",
                2,
                "--assume-clean --level=raid10 --raid-devices=2 --layout=f2 --bitmap=internal",
            ),
        ] {
            let paths: Vec<String> = (0..devices).map(|number| format!("/dev/d{number}")).collect();
            assert_eq!(made(options, devices), format!("{head} {wanted} {}", paths.join(" ")));
            assert_eq!(
                check_options("md", options).unwrap(),
                if options.starts_with("raid5") { 3 } else { 2 }
            );
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for options in [
            "",
            "raid7",
            "raid1,chunk=64KiB",
            "raid0,bitmap=none",
            "raid5,chunk=65KiB",
            "raid5,chunk=-1",
            "raid5,chunk=2KiB",
            "raid10,layout=x2",
            "raid10,layout=n",
            "raid5,layout=n2",
            "raid1,",
            "raid1,bitmap=/dev/sda",
            "raid1 --force",
        ] {
            ArrayOptions::parse(options).unwrap_err();
        }
    }
}
