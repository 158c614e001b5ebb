//! Which arguments of each system call name a file or a descriptor: every call of the classes `file` and `desc` of strace that the trace
//! has no call for, and all of them where they fail.

/// The kind of file reference in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    Path(usize),
    /// A directory descriptor, and a path relative to it.
    At(usize, usize),
    Descriptor(usize),
}

use Reference::{At, Descriptor, Path};

/// Calls on one descriptor, which is their first argument.
const ON_DESCRIPTOR: &[&str] = &[
    "read",
    "readv",
    "pread64",
    "preadv",
    "preadv2",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "lseek",
    "_llseek",
    "llseek",
    "fsync",
    "fdatasync",
    "syncfs",
    "sync_file_range",
    "sync_file_range2",
    "ftruncate",
    "ftruncate64",
    "fallocate",
    "getdents",
    "getdents64",
    "readdir",
    "close",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "fcntl64",
    "ioctl",
    "flock",
    "fadvise64",
    "fadvise64_64",
    "arm_fadvise64_64",
    "readahead",
    "fstat",
    "fstat64",
    "oldfstat",
    "fstatfs",
    "fstatfs64",
    "fchmod",
    "fchown",
    "fchown32",
    "fchdir",
    "fgetxattr",
    "fsetxattr",
    "flistxattr",
    "fremovexattr",
    "vmsplice",
    "quotactl_fd",
    "cachestat",
    "file_getattr",
    "file_setattr",
];

/// Calls on one path, which is their first argument.
const ON_PATH: &[&str] = &[
    "open",
    "creat",
    "stat",
    "stat64",
    "oldstat",
    "lstat",
    "lstat64",
    "oldlstat",
    "access",
    "unlink",
    "rmdir",
    "mkdir",
    "mknod",
    "chmod",
    "chown",
    "chown32",
    "lchown",
    "lchown32",
    "truncate",
    "truncate64",
    "readlink",
    "utime",
    "utimes",
    "chdir",
    "chroot",
    "statfs",
    "statfs64",
    "getxattr",
    "setxattr",
    "listxattr",
    "removexattr",
    "lgetxattr",
    "lsetxattr",
    "llistxattr",
    "lremovexattr",
    "execve",
    "swapon",
    "swapoff",
    "acct",
    "uselib",
    "umount",
    "umount2",
    "oldumount",
    "spu_create",
];

/// Calls on a path that is relative to a descriptor: their first two arguments.
const AT_PATH: &[&str] = &[
    "openat",
    "openat2",
    "newfstatat",
    "fstatat64",
    "statx",
    "faccessat",
    "faccessat2",
    "unlinkat",
    "mkdirat",
    "mknodat",
    "fchmodat",
    "fchmodat2",
    "fchownat",
    "futimesat",
    "utimensat",
    "utimensat_time64",
    "readlinkat",
    "name_to_handle_at",
    "execveat",
    "setxattrat",
    "getxattrat",
    "listxattrat",
    "removexattrat",
    "open_tree",
    "mount_setattr",
    "file_getattr",
    "file_setattr",
    "fspick",
];

/// Calls with an unusual order of arguments.
const OTHERS: &[(&str, &[Reference])] = &[
    ("rename", &[Path(0), Path(1)]),
    ("link", &[Path(0), Path(1)]),
    ("renameat", &[At(0, 1), At(2, 3)]),
    ("renameat2", &[At(0, 1), At(2, 3)]),
    ("linkat", &[At(0, 1), At(2, 3)]),
    ("symlink", &[Path(1)]),
    ("symlinkat", &[At(1, 2)]),
    ("inotify_add_watch", &[Path(1)]),
    ("fanotify_mark", &[At(3, 4)]),
    ("copy_file_range", &[Descriptor(0), Descriptor(2)]),
    ("splice", &[Descriptor(0), Descriptor(2)]),
    ("tee", &[Descriptor(0), Descriptor(1)]),
    ("sendfile", &[Descriptor(0), Descriptor(1)]),
    ("sendfile64", &[Descriptor(0), Descriptor(1)]),
    ("mmap", &[Descriptor(4)]),
    ("mmap2", &[Descriptor(4)]),
    ("old_mmap", &[Descriptor(4)]),
    ("mount", &[Path(0), Path(1)]),
    ("pivot_root", &[Path(0), Path(1)]),
    ("quotactl", &[Path(1)]),
    ("move_mount", &[At(0, 1), At(2, 3)]),
    ("epoll_ctl", &[Descriptor(2)]),
    ("kexec_file_load", &[Descriptor(0), Descriptor(1)]),
    ("finit_module", &[Descriptor(0)]),
];

/// The file references in the arguments of a call.
pub(super) fn references_of(name: &str) -> &'static [Reference] {
    if ON_DESCRIPTOR.contains(&name) {
        return &[Descriptor(0)];
    }
    if AT_PATH.contains(&name) {
        return &[At(0, 1)];
    }
    if ON_PATH.contains(&name) {
        return &[Path(0)];
    }
    let other = OTHERS.iter().find(|(other, _)| *other == name);
    other.map_or(&[], |(_, references)| references)
}

/// The names of all calls that name a file or a descriptor.
#[cfg(test)]
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|(name, _)| *name);
    ON_DESCRIPTOR.iter().chain(ON_PATH).chain(AT_PATH).copied().chain(others)
}
