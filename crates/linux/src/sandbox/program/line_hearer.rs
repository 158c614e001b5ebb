//! Passes a program's output line by line to a callback while it runs.

use std::fmt;
use std::sync::Arc;

/// No more of a line is heard than this, in bytes.
const LONGEST: usize = 4096;

type HearLine = dyn Fn(&[u8]) + Send + Sync;

/// Hears each line of a stream at the moment at which its end was read.
#[derive(Clone)]
pub struct LineHearer {
    hear: Arc<HearLine>,
    /// The bytes of the current line so far.
    begun: Vec<u8>,
}

impl LineHearer {
    /// Lines have no line ends, and are cut at a length that no intended message has.
    pub fn new(hear: impl Fn(&[u8]) + Send + Sync + 'static) -> LineHearer {
        LineHearer { hear: Arc::new(hear), begun: Vec::new() }
    }

    /// More of the stream was read.
    pub(super) fn take_bytes(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            let room = LONGEST.saturating_sub(self.begun.len()).min(text.len());
            self.begun.extend_from_slice(text.get(..room).unwrap_or_default());
            if ends {
                (self.hear)(&self.begun);
                self.begun.clear();
            }
        }
    }
}

impl fmt::Debug for LineHearer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LineHearer").field("begun", &self.begun.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{LONGEST, LineHearer};

    #[test]
    fn lines_are_heard_whole_however_they_are_read_and_none_is_kept_without_end() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let mut hearer = LineHearer::new(move |line| into.lock().unwrap().push(line.to_vec()));
        for piece in ["promi", "sed 1\npromised 2\n\nrest", " of it"] {
            hearer.take_bytes(piece.as_bytes());
        }
        assert_eq!(*heard.lock().unwrap(), [&b"promised 1"[..], b"promised 2", b""]);
        (0..100).for_each(|_| hearer.take_bytes(&[b'x'; 1000]));
        hearer.take_bytes(b"\n");
        assert_eq!(heard.lock().unwrap().last().unwrap().len(), LONGEST);
    }
}
