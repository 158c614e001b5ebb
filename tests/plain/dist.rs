//! `scripts/dist`: what a release has in it, and that making its parts twice gives the same bytes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::common::not_run;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn script(name: &str) -> Command {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "scripts/dist", name].iter().collect();
    let mut command = Command::new(path);
    command.env("SOURCE_DATE_EPOCH", "1790000000").env("DEBEMAIL", "somebody@example.org");
    command
}

#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[test]
fn a_release_lists_its_files() {
    let list = |target: &str| succeeds(script("release").args(["--list", "--target", target]));
    let common = format!("fsverdict-{VERSION}.cdx.json\nfsverdict-{VERSION}-third-party.txt\nSHA256SUMS\n");
    assert_eq!(
        list("x86_64-unknown-linux-gnu"),
        format!(
            "fsverdict-{VERSION}-x86_64.tar.gz\nfsverdict_{VERSION}-1_amd64.deb\n\
             fsverdict-kernel_{VERSION}-1_amd64.deb\n{common}"
        )
    );
    // User-Mode Linux has no port to arm64.
    assert_eq!(
        list("aarch64-unknown-linux-gnu"),
        format!("fsverdict-{VERSION}-aarch64.tar.gz\nfsverdict_{VERSION}-1_arm64.deb\n{common}")
    );
    for wrong in [&["--target", "riscv64gc-unknown-linux-gnu"][..], &["--unknown"], &["one", "two"]] {
        assert_eq!(script("release").args(wrong).status().unwrap().code(), Some(2), "{wrong:?}");
    }
}

/// A small tree whose files were changed at this second.
fn tree(folder: &Path, second: u64) -> PathBuf {
    let tree = folder.join("fsverdict-tree");
    fs::create_dir_all(tree.join("usr/share/doc/fsverdict")).unwrap();
    fs::create_dir_all(tree.join("usr/bin")).unwrap();
    for (name, text) in [("usr/bin/fsverdict", "a program"), ("usr/share/doc/fsverdict/copyright", "ours")] {
        fs::write(tree.join(name), text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        fs::File::options().write(true).open(tree.join(name)).unwrap().set_modified(time).unwrap();
    }
    // Packages look into programs.
    fs::set_permissions(tree.join("usr/bin/fsverdict"), fs::Permissions::from_mode(0o755)).unwrap();
    tree
}

#[test]
fn archives_and_packages_of_the_same_files_are_the_same() {
    let made = |second: u64| {
        let folder = tempfile::tempdir().unwrap();
        let tree = tree(folder.path(), second);
        let archive = folder.path().join("out.tar.gz");
        succeeds(script("archive").args([&tree, &archive]));
        let package = folder.path().join("out.deb");
        let control = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/dist/debian/fsverdict.control");
        if Command::new("dpkg-deb").arg("--version").output().is_ok() {
            succeeds(script("package").arg(&tree).arg(control).args(["1.2-1", "amd64"]).arg(&package));
            let fields = succeeds(Command::new("dpkg-deb").arg("--field").arg(&package));
            assert!(fields.contains("Version: 1.2-1\n") && !fields.contains("@VERSION@"), "{fields}");
            assert!(fields.contains("<somebody@example.org>"), "{fields}");
            let content = succeeds(Command::new("dpkg-deb").arg("--contents").arg(&package));
            assert!(content.lines().all(|line| line.contains(" root/root ")), "{content}");
        }
        (fs::read(archive).unwrap(), fs::read(package).ok())
    };
    let (first, second) = (made(1_700_000_000), made(1_750_000_000));
    assert!(first == second, "two builds differ");
    if first.1.is_none() {
        not_run("dpkg-deb is not installed");
    }
}

#[test]
fn every_crate_in_the_program_is_in_the_sbom_with_its_licence() {
    let folder = tempfile::tempdir().unwrap();
    let [sbom, licences] = ["sbom", "licences"].map(|name| folder.path().join(name));
    let host = env!("CARGO_MANIFEST_DIR");
    let rust = succeeds(Command::new("rustc").arg("-vV").current_dir(host));
    let target = rust.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut command = script("components");
    command.env("CARGO_NET_OFFLINE", "true").args(["--target", target, "--sbom"]);
    succeeds(command.arg(&sbom).arg("--licences").arg(&licences));
    let sbom: Value = serde_json::from_slice(&fs::read(sbom).unwrap()).unwrap();
    let licences = fs::read_to_string(licences).unwrap();
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = sbom["components"].as_array().unwrap();
    let find = |name: &str| {
        components.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} is not there"))
    };
    for name in ["fsverdict-lab", "glibc", "rust-std", "serde", "rustix"] {
        assert_eq!(find(name)["scope"], "required", "{name}");
    }
    // Runs while the program is built and is no part of it.
    assert_eq!(find("syn")["scope"], "excluded");
    assert!(!licences.contains("\nsyn "), "syn is not in the program");
    for one in components {
        let licence = one["licenses"][0]["expression"].as_str().unwrap();
        assert!(!licence.is_empty() && !licence.contains('/'), "{one}");
    }
    let hashed = components.iter().filter(|one| one["hashes"][0]["content"].is_string()).count();
    assert!(
        hashed > 50 && licences.contains("\nserde 1.") && licences.contains("Permission is hereby granted")
    );
}

