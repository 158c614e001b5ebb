//! Runs trials on modelled devices: a process of fsverdict serves them, and keeps the clock of guests that support
//! simulated time.

use std::path::Path;
use std::time::Duration;

use fsverdict_linux::host::placement::{Pinned, Placement};
use fsverdict_linux::sandbox::Isolation;
use fsverdict_linux::sandbox::program::find_program;

use fsverdict_disk::backend::{Clock, Served};
use fsverdict_disk::device::{Device, Draw, Limits, Model, fastest_rate};
use fsverdict_judgement::journal::TrialId;

use crate::trial::seeds;
use fsverdict_judgement::plan::ClockChoice;
use fsverdict_text::{DrawnNumbers, Hinted};

use super::backend::{Backend, DeviceOrder, Files, GuestSockets, ServingError, Sockets};
use super::kernel::{Kernel, Provision};
use super::write_log::OpenLog;
use super::{Attachments, LabError, launch};

/// Options that a kernel needs built in for simulated time.
const SYMBOLS: [&str; 3] = [TIME_TRAVEL, BUS, DRIVER.0];
const TIME_TRAVEL: &str = "CONFIG_UML_TIME_TRAVEL_SUPPORT";
/// A modelled device in real time needs this built in, and its driver at least as a module.
const BUS: &str = "CONFIG_VIRTIO_UML";
const DRIVER: (&str, &str) = ("CONFIG_VIRTIO_BLK", "virtio_blk");
/// Where the guest finds its description.
pub(super) const DESCRIPTION: &str = "/dev/shm/fsverdict-trial";
/// When the guest thinks it starts, in nanoseconds since 1970: 2023-11-14. Never another, so that no two trials differ.
const START: u64 = 1_700_000_000_000_000_000;
/// The guest kernel's descriptors of the first disk's socket, the clock's, and the pipe for events; the other disks' follow.
pub(super) const LENT_DESCRIPTORS: [i32; 3] = [launch::LENT, launch::LENT + 1, launch::LENT + 2];
/// Bytes of a trace at most.
const TRACE: u64 = 256 << 20;
/// Seconds of processor time for which a guest may compute without using clock or disk; at most a quarter of the
/// trial's limit, so that a guest with a quarter of a processor is told from one that is slow.
const SILENCE: u64 = 120;

/// The disk of this number, from 1, as the guest sees it.
pub(super) fn disk_name(number: usize) -> String {
    disk_of("/dev/vd", number)
}

/// The name of the disk of this number, from 1, among those that begin so.
pub(super) fn disk_of(begins: &str, number: usize) -> String {
    let letter = u8::try_from(number.saturating_sub(1)).unwrap_or(u8::MAX);
    format!("{begins}{}", char::from(b'a'.saturating_add(letter)))
}

/// The option that a kernel lacks for simulated time; `None` if it has all.
fn find_missing_support(kernel: &Kernel) -> Option<&'static str> {
    SYMBOLS.into_iter().find(|symbol| kernel.find_provision(symbol) != Provision::Builtin)
}

/// Chooses the clock of a modelled device for these kernels.
pub(super) fn choose_clock<'a>(
    choice: ClockChoice,
    mut kernels: impl Iterator<Item = &'a Kernel>,
) -> Result<Clock, LabError> {
    let unfit = kernels.find_map(|kernel| Some((kernel, find_missing_support(kernel)?)));
    match (choice, unfit) {
        (ClockChoice::Real, _) | (ClockChoice::Auto, Some((_, TIME_TRAVEL))) => Ok(Clock::Real),
        (_, None) => Ok(Clock::Simulated),
        (_, Some((kernel, symbol))) => Err(LabError::NoSimulatedTime { path: kernel.path.clone(), symbol }),
    }
}

/// The module that a guest must load for modelled devices, if it is not built in; or the option that its kernel
/// lacks.
pub(super) fn find_driver(kernel: &Kernel) -> Result<Option<&'static str>, &'static str> {
    match (kernel.find_provision(BUS), kernel.find_provision(DRIVER.0)) {
        (Provision::Builtin, Provision::Builtin) => Ok(None),
        (Provision::Builtin, Provision::Module) => Ok(Some(DRIVER.1)),
        (Provision::Builtin, Provision::Absent) => Err(DRIVER.0),
        _ => Err(BUS),
    }
}

