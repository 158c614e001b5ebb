//! Computes the device's figures for each phase from traces after the trial: how scattered the requests were, the queue
//! depth, and the bytes that the medium wrote for them.

use std::collections::BTreeSet;

use fsverdict_disk::device::trace::{AccessTimes, Metrics, TraceError, TraceReader, Traced};
use fsverdict_disk::device::{AccessKind, Device, Request, Wear};
use fsverdict_judgement::journal::{
    BackgroundWork, Caution, Event, Facts, Learnt, Measurement, Observation, Unit, busy_metric,
};

use super::background::BackgroundFigures;
use super::trace_file::TraceFile;
use fsverdict_stack::filesystem::BackgroundJob;

/// Of a filesystem that does something by itself, under a kernel that does not tell.
const UNKNOWN_SUBMITTER: &str = "what the filesystem does by itself is counted to the phases: this kernel does not tell who submits a request. \
                      One of Linux 6.12 that `fsverdict kernel build` makes anew does";

/// The phases of a trial in time, collected from events as they arrive.
#[derive(Debug, Default)]
pub(super) struct Spans {
    phases: Vec<PhaseSpan>,
    /// The background jobs of the trial's filesystem.
    jobs: &'static [BackgroundJob],
}

#[derive(Debug)]
struct PhaseSpan {
    phase: String,
    cache: String,
    repetition: u32,
    /// nanoseconds of the simulation clock.
    began: u64,
    ended: u64,
}

impl Spans {
    pub(super) fn with_jobs(jobs: &'static [BackgroundJob]) -> Spans {
        Spans { jobs, ..Spans::default() }
    }

    /// Takes down an event's phase, if it has one.
    pub(super) fn note_event(&mut self, event: &Event) {
        let Event::Observation(observation) = event else { return };
        let of = |name: &str| observation.value(name).map(|seconds| (seconds * 1e9) as u64);
        if let (Some(began), Some(durable)) = (of("began"), of("durable")) {
            let Observation { phase, cache, repetition, .. } = observation.clone();
            self.phases.push(PhaseSpan { phase, cache, repetition, began, ended: began + durable });
        }
    }

    /// The figures of every phase, for all devices together. Wear is found by replaying the requests on the devices
    /// in their initial state: the same requests at the same times cause the same wear.
    pub(super) fn observations(&self, devices: Vec<TracedDevice>) -> Result<Vec<Event>, TraceError> {
        let mut figures: Vec<PhaseFigures> = self.phases.iter().map(|_| PhaseFigures::default()).collect();
        for TracedDevice { trace, mut device } in devices {
            let reader = TraceReader::new(std::io::BufReader::new(trace.open()?))?;
            let mut records = reader.collect::<Result<Vec<_>, _>>()?;
            records.sort_by_key(|record| record.submitted_ns);
            let mut left = records.as_slice();
            for (span, figures) in self.phases.iter().zip(&mut figures) {
                let began = wear_at(&mut device, &mut left, span.began);
                let ended = wear_at(&mut device, &mut left, span.ended);
                let requests = span.requests_within(&records);
                figures.add_metrics(&Metrics::new(requests), began, ended);
                figures.busy.add(&AccessTimes::from_trace(requests, span.began..span.ended));
                figures.background.add_device(span.began..span.ended, &records, self.jobs);
            }
        }
        let mut events: Vec<Event> =
            self.phases.iter().zip(&figures).map(|(span, figures)| span.observation_event(figures)).collect();
        let background = self.list_background_work(&figures);
        if !background.is_empty() {
            let learnt = Learnt { background, ..Learnt::default() };
            events.push(Event::Facts { facts: Facts::new(), learnt });
        }
        let untold = !figures.is_empty() && figures.iter().all(|figures| !figures.background.told);
        if untold && !self.jobs.is_empty() {
            events.push(Event::Caution(Caution::new(UNKNOWN_SUBMITTER)));
        }
        Ok(events)
    }

    /// Lists the filesystem's background jobs that submitted requests, with the phases in which they did.
    fn list_background_work(&self, figures: &[PhaseFigures]) -> Vec<BackgroundWork> {
        let work = |(number, job): (usize, &BackgroundJob)| {
            let phase_with_job = |(span, figures): (&PhaseSpan, &PhaseFigures)| {
                figures.background.jobs.contains(&number).then(|| span.phase.clone())
            };
            let phases: BTreeSet<String> =
                self.phases.iter().zip(figures).filter_map(phase_with_job).collect();
            let (does, avoided_by) = (job.does.to_owned(), job.avoided_by.to_owned());
            (!phases.is_empty()).then_some(BackgroundWork {
                phases,
                does,
                once_per_mount: job.once_per_mount,
                avoided_by,
            })
        };
        self.jobs.iter().enumerate().filter_map(work).collect()
    }
}

