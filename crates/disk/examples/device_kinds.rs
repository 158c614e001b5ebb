//! What the typical device of each kind of flash does, as lines of CSV for `scripts/device-kinds-picture`.
//!
//! ```text
//! cargo run --release -p fsverdict-disk --example device_kinds
//! ```
//!
//! `cliff,MODEL,GB,MB/s`: the rate of a stream of writes, by what was written to a drive of 1 TB; measured on a smaller drive of the
//! same make. `rate,MODEL,WHAT,UNIT,TYPICAL,P5,P95`: a rate of the typical device, and of nine in ten of 40 drawn ones.

use std::process::ExitCode;

use fsverdict_disk::device::{Action, Device, Draw, Model, ModelError, Request};
use fsverdict_text::Hinted;

/// The size of the drive that stands for one of 1 TB, in bytes.
const SMALL: u64 = 8_000_000_000;
/// The size of the part that rates are measured on, in bytes.
const PART: u64 = 1 << 30;
/// Bytes of a write of the stream.
const WRITE: u64 = 131_072;
/// Points of a curve.
const POINTS: usize = 60;

/// One kind of requests: their action, bytes, requests at once and whether each follows the one before.
struct Load {
    action: Action,
    bytes: u64,
    depth: usize,
    in_order: bool,
}

/// Kinds with fast cells, and how many GB of 1 TB are written to show where these end.
const CLIFFS: [(&str, f64); 3] = [("nvme-tlc", 420.0), ("nvme-qlc", 210.0), ("nvme-dramless", 132.0)];

const RATES: [(&str, &str, Load); 9] = [
    ("sd-card-a2:filled", "reads", Load { action: Action::Read, bytes: 4096, depth: 16, in_order: false }),
    ("sd-card-a2:filled", "writes", Load { action: Action::Write, bytes: 4096, depth: 16, in_order: false }),
    (
        "sd-card-a2-no-queue:filled",
        "reads",
        Load { action: Action::Read, bytes: 4096, depth: 1, in_order: false },
    ),
    (
        "sd-card-a2-no-queue:filled",
        "writes",
        Load { action: Action::Write, bytes: 4096, depth: 1, in_order: false },
    ),
    ("emmc:fresh", "MB/s written", Load { action: Action::Write, bytes: WRITE, depth: 4, in_order: true }),
    ("ufs:filled", "MB/s read", Load { action: Action::Read, bytes: WRITE, depth: 4, in_order: true }),
    ("ufs:fresh", "MB/s written", Load { action: Action::Write, bytes: WRITE, depth: 4, in_order: true }),
    ("usb-nvme:filled", "MB/s read", Load { action: Action::Read, bytes: WRITE, depth: 4, in_order: true }),
    ("usb-nvme:fresh", "writes", Load { action: Action::Write, bytes: 4096, depth: 1, in_order: false }),
];

fn main() -> ExitCode {
    match measure_kinds() {
        Ok(lines) => {
            println!("{}", lines.join("\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {}", error.reason());
            ExitCode::FAILURE
        }
    }
}

fn measure_kinds() -> Result<Vec<String>, ModelError> {
    let mut lines = Vec::new();
    for (name, gb) in CLIFFS {
        for (written, rate) in measure_stream(name, gb)? {
            lines.push(format!("cliff,{name},{written:.2},{rate:.1}"));
        }
    }
    for (name, what, load) in RATES {
        let typical = measure_rate(&Model::named(name)?, &load)?;
        let drawn = |seed| {
            let model = Model::find_drawn(name, &Draw { seed, mirrored: false })?;
            measure_rate(&model, &load)
        };
        let mut class = (0..40).map(drawn).collect::<Result<Vec<f64>, ModelError>>()?;
        class.sort_by(f64::total_cmp);
        lines.push(format!("rate,{name},{what},{typical:.1},{:.1},{:.1}", class[2], class[37]));
    }
    Ok(lines)
}

/// The rate in MB/s of a stream of writes to a new drive, by the GB of 1 TB that were written.
fn measure_stream(name: &str, gb: f64) -> Result<Vec<(f64, f64)>, ModelError> {
    let (text, _) = Model::file(name)?;
    let model = Model::read(&shrink_model(&text), name, None)?;
    let mut device = Device::new(&model, SMALL, 1)?;
    let count = (gb / 1000.0 * SMALL as f64) as u64 / WRITE;
    let times = complete_requests(
        &mut device,
        8,
        (0..count).map(|at| (Action::Write, at * WRITE / 512, WRITE / 512)),
    );
    let step = times.len() / POINTS;
    let rate = |(index, ends): (usize, &[u64])| {
        let written = (index * step + step / 2) as f64 * WRITE as f64 / SMALL as f64 * 1000.0;
        let seconds = (ends[ends.len() - 1] - ends[0]) as f64 / 1e9;
        (written, (ends.len() - 1) as f64 * WRITE as f64 / 1e6 / seconds)
    };
    Ok(times.chunks_exact(step).enumerate().map(rate).collect())
}

/// The text of a model, for a drive of [`SMALL`] bytes that is used as a whole: what is always fast shrinks with it.
fn shrink_model(text: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("capacity") {
            return "capacity = \"8GB\"\n".to_owned();
        }
        let typical = line.strip_prefix("fast_size").and_then(|rest| rest.split("typical = \"").nth(1));
        let gib = typical.and_then(|rest| rest.split("GiB").next()).and_then(|gib| gib.parse::<f64>().ok());
        match gib {
            Some(gib) => {
                let kib = (gib * 1_048_576.0 * SMALL as f64 / 1e12 / 4.0).round() * 4.0;
                format!("fast_size = \"{kib}KiB\"\n")
            }
            None => format!("{line}\n"),
        }
    };
    text.lines().filter(|line| !line.starts_with("elsewhere")).map(line).collect()
}

/// Requests a second, or MB/s where they are in order.
fn measure_rate(model: &Model, load: &Load) -> Result<f64, ModelError> {
    let mut device = Device::new(model, PART, 1)?;
    let slots = PART / load.bytes;
    let count = if load.in_order { 4000 } else { 3000 };
    let sectors = load.bytes / 512;
    // Places far apart, each once.
    let place = |at: u64| if load.in_order { at % slots } else { at.wrapping_mul(0x9E37_79B9) % slots };
    let times = complete_requests(
        &mut device,
        load.depth,
        (0..count).map(|at| (load.action, place(at) * sectors, sectors)),
    );
    let seconds = times.last().copied().unwrap_or_default() as f64 / 1e9;
    let all = count as f64 / seconds;
    Ok(if load.in_order { all * load.bytes as f64 / 1e6 } else { all })
}

/// The times in ns at which the requests, so many at once, were completed.
fn complete_requests(
    device: &mut Device,
    depth: usize,
    requests: impl Iterator<Item = (Action, u64, u64)>,
) -> Vec<u64> {
    let (mut times, mut done, mut now_ns, mut under_way) = (Vec::new(), Vec::new(), 0, 0);
    let mut requests = (0..).zip(requests);
    loop {
        while under_way < depth
            && let Some((id, (operation, sector, sectors))) = requests.next()
        {
            device.submit(now_ns, Request { id, operation, sector, sectors: sectors as u32 });
            under_way += 1;
        }
        let Some(next_ns) = device.next_event().filter(|_| under_way > 0) else { return times };
        now_ns = next_ns;
        device.advance(now_ns, &mut done);
        under_way -= done.len();
        times.extend(done.drain(..).map(|completion| completion.completed_ns));
    }
}
