//! Before somebody agreed, nothing of a stranger's is executed: every command is walked with what it can be given of one, a
//! page, a plan, the folder of a run, a bundle, whose kernels, commands and options report that they are run.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::common::{Place, Seen, is_root, kernels, one_command, tool};

/// The user to whom a stranger's files belong.
const STRANGER: &str = "12345:12345";

/// A place with programs that tell that they are run: on a mount that cannot be written, a pipe still can.
struct Bait {
    place: Place,
    told: File,
}

impl Bait {
    fn new() -> Bait {
        let place = Place::new();
        let pipe = place.path().join("pipe");
        tool(&["mkfifo", "--mode=0666", pipe.to_str().unwrap()]);
        let flags = OFlags::RDWR | OFlags::NONBLOCK;
        let told = File::from(rustix::fs::open(&pipe, flags, rustix::fs::Mode::empty()).unwrap());
        let bait = Bait { place, told };
        let simulated = ["UML_TIME_TRAVEL_SUPPORT", "VIRTIO_UML", "VIRTIO_BLK"];
        let options: Vec<&str> = kernels::OPTIONS.into_iter().chain(simulated).collect();
        let answers: String = options.iter().map(|option| format!("CONFIG_{option}=y\\n")).collect();
        // It answers to questions, too, as those are to whom earlier versions of fsverdict put them.
        let line = format!(
            "{}\ncase $1 in --version) echo 6.12.0; exit;; --showconfig) printf '{answers}'; exit;; esac\nexit 1",
            bait.tells("a kernel")
        );
        kernels::script(&bait.place, &line, &kernels::strings("6.12.0", &options));
        bait.put_programs();
        bait.put_image();
        bait
    }

    fn at(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    /// A line of a shell that tells that `what` is run.
    fn tells(&self, what: &str) -> String {
        format!("echo {what} > {}", self.at("pipe"))
    }

    /// What was run since it was last asked.
    fn heard(&mut self) -> String {
        let mut told = String::new();
        // There is nothing more to read (EAGAIN).
        let _ = self.told.read_to_string(&mut told);
        told
    }

    /// Programs of this machine that tell with what of a plan they are called.
    fn put_programs(&self) {
        fs::create_dir(self.at("bin")).unwrap();
        for (name, option) in [("mkfs.ext4", "-O"), ("qemu-system-x86_64", "-kernel"), ("fio", "--")] {
            let path = PathBuf::from(self.at("bin")).join(name);
            let told = self.tells(&format!("options of {name}"));
            let script = format!(
                "#!/bin/sh\ncase \"$*\" in *{option}*) {told};; *) echo QEMU emulator version 7.2.0;; esac\n"
            );
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// The head of a kernel for virtual machines, with its configuration beside it.
    fn put_image(&self) {
        let mut bytes = vec![0; 0x1000];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        bytes[0x300..0x305].copy_from_slice(b"6.1.9");
        fs::write(self.at("vmlinuz"), bytes).unwrap();
        let options = [
            "BLK_DEV_INITRD",
            "DEVTMPFS",
            "PID_NS",
            "SERIAL_8250_CONSOLE",
            "VIRTIO_PCI",
            "VIRTIO_BLK",
            "VIRTIO_CONSOLE",
            "NET_9P_VIRTIO",
            "9P_FS",
            "EXT4_FS",
        ];
        let lines: String = options.iter().map(|option| format!("CONFIG_{option}=y\n")).collect();
        fs::write(self.at("config-6.1.9"), lines).unwrap();
    }

    /// A plan that names a program wherever a plan can, in this lab with this kernel.
    fn plan(&self, lab: &str, kernel: Option<&str>) -> String {
        let kernel = kernel.map_or(String::new(), |kernel| format!("kernel = {:?}\n", self.at(kernel)));
        let more = format!("{kernel}matrix.mkfs = [\"-O ^has_journal\"]\n");
        self.place.plan(lab, &(one_command(lab, &self.tells("a command")) + &more))
    }

    fn fsverdict(&self, arguments: &[&str]) -> Seen {
        let path = format!("{}:{}", self.at("bin"), std::env::var("PATH").unwrap());
        let mut command = self.place.command(arguments);
        command.env("PATH", path);
        let mut command = assert_cmd::Command::from_std(command);
        Seen::of(&command.timeout(Duration::from_secs(300)).output().unwrap())
    }
}

/// A page with the plan of this file.
fn page(bait: &Bait, plan: &str, name: &str) {
    let toml = bait.fsverdict(&["show", plan]).exits(0).stdout;
    let escaped = toml.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    fs::write(bait.at(name), format!("<!DOCTYPE html><pre id=\"plan\" tabindex=\"0\">{escaped}</pre>"))
        .unwrap();
}

/// The subcommands that the help names.
fn subcommands(bait: &Bait) -> Vec<String> {
    let help = bait.fsverdict(&["--help"]).exits(0).stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    });
    names.collect()
}

/// How a command is given something of a stranger's: a PLAN in each form, a RUN, a BUNDLE. Those that execute nothing of
/// what they are given have their line here all the same.
fn lines(name: &str) -> &'static [&'static str] {
    match name {
        "ask" => &["PLAN", "PLAN --dry-run", "mail --on ssd --plan kept.toml"],
        "run" => &[
            "PLAN --out new",
            "PLAN --dry-run",
            "PLAN --dry-run --lab auto",
            "PLAN --dry-run --device model:usb-stick@1GB",
            "PLAN --out new --settle-size",
            "PLAN --out new --sites sites.toml --on ssh",
        ],
        "block" => &["PLAN --out new --site a --block 1", "RUN --site a --block 1"],
        "doctor" => &["PLAN", ""],
        "show" => &["PLAN", "RUN"],
        "resume" => &["RUN", "RUN --more 2"],
        "crash" => &["RUN", "RUN ext4", "RUN ext4 1-none", "RUN ext4 --export out"],
        "price" => &["RUN"],
        "merge" => &["RUN", "RUN RUN", "RUN BUNDLE"],
        "bundle" => &["RUN --output other.tar.gz"],
        "report" => &["RUN", "BUNDLE", "RUN --format json", "RUN --format html --output page.out"],
        "status" => &["RUN"],
        "atlas" => &[
            "build PLAN --devices nvme-ssd --out new",
            "build BUNDLE games --devices nvme-ssd --render --out new",
            "build RUN games --devices nvme-ssd --render --out new",
        ],
        "compare" => &["RUN RUN", "BUNDLE RUN"],
        "trace" => &["RUN ext4"],
        // To build, import or calibrate is to run what is named: the command itself is the agreement.
        "kernel" => &["list", "export 6.12.0 exported", "remove 6.12.0"],
        "tools" => &["list"],
        "calibrate" => &["--against PLAN", "--against BUNDLE"],
        "capture" => &["RUN", "--trace BUNDLE"],
        "list" => &["filesystems"],
        "clean" => &["--dry-run"],
        "man" => &["run"],
        "completions" => &["bash"],
        "help" => &["run"],
        other => panic!("what does `{other}` execute before it asks? Say it here, and in SECURITY.md"),
    }
}

