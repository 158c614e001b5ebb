//! Recordings of every class of calls, and the trace and the account that each gives.

use super::line::{LineKind, line_kind, split_line};
use super::references::{Reference, all_names, references_of};
use super::{check_form, is_strace, read_strace};
use crate::CapturedCalls;
use fsverdict_text::Reason;

/// A recording, the calls that are kept, and reasons of the account with their counts.
struct Example {
    what: &'static str,
    record: &'static str,
    calls: &'static str,
    lost: &'static [(&'static str, u64)],
}

fn capture_below(record: &str, below: &str) -> Result<CapturedCalls, Reason> {
    read_strace(Box::new(record.as_bytes()), Some(std::path::Path::new(below)), record.as_bytes())
}

fn capture(record: &str) -> CapturedCalls {
    let captured = capture_below(record, "/s").unwrap_or_else(|reason| panic!("{reason:?}\n{record}"));
    let mut begun = std::collections::HashMap::new();
    let mut calls = 0;
    for line in record.lines().filter_map(|line| split_line(line.as_bytes())) {
        let process = line.process;
        match line_kind(line.rest) {
            LineKind::Whole(_) => calls += 1,
            LineKind::Unfinished(_) => {
                calls += 1;
                begun.insert(process, ());
            }
            // The rest of a call whose beginning is not recorded is also a call.
            LineKind::Resumed(..) => calls += u64::from(begun.remove(&process).is_none()),
            _ => {}
        }
    }
    let account = &captured.account;
    assert!(account.is_balanced() && account.seen == calls, "{calls} calls: {account:?}\n{record}");
    captured
}

/// Calls alone, without names and pauses.
fn calls_of(captured: &CapturedCalls) -> String {
    let mut text = String::new();
    for line in captured.trace.to_string().lines() {
        let call = line
            .split_once(' ')
            .map_or(line, |(first, rest)| if first.starts_with('+') { rest } else { line });
        if !["name ", "dir ", "file "].iter().any(|kind| call.starts_with(kind)) {
            text.push_str(call);
            text.push('\n');
        }
    }
    text
}

