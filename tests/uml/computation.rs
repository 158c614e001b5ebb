//! Computation with a price in simulated time.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::{Place, is_root, not_run};

const PLAN: &str = r#"
title        = "Computation with a price"
lab          = "uml"
device       = { model = "nvme-ssd", size = "2GiB" }
protocol     = { blocks = 2, seed = 5, timeout = "300s" }
dataset.tree = { profile = "mixed", files = 120, directories = 12, size = "4MiB" }
phase = [
    { name = "write", operation = "tree.write", dataset = "tree" },
    { name = "read", operation = "tree.read", dataset = "tree", cold = true },
]
[matrix]
filesystem = ["ext4"]
encryption = ["none", "luks2"]
cpu        = ["free", "arm-board"]
"#;

/// The digest of each trial's trace, by block and candidate.
fn traces(place: &Place) -> BTreeMap<(u64, String), String> {
    facts(place, "device.trace")
}

fn facts(place: &Place, name: &str) -> BTreeMap<(u64, String), String> {
    let journal = place.journal();
    let of_event = |event: &Value| {
        let value = event["facts"][name].as_str()?.to_owned();
        let trial = &event["trial"];
        Some(((trial["block"].as_u64()?, trial["candidate"].as_str()?.to_owned()), value))
    };
    journal.all("facts").filter_map(of_event).collect()
}

/// Whether the user who starts a guest owns the host's files and links does not change what the guest counts.
#[test]
fn uml_simulated_computation_for_another_user_is_the_same() {
    if !is_root() {
        return not_run("only root can start a run as another user");
    }
    let (own, other) = (Place::new(), Place::new());
    own.run(PLAN, &["--blocks", "1"]).exits(0);
    for folder in [other.path().to_owned(), other.path().join("home"), other.path().join("cache")] {
        std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
    }
    let plan = other.plan("plan", PLAN);
    let undisturbed = ["--set", "protocol.disturbed=false", "--blocks", "1"];
    other.unprivileged(&[&["run", &plan, "--out", "run"], &undisturbed[..]].concat()).exits(0);
    assert_eq!(traces(&own).len(), 4);
    assert_eq!(traces(&own), traces(&other));
}

/// Seconds of a metric, over all timed phases of the plan, of a candidate's trial.
fn seconds(place: &Place, block: u64, candidate: &str, metric: &str) -> f64 {
    let journal = place.journal();
    let of_trial = |event: &&Value| {
        let is_phase = ["write", "read"].contains(&event["phase"].as_str().unwrap());
        event["trial"]["block"] == block && event["trial"]["candidate"] == candidate && is_phase
    };
    let observations = journal.all("observation").filter(|event| of_trial(event));
    let measurements = observations.flat_map(|event| event["measurements"].as_array().unwrap().clone());
    measurements.filter(|one| one["metric"] == metric).map(|one| one["value"].as_f64().unwrap()).sum()
}

#[test]
fn uml_simulated_computation_with_a_price_takes_time_and_luks_costs_something() {
    let place = Place::new();
    let seen = place.run(PLAN, &["--all"]).exits(0);
    seen.shows_broken(&[
        "arm-board (4 processors without AES instructions",
        "estimated",
        "free for the other",
    ]);
    for block in [1, 2] {
        let durable = |candidate: &str| seconds(&place, block, candidate, "durable");
        let charged = |candidate: &str| seconds(&place, block, candidate, "charged");
        for stack in ["ext4", "ext4+luks2"] {
            let (free, priced) = (format!("{stack}-cpu-free"), format!("{stack}-cpu-arm-board"));
            assert!(durable(&priced) > durable(&free), "{priced} is not slower than {free}");
            assert!(charged(&priced) > 0.0 && charged(&free) == 0.0);
        }
        assert!(durable("ext4+luks2-cpu-arm-board") > 1.2 * durable("ext4-cpu-arm-board"));
    }
    // All candidates of a block have the same prices, and the second block mirrors the first.
    let prices = facts(&place, "drawn.cpu.aes_byte");
    let of = |block, candidate: &str| -> f64 {
        let value = &prices[&(block, candidate.to_owned())];
        value.strip_suffix(" ps").unwrap().parse().unwrap()
    };
    let (plain, encrypted) = ("ext4-cpu-arm-board", "ext4+luks2-cpu-arm-board");
    assert_eq!(prices.len(), 4);
    assert!((of(1, plain) - of(1, encrypted)).abs() < 0.5 && (of(1, plain) - of(2, plain)).abs() > 0.5);
    assert!((of(1, plain) + of(2, plain) - 2.0 * 13_900.0).abs() <= 1.0, "{prices:?}");
    // What is free is said to be, of those alone of whom it is true.
    let journal = place.journal();
    let free = journal.all("caution").filter(|event| event["kind"] == "free_work");
    let mut told = 0;
    for event in free {
        let candidate = event["trial"]["candidate"].as_str().unwrap();
        assert!(candidate.ends_with("-cpu-free"), "{candidate}");
        told += 1;
    }
    assert!(told > 0);
    let begin = &journal.0[0];
    assert_eq!(begin["beginning"]["processors"][0]["name"], "arm-board", "{begin}");
    let counted =
        journal.all("observation").find_map(|event| event["computation"]["counts"]["aes_byte"].as_u64());
    assert!(counted.unwrap() > 0);
    place.is_left_clean();
}

