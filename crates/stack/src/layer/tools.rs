//! Tools that several layers have in common.

use crate::filesystem::{Package, Packages, Tool};

const IN_MOUNT: Packages =
    Packages { debian: Package::Official("mount"), ..Packages::everywhere("util-linux") };
pub(super) const MOUNT: Tool = Tool { program: "mount", version: &["--version"], packages: IN_MOUNT };
pub(super) const UMOUNT: Tool = Tool { program: "umount", version: &["--version"], packages: IN_MOUNT };
