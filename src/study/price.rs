//! Measures the CPU time of a run's candidates, which trials in simulated time treat as free: repeats their phases
//! natively on an image in memory. Measures the cost of ciphers for each byte separately.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fsverdict_judgement::journal::{
    CpuPrice, CpuPrices, Event, Observation, Run, Status, Trial, TrialId, Unpriced,
};
use fsverdict_judgement::plan::{
    Candidate, DeviceSource, Environment, LabChoice, Layers, Plan, bytes_written, image_room, split_layer,
};
use fsverdict_lab::lab::{Attachment, Attachments, Lab, choose_lab};
use fsverdict_lab::trial::TrialSpec;
use fsverdict_linux::host::procfs::{cpu_info, kernel_threads};
use fsverdict_linux::host::root::Root;
use fsverdict_text::{Bytes, Reason};

use super::cipher::{CipherPrice, cipher_price};
use super::error::{NoPrice, SessionError};
use super::session::check_limits;

/// The number of trials for each candidate. Other load only adds to the time of the kernel's threads, so the minimum
/// counts.
const TRIALS: u32 = 3;
/// A tmpfs that every user of a machine can write to.
const MEMORY: &str = "/dev/shm";
/// The minimum size of the sparse image in bytes (4 GiB): some filesystems behave differently on a small device.
const SMALLEST: u64 = 4 << 30;

/// Layer options that select another cipher than the layer's default.
const OF_CIPHERS: [&str; 2] = ["cipher=", "key="];

/// Seconds of one processor for each phase, in the order of the plan.
type WorkPrices = Vec<(String, f64)>;

/// Measures the prices; `tell` receives messages about the progress.
///
/// # Errors
/// Fails where native trials are impossible (they need root), or where memory does not hold them. A candidate that
/// cannot run natively gets no price, and the result says so.
pub fn measure_prices(plan: &Plan, run: &Run, tell: &mut dyn FnMut(&str)) -> Result<CpuPrices, SessionError> {
    if run.is_merged() {
        return Err(SessionError::Merged);
    }
    let has_cpu = |trial: &Trial| trial.observations.iter().any(|seen| seen.value("cpu").is_some());
    if run.trials.iter().any(has_cpu) || !plan.device.source.is_modelled() || plan.device.count() != 1 {
        return Err(SessionError::Disk(Reason::new(
            "computing has a price where trials took it as free: on one modelled device, in simulated time",
            "other trials have it in their times, and in the metrics `cpu` and `cpu_kernel`",
        )));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(SessionError::Disk(Reason::new(
            "what computing takes is measured natively, which only root may",
            "run it with sudo; the trials themselves needed none",
        )));
    }
    let bench = Bench::new(plan)?;
    let mut known: BTreeMap<String, Result<WorkPrices, NoPrice>> = BTreeMap::new();
    let mut ciphers: BTreeMap<&'static str, Result<CipherPrice, NoPrice>> = BTreeMap::new();
    let mut prices = CpuPrices { basis: vec![bench.describe_basis()], ..CpuPrices::default() };
    for candidate in &plan.candidates {
        let alone = work_alone(candidate);
        let key = format!("{} {:?} {:?}", alone.filesystem, alone.mkfs, alone.mount);
        let work = known.entry(key).or_insert_with(|| {
            tell(&alone.filesystem);
            bench.measure_work(&alone)
        });
        let layers = candidate
            .layers
            .names()
            .map(|name| layer_price(name, &mut ciphers))
            .collect::<Result<Vec<Option<CipherPrice>>, NoPrice>>();
        let priced = work.clone().and_then(|work| Ok((work, layers?)));
        match priced {
            Ok((work, layers)) => {
                let of_bytes = |phase: &str| -> f64 {
                    let bytes = |metric: &str| mean_of_metric(run, &candidate.name, phase, metric);
                    let (read, written) = (bytes("device_read"), bytes("device_written"));
                    let ciphers = layers.iter().flatten();
                    ciphers.fold(0.0, |sum, one| sum + read * one.read + written * one.written)
                };
                prices.prices.extend(work.into_iter().map(|(phase, work)| CpuPrice {
                    candidate: candidate.name.clone(),
                    layers: of_bytes(&phase),
                    phase,
                    work,
                }));
            }
            Err(fault) => prices
                .unpriced
                .push(Unpriced { candidate: candidate.name.clone(), reason: fault.to_string() }),
        }
    }
    prices.basis.extend(ciphers.into_values().flatten().map(|cipher| cipher.basis));
    Ok(prices)
}

/// The candidate without the layers below its filesystem and without its environment.
fn work_alone(candidate: &Candidate) -> Candidate {
    Candidate {
        layers: Layers::default(),
        scheduler: None,
        under: Environment::default(),
        ..candidate.clone()
    }
}

/// The CPU time per byte of a layer, given by name with its options; `None` for a layer that computes nothing.
fn layer_price(
    name: &str,
    known: &mut BTreeMap<&'static str, Result<CipherPrice, NoPrice>>,
) -> Result<Option<CipherPrice>, NoPrice> {
    let cannot = || NoPrice::Layer(name.to_owned());
    let layer = fsverdict_stack::layer::find_layer(name).ok_or_else(cannot)?;
    // The description's cipher is the layer's default.
    if layer.cipher.is_some() && OF_CIPHERS.iter().any(|option| split_layer(name).1.contains(option)) {
        return Err(cannot());
    }
    match (layer.cipher, layer.free_cpu) {
        (Some(cipher), _) => {
            known.entry(cipher.openssl).or_insert_with(|| cipher_price(cipher)).clone().map(Some)
        }
        (None, Some(_)) => Err(cannot()),
        (None, None) => Ok(None),
    }
}

