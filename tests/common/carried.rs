//! A kernel as one file, as it comes from another machine.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::Place;
use super::sources::{UNBOOTABLE, kernel, makefile_of, tree};

/// What is in the cache of a place, hidden or not, but for kernels of whoever runs the tests.
pub fn cached(place: &Place) -> Vec<String> {
    let folder = fs::read_dir(place.path().join("cache/fsverdict/kernels"));
    let own = |entry: &fs::DirEntry| !entry.file_type().unwrap().is_symlink();
    let names = folder.into_iter().flatten().flatten().filter(own);
    let mut names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A kernel that was built of nothing, and exported.
pub fn exported(place: &Place) -> (String, PathBuf) {
    let tree = tree(place, &makefile_of("6.13.1", ""));
    fs::write(tree.join("made"), UNBOOTABLE).unwrap();
    kernel(place, &["build", tree.to_str().unwrap()]).exits(0);
    let file = place.path().join("kernel.tar.gz");
    let seen = kernel(place, &["export", "6.13.1", file.to_str().unwrap()]).exits(0);
    kernel(place, &["export", "6.13.1", file.to_str().unwrap()]).exits(1).says(&["cannot write"]);
    let name = seen.stderr.split(';').next().unwrap().to_owned();
    (name, file)
}

/// The files of a package, each with its path.
pub fn files(package: &Path) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(package).unwrap()));
    let files = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_string_lossy().into_owned(), bytes)
    });
    files.collect()
}

/// A package of these entries: path, type, size as the header has it, and content.
pub fn package(entries: &[(&str, u8, u64, &[u8])]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    for (path, kind, size, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..4].copy_from_slice(b"/etc");
        header.set_entry_type(tar::EntryType::new(*kind));
        header.set_size(*size);
        header.set_cksum();
        packer.write_all(header.as_bytes()).unwrap();
        packer.write_all(content).unwrap();
        packer.write_all(&vec![0; content.len().next_multiple_of(512) - content.len()]).unwrap();
    }
    packer.write_all(&[0; 1024]).unwrap();
    packer.finish().unwrap()
}

/// A package with these bytes behind the last file, in place of the two blocks of zeros that end an archive.
pub fn ending(entries: &[(&str, u8, u64, &[u8])], end: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    GzDecoder::new(package(entries).as_slice()).read_to_end(&mut archive).unwrap();
    archive.truncate(archive.len() - 1024);
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&archive).unwrap();
    packer.write_all(end).unwrap();
    packer.finish().unwrap()
}

/// A package of these entries, and after them a file of so many zeros.
pub fn bomb(entries: &[(&str, u8, u64, &[u8])], path: &str, zeros: u64) -> Vec<u8> {
    let mut archive = Vec::new();
    GzDecoder::new(package(entries).as_slice()).read_to_end(&mut archive).unwrap();
    archive.truncate(archive.len() - 1024);
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(zeros);
    header.set_cksum();
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&archive).unwrap();
    packer.write_all(header.as_bytes()).unwrap();
    std::io::copy(&mut std::io::repeat(0).take(zeros + 1024), &mut packer).unwrap();
    packer.finish().unwrap()
}

/// As it comes from somebody's machine, with these changes to what is said in it.
pub fn relabelled(label: &[u8], changes: &[(&str, &str)]) -> Vec<u8> {
    let text = String::from_utf8(label.to_vec()).unwrap();
    let changed = changes.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}: {text}");
        text.replace(from, to)
    });
    changed.into_bytes()
}
