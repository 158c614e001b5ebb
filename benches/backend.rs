//! How many requests a second the process that serves a modelled device answers, clock included, and what memory it
//! takes: this program plays the guest, with kicks, calls and turns as User-Mode Linux 6.12 makes them.
//!
//! `cargo bench --bench backend` takes some ten seconds; the aims are 30 000 a second with 32 requests at once, and less
//! than 100 MB of memory beside the store.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement has nothing to clean up")]

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Instant;

use fsverdict_disk::backend::{Clock, Served};
use fsverdict_disk::device::built_in;
use fsverdict_lab::lab::backend::{Backend, DeviceOrder, Files, GuestSockets, Sockets};
use fsverdict_linux::host::placement::{Pinned, Placement};
use fsverdict_linux::sandbox::possible_isolation;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

const REQUESTS: u64 = 200_000;
const RING: u16 = 256;
/// Where things lie in the guest's memory; the ring's three parts, headers and statuses, data.
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEADERS: u64 = 0x4000;
const STATUSES: u64 = 0x6000;
const DATA: u64 = 0x10_0000;
const MEMORY: u64 = 0x20_0000;
/// In the memory shared with the clock: the time, and this guest's place (capability, wish, wished time).
const NOW: u64 = 16;
const GUEST: u64 = 4096 + 128;

/// The guest's half of both protocols.
struct Guest {
    driver: UnixStream,
    calls: UnixStream,
    clock: UnixStream,
    shared: GuestMemoryMmap,
    memory: GuestMemoryMmap,
    size: u64,
    submitted: u64,
    done: u16,
}

fn mapped(file: File, length: u64) -> GuestMemoryMmap {
    let region = (GuestAddress(0), length as usize, Some(FileOffset::new(file, 0)));
    GuestMemoryMmap::from_ranges_with_files([region]).unwrap()
}

fn write<T: vm_memory::ByteValued>(memory: &GuestMemoryMmap, at: u64, value: T) {
    memory.write_obj(value, GuestAddress(at)).unwrap();
}

fn send(socket: &UnixStream, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.as_slice();
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    assert_eq!(
        sendmsg(socket, &[IoSlice::new(bytes)], &mut beside, SendFlags::empty()).unwrap(),
        bytes.len()
    );
}

/// A message of the clock's: what it is, its number, a time.
fn tick(operation: u32) -> Vec<u8> {
    [&operation.to_le_bytes()[..], &1_u32.to_le_bytes(), &[0; 8]].concat()
}

impl Guest {
    fn connect(GuestSockets { disks, clock }: &GuestSockets, size: u64) -> Guest {
        let disk = &disks[0];
        let connect =
            |file: &OwnedFd| UnixStream::connect(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let clock = connect(clock);
        send(&clock, &tick(1), None);
        let (mut answer, mut space) = ([0; 16], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))]);
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        recvmsg(&clock, &mut [IoSliceMut::new(&mut answer)], &mut beside, RecvFlags::empty()).unwrap();
        let Some(RecvAncillaryMessage::ScmRights(mut files)) = beside.drain().next() else {
            unreachable!("the clock shares its memory")
        };
        let shared = mapped(files.next().unwrap().into(), 4096 + 256);
        write(&shared, GUEST, 1_u32);
        let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(MEMORY).unwrap();
        let (calls, theirs) = UnixStream::pair().unwrap();
        let memory = mapped(file.try_clone().unwrap(), MEMORY);
        let mut guest =
            Guest { driver: connect(disk), calls, clock, shared, memory, size, submitted: 0, done: 0 };
        let numbers = |numbers: &[u64]| numbers.iter().flat_map(|one| one.to_le_bytes()).collect::<Vec<u8>>();
        let ring_size = u64::from(RING) << 32;
        guest.ask(5, &numbers(&[1, 0, MEMORY, 0, 0]), Some(file.as_fd()));
        guest.ask(21, &[], Some(theirs.as_fd()));
        guest.ask(8, &numbers(&[ring_size]), None);
        guest.ask(10, &numbers(&[0]), None);
        guest.ask(9, &numbers(&[0, DESCRIPTORS, USED, AVAILABLE, 0]), None);
        guest.ask(18, &numbers(&[1 << 32]), None);
        guest
    }

    /// A message to the device, which answers each.
    fn ask(&mut self, request: u32, payload: &[u8], descriptor: Option<BorrowedFd<'_>>) {
        let header = [request, 1 | 8, payload.len() as u32].map(u32::to_le_bytes).concat();
        send(&self.driver, &[&header, payload].concat(), descriptor);
        self.driver.read_exact(&mut [0; 20]).unwrap();
    }

    /// Puts a request of 4 KiB into the ring: three reads to a write, anywhere.
    fn submit(&mut self) {
        let slot = self.submitted % 64;
        let anywhere = self.submitted.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (self.size / 4096) * 8;
        let writes = self.submitted.is_multiple_of(4);
        let header = HEADERS + 16 * slot;
        write(&self.memory, header, u32::from(writes));
        write(&self.memory, header + 8, anywhere);
        let data_flags: u64 = if writes { 1 } else { 3 };
        let chain = [(header, 16, 1), (DATA + 4096 * slot, 4096, data_flags), (STATUSES + slot, 1, 2)];
        for (part, (address, length, flags)) in chain.into_iter().enumerate() {
            let index = 3 * slot + part as u64;
            write(&self.memory, DESCRIPTORS + 16 * index, address);
            write(&self.memory, DESCRIPTORS + 16 * index + 8, length | flags << 32 | (index + 1) << 48);
        }
        let place = self.submitted % u64::from(RING);
        write(&self.memory, AVAILABLE + 4 + 2 * place, (3 * slot) as u16);
        self.submitted += 1;
        write(&self.memory, AVAILABLE + 2, self.submitted as u16);
    }

    /// Kicks, waits, is called, and runs again: how many requests were answered meanwhile.
    fn turn(&mut self) -> u64 {
        self.ask(35, &[0; 8], None);
        write(&self.shared, GUEST + 4, 0_u32);
        self.clock.write_all(&tick(3)).unwrap();
        loop {
            let mut waiting =
                [PollFd::new(&self.calls, PollFlags::IN), PollFd::new(&self.clock, PollFlags::IN)];
            poll(&mut waiting, None).unwrap();
            let [called, runs] = waiting.map(|one| !one.revents().is_empty());
            if called {
                self.calls.read_exact(&mut [0; 20]).unwrap();
                let now: u64 = self.shared.read_obj(GuestAddress(NOW)).unwrap();
                write(&self.shared, GUEST + 8, now);
                write(&self.shared, GUEST + 4, 1_u32);
                self.calls
                    .write_all(&[[4, 1 | 4, 8].map(u32::to_le_bytes).concat(), vec![0; 8]].concat())
                    .unwrap();
            }
            if runs {
                self.clock.read_exact(&mut [0; 16]).unwrap();
                let used: u16 = self.memory.read_obj(GuestAddress(USED + 2)).unwrap();
                let answered = used.wrapping_sub(self.done);
                self.done = used;
                return u64::from(answered);
            }
        }
    }
}

