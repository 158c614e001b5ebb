//! Plans, and changes to them, that are wrong: where, what, and what instead.

use fsverdict_judgement::plan::{DeviceSource, LabChoice, Overrides, Twice};
use fsverdict_text::Bytes;

use super::{BASE, changed, read, read_with, set, snapshot};

/// What is made wrong in the base plan: a piece of it, and what stands there instead.
const WRONG: &[(&str, &str)] = &[
    // Not TOML.
    ("seed    = 7", "seed    = "),
    ("lab   = \"uml\"", "lab   = \"uml\"\nlab   = \"native\""),
    // Unknown keys and words.
    ("lab   = \"uml\"", "lap   = \"uml\""),
    ("lab   = \"uml\"", "lab   = \"umll\""),
    ("[goal]", "[gaol]"),
    ("tie     = 0.05", "tye     = 0.05"),
    ("max = 30", "maximum = 30"),
    ("directories  = 400", "folders      = 400"),
    ("filesystem = \"btrfs\"", "filesytem = \"btrfs\""),
    ("filesystem = \"btrfs\"", "filesystem = \"brtfs\""),
    ("\"ext4\", \"xfs\"]", "\"ext5\", \"xfs\"]"),
    ("\"luks2\"]", "\"luks\"]"),
    ("operation = \"directory.fill\"", "operation = \"directory.file\""),
    ("adapter = \"bonnie++\"", "adapter = \"bonnie\""),
    ("profile      = \"mixed\"", "profile      = \"Mixed\""),
    ("metric  = \"durable\"", "metric  = \"duration\""),
    ("dataset   = \"tree\"", "dataset   = \"three\""),
    ("verify  = { dataset = \"iso\"", "verify  = { dataset = \"issue\""),
    ("verify  = { dataset = \"iso\", at", "verify  = { dataset = \"iso\", in"),
    ("weights = { write = 5", "weights = { wrote = 5"),
    ("[matrix]", "[matrix]\nname = \"x\""),
    ("command = 'cp", "comand  = 'cp"),
    ("dataset   = \"crowd\"", "datset    = \"crowd\""),
    ("operation = \"directory.fill\"", "recheck = 'true'\noperation = \"directory.fill\""),
    ("command = 'cp", "command = 'test -e \"$iso\" && cp"),
    // Wrong units and types.
    ("image  = \"1GiB\"", "image  = \"1Gib\""),
    ("image  = \"1GiB\"", "image  = 1024"),
    ("image  = \"1GiB\"", "image  = \"0\""),
    ("timeout = \"10m\"", "timeout = 600"),
    ("timeout = \"10m\"", "timeout = \"10 mintues\""),
    ("seed    = 7", "seed    = -7"),
    ("seed    = 7", "seed    = \"7\""),
    ("cold    = true", "cold    = \"yes\""),
    ("files        = 5_000", "files        = 0"),
    ("title = \"A plan that is right\"", "title = 2009-09-15"),
    ("title = \"A plan that is right\"\n", ""),
    ("filesystem = [\"ext4\", \"xfs\"]", "filesystem = \"ext4\""),
    ("filesystem = [\"ext4\", \"xfs\"]", "filesystem = []"),
    ("filesystem = [\"ext4\", \"xfs\"]\n", ""),
    ("mkfs       = \"-m single\"", "mkfs       = \"-L 'my disk\""),
    ("noatime, compress=zstd", "-o noatime,compress=zstd"),
    ("[matrix]", "[[matrix]]"),
    ("[device]", "[[device]]"),
    ("[dataset.crowd]", "[dataset.crowd]\nsize = \"1MB\""),
    // Impossible combinations.
    ("lab   = \"uml\"", "lab   = \"native\""),
    ("folder = \"/var/tmp\"", "path   = \"/dev/sdz\""),
    ("path = \"/usr/share/doc\"", "path = \"share/doc\""),
    ("image  = \"1GiB\"", "image  = \"100MiB\""),
    ("min = 3", "min = 31"),
    ("min = 3", "min = 0"),
    ("{ min = 3, max = 30 }", "0"),
    ("{ min = 3, max = 30 }", "\"many\""),
    ("tie     = 0.05", "tie     = 5"),
    ("write = 5, \"read\" = 2", "write = -5, \"read\" = 2"),
    ("write = 5, \"read\" = 2", "write = 0, \"read\" = 0"),
    ("compressible = 0.5", "compressible = 50"),
    ("hard_links   = 0.05", "hard_links   = 0.95"),
    ("[dataset.docs]", "[dataset.my-docs]"),
    ("[dataset.docs]", "[dataset.path]"),
    ("path = \"/usr/share/doc\"\nsize = \"20MB\"", ""),
    ("name       = \"btrfs-zstd\"", "name       = \"btrfs zstd\""),
    ("name       = \"btrfs-zstd\"", "name       = \"ext4\""),
    ("mkfs       = [\"-O\", \"^dir_index\"]", "name       = \"btrfs-zstd\""),
    ("[\"ext4\", \"xfs\"]", "[\"ext4\", \"ext4\"]"),
    ("name      = \"again\"", "name      = \"write\""),
    ("name      = \"again\"", "name      = \"mkfs\""),
    ("name      = \"again\"\n", ""),
    (
        "operation = \"directory.fill\"\ndataset   = \"crowd\"",
        "operation = \"directory.fill\"\ndataset   = \"iso\"",
    ),
    ("operation = \"directory.fill\"\ndataset   = \"crowd\"", "operation = \"directory.fill\""),
    ("operation = \"fsck\"", "operation = \"fsck\"\ndataset   = \"tree\""),
    ("operation = \"fsck\"", "operation = \"fsck\"\ncommand   = \"true\""),
    ("operation = \"fsck\"", ""),
    ("operation = \"fsck\"", "operation = \"fsck\"\noptions   = \"-f\""),
    ("into      = \"copies/docs\"", "into      = \"../docs\""),
    ("into      = \"copies/docs\"", "verify    = { dataset = \"docs\", at = \"docs\" }"),
    ("at = \"iso\"", "at = \"/iso\""),
    ("cold    = true", "into    = \"tree\""),
];

