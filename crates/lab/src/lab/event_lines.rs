//! Reads the events of a trial line by line, in bounded memory, while other work goes on.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc;

/// Bytes of the longest event of a trial that is kept.
pub(super) const LONGEST_EVENT: u64 = 16 << 20;
/// Events that wait to be handled, at most.
const WAITING_EVENTS: usize = 8;

/// Reads the lines of a trial as they come; `None` in place of one that is too long. A trial that sends faster than its events are
/// handled waits.
pub(super) fn read_lines(events: impl Read + Send + 'static) -> mpsc::Receiver<Option<String>> {
    let (send, receive) = mpsc::sync_channel(WAITING_EVENTS);
    std::thread::spawn(move || {
        let mut events = BufReader::new(events);
        while let Ok(Some(line)) = read_line(&mut events, LONGEST_EVENT) {
            let line = line.map(|line| String::from_utf8_lossy(&line).into_owned());
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// The next line without its end, or `Some(None)` where it has more than `most` bytes; `None` at the end of all.
fn read_line(events: &mut impl BufRead, most: u64) -> std::io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    if events.by_ref().take(most + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Some(line)));
    }
    if line.len() as u64 <= most {
        return Ok(Some(Some(line)));
    }
    drop(line);
    // The rest of it is read in pieces, and forgotten.
    let mut piece = Vec::new();
    while events.by_ref().take(most + 1).read_until(b'\n', &mut piece)? > 0 && piece.last() != Some(&b'\n') {
        piece.clear();
    }
    Ok(Some(None))
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read, repeat};

    use super::read_line;

    #[test]
    fn a_line_without_end_takes_bounded_memory_and_what_follows_is_read() {
        let input = b"first\n\n".chain(repeat(b'x').take(100_000_000)).chain(&b"\nlast\nno end"[..]);
        let mut input = BufReader::new(input);
        let mut next = || read_line(&mut input, 1000).unwrap();
        assert_eq!(next(), Some(Some(b"first".to_vec())));
        assert_eq!(next(), Some(Some(Vec::new())));
        assert_eq!(next(), Some(None));
        assert_eq!(next(), Some(Some(b"last".to_vec())));
        assert_eq!(next(), Some(Some(b"no end".to_vec())));
        assert_eq!(next(), None);
    }
}
