//! What the process does that serves a device: takes over the descriptors that it inherited, serves, and says what came of it.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use fsverdict_disk::backend::{Served, serve};

use super::{ServeTask, ServingError, TASK};
use crate::host::syscall::own;
use crate::host::talk::say;

/// `fsverdict device`: serves one device to one guest. What went wrong is in the report, if it can be written.
pub fn main() -> u8 {
    match live() {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("fsverdict device: {error}"));
            1
        }
    }
}

fn live() -> Result<(), ServingError> {
    let text = std::env::var(TASK).map_err(|_| ServingError::NotForPeople)?;
    let task: ServeTask = serde_json::from_str(&text).map_err(|_| ServingError::NotForPeople)?;
    let take = |descriptor| own(descriptor).ok_or(ServingError::NotForPeople);
    let mut report = File::from(take(task.report)?);
    let sockets = (take(task.sockets.0)?, take(task.sockets.1)?);
    let store = File::from(take(task.store)?);
    let trace = match task.trace {
        Some((descriptor, bound)) => Some((File::from(take(descriptor)?), bound)),
        None => None,
    };
    let device = Served { model: &task.model, draw: task.draw, size_bytes: task.size_bytes, seed: task.seed };
    let silence = Duration::from_secs(task.silence_s);
    let told = serve(device, task.clock, silence, store, trace, sockets);
    report.write_all(&serde_json::to_vec(&told).map_err(std::io::Error::from)?)?;
    Ok(())
}
