//! Malicious guests: tests invalid requests, memory and messages against a device in real time.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::connection::{Connection, u32_at};
use super::{BackendError, BackendReport, Served, prepare_disk, real};

const SIZE: u64 = 1_000_000_000;
/// Bytes of the guest's memory, and the addresses in it.
const MEMORY: u64 = 1 << 16;
const TABLE: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEADER: u64 = 0x3000;
const DATA: u64 = 0x4000;
const STATUS: u64 = 0x5000;

struct Guest {
    connection: Connection,
    memory: File,
    store: File,
    call: OwnedFd,
    device: JoinHandle<Result<BackendReport, BackendError>>,
}

fn served(model: &str) -> Served<'_> {
    Served { model, draw: None, size_bytes: SIZE, seed: 0, fails_after: None }
}

fn memory(name: &str) -> File {
    File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap())
}

fn message(request: u32, words: &[u64]) -> Vec<u8> {
    let head = [request, 1, words.len() as u32 * 8].map(u32::to_le_bytes).concat();
    [head, words.iter().flat_map(|word| word.to_le_bytes()).collect()].concat()
}

impl Guest {
    /// A guest that is connected to a device of this model, has passed its memory and set up its ring.
    fn new(model: &str) -> Self {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let (memory, store) = (memory("memory"), memory("store"));
        memory.set_len(MEMORY).unwrap();
        let (model, file) = (model.to_owned(), store.try_clone().unwrap());
        let device = std::thread::spawn(move || {
            let mut disk = prepare_disk(served(&model), file, None, None)?;
            real::serve_in_real_time(&mut disk, theirs)?;
            Ok(disk.tally.to_report())
        });
        let call = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let guest = Guest { connection: Connection::new(ours), memory, store, call, device };
        guest.say(&message(5, &[1, 0, MEMORY, 0, 0]), &[guest.memory.as_fd()]);
        guest.say(&message(8, &[16 << 32]), &[]);
        guest.say(&message(9, &[0, TABLE, USED, AVAILABLE, 0]), &[]);
        guest.say(&message(13, &[0]), &[guest.call.as_fd()]);
        guest.say(&message(18, &[1 << 32]), &[]);
        guest
    }

    fn say(&self, message: &[u8], descriptors: &[std::os::fd::BorrowedFd<'_>]) {
        assert!(self.connection.send_message(message, descriptors).unwrap());
    }

    /// Receives the next reply; returns its payload.
    fn reply(&mut self) -> Vec<u8> {
        let mut head = [0; 12];
        assert!(self.connection.receive_message(&mut head).unwrap());
        let mut payload = vec![0; u32_at(&head, 8) as usize];
        assert!(self.connection.receive_message(&mut payload).unwrap());
        payload
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at).unwrap();
    }

    /// Asks for a sector to be written or read, in an unused ring, and receives the acknowledgement.
    fn ask(&mut self, kind: u32, sector: u64) {
        let descriptors =
            [(HEADER, 16, 1_u16, 1_u16), (DATA, 512, if kind == 0 { 3 } else { 1 }, 2), (STATUS, 1, 2, 0)];
        for (slot, (address, length, flags, next)) in (0..).zip(descriptors) {
            let words = [
                &u64::to_le_bytes(address)[..],
                &u32::to_le_bytes(length),
                &flags.to_le_bytes(),
                &next.to_le_bytes(),
            ];
            self.put(TABLE + 16 * slot, &words.concat());
        }
        self.put(HEADER, &[&u64::from(kind).to_le_bytes()[..], &sector.to_le_bytes()].concat());
        self.put(DATA, &[0x5a; 512]);
        self.put(STATUS, &[0xff]);
        self.put(AVAILABLE, &[0, 0, 1, 0, 0, 0]);
        self.say(&message(35, &[0]), &[]);
        assert_eq!(self.reply().len(), 8);
    }

    /// Waits for a call through the eventfd, which the device has made non-blocking.
    fn is_called(&self) {
        let mut watched = [PollFd::new(&self.call, PollFlags::IN)];
        assert_eq!(poll(&mut watched, Some(&Timespec { tv_sec: 60, tv_nsec: 0 })), Ok(1));
        rustix::io::read(&self.call, &mut [0; 8]).unwrap();
    }