/// A stand-in for the program that has one kernel, whose line in `kernel list` ends so.
fn stage_kernel(folder: &Path, marks: &str) -> Output {
    let name = "6.12.1-0123456789abcdef";
    let program = folder.join("fsverdict");
    let text = format!(
        "#!/bin/sh\nset -e\ncase \"$2\" in\nlist) echo '{name}  /kernels/linux  {marks}' ;;\nexport)\n\
         mkdir -p {0}/{name}; cd {0}; echo CONFIG_UML=y >{name}/config; echo kernel >{name}/linux\n\
         echo '{{\"facts\": {{\"release\": \"6.12.1\", \"source\": \"/nowhere\", \"compiler\": \"gcc\", \
         \"patches\": [\"0001-um-seed.patch\"]}}}}' >{name}/kernel.json\n\
         tar -czf \"$4\" {name} ;;\nesac\n",
        folder.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    script("stage-kernel").arg(&program).arg(folder.join("staged")).output().unwrap()
}

#[test]
fn a_kernel_goes_with_its_patches_and_one_with_zfs_does_not_go() {
    let folder = tempfile::tempdir().unwrap();
    for marks in ["cannot price computation, tried", "with ZFS 2.1.11, tried"] {
        let output = stage_kernel(folder.path(), marks);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{marks}");
    }
    let output = stage_kernel(folder.path(), "tried");
    assert!(output.status.success(), "{output:?}");
    let staged = folder.path().join("staged/usr");
    let doc = staged.join("share/doc/fsverdict-kernel");
    assert!(fs::read_to_string(doc.join("SOURCE")).unwrap().contains("Tarball:  /nowhere\n"));
    assert!(doc.join("patches/0001-um-seed.patch").is_file() && doc.join("config").is_file());
    assert!(staged.join("lib/fsverdict/kernels/6.12.1-0123456789abcdef/facts.json").is_file());
}

/// The shell's line with this umask, in the folder of the sources.
fn with_umask(umask: &str, line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; {line}")]).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let listed = succeeds(Command::new("find").arg(folder).args(["-type", "f", "-o", "-type", "l"]));
    listed.lines().map(PathBuf::from).collect()
}

#[test]
fn what_is_installed_is_written_through_no_link_and_only_its_owner_can_change_it() {
    for umask in ["000", "077"] {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("program");
        let text = "#!/bin/sh\ncase $1 in man) for page in fsverdict.1 fsverdict-run.1 fsverdict-plan.5; do\n\
                    echo page >\"$2/$page\"; done ;; *) echo completion ;; esac\n";
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        // A name that a shell would run, if it were a part of a line.
        let folder = place.path().join("a \"$(touch pwned)' b");
        let victim = place.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        for name in [
            "bin/fsverdict",
            "share/man/man1/fsverdict.1",
            "share/zsh/site-functions/_fsverdict",
            "share/bash-completion/completions/fsverdict",
        ] {
            let link = folder.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&victim, link).unwrap();
        }
        let mut install = with_umask(umask, "exec scripts/install \"$PROGRAM\" \"$FOLDER\"");
        succeeds(install.env("PROGRAM", &program).env("FOLDER", &folder));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        let files = files_below(&folder);
        assert_eq!(files.len(), 7, "{files:#?}");
        for file in files {
            let facts = fs::symlink_metadata(&file).unwrap();
            let mode = facts.permissions().mode() & 0o7777;
            assert!(facts.is_file() && [0o644, 0o755].contains(&mode), "{}: {mode:o}", file.display());
        }
        let mut remove = with_umask(umask, "exec make -s uninstall");
        succeeds(remove.env("PREFIX", &folder).env_remove("DESTDIR").env_remove("MAKEFLAGS"));
        assert!(files_below(&folder).is_empty(), "{:?}", files_below(&folder));
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(!root.join("pwned").exists() && fs::read_to_string(&victim).unwrap() == "mine");
    }
}

#[test]
fn a_package_runs_nothing_when_it_is_installed_and_has_no_file_that_others_can_change() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return not_run("dpkg-deb is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path(), 1_700_000_000);
    for name in
        ["usr/share", "usr/share/doc/fsverdict", "usr/share/doc/fsverdict/copyright", "usr/bin/fsverdict"]
    {
        fs::set_permissions(tree.join(name), fs::Permissions::from_mode(0o6777)).unwrap();
    }
    for control in ["fsverdict", "fsverdict-kernel"] {
        let package = folder.path().join(format!("{control}.deb"));
        fs::create_dir_all(tree.join("usr/share/doc").join(control)).unwrap();
        let control =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scripts/dist/debian/{control}.control"));
        succeeds(script("package").arg(&tree).arg(control).args(["1.2-1", "amd64"]).arg(&package));
        let line = "dpkg-deb --ctrl-tarfile \"$PACKAGE\" | tar --list";
        let scripts = succeeds(with_umask("022", line).env("PACKAGE", &package));
        let mut names: Vec<&str> = scripts.lines().map(|name| name.trim_start_matches("./")).collect();
        names.sort_unstable();
        assert_eq!(names, ["", "control", "md5sums"]);
        let content = succeeds(Command::new("dpkg-deb").arg("--contents").arg(&package));
        let open = |line: &&str| line[5..6] == *"w" || line[8..9] == *"w" || line[..10].contains(['s', 'S']);
        assert_eq!(content.lines().find(open), None, "{content}");
    }
}
