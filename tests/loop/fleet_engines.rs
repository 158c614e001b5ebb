//! Runs at several sites, carried by a real Slurm and a real sshd that the test starts for itself on the loopback. Both daemons
//! want root, so the tests are of the tier that has it.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{PROGRAM, Place, Seen, is_root, kill, not_run, one_command, two_disks};

/// Daemons that end with the test.
struct Daemons(Vec<Child>);

impl Daemons {
    fn start(&mut self, argv: &[&str], variables: &[(&str, &Path)]) {
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).envs(variables.iter().copied());
        self.0
            .push(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    fn kill(&mut self, at: usize) {
        self.0[at].kill().unwrap();
        self.0[at].wait().unwrap();
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Where these programs are; `None`, with the reason reported, where one is missing.
fn found(programs: &[&str], package: &str) -> Option<Vec<PathBuf>> {
    let find = |name: &&str| {
        let folders = ["/usr/sbin", "/usr/bin"].map(|folder| Path::new(folder).join(name));
        folders.into_iter().find(|path| path.exists())
    };
    let paths: Option<Vec<PathBuf>> = programs.iter().map(find).collect();
    if paths.is_none() {
        not_run(&format!("{package} is not installed"));
    }
    paths
}

fn until(what: &str, is: impl Fn() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn inventory(place: &Place, names: [&str; 2], more: impl Fn(&str) -> String) {
    let site = |name: &str| format!("[[site]]\nname = \"{name}\"\nprogram = \"{PROGRAM}\"\n{}\n", more(name));
    fs::write(place.path().join("sites.toml"), names.map(site).concat()).unwrap();
    fs::write(place.path().join("plan.toml"), two_disks(4, 8)).unwrap();
}

fn seen(mut command: Command) -> Seen {
    Seen::of(&command.output().unwrap())
}

#[test]
fn loop_slurm_carries_a_run_whose_node_and_head_are_killed() {
    let Some(programs) = found(&["munged", "slurmctld", "slurmd", "squeue", "hostname"], "Slurm") else {
        return;
    };
    if !is_root() {
        return not_run("slurmd runs as root");
    }
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let host = seen(Command::new(&programs[4])).stdout.trim().to_owned();
    let folder = text(place.path());
    fs::write(at("munge.key"), [7; 128]).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode;
    fs::set_permissions(at("munge.key"), private(0o600)).unwrap();
    let nodes = ["lab1", "lab2"].map(|node| {
        format!(
            "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=2000\n",
            port()
        )
    });
    fs::write(
        at("slurm.conf"),
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nAuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge.socket\nSlurmUser=root\nSlurmdUser=root\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n\nSlurmctldPidFile={folder}/ctld.pid\n\
             SlurmdPidFile={folder}/slurmd-%n.pid\nSlurmctldLogFile={folder}/ctld.log\nSlurmdLogFile={folder}/slurmd-%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nReturnToService=2\nSlurmdTimeout=10\nMpiDefault=none\n\
             SlurmdParameters=config_overrides\n{}PartitionName=all Nodes=lab1,lab2 Default=YES State=UP\n",
            port(),
            nodes.concat()
        ),
    )
    .unwrap();
    fs::create_dir(at("state")).unwrap();
    let conf = at("slurm.conf");
    let variables = [("SLURM_CONF", conf.as_path())];
    let mut daemons = Daemons(Vec::new());
    let own = |name: &str, file: &str| format!("--{name}={folder}/{file}");
    daemons.start(
        &[
            &text(&programs[0]),
            "--foreground",
            "--force",
            &own("socket", "munge.socket"),
            &own("key-file", "munge.key"),
            &own("pid-file", "munge.pid"),
            &own("log-file", "munge.log"),
            &own("seed-file", "munge.seed"),
        ],
        &[],
    );
    until("munged", || at("munge.socket").exists());
    daemons.start(&[&text(&programs[1]), "-D", "-c"], &variables);
    daemons.start(&[&text(&programs[2]), "-D", "-N", "lab1"], &variables);
    daemons.start(&[&text(&programs[2]), "-D", "-N", "lab2"], &variables);
    let idle = || {
        let mut command = Command::new("sinfo");
        seen_with(&mut command, &["-h", "-t", "idle", "-o", "%D"], &variables).trim() == "2"
    };
    until("two nodes", idle);

    inventory(&place, ["lab1", "lab2"], |_| String::new());
    let run = ["run", "plan.toml", "--on", "slurm", "--sites", "sites.toml", "--out", "run"];
    let fleet = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.envs(variables);
        command
    };
    let mut head = fleet(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let partial = at("run/sites/lab2/block-0001.partial");
    until("a block under way", || partial.exists() || at("run/sites/lab2/block-0001.jsonl").exists());
    // The head goes, and what does the block; Slurm does it again, and so does whoever comes back.
    head.kill().unwrap();
    head.wait().unwrap();
    daemons.kill(3);
    for (pid, line) in place.processes() {
        if line.contains(&"lab2".to_owned()) {
            kill(pid);
        }
    }
    daemons.start(&[&text(&programs[2]), "-D", "-N", "lab2"], &variables);
    let again = seen(fleet(&["resume", "run"]));
    assert!(again.code == Some(0) && again.stdout.contains("Take "), "{again:#?}");
    let log = fs::read_to_string(at("run/slurm-lab1.log")).unwrap();
    assert!(log.contains("block 1 of site lab1 is done"), "{log}");
    // A job that is cancelled takes a moment to end.
    let queue = || seen_with(&mut Command::new(&programs[3]), &["-h"], &variables);
    until("what is settled is cancelled", || queue().trim().is_empty());
}

fn seen_with(command: &mut Command, arguments: &[&str], variables: &[(&str, &Path)]) -> String {
    let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn loop_sites_are_reached_over_ssh_and_one_that_does_not_answer_is_said() {
    let Some(programs) = found(&["sshd", "ssh", "ssh-keygen", "rsync"], "ssh or rsync") else { return };
    if !is_root() {
        return not_run("sshd runs as root");
    }
    let place = Place::new();
    let at = |name: &str| place.path().join(name);
    for key in ["host", "user"] {
        let mut command = Command::new(&programs[2]);
        assert!(
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at(key)).status().unwrap().success()
        );
    }
    let (folder, port) = (place.path().display().to_string(), port());
    fs::write(
        at("sshd"),
        format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\n"
        ),
    )
    .unwrap();
    // As a user's own ssh has it: a name for each host.
    fs::create_dir_all("/run/sshd").unwrap();
    let wrapper = at("bin/ssh");
    fs::create_dir(at("bin")).unwrap();
    let ssh = programs[1].display();
    fs::write(
        &wrapper,
        format!(
            "#!/bin/sh\nexec {ssh} -F none -o Port={port} -o IdentityFile={folder}/user -o HostName=127.0.0.1 \
             -o StrictHostKeyChecking=no -o UserKnownHostsFile={folder}/known -o LogLevel=ERROR \"$@\"\n"
        ),
    )
    .unwrap();
    fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut daemons = Daemons(Vec::new());
    daemons.start(&[programs[0].to_str().unwrap(), "-D", "-f", &format!("{folder}/sshd")], &[]);
    until("sshd", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());

    let path = format!("{folder}/bin:{}", std::env::var("PATH").unwrap());
    inventory(&place, ["m1", "m2"], |name| format!("folder = \"{folder}/{name}/run\""));
    let run = |inventory: &str, out: &str| {
        let mut command =
            place.command(&["run", "plan.toml", "--on", "ssh", "--sites", inventory, "--out", out]);
        command.env("PATH", &path);
        seen(command)
    };
    let done = run("sites.toml", "run");
    assert!(done.code == Some(0) && done.stdout.contains("merged from 2 sites: m1, m2"), "{done:#?}");
    assert!(at("m2/run/sites/m1/block-0001.jsonl").exists(), "each knows what the others found");
    let text = fs::read_to_string(at("sites.toml")).unwrap();
    // In folders of its own: blocks of another run are not taken for this one's.
    let text = text.replace("/run\"", "/other\"");
    fs::write(at("bad.toml"), text.replacen(PROGRAM, "/no/such/fsverdict", 1)).unwrap();
    let bad = run("bad.toml", "other");
    assert_eq!(bad.code, Some(1), "{bad:#?}");
    for words in ["site m1: ", "status 127", "the next round lacks block 1 of site m1", "hint: "] {
        assert!(bad.stderr.contains(words), "{words}: {bad:#?}");
    }
}

#[test]
fn loop_a_block_ends_with_the_connection_of_who_asked_for_it() {
    let place = Place::new();
    let path = place.plan("plan", &one_command("native", "sleep 600"));
    let words = ["block", &path, "--out", "run", "--site", "a", "--block", "1", "--quiet", "--attended"];
    let mut command = place.command(&words);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let partial = place.path().join("run/sites/a/block-0001.partial");
    let patience = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&partial).is_ok_and(|text| text.contains("\"step\":\"do\"")) {
        assert!(
            Instant::now() < patience && child.try_wait().unwrap().is_none(),
            "never came to its command"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(child.stdin.take());
    let patience = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > patience {
            kill(child.id());
            panic!("it goes on");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    place.is_left_clean();
    assert_eq!(place.fsverdict(&["merge", "run"]).code, Some(1));
}
