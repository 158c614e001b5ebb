//! Collects a program's output: read as it arrives, so that the program never blocks, and bounded.

use std::io::Read;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::LineHearer;
use crate::host::foreign::neutralise;

/// The end of a stream that is being read in the background.
#[derive(Debug)]
pub(super) struct OutputTail {
    bytes: Arc<Mutex<Vec<u8>>>,
    finished: mpsc::Receiver<()>,
    kept: usize,
}

/// Reads a stream to its end in the background; the last `kept` bytes are kept, and all of it is heard.
pub(super) fn tail_of(
    mut pipe: impl Read + Send + 'static,
    kept: usize,
    mut hearer: Option<LineHearer>,
) -> OutputTail {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (done, finished) = mpsc::channel();
    let shared = Arc::clone(&bytes);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            if let Some(hearer) = &mut hearer {
                hearer.take_bytes(&buffer[..count]);
            }
            let Ok(mut tail) = shared.lock() else { break };
            tail.extend_from_slice(&buffer[..count]);
            if tail.len() > kept.saturating_mul(2) {
                let surplus = tail.len() - kept;
                tail.drain(..surplus);
            }
        }
        let _ = done.send(());
    });
    OutputTail { bytes, finished, kept }
}

/// The collected output. A background process may hold the stream open for ever: the wait is short.
pub(super) fn collect_output(stream: Option<OutputTail>) -> String {
    let Some(OutputTail { bytes, finished, kept }) = stream else { return String::new() };
    let _ = finished.recv_timeout(Duration::from_millis(500));
    let tail = bytes.lock().map(|tail| tail.clone()).unwrap_or_default();
    neutralise(&String::from_utf8_lossy(&tail[tail.len().saturating_sub(kept)..]))
}