/// Commands that carry out a run of one's own without asking.
const CARRIES_OUT: [&str; 4] = ["resume", "block", "crash", "price"];

#[test]
fn nothing_of_a_strangers_is_executed_before_somebody_agreed() {
    let mut bait = Bait::new();
    // A kernel of the cache.
    let entry = PathBuf::from(bait.at("cache/fsverdict/kernels/6.12.0-00000000000000aa"));
    fs::create_dir_all(&entry).unwrap();
    fs::copy(bait.at("kernel"), entry.join("linux")).unwrap();
    fs::write(entry.join("config"), "CONFIG_EXT4_FS=y\n").unwrap();
    let facts = r#"{"release":"6.12.0","digest":"00000000000000aa","source":"/s","patches":[],"refused":[],"compiler":"gcc","built":"2026-01-01T00:00:00Z"}"#;
    fs::write(entry.join("facts.json"), facts).unwrap();
    // Carried out, it tells; and its folder is the run of the stranger's.
    let plan = bait.plan("uml", Some("kernel"));
    let seen = bait.fsverdict(&["run", &plan, "--out", "run", "--quiet"]);
    assert!(bait.heard().contains("a kernel"), "the bait does not work: {seen:#?}");
    bait.fsverdict(&["bundle", "run", "--output", "bundle"]).exits(0);
    bait.heard();
    fs::write(bait.at("sites.toml"), "[[site]]\nname = \"a\"\n").unwrap();
    let mut plans = Vec::new();
    for (lab, kernel) in
        [("uml", Some("kernel")), ("vm", Some("vmlinuz")), ("auto", Some("kernel")), ("native", None)]
    {
        let plan = bait.plan(lab, kernel);
        page(&bait, &plan, &format!("{lab}.html"));
        plans.push(bait.at(&format!("{lab}.html")));
        if is_root() {
            plans.push(plan);
        }
    }
    if is_root() {
        let given: Vec<String> = plans.iter().cloned().chain([bait.at("run"), bait.at("bundle")]).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        tool(&[&["chown", "--recursive", STRANGER], given.as_slice()].concat());
    }
    for name in subcommands(&bait) {
        for line in lines(&name) {
            let runs = line.contains("RUN") || line.contains("BUNDLE");
            if runs && !is_root() && CARRIES_OUT.contains(&name.as_str()) {
                // To whoever is not root, all folders here are their own.
                continue;
            }
            let each = if line.contains("PLAN") { plans.as_slice() } else { &plans[..1] };
            for plan in each {
                let words = line.split_whitespace().map(|word| match word {
                    "PLAN" => plan.as_str(),
                    "RUN" => "run",
                    "BUNDLE" => "bundle",
                    other => other,
                });
                let words: Vec<&str> = [name.as_str()].into_iter().chain(words).collect();
                let seen = bait.fsverdict(&words);
                assert_eq!(bait.heard(), "", "{words:?}: {seen:#?}");
                assert!(!Path::new(&bait.at("new/journal.jsonl")).exists(), "{words:?}: {seen:#?}");
            }
        }
    }
    bait.place.is_left_clean();
}

/// The same plan of one's own is carried out without a question, and yet looking at it starts no kernel that it names.
#[test]
fn looking_at_a_plan_of_ones_own_starts_no_kernel_that_it_names() {
    let mut bait = Bait::new();
    for (lab, kernel) in [("uml", "kernel"), ("vm", "vmlinuz")] {
        let plan = bait.plan(lab, Some(kernel));
        for words in [["run", &plan, "--dry-run"].as_slice(), &["doctor", &plan], &["show", &plan]] {
            let seen = bait.fsverdict(words);
            let told = bait.heard();
            assert!(
                !told.contains("kernel") && !told.contains("qemu") && !told.contains("command"),
                "{told}: {seen:#?}"
            );
        }
        bait.fsverdict(&["run", &plan, "--dry-run"]).shows(&["not tried: "]);
    }
}
