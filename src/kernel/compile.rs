//! Runs make(1) on a tree, and says how far it is.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::host::cell::Cell;
use crate::host::program::{ProgramError, locate};

use super::error::{KernelBuildError, file};

/// How many of a failed step's last lines are shown.
const LAST_LINES: usize = 12;

/// How far a build is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub step: &'static str,
    /// Files compiled so far, those of an interrupted build included.
    pub compiled: u64,
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
    let missing: Vec<_> = PROGRAMS.into_iter().filter(|(program, _)| locate(program).is_none()).collect();
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

/// Runs `make` with these arguments in `tree`; what it says goes to the end of `log`.
///
/// A build that was cut short carries on where it stopped.
pub(super) fn make(
    step: &'static str,
    arguments: &[String],
    cell: &Cell,
    (tree, log): (&Path, &Path),
    compiled: &mut u64,
    heard: &mut dyn FnMut(&Progress),
) -> Result<(), KernelBuildError> {
    let missing = || ProgramError::Missing { program: "make".to_owned() };
    let program = locate("make").ok_or_else(missing)?.to_string_lossy().into_owned();
    let failed = |what: &'static str| file(what, log);
    let writer = File::options().create(true).append(true).open(log).map_err(failed("write"))?;
    let mut lines = BufReader::new(File::open(log).map_err(failed("read"))?);
    std::io::Seek::seek(&mut lines, std::io::SeekFrom::End(0)).map_err(failed("read"))?;
    let argv = std::iter::once(program).chain(arguments.iter().cloned());
    let start =
        |error: crate::host::cell::CellError| failed("start make with the log")(std::io::Error::other(error));
    let folder = log.parent().unwrap_or(tree);
    let mut command = Cell { argv: argv.collect(), ..cell.clone() }.command().map_err(start)?;
    let mut child = command
        .current_dir(tree)
        .env("LC_ALL", "C")
        .env("TMPDIR", folder)
        // The same sources give the same kernel, wherever and whenever they are built.
        .envs([
            ("KBUILD_BUILD_TIMESTAMP", "2020-01-01"),
            ("KBUILD_BUILD_USER", "fsverdict"),
            ("KBUILD_BUILD_HOST", "laboratory"),
        ])
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(failed("write"))?)
        .stderr(writer)
        .spawn()
        .map_err(failed("start make with the log"))?;
    let mut last = std::collections::VecDeque::new();
    let mut progress = Progress { step, compiled: *compiled, file: String::new() };
    loop {
        let ended = child.try_wait().map_err(failed("wait for make with the log"))?;
        let mut line = String::new();
        while lines.read_line(&mut line).map_err(failed("read"))? > 0 {
            if let Some(object) = line.trim_start().strip_prefix("CC ") {
                progress.compiled += 1;
                progress.file = object.trim().to_owned();
            }
            if !is_chatter(&line) {
                if last.len() == LAST_LINES {
                    last.pop_front();
                }
                last.push_back(std::mem::take(&mut line));
            }
            line.clear();
        }
        heard(&progress);
        if let Some(status) = ended {
            *compiled = progress.compiled;
            if status.success() {
                return Ok(());
            }
            let lines = last.into_iter().collect::<String>().trim_end().to_owned();
            return Err(KernelBuildError::Step { step, lines, log: log.to_owned() });
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What make says of itself: which file is next, which folder it is in, and that one of its own has failed.
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
