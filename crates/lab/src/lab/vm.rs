//! The `vm` lab: QEMU with a kernel image: this machine's, a distribution's, or one that the user built.
//!
//! The guest's root is the host's, read-only, over 9p; its disk is an unlinked scratch image, a cleared block device,
//! or a modelled device on a socket. It boots into an initramfs with the fsverdict binary as its first process, the
//! modules that the binary needs to mount its root, and the trial's description; events leave it through a port of
//! virtio-serial. QEMU runs in the same sandbox as the kernel of the lab uml.

mod accelerator;
mod enter;
mod error;
mod image;
mod initramfs;
mod modules;
mod package;

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};

use crate::kernel::KernelCache;
use crate::trial::TrialSpec;
use fsverdict_disk::backend::Clock;
use fsverdict_judgement::journal::{Caution, Event, Facts};
use fsverdict_judgement::plan::{Candidate, DeviceSource, LabChoice, Plan};
use fsverdict_linux::sandbox::program::{Program, find_program, require_success};
use fsverdict_linux::sandbox::{Devices, Isolation, possible_isolation};
use fsverdict_text::Reason;

use super::guest_command::{GuestCommand, GuestInputs, GuestTraits, TrialRequest};
use super::guests::Guests;
use super::hidden::hidden_but_for;
use super::kernel::{Kernel, kernel_sandbox};
use super::kernels::GuestKernels;
use super::modelled::{disk_name, queue_depth};
use super::trial_end::TrialEnd;
use super::{Attachments, GuestMemory, Intent, Lab, LabEntry, LabError, Watch};

use accelerator::{Accelerator, AcceleratorQuestion, KVM};
use enter::{ARRIVAL, DESCRIPTION, MACHINE};
pub(super) use error::KernelFileError;
pub use package::is_kernel_package;

pub(super) const ENTRY: LabEntry = LabEntry {
    choice: LabChoice::Vm,
    summary: "a virtual machine (QEMU) with this machine's kernel, a distribution's, or one of yours: no root; when asked for",
    takes: |source| *source != DeviceSource::Folders,
    prepare: |plan, intent| Ok(Box::new(Vm::prepare_vm(plan, intent)?)),
    arrival: Some(ARRIVAL),
};

const TRAITS: GuestTraits = GuestTraits {
    disk: disk_name,
    staging: |disks| disk_name(disks + 1),
    devices: Devices::BareAndKvm,
    timed: true,
    same_clock: false,
};
const PROGRAM: &str = "qemu-system-x86_64";
/// A kernel that starts at all has panicked for want of a root after a second.
const PROBE: Duration = Duration::from_secs(8);
/// The caution about times of an emulated processor.
const EMULATED: &str = "the guest's processor is emulated (TCG), some 15 times slower than this machine's: nothing should be concluded from \
    times; bytes, requests and flushes are right";

#[derive(Debug)]
struct Vm {
    guests: Guests,
    qemu: PathBuf,
    version: String,
    accelerator: Accelerator,
}