#[test]
fn uml_simulated_computation_of_one_seed_gives_the_same_trace_alone_or_side_by_side() {
    let (first, second) = (Place::new(), Place::new());
    let plan = PLAN.replace("[\"free\", \"arm-board\"]", "[\"arm-board\"]");
    first.run(&plan, &[]).exits(0);
    second.run(&plan, &["--jobs", "1"]).exits(0);
    let (one, other) = (traces(&first), traces(&second));
    assert_eq!(one.len(), 4);
    assert_eq!(one, other);
}

#[test]
fn uml_simulated_time_without_a_kernel_that_counts_is_refused_where_computation_has_a_price() {
    let place = Place::new();
    let plan = PLAN.replace("[\"free\", \"arm-board\"]", "[\"arm-board\"]");
    // The packaged kernel counts nothing.
    let path = "/usr/bin/linux.uml";
    let seen = place.run(&plan, &["--set", &format!("kernel=\"{path}\"")]).exits(1);
    if seen.stderr.contains("does not start on this machine's processors") {
        return not_run("the packaged kernel does not know this machine's processors");
    }
    seen.says(&["does not count what it computes", "kernel build", "--set cpu=free"]);
}

/// A kernel with large folios maps several pages of one at once (xfs has them).
#[test]
fn uml_simulated_programs_that_map_a_file_see_what_those_that_read_it_see() {
    let place = Place::new();
    let plan = r#"
title       = "Mapped and read"
lab         = "uml"
cpu         = "arm-board"
device      = { model = "nvme-ssd", size = "1GiB" }
protocol    = { blocks = 1, seed = 5, timeout = "300s" }
dataset.big = { file = "4MiB" }
[matrix]
filesystem = ["xfs", "ext4", "btrfs"]
[[phase]]
name      = "write"
operation = "stream.write"
dataset   = "big"
# git maps a file of this size, and reads what it is piped.
[[phase]]
name    = "compare"
command = 'f=$(find "$MOUNT" -type f -size +1M); test "$(git hash-object "$f")" = "$(git hash-object --stdin < "$f")"'
cold    = true
"#;
    place.run(plan, &[]).exits(0);
    let journal = place.journal();
    assert!(journal.all("trial_finished").all(|event| event["status"] == "ok"));
}

/// The same work without `cpu`, with the model that is taken then, and with free computation.
#[test]
fn uml_simulated_computation_has_a_price_unless_the_plan_says_that_it_is_free() {
    let [default, named, free] = [(), (), ()].map(|()| Place::new());
    let plan = PLAN.replace("cpu        = [\"free\", \"arm-board\"]\n", "");
    let once = ["--blocks", "1", "--fs", "ext4", "--all"];
    let seen = default.run(&plan, &once).exits(0);
    seen.shows_broken(&["epyc-vm (2 processors", "measured"]);
    named.run(&plan, &[&once[..], &["--set", "cpu=epyc-vm"]].concat()).exits(0);
    free.run(&plan, &[&once[..], &["--set", "cpu=free"]].concat()).exits(0).shows(&["CPU taken as free"]);
    assert_eq!(traces(&default), traces(&named));
    assert_ne!(traces(&default), traces(&free));
    assert!(seconds(&default, 1, "ext4", "charged") > 0.0);
    assert_eq!(free.journal().all("caution").filter(|event| event["kind"] == "free_work").count(), 1);
}

const COMPRESSED: &str = r#"
title        = "Compression by its level"
lab          = "uml"
device       = { model = "nvme-ssd", size = "2GiB" }
protocol     = { blocks = 1, devices = "one", circumstances = "fixed" }
dataset.tree = { profile = "mixed", files = 40, directories = 4, size = "4MiB", compressible = 0.5 }
phase        = [{ name = "write", operation = "tree.write", dataset = "tree" }]
"#;

