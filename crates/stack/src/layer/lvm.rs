//! Volumes of LVM: all devices form one group, and a volume uses all or part of it; the rest holds snapshots.

use super::model::{InUse, Layer, LayerKind, LayerLine, LayerPlace, LayerSnapshots, as_strs, to_words};
use super::volume_options::{VolumeKind, VolumeOptions};
use crate::filesystem::{Packages, Tool};

/// All of them are one program.
const fn lvm_tool(program: &'static str) -> Tool {
    Tool { program, version: &["--version"], packages: Packages::everywhere("lvm2") }
}

/// Settings that override the machine's configuration, and features that need a service which a trial does not have: no
/// copies of the metadata below /etc, no waiting for udev, no monitoring, and locks in a writable folder (lvm.conf(5);
/// `lvmconfig --type default --withcomments` explains each).
const CONFIG: [&str; 2] = [
    "--config",
    "activation{udev_sync=0 udev_rules=0 monitoring=0} backup{backup=0 archive=0} \
     devices{use_devicesfile=0 obtain_device_list_from_udev=0 hints=\"none\"} \
     global{locking_dir=\"/tmp/fsverdict/lvm\" thin_check_executable=\"\"}",
];

pub(super) static LVM: Layer = Layer {
    name: "lvm",
    summary: "A volume of LVM on all devices: lvm:linear, lvm:striped (chunk=64KiB unless said otherwise) or lvm:thin, whose \
              blocks (chunk=64KiB) are had when they are first written. spare=40% behind a comma leaves that share of the group \
              free, where snapshot.create keeps what is written over: a snapshot of a linear or striped volume (dm-snapshot) gets \
              a tenth of the group, one of a thin volume shares its pool.",
    tools: &[
        lvm_tool("vgcreate"),
        lvm_tool("lvcreate"),
        lvm_tool("lvremove"),
        lvm_tool("lvconvert"),
        lvm_tool("lvchange"),
        lvm_tool("vgchange"),
        lvm_tool("lvs"),
    ],
    config: &["CONFIG_BLK_DEV_DM", "CONFIG_DM_SNAPSHOT", "CONFIG_DM_THIN_PROVISIONING"],
    modules: &["dm-snapshot", "dm-thin-pool", "dm-mod"],
    driver: "dm-mod",
    nodes: &["/dev/mapper/control"],
    // The label and metadata of the group, two copies of a pool's metadata, and an extent of 4 MiB that is not whole.
    header: 20 << 20,
    pools: true,
    kind: LayerKind::Volume,
    options: |options| Ok(VolumeOptions::parse(options)?.minimum_devices()),
    example_options: "striped",
    free_cpu: Some(
        "what a volume computes for each request is not in these times, so that it looks cheaper than it is",
    ),
    make: Some(LayerLine {
        step: "make the group",
        argv: |site| {
            to_words(&[&["vgcreate", "--yes", "--quiet"], &CONFIG, &[site.name], &as_strs(site.below)])
        },
    }),
    open: LayerLine {
        step: "make the volume",
        argv: |site| {
            let head = ["lvcreate", "--yes", "--quiet", "--wipesignatures", "n"];
            to_words(&[&head, &CONFIG, &as_strs(&shape_arguments(site, &size_arguments(site)))])
        },
    },
    close: Some(LayerLine {
        step: "close the group",
        argv: |site| to_words(&[&["vgchange", "--quiet"], &CONFIG, &["--activate", "n", site.name]]),
    }),
    describe: Some(LayerLine {
        step: "describe the volume",
        argv: |site| {
            let shown = "lv_name,lv_layout,lv_size,stripes,stripe_size,chunk_size,zero,discards,vg_free";
            to_words(&[&["lvs"], &CONFIG, &["--all", "--units", "b", "--options", shown, site.name]])
        },
    }),
    snapshots: Some(LayerSnapshots {
        has_room: |options| VolumeOptions::parse(options).is_ok_and(VolumeOptions::has_room),
        hint: "lvm:thin, or spare=40% behind lvm:linear",
        create: |site, id| {
            let made = options_of(site);
            let room: &[&str] = if made.kind == VolumeKind::Thin { &[] } else { &["--extents", "10%VG"] };
            let head = ["lvcreate", "--yes", "--quiet", "--snapshot", "--name"];
            to_words(&[&head, &[&snapshot_name(id)], room, &CONFIG, &[&volume_name(site)]])
        },
        delete: |site, id| {
            let name = format!("{}/{}", site.name, snapshot_name(id));
            to_words(&[&["lvremove", "--yes", "--quiet"], &CONFIG, &[&name]])
        },
        // It waits, polling every second, until the snapshot is copied back (lvconvert(8)); a thin volume is swapped
        // with its snapshot, and is inactive afterwards.
        rollback: |site, id| {
            let name = format!("{}/{}", site.name, snapshot_name(id));
            let merge = ["lvconvert", "--yes", "--quiet", "--merge", "--interval", "1"];
            let activate = ["lvchange", "--quiet", "--activate", "y"];
            [to_words(&[&merge, &CONFIG, &[&name]]), to_words(&[&activate, &CONFIG, &[&volume_name(site)]])]
        },
    }),
    in_use: InUse {
        lines: |site| {
            let group = to_words(&[&["vgcreate", site.name], &as_strs(site.below)]);
            let shape = shape_arguments(site, "$SIZE");
            vec![group, to_words(&[&["lvcreate"], &as_strs(&shape)])]
        },
        // The system activates all groups that it finds.
        at_boot: None,
        note: None,
    },
    ..Layer::PLAIN
};

