//! Compares the typical device of each class with devices drawn from it: it is in the middle of them, for every kind of
//! access.

use super::super::{Action, Device, Draw, Model, Request, built_in, random};

/// How far outside of the middle half it may lie, as a logarithm: the δ of verdicts, below which a difference does not
/// matter.
const TIE: f64 = 0.03;
/// Devices that are drawn of a class, half of them opposites of the others.
const DRAWS: u64 = 96;

/// Models whose typical device was measured (two equal drives; the median of fifteen cards): it has those numbers wherever they lie
/// in the class.
const MEASURED: [&str; 2] = ["nvme-pcie4", "sd-card-a1"];

/// A disk on which requests are done one at a time.
struct ProbedDisk {
    device: Device,
    sectors: u64,
    now_ns: u64,
    requests: u64,
}

impl ProbedDisk {
    /// Does a request; returns its time in nanoseconds.
    fn time(&mut self, operation: Action, sector: u64, sectors: u32) -> u64 {
        let start_ns = self.now_ns;
        self.device.submit(start_ns, Request { id: self.requests, operation, sector, sectors });
        self.requests += 1;
        let mut done = Vec::new();
        while done.is_empty() {
            self.now_ns = self.device.next_event().unwrap();
            self.device.advance(self.now_ns, &mut done);
        }
        self.now_ns - start_ns
    }

    /// A place anywhere, the same on every disk of a class.
    fn anywhere(&self, seed: u64, index: u64) -> u64 {
        random::uniform_below(seed, index, self.sectors / 8 - 1024) * 8
    }

    /// Waits until the cache is written back.
    fn rest(&mut self) {
        self.time(Action::Flush, 0, 0);
        self.now_ns += 3_000_000_000;
        self.device.advance(self.now_ns, &mut Vec::new());
    }
}

