//! Kernel sources that have the makefile's targets and what our patches look at, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Place, Seen, tool};

pub const MAKEFILE: &str = "\
VERSION = 6
PATCHLEVEL = 13
SUBLEVEL = 1
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(O)/.config
linux:
\t@echo '  CC      one.o'
\tcc -c one.c -o $(O)/one.o
\t@test ! -e slow || test -e $(O)/waited || { touch $(O)/waited; sleep 300; }
\tcp made $(O)/linux
";

/// Our patches for the release of these sources: it is one without a patch that counts computation.
const PATCHES: [&str; 4] = [
    "0001-um-seed.patch",
    "0004-um-yield-6.11.patch",
    "0005-blk-flush-restart.patch",
    "0006-um-seed-alone.patch",
];

/// Sources as far as our own patches and a build look at them.
pub fn tree(place: &Place, makefile: &str) -> PathBuf {
    let tree = place.path().join("tree");
    let write = |name: &str, text: &str| {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (name, text) in [
        ("Makefile", makefile),
        ("arch/um/Kconfig", ""),
        ("one.c", "int one;\n"),
        ("made", "#!/bin/sh\necho 1\n"),
    ] {
        write(name, text);
    }
    let mut patched: BTreeMap<String, String> = BTreeMap::new();
    for patch in PATCHES {
        let text = fs::read_to_string(format!("kernel/patches/{patch}")).unwrap();
        for file in text.split("\n--- a/").skip(1) {
            let (name, _) = file.split_once('\n').unwrap();
            let (_, hunks) = file.split_once("\n@@").unwrap();
            let before = hunks.lines().filter_map(|line| line.strip_prefix([' ', '-']));
            // A file that several patches change has the places of each, one after the other.
            let text = patched.entry(name.to_owned()).or_default();
            for line in before.filter(|line| !line.starts_with(' ') || line.len() > 1) {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    for (name, text) in &patched {
        write(name, text);
    }
    tree
}

/// A kernel of such sources that does not boot.
pub const UNBOOTABLE: &str = "#!/bin/sh\necho 'no machine of mine'\nexit 3\n";

/// A makefile whose kernel says, in the bytes of its file, that it is of this release and has the options that it was
/// made with, and this one where it is not empty.
pub fn makefile_of(release: &str, option: &str) -> String {
    let recipe = format!(
        "{{ cat made; printf 'exit\\n\\000Linux version {release} (me@here) (cc) #1\\n\\000'; \\\n\
         \tfor option in {option} $$(grep ^CONFIG_ $(O)/.config); do printf '%s\\n\\000' \"$$option\"; done; }} > $(O)/linux; \\\n\
         \tchmod 755 $(O)/linux"
    );
    let makefile = MAKEFILE.replace("cp made $(O)/linux", &recipe);
    assert_ne!(makefile, MAKEFILE);
    makefile
}

/// `fsverdict kernel …` as it is, but that what is built is not tried: it is no kernel.
pub fn kernel(place: &Place, arguments: &[&str]) -> Seen {
    let untried = arguments.first().filter(|first| **first == "build").map(|_| "--untried");
    let arguments: Vec<&str> = arguments.iter().copied().chain(untried).collect();
    Seen::of(&command(place, &arguments).output().unwrap())
}

/// `fsverdict kernel …` where the programs of a build are, or stand-ins for those that such sources do without.
pub fn command(place: &Place, arguments: &[&str]) -> Command {
    let folder = place.path().join("bin");
    fs::create_dir_all(&folder).unwrap();
    for name in ["flex", "bison", "bc", "xz"] {
        fs::write(folder.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = place.command(&["kernel"]);
    let path = std::env::var("PATH").unwrap();
    command.args(arguments).env("PATH", format!("{path}:{}", folder.display()));
    command
}

/// The tree as a tarball, with what else is in its folder.
pub fn tarball(place: &Place, tree: &Path) -> String {
    let path = place.path().join("linux.tar");
    let above = place.path().to_str().unwrap();
    tool(&["tar", "-C", above, "-cf", path.to_str().unwrap(), tree.file_name().unwrap().to_str().unwrap()]);
    path.to_str().unwrap().to_owned()
}