/// The name of the snapshot that the trial knows by this number.
fn snapshot_name(id: &str) -> String {
    format!("kept-{id}")
}

fn volume_name(site: &LayerPlace<'_>) -> String {
    format!("{}/{}", site.name, LayerKind::VOLUME)
}

fn options_of(site: &LayerPlace<'_>) -> VolumeOptions {
    VolumeOptions::parse(site.options).unwrap_or(VolumeOptions::LINEAR)
}

/// For a thin volume: all that its pool holds minus the spare part, so that the volume is full before its pool.
fn size_arguments(site: &LayerPlace<'_>) -> String {
    const EXTENT: u64 = 4 << 20;
    let Some(bytes) = site.bytes else { return "$SIZE".to_owned() };
    // Two copies of its metadata, 64 bytes for each block (lvmthin(7)), and the group's own overhead.
    let pool = bytes.saturating_sub(bytes / 512 + LVM.header);
    let volume = pool / 100 * (100 - options_of(site).spare);
    format!("{}b", volume / EXTENT * EXTENT)
}

/// The arguments that define this volume.
fn shape_arguments(site: &LayerPlace<'_>, size: &str) -> Vec<String> {
    let options = options_of(site);
    let chunk = format!("{}k", options.chunk.0 >> 10);
    let stripes = site.below.len().to_string();
    let share = format!("{}%VG", 100 - options.spare);
    match options.kind {
        VolumeKind::Linear => to_words(&[&["--name", LayerKind::VOLUME, "--extents", &share, site.name]]),
        VolumeKind::Striped => {
            let stripes = ["--stripes", &stripes, "--stripesize", &chunk];
            to_words(&[&["--name", LayerKind::VOLUME, "--extents", &share], &stripes, &[site.name]])
        }
        VolumeKind::Thin => {
            let pool =
                ["--type", "thin", "--thinpool", "pool", "--extents", "100%FREE", "--chunksize", &chunk];
            to_words(&[&pool, &["--virtualsize", size, "--name", LayerKind::VOLUME, site.name]])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CONFIG, LVM};
    use crate::layer::LayerPlace;

    fn join_words(words: &[String]) -> String {
        words.join(" ").replace(&format!("{} ", CONFIG.join(" ")), "")
    }

    #[test]
    fn volumes_take_their_share_and_snapshots_what_is_left() {
        let below = ["/dev/a".to_owned(), "/dev/b".to_owned()];
        for (options, made, kept) in [
            ("linear,spare=40%", "--name volume --extents 60%VG n", "kept-2 --extents 10%VG n/volume"),
            (
                "striped,chunk=128KiB",
                "--name volume --extents 100%VG --stripes 2 --stripesize 128k n",
                "kept-2 --extents 10%VG n/volume",
            ),
            (
                "thin,spare=50%",
                "--type thin --thinpool pool --extents 100%FREE --chunksize 64k --virtualsize 524288000b --name volume n",
                "kept-2 n/volume",
            ),
        ] {
            let site =
                LayerPlace { below: &below, name: "n", options, key: "", bytes: Some((1 << 30) + (2 << 20)) };
            let opened = join_words(&(LVM.open.argv)(&site));
            assert_eq!(opened, format!("lvcreate --yes --quiet --wipesignatures n {made}"));
            let snapshots = LVM.snapshots.unwrap();
            let created = join_words(&(snapshots.create)(&site, "2"));
            assert_eq!(created, format!("lvcreate --yes --quiet --snapshot --name {kept}"));
            assert_eq!(join_words(&(snapshots.delete)(&site, "2")), "lvremove --yes --quiet n/kept-2");
            let [merged, activated] = (snapshots.rollback)(&site, "2").map(|words| join_words(&words));
            assert_eq!(merged, "lvconvert --yes --quiet --merge --interval 1 n/kept-2");
            assert_eq!(activated, "lvchange --quiet --activate y n/volume");
            assert_eq!((snapshots.has_room)(options), options != "striped,chunk=128KiB");
        }
    }
}