impl Vm {
    /// Finds QEMU and the kernel, and tries whether the processor can run it.
    fn prepare_vm(plan: &Plan, intent: Intent) -> Result<Self, LabError> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(LabError::NoVirtualMachine(std::env::consts::ARCH));
        }
        let qemu = find_program(PROGRAM).ok_or(LabError::NoQemu)?;
        let isolation = possible_isolation();
        let kernels = GuestKernels::find_kernels(plan, |wanted| {
            image::find_usable_kernel(wanted.name, isolation, intent)
        })?;
        let guests = Guests::new(plan, isolation, kernels, Clock::Real)?;
        let version_text = require_success(Program::new([PROGRAM, "--version"]).run("probe")?)?.stdout;
        let version = version_text.split_whitespace().nth(3).unwrap_or("of unknown version").to_owned();
        let kernel = guests.kernels.iter().next();
        let accelerator =
            kernel.map_or(Accelerator::Tcg, |kernel| choose_accelerator(kernel, isolation, &version, intent));
        Ok(Vm { guests, qemu, version, accelerator })
    }

    /// The command line of QEMU, with descriptors by number.
    fn qemu_argv(
        &self,
        kernel: &Kernel,
        memory: u64,
        initramfs: i32,
        events: i32,
        disks: Vec<String>,
        queue_depth: Option<u32>,
    ) -> Vec<String> {
        let memory = memory.div_ceil(1 << 20);
        let depth = queue_depth.map_or(String::new(), |depth| format!("virtio_blk.queue_depth={depth} "));
        let mut argv = machine_argv(&self.qemu, self.accelerator, kernel);
        let mut add = |key: &str, value: String| argv.extend([key.to_owned(), value]);
        add("-m", format!("{memory}M"));
        // A modelled device's process sees the guest's memory.
        add("-object", format!("memory-backend-memfd,id=memory,size={memory}M,share=on"));
        add("-machine", "memory-backend=memory".to_owned());
        add("-initrd", format!("/proc/self/fd/{initramfs}"));
        // The kernel's timer check depends on how soon timers fire, which fails on a busy host. A ramfs takes
        // everything that is unpacked, or the kernel reports that memory is short; a tmpfs would be full at half of
        // the memory and be used incomplete.
        add(
            "-append",
            format!(
                "console=ttyS0 quiet panic=-1 no_timer_check rootfstype=ramfs rdinit=/{} {depth}-- guest {MACHINE} {DESCRIPTION}",
                initramfs::PROGRAM
            ),
        );
        // The first device, as the name of its port says.
        add("-device", "virtio-serial-pci".to_owned());
        add("-add-fd", format!("fd={events},set=0"));
        // A pipe cannot be truncated.
        add("-chardev", "file,id=events,path=/dev/fdset/0,append=on".to_owned());
        add("-device", "virtserialport,chardev=events".to_owned());
        // Inodes of several filesystems of the host's are one filesystem's in the guest.
        add("-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap".to_owned());
        add("-device", format!("virtio-9p-pci,fsdev=root,mount_tag={}", enter::ROOT));
        argv.extend(disks);
        argv
    }

    fn start_command(&self, given: GuestInputs<'_>) -> Result<GuestCommand, LabError> {
        let depth = given.served.as_ref().map(|served| queue_depth(served.models)).transpose()?;
        let initramfs = initramfs::pack_initramfs(given.kernel, given.assignment, depth)?;
        let (mut disks, mut lent) = (Vec::new(), Vec::new());
        for (number, disk) in (1..).zip(given.disks) {
            disks.extend(if given.served.is_some() {
                served_disk(disk.as_raw_fd(), number)
            } else {
                open_disk(&disk, number)?
            });
            lent.push(disk);
        }
        let next = lent.len() + 1;
        lent.extend(given.served.map(|served| served.clock));
        if let Some(disk) = given.staging {
            disks.extend(open_disk(&disk, next)?);
            lent.push(disk);
        }
        let (archive, events) = (initramfs.as_raw_fd(), given.events.as_raw_fd());
        let argv = self.qemu_argv(given.kernel, given.memory, archive, events, disks, depth);
        lent.extend([initramfs, given.events]);
        Ok(GuestCommand { argv, lent, shown: None })
    }
}

/// QEMU with nothing but processor, kernel and console; a guest that reboots, as after a panic, ends it.
fn machine_argv(qemu: &Path, accelerator: Accelerator, kernel: &Kernel) -> Vec<String> {
    let accelerator = match accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Tcg => "tcg",
    };
    let (qemu, kernel) = (qemu.to_string_lossy(), kernel.path.to_string_lossy());
    let words = "-no-user-config -nodefaults -display none -monitor none -serial stdio -no-reboot";
    let named = ["-machine", "q35", "-accel", accelerator, "-cpu", "max", "-smp", "1", "-kernel", &kernel];
    [&*qemu].into_iter().chain(words.split(' ')).chain(named).map(str::to_owned).collect()
}

/// A disk behind an open file: past this machine's cache where its filesystem knows how.
fn open_disk(disk: &OwnedFd, set: usize) -> std::io::Result<Vec<String>> {
    let number = disk.as_raw_fd();
    let driver = match FileType::from_raw_mode(fstat(disk)?.st_mode) {
        FileType::BlockDevice => "host_device",
        _ => "file",
    };
    let direct = if fcntl_setfl(disk, fcntl_getfl(disk)? | OFlags::DIRECT).is_ok() { "on" } else { "off" };
    Ok(disk_words(number, set, driver, direct))
}

fn disk_words(number: i32, set: usize, driver: &str, direct: &str) -> Vec<String> {
    let file = format!("file.driver={driver},file.filename=/dev/fdset/{set},file.aio=threads");
    let options = format!("driver=raw,node-name=disk{set},discard=unmap,cache.direct={direct},{file}");
    let device = format!("virtio-blk-pci,drive=disk{set}");
    ["-add-fd", &format!("fd={number},set={set}"), "-blockdev", &options, "-device", &device]
        .map(str::to_owned)
        .into()
}