    fn status(&self) -> u8 {
        let mut status = [0];
        self.memory.read_exact_at(&mut status, STATUS).unwrap();
        status[0]
    }

    /// Hangs up, and waits for the device no longer than any device takes.
    fn end(self) -> BackendReport {
        drop(self.connection);
        for _ in 0..600 {
            if self.device.is_finished() {
                return self.device.join().unwrap().unwrap();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it is served for ever");
    }
}

fn models() -> impl Iterator<Item = &'static str> {
    crate::device::built_in().iter().map(|model| model.name)
}

#[test]
fn a_sector_beyond_the_end_is_answered_with_an_error_on_every_model() {
    let far = [(1 << 55) + 100, SIZE / 512, u64::MAX, u64::MAX / 512 + 1];
    for (model, sector) in models().flat_map(|model| far.map(|sector| (model, sector))) {
        let mut guest = Guest::new(model);
        guest.ask(1, sector);
        guest.is_called();
        assert_eq!(guest.status(), 1, "{model}, sector {sector}");
        let mut found = [0; 512];
        guest.store.read_exact_at(&mut found, 100 * 512).unwrap();
        assert_eq!(found, [0; 512], "{model}, sector {sector}");
        guest.end();
    }
}

#[test]
fn a_bell_that_takes_no_more_holds_up_nobody() {
    let mut guest = Guest::new("ideal");
    rustix::io::write(&guest.call, &(u64::MAX - 1).to_ne_bytes()).unwrap();
    guest.ask(1, SIZE);
    guest.say(&message(1, &[]), &[]);
    let descriptor = guest.call.try_clone().unwrap();
    guest.end();
    let mut counted = [0; 8];
    rustix::io::read(descriptor, &mut counted).unwrap();
    assert_eq!(u64::from_ne_bytes(counted), u64::MAX - 1);
}

#[test]
fn more_of_the_configuration_than_there_is_is_not_answered() {
    let mut guest = Guest::new("ideal");
    for (offset, size, wanted) in [
        (0_u32, 60_u32, 72),
        (200, 56, 68),
        (0, 257, 0),
        (200, 57, 0),
        (0, u32::MAX, 0),
        (u32::MAX, u32::MAX, 0),
    ] {
        let mut asked = message(24, &[0, 0]);
        asked[12..20].copy_from_slice(&[offset.to_le_bytes(), size.to_le_bytes()].concat());
        guest.say(&asked, &[]);
        assert_eq!(guest.reply().len(), wanted, "{size} from {offset}");
    }
    guest.end();
}

#[test]
fn descriptors_that_nobody_asked_for_are_closed() {
    let mut guest = Guest::new("ideal");
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    for _ in 0..20 {
        guest.say(&message(1, &[]), &[writer.as_fd(); 8]);
        assert_eq!(guest.reply().len(), 8);
    }
    drop(writer);
    guest.say(&message(1, &[]), &[]);
    guest.reply();
    let mut watched = [PollFd::new(&reader, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap();
    assert!(watched[0].revents().contains(PollFlags::HUP), "{watched:?}");
    guest.end();
}

#[test]
fn memory_that_its_file_does_not_have_is_refused() {
    for (size, begins) in
        [(MEMORY + 1, 0), (MEMORY, 4096), (4096, 0x00d2_0000_0000_0000), (4096, u64::MAX - 4095)]
    {
        let guest = Guest::new("ideal");
        guest.say(&message(5, &[1, 0, size, 0, begins]), &[guest.memory.as_fd()]);
        let told = guest.device.join().unwrap().unwrap_err();
        assert!(matches!(&told, BackendError::Memory(reason) if reason.contains("of a file of")), "{told}");
    }
}

#[test]
fn memory_that_can_be_sealed_does_not_shrink() {
    let mut guest = Guest::new("ideal");
    guest.say(&message(1, &[]), &[]);
    guest.reply();
    assert!(guest.memory.set_len(0).is_err());
    guest.ask(0, SIZE);
    guest.is_called();
    assert_eq!(guest.status(), 1);
    guest.end();
}
