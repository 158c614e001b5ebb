//! Tests of work of which no cost can be told.

use super::ComputedWork::{
    Checksums, Compression, Deduplication, DirectorySearch, Encryption, Layer, Parity,
};
use super::{ComputedWork, FreeComputation, has_computing, list_work};
use crate::journal::made;
use crate::plan::{Candidate, Layers};

fn candidate(filesystem: &str, layers: &[&str], mkfs: &str, mount: &str) -> Candidate {
    Candidate {
        layers: Layers::from_names(layers.iter().copied()).unwrap(),
        mkfs: mkfs.split_whitespace().map(str::to_owned).collect(),
        mount: mount.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
        ..Candidate::with_defaults(filesystem)
    }
}

#[test]
fn layers_and_options_say_what_is_computed() {
    let of = |filesystem, layers: &[&str], mkfs, mount| -> Vec<ComputedWork> {
        list_work(&candidate(filesystem, layers, mkfs, mount)).into_iter().map(|(work, _)| work).collect()
    };
    assert_eq!(of("ext4", &[], "-b 4096 -O bigalloc", "noatime,discard"), []);
    assert_eq!(
        of("ext4", &["luks2", "md:raid5,chunk=64K", "integrity", "lvm:thin"], "", ""),
        [Encryption, Checksums, Parity, Layer]
    );
    assert_eq!(of("btrfs", &["md:raid1"], "-draid1 -m raid1", "nodatacow"), []);
    assert_eq!(
        of("btrfs", &[], "-d raid5 -m raid1 --csum xxhash", "compress=zstd"),
        [Compression, Checksums, Parity]
    );
    assert_eq!(
        of("ext4", &[], "-O ^metadata_csum,^dir_index", "journal_checksum"),
        [Checksums, Checksums, DirectorySearch]
    );
    assert_eq!(
        of("zfs", &[], "-O encryption=on -O dedup=on -O checksum=off raidz1", ""),
        [Encryption, Checksums, Deduplication, Parity]
    );
    assert_eq!(of("bcachefs", &[], "--encrypted --erasure_code", ""), [Encryption, Parity]);
}

#[test]
fn arrays_that_copy_compute_nothing() {
    let computes = |layers: &[&str]| has_computing(&candidate("ext4", layers, "", ""));
    assert!(!computes(&[]) && !computes(&["md:raid1"]) && !computes(&["md:raid10,layout=f2"]));
    assert!(
        computes(&["md:raid5"]) && computes(&["luks2", "md:raid1"]) && computes(&["md:raid1", "lvm:thin"])
    );
}

#[test]
fn the_value_of_an_option_is_part_of_the_difference() {
    let [crc, hash] = ["crc32c", "xxhash"].map(|name| candidate("btrfs", &[], &format!("--csum {name}"), ""));
    assert_ne!(list_work(&crc), list_work(&hash));
}

#[test]
fn only_free_computation_in_simulated_time_hides_anything() {
    let mut plan = made::plan(&serde_json::json!({ "candidates": [
        { "name": "ext4", "filesystem": "ext4", "encryption": "none" },
        { "name": "luks", "filesystem": "ext4", "encryption": "luks2" },
        { "name": "xfs", "filesystem": "xfs", "encryption": "none" },
    ] }));
    let hides = |plan: &_, is_simulated, other| {
        let free = FreeComputation::new(plan, is_simulated);
        [free.hides_difference("luks", other), free.hides_order("luks", other)]
    };
    assert_eq!(hides(&plan, true, "ext4"), [true, true]);
    // The ranking of filesystems stays; the cost of encryption is none of it.
    assert_eq!(hides(&plan, true, "xfs"), [true, false]);
    assert_eq!(hides(&plan, false, "ext4"), [false, false]);
    // Bytes are told whatever computation costs.
    plan.goal.metric = "device_written".to_owned();
    assert_eq!(hides(&plan, true, "ext4"), [false, false]);
    plan.goal.metric = "durable".to_owned();
    plan.cpu = Some("epyc-vm".to_owned());
    assert_eq!(hides(&plan, true, "ext4"), [false, false]);
    plan.candidates[0].under.cpu = Some("free".to_owned());
    assert_eq!(hides(&plan, true, "ext4"), [true, true]);
}