/// The memory of its own that the process serving the device has, in kB: the largest of all that run this program,
/// its sandbox among them.
fn memory_of_server() -> u64 {
    let own = std::fs::read_link("/proc/self/exe").unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let others = processes
        .filter(|path| std::fs::read_link(path.join("exe")).is_ok_and(|exe| exe == own))
        .filter(|path| !path.ends_with(std::process::id().to_string()))
        .filter_map(|path| std::fs::read_to_string(path.join("status")).ok());
    let anonymous = |status: String| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with("RssAnon"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    others.filter_map(anonymous).max().unwrap_or_default()
}

fn main() -> ExitCode {
    // The process that serves, and the sandbox it is in, are this program again, with hidden commands of fsverdict's.
    if std::env::args().nth(1).is_some_and(|first| first != "--bench") {
        return fsverdict::cli::main();
    }
    let placement = Placement::choose_processors().unwrap();
    let _pinned = Pinned::pin_to(placement.guest).unwrap();
    for (model, size) in built_in()
        .iter()
        .map(|model| (model.name, 16_000_000_000))
        .chain([("hdd-7200", 2_000_000_000_000), ("nvme-ssd", 512_000_000_000)])
    // as large as these are
    {
        for depth in [1, 32] {
            let store = memfd_create("store", MemfdFlags::CLOEXEC).unwrap();
            let files = Files { store: &store, trace: None, log: None };
            let device = Served { model, draw: None, size_bytes: size, seed: 1, fails_after: None };
            let order = [DeviceOrder { device, files }];
            let sockets = Sockets::new(1).unwrap();
            let (backend, sockets) =
                Backend::start_serving(&order, Clock::Simulated, 60, possible_isolation(), sockets).unwrap();
            let mut guest = Guest::connect(&sockets, size);
            let (mut underway, mut answered) = (0, 0);
            let started = Instant::now();
            while answered < REQUESTS {
                while underway < depth {
                    guest.submit();
                    underway += 1;
                }
                let some = guest.turn();
                underway -= some;
                answered += some;
            }
            let rate = answered as f64 / started.elapsed().as_secs_f64();
            let memory = memory_of_server();
            drop(guest);
            let report = backend.wait_for_reports().unwrap().remove(0);
            println!(
                "{model:14} {:5} GB, {depth:2} at once: {rate:>8.0} requests/s, {:.0} s of device time, {memory} kB {}",
                size / 1_000_000_000,
                report.simulated_ns as f64 / 1e9,
                report.trouble.unwrap_or_default(),
            );
        }
    }
    ExitCode::SUCCESS
}
