//! The same requests on several modelled devices, and how long each takes over them.
//!
//! ```text
//! cargo run -p fsverdict-disk --example replay                       # a disk and an SSD
//! cargo run -p fsverdict-disk --example replay -- sd-card ./my.toml  # models by name, or files of one's own
//! ```

use std::io::Write;
use std::process::ExitCode;

use fsverdict_disk::device::{Action, Device, Model, ModelError, Request};
use fsverdict_text::{Bytes, Hinted};

const SIZE_BYTES: u64 = 8_000_000_000;

/// One step: what it is called, what is done, and from which sectors on, how many each; all at once.
struct Step(&'static str, Action, &'static [(u64, u32)]);

/// One step after the other, in sectors of 512 bytes.
const STORY: [Step; 8] = [
    Step("read 4 KiB somewhere", Action::Read, &[(9_000_000, 8)]),
    Step("read the 4 KiB after it", Action::Read, &[(9_000_008, 8)]),
    Step("read 1 MiB that goes on", Action::Read, &[(9_000_016, 1024), (9_001_040, 1024)]),
    Step("read 4 KiB far away", Action::Read, &[(1_000, 8)]),
    Step("write 4 KiB", Action::Write, &[(5_000_000, 8)]),
    Step("flush", Action::Flush, &[(0, 0)]),
    Step(
        "write 4 × 4 KiB apart",
        Action::Write,
        &[(2_000_000, 8), (12_000_000, 8), (3_000_000, 8), (7_000_000, 8)],
    ),
    Step("flush", Action::Flush, &[(0, 0)]),
];

fn main() -> ExitCode {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let names =
        if named.is_empty() { vec!["usb-disk-5400".to_owned(), "sata-ssd".to_owned()] } else { named };
    match names.iter().map(|name| times(name)).collect::<Result<Vec<_>, _>>() {
        Ok(columns) => {
            // Who listens no longer has seen enough.
            let _ = std::io::stdout().write_all(table(&names, &columns).as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", error.reason());
            ExitCode::FAILURE
        }
    }
}

/// Nanoseconds that each step takes on a device of this model.
fn times(name: &str) -> Result<Vec<u64>, ModelError> {
    let model = Model::find(name)?;
    let mut device = Device::new(&model, SIZE_BYTES.min(model.capacity()), 1)?;
    let (mut now_ns, mut done) = (0, Vec::new());
    let mut step = |operation: Action, requests: &[(u64, u32)]| {
        let began_ns = now_ns;
        for (id, (sector, sectors)) in (0..).zip(requests.iter().copied()) {
            device.submit(now_ns, Request { id, operation, sector, sectors });
        }
        // Time jumps to whatever happens next.
        while let Some(next_ns) = device.next_event() {
            now_ns = next_ns;
            device.advance(now_ns, &mut done);
        }
        now_ns - began_ns
    };
    Ok(STORY.iter().map(|Step(_, operation, requests)| step(*operation, requests)).collect())
}

/// A row for each step, a column for each model.
fn table(names: &[String], columns: &[Vec<u64>]) -> String {
    let header: String = names.iter().map(|name| format!("{name:>16}")).collect();
    let rows = STORY.iter().enumerate().map(|(row, Step(title, ..))| {
        let times: String =
            columns.iter().map(|column| format!("{:16.3}", column[row] as f64 / 1e6)).collect();
        format!("{title:26}{times}\n")
    });
    let rows: String = rows.collect();
    format!("Milliseconds on a device of {}:\n\n{:26}{header}\n{rows}", Bytes(SIZE_BYTES), "")
}