/// The mean of a metric over a candidate's trials that count; 0 if no trial measured it.
fn mean_of_metric(run: &Run, candidate: &str, phase: &str, metric: &str) -> f64 {
    let is_measured = |trial: &&Trial| trial.is_counted() && trial.id.candidate == candidate;
    let values: Vec<f64> =
        run.trials.iter().filter(is_measured).filter_map(|trial| trial.value(phase, metric)).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The lab and the attachments on which the work is done.
struct Bench<'a> {
    plan: &'a Plan,
    lab: Box<dyn Lab>,
    attachments: Attachments,
}

impl<'a> Bench<'a> {
    fn new(plan: &'a Plan) -> Result<Self, SessionError> {
        let size = SMALLEST.max(bytes_written(plan).0.saturating_mul(4));
        let mut native = plan.clone();
        native.lab = LabChoice::Native;
        native.kernel = None;
        native.device.replace_sources(&[DeviceSource::Image(Bytes(size))]);
        native.device.fails = None;
        native.candidates = plan.candidates.iter().map(work_alone).collect();
        check_limits(&native)?;
        let lab = choose_lab(&native, LabChoice::Native)?.lab;
        let image =
            Attachment::Image { folder: PathBuf::from(MEMORY), size, room: image_room(&native, size) };
        Ok(Bench { plan, lab, attachments: Attachments::new(image, Vec::new()) })
    }

    fn describe_basis(&self) -> String {
        let processor = cpu_info(&Root::default(), "model name").ok().flatten();
        let release = rustix::system::uname();
        format!(
            "CPU time of tools and kernel for each phase, natively (Linux {}, {}) on an image in memory, the least of {TRIALS} trials",
            release.release().to_string_lossy(),
            processor.unwrap_or_else(|| "a processor without a name".to_owned()),
        )
    }

    /// The minimum time of each phase over all trials, or why it cannot be measured.
    fn measure_work(&self, candidate: &Candidate) -> Result<WorkPrices, NoPrice> {
        if let Some(reason) = self.lab.find_obstacle(candidate) {
            return Err(NoPrice::Obstacle(reason.what));
        }
        let mut least: BTreeMap<String, f64> = BTreeMap::new();
        for number in 1..=TRIALS {
            for (phase, seconds) in self.run_trial(candidate, number)? {
                let known = least.entry(phase).or_insert(seconds);
                *known = known.min(seconds);
            }
        }
        let phases = self.plan.phases.iter().map(|phase| &phase.name);
        Ok(phases.filter_map(|name| Some((name.clone(), *least.get(name)?))).collect())
    }

    /// Runs one trial. Returns the CPU time of each phase, including the kernel's threads.
    fn run_trial(&self, candidate: &Candidate, number: u32) -> Result<WorkPrices, NoPrice> {
        let plan = self.plan;
        let bare = TrialSpec::without_work(candidate.clone(), plan.protocol.seed, plan.protocol.timeout);
        let spec = TrialSpec {
            trial: TrialId { block: number, candidate: candidate.name.clone(), attempt: 1 },
            datasets: plan.datasets.clone(),
            phases: plan.phases.clone(),
            services: plan.services.clone(),
            ..bare
        };
        let root = Root::default();
        let mut before = kernel_threads(&root);
        let mut work: BTreeMap<String, f64> = BTreeMap::new();
        let mut watch = |event: Event| match event {
            Event::StepStarted { .. } => before = kernel_threads(&root),
            Event::Observation(observation) => {
                let after = kernel_threads(&root);
                let ticks: u64 = after
                    .iter()
                    .map(|(thread, ticks)| ticks - before.get(thread).copied().unwrap_or(0).min(*ticks))
                    .sum();
                before = after;
                let Observation { phase, .. } = &observation;
                let own_seconds = observation.value("cpu").unwrap_or(0.0);
                let threads = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
                *work.entry(phase.clone()).or_insert(0.0) += own_seconds + threads;
            }
            _ => {}
        };
        let end = self
            .lab
            .run_trial(&spec, &self.attachments, 0, &mut watch)
            .map_err(|error| NoPrice::NotRun(error.to_string()))?;
        match end.status {
            Status::Ok => Ok(work.into_iter().collect()),
            Status::Failed => Err(NoPrice::TrialFailed(end.reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{CipherPrice, layer_price};

    #[test]
    fn only_a_layer_whose_computing_is_known_has_a_price() {
        let known = CipherPrice { written: 1e-9, read: 1e-9, basis: String::new() };
        let mut ciphers = BTreeMap::from([("aes-256-xts", Ok(known.clone()))]);
        let mut price = |name| layer_price(name, &mut ciphers);
        for name in ["luks1", "luks2", "luks2:sector=4096"] {
            assert_eq!(price(name), Ok(Some(known.clone())), "{name}");
        }
        for name in ["luks2:cipher=aes-cbc-essiv:sha256", "luks2:sector=4096,key=256", "md:raid5", "nothing"]
        {
            price(name).unwrap_err();
        }
    }
}
