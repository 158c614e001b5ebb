//! The capabilities(7) of root that a sandboxed program or a tool keeps.
//!
//! Capabilities and their bounding set are a thread's: a process started by a thread that has given some up never
//! gets them back, and the rest of this process keeps them.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use serde::{Deserialize, Serialize};

use super::{SandboxError, system};

/// The capabilities that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Capabilities {
    /// All capabilities of the caller.
    All,
    /// The agent's: to set up a device, a filesystem on it, and sandboxes for phases.
    Agent,
    /// A tool's (mkfs, mount, fsck), which works on devices and mounts that are there, and can make no node of others.
    Tool,
    /// A phase's: changing owners and modes, as `rsync -a` does, and no more. Without SYS_ADMIN it cannot mount, without
    /// MKNOD it cannot reach a device, without DAC_READ_SEARCH it cannot open files by handle behind the mounts' back.
    Phase,
    /// A guest kernel's: reads every file that root could, since its guest's root is this machine's.
    Reader,
    /// None at all: for a process of fsverdict that only parses untrusted input from given descriptors.
    Nothing,
}

const READER: CapabilitySet = CapabilitySet::DAC_OVERRIDE;
const PHASE: CapabilitySet = READER
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);
/// SYS_ADMIN: to mount, and because mkfs.xfs and xfs_repair set a device's block size (BLKBSZSET).
const TOOL: CapabilitySet = PHASE.union(CapabilitySet::SYS_ADMIN);
/// MKNOD for the nodes of its own devices, NET_ADMIN for the loopback of phases, SETPCAP to drop capabilities for them,
/// IPC_LOCK for cryptsetup, SYSLOG for the kernel's messages about a failed mount.
const AGENT: CapabilitySet = TOOL
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::IPC_LOCK);

impl Capabilities {
    /// Whether the program is untrusted, chosen by the user: it is shut off from everything that it does not need.
    pub fn of_a_stranger(self) -> bool {
        matches!(self, Capabilities::Phase | Capabilities::Reader | Capabilities::Nothing)
    }

    fn to_set(self) -> Option<CapabilitySet> {
        match self {
            Capabilities::All => None,
            Capabilities::Agent => Some(AGENT),
            Capabilities::Tool => Some(TOOL),
            Capabilities::Phase => Some(PHASE),
            Capabilities::Reader => Some(READER),
            Capabilities::Nothing => Some(CapabilitySet::empty()),
        }
    }
}

/// This thread, and all it starts, keep only these, for good.
pub(super) fn keep_only(capabilities: Capabilities) -> Result<(), SandboxError> {
    let Some(kept) = capabilities.to_set() else { return Ok(()) };
    for capability in CapabilitySet::all().difference(kept).iter() {
        match remove_capability_from_bounding_set(capability) {
            // A kernel that does not know a capability cannot grant it. An ordinary user without namespaces has none to
            // give up, and cannot gain any below.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(errno) => return Err(system("give up a capability")(errno)),
        }
    }
    let had = rustix::thread::capabilities(None).map_err(system("look at the capabilities"))?;
    // In a container some may be missing from the start.
    let kept_set = kept.intersection(had.permitted);
    let remaining =
        CapabilitySets { effective: kept_set, permitted: kept_set, inheritable: CapabilitySet::empty() };
    set_capabilities(None, remaining).map_err(system("give up capabilities"))?;
    set_no_new_privs(true).map_err(system("give up gaining privileges"))
}