/// A modelled device. The ring is as large as the one that the lab uml makes.
fn served_disk(socket: i32, disk: usize) -> Vec<String> {
    let chardev = format!("socket,id=disk{disk},path=/proc/self/fd/{socket}");
    let device = format!("vhost-user-blk-pci,chardev=disk{disk},num-queues=1,queue-size=256");
    ["-chardev", &chardev, "-device", &device].map(str::to_owned).into()
}

/// KVM where this machine's processor starts the kernel: one that is emulated itself may not.
fn choose_accelerator(kernel: &Kernel, isolation: Isolation, version: &str, intent: Intent) -> Accelerator {
    if std::fs::File::options().read(true).write(true).open(KVM).is_err() {
        return Accelerator::Tcg;
    }
    let kept = KernelCache::of_user().own;
    let question = AcceleratorQuestion::new(&kernel.path, &format!("QEMU {version}, {isolation:?}"));
    let starts = || {
        let mut argv = machine_argv(Path::new(PROGRAM), Accelerator::Kvm, kernel);
        argv.extend(["-m", "256M", "-append", "console=ttyS0 panic=-1 no_timer_check"].map(str::to_owned));
        let secrets = hidden_but_for(vec![kernel.path.clone()], &[]);
        let mut sandbox = kernel_sandbox(isolation, secrets, [""; 0]);
        sandbox.devices = TRAITS.devices;
        let record = Program::new(argv).inside(sandbox).with_time_limit(PROBE).run("probe");
        let starts = record.is_ok_and(|record| record.exit == Some(0));
        if let Some(question) = &question {
            question.keep_answer(&kept, starts);
        }
        starts
    };
    // A plan's kernel is not started when only looking: nobody has agreed to that.
    let may_start = intent == Intent::Run || image::is_installed(&kernel.path);
    let remembered = question.as_ref().and_then(|question| question.recall_answer(&kept));
    let works = remembered.unwrap_or_else(|| !may_start || starts());
    if works { Accelerator::Kvm } else { Accelerator::Tcg }
}

impl Lab for Vm {
    fn name(&self) -> &'static str {
        ENTRY.name()
    }

    fn fidelity(&self) -> String {
        let (by, emulated) = match self.accelerator {
            Accelerator::Kvm => ("KVM", String::new()),
            Accelerator::Tcg => ("TCG", format!("; {EMULATED}")),
        };
        let kernel = format!(
            "Linux {} in a virtual machine (QEMU {}, {by})",
            self.guests.kernels.releases(),
            self.version
        );
        let models =
            self.guests.models_title().map_or(String::new(), |models| format!("real time on the {models}; "));
        format!("{models}{kernel}, one CPU, {}{emulated}", self.guests.memory_title())
    }

    fn facts(&self) -> Facts {
        let mut facts = self.guests.collect_facts();
        facts.insert("lab.qemu".to_owned(), self.version.clone());
        facts.insert("lab.accelerator".to_owned(), format!("{:?}", self.accelerator).to_lowercase());
        facts
    }

    fn find_obstacle(&self, candidate: &Candidate) -> Option<Reason> {
        self.guests.find_obstacle(candidate)
    }

    fn guest_memory(&self) -> Option<GuestMemory> {
        Some(self.guests.guest_memory())
    }

    fn against_trying(&self) -> Option<&'static str> {
        // Its kernel may first have to be unpacked, and takes its time to boot.
        Some("not tried: a run tries them in a virtual machine before its first trial")
    }

    fn command_line(&self) -> Vec<String> {
        // The descriptor numbers differ between trials; to repeat the command, name files instead.
        let Some(first) = self.guests.plan.candidates.first() else { return Vec::new() };
        let modelled = self.guests.modelled_devices(first);
        let depth = queue_depth(&modelled).ok().filter(|_| !modelled.is_empty());
        let disks = (5..).zip(1..=self.guests.plan.device.count()).flat_map(|(socket, number)| {
            if depth.is_some() {
                served_disk(socket, number)
            } else {
                disk_words(socket, number, "file", "on")
            }
        });
        let disks = disks.collect();
        self.qemu_argv(self.guests.kernel_for(first), self.guests.memory_bytes(first), 3, 4, disks, depth)
    }

    fn run_trial(
        &self,
        spec: &TrialSpec,
        attachments: &Attachments,
        job: usize,
        watch: Watch<'_>,
    ) -> Result<TrialEnd, LabError> {
        let habits = GuestTraits { timed: self.accelerator == Accelerator::Kvm, ..TRAITS };
        if !habits.timed {
            watch(Event::Caution(Caution::new(EMULATED)));
        }
        self.guests.run_guest_trial(
            &TrialRequest { spec, attachments, job },
            habits,
            None,
            |given| self.start_command(given),
            watch,
        )
    }
}
