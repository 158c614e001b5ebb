//! What strace prints of a program's calls on files: `strace -f -ttt -T -y -s 0 -e trace=file,desc -o FILE -p PID`.
//!
//! Open files are followed from process to process by number and, with -y, by path; positions are followed from call to call.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use fsverdict_judgement::plan::{CallWork, OpenFlags};
use fsverdict_text::Reason;

use super::calls::CallRecorder;
use super::open_files::{Followed, OpenFiles, OpenKey};
use super::strace_line::{StraceCall, StraceLine, kind, parse, path_of, unquoted, who_and_when};
use super::{CapturedCalls, relative};

/// Bytes of a line that are looked at, and processes whose calls may be under way.
const LONGEST_LINE: usize = 64 << 10;
const MOST_UNDERWAY: usize = 10_000;

pub(super) fn read(bytes: &[u8], below: Option<&Path>) -> Result<CapturedCalls, Reason> {
    let below = below.filter(|below| below.is_absolute()).ok_or_else(|| {
        Reason::new(
            "a record of strace's is of every file that a program touches",
            "say which folder's are meant, by its absolute path, as the program knew it: --below /srv/data",
        )
    })?;
    let mut reading = StraceReading {
        calls: CallRecorder::new("calls"),
        below: below.to_path_buf(),
        open: OpenFiles::default(),
        underway: HashMap::new(),
        now_ns: 0,
        timed: false,
    };
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| line.len() <= LONGEST_LINE) {
        if reading.calls.is_full() {
            break;
        }
        reading.line(&String::from_utf8_lossy(line));
    }
    if !reading.timed {
        reading
            .calls
            .notes
            .push("Not kept: pauses between calls, for want of times (strace -ttt -T).".to_owned());
    } else {
        reading
            .calls
            .notes
            .push("Pauses are those of a program under strace, which slows it down.".to_owned());
    }
    reading.calls.notes.push(
        "Not kept: which calls of several processes or threads overlapped. All are made by one.".to_owned(),
    );
    reading.calls.finish("calls that strace saw")
}

struct StraceReading {
    calls: CallRecorder,
    below: PathBuf,
    open: OpenFiles,
    /// Calls that were begun, by process.
    underway: HashMap<u32, (String, u64)>,
    now_ns: u64,
    timed: bool,
}

impl StraceReading {
    fn line(&mut self, line: &str) {
        let (who, at, rest) = who_and_when(line);
        self.timed |= at.is_some();
        let now = at.unwrap_or(self.now_ns);
        self.now_ns = self.now_ns.max(now);
        match kind(rest) {
            StraceLine::Whole(text) => self.text(who, now, text),
            StraceLine::Unfinished(text) => {
                if self.underway.len() < MOST_UNDERWAY {
                    self.underway.insert(who, (text.to_owned(), now));
                }
            }
            StraceLine::Resumed(rest) => {
                if let Some((begun, began)) = self.underway.remove(&who) {
                    self.text(who, began, &format!("{begun}{rest}"));
                }
            }
            StraceLine::Nothing => {}
        }
    }

    fn text(&mut self, who: u32, began: u64, text: &str) {
        if let Some(call) = parse(text) {
            let times = (began, began.saturating_add(call.took_ns.unwrap_or(0)));
            // Nothing: its arguments are not as expected, or it is on something else.
            let _ = self.call(who, times, &call);
        }
    }

