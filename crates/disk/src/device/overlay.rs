//! Lays an overlay over a store: pages in memory take temporary writes and are dropped together.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;
/// Most pages: a filesystem that is mounted once writes far less.
const MAX_PAGES: usize = (256 << 20) / PAGE_BYTES;

/// Why an overlay cannot be written.
#[derive(Debug)]
pub(super) enum OverlayError {
    /// It has its largest number of pages.
    Full,
    /// The store's file cannot be read.
    Below(std::io::Error),
}

/// Pages by their number.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    pages: HashMap<u64, Box<[u8; PAGE_BYTES]>>,
}

/// A part of a page, and its place among the bytes that are read or written.
struct Part {
    page: u64,
    /// Offset in the page.
    page_offset: usize,
    /// Offset in the bytes.
    buffer_offset: usize,
    length: usize,
}

/// Splits a range of bytes at the boundaries of pages.
fn split_at_pages(offset: u64, length: usize) -> impl Iterator<Item = Part> {
    let mut buffer_offset = 0;
    std::iter::from_fn(move || {
        let place = offset + buffer_offset as u64;
        let page_offset = (place % PAGE_BYTES as u64) as usize;
        let part = Part {
            page: place / PAGE_BYTES as u64,
            page_offset,
            buffer_offset,
            length: (PAGE_BYTES - page_offset).min(length - buffer_offset),
        };
        buffer_offset += part.length;
        (part.length > 0).then_some(part)
    })
}

impl Overlay {
    /// Replaces bytes that were read from the store by those of the overlay.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) {
        for part in split_at_pages(offset, bytes.len()) {
            let Some(page) = self.pages.get(&part.page) else { continue };
            let slot = bytes.get_mut(part.buffer_offset..part.buffer_offset + part.length);
            if let (Some(slot), Some(page)) =
                (slot, page.get(part.page_offset..part.page_offset + part.length))
            {
                slot.copy_from_slice(page);
            }
        }
    }

    /// Writes to the overlay. The rest of a page that is written in part comes from the store's file.
    pub(super) fn write_at(
        &mut self,
        bytes: &[u8],
        offset: u64,
        store_file: &File,
    ) -> Result<(), OverlayError> {
        for part in split_at_pages(offset, bytes.len()) {
            if !self.pages.contains_key(&part.page) {
                if self.pages.len() >= MAX_PAGES {
                    return Err(OverlayError::Full);
                }
                let mut page = Box::new([0; PAGE_BYTES]);
                if part.length < PAGE_BYTES {
                    fill_page(page.as_mut_slice(), part.page * PAGE_BYTES as u64, store_file)
                        .map_err(OverlayError::Below)?;
                }
                self.pages.insert(part.page, page);
            }
            let page = self.pages.get_mut(&part.page);
            let slot = page.and_then(|page| page.get_mut(part.page_offset..part.page_offset + part.length));
            if let (Some(slot), Some(bytes)) =
                (slot, bytes.get(part.buffer_offset..part.buffer_offset + part.length))
            {
                slot.copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

/// Fills a page from the store's file. A device need not end with a page.
fn fill_page(page: &mut [u8], mut offset: u64, store_file: &File) -> std::io::Result<()> {
    let mut rest = page;
    while !rest.is_empty() {
        match store_file.read_at(rest, offset) {
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
