//! A real Slurm and a real sshd, which a test starts for itself on the loopback. Both want root.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{PROGRAM, Place, is_root, not_run};

/// Daemons that end with the test.
pub struct Daemons(Vec<Child>);

impl Daemons {
    pub fn start(&mut self, argv: &[&str], variables: &[(&str, &Path)]) {
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).envs(variables.iter().copied());
        self.0
            .push(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    pub fn kill(&mut self, at: usize) {
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

pub fn until(what: &str, is: impl Fn() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A Slurm with the nodes `lab1` and `lab2`, and the environment in which its commands find it.
pub struct LocalSlurm {
    pub daemons: Daemons,
    pub configuration: PathBuf,
    slurmd: String,
}

impl LocalSlurm {
    /// Starts it in the folder of a test; `None`, with the reason reported, where it cannot be.
    pub fn start(place: &Place) -> Option<Self> {
        let programs = found(&["munged", "slurmctld", "slurmd", "squeue", "hostname"], "Slurm")?;
        if !is_root() {
            not_run("slurmd runs as root");
            return None;
        }
        let at = |name: &str| place.path().join(name);
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let host = output_of(&mut Command::new(&programs[4])).trim().to_owned();
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
            output_of(command.args(["-h", "-t", "idle", "-o", "%D"]).envs(variables)).trim() == "2"
        };
        until("two nodes", idle);
        let slurmd = text(&programs[2]);
        Some(LocalSlurm { daemons, configuration: at("slurm.conf"), slurmd })
    }

    pub fn variables(&self) -> [(&str, &Path); 1] {
        [("SLURM_CONF", self.configuration.as_path())]
    }

    /// Kills the daemon of `lab2`.
    pub fn kill_lab2(&mut self) {
        self.daemons.kill(3);
    }

    pub fn start_lab2(&mut self) {
        let configuration = self.configuration.clone();
        self.daemons.start(&[&self.slurmd, "-D", "-N", "lab2"], &[("SLURM_CONF", &configuration)]);
    }

    /// Whether no job is queued.
    pub fn is_idle(&self) -> bool {
        output_of(Command::new("squeue").arg("-h").envs(self.variables())).trim().is_empty()
    }
}

fn output_of(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

/// An sshd that answers to every host's name.
pub struct LocalSshd {
    _daemons: Daemons,
    /// The search path with which programs find an ssh that reaches it.
    pub path: String,
}

impl LocalSshd {
    /// Starts it in the folder of a test; `None`, with the reason reported, where it cannot be.
    pub fn start(place: &Place) -> Option<Self> {
        let programs = found(&["sshd", "ssh", "ssh-keygen", "rsync"], "ssh or rsync")?;
        if !is_root() {
            not_run("sshd runs as root");
            return None;
        }
        let at = |name: &str| place.path().join(name);
        for key in ["host", "user"] {
            let mut command = Command::new(&programs[2]);
            assert!(
                command
                    .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                    .arg(at(key))
                    .status()
                    .unwrap()
                    .success()
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
        Some(LocalSshd { _daemons: daemons, path })
    }
}

/// Writes an inventory of two sites whose program is the tested one; `more` are further lines of each.
pub fn write_inventory(place: &Place, names: [&str; 2], more: impl Fn(&str) -> String) {
    let site = |name: &str| format!("[[site]]\nname = \"{name}\"\nprogram = \"{PROGRAM}\"\n{}\n", more(name));
    fs::write(place.path().join("sites.toml"), names.map(site).concat()).unwrap();
}