#[test]
fn wrong_plans_show_where_what_and_what_instead() {
    let mut shown = String::new();
    for (right, wrong) in WRONG {
        assert_eq!(BASE.matches(right).count(), usize::from(BASE.contains(right)), "ambiguous: {right}");
        let text = BASE.replacen(right, wrong, 1);
        assert_ne!(text, BASE, "not in the plan: {right}");
        let error = match read(&text, "plan.toml") {
            Ok(_) => panic!("accepted: {wrong}"),
            Err(error) => error,
        };
        shown.push_str(&format!("{error}\n\n"));
    }
    for (text, what) in [
        ("title = \"x\"\n[[phase]]\nname = \"a\"\ncommand = \"true\"", "candidate"),
        ("title = \"x\"\n[[candidate]]\nfilesystem = \"ext4\"", "phase"),
        ("title = \"x\"\n[candidate]\nfilesystem = \"ext4\"", "candidate as table"),
        ("title = \"x\"\n[[candidates]]\nfilesystem = \"ext4\"", "candidate"),
        ("title = \"x\"\nphase = []\n[[candidate]]\nfilesystem = \"ext4\"", "empty list"),
        ("", "everything"),
    ] {
        match read(text, "plan.toml") {
            Ok(_) => panic!("accepted without {what}"),
            Err(error) => shown.push_str(&format!("{error}\n\n")),
        }
    }
    snapshot("wrong", &shown);
}

/// As a compiler does: all that is wrong, each in its place, and nothing that only follows from it.
#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let mut text = BASE.to_owned();
    for (right, wrong) in [
        ("lab   = \"uml\"", "lab   = \"umll\""),
        ("tie     = 0.05", "tye     = 0.05"),
        ("image  = \"1GiB\"", "image  = \"1Gib\""),
        ("filesystem = \"btrfs\"", "filesystem = \"brtfs\""),
        ("operation = \"directory.fill\"", "operation = \"directory.file\""),
        ("weights = { write = 5", "weights = { write = -5, crowd = 1"),
        ("adapter = \"bonnie++\"", "adapter = \"bonnie\"\ncold = 1"),
    ] {
        assert!(text.contains(right), "{right}");
        text = text.replacen(right, wrong, 1);
    }
    let overrides = set(&["protocol.blocks=many", "phase.reed.cold=true"]);
    let error = read_with(&text, "plan.toml", &overrides).unwrap_err();
    assert_eq!(error.0.len(), 10, "{error}");
    snapshot("several", &error.to_string());
    let broken = text.replacen("[device]", "[device", 1).replacen("seed    = 7", "seed    = ", 1);
    assert!(read(&broken, "plan.toml").unwrap_err().0.len() > 1, "syntax errors, too");
}

