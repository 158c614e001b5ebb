//! Runs make(1) on a tree, and says how far it is.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::OFlags;

use fsverdict_folders::open_own;
use fsverdict_linux::host::foreign::neutralise;
use fsverdict_linux::sandbox::Sandbox;
use fsverdict_linux::sandbox::program::{ProgramError, find_program};

use super::error::{KernelBuildError, file_error};
use super::scratch::{Scratch, says_full};

/// Largest output of a dry run of make(1) that is read, in bytes.
const LARGEST_PLAN: u64 = 64 << 20;

/// Passed to the compiler after the kernel's own flags. `-O2` takes nearly twice as long to compile, and a guest's
/// computation takes no simulated time.
pub(super) const COMPILER_FLAGS: &str = "KCFLAGS=-O1 -pipe";

/// How a kernel's makefiles announce that they compile a file.
const COMPILES: &[u8] = b"echo '  CC ";

/// How many of a failed step's last lines are shown.
const LAST_LINES: usize = 12;

/// How far a build is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub step: &'static str,
    /// Files compiled so far by this process.
    pub compiled: u64,
    /// Those it has to compile in all; 0 where that is not known.
    pub to_compile: u64,
    pub file: String,
}

/// Programs a build runs, or the kernel's own makefiles do, and where Debian has them.
const PROGRAMS: [(&str, &str); 8] = [
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("patch", "patch"),
    ("make", "make"),
    ("gcc", "gcc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
];

pub(super) fn check_programs() -> Result<(), KernelBuildError> {
    let missing: Vec<_> =
        PROGRAMS.into_iter().filter(|(program, _)| find_program(program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let join = |list: Vec<&str>, by: &str| list.join(by);
    Err(KernelBuildError::MissingPrograms {
        programs: join(missing.iter().map(|(program, _)| *program).collect(), ", "),
        hint: format!(
            "sudo apt install {} (elsewhere the packages have the programs' names)",
            join(missing.iter().map(|(_, package)| *package).collect(), " ")
        ),
    })
}

/// One call of make(1) on the sources of a build.
#[derive(Debug)]
pub(super) struct Make<'a> {
    pub(super) step: &'static str,
    pub(super) arguments: &'a [String],
    pub(super) sandbox: &'a Sandbox,
    pub(super) scratch: &'a Scratch,
}

impl Make<'_> {
    /// Runs make; its output is appended to the build's log.
    ///
    /// A build that was cut short carries on where it stopped.
    pub(super) fn run_make(
        &self,
        compiled: &mut u64,
        to_compile: u64,
        heard: &mut dyn FnMut(&Progress),
    ) -> Result<(), KernelBuildError> {
        let log = self.scratch.build_log();
        let failed = |what: &'static str| file_error(what, &log);
        let writer = open_own(&log, OFlags::APPEND).map_err(failed("write"))?;
        let mut lines = BuildLog::at_the_end_of(&log).map_err(failed("read"))?;
        let mut child = self.build_command(None)?;
        let mut child = child
            .stdout(writer.try_clone().map_err(failed("write"))?)
            .stderr(writer)
            .spawn()
            .map_err(failed("start make with the log"))?;
        let mut last = VecDeque::new();
        let mut progress = Progress { step: self.step, compiled: *compiled, to_compile, file: String::new() };
        let mut full = false;
        loop {
            let ended = child.try_wait().map_err(failed("wait for make with the log"))?;
            while let Some(line) = lines.next().map_err(failed("read"))? {
                full |= says_full(&line);
                if let Some(object) = line.trim_start().strip_prefix("CC ") {
                    progress.compiled += 1;
                    progress.file = object.trim().to_owned();
                }
                if !is_chatter(&line) {
                    if last.len() == LAST_LINES {
                        last.pop_front();
                    }
                    last.push_back(line);
                }
            }
            heard(&progress);
            if let Some(status) = ended {
                *compiled = progress.compiled;
                if status.success() {
                    return Ok(());
                }
                let lines = last.into_iter().collect::<String>().trim_end().to_owned();
                let otherwise = || KernelBuildError::Step { step: self.step, lines, log };
                return Err(self.scratch.disk_full_error(self.step, full).unwrap_or_else(otherwise));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Counts the files that make would compile, by a dry run; 0 if that shows nothing.
    pub(super) fn to_compile(&self) -> u64 {
        let Ok(mut command) = self.build_command(Some("--dry-run")) else { return 0 };
        let Ok(mut child) = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else { return 0 };
        let said = child.stdout.take().map(|said| BufReader::new(said.take(LARGEST_PLAN)).split(b'\n'));
        let compiles = |line: &Vec<u8>| line.windows(COMPILES.len()).any(|words| words == COMPILES);
        let count = said.into_iter().flatten().map_while(Result::ok).filter(compiles).count();
        // The dry run ends with an error at the first step that looks for a file that does not exist yet.
        let _ = child.wait();
        count as u64
    }

    fn build_command(&self, manner: Option<&str>) -> Result<Command, KernelBuildError> {
        let missing = || ProgramError::Missing { program: "make".to_owned() };
        let program = find_program("make").ok_or_else(missing)?;
        // By its path: a folder that was entered before the sandbox's mounts were made is read-only.
        let folder = ["-C".into(), self.scratch.source_folder()];
        let argv = [program].into_iter().chain(folder).map(|word| word.to_string_lossy().into_owned());
        let argv = argv.chain(manner.map(str::to_owned)).chain(self.arguments.iter().cloned()).collect();
        // The same sources give the same kernel, wherever, by whomever and whenever they are built.
        let environment = [
            ("LC_ALL", "C".into()),
            ("TMPDIR", self.scratch.temporary_folder()),
            ("KBUILD_BUILD_TIMESTAMP", "2020-01-01".into()),
            ("KBUILD_BUILD_USER", "fsverdict".into()),
            ("KBUILD_BUILD_HOST", "laboratory".into()),
        ];
        let variables = environment.iter().map(|(name, _)| (*name).to_owned()).collect();
        let command = Sandbox { argv, variables, ..self.sandbox.clone() }.command();
        let mut command = command.map_err(|error| {
            file_error("start make in", &self.scratch.source_folder())(std::io::Error::other(error))
        })?;
        command.envs(environment).stdin(Stdio::null());
        Ok(command)
    }
}

/// Reads the lines that are appended to a log. Untrusted programs write it, so lines are bounded and control
/// characters neutralised.
struct BuildLog(BufReader<File>);

impl BuildLog {
    /// Longer ones are taken for several.
    const LONGEST: u64 = 1 << 16;

    fn at_the_end_of(log: &Path) -> std::io::Result<Self> {
        let mut log = open_own(log, OFlags::empty())?;
        log.seek(SeekFrom::End(0))?;
        Ok(BuildLog(BufReader::new(log)))
    }

    /// The next, as far as it was written.
    fn next(&mut self) -> std::io::Result<Option<String>> {
        let mut line = Vec::new();
        let count = self.0.by_ref().take(Self::LONGEST).read_until(b'\n', &mut line)?;
        Ok((count > 0).then(|| neutralise(&String::from_utf8_lossy(&line))))
    }
}

/// Whether a line of make's output is progress only: the next file, the current folder, or a failed recursive make.
fn is_chatter(line: &str) -> bool {
    line.starts_with("make")
        || line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::is_chatter;

    #[test]
    fn what_the_compiler_says_is_no_chatter() {
        for (line, chatter) in [
            ("  CC      fs/ext4/inode.o\n", true),
            ("make[3]: *** [/s/scripts/Makefile.build:229: fs/ext4/inode.o] Error 1\n", true),
            ("/s/fs/ext4/inode.c:12:1: error: unknown type name 'bloc'\n", false),
            ("   12 | bloc x;\n", false),
            ("      | ^~~~\n", false),
        ] {
            assert_eq!(is_chatter(line), chatter, "{line}");
        }
    }
}