/// A device's trace, and the device as it was before the first request.
pub(super) struct TracedDevice {
    pub(super) trace: TraceFile,
    pub(super) device: Device,
}

/// The figures of all devices in one phase.
#[derive(Debug, Default)]
struct PhaseFigures {
    seeks: u64,
    sequential: u64,
    /// Summed over those devices that were asked for anything; their number.
    depth: f64,
    asked: u32,
    medium_sectors: u64,
    erases: u64,
    /// The time in which a device was busy, by kind of access.
    busy: AccessTimes,
    background: BackgroundFigures,
}

impl PhaseFigures {
    fn add_metrics(&mut self, metrics: &Metrics, began: Wear, ended: Wear) {
        self.seeks += metrics.seeks;
        self.sequential += metrics.sequential();
        if metrics.most_depth > 0 {
            self.depth += metrics.mean_depth;
            self.asked += 1;
        }
        self.medium_sectors += ended.medium_sectors - began.medium_sectors;
        self.erases += ended.erases - began.erases;
    }
}

/// The wear of a device's medium at `until`, after replaying the requests submitted before.
fn wear_at(device: &mut Device, left: &mut &[Traced], until: u64) -> Wear {
    let mut done = Vec::new();
    let mut pass = |device: &mut Device, until: u64| {
        while let Some(due) = device.next_event().filter(|due| *due <= until) {
            device.advance(due, &mut done);
            done.clear();
        }
    };
    while let [record, rest @ ..] = *left
        && record.submitted_ns < until
    {
        pass(device, record.submitted_ns);
        let Traced { operation, sector, sectors, submitted_ns, .. } = *record;
        device.submit(submitted_ns, Request { id: 0, operation, sector, sectors });
        *left = rest;
    }
    pass(device, until);
    device.wear()
}