#[test]
fn wrong_changes_are_shown_like_wrong_plans() {
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
    let mut shown = String::new();
    for overrides in [
        set(&["protocol.blocks"]),
        set(&["protocol.block=5"]),
        set(&["protocol.blocks=many"]),
        set(&["protocol.blocks={ min = 3"]),
        set(&["=5"]),
        set(&["\"=ü"]), // once cut the letter in two
        set(&["phase.reed.cold=true"]),
        set(&["candidate.9.mount=noatime"]),
        set(&["device.image=1 Gib"]),
        set(&["device.path=/dev/sdz"]),
        Overrides { filesystems: words(&["ext4", "xsf"]), ..Overrides::default() },
        Overrides { filesystems: words(&["zfs"]), ..Overrides::default() },
        Overrides { lab: Some(LabChoice::Native), ..Overrides::default() },
        Overrides { scale: Some(10.0), ..Overrides::default() },
        set(&["protocol.aa=3"]),
        set(&["protocol.aa=ext5"]),
        set(&["protocol.budget=1h"]), // its name before the first release
        set(&["protocol.for=20"]),
        set(&["protocol.for=0s"]),
        set(&["candidate.2.name=a~twin"]),
        set(&["protocol.disturbed=0.5"]),
        set(&["protocol.disturbed.foreign=0.5"]),
        set(&["protocol.disturbed.steal=10"]),
        set(&["protocol.disturbed.drift=1"]),
        Overrides { twice: Some(Twice::Named("btrfs".to_owned())), ..Overrides::default() },
        Overrides { device: vec![DeviceSource::Image(Bytes(64 << 20))], ..Overrides::default() },
    ] {
        match changed(&overrides) {
            Ok(_) => panic!("accepted: {overrides:?}"),
            Err(error) => shown.push_str(&format!("{error}\n\n")),
        }
    }
    let whole = set(&["dataset.all.path=/usr"]);
    let error = changed(&Overrides { scale: Some(0.1), ..whole }).unwrap_err();
    snapshot("wrong-changes", &format!("{shown}{error}\n"));
}