#[derive(Debug)]
pub(super) struct Modelled<'a> {
    pub(super) model: &'a str,
    pub(super) size: u64,
    pub(super) isolation: Isolation,
    /// Of the run.
    pub(super) seed: u64,
    pub(super) clock: Clock,
    /// The draw from a class of devices; `None` for the typical device.
    pub(super) draw: Option<Draw>,
    /// Which of the candidate's devices it is, from 1.
    pub(super) number: usize,
    /// From then on it answers every request with an error.
    pub(super) fails_after: Option<Duration>,
}

impl Modelled<'_> {
    /// The device of this class that a block meets: each of several has a draw of its own.
    pub(super) fn drawn_by(self, draw: Option<Draw>) -> Self {
        let of_this = |draw: Draw| Draw { seed: seeds::of_further_device(draw.seed, self.number), ..draw };
        Modelled { draw: draw.map(of_this), ..self }
    }

    /// The same device at this multiple of its size, rounded to MiB if that differs; at most the model's capacity.
    pub(super) fn of_size(self, factor: f64) -> Self {
        // Bytes are far below 2⁵³.
        let size = (self.size as f64 * factor) as u64;
        let size = size.min(self.find_model().map_or(size, |model| model.capacity().max(self.size)));
        Modelled { size: if size == self.size { size } else { size >> 20 << 20 }, ..self }
    }

    /// The numbers that were drawn from a class of devices, by key of the model; empty for a single device.
    pub(super) fn drawn_numbers(&self) -> Result<DrawnNumbers, LabError> {
        Ok(if self.draw.is_some() { self.find_model()?.drawn } else { DrawnNumbers::new() })
    }

    /// The numbers in which devices of its class differ, as the typical one has them.
    pub(super) fn class_numbers(&self) -> DrawnNumbers {
        self.find_model().map_or_else(|_| DrawnNumbers::new(), |model| model.drawn)
    }

    /// Bytes per second that it can move; none where its model takes no time.
    fn fastest_rate(&self) -> Result<Option<u64>, LabError> {
        fastest_rate(&self.find_model()?, self.size).map_err(|error| LabError::Given(error.reason()))
    }

    /// The limits that the guest must set before it makes a filesystem.
    pub(super) fn queue_limits(&self) -> Result<Limits, LabError> {
        Ok(self.find_model()?.limits(self.size))
    }

    fn find_model(&self) -> Result<Model, LabError> {
        let found = match &self.draw {
            Some(draw) => Model::find_drawn(self.model, draw),
            None => Model::find(self.model),
        };
        found.map_err(|error| LabError::Given(error.reason()))
    }

    /// The model's name and version, for display.
    pub(super) fn title(&self) -> String {
        self.find_model()
            .map_or_else(|_| self.model.to_owned(), |model| format!("{} v{}", model.name, model.version))
    }

    /// The device of a trial, as it is before the first request.
    pub(super) fn device_for(&self, trial: &TrialId) -> Result<Device, LabError> {
        let failed = |error: fsverdict_disk::device::ModelError| LabError::Given(error.reason());
        Device::new(&self.find_model()?, self.size, self.seed_for(trial)).map_err(failed)
    }

    /// The seed of everything that is left to chance in a trial: the same for all candidates of a block.
    fn seed_for(&self, trial: &TrialId) -> u64 {
        seeds::of_further_device(seeds::of_device(self.seed, trial.block), self.number)
    }

    fn as_served(&self, trial: &TrialId) -> Served<'_> {
        Served {
            model: self.model,
            draw: self.draw,
            size_bytes: self.size,
            seed: self.seed_for(trial),
            fails_after: self.fails_after,
        }
    }
}

