//! A folder of the user on any filesystem: it is never made, mounted or checked.

use super::model::Filesystem;

/// It is not in the registry: it has no tools, drivers or facts.
pub static DIRECTORY: Filesystem = Filesystem {
    name: fsverdict_judgement::plan::DIRECTORY,
    title: "a folder of yours, on whatever it lies: NFS, Ceph, Lustre, ZFS … (`path`)",
    ..Filesystem::PLAIN
};
