//! The process that serves devices: takes over its inherited descriptors, serves a guest, and reports the result.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use fsverdict_disk::backend::{DeviceToServe, LogToServe, Served, serve_devices};

use super::{LogTask, ServeTask, ServingError, TASK};
use fsverdict_linux::host::messages::print_line;
use fsverdict_linux::host::syscall::own_descriptor;

/// `fsverdict device`: serves the devices of one guest. Errors are in the report, if it can be written.
pub fn main() -> u8 {
    match serve_from_task() {
        Ok(()) => 0,
        Err(error) => {
            print_line(&format!("fsverdict device: {error}"));
            1
        }
    }
}

fn serve_from_task() -> Result<(), ServingError> {
    let text = std::env::var(TASK).map_err(|_| ServingError::NotForPeople)?;
    let task: ServeTask = serde_json::from_str(&text).map_err(|_| ServingError::NotForPeople)?;
    let take = |descriptor| own_descriptor(descriptor).ok_or(ServingError::NotForPeople);
    let mut report = File::from(take(task.report)?);
    let clock_socket = take(task.clock_socket)?;
    let mut devices = Vec::with_capacity(task.devices.len());
    for device in &task.devices {
        let trace = match device.trace {
            Some((descriptor, bound)) => Some((File::from(take(descriptor)?), bound)),
            None => None,
        };
        let log = match &device.log {
            Some(LogTask::Record { file, bound }) => {
                Some(LogToServe::Record { file: File::from(take(*file)?), bound: *bound })
            }
            Some(LogTask::Enter { file, states, rule }) => Some(LogToServe::Enter {
                file: File::from(take(*file)?),
                states: states.clone(),
                rule: *rule,
            }),
            Some(LogTask::Rot { file, blocks }) => {
                Some(LogToServe::Rot { file: File::from(take(*file)?), blocks: blocks.clone() })
            }
            None => None,
        };
        devices.push(DeviceToServe {
            device: Served {
                model: &device.model,
                draw: device.draw,
                size_bytes: device.size_bytes,
                seed: device.seed,
                fails_after: device.fails_after,
            },
            store: File::from(take(device.store)?),
            trace,
            log,
            socket: take(device.socket)?,
        });
    }
    let silence = Duration::from_secs(task.silence_s);
    let told = serve_devices(devices, task.clock, silence, &clock_socket);
    report.write_all(&serde_json::to_vec(&told).map_err(std::io::Error::from)?)?;
    Ok(())
}
