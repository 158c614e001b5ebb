//! The same requests on several modelled devices, and how long each takes over them.
//!
//! ```text
//! cargo run -p fsverdict-disk --example replay                       # a disk and an SSD
//! cargo run -p fsverdict-disk --example replay -- sd-card ./my.toml  # models by name, or files of one's own
//! ```

use fsverdict_disk::device::{Action, Device, Model, ModelError, Request};
use fsverdict_text::{Bytes, Hinted};

const SIZE_BYTES: u64 = 8_000_000_000;

/// What is asked for, one after the other: what it is, and the requests, of 512-byte sectors.
const STORY: [(&str, Action, &[(u64, u32)]); 8] = [
    ("read 4 KiB somewhere", Action::Read, &[(9_000_000, 8)]),
    ("read the 4 KiB after it", Action::Read, &[(9_000_008, 8)]),
    ("read 1 MiB that goes on", Action::Read, &[(9_000_016, 1024), (9_001_040, 1024)]),
    ("read 4 KiB far away", Action::Read, &[(1_000, 8)]),
    ("write 4 KiB", Action::Write, &[(5_000_000, 8)]),
    ("flush", Action::Flush, &[(0, 0)]),
    (
        "write 4 × 4 KiB apart",
        Action::Write,
        &[(2_000_000, 8), (12_000_000, 8), (3_000_000, 8), (7_000_000, 8)],
    ),
    ("flush", Action::Flush, &[(0, 0)]),
];

fn main() -> std::process::ExitCode {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let names = if named.is_empty() { vec!["usb-disk-5400".to_owned(), "sata-ssd".to_owned()] } else { named };
    match names.iter().map(|name| times(name)).collect::<Result<Vec<_>, _>>() {
        Ok(columns) => {
            print(&names, &columns);
            std::process::ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", error.reason());
            std::process::ExitCode::FAILURE
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
    Ok(STORY.iter().map(|(_, operation, requests)| step(*operation, requests)).collect())
}

fn print(names: &[String], columns: &[Vec<u64>]) {
    println!("Milliseconds on a device of {}:\n", Bytes(SIZE_BYTES));
    let header: String = names.iter().map(|name| format!("{name:>16}")).collect();
    println!("{:26}{header}", "");
    for (row, (title, _, _)) in STORY.iter().enumerate() {
        let times: String =
            columns.iter().map(|column| format!("{:16.3}", column[row] as f64 / 1e6)).collect();
        println!("{title:26}{times}");
    }
}