/// The counts of a trial's only phase, by class.
fn counts(place: &Place, candidate: &str, phase: &str) -> BTreeMap<String, u64> {
    let journal = place.journal();
    let mut of_phase = journal
        .all("observation")
        .filter(|event| event["phase"] == phase && event["trial"]["candidate"] == candidate);
    let seen = of_phase.next().unwrap_or_else(|| panic!("{candidate} did not {phase}: {journal:#?}"));
    serde_json::from_value(seen["computation"]["counts"].clone()).unwrap()
}

#[test]
fn uml_simulated_every_compressor_has_a_price_by_its_level() {
    // Mount options, the class, and how many times the bytes of the option before count, where that has another level.
    let compressors = [
        ("btrfs", "compress-force=zstd:1", "zstd_compress_byte", None),
        ("btrfs", "compress-force=zstd", "zstd_compress_byte", Some(100.0 / 77.0)),
        ("btrfs", "compress-force=zstd:15", "zstd_compress_byte", Some(45.86)),
        ("btrfs", "compress-force=zlib:1", "zlib_compress_byte", None),
        ("btrfs", "compress-force=zlib:9", "zlib_compress_byte", Some(620.0 / 78.0)),
        ("btrfs", "compress-force=lzo", "lzo_compress_byte", None),
        ("f2fs", "compress_algorithm=lz4,compress_extension=*", "lz4_compress_byte", None),
        ("f2fs", "compress_algorithm=lz4:9,compress_extension=*", "lz4_compress_byte", Some(15.64)),
        ("f2fs", "compress_algorithm=lzo,compress_extension=*", "lzo_compress_byte", None),
        ("f2fs", "compress_algorithm=lzo-rle,compress_extension=*", "lzo_compress_byte", None),
        ("f2fs", "compress_algorithm=zstd:3,compress_extension=*", "zstd_compress_byte", None),
        ("f2fs", "compress_algorithm=zstd:10,compress_extension=*", "zstd_compress_byte", Some(7.33)),
    ];
    let candidate = |(at, (filesystem, mount, ..)): (usize, &(&str, &str, &str, Option<f64>))| {
        let mkfs = if *filesystem == "f2fs" { "mkfs = \"-O extra_attr,compression\"\n" } else { "" };
        format!("[[candidate]]\nname = \"c{at}\"\nfilesystem = \"{filesystem}\"\nmount = \"{mount}\"\n{mkfs}")
    };
    let candidates: String = compressors.iter().enumerate().map(candidate).collect();
    let place = Place::new();
    place.run(&format!("{COMPRESSED}{candidates}"), &["--blocks", "1"]).exits(0);
    let mut before = 0.0;
    for (at, (_, mount, class, factor)) in compressors.iter().enumerate() {
        let counted = counts(&place, &format!("c{at}"), "write");
        let bytes = counted.get(*class).copied().unwrap_or(0) as f64;
        assert!(bytes > 2_000_000.0, "{mount}: {counted:?}");
        if let Some(factor) = factor {
            assert!((bytes / before / factor - 1.0).abs() < 0.05, "{mount}: {bytes} after {before}");
        }
        before = bytes;
    }
    place.is_left_clean();
}

#[test]
fn uml_simulated_programs_compute_for_as_long_as_their_phase_says() {
    let work = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); : > \"$MOUNT/$PHASE$i\"; done";
    let phase = |name: &str, more: &str| {
        format!("[[phase]]\nname = \"{name}\"\ncommand = '{}'\n{more}\n", work.replace("$PHASE", name))
    };
    let plan = format!(
        "title = \"x\"\nlab = \"uml\"\ndevice = {{ model = \"nvme-ssd\", size = \"2GiB\" }}\n\
         protocol = {{ blocks = 1, devices = \"one\", circumstances = \"fixed\" }}\n{}{}{}\
         [matrix]\nfilesystem = [\"ext4\"]\n",
        phase("first", ""),
        phase("computing", "computing = \"200us\""),
        phase("last", "")
    );
    let place = Place::new();
    place.run(&plan, &["--blocks", "1"]).exits(0);
    let journal = place.journal();
    let charged = |phase: &str| -> f64 {
        let seen = journal.all("observation").find(|event| event["phase"] == phase).unwrap();
        seen["computation"]["charged_ns"].as_u64().unwrap() as f64 / 1e9
    };
    let returns = counts(&place, "ext4", "computing")["user_return"] as f64;
    let computed = charged("computing") - charged("last");
    assert!(
        returns > 100.0 && (computed / (returns * 200e-6) - 1.0).abs() < 0.1,
        "{computed} s in {returns}"
    );
    // The usual price is back.
    assert!(charged("last") < 1.5 * charged("first"), "{} and {}", charged("first"), charged("last"));
}
