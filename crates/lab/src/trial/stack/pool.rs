//! The pool that a filesystem lies in: imported before it is mounted or checked, exported afterwards.
//!
//! The cache of a pool survives an unmount and is gone after an export, so a cold start needs no other step.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use fsverdict_linux::host::mounts::{self, DEVICES};
use fsverdict_linux::sandbox::make_node;

use super::super::error::TrialError;
use super::super::programs::{Line, NamedTop, POOL_KEY};
use super::Stack;

/// The folder below `/dev` with further nodes of a pool's devices. `zpool create` divides a disk that it knows by its name (`vd…`, `sd…`,
/// `loop…`) into partitions and waits for udev, which no trial has; a device of another name it takes as it is.
const FOLDER: &str = "fsverdict";
/// Where the kernel's own nodes of devices are shown for a moment. ZFS opens the devices of a pool in threads of the kernel,
/// which see the guest's first `/dev` and not the trial's.
const KERNEL_NODES: &str = "/tmp/fsverdict/nodes";

impl Stack<'_> {
    /// The name of a device for programs that take it for a part of a pool.
    pub(super) fn named_for_pool(&self, top: NamedTop) -> NamedTop {
        match self.filesystem.pool {
            Some(_) => NamedTop { path: node_for_pool(&top.path), ..top },
            None => top,
        }
    }

    /// The path of a device as the programs of a pool are given it.
    pub(super) fn node_in_pool(&self, device: &Path) -> String {
        node_for_pool(device).to_string_lossy().into_owned()
    }

    /// The first device of the pool, missing or not, whose name the pool has.
    pub(super) fn device_that_names_pool(&self) -> Option<String> {
        self.filesystem.pool?;
        self.known_devices().next().map(|top| self.node_in_pool(&top.path))
    }

    pub(super) fn pool_name(&self) -> String {
        self.filesystem.mounted_as(&self.device_that_names_pool().unwrap_or_default())
    }

    /// Makes the nodes that a pool's programs are given.
    pub(super) fn make_pool_nodes(&self) -> Result<(), TrialError> {
        if self.filesystem.pool.is_none() {
            return Ok(());
        }
        let devices: Vec<PathBuf> = self.top_devices().into_iter().map(|top| top.path).collect();
        if devices.iter().all(|device| node_for_pool(device).exists()) {
            return Ok(());
        }
        // Of 32 bytes, as the format `raw` has it (zfsprops(7)); it protects nothing.
        std::fs::write(POOL_KEY, [b'k'; 32]).map_err(TrialError::io_error("write the key of the pool"))?;
        let nodes = Path::new(KERNEL_NODES);
        std::fs::create_dir_all(nodes).map_err(TrialError::io_error("make a folder for devices"))?;
        mounts::mount_kernel_filesystem("devtmpfs", nodes, false).map_err(TrialError::host_error)?;
        let made = devices.iter().try_for_each(|device| make_nodes(device, nodes));
        mounts::unmount(nodes).map_err(TrialError::host_error)?;
        made
    }

    /// Makes the pool known to the kernel, unless it is.
    pub(super) fn import_pool(&mut self) -> Result<(), TrialError> {
        if self.filesystem.pool.is_none() || self.imported {
            return Ok(());
        }
        self.make_pool_nodes()?;
        self.wait_until_released();
        self.run_required(Line::Import)?;
        self.imported = true;
        Ok(())
    }

    /// Lets the kernel forget the pool, if it knows it.
    pub(super) fn export_pool(&mut self) -> Result<(), TrialError> {
        if !self.imported {
            return Ok(());
        }
        self.run_required(Line::Export)?;
        self.imported = false;
        Ok(())
    }

    /// Ends the transactions of the pool, if it is imported: they would go on for seconds while the device is quiet.
    pub(in crate::trial) fn sync_pool(&mut self) -> Result<(), TrialError> {
        if self.imported { self.run_required(Line::SyncPool) } else { Ok(()) }
    }
}

fn node_for_pool(device: &Path) -> PathBuf {
    node_in(Path::new(DEVICES), device)
}

fn node_in(devices: &Path, device: &Path) -> PathBuf {
    devices.join(FOLDER).join(device.file_name().unwrap_or_default())
}

/// Makes the further node of a device among the kernel's, and among the trial's.
fn make_nodes(device: &Path, kernel_nodes: &Path) -> Result<(), TrialError> {
    let number = rustix::fs::stat(device)
        .map_err(|errno| TrialError::io_error("look at a device")(errno.into()))?
        .st_rdev;
    [kernel_nodes, Path::new(DEVICES)]
        .into_iter()
        .try_for_each(|devices| make_node(&node_in(devices, device), FileType::BlockDevice, number))
        .map_err(TrialError::host_error)
}