    /// `None` where there was nothing to keep.
    fn call(&mut self, who: u32, times: (u64, u64), call: &StraceCall<'_>) -> Option<()> {
        let returned = call.returned?;
        let argument = |at: usize| call.arguments.get(at).copied();
        match call.name {
            "open" => self.opened(who, times, call, self.path(None, argument(0)?)?, argument(1)?),
            "creat" => {
                self.opened(who, times, call, self.path(None, argument(0)?)?, "O_WRONLY|O_CREAT|O_TRUNC");
            }
            "openat" | "openat2" => {
                self.opened(who, times, call, self.path(argument(0), argument(1)?)?, argument(2)?);
            }
            "close" if returned == 0 => {
                let file = self.open.close(OpenKey { who, number: number(argument(0)?)? })?;
                self.calls.on_file(times, CallWork::Close { file });
            }
            "read" | "readv" | "write" | "writev" if returned > 0 => {
                let key = self.followed(who, times, argument(0)?)?;
                let followed = self.open.get_mut(key)?;
                let length = returned.unsigned_abs();
                let file = followed.file?;
                let end = self.calls.end_of(file);
                let offset =
                    if followed.appends && call.name.starts_with('w') { end } else { followed.position };
                followed.position = offset.saturating_add(length);
                self.moved(times, call.name.starts_with('r'), file, offset, length);
            }
            "pread64" | "pwrite64" | "preadv" | "preadv2" | "pwritev" | "pwritev2" if returned > 0 => {
                let key = self.followed(who, times, argument(0)?)?;
                let file = self.open.get(key)?.file?;
                let offset = u64::try_from(number(argument(3)?)?).ok()?;
                self.moved(times, call.name.starts_with("pr"), file, offset, returned.unsigned_abs());
            }
            "lseek" | "_llseek" if returned >= 0 => {
                let key = self.followed(who, times, argument(0)?)?;
                self.open.get_mut(key)?.position = returned.unsigned_abs();
            }
            "fsync" | "fdatasync" if returned == 0 => {
                let key = self.followed(who, times, argument(0)?)?;
                let file = self.open.get(key)?.file?;
                let work = match call.name {
                    "fsync" => CallWork::Fsync { file },
                    _ => CallWork::Fdatasync { file },
                };
                self.calls.on_file(times, work);
            }
            "ftruncate" if returned == 0 => {
                let key = self.followed(who, times, argument(0)?)?;
                let file = self.open.get(key)?.file?;
                let size = u64::try_from(number(argument(1)?)?).ok()?;
                self.calls.on_file(times, CallWork::Truncate { file, size });
            }
            "fallocate" if returned == 0 && argument(1) == Some("0") => {
                let key = self.followed(who, times, argument(0)?)?;
                let file = self.open.get(key)?.file?;
                let offset = u64::try_from(number(argument(2)?)?).ok()?;
                let length = u64::try_from(number(argument(3)?)?).ok()?;
                self.calls.on_file(times, CallWork::Reserve { file, offset, length });
            }
            "dup" | "dup2" | "dup3" | "fcntl" if returned >= 0 => {
                if call.name == "fcntl" && !argument(1)?.starts_with("F_DUPFD") {
                    return None;
                }
                let copy = self.open.get(OpenKey { who, number: number(argument(0)?)? })?.clone();
                self.open.follow(OpenKey { who, number: returned }, copy);
            }
            "unlink" if returned == 0 => self.named(times, &self.path(None, argument(0)?)?, false),
            "rmdir" if returned == 0 => self.named(times, &self.path(None, argument(0)?)?, true),
            "unlinkat" if returned == 0 => {
                let directory = argument(2).is_some_and(|flags| flags.contains("AT_REMOVEDIR"));
                self.named(times, &self.path(argument(0), argument(1)?)?, directory);
            }
            "mkdir" | "mkdirat" if returned == 0 => {
                let path = match call.name {
                    "mkdir" => self.path(None, argument(0)?)?,
                    _ => self.path(argument(0), argument(1)?)?,
                };
                let name = self.number(&path)?;
                self.calls.on_names(times, CallWork::MakeDirectory { name });
            }
            "rename" | "link" | "renameat" | "renameat2" | "linkat" if returned == 0 => {
                let (from, to) = match call.name {
                    "rename" | "link" => (self.path(None, argument(0)?)?, self.path(None, argument(1)?)?),
                    _ => (self.path(argument(0), argument(1)?)?, self.path(argument(2), argument(3)?)?),
                };
                if argument(4).is_some_and(|flags| flags.contains("EXCHANGE") || flags.contains("WHITEOUT")) {
                    self.calls.leave_out("renames that exchange");
                    return None;
                }
                let (Some(from), Some(to)) = (self.number(&from), self.number(&to)) else {
                    self.calls.leave_out("renames from or to another folder");
                    return None;
                };
                let work = match call.name.starts_with("link") {
                    true => CallWork::Link { from, to },
                    false => CallWork::Rename { from, to },
                };
                self.calls.on_names(times, work);
            }
            "stat" | "lstat" | "access" => self.looked(times, call, &self.path(None, argument(0)?)?),
            "newfstatat" | "statx" | "faccessat" | "faccessat2" => {
                self.looked(times, call, &self.path(argument(0), argument(1)?)?);
            }
            "fstat" if returned == 0 => {
                let path = path_of(argument(0)?)?;
                self.sized(call, Path::new(OsStr::from_bytes(&path)));
            }
            "getdents64" | "getdents" if returned > 0 => {
                let key = self.followed(who, times, argument(0)?)?;
                let path = self.open.get(key)?.path.clone();
                if let Some(name) = self.number(&path) {
                    self.calls.on_names(times, CallWork::List { name });
                }
            }
            "mmap" | "sendfile" | "copy_file_range" | "splice" | "io_uring_enter" | "io_submit"
            | "fallocate" | "symlink" | "symlinkat" | "chmod" | "fchmod" | "fchmodat" | "chown"
            | "fchown" | "fchownat" | "utimensat" | "setxattr" | "fsetxattr" | "sync" | "syncfs"
            | "sync_file_range" | "truncate"
                if returned >= 0 =>
            {
                if call.name == "sync" || self.is_below(call) {
                    self.calls.leave_out(call.name);
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// An absolute path without `.` and `..`, of a string and the directory that it is relative to.
    fn path(&self, folder: Option<&str>, argument: &str) -> Option<PathBuf> {
        let bytes = unquoted(argument)?;
        let path = Path::new(OsStr::from_bytes(&bytes));
        let whole = match (path.is_absolute(), folder) {
            (true, _) => path.to_path_buf(),
            (false, Some(folder)) => Path::new(OsStr::from_bytes(&path_of(folder)?)).join(path),
            // Nothing says where the process was.
            (false, None) => return None,
        };
        let mut plain = PathBuf::new();
        for component in whole.components() {
            match component {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        Some(plain)
    }

    /// Whether one of its arguments is a file of those that are meant.
    fn is_below(&self, call: &StraceCall<'_>) -> bool {
        call.arguments.iter().any(|argument| {
            let path = path_of(argument).or_else(|| unquoted(argument));
            path.is_some_and(|path| Path::new(OsStr::from_bytes(&path)).starts_with(&self.below))
        })
    }

    fn number(&mut self, path: &Path) -> Option<u32> {
        let below = self.below.clone();
        self.calls.number(relative(path, &below)?)
    }

    fn opened(&mut self, who: u32, times: (u64, u64), call: &StraceCall<'_>, path: PathBuf, how: &str) {
        let (Some(returned), Some(name)) = (call.returned, self.number(&path)) else { return };
        let has = |flag: &str| how.split(['|', ',', '=', '{', ' ']).any(|word| word == flag);
        if returned < 0 {
            if call.remark.starts_with("ENOENT") {
                self.calls.is_missing(name);
                self.calls.on_names(times, CallWork::Look { name });
            }
            return;
        }
        if has("O_DIRECTORY") {
            self.calls.is_directory(name);
            return self.open.follow(
                OpenKey { who, number: returned },
                Followed { file: None, path, position: 0, appends: false },
            );
        }
        let flags = OpenFlags {
            create: has("O_CREAT"),
            truncate: has("O_TRUNC"),
            synced: has("O_SYNC") || has("O_DSYNC"),
            direct: has("O_DIRECT"),
        };
        let file = self.calls.open(times, name, flags, has("O_EXCL"));
        let appends = has("O_APPEND");
        let position = if appends { self.calls.size_of(name) } else { 0 };
        self.open.follow(OpenKey { who, number: returned }, Followed { file, path, position, appends });
    }

    /// The open file of a process that a call is on: one that it opened, one that another of its threads did, or, where the record says
    /// its path, one that was open before.
    fn followed(&mut self, who: u32, times: (u64, u64), argument: &str) -> Option<OpenKey> {
        let key = OpenKey { who, number: number(argument)? };
        let path = path_of(argument).map(|path| PathBuf::from(OsStr::from_bytes(&path)));
        if let Some(key) = self.open.of(key, path.as_deref()) {
            return Some(key);
        }
        let path = path?;
        let name = self.number(&path)?;
        let file = self.calls.open(times, name, OpenFlags::default(), false);
        self.calls.leave_out("files that were open before the record began, taken as at their beginning");
        self.open.follow(key, Followed { file, path, position: 0, appends: false });
        Some(key)
    }

    fn moved(&mut self, times: (u64, u64), reads: bool, file: u32, offset: u64, length: u64) {
        let work = match reads {
            true => CallWork::Read { file, offset, length },
            false => CallWork::Write { file, offset, length },
        };
        self.calls.on_file(times, work);
    }

    fn named(&mut self, times: (u64, u64), path: &Path, directory: bool) {
        let Some(name) = self.number(path) else { return };
        let work = match directory {
            true => CallWork::RemoveDirectory { name },
            false => CallWork::RemoveFile { name },
        };
        self.calls.on_names(times, work);
    }

    fn looked(&mut self, times: (u64, u64), call: &StraceCall<'_>, path: &Path) {
        let Some(name) = self.number(path) else { return };
        match call.returned {
            Some(0) => self.sized(call, path),
            _ if call.remark.starts_with("ENOENT") => self.calls.is_missing(name),
            _ => return,
        }
        self.calls.on_names(times, CallWork::Look { name });
    }

    /// What a status tells of a file: that it is one, and how large.
    fn sized(&mut self, call: &StraceCall<'_>, path: &Path) {
        let Some(name) = self.number(path) else { return };
        let Some(status) = call.arguments.iter().find(|argument| argument.starts_with('{')) else { return };
        if status.contains("S_IFDIR") {
            self.calls.is_directory(name);
        }
        let size = status.split(['{', ',', ' ']).find_map(|word| {
            let digits = word.strip_prefix("st_size=").or_else(|| word.strip_prefix("stx_size="))?;
            digits.trim_end_matches('}').parse::<u64>().ok()
        });
        if let Some(size) = size.filter(|size| status.contains("S_IFREG") && *size <= 1 << 50) {
            self.calls.has_size(name, size);
        }
    }
}

/// The number of an open file, or a plain one.
fn number(argument: &str) -> Option<i64> {
    let digits =
        argument.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(argument.len());
    argument.get(..digits)?.parse().ok()
}