impl PhaseSpan {
    /// The requests submitted in it, of these in the order of their submission.
    fn requests_within<'a>(&self, records: &'a [Traced]) -> &'a [Traced] {
        let from = records.partition_point(|record| record.submitted_ns < self.began);
        let to = records.partition_point(|record| record.submitted_ns < self.ended);
        records.get(from..to).unwrap_or_default()
    }

    fn observation_event(&self, figures: &PhaseFigures) -> Event {
        let mut measurements = Vec::with_capacity(5);
        let mut push = |metric: &'static str, unit, value: f64| {
            measurements.push(Measurement::new(metric, unit, value));
        };
        let all = figures.sequential + figures.seeks;
        if all > 0 {
            push("seeks", Unit::Count, figures.seeks as f64);
            push("sequential_share", Unit::Ratio, figures.sequential as f64 / all as f64);
            push("queue_depth", Unit::Ratio, figures.depth / f64::from(figures.asked.max(1)));
        }
        push("medium_written", Unit::Bytes, figures.medium_sectors as f64 * 512.0);
        push("erases", Unit::Count, figures.erases as f64);
        for kind in AccessKind::ALL {
            let busy_ns = figures.busy.nanoseconds(kind);
            if busy_ns > 0.0
                && let Some(metric) = busy_metric(kind.name())
            {
                push(metric.name, metric.unit, busy_ns * 1e-9);
            }
        }
        let background = &figures.background;
        if background.told {
            push("background", Unit::Seconds, background.busy_ns * 1e-9);
            push("background_requests", Unit::Count, background.requests as f64);
            push("background_bytes", Unit::Bytes, background.sectors as f64 * 512.0);
        }
        let (phase, cache) = (self.phase.clone(), self.cache.clone());
        let repetition = self.repetition;
        Event::Observation(Observation {
            phase,
            measurements,
            histograms: Vec::new(),
            cache,
            repetition,
            unwritten: Vec::new(),
            course: None,
            computation: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Spans, TraceFile, TracedDevice};
    use fsverdict_disk::device::trace::{Flags, TraceWriter, Traced};
    use fsverdict_disk::device::{AccessKind, Action, Completion, Device, Model, Request};
    use fsverdict_folders::FolderHandle;
    use fsverdict_judgement::journal::{Event, Measurement, Observation, Unit, busy_metric};

    fn phase(name: &str, began: f64, durable: f64) -> Event {
        let seconds = |metric: &'static str, value| Measurement::new(metric, Unit::Seconds, value);
        Event::Observation(Observation {
            phase: name.to_owned(),
            measurements: vec![seconds("durable", durable), seconds("began", began)],
            histograms: Vec::new(),
            cache: "fresh".to_owned(),
            repetition: 0,
            unwritten: Vec::new(),
            course: None,
            computation: None,
        })
    }

    #[test]
    fn every_kind_of_access_has_a_metric_in_seconds() {
        for kind in AccessKind::ALL {
            let metric = busy_metric(kind.name());
            assert!(metric.is_some_and(|metric| metric.unit == Unit::Seconds), "{}", kind.name());
        }
    }

    #[test]
    fn each_phase_has_its_own_requests() {
        let folder = tempfile::tempdir().unwrap();
        let trace = TraceFile::for_trial(&FolderHandle::open(folder.path()).unwrap(), "ext4", 1, 1);
        let mut writer = TraceWriter::new(trace.create().unwrap(), 1 << 20).unwrap();
        // In the first second one request after the other, in the second all over the place.
        for number in 0..20_u64 {
            let sector = if number < 10 { number * 8 } else { 100_000 - number * 1000 };
            let request = Request { id: number, operation: Action::Write, sector, sectors: 8 };
            let submitted_ns = number * 100_000_000;
            let completion = Completion { request, submitted_ns, completed_ns: submitted_ns + 50_000_000 };
            writer.record(&Traced::done(&completion, Flags::default())).unwrap();
        }
        writer.finish().unwrap();
        let mut spans = Spans::default();
        [phase("write", 0.0, 1.0), phase("overwrite", 1.0, 1.0)]
            .iter()
            .for_each(|event| spans.note_event(event));
        let stick = || Device::new(&Model::find("usb-stick").unwrap(), 1 << 30, 1).unwrap();
        let traced = || TracedDevice { trace: trace.clone(), device: stick() };
        let events = spans.observations(vec![traced()]).unwrap();
        // Pages of 16 KiB while writing goes on; what does not go on closes the unit and copies what it holds.
        let expected =
            [("write", [0.0, 1.0, 1.0, 163_840.0, 0.0]), ("overwrite", [9.0, 0.0, 1.0, 14_581_760.0, 4.0])];
        assert_eq!(events.len(), expected.len());
        let names = ["seeks", "sequential_share", "queue_depth", "medium_written", "erases"];
        // Each request takes 50 ms, and the first one goes on nowhere.
        let busy: [&[(&str, f64)]; 2] = [
            &[("busy_write_onwards", 0.45), ("busy_write_elsewhere", 0.05)],
            &[("busy_write_elsewhere", 0.5)],
        ];
        for ((event, (phase, values)), busy) in events.into_iter().zip(expected).zip(busy) {
            let Event::Observation(found) = event else { panic!("{event:?}") };
            let found_values: Vec<(&str, f64)> = found
                .measurements
                .iter()
                .map(|measurement| (measurement.metric.as_ref(), measurement.value))
                .collect();
            let values = names.into_iter().zip(values).chain(busy.iter().copied());
            assert_eq!((found.phase.as_str(), found_values), (phase, values.collect()));
        }
        // Of a filesystem that does something by itself it is said that nobody told.
        spans.jobs = fsverdict_stack::filesystem::find_filesystem("ext4").unwrap().background;
        let events = spans.observations(vec![traced()]).unwrap();
        assert!(matches!(&events[..], [_, _, Event::Caution(said)] if said.text == super::UNKNOWN_SUBMITTER));
        spans.jobs = &[];
        // Two that were asked for the same: what is counted doubles, what is a share or a mean stays.
        let both = spans.observations(vec![traced(), traced()]).unwrap();
        for (event, (_, [seeks, share, depth, written, erases])) in both.into_iter().zip(expected) {
            let Event::Observation(found) = event else { panic!("{event:?}") };
            let values =
                found.measurements.iter().filter(|measurement| !measurement.metric.starts_with("busy_"));
            let values: Vec<f64> = values.map(|measurement| measurement.value).collect();
            assert_eq!(values, [2.0 * seeks, share, depth, 2.0 * written, 2.0 * erases]);
        }
    }
}
