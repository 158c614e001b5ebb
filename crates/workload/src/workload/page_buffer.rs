//! Memory that begins at a page, as calls past the kernel's cache want it.

const PAGE: usize = 4096;

/// Grows as it is asked for more, and then stays.
#[derive(Debug, Default)]
pub(super) struct PageBuffer {
    bytes: Vec<u8>,
}

impl PageBuffer {
    /// So many bytes of it.
    pub(super) fn with_length(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.len() < length + PAGE {
            self.bytes = vec![0; length + PAGE];
        }
        let skipped = self.bytes.as_ptr().align_offset(PAGE).min(PAGE);
        &mut self.bytes[skipped..skipped + length]
    }
}

#[cfg(test)]
mod tests {
    use super::PageBuffer;

    #[test]
    fn it_begins_at_a_page_and_is_as_long_as_asked() {
        let mut buffer = PageBuffer::default();
        for length in [1, 4096, 100, 70_000] {
            let bytes = buffer.with_length(length);
            assert_eq!((bytes.len(), bytes.as_ptr().addr() % 4096), (length, 0));
        }
    }
}