/// Bytes per second that the devices of a trial can move together; none where there is no modelled one, or one takes no time.
pub(super) fn fastest_together(devices: &[Modelled<'_>]) -> Result<Option<u64>, LabError> {
    let rates = devices.iter().map(Modelled::fastest_rate).collect::<Result<Option<Vec<u64>>, _>>()?;
    Ok(rates.map(|rates| rates.iter().sum()).filter(|total| *total > 0))
}

/// Starts serving the devices of a trial. The guest must inherit the returned descriptors.
pub(super) fn serve_devices(
    devices: &[Modelled<'_>],
    trial: &TrialId,
    attachments: &Attachments,
    placement: Placement,
    limit: Duration,
) -> Result<(Backend, GuestSockets), LabError> {
    let failed = |error: ServingError| LabError::Host(error.to_string());
    let first = devices.first().ok_or_else(|| std::io::Error::from(rustix::io::Errno::NODEV))?;
    let sockets = Sockets::new(devices.len())?;
    let files = |device: &Modelled<'_>| -> Result<_, LabError> {
        Ok((attachments.create_store()?, attachments.create_trace(trial, device.number)?))
    };
    let files = devices.iter().map(files).collect::<Result<Vec<_>, _>>()?;
    let logs = attachments.open_logs()?;
    // In simulated time guest and device take turns: on one processor they need not wake each other across two.
    let _pinned = Pinned::pin_to(match first.clock {
        Clock::Simulated => placement.guest,
        Clock::Real => placement.server,
    })?;
    let orders: Vec<DeviceOrder<'_>> = devices
        .iter()
        .zip(&files)
        .map(|(device, (store, trace))| DeviceOrder {
            device: device.as_served(trial),
            files: Files {
                store,
                trace: trace.as_ref().map(|trace| (trace, TRACE)),
                log: logs.iter().find(|log| log.device == device.number).map(OpenLog::as_device_log),
            },
        })
        .collect();
    let silence = SILENCE.min(limit.as_secs() / 4).max(1);
    Backend::start_serving(&orders, first.clock, silence, first.isolation, sockets).map_err(failed)
}

/// The kernel command line that attaches the served devices and the clock.
pub(super) fn command_line_words(devices: &[Modelled<'_>], trial: &TrialId) -> Result<Vec<String>, LabError> {
    let Some(first) = devices.first() else { return Ok(Vec::new()) };
    let [_, clock, _] = LENT_DESCRIPTORS;
    let mut words: Vec<String> = disk_descriptors(devices.len())
        .map(|disk| format!("virtio_uml.device=/proc/self/fd/{disk}:2"))
        .collect();
    words.push(format!("virtio_blk.queue_depth={}", queue_depth(devices)?));
    if first.clock == Clock::Simulated {
        words.push(format!("time-travel=ext:1:/proc/self/fd/{clock}"));
        words.push(format!("time-travel-start={START}"));
    }
    // Where programs lie in memory is chance, too.
    words.extend([format!("seed={}", first.seed_for(trial)), "norandmaps".to_owned()]);
    Ok(words)
}

/// Numbers of the descriptors of this many disks' sockets. Those of the second and later disks follow the descriptors
/// of a guest with one disk, so that its command line stays the same.
pub(super) fn disk_descriptors(disks: usize) -> impl Iterator<Item = i32> {
    let [first, _, last] = LENT_DESCRIPTORS;
    [first].into_iter().chain(last + 1..).take(disks)
}

/// How many requests the guest's driver gives to a device at once. It has one number for all of them: the largest, so that
/// none is held back.
pub(super) fn queue_depth(devices: &[Modelled<'_>]) -> Result<u32, LabError> {
    let depths = devices.iter().map(|device| Ok(device.queue_limits()?.queue_depth));
    Ok(depths.collect::<Result<Vec<_>, LabError>>()?.into_iter().max().unwrap_or(1))
}

/// The command line inside the guest's sandbox: `fsverdict launch` places the description and then executes the
/// kernel.
pub(super) fn launch_argv(
    program: &Path,
    description: i32,
    lent: &[i32],
    kernel: Vec<String>,
) -> Vec<String> {
    let lent: Vec<String> = lent.iter().map(ToString::to_string).collect();
    let mut argv = vec![
        program.to_string_lossy().into_owned(),
        launch::COMMAND.to_owned(),
        description.to_string(),
        DESCRIPTION.to_owned(),
        lent.join(","),
    ];
    // The guest's memory begins where the heap of its kernel does, and the host lets that vary.
    let steady = find_program("setarch").map(|path| path.to_string_lossy().into_owned());
    argv.extend(steady.into_iter().flat_map(|program| [program, "--addr-no-randomize".to_owned()]));
    argv.extend(kernel);
    argv
}

#[cfg(test)]
mod tests {
    use super::{Clock, Isolation, Model, Modelled};

    #[test]
    fn a_size_that_is_drawn_goes_with_its_model() {
        let all = 2_000_000_000_000;
        for (size, factor, expected) in
            [(all, 1.04, all), (all, 0.5, 999_999_668_224), (all / 2, 1.5, 1_499_999_502_336)]
        {
            let modelled = Modelled {
                model: "usb-disk-5400",
                size,
                isolation: Isolation::None,
                seed: 0,
                clock: Clock::Simulated,
                draw: None,
                number: 1,
                fails_after: None,
            };
            let drawn = modelled.of_size(factor);
            assert_eq!(drawn.size, expected);
            Model::find(drawn.model).unwrap().check_size(drawn.size).unwrap();
        }
    }
}
