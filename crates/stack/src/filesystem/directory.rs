//! What stands for a folder of the user's, whatever it lies on: nothing is made, mounted or checked there.

use super::model::Filesystem;

/// No row of the registry: there are no tools, drivers or facts of it.
pub static DIRECTORY: Filesystem = Filesystem {
    name: fsverdict_judgement::plan::DIRECTORY,
    title: "a folder of yours, on whatever it lies: NFS, Ceph, Lustre, ZFS … (`path`)",
    ..Filesystem::PLAIN
};