type Probe = (&'static str, fn(&mut ProbedDisk) -> u64);

/// What filesystems make a disk do.
const PROBES: &[Probe] = &[
    ("reads of 4 KiB anywhere", |disk| {
        (0..100).map(|index| disk.time(Action::Read, disk.anywhere(1, index), 8)).sum()
    }),
    ("small files of a directory in the order of hashes", |disk| {
        let directory = |disk: &mut ProbedDisk, place: u64| {
            let from = disk.anywhere(5, place);
            let order = |index: u64| random::uniform_below(2, place * 100 + index, 128);
            (0..60).map(|index| disk.time(Action::Read, from + order(index) * 32, 32)).sum::<u64>()
        };
        (0..8).map(|place| directory(disk, place)).sum()
    }),
    ("small files with gaps between them", |disk| {
        let directory = |disk: &mut ProbedDisk, place: u64| {
            let mut sector = disk.anywhere(6, place);
            let read = |disk: &mut ProbedDisk, index: u64| {
                sector += 40 + random::uniform_below(7, place * 100 + index, 12) * 8;
                disk.time(Action::Read, sector, 32)
            };
            let mut read = read;
            (0..30).map(|index| read(disk, index)).sum::<u64>()
        };
        (0..8).map(|place| directory(disk, place)).sum()
    }),
    ("six files in turn", |disk| {
        let group = |disk: &mut ProbedDisk, group: u64| {
            let near = disk.anywhere(8, group);
            let from = |index: u64| {
                near + random::uniform_below(9, group * 6 + index % 6, 400_000) * 8 + index / 6 * 128
            };
            (0..60)
                .map(|index| disk.time(Action::Read, from(index).min(disk.sectors - 128), 128))
                .sum::<u64>()
        };
        (0..8).map(|index| group(disk, index)).sum()
    }),
    ("a large file, read", |disk| {
        (0..400).map(|index| disk.time(Action::Read, disk.sectors / 2 / 8 * 8 + index * 128, 128)).sum()
    }),
    ("a large file, written", |disk| {
        let written: u64 =
            (0..400).map(|index| disk.time(Action::Write, disk.sectors / 4 / 8 * 8 + index * 128, 128)).sum();
        written + disk.time(Action::Flush, 0, 0)
    }),
    ("a commit of a journal", |disk| {
        let commit = |disk: &mut ProbedDisk, index: u64| {
            let data = disk.time(Action::Write, 400_000 + index * 32, 24) + disk.time(Action::Flush, 0, 0);
            data + disk.time(Action::Write, 400_024 + index * 32, 8) + disk.time(Action::Flush, 0, 0)
        };
        (0..30).map(|index| commit(disk, index)).sum()
    }),
    ("sixteen scattered writes and a flush", |disk| {
        let burst = |disk: &mut ProbedDisk, burst: u64| {
            let written: u64 =
                (0..16).map(|index| disk.time(Action::Write, disk.anywhere(3, burst * 16 + index), 8)).sum();
            written + disk.time(Action::Flush, 0, 0)
        };
        (0..10).map(|index| burst(disk, index)).sum()
    }),
    ("reads and writes anywhere", |disk| {
        let operation = |index: u64| if index.is_multiple_of(2) { Action::Read } else { Action::Write };
        (0..120).map(|index| disk.time(operation(index), disk.anywhere(4, index), 8)).sum()
    }),
];

/// The logarithms of what the probes take on a disk.
fn probe(model: &Model) -> Vec<f64> {
    let size = model.capacity() / 4096 * 4096;
    let device = Device::new(model, size, 5).unwrap();
    let mut disk = ProbedDisk { device, sectors: size / 512, now_ns: 0, requests: 0 };
    let times = PROBES.iter().map(|(_, probe)| {
        disk.rest();
        (probe(&mut disk) as f64).ln()
    });
    times.collect()
}

/// The value that this share of the sorted values lies below.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// How far a disk is from the class's medians, over all probes.
fn distance(times: &[f64], medians: &[f64]) -> f64 {
    let squares: f64 = times.iter().zip(medians).map(|(one, median)| (one - median).powi(2)).sum();
    (squares / times.len() as f64).sqrt()
}

#[test]
fn typical_is_in_the_middle_of_the_class() {
    let (mut wrong, mut table) = (Vec::new(), String::new());
    let classes = built_in()
        .iter()
        .map(|model| model.name)
        .filter(|name| !MEASURED.contains(name) && !Model::named(name).unwrap().drawn.is_empty());
    let classes: Vec<&str> = classes.collect();
    assert!(classes.len() > 12, "{classes:?}");
    for name in classes {
        let drawn: Vec<Vec<f64>> = (0..DRAWS)
            .map(|index| Draw { seed: index / 2, mirrored: index % 2 == 1 })
            .map(|draw| probe(&Model::find_drawn(name, &draw).unwrap()))
            .collect();
        let typical = probe(&Model::named(name).unwrap());
        let mut medians = Vec::new();
        for (at, (what, _)) in PROBES.iter().enumerate() {
            let mut sorted: Vec<f64> = drawn.iter().map(|times| times[at]).collect();
            sorted.sort_by(f64::total_cmp);
            let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share));
            medians.push(median);
            table += &format!(
                "{name}, {what}: {:.3} s; middle half {:.3} to {:.3}, median {:.3}\n",
                typical[at].exp() / 1e9,
                low.exp() / 1e9,
                high.exp() / 1e9,
                median.exp() / 1e9
            );
            if !(low - TIE..=high + TIE).contains(&typical[at]) {
                wrong.push(format!("{name}, {what}"));
            }
        }
        let nearer =
            drawn.iter().filter(|times| distance(times, &medians) < distance(&typical, &medians)).count();
        table += &format!("{name}: {nearer} of {DRAWS} drawn are nearer to the medians\n");
        if nearer as u64 * 10 > DRAWS {
            wrong.push(format!("{name}: {nearer} of {DRAWS} drawn are nearer to the medians"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{table}");
}