/// Wrong in what is said of a study, of raw devices and of generations: the lines, and a part of what is shown.
#[test]
fn findings_raw_devices_and_generations_are_checked() {
    let smallest = include_str!("../plans/smallest.toml");
    let age = |operation: &str| {
        format!(
            "[dataset.tree]\nprofile = \"mixed\"\nfiles = 9\ndirectories = 2\nsize = \"1MiB\"\n[[phase]]\nname = \"x\"\noperation = \"{operation}\"\ndataset = \"tree\""
        )
    };
    let metric = "[[phase]]\nname = \"x\"\ncommand = \"true\"\nmetric.tps =";
    let mkfs = "[[published]]\nfinding = \"f\"\nsource = \"s\"\nphase = \"mkfs\"";
    for (lines, shown) in [
        (
            "[[published]]\nfinding = \"f\"\nsource = \"s\"\nphase = \"copyy\"\nclaim = { spread = 2 }",
            "there is no phase `copyy`",
        ),
        ("MKFS", "lacks `claim`"),
        ("MKFS\nfigures = { ext4 = 1 }\nclaim = { spread = 2 }", "`figures` need a `unit`"),
        ("MKFS\nclaim = { alike = [\"a\", \"b\"], within = 0.1, by = 2 }", "`by` does not go with `alike`"),
        ("MKFS\nclaim = { better = [\"a\"], than = [\"b\"], by = 0.05 }", "a factor of 0.1 or more"),
        ("MKFS\nclaim = { reach = [\"a\"], share = 0.9 }", "a share of what?"),
        ("MKFS\nclaim = { reach = [\"a\"], share = 0.9, of_metric = \"sped\" }", "there is no metric `sped`"),
        ("[protocol]\nlegacy = \"bestof\"", "there is no legacy estimator `bestof`"),
        ("[dataset.iso_bytes]\nfile = \"1MiB\"", "may not be called `iso_bytes`"),
        (
            "[dataset.iso]\nfile = \"1MiB\"\n[[phase]]\nname = \"raw\"\noperation = \"device.read\"\ndataset = \"iso\"",
            "needs the bare device",
        ),
        ("[[phase]]\nname = \"x\"\ncommand = \"true\"\nchanged = 0.1", "`changed` does not go with"),
        ("[[phase]]\nname = \"x\"\ncommand = \"true\"\nto = 0.1", "`to` does not go with"),
        (
            "[dataset.crowd]\nflat = 5\nfile_size = \"1KiB\"\n[[phase]]\nname = \"x\"\noperation = \"space.fill\"\ndataset = \"crowd\"",
            "`space.fill` needs to know how full",
        ),
        ("[[phase]]\nname = \"x\"\ncommand = \"true\"\npulls = 3", "`pulls` does not go with"),
        ("[[phase]]\nname = \"x\"\ncommand = \"true\"\nremake = true", "`remake` does not go with"),
        ("PULL\nrounds = 2", "`rounds` does not go with"),
        ("PULL", "`age.pull` needs to know how much changes"),
        ("PULL", "`age.pull` needs to know how long a history"),
        ("PULL\npulls = 100001\nchanged = 0.1", "it may be 100000 at most"),
        ("READ\nremake = \"copy\"", "no phase `copy` before this one works in its folder"),
        ("READ\nremake = true\nstate = \"degraded\"", "a phase with `remake` has no `state`"),
        ("READ\nremake = 3", "`remake`: a string is wanted here"),
        (
            "[dataset.linked]\nprofile = \"mixed\"\nfiles = 9\ndirectories = 2\nsize = \"1MiB\"\nhard_links = 0.2\n[[phase]]\nname = \"x\"\noperation = \"age.pull\"\ndataset = \"linked\"\npulls = 2\nchanged = 0.1",
            "some of whose files are links",
        ),
        (
            "[dataset.crowd]\nflat = 5\nfile_size = \"1KiB\"\n[[phase]]\nname = \"x\"\noperation = \"copy.reflink\"\ndataset = \"crowd\"\ninto = \"crowd/again\"",
            "`copy.reflink` cannot copy `crowd` into itself",
        ),
        (
            "[dataset.one]\nfile = \"1MiB\"\n[[phase]]\nname = \"x\"\noperation = \"copy.reflink\"\ndataset = \"one\"",
            "`copy.reflink` cannot work on `one`, which is one big file",
        ),
        ("METRIC { match = '(', unit = '1/s', better = 'more' }", "is no pattern (a regular expression)"),
        (
            "METRIC { match = 'tps = [0-9]+', unit = '1/s', better = 'more' }",
            "has 0 groups, and one is wanted",
        ),
        ("METRIC { json = 'jobs/0', unit = '1/s', better = 'more' }", "`jobs/0` is no JSON pointer"),
        ("METRIC { match = '(.+)', json = '/a', unit = '1/s', better = 'more' }", "both `match` and `json`"),
        ("METRIC { unit = '1/s', better = 'more' }", "it does not say where the number stands"),
        ("METRIC { match = '(.+)', unit = 'parsec', better = 'more' }", "parsec"),
        ("[goal]\nrequire = { 'all.p99' = '<= 10ms' }", "neither PHASE.METRIC of this plan nor a property"),
        ("[goal]\nrequire = { crash_safe = false }", "is required or not said at all"),
        ("[[phase]]\nname = \"x\"\noperation = \"fsck\"\nnetwork = true", "`network` does not go with"),
        ("[[candidate]]\nfilesystem = \"btrfs\"\nmkfs = \"/dev/loop7\"", "`/dev/loop7` names another device"),
        (
            "[[candidate]]\nfilesystem = \"ext4\"\nmkfs = [\"-J\", \"device=/dev/loop7\"]",
            "names another device",
        ),
        ("[[candidate]]\nfilesystem = \"xfs\"\nmount = \"logdev=/dev/loop7\"", "names another device"),
        ("[[candidate]]\nfilesystem = \"directory\"", "this directory has no path"),
        ("[[candidate]]\nfilesystem = \"directory\"\npath = \"mnt\"", "\"mnt\" is not absolute"),
        (
            "[[candidate]]\nfilesystem = \"xfs\"\npath = \"/mnt\"",
            "`path` does not go with filesystem = \"xfs\"",
        ),
        (
            "[[candidate]]\nfilesystem = \"directory\"\npath = \"/mnt\"\nmkfs = \"-q\"",
            "`mkfs` does not go with",
        ),
        ("[[candidate]]\nfilesystem = \"directory\"\npath = \"/mnt\"", "compare folders with folders"),
        ("[[candidate]]\nfilesystem = \"ceph\"", "compare it by a folder on it"),
        ("[goal]\nmetric = \"speed\"", "most take `durable`; `fsverdict list` names all"),
        (
            "[[phase]]\nname = \"x\"\ncommand = \"true\"\npace = \"recorded\"",
            "hint: write it into the command line",
        ),
        (
            "[[phase]]\nname = \"x\"\nadapter = \"fio\"\ndepth = 4",
            "hint: write it into `options`, as fio takes it",
        ),
        (
            "[[phase]]\nname = \"x\"\noperation = \"fsck\"\ndepth = 4",
            "`depth` goes only with random.read, random.write",
        ),
        ("[[phase]]\nname = \"x\"\noperation = \"fsck\"\ndepth = 4", "hint: remove `depth`"),
        ("SIZES = [9, 3]", "the sizes are not in ascending order"),
        ("SIZES = [3, 9_000_000_000_000_000]", "a size is larger than 1 PiB"),
    ] {
        let lines = lines
            .replace("METRIC", metric)
            .replace(
                "SIZES",
                "[dataset.tree]\nprofile = \"mixed\"\nfiles = 9\ndirectories = 2\nsize = \"1MiB\"\nsizes",
            )
            .replace("MKFS", mkfs)
            .replace("PULL", &age("age.pull"))
            .replace("READ", &age("tree.read"));
        let text = format!("{smallest}\n{lines}\n");
        let error = read(&text, "p.toml").unwrap_err().to_string();
        assert!(error.contains(shown), "{error}");
    }
}
