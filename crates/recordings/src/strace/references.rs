//! Which arguments of each system call name a file or a descriptor: every call of the classes `file` and `desc` of strace that the trace
//! has no call for, and all of them where they fail.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The kind of file reference in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reference {
    Path(usize),
    /// A directory descriptor, and a path relative to it.
    At(usize, usize),
    Descriptor(usize),
}

use Reference::{At, Descriptor, Path};

/// The names of calls by the arguments that refer to a file.
const CALLS: &[(&[Reference], &str)] = &[
    (
        &[Descriptor(0)],
        "read readv pread pread64 preadv preadv2 write writev pwrite pwrite64 pwritev pwritev2 lseek _llseek llseek fsync \
         fdatasync syncfs sync_file_range sync_file_range2 ftruncate ftruncate64 fallocate getdents getdents64 \
         readdir close dup dup2 dup3 fcntl fcntl64 ioctl flock fadvise64 fadvise64_64 arm_fadvise64_64 readahead \
         fstat fstat64 oldfstat fstatfs fstatfs64 fchmod fchown fchown32 fchdir fgetxattr fsetxattr flistxattr \
         fremovexattr vmsplice quotactl_fd cachestat finit_module",
    ),
    (
        &[At(0, 1)],
        "openat openat2 newfstatat fstatat64 statx faccessat faccessat2 unlinkat mkdirat mknodat fchmodat fchmodat2 \
         fchownat futimesat utimensat utimensat_time64 readlinkat name_to_handle_at execveat setxattrat getxattrat \
         listxattrat removexattrat open_tree mount_setattr fspick file_getattr file_setattr",
    ),
    (
        &[Path(0)],
        "open creat stat stat64 oldstat lstat lstat64 oldlstat access unlink rmdir mkdir mknod chmod chown chown32 \
         lchown lchown32 truncate truncate64 readlink utime utimes chdir chroot statfs statfs64 getxattr setxattr \
         listxattr removexattr lgetxattr lsetxattr llistxattr lremovexattr execve swapon swapoff acct uselib umount \
         umount2 oldumount spu_create",
    ),
    (&[Path(0), Path(1)], "rename link mount pivot_root"),
    (&[At(0, 1), At(2, 3)], "renameat renameat2 linkat move_mount"),
    (&[Path(1)], "symlink inotify_add_watch quotactl"),
    (&[At(1, 2)], "symlinkat"),
    (&[At(3, 4)], "fanotify_mark"),
    (&[Descriptor(0), Descriptor(2)], "copy_file_range splice"),
    (&[Descriptor(0), Descriptor(1)], "tee sendfile sendfile64 kexec_file_load"),
    (&[Descriptor(4)], "mmap mmap2 old_mmap"),
    (&[Descriptor(2)], "epoll_ctl"),
];

static REFERENCES: LazyLock<HashMap<&str, &[Reference]>> = LazyLock::new(|| {
    let names = |(references, names): &(&'static [Reference], &'static str)| {
        let references = *references;
        names.split_ascii_whitespace().map(move |name| (name, references))
    };
    CALLS.iter().flat_map(names).collect()
});

/// The file references in the arguments of a call.
pub(super) fn references_of(name: &str) -> &'static [Reference] {
    REFERENCES.get(name).copied().unwrap_or_default()
}

/// The names of all calls that name a file or a descriptor.
#[cfg(test)]
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    REFERENCES.keys().copied()
}
