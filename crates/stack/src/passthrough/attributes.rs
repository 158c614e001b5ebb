//! Converts the status of a file from stat(2) to FUSE's form.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, INodeNo, TimeOrNow};
use rustix::fs::{FileType, Stat, Timespec, UTIME_NOW, UTIME_OMIT};

/// Of the file that the kernel knows by this number.
pub(super) fn to_file_attributes(number: u64, found: &Stat) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: u64::try_from(found.st_size).unwrap_or(0),
        blocks: u64::try_from(found.st_blocks).unwrap_or(0),
        atime: to_system_time(found.st_atime, found.st_atime_nsec),
        mtime: to_system_time(found.st_mtime, found.st_mtime_nsec),
        ctime: to_system_time(found.st_ctime, found.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: to_file_type(FileType::from_raw_mode(found.st_mode)),
        perm: (found.st_mode & 0o7777) as u16,
        nlink: u32::try_from(found.st_nlink).unwrap_or(u32::MAX),
        uid: found.st_uid,
        gid: found.st_gid,
        rdev: to_fuse_device(found.st_rdev),
        blksize: u32::try_from(found.st_blksize).unwrap_or(4096),
        flags: 0,
    }
}

pub(super) fn to_file_type(of: FileType) -> fuser::FileType {
    match of {
        FileType::Directory => fuser::FileType::Directory,
        FileType::Symlink => fuser::FileType::Symlink,
        FileType::Fifo => fuser::FileType::NamedPipe,
        FileType::Socket => fuser::FileType::Socket,
        FileType::CharacterDevice => fuser::FileType::CharDevice,
        FileType::BlockDevice => fuser::FileType::BlockDevice,
        FileType::RegularFile | FileType::Unknown => fuser::FileType::RegularFile,
    }
}

/// A device's number as FUSE carries it (`new_encode_dev` in `include/linux/kdev_t.h`).
fn to_fuse_device(device: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// … and back.
pub(super) fn from_fuse_device(device: u32) -> u64 {
    rustix::fs::makedev((device & 0x000f_ff00) >> 8, (device & 0xff) | ((device >> 12) & 0x000f_ff00))
}

fn to_system_time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let within = Duration::from_nanos(nanoseconds.unsigned_abs());
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let since = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    since.and_then(|since| since.checked_add(within)).unwrap_or(UNIX_EPOCH)
}

/// A time that is to be set, or to be left as it is.
pub(super) fn to_timespec(wanted: Option<TimeOrNow>) -> Timespec {
    match wanted {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(TimeOrNow::SpecificTime(time)) => since_epoch(time),
    }
}

fn since_epoch(time: SystemTime) -> Timespec {
    let parts = |since: Duration| {
        (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()))
    };
    let (tv_sec, tv_nsec) = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => parts(after),
        Err(before) => match parts(before.duration()) {
            (seconds, 0) => (-seconds, 0),
            (seconds, nanoseconds) => (-seconds - 1, 1_000_000_000 - nanoseconds),
        },
    };
    Timespec { tv_sec, tv_nsec }
}

#[cfg(test)]
mod tests {
    use super::{from_fuse_device, since_epoch, to_fuse_device, to_system_time};

    #[test]
    fn times_before_and_after_1970_come_back_as_they_were() {
        for (seconds, nanoseconds) in [(0, 0), (5, 7), (-1, 0), (-1, 999_999_999), (-5, 1), (1 << 33, 1)] {
            let time = since_epoch(to_system_time(seconds, nanoseconds));
            assert_eq!((time.tv_sec, time.tv_nsec), (seconds, nanoseconds));
        }
    }

    #[test]
    fn numbers_of_devices_come_back_as_they_were() {
        for (major, minor) in [(0, 0), (1, 3), (8, 255), (259, 256), (4095, 1_048_575)] {
            let number = rustix::fs::makedev(major, minor);
            assert_eq!(from_fuse_device(to_fuse_device(number)), number, "{major}:{minor}");
        }
    }
}
