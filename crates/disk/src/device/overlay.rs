//! What is written over a store for a while: pages in memory, which are forgotten together.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes.
const PAGE: usize = 4096;
/// Pages at most: what a filesystem writes while it is mounted once is far less.
const MOST: usize = (256 << 20) / PAGE;

/// Why something cannot be written over a store.
#[derive(Debug)]
pub(super) enum OverlayError {
    /// There are more pages than are kept.
    Full,
    /// What lies below cannot be read.
    Below(std::io::Error),
}

/// Pages by their number.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    pages: HashMap<u64, Box<[u8; PAGE]>>,
}

/// A part of a page, and where it lies among the bytes that are read or written.
struct Part {
    page: u64,
    /// Of the page.
    from: usize,
    /// Of the bytes.
    at: usize,
    length: usize,
}

fn parts(offset: u64, length: usize) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let place = offset + at as u64;
        let from = (place % PAGE as u64) as usize;
        let part = Part { page: place / PAGE as u64, from, at, length: (PAGE - from).min(length - at) };
        at += part.length;
        (part.length > 0).then_some(part)
    })
}

impl Overlay {
    /// Puts what was written over what the store holds there.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) {
        for part in parts(offset, bytes.len()) {
            let Some(page) = self.pages.get(&part.page) else { continue };
            let slot = bytes.get_mut(part.at..part.at + part.length);
            if let (Some(slot), Some(page)) = (slot, page.get(part.from..part.from + part.length)) {
                slot.copy_from_slice(page);
            }
        }
    }

    /// A page that is written in part has the rest of it from the store's file.
    pub(super) fn write_at(&mut self, bytes: &[u8], offset: u64, below: &File) -> Result<(), OverlayError> {
        for part in parts(offset, bytes.len()) {
            if !self.pages.contains_key(&part.page) {
                if self.pages.len() >= MOST {
                    return Err(OverlayError::Full);
                }
                let mut page = Box::new([0; PAGE]);
                if part.length < PAGE {
                    fill(page.as_mut_slice(), part.page * PAGE as u64, below).map_err(OverlayError::Below)?;
                }
                self.pages.insert(part.page, page);
            }
            let page = self.pages.get_mut(&part.page);
            let slot = page.and_then(|page| page.get_mut(part.from..part.from + part.length));
            if let (Some(slot), Some(bytes)) = (slot, bytes.get(part.at..part.at + part.length)) {
                slot.copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

/// A device need not end with a page.
fn fill(page: &mut [u8], mut offset: u64, below: &File) -> std::io::Result<()> {
    let mut rest = page;
    while !rest.is_empty() {
        match below.read_at(rest, offset) {
            Ok(0) => break,
            Ok(count) => {
                rest = rest.get_mut(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
