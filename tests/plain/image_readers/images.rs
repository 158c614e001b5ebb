//! Images that this machine's mkfs tools make in files, and changes to their bytes that can be undone.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(super) const BLOCK: u64 = 4096;
const MIB: u64 = 1 << 20;

/// A filesystem with the command line that makes an image of it; IMAGE and TREE are replaced.
pub(super) struct Recipe {
    pub(super) filesystem: &'static str,
    pub(super) size: u64,
    mkfs: &'static str,
    /// What fills it, where mkfs does not.
    fill: &'static str,
}

pub(super) const RECIPES: &[Recipe] = &[
    Recipe { filesystem: "ext2", size: 64 * MIB, mkfs: "mkfs.ext2 -q -F -b 4096 -d TREE IMAGE", fill: "" },
    Recipe { filesystem: "ext3", size: 64 * MIB, mkfs: "mkfs.ext3 -q -F -b 1024 -d TREE IMAGE", fill: "" },
    Recipe { filesystem: "ext4", size: 64 * MIB, mkfs: "mkfs.ext4 -q -F -b 4096 -d TREE IMAGE", fill: "" },
    Recipe { filesystem: "xfs", size: 320 * MIB, mkfs: "mkfs.xfs -q IMAGE", fill: "" },
    Recipe { filesystem: "btrfs", size: 256 * MIB, mkfs: "mkfs.btrfs -q --rootdir TREE IMAGE", fill: "" },
    Recipe {
        filesystem: "f2fs",
        size: 64 * MIB,
        mkfs: "mkfs.f2fs -q IMAGE",
        fill: "sload.f2fs -f TREE IMAGE",
    },
    Recipe { filesystem: "jfs", size: 32 * MIB, mkfs: "mkfs.jfs -q IMAGE", fill: "" },
    Recipe { filesystem: "nilfs2", size: 160 * MIB, mkfs: "mkfs.nilfs2 -q IMAGE", fill: "" },
    Recipe { filesystem: "reiserfs", size: 64 * MIB, mkfs: "mkfs.reiserfs -q -f -f IMAGE", fill: "" },
];

/// An image, its written blocks, and what to write back to have it as mkfs left it.
pub(super) struct Image {
    _folder: TempDir,
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) written: BTreeSet<u64>,
    undo: Vec<(u64, Vec<u8>)>,
    written_first: BTreeSet<u64>,
}

/// A tree of 400 small files, two folders and one file of 300 kB.
fn tree(folder: &Path) -> PathBuf {
    let tree = folder.join("tree");
    std::fs::create_dir_all(tree.join("a-folder-with-a-name")).unwrap();
    for number in 0..400 {
        let folder = if number % 2 == 0 { tree.join("a-folder-with-a-name") } else { tree.clone() };
        std::fs::write(folder.join(format!("file-number-{number}")), vec![number as u8; 1500]).unwrap();
    }
    std::fs::write(tree.join("large-file"), vec![7; 300_000]).unwrap();
    tree
}

fn run_tool(line: &str, image: &Path, tree: &Path) {
    let words = line.split(' ').map(|word| match word {
        "IMAGE" => image.display().to_string(),
        "TREE" => tree.display().to_string(),
        _ => word.to_owned(),
    });
    let words: Vec<String> = words.collect();
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(&words[0]);
    let output = command.args(&words[1..]).env("PATH", path).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", words[0]));
    assert!(output.status.success(), "{line}: {output:?}");
}

impl Recipe {
    /// The image as its tools make it.
    pub(super) fn make(&self) -> Image {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("image");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(self.size).unwrap();
        let tree = tree(folder.path());
        run_tool(self.mkfs, &path, &tree);
        if !self.fill.is_empty() {
            run_tool(self.fill, &path, &tree);
        }
        let (mut written, mut bytes) = (BTreeSet::new(), vec![0; BLOCK as usize]);
        for block in 0..self.size / BLOCK {
            file.read_exact_at(&mut bytes, block * BLOCK).unwrap();
            if bytes != [0; BLOCK as usize] {
                written.insert(block);
            }
        }
        let written_first = written.clone();
        Image { _folder: folder, file, size: self.size, written, undo: Vec::new(), written_first }
    }
}

impl Image {
    pub(super) fn get(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    pub(super) fn put(&mut self, at: u64, bytes: &[u8]) {
        self.undo.push((at, self.get(at, bytes.len())));
        self.file.write_all_at(bytes, at).unwrap();
        self.written.extend(at / BLOCK..(at + bytes.len() as u64).div_ceil(BLOCK));
    }

    pub(super) fn put16(&mut self, at: u64, value: u16) {
        self.put(at, &value.to_le_bytes());
    }

    pub(super) fn put32(&mut self, at: u64, value: u32) {
        self.put(at, &value.to_le_bytes());
    }

    pub(super) fn put64(&mut self, at: u64, value: u64) {
        self.put(at, &value.to_le_bytes());
    }

    pub(super) fn le32(&self, at: u64) -> u64 {
        u32::from_le_bytes(self.get(at, 4).try_into().unwrap()).into()
    }

    pub(super) fn le64(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.get(at, 8).try_into().unwrap())
    }

    /// The last block of the device but so many, which no image here uses.
    pub(super) fn spare(&self, number: u64) -> u64 {
        let block = self.size / BLOCK - 100 - number;
        assert!(!self.written_first.contains(&block));
        block
    }

    /// The image as mkfs left it.
    pub(super) fn restore(&mut self) {
        for (at, bytes) in std::mem::take(&mut self.undo).into_iter().rev() {
            self.file.write_all_at(&bytes, at).unwrap();
        }
        self.written.clone_from(&self.written_first);
    }
}