const EXAMPLES: &[Example] = &[
    Example {
        what: "relative paths: chdir, a descriptor of a directory, AT_FDCWD with -y, dots, and getcwd",
        record: r#"7 1.0 chdir("/s/d") = 0
7 1.0 open("x", O_RDWR|O_CREAT, 0600) = 3</s/d/x>
7 1.0 mkdir("../e", 0700) = 0
7 1.0 open("../e", O_RDONLY|O_DIRECTORY) = 4</s/e>
7 1.0 openat(4</s/e>, "y", O_WRONLY|O_CREAT, 0600) = 5</s/e/y>
7 1.0 fchdir(4</s/e>) = 0
7 1.0 unlink("y") = 0
7 1.0 chdir("/elsewhere") = 0
7 1.0 open("x", O_RDONLY) = 6</elsewhere/x>
7 1.0 unlinkat(AT_FDCWD</s/d>, "x", 0) = 0
7 1.0 getcwd("/s/d", 4096) = 5
7 1.0 rename("./z", "/s/d/../d/w") = 0
"#,
        calls: "open 1 2 create\nmkdir 3\nopen 2 4 create\nunlink 4\nunlink 2\nrename 5 6\n",
        lost: &[],
    },
    Example {
        what: "a relative path without a working directory",
        record: "7 1.0 open(\"/s/a\", O_RDWR|O_CREAT) = 3</s/a>\n7 1.0 unlink(\"x\") = 0\n7 1.0 mkdir(\"y\", 0700) = 0\n",
        calls: "open 1 1 create\n",
        lost: &[("relative paths where the recording does not say the working directory", 2)],
    },
    Example {
        what: "the working directory is that of a call with an absolute path",
        record: "7 1.0 openat(AT_FDCWD</s/d>, \"/etc/x\", O_RDONLY) = 3</etc/x>\n7 1.0 open(\"y\", O_RDWR|O_CREAT, 0600) = 4</s/d/y>\n7 1.0 access(\"y\", F_OK) = 0\n",
        calls: "open 1 2 create\nstat 2\n",
        lost: &[],
    },
    Example {
        what: "syncs of directories, of the filesystem, and of a range",
        record: r#"7 1.0 mkdir("/s/d", 0700) = 0
7 1.0 open("/s/d", O_RDONLY) = 3</s/d>
7 1.0 fsync(3</s/d>) = 0
7 1.0 open("/s", O_RDONLY|O_DIRECTORY) = 4</s>
7 1.0 fdatasync(4</s>) = 0
7 1.0 syncfs(4</s>) = 0
7 1.0 sync() = 0
7 1.0 open("/s/unknown", O_RDONLY) = 5</s/unknown>
7 1.0 fsync(5</s/unknown>) = 0
7 1.0 open("/s/a", O_RDWR|O_CREAT, 0600) = 6</s/a>
7 1.0 sync_file_range(6</s/a>, 0, 4096, SYNC_FILE_RANGE_WRITE) = 0
7 1.0 open("/elsewhere", O_RDONLY|O_DIRECTORY) = 7</elsewhere>
7 1.0 fsync(7</elsewhere>) = 0
"#,
        calls: "mkdir 1\nfsyncdir 1\nfsyncdir 0\nsyncfs\nsyncfs\nfsyncdir 2\nopen 1 3 create\n",
        lost: &[("sync_file_range", 1)],
    },
    Example {
        what: "pwritev2 with flags and without a place",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 pwritev2(3</s/a>, [...], 1, 100, RWF_DSYNC) = 10
7 1.0 pwritev2(3</s/a>, [...], 1, -1, RWF_SYNC) = 20
7 1.0 pwritev2(3</s/a>, [...], 1, 18446744073709551615, 0) = 30
7 1.0 pwritev2(3</s/a>, [...], 1, 0, RWF_APPEND) = 5
7 1.0 preadv2(3</s/a>, [...], 1, -1, 0) = 40
"#,
        calls: "open 1 1 create\nwrite 1 100 10\nfdatasync 1\nwrite 1 0 20\nfsync 1\nwrite 1 20 30\nwrite 1 110 5\nread 1 50 40\n",
        lost: &[],
    },
    Example {
        what: "requests of io_submit, hidden ones, and those of an old version",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 io_submit(0x7f, 3, [{aio_data=0, aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</s/a>, aio_buf=""..., aio_nbytes=4096, aio_offset=0}, {aio_lio_opcode=IOCB_CMD_PWRITEV, aio_fildes=3</s/a>, aio_buf=[{iov_base=""..., iov_len=100}, {iov_base=""..., iov_len=50}], aio_nbytes=2, aio_offset=4096}, {aio_lio_opcode=IOCB_CMD_FDSYNC, aio_fildes=3</s/a>}]) = 3
7 1.0 io_submit(0x7f, 1, [{data=0, pread, aio_fildes=3</s/a>, buf=0x7f, nbytes=512, offset=512}]) = 1
7 1.0 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</s/a>, aio_buf="", aio_nbytes=10, aio_offset=0, aio_rw_flags=RWF_DSYNC}]) = 1
7 1.0 io_submit(0x7f, 2, [...]) = 2
7 1.0 io_uring_enter(9, 2, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 2
"#,
        calls: "open 1 1 create\nwrite 1 0 4096\nwrite 1 4096 150\nfdatasync 1\nwrite 1 0 10\nfdatasync 1\n",
        lost: &[
            ("io_submit whose requests the recording does not show", 1),
            ("requests of io_submit in the form of strace before version 5", 1),
            ("io_uring_enter", 1),
        ],
    },
    Example {
        what: "bytes that the kernel moves from file to file, to a socket, and through a pipe",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 write(3</s/a>, ""..., 1000) = 1000
7 1.0 open("/s/b", O_RDWR|O_CREAT|O_EXCL, 0600) = 4</s/b>
7 1.0 copy_file_range(3</s/a>, [0], 4</s/b>, NULL, 500, 0) = 500
7 1.0 copy_file_range(3</s/a>, NULL, 4</s/b>, [700], 500, 0) = 0
7 1.0 socket(AF_UNIX, SOCK_STREAM, 0) = 5<socket:[77]>
7 1.0 sendfile(5<socket:[77]>, 3</s/a>, [100] => [300], 200) = 200
7 1.0 sendfile(4</s/b>, 3</s/a>, [0], 100) = 100
7 1.0 pipe2([6<pipe:[5]>, 7<pipe:[5]>], O_CLOEXEC) = 0
7 1.0 splice(3</s/a>, [0], 7<pipe:[5]>, NULL, 64, 0) = 64
7 1.0 splice(6<pipe:[5]>, NULL, 4</s/b>, NULL, 64, 0) = 64
7 1.0 ioctl(4</s/b>, BTRFS_IOC_CLONE or FICLONE, 3) = 0
7 1.0 ioctl(4</s/b>, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=3, src_offset=0, src_length=10, dest_offset=0}) = 0
"#,
        calls: "open 1 1 create\nwrite 1 0 1000\nopen 2 2 create\ncopy 1 0 2 0 500\nread 1 100 200\ncopy 1 0 2 500 100\nread 1 0 64\nwrite 2 600 64\nclone 1 0 2 0 1000\n",
        lost: &[("ioctl BTRFS_IOC_CLONE_RANGE or FICLONERANGE", 1)],
    },
    Example {
        what: "fallocate with and without a mode, ftruncate, truncate",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 fallocate(3</s/a>, 0, 0, 8192) = 0
7 1.0 fallocate(3</s/a>, FALLOC_FL_KEEP_SIZE, 0, 16384) = 0
7 1.0 fallocate(3</s/a>, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0
7 1.0 ftruncate(3</s/a>, 100) = 0
7 1.0 truncate("/s/a", 50) = 0
"#,
        calls: "open 1 1 create\nreserve 1 0 8192\ntruncate 1 100\nopen 2 1\ntruncate 2 50\nclose 2\n",
        lost: &[
            ("fallocate FALLOC_FL_KEEP_SIZE", 1),
            ("fallocate FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE", 1),
        ],
    },
    Example {
        what: "a mapping that keeps its file open, and what is made durable of it",
        record: r#"7 1.0 execve("/bin/x", ["x"], 0x7ffd /* 9 vars */) = 0
7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 ftruncate(3</s/a>, 8192) = 0
7 1.0 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_SHARED, 3</s/a>, 0) = 0x7f0000000000
7 1.0 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3</s/a>, 0) = 0x7f1000000000
7 1.0 close(3</s/a>) = 0
7 1.0 msync(0x7f0000001000, 4096, MS_SYNC) = 0
7 1.0 msync(0x7f0000001000, 4096, MS_ASYNC) = 0
7 1.0 munmap(0x7f0000000000, 8192) = 0
"#,
        calls: "open 1 1 create\ntruncate 1 8192\nfdatasync 1\nclose 1\n",
        lost: &[
            ("mmap", 1),
            ("mmap of a file for writing (its stores cannot be seen)", 1),
            ("msync without MS_SYNC", 1),
        ],
    },
    Example {
        what: "positions: dup, lseek in all its forms, append, reads at the end",
        record: r#"7 1.0 open("/s/log", O_RDWR|O_APPEND) = 3</s/log>
7 1.0 write(3</s/log>, ""..., 10) = 10
7 1.0 write(3</s/log>, ""..., 10) = 10
7 1.0 lseek(3</s/log>, -5, SEEK_END) = 1015
7 1.0 pwrite64(3</s/log>, ""..., 30, 0) = 30
7 1.0 dup(3</s/log>) = 4</s/log>
7 1.0 lseek(4</s/log>, 500, SEEK_SET) = 500
7 1.0 read(3</s/log>, ""..., 100) = 100
7 1.0 _llseek(3</s/log>, 0, [600], SEEK_CUR) = 0
7 1.0 read(4</s/log>, ""..., 100) = 100
7 1.0 lseek(3</s/log>, 0, SEEK_HOLE) = 1050
7 1.0 read(3</s/log>, ""..., 100) = 0
7 1.0 fcntl(3</s/log>, F_SETFL, O_RDWR) = 0
7 1.0 write(3</s/log>, ""..., 7) = 7
7 1.0 close(3</s/log>) = 0
7 1.0 dup2(4</s/log>, 9) = 9</s/log>
7 1.0 close(4</s/log>) = 0
7 1.0 read(9</s/log>, ""..., 1) = 0
7 1.0 close(9</s/log>) = 0
"#,
        calls: "open 1 1\nwrite 1 1000 10 x2\nwrite 1 1020 30\nread 1 500 100 x2\nwrite 1 1050 7\nclose 1\n",
        lost: &[],
    },
    Example {
        what: "fork copies descriptors that share a position, threads share the table, exec closes what it must",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 open("/s/b", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 4</s/b>
7 1.0 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 8
8 1.0 write(3</s/a>, ""..., 10) = 10
8 1.0 close(4</s/b>) = 0
8 1.0 open("/s/c", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 4</s/c>
8 1.0 execve("/bin/x", ["x"], 0x7ffd /* 9 vars */) = 0
8 1.0 write(3</s/a>, ""..., 10) = 10
8 1.0 +++ exited with 0 +++
7 1.0 write(3</s/a>, ""..., 10) = 10
7 1.0 write(4</s/b>, ""..., 5) = 5
7 1.0 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD, stack=0x7f} => {parent_tid=[9]}, 88) = 9
9 1.0 close(3</s/a>) = 0
9 1.0 open("/s/d", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/d>
7 1.0 write(3</s/d>, ""..., 3) = 3
9 1.0 close_range(3, 4294967295, 0) = 0
9 1.0 +++ exited with 0 +++
7 1.0 write(3, ""..., 3) = -1 EBADF (Bad file descriptor)
7 1.0 +++ exited with 0 +++
"#,
        calls: "open 1 1 create\nopen 2 2 create\nwrite 1 0 10\nopen 3 3 create\nclose 3\nwrite 1 10 10 x2\nwrite 2 0 5\nclose 1\nopen 4 4 create\nwrite 4 0 3\nclose 4\nclose 2\n",
        lost: &[],
    },
    Example {
        what: "calls under way: a clone, a close that another thread overtakes, a write on a descriptor that is closed meanwhile",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 vfork( <unfinished ...>
8 1.0 write(3</s/a>, ""..., 10) = 10
8 1.0 +++ exited with 0 +++
7 1.0 <... vfork resumed>) = 8
7 1.0 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, stack=0x7f}, 88 <unfinished ...>
9 1.0 write(3</s/a> <unfinished ...>
7 1.0 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9
7 1.0 close(3</s/a> <unfinished ...>
9 1.0 <... write resumed>, ""..., 5) = 5
9 1.0 open("/s/b", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/b>
7 1.0 <... close resumed>) = 0
9 1.0 write(3</s/b>, ""..., 7) = 7
9 1.0 read(3</s/b> <unfinished ...>
"#,
        calls: "open 1 1 create\nwrite 1 0 10\nwrite 1 10 5\nopen 2 2 create\nclose 1\nwrite 2 0 7\n",
        lost: &[("calls that do not end in the recording", 1)],
    },
    Example {
        what: "a call under way whose first argument is a number and no descriptor",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
8 1.0 select(4, [3], NULL, NULL, NULL <unfinished ...>
7 1.0 kill(3, SIGTERM <unfinished ...>
7 1.0 <... kill resumed>) = 0
7 1.0 close(3</s/a>) = 0
7 1.0 open("/s/b", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/b>
8 1.0 <... select resumed>) = 0 (Timeout)
"#,
        calls: "open 1 1 create\nclose 1\nopen 2 2 create\n",
        lost: &[],
    },
    Example {
        what: "two processes that are made at once: which made which is told by a later line",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 clone(child_stack=NULL, flags=SIGCHLD, child_tidptr=0x7f) = 8
8 1.0 open("/s/b", O_RDWR|O_CREAT|O_EXCL, 0600) = 4</s/b>
7 1.0 fork( <unfinished ...>
8 1.0 fork( <unfinished ...>
10 1.0 write(4</s/b>, ""..., 10) = 10
8 1.0 <... fork resumed>) = 10
7 1.0 <... fork resumed>) = 9
9 1.0 write(3</s/a>, ""..., 10) = 10
"#,
        calls: "open 1 1 create\nopen 2 2 create\nwrite 2 0 10\nwrite 1 0 10\n",
        lost: &[],
    },
    Example {
        what: "files that are renamed, removed or unnamed while they are open",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 rename("/s/a", "/s/b") = 0
7 1.0 write(3</s/b>, ""..., 10) = 10
7 1.0 unlink("/s/b") = 0
7 1.0 write(3</s/b>(deleted), ""..., 10) = 10
7 1.0 openat(AT_FDCWD</s>, ".", O_RDWR|O_TMPFILE, 0600) = 4</s/#12>(deleted)
7 1.0 write(4</s/#12>(deleted), ""..., 5) = 5
7 1.0 linkat(4</s/#12>(deleted), "", AT_FDCWD</s>, "c", AT_EMPTY_PATH) = 0
7 1.0 open("/s/b", O_RDWR|O_CREAT|O_EXCL, 0600) = 5</s/b>
7 1.0 link("/s/b", "/s/d") = 0
7 1.0 renameat2(AT_FDCWD</s>, "/s/d", AT_FDCWD</s>, "e", RENAME_NOREPLACE) = 0
7 1.0 renameat2(AT_FDCWD</s>, "/s/d", AT_FDCWD</s>, "e", RENAME_EXCHANGE) = 0
7 1.0 rename("/s/e", "/elsewhere/e") = 0
"#,
        calls: "open 1 1 create\nrename 1 2\nwrite 1 0 10\nunlink 2\nwrite 1 10 10\nopentmp 2 0\nwrite 2 0 5\nlinkopen 2 3\nopen 3 2 create\nlink 2 4\nrename 4 5\n",
        lost: &[("renames that exchange", 1), ("renames from or to another folder", 1)],
    },
    Example {
        what: "other descriptors: pipes, sockets and what else returns one, with and without -y",
        record: r#"7 1.0 execve("/bin/x", ["x"], 0x7ffd /* 9 vars */) = 0
7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 close(3</s/a>) = 0
7 1.0 pipe2([3<pipe:[5]>, 4<pipe:[5]>], 0) = 0
7 1.0 write(4<pipe:[5]>, ""..., 100) = 100
7 1.0 close(3<pipe:[5]>) = 0
7 1.0 accept4(9<socket:[70]>, NULL, NULL, 0) = 3<socket:[77]>
7 1.0 write(3<socket:[77]>, ""..., 100) = 100
7 1.0 close(3<socket:[77]>) = 0
7 1.0 write(3<pipe:[8]>, ""..., 100) = 100
7 1.0 write(1</dev/pts/1<char 136:1>>, ""..., 100) = 100
7 1.0 write(5<socket:[77]>, ""..., 100) = 100
7 1.0 read(6<anon_inode:[eventfd]>, ""..., 8) = 8
7 1.0 write(7</dev/null<char 1:3>>, ""..., 8) = 8
"#,
        calls: "open 1 1 create\nclose 1\n",
        lost: &[],
    },
    Example {
        what: "a descriptor of which nothing is known, because the recording began later",
        record: "7 1.0 open(\"/s/a\", O_RDWR|O_CREAT|O_EXCL) = 3</s/a>\n7 1.0 write(3</s/a>, \"\"..., 100) = 100\n7 1.0 write(9, \"\"..., 10) = 10\n7 1.0 <... read resumed>, \"\"..., 9) = 9\n",
        calls: "open 1 1 create\nwrite 1 0 100\n",
        lost: &[
            ("calls on descriptors that strace does not show", 1),
            ("calls that began before the recording", 1),
        ],
    },
    Example {
        what: "files that were open before, by their paths",
        record: "7 1.0 write(3</s/a>, \"\"..., 10) = 10\n7 1.0 fsync(3</s/a>) = 0\n7 1.0 close(3</s/a>) = 0\n7 1.0 close(4</s/b>) = 0\n",
        calls: "open 1 1\nwrite 1 0 10\nfsync 1\nclose 1\n",
        lost: &[("closes of files that were opened before the recording", 1)],
    },
    Example {
        what: "calls that failed, that were interrupted, and that are cut short",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.0 write(3</s/a>, ""..., 10) = 6
7 1.0 write(3</s/a>, ""..., 4) = -1 ENOSPC (No space left on device)
7 1.0 fsync(3</s/a>) = -1 EIO (Input/output error)
7 1.0 mkdir("/s/d", 0700) = -1 EEXIST (File exists)
7 1.0 open("/s/b", O_RDWR) = -1 EACCES (Permission denied)
7 1.0 open("/elsewhere", O_RDWR) = -1 EACCES (Permission denied)
7 1.0 open("/s/none", O_RDONLY) = -1 ENOENT (No such file or directory)
7 1.0 read(3</s/a>, 0x7ffd, 9) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
7 1.0 write(3, "ab
"#,
        calls: "open 1 1 create\nwrite 1 0 6\nstat 2\n",
        lost: &[
            ("write that failed (ENOSPC)", 1),
            ("fsync that failed (EIO)", 1),
            ("mkdir that failed (EEXIST)", 1),
            ("open that failed (EACCES)", 1),
            ("read that was interrupted or did not return", 1),
        ],
    },
    Example {
        what: "looks at files and directories, and listings of which the first call counts",
        record: r#"7 1.0 newfstatat(AT_FDCWD</>, "/s/a", {st_mode=S_IFREG|0644, st_size=100, ...}, 0) = 0
7 1.0 statx(AT_FDCWD</>, "/s/d", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, stx_mode=S_IFDIR|0755, stx_size=4096, ...}) = 0
7 1.0 access("/s/none", F_OK) = -1 ENOENT (No such file or directory)
7 1.0 open("/s/d", O_RDONLY) = 3</s/d>
7 1.0 fstat(3</s/d>, {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0
7 1.0 getdents64(3</s/d>, 0x7f /* 3 entries */, 32768) = 72
7 1.0 getdents64(3</s/d>, 0x7f /* 0 entries */, 32768) = 0
7 1.0 open("/s/e", O_RDONLY) = 4</s/e>
7 1.0 getdents64(4</s/e>, 0x7f /* 3 entries */, 32768) = 72
7 1.0 getdents64(4</s/e>, 0x7f /* 3 entries */, 32768) = 72
7 1.0 stat("/s", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0
7 1.0 open("/s/a", O_RDONLY) = 5</s/a>
7 1.0 read(5</s/a>, ""..., 200) = 100
"#,
        calls: "stat 1\nstat 2\nstat 3\nlist 2\nlist 4\nstat 0\nopen 1 1\nread 1 0 100\n",
        lost: &[],
    },
    Example {
        what: "names with quotes, escapes, invalid UTF-8, and signs of strace's own",
        record: r#"7 1.0 open("/s/a-", O_RDWR|O_CREAT, 0600) = 3</s/a->
7 1.0 close(3</s/a->) = 0
7 1.0 open("/s/b=", O_RDWR|O_CREAT, 0600) = 3</s/b=>
7 1.0 close(3</s/b=>)        = 0
7 1.0 open("/s/c\"d\\\n\377", O_RDWR|O_CREAT, 0600) = 3</s/c\"d\\\n\377>
7 1.0 close(3</s/c\"d\\\n\377>) = 0
7 1.0 open("/s/e, (f) <g>", O_RDWR|O_CREAT, 0600) = 3</s/e, (f) \74g\76>
7 1.0 close(3</s/e, (f) \74g\76>) = 0
7 1.0 unlink("\x2f\x73\x2f\x61\x2d") = 0
"#,
        calls: "open 1 1 create\nclose 1\nopen 2 2 create\nclose 2\nopen 3 3 create\nclose 3\nopen 4 4 create\nclose 4\nunlink 1\n",
        lost: &[],
    },
    Example {
        what: "a symbolic link in the folder, by what strace shows and by the call that makes it",
        record: r#"7 1.0 openat(AT_FDCWD</>, "/s/link/a", O_RDWR|O_CREAT, 0600) = 3</s/real/a>
7 1.0 unlink("/s/link/a") = 0
7 1.0 symlink("real", "/s/other") = 0
7 1.0 mkdir("/s/other/d", 0700) = 0
7 1.0 rmdir("/s/real/d") = 0
7 1.0 unlink("/s/other") = 0
"#,
        calls: "open 1 2 create\nunlink 2\nmkdir 3\nrmdir 3\n",
        lost: &[("symlink", 1), ("removals of symbolic links", 1)],
    },
    Example {
        what: "io through openat2, creat, /proc/self/fd and a namespace's process numbers",
        record: r#"7 1.0 openat2(AT_FDCWD</>, "/s/a", {flags=O_RDWR|O_CREAT|O_APPEND, mode=0600, resolve=RESOLVE_BENEATH}, 24) = 3</s/a>
7 1.0 write(3</s/a>, ""..., 10) = 10
7 1.0 creat("/s/b", 0600) = 4</s/b>
7 1.0 open("/proc/self/fd/3", O_RDONLY) = 5</s/a>
7 1.0 read(5</s/a>, ""..., 10) = 10
7 1.0 clone(child_stack=NULL, flags=CLONE_NEWPID|SIGCHLD) = 1 /* 12 in strace's PID NS */
12 1.0 write(4</s/b>, ""..., 3) = 3
"#,
        calls: "open 1 1 create\nwrite 1 0 10\nopen 2 2 create truncate\nopen 3 1\nread 3 0 10\nwrite 2 0 3\n",
        lost: &[],
    },
    Example {
        what: "appends to a file of unknown size, whose place a later lseek tells",
        record: r#"7 1.0 openat(AT_FDCWD</>, "/s/log", O_WRONLY|O_APPEND) = 3</s/log>
7 1.1 write(3</s/log>, ""..., 100) = 100
7 1.2 write(3</s/log>, ""..., 50) = 50
7 1.3 lseek(3</s/log>, 0, SEEK_CUR) = 7150
7 1.4 write(3</s/log>, ""..., 10) = 10
"#,
        calls: "open 1 1\nwrite 1 7000 100\nwrite 1 7100 50\nwrite 1 7150 10\n",
        lost: &[],
    },
    Example {
        what: "a descriptor from before the recording that children inherit one after the other",
        record: r#"7 1.0 clone(child_stack=NULL, flags=SIGCHLD) = 8
8 1.1 write(1</s/out>, ""..., 10) = 10
8 1.2 exit_group(0) = ?
8 1.2 +++ exited with 0 +++
7 1.3 clone(child_stack=NULL, flags=SIGCHLD) = 9
9 1.4 clone(child_stack=NULL, flags=SIGCHLD) = 10
10 1.5 write(1</s/out>, ""..., 5) = 5
10 1.6 +++ exited with 0 +++
9 1.7 write(1</s/out>, ""..., 3) = 3
7 1.8 write(1</s/out>, ""..., 2) = 2
"#,
        calls: "open 1 1\nwrite 1 0 10\nwrite 1 10 5\nwrite 1 15 3\nwrite 1 18 2\n",
        lost: &[],
    },
    Example {
        what: "names and paths in hexadecimal (-xx), and constants with their numbers (-X verbose)",
        record: r#"7 1.0 openat(-100 /* AT_FDCWD */<\x2f>, "\x2f\x73\x2f\x61", 0x105042 /* O_RDWR|O_CREAT|O_DIRECT|O_SYNC */, 0640) = 3<\x2f\x73\x2f\x61>
7 1.1 write(3<\x2f\x73\x2f\x61>, ""..., 512) = 512
7 1.2 lseek(3<\x2f\x73\x2f\x61>, 1024, 0 /* SEEK_SET */) = 1024
7 1.3 write(3<\x2f\x73\x2f\x61>, ""..., 512) = 512
"#,
        calls: "open 1 1 create synced direct\nwrite 1 0 512\nwrite 1 1024 512\n",
        lost: &[],
    },
    Example {
        what: "descriptors whose path cannot be read, and results that strace made up",
        record: r#"7 1.0 openat(AT_FDCWD</>, "/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.1 write(3</s/a>, ""..., 512) = 512
7 1.2 write(0x3, ""..., 512) = 512
7 1.3 fsync(3</s/\x4>) = 0
7 1.4 fchdir(0x4) = 0
7 1.5 write(3</s/a>, ""..., 512) = 512 (INJECTED)
7 1.6 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f00
7 1.7 write(5<socket:[9]>, ""..., 9) = 9
"#,
        calls: "open 1 1 create\nwrite 1 0 512\n",
        lost: &[
            ("calls with a descriptor whose path cannot be read", 3),
            ("write whose result strace injected", 1),
        ],
    },
    Example {
        what: "the names of calls and the requests of old versions of strace",
        record: r#"7 1.0 open("/s/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>
7 1.1 pwrite(3</s/a>, ""..., 512, 0) = 512
7 1.2 pread(3</s/a>, ""..., 512, 0) = 512
7 1.3 io_submit(140, 1, [{data=0x7f, pwrite, fildes=3</s/a>, str=""..., nbytes=4096, offset=4096}]) = 1
7 1.4 io_submit(140, 1, [{0x7f0000, 0, 1, 0, 3}]) = 1
7 1.4 syscall_0x1aa(0x3, 0x1, 0, 0x1, 0, 0) = 0x1
7 1.5 io_submit(140, 1, [{data=0x7f, pwrite, fildes=4</elsewhere>, str=""..., nbytes=4096, offset=4096}]) = 1
"#,
        calls: "open 1 1 create\nwrite 1 0 512\nread 1 0 512\n",
        lost: &[
            ("requests of io_submit in the form of strace before version 5", 2),
            ("calls that this version of strace does not name", 1),
        ],
    },
    Example {
        what: "flags that strace shows as numbers beside names, and flags that the trace cannot have",
        record: r#"7 1.0 openat(AT_FDCWD</>, "/s/a", O_RDWR|O_CREAT|O_EXCL|O_APPEND, 0600) = 3</s/a>
7 1.1 pwritev2(3</s/a>, [{iov_base=""..., iov_len=512}], 1, 0, RWF_DSYNC) = 512
7 1.2 pwritev2(3</s/a>, [{iov_base=""..., iov_len=512}], 1, 0, RWF_DSYNC|0x20 /* RWF_??? */) = 512
7 1.3 pwritev2(3</s/a>, [{iov_base=""..., iov_len=512}], 1, 0, 0x20 /* RWF_??? */) = 512
7 1.4 pwritev2(3</s/a>, [{iov_base=""..., iov_len=512}], 1, 0, 0x400 /* RWF_??? */) = 512
7 1.5 fcntl(3</s/a>, F_SETFL, O_RDWR|O_APPEND|O_DIRECT) = 0
7 1.6 fcntl(3</s/a>, F_SETFL, O_RDWR|O_DIRECT) = 0
7 1.7 openat(AT_FDCWD</>, "/s/b", O_RDWR|O_CREAT|0x8000000, 0600) = 4</s/b>
7 1.8 write(4</s/b>, ""..., 512) = 512
7 1.9 openat(AT_FDCWD</>, "/s", O_RDWR|O_TMPFILE|O_DSYNC, 0600) = 5</s/#1>(deleted)
7 2.0 write(5</s/#1>(deleted), ""..., 512) = 512
"#,
        calls: "open 1 1 create\nwrite 1 0 512\nfdatasync 1\nwrite 1 0 512\nfdatasync 1\nwrite 1 0 512\n",
        lost: &[
            ("writes with flags that strace shows as numbers", 1),
            ("fcntl F_SETFL that switches O_DIRECT", 1),
            ("files that were opened with flags that strace shows as numbers", 2),
            ("files without a name that were opened with O_SYNC", 2),
        ],
    },
];

#[test]
fn every_class_of_calls_is_kept_or_counted() {
    for Example { what, record, calls, lost } in EXAMPLES {
        let captured = capture(record);
        assert_eq!(calls_of(&captured), *calls, "{what}");
        for (reason, count) in *lost {
            let found = captured.account.not_kept.iter().find(|(name, _)| name.starts_with(reason));
            let found = found.unwrap_or_else(|| panic!("{what}: {reason}: {:?}", captured.account));
            assert_eq!(found.1.count, *count, "{what}: {reason}");
            assert!(found.1.first.number > 0 && !found.1.first.text.contains("/s"), "{what}: {found:?}");
        }
        let others = captured.account.not_kept.iter().filter(|(name, _)| {
            !lost.iter().any(|(reason, _)| name.starts_with(reason)) && !name.contains("EBADF")
        });
        assert_eq!(others.count(), 0, "{what}: {:?}", captured.account.not_kept);
        let lines = &captured.account.lines;
        assert_eq!(lines.unread, u64::from(what.contains("cut short")), "{what}: {lines:?}");
        assert_eq!(lines.total, record.lines().count() as u64, "{what}: {lines:?}");
    }
}

/// A call that names a file or a descriptor of the folder is never lost without a word, and one elsewhere is outside.
#[test]
fn every_call_of_strace_that_names_a_file_is_counted() {
    let opened = "7 1.1 execve(\"/bin/x\", [\"x\"], 0x7f /* 9 vars */) = 0\n7 1.2 open(\"/s/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>\n7 1.3 open(\"/o/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 4</o/a>\n";
    let mut names = 0;
    for name in all_names() {
        let references = references_of(name);
        for (descriptor, path, inside) in [(3, "/s/a", 1), (4, "/o/a", 0)] {
            let mut arguments = vec!["0".to_owned(); 6];
            for reference in references {
                let (folder, file) = match *reference {
                    Reference::Path(path) => (None, Some(path)),
                    Reference::At(folder, path) => (Some(folder), Some(path)),
                    Reference::Descriptor(number) => (Some(number), None),
                };
                folder.into_iter().for_each(|at| arguments[at] = format!("{descriptor}<{path}>"));
                file.into_iter().for_each(|at| arguments[at] = format!("\"{path}\""));
            }
            let record = format!(
                "{opened}7 1.4 {name}({}) = -1 EPERM (Operation not permitted)\n",
                arguments.join(", ")
            );
            let account = capture(&record).account;
            let failed = account
                .not_kept
                .keys()
                .filter(|reason| reason.starts_with(name) && reason.ends_with("that failed (EPERM)"));
            assert_eq!(
                (failed.count(), account.outside),
                (inside, 3 - inside as u64),
                "{record}: {account:?}"
            );
        }
        names += 1;
    }
    assert!(names > 120, "{names}");
}

/// Each form of strace's output but one is refused by the option that is missing or too many.
#[test]
fn other_forms_of_strace_are_refused_by_their_option() {
    let call = "openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT, 0600) = 3</s/a>";
    for (record, option) in [
        (format!("{call}\n"), "lacks -f and -o"),
        (format!("[pid     7] 1700000000.000001 {call}\n"), "lacks -f and -o"),
        (format!("1700000000.000001 {call}\n"), "lacks -f and -o"),
        (format!("strace: Process 8 attached\n12:00:00 {call}\n"), "lacks -f and -o"),
        (format!("7<a b> 1.5 {call}\n"), "has -Y"),
        (format!("7 {call}\n"), "lacks -ttt"),
        (format!("7 12:00:00 {call}\n"), "lacks -ttt"),
        (format!("7 12:00:00.5 (+     0.000100) {call}\n"), "lacks -ttt"),
        (format!("7 0.000000 {call}\n7 0.5 fsync(3</s/a>) = 0\n"), "lacks -ttt"),
        (format!("7 1.5 [   2] {call}\n"), "has -i, -n"),
        (format!("7 1.5 (+     0.000100) {call}\n"), "has -r"),
        (format!("7 [unconfined_t] 1.5 {call}\n"), "has -i, -n or --secontext"),
        (format!("> 7 1700000000.5 {call}\n"), "something before the process"),
        (format!("     1\t7 1700000000.5 {call}\n"), "something before the process"),
        (format!("1:7 1700000000.5 {call}\n"), "something before the process"),
        (format!("7 1.5 [00007f1c2b0e1f47] {call}\n"), "has -i, -n"),
        (format!("7 1.5 {call}\n > /lib/libc.so(open+0x1) [0x1]\n"), "has -k"),
        ("7 1.5 openat(dirfd=AT_FDCWD</>, pathname=\"/s/a\", flags=O_RDWR) = 3</s/a>\n".to_owned(), "has -N"),
        ("7 1.5 openat(-100</>, \"/s/a\", 0x105042, 0640) = 3</s/a>\n".to_owned(), "has -X raw"),
        ("7 1.5 openat(0xffffff9c, 0x7ffd1234, 0x241, 0x1b6) = 0x4\n".to_owned(), "has -X raw"),
        (format!("7 1.5 {call}\n7 1.6 lseek(3</s/a>, 4096, 0) = 4096\n"), "has -X raw"),
        (format!("7 1.5 {call}\n7 1.6 fcntl(3</s/a>, 0x4, 0x400) = 0\n"), "has -X raw"),
        (format!("7 1.5 {call}\n7 1.6 unlinkat(-100</>, \"/s/a\", 0) = 0\n"), "has -X raw"),
        (format!("7 1.5 {call}\n7 1.6 unlinkat(3</s/a>, \"d\", 0x200) = 0\n"), "0x4000 is O_DIRECT on x86"),
        (
            "7 1.5 openat2(AT_FDCWD</>, \"/s/a\", {flags=0x42, mode=0600}, 24) = 3</s/a>\n".to_owned(),
            "has -X raw",
        ),
        ("7 1.5 openat(AT_FDCWD, \"/s/a\", O_RDWR) = 3\n".to_owned(), "lacks -y"),
        ("7 1.5 write(3, \"\"..., 9) = 9\n".to_owned(), "lacks -y"),
    ] {
        assert!(is_strace(record.as_bytes()), "{record}");
        let refused = check_form(record.as_bytes()).unwrap_err();
        assert!(refused.what.contains(option), "{record}: {refused:?}");
        assert!(
            ["record again with", "take it out"].iter().any(|hint| refused.hint.contains(hint)),
            "{refused:?}"
        );
    }
    // One line without its process is damaged, and no other form.
    let damaged =
        format!("7 1.4 {call}\n7 1.5 fsync(3</s/a>) = 0\n.6 fsync(3</s/a>) = 0\n7 1.7 [fsync(3</s/a>) = 0\n");
    check_form(damaged.as_bytes()).unwrap();
    assert_eq!(capture_below(&damaged, "/s").unwrap().account.lines.unread, 2);
    // An option that only a later call shows is told there.
    let quiet = "7 1.5 fsync(3</s/a>) = 0\n".repeat(3000);
    let late = format!("7 1.4 {call}\n{quiet}7 1.6 lseek(3</s/a>, 4096, 0) = 4096\n");
    check_form(late.as_bytes()).unwrap();
    assert!(capture_below(&late, "/s").unwrap_err().what.contains("has -X raw"));
    check_form(format!("7 1.5 {call}\n7 1.6 ioctl(3</s/a>, FICLONE, 4) = 0\n").as_bytes()).unwrap();
    // strace names the arguments of clone whichever options it has.
    let clone = "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7f2) = 8";
    check_form(format!("7 1.5 {call}\n7 1.6 {clone}\n").as_bytes()).unwrap();
}

#[test]
fn times_become_pauses_also_where_the_clock_is_set_back() {
    let pauses = |times: [&str; 3]| {
        let lines = [
            "open(\"/s/a\", O_RDWR|O_CREAT|O_EXCL) = 3</s/a>",
            "write(3</s/a>, \"\"..., 9) = 9",
            "close(3</s/a>) = 0",
        ];
        let record: String =
            times.iter().zip(lines).map(|(time, line)| format!("7 {time} {line}\n")).collect();
        let captured = capture(&record);
        let pauses: Vec<u64> = captured.trace.calls().iter().map(|call| call.pause_us / 1000).collect();
        (pauses, captured.notes.concat())
    };
    assert_eq!(pauses(["1700000000.0", "1700000001.0", "1700000001.5"]).0, [0, 1000, 500]);
    let (stepped, notes) = pauses(["100.0", "50.0", "51.0"]);
    assert_eq!(stepped, [0, 0, 1000]);
    assert!(notes.contains("set back 1 times"), "{notes}");
}

/// strace -p shows all threads of a process without their start; a child that is taken for one is found out.
#[test]
fn processes_whose_start_is_not_recorded_are_threads_until_they_prove_not_to_be() {
    let opened = "7 1.1 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>\n8 1.2 close(3</s/a>) = 0\n";
    let thread = format!(
        "{opened}8 1.3 openat(AT_FDCWD</>, \"/s/b\", O_RDWR|O_CREAT, 0600) = 3</s/b>\n7 1.4 write(3</s/b>, \"\"..., 9) = 9\n"
    );
    assert_eq!(calls_of(&capture(&thread)), "open 1 1 create\nclose 1\nopen 2 2 create\nwrite 2 0 9\n");
    for after in ["", "8 1.3 openat(AT_FDCWD</>, \"/s/b\", O_RDWR|O_CREAT, 0600) = 3</s/b>\n"] {
        let child = format!("{opened}{after}7 1.4 write(3</s/a>, \"\"..., 9) = 9\n");
        let refused = capture_below(&child, "/s").unwrap_err();
        assert!(refused.hint.contains("%process"), "{child}: {refused:?}");
    }
    // Another process that is traced beside this one has other files under the same numbers.
    let other = "7 1.1 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>\n8 1.2 write(3</o/x>, \"\"..., 5) = 5\n7 1.3 write(3</s/a>, \"\"..., 9) = 9\n8 1.4 close(3</o/x>) = 0\n7 1.5 close(3</s/a>) = 0\n";
    assert_eq!(calls_of(&capture(other)), "open 1 1 create\nwrite 1 0 9\nclose 1\n");
}

#[test]
fn a_folder_behind_a_link_is_found_by_either_path() {
    let record = "7 1.0 openat(AT_FDCWD</>, \"/s/link/a\", O_RDWR|O_CREAT, 0600) = 3</s/real/a>\n7 1.0 write(3</s/real/a>, \"\"..., 9) = 9\n7 1.0 close(3</s/real/a>) = 0\n";
    for below in ["/s/link", "/s/real"] {
        let captured = capture_below(record, below).unwrap();
        assert_eq!(calls_of(&captured), "open 1 1 create\nwrite 1 0 9\nclose 1\n", "{below}");
    }
}

#[test]
fn a_recording_without_a_call_that_can_be_kept_says_why() {
    for (record, words) in [
        ("7 1.1 unlink(\"x\") = 0\n", "working directory"),
        ("7 1.1 open(\"/o/x\", O_RDONLY) = 3</o/x>\n", "outside the folder"),
        ("7 1.1 write(3, \"\"..., 9) = 9\n", "strace does not show"),
        ("7 1.1 chmod(\"/s/a\", 0644) = 0\n", "chmod"),
    ] {
        let refused = capture_below(record, "/s").unwrap_err();
        assert!(refused.what.contains(words), "{record}: {refused:?}");
    }
}

#[test]
fn records_of_strace_are_told_from_others() {
    for record in [
        "execve(\"/bin/true\", [\"true\"], 0x7ffd /* 20 vars */) = 0\n",
        "30161<python3> 1795692545.06 openat(AT_FDCWD</>, \"/srv/a\", O_RDONLY) = 3</srv/a> <0.000038>\n",
        "7 1.5 [00007f1c2b0e1f47] close(3) = 0\n",
        "7 <... fsync resumed>) = 0\n",
        "strace: Process 7 attached\n[pid 7] exit_group(0) = ?\n",
    ] {
        assert!(is_strace(record.as_bytes()), "{record}");
    }
    for other in [
        "R 1 2 3 4",
        "8,0 1 1 0.5 1 D R 1 + 2 [x]",
        "1, 2, 0, 4096, 0",
        "0,4096,4096",
        "",
        "x(",
        "(",
        "a()b",
        "fio version 3 iolog",
    ] {
        assert!(!is_strace(other.as_bytes()), "{other}");
    }
}

#[test]
fn a_file_whose_size_is_never_asked_is_overwritten_and_not_extended() {
    let files = |record: &str| {
        let text = capture(record).trace.to_string();
        text.lines().filter(|line| line.starts_with("file ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let open = "7 1.1 open(\"/s/wal\", O_RDWR) = 3</s/wal>\n";
    let write = "7 1.3 pwrite64(3</s/wal>, \"\"..., 8192, 81920) = 8192\n";
    assert_eq!(files(&format!("{open}{write}")), ["file 0 3 90112"]);
    // A program that asks for the end of a file, or uses O_APPEND, extends it.
    assert_eq!(
        files(&format!("{open}7 1.2 lseek(3</s/wal>, 0, SEEK_END) = 81920\n{write}")),
        ["file 0 3 81920"]
    );
    let append =
        "7 1.1 open(\"/s/wal\", O_RDWR|O_APPEND) = 3</s/wal>\n7 1.2 write(3</s/wal>, \"\"..., 10) = 10\n";
    assert_eq!(files(append), ["file 0 3 0"]);
}

/// A line may be missing between the beginning of a call and the rest of another.
#[test]
fn the_rest_of_another_call_than_the_one_that_was_begun_settles_both() {
    let record = "7 1.1 open(\"/s/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>\n7 1.2 fsync(3</s/a> <unfinished ...>\n7 1.3 <... write resumed>) = 9\n";
    let captured = capture_below(record, "/s").unwrap();
    assert!(captured.account.is_balanced(), "{:?}", captured.account);
    assert_eq!((captured.account.seen, captured.account.count_not_kept()), (3, 2));
}

/// Memory grows with the number of open files, not with the length of the recording.
#[test]
fn a_long_recording_is_read_with_little_memory() {
    let mut reader = super::reader::StraceReader::new(std::path::Path::new("/s"), false);
    let repeated = "7 1.1 open(\"/o/a\", O_RDWR|O_CREAT) = 3</o/a>\n7 1.1 write(3</o/a>, \"\"..., 9) = 9\n7 1.1 clone(flags=SIGCHLD) = 8\n8 1.1 +++ exited with 0 +++\n7 1.1 close(3</o/a>) = 0\n".repeat(20_000);
    let mut lines = super::source::LineSource::new(Box::new(repeated.as_bytes()));
    while let Some(line) = lines.next_line().unwrap() {
        reader.take_line(&line);
    }
    assert!(reader.calls.account.is_balanced());
    let sizes = (
        reader.calls.slots.len(),
        reader.descriptions.count(),
        reader.underway.len(),
        reader.processes.count(),
    );
    assert_eq!(sizes, (0, 0, 0, 1));
}

/// Numbers as large as they can be printed, at every place where the reader calculates with one.
const LARGEST_NUMBERS: &[&str] = &[
    "7 1.1 lseek(3</s/a>, -9223372036854775808, SEEK_END) = 5",
    "7 1.1 pwrite64(3</s/a>, \"\"..., 5, 9223372036854775805) = 5",
    "7 1.1 pread64(3</s/a>, \"\"..., 18446744073709551615, -9223372036854775808) = 9223372036854775807",
    "7 1.1 copy_file_range(3</s/a>, [9223372036854775807], 3</s/a>, [9223372036854775807], 1, 0) = 9223372036854775807",
    "7 1.1 munmap(0xffffffffffffffff, 18446744073709551615) = 0",
    "7 1.1 mmap(NULL, 9223372036854775807, PROT_WRITE, MAP_SHARED, 3</s/a>, 0) = 0xffffffffffffffff",
    "7 1.1 fallocate(3</s/a>, 0, 9223372036854775807, 9223372036854775807) = 0",
    "7 1.1 io_submit(0x7f, 1, [{aio_lio_opcode=IOCB_CMD_PWRITEV, aio_fildes=3</s/a>, aio_buf=[{iov_len=9223372036854775807}, \
     {iov_len=9223372036854775807}, {iov_len=9223372036854775807}], aio_offset=0}]) = 1",
    "7 1.1 io_submit(0x7f, 3, [{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</s/a>, aio_nbytes=9223372036854775807}, {aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</s/a>, aio_nbytes=9223372036854775807}, \
     {aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3</s/a>, aio_nbytes=9223372036854775807}]) = 3",
    "7 18446744073.709551615 fsync(3</s/a>) = 0 <18446744073.709551615>\n7 18446744073.709551615 fsync(3</s/a>) = 0",
];

#[test]
fn the_largest_numbers_are_calculated_with_at_every_place() {
    for line in LARGEST_NUMBERS {
        let record = format!("7 1.0 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT, 0600) = 3</s/a>\n{line}\n");
        if let Ok(captured) = capture_below(&record, "/s") {
            assert!(captured.account.is_balanced(), "{line}: {:?}", captured.account);
        }
        // As the first line it also determines the kind of times.
        let _ = capture_below(line, "/s");
    }
}

/// Lines that show a name at a place where strace prints none, or prints it so that it cannot be told where it ends.
const SECRETS: &[&str] = &[
    "7 1.1 write(3</s/x>SECRET>, \"\"..., 4) = -1 EIO (Input/output error)",
    "7 1.1 mknod(3</s/x> SECRET>, 3) = 0",
    "7 1.1 write(3</s/a\"SECRET\"b>, \"SECRET\"..., 4) = -1 EIO (Input/output error)",
    "7 1.1 ioctl(3</s/a>, \"SECRET\", 0) = 0",
    "7 1.1 fcntl(3</s/a>, F_SECRET/secret, 0) = 0",
    "7 1.1 fallocate(3</s/a>, \"SECRET\", 0, 5) = 0",
    "7 1.1 read(3</s/a>, \"\", 1) = -1 E\u{1b}[31mSECRET",
    "7 1.1 ioctl(3</s/a>, \u{1b}[31m\u{9b}\u{202e}, 0) = 0",
];

#[test]
fn a_reason_names_constants_alone_and_a_line_that_is_shown_hides_where_a_name_may_end() {
    for line in SECRETS {
        let record = format!("7 1.0 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT, 0600) = 3</s/a>\n{line}\n");
        let captured = capture(&record);
        let account = &captured.account;
        assert!(account.count_not_kept() + account.lines.unread > 0, "{line}");
        assert!(!account.to_lines().concat().contains(['\u{1b}', '\u{202e}']), "{line}: {account:?}");
        for (reason, lost) in &captured.account.not_kept {
            assert!(!reason.to_ascii_uppercase().contains("SECRET"), "{line}: {reason}");
            assert!(!reason.chars().any(|one| one.is_control() || one == '\u{202e}'), "{line}: {reason:?}");
            // Text in the place of an error is not a name.
            let shown = lost.first.text.split(" = ").next().unwrap_or_default();
            assert!(!shown.contains("SECRET\"") && !shown.contains("SECRET>"), "{line}: {shown}");
        }
    }
}

#[test]
fn a_directory_that_is_not_shown_is_not_taken_for_the_one_before() {
    let away = ["chdir(\"/elsewhere\"...) = 0", "chdir(0x7ffd) = 0", "fchdir(9) = 0"];
    for call in away {
        let record = format!(
            "7 1.0 chdir(\"/s\") = 0\n7 1.1 creat(\"a\", 0600) = 3</s/a>\n7 1.2 {call}\n7 1.3 unlink(\"a\") = 0\n"
        );
        let captured = capture(&record);
        assert!(!calls_of(&captured).contains("unlink"), "{call}: {}", calls_of(&captured));
        assert!(captured.account.not_kept.keys().any(|why| why.starts_with("relative paths")), "{call}");
    }
}

#[test]
fn a_call_of_several_requests_is_not_kept_if_one_of_them_is_lost() {
    for order in ["9 3</s/a>", "3</s/a> 9"] {
        let requests: Vec<String> = order
            .split(' ')
            .map(|file| {
                format!("{{aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes={file}, aio_nbytes=512, aio_offset=0}}")
            })
            .collect();
        let record = format!(
            "7 1.0 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT, 0600) = 3</s/a>\n7 1.1 io_submit(0x7f, 2, [{}]) = 2\n",
            requests.join(", ")
        );
        let captured = capture(&record);
        assert!(calls_of(&captured).contains("write 1 0 512"), "{order}: {}", calls_of(&captured));
        assert_eq!(captured.account.count_not_kept(), 1, "{order}");
        assert_eq!(captured.account.kept_weight.bytes, 512, "{order}");
        assert_eq!(captured.account.largest_loss(), (0.5, "bytes"), "{order}");
    }
}

/// A recording of a part of the calls is told by what cannot be otherwise.
#[test]
fn a_recording_without_closes_or_without_successes_is_refused() {
    let open = |number: u32| {
        format!("7 1.{number} openat(AT_FDCWD</>, \"/s/{number}\", O_RDWR|O_CREAT, 0600) = 3</s/{number}>\n")
    };
    let opens: String = (0..5).map(open).collect();
    let refused = capture_below(&opens, "/s").unwrap_err();
    assert!(
        refused.what.contains("lacks when its files were closed") && refused.hint.contains("%desc"),
        "{refused:?}"
    );
    let closed = format!("{opens}7 2.0 close(3</s/4>) = 0\n");
    assert_eq!(capture(&closed).account.count_not_kept(), 0);
    let failed =
        "7 1.0 openat(AT_FDCWD</>, \"/s/a\", O_RDONLY) = -1 ENOENT (No such file or directory)\n".repeat(30);
    let refused = check_form(failed.as_bytes()).unwrap_err();
    assert!(refused.what.contains("has -Z"), "{refused:?}");
    check_form(format!("{failed}{closed}").as_bytes()).unwrap();
}

/// A number that is cut is told where the line shows it twice, and where the recording ends within it.
#[test]
fn numbers_that_are_cut_are_not_read_where_a_line_shows_it() {
    let open = "7 1.0 openat(AT_FDCWD</>, \"/s/a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3</s/a>\n";
    for (rest, unread) in [
        ("7 1.1 write(3</s/a>, \"\"..., 4096) = 4096\n", 0),
        ("7 1.1 write(3</s/a>, \"\"..., 4096) = 409", 1),
        ("7 1.1 write(3</s/a>, \"\"..., 409) = 4096\n", 1),
        ("7 1.1 copy_file_range(3</s/a>, NULL, 3</s/a>, NULL, 40, 0) = 4096\n", 1),
        ("7 1.1 +++ exited with 0 +++", 0),
    ] {
        let captured = capture_below(&format!("{open}{rest}"), "/s").unwrap();
        assert_eq!(captured.account.lines.unread, unread, "{rest}: {:?}", captured.account);
    }
}

#[test]
fn files_of_each_process_are_refused_by_the_option_that_wrote_them() {
    use crate::{RecordRequest, recorded_file};
    let folder = tempfile::tempdir().unwrap();
    let request =
        RecordRequest { below: Some(std::path::PathBuf::from("/s")), at_most: 1 << 30, device: None };
    std::fs::write(folder.path().join("calls.7"), "1.0 open(\"/s/a\", O_RDWR) = 3</s/a>\n").unwrap();
    let refused = recorded_file(&folder.path().join("calls"), &request).unwrap_err();
    assert!(refused.what.contains("-ff") && refused.hint.contains("without -ff"), "{refused:?}");
    let refused = recorded_file(&folder.path().join("calls.7"), &request).unwrap_err();
    assert!(refused.what.contains("lacks -f and -o"), "{refused:?}");
    let refused = recorded_file(&folder.path().join("other"), &request).unwrap_err();
    assert!(refused.what.contains("cannot be read"), "{refused:?}");
}
