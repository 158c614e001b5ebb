//! Whatever somebody may hand to a parser, it answers: no panic, no endless work, no error that fills more than screens.
//!
//! Real inputs are damaged a little, again and again: that gets further into a parser than noise. Some seconds by
//! default; `PROPTEST_CASES=2500000 cargo test --release --test plain parsers` takes its time. A further parser is one line in
//! `targets!`: its name, its real inputs, and how it is called.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::LazyLock;

use fsverdict::cli::with_vocabulary;
use fsverdict::fleet::{Fleet, SiteTransport, open_bundle};
use fsverdict_calls::CallTrace;
use fsverdict_disk::device::trace::{Flags, TraceReader, TraceWriter, Traced};
use fsverdict_disk::device::{Action, Device, Model, built_in};
use fsverdict_judgement::journal::Run;
use fsverdict_judgement::plan::{Overrides, Plan, digest, presets, read_with};
use fsverdict_judgement::verdict::Deliberation;
use fsverdict_lab::kernel::{
    Attendant, KernelCache, KernelProof, KernelTrial, MissingOption, Progress, Subject, export_kernel,
    import_kernel,
};
use fsverdict_lab::lab::{KernelImage, is_kernel_package};
use fsverdict_recordings::{RecordRequest, read_record};
use fsverdict_report::{Format, Report, plan_in_page, write};
use fsverdict_workload::workload::adapter_by_name;
use proptest::prelude::{Strategy, any, prop_oneof, proptest};

/// One damage to an input; places are shares of its length.
#[derive(Debug, Clone)]
enum Damage {
    Flip(u16, u8),
    Remove(u16, u8),
    Repeat(u16, u8, u8),
    Insert(u16, &'static str),
    Swap(u16, u16),
    Cut(u16),
}

/// What parsers stumble over.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "NaN",
    "nan",
    "inf",
    "18446744073709551615",
    "9223372036854775808",
    "99999999999999999999",
    "null",
    "true",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "\"",
    "'''",
    "\\u0000",
    "\\",
    "\n",
    "\r\n",
    "\0",
    "ü",
    "\u{feff}",
    "=",
    ".",
    ",",
    ":",
    "+++++",
    "#",
    "\u{1b}[2J",
    "1PiB",
    "1d",
    "..",
    "~twin",
];

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<u16>;
    let one = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (at(), any::<u8>()).prop_map(|(at, length)| Damage::Remove(at, length)),
        (at(), any::<u8>(), any::<u8>()).prop_map(|(at, length, times)| Damage::Repeat(
            at,
            length,
            times % 8
        )),
        (at(), 0..WORDS.len()).prop_map(|(at, word)| Damage::Insert(at, WORDS[word])),
        (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        at().prop_map(Damage::Cut),
    ];
    proptest::collection::vec(one, 1..6)
}

fn damaged(input: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for damage in damages {
        let place = |share: u16| bytes.len() * usize::from(share) / 65_536;
        match *damage {
            Damage::Flip(at, bits) => {
                let at = place(at);
                bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bits);
            }
            Damage::Remove(at, length) => {
                let end = (place(at) + usize::from(length)).min(bytes.len());
                bytes.drain(place(at)..end);
            }
            Damage::Repeat(at, length, times) => {
                let at = place(at);
                let end = (at + usize::from(length)).min(bytes.len());
                let piece = bytes[at..end].repeat(usize::from(times));
                bytes.splice(end..end, piece);
            }
            Damage::Insert(at, word) => {
                let at = place(at);
                bytes.splice(at..at, word.bytes());
            }
            Damage::Swap(one, other) => {
                let (one, other) = (place(one), place(other));
                if !bytes.is_empty() {
                    bytes.swap(one, other);
                }
            }
            Damage::Cut(at) => bytes.truncate(place(at)),
        }
    }
    bytes
}

/// A parser per line: test's name, inputs, call.
macro_rules! targets {
    ($($name:ident: $inputs:expr, $parse:expr;)*) => {
        proptest! {
            $(
                #[test]
                fn $name((which, damages) in (any::<u16>(), damage())) {
                    static INPUTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| $inputs);
                    let input = &INPUTS[usize::from(which) % INPUTS.len()];
                    $parse(&damaged(input, &damages));
                }
            )*
        }
    };
}

targets! {
    plan: presets().iter().map(|preset| preset.toml.as_bytes().to_vec()).collect(), |bytes: &[u8]| {
        read_plan(&String::from_utf8_lossy(bytes), &[]);
    };
    change: CHANGES.iter().map(|change| change.as_bytes().to_vec()).collect(), |bytes: &[u8]| {
        read_plan(SMALL, &[String::from_utf8_lossy(bytes).into_owned()]);
    };
    journal: vec![beginning(6), beginning(30)], |bytes: &[u8]| {
        let _ = in_file(bytes, |path| Run::read(&PLAN, path));
    };
    recorded_plan: vec![RECORDED.as_bytes().to_vec()], |bytes: &[u8]| {
        if let Ok(plan) = serde_json::from_slice::<Plan>(bytes) {
            assert!(digest(&plan).len() < 100);
            let _ = Deliberation::from_run(&plan, &RUN).outcome();
        }
    };
    bonnie: vec![
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/bonnie-2.00.csv").to_vec(),
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/bonnie-2.00-files-only.csv").to_vec(),
        Vec::new(),
    ], |bytes: &[u8]| understood("bonnie++", bytes, b"");
    fio: vec![
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/fio-3.33.json").to_vec(),
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/fio-3.33-two-jobs.json").to_vec(),
    ], |bytes: &[u8]| understood("fio", bytes, b"");
    fio_log: vec![b"1001, 100, 1, 0, 0\n2001, 50, 1, 0, 0\n3002, 20, 1, 0, 0, 5\n1000, 10, 0, 0, 0\n".to_vec()], |bytes: &[u8]| {
        understood("fio", include_bytes!("../../crates/workload/src/workload/adapter/fixtures/fio-3.33-two-jobs.json"), bytes);
    };
    fs_mark: vec![
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/fs_mark-3.3.txt").to_vec(),
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/fs_mark-3.3-terse.txt").to_vec(),
    ], |bytes: &[u8]| understood("fs_mark", bytes, b"");
    dbench: vec![include_bytes!("../../crates/workload/src/workload/adapter/fixtures/dbench-4.00.txt").to_vec()], |bytes: &[u8]| {
        understood("dbench", bytes, b"");
    };
    db_bench: vec![include_bytes!("../../crates/workload/src/workload/adapter/fixtures/db_bench-7.8.txt").to_vec()], |bytes: &[u8]| {
        understood("db_bench", bytes, b"");
    };
    sqlite: vec![include_bytes!("../../crates/workload/src/workload/adapter/fixtures/sqlite-3.40.txt").to_vec()], |bytes: &[u8]| {
        understood("sqlite", bytes, b"");
    };
    git: vec![
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/git-2.39-status.jsonl").to_vec(),
        include_bytes!("../../crates/workload/src/workload/adapter/fixtures/git-2.39-gc.jsonl").to_vec(),
    ], |bytes: &[u8]| understood("git", b"", bytes);
    pgbench: vec![include_bytes!("../../crates/workload/src/workload/adapter/fixtures/pgbench-15.txt").to_vec()], |bytes: &[u8]| {
        understood("pgbench", bytes, include_bytes!("../../crates/workload/src/workload/adapter/fixtures/pgbench-15.log"));
    };
    pgbench_log: vec![include_bytes!("../../crates/workload/src/workload/adapter/fixtures/pgbench-15.log").to_vec()], |bytes: &[u8]| {
        understood("pgbench", include_bytes!("../../crates/workload/src/workload/adapter/fixtures/pgbench-15.txt"), bytes);
    };
    vhost_user_messages: vec![guest::conversation(1), guest::conversation(40)], |bytes: &[u8]| {
        guest::talks(bytes, &guest::memory());
    };
    virtio_requests: vec![guest::memory()], |bytes: &[u8]| guest::talks(&guest::conversation(12), bytes);
    page_with_a_plan: vec![page()], |bytes: &[u8]| {
        if let Ok(text) = plan_in_page(&String::from_utf8_lossy(bytes)) {
            read_plan(&text, &[]);
        }
    };
    bundle_of_files: vec![archive()], |bytes: &[u8]| {
        let _ = in_file(&compressed(bytes), open_bundle);
    };
    bundle: vec![compressed(&archive())], |bytes: &[u8]| {
        let _ = in_file(bytes, open_bundle);
    };
    model: built_in().iter().map(|model| model.toml.as_bytes().to_vec()).collect(), |bytes: &[u8]| {
        match Model::read(&String::from_utf8_lossy(bytes), "mine.toml", None) {
            Ok(model) => drop(Device::new(&model, 64 << 30, 1)),
            Err(error) => assert!(error.to_string().len() < 15_000),
        }
    };
    inventory: vec![SITES.as_bytes().to_vec()], |bytes: &[u8]| {
        let told = in_file(bytes, |path| Fleet::from_inventory(path, SiteTransport::Ssh).map_err(|error| error.to_string()));
        assert!(told.map_or_else(|told| told.len(), |_| 0) < 15_000);
    };
    trace_of_a_device: vec![trace()], |bytes: &[u8]| {
        if let Ok(reader) = TraceReader::new(bytes) {
            assert!(reader.take_while(Result::is_ok).count() < 1 << 24);
        }
    };
    recorded_calls: vec![
        STRACE.into(), FIO_LOG.into(), BLKPARSE.into(), IOLOG.into(), PERF.into(), BIOSNOOP.into(), IOSTAT.into(), IOLOG_2.into(),
    ], |bytes: &[u8]| {
        let wanted = RecordRequest { below: Some("/srv".into()), at_most: 64 << 20, device: None };
        match read_record(bytes, &wanted) {
            Ok(found) => {
                let text = found.trace.to_string();
                assert!(text.len() < 1 << 20);
                assert_eq!(text.parse::<CallTrace>().unwrap(), found.trace);
                assert!(found.account.is_balanced(), "{:?}", found.account);
            }
            Err(reason) => assert!(reason.what.len() + reason.hint.len() < 2000),
        }
    };
    trace_of_calls: vec![CALLS.into()], |bytes: &[u8]| {
        match String::from_utf8_lossy(bytes).parse::<CallTrace>() {
            Ok(trace) => {
                trace.final_state(fsverdict_calls::WritePeriods::BetweenSyncs).unwrap();
                assert_eq!(trace.to_string().parse::<CallTrace>().unwrap(), trace);
            }
            Err(reason) => assert!(reason.what.len() < 300, "{}", reason.what),
        }
    };
    kernel_package: vec![package()], |bytes: &[u8]| {
        let _ = in_file(bytes, is_kernel_package);
    };
    kernel_image: vec![crate::common::kernels::strings("6.12.1", &crate::common::kernels::OPTIONS)], |bytes: &[u8]| {
        let _ = KernelImage::read_strings(bytes);
    };
    exported_kernel: vec![exported()], |bytes: &[u8]| {
        let cache = tempfile::tempdir_in("/dev/shm").unwrap();
        let taken = in_file(&compressed(bytes), |path| import_kernel(&KernelCache::with_folder(cache.path()), path, &mut Tryer));
        // What is whole passes here without being tried; of all else nothing stays.
        let left = std::fs::read_dir(cache.path()).unwrap().count();
        assert_eq!(left, usize::from(taken.is_ok()));
    };
}

const STRACE: &str = r#"7 100.0 openat(AT_FDCWD</srv>, "/srv/a \n\377b", O_RDWR|O_CREAT|O_EXCL, 0644) = 3</srv/a \n\377b> <0.000100>
7 100.1 write(3</srv/a \n\377b>, "x"..., 4096) = 4096 <0.000050>
8 100.2 fsync(3</srv/a \n\377b> <unfinished ...>
7 100.3 mkdir("/srv/d", 0755) = 0
8 100.4 <... fsync resumed>) = 0
7 100.5 rename("/srv/a \n\377b", "/srv/d/c") = 0
7 100.6 newfstatat(AT_FDCWD</srv>, "d/c", {st_mode=S_IFREG|0644, st_size=4096}, 0) = 0
7 100.7 getdents64(4</srv/d>, 0x1 /* 3 entries */, 32768) = 72
7 100.8 unlinkat(AT_FDCWD</srv>, "d/c", 0) = 0
7 100.9 rmdir("/srv/d") = 0
"#;

const FIO_LOG: &str =
    "5, 100000, 1, 4096, 8192, 0\n6, 100000, 1, 4096, 12288, 0\n90, 100000, 0, 4096, 107374182400, 0\n";

const BLKPARSE: &str = "8,0 1 1 0.001 7 D WS 2048 + 8 [name]\n8,0 1 2 0.002 7 C WS 2048 + 8 [0]\n8,0 1 3 0.002 7 D FF 0 + 0 [n]\n8,0 1 4 0.003 7 C FF 0 + 0 [0]\n";

const IOLOG: &str = "fio version 3 iolog\n0 /a/b.0.0 add\n0 /a/b.0.0 open\n1 /a/b.0.0 write 0 4096\n2 /a/b.0.0 read 0 4096\n9 /a/b.0.0 datasync 0 0\n10 /a/b.0.0 close\n";
const IOLOG_2: &str =
    "fio version 2 iolog\n/a/b add\n/a/b open\n/a/b write 0 4096\n/a/b wait 700 0\n/a/b close\n";
const PERF: &str = "x 1 [000] 1.000000: block:block_rq_issue: 8,0 WFS 4096 () 8 + 8 none,0,0 [x]\nx 1 [000] 1.002000: block:block_rq_complete: 8,0 WFS () 8 + 8 none,0,0 [0]\n";
const BIOSNOOP: &str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n0.000004    my prog      1950   sda   W 64   4096      0.74\n";
const IOSTAT: &str = "11/26/26 14:15:10\nDevice r/s rkB/s r_await w/s wkB/s f/s\nsda 1.00 4.00 0.10 1.00 4.00 0.00\n\n11/26/26 14:15:11\nDevice r/s rkB/s r_await w/s wkB/s f/s\nsda 3,00 12.00 0.10 1.00 4.00 1.00\n";

const CALLS: &str = "file 0 12 8192\ndir 0 3\nname 2 200\nopen 1 1 direct\n+150 read 1 0 4096 x2\nwrite 1 8192 4096\nfdatasync 1\nopen 2 3 create truncate synced\nwrite 2 0 10\nclose 2\ntruncate 1 100\nreserve 1 0 5000\nstat 3\nlist 2\nrename 3 1\nmkdir 3\nrmdir 3\nlink 1 3\n";

const SITES: &str = r#"
[[site]]
name = "left"
ssh = "me@left"
device = "/dev/disk/by-id/left"
erase = "serial 1"
[[site]]
name = "right"
node = "rack4-07"
program = "/opt/fsverdict"
folder = "/srv/runs"
"#;

/// As much of a run's page as its plan takes, and what stands around it.
fn page() -> Vec<u8> {
    let mut page = Vec::new();
    write(&Report::new(&PLAN, &RUN, None), Format::Html, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let begins = page.find("<pre id=\"plan\"").unwrap();
    let ends = begins + page[begins..].find("</pre>").unwrap();
    page.as_bytes()[begins - 1000..ends + 1000].to_vec()
}

/// A plan and the beginning of a journal, as a bundle has them.
fn archive() -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in [("plan.json", RECORDED.as_bytes().to_vec()), ("journal.jsonl", beginning(6))] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, Path::new("run").join(name), content.as_slice()).unwrap();
    }
    archive.into_inner().unwrap()
}

/// A kernel as `kernel export` writes it, before it is compressed.
fn exported() -> Vec<u8> {
    const FACTS: &str = r#"{"release":"6.12.1","digest":"00000000000000aa","source":"/s","patches":[],"refused":[],"compiler":"gcc","built":"2026-01-01T00:00:00Z"}"#;
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("6.12.1-00000000000000aa");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in [("facts.json", FACTS), ("config", "CONFIG_A=y\n"), ("linux", "#!/bin/sh\n")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let file = place.path().join("kernel.tar.gz");
    export_kernel(&KernelCache::with_folder(place.path()), "6.12", &file).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Lets every kernel pass: what is tried here is the reading.
struct Tryer;

impl Attendant for Tryer {
    fn report_progress(&mut self, _: &Progress) {}

    fn report_missing_options(&mut self, _: &str, _: &[MissingOption]) {}

    fn try_out(&mut self, _: Subject<'_>) -> (KernelTrial, String) {
        let proof = KernelProof {
            at: jiff::Timestamp::UNIX_EPOCH,
            filesystems: Vec::new(),
            layers: Vec::new(),
            without_tools: Vec::new(),
            trace: String::new(),
        };
        (KernelTrial::Passed(proof), String::new())
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Some requests as they are recorded.
fn trace() -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), 1 << 20).unwrap();
    for at in 0..300_u64 {
        let operation = [Action::Read, Action::Write, Action::Flush][(at % 3) as usize];
        let (submitted_ns, completed_ns) = (at * 1000, Some(at * 1000 + 700));
        let record = Traced {
            submitted_ns,
            completed_ns,
            operation,
            sector: at * at,
            sectors: 8,
            flags: Flags(0),
            by: None,
        };
        writer.record(&record).unwrap();
    }
    writer.finish().unwrap().0
}

/// A Debian package's beginning.
fn package() -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, size) in [("debian-binary", 4), ("control.tar.xz", 102), ("data.tar.xz", 1000)] {
        bytes.extend_from_slice(format!("{name:<16}{:<32}{size:<10}`\n", "0").as_bytes());
        bytes.resize(bytes.len() + size, b'x');
    }
    bytes
}

/// What a guest says to its modelled device, and the memory that it shows it.
mod guest {
    use std::fs::File;
    use std::io::{IoSlice, Write};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use fsverdict_disk::backend::{Clock, DeviceToServe, Served, serve_devices};
    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::net::{
        AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix,
        SocketFlags, SocketType, bind, connect, getsockname, listen, sendmsg, shutdown, socket_with,
    };

    const SIZE: u64 = 1 << 30;
    const MEMORY: u64 = 0x6000;

    fn message(request: u32, words: &[u64]) -> Vec<u8> {
        let head = [request, 1, words.len() as u32 * 8].map(u32::to_le_bytes).concat();
        [head, words.iter().flat_map(|word| word.to_le_bytes()).collect()].concat()
    }

    /// Memory, size and places of the ring, ready; then so many kicks, with questions between.
    pub(super) fn conversation(kicks: usize) -> Vec<u8> {
        let set_up = [
            message(5, &[1, 0, MEMORY, 0x7000_0000, 0]),
            message(8, &[16 << 32]),
            message(9, &[0, 0x7000_0000, 0x7000_2000, 0x7000_1000, 0]),
            message(10, &[0]),
            message(13, &[0]),
            message(18, &[1 << 32]),
        ];
        let round =
            [message(35, &[0]), message(24, &[60 << 32, 0, 0]), message(1, &[]), message(15, &[])].concat();
        [set_up.concat(), round.repeat(kicks), message(11, &[0])].concat()
    }

    /// A table of descriptors, the ring with a request of every kind in it, their headers.
    pub(super) fn memory() -> Vec<u8> {
        let mut memory = vec![0; MEMORY as usize];
        let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
        for (request, kind) in [0_u64, 1, 4, 8, 11].into_iter().enumerate() {
            let (first, header) = (3 * request as u16, 0x3000 + 16 * request);
            put(header, &[kind.to_le_bytes(), (request as u64 * 8).to_le_bytes()].concat());
            let places = [
                (header as u64, 16_u32, 1_u16),
                (0x4000, 512, 1 | (2 * u16::from(kind == 0 || kind == 8))),
                (0x5000, 1, 2),
            ];
            for (slot, (address, length, flags)) in (first..).zip(places) {
                let words = [
                    &address.to_le_bytes()[..],
                    &length.to_le_bytes(),
                    &flags.to_le_bytes(),
                    &(slot + 1).to_le_bytes(),
                ];
                put(16 * usize::from(slot), &words.concat());
            }
            put(0x1004 + 2 * request, &first.to_le_bytes());
        }
        put(0x1002, &5_u16.to_le_bytes());
        put(0x4000, &[&8_u64.to_le_bytes()[..], &16_u32.to_le_bytes()].concat());
        memory
    }

    /// Serves a device to a guest that says all this, shows this memory, and hangs up.
    pub(super) fn talks(said: &[u8], memory: &[u8]) {
        let file = |name| File::from(memfd_create(name, MemfdFlags::CLOEXEC).unwrap());
        let (mut shown, bell) = (file("memory"), file("bell"));
        shown.write_all(memory).unwrap();
        shown.set_len(MEMORY).unwrap();
        // A name without a file, chosen by the kernel.
        let name = SocketAddrUnix::new_unnamed();
        let socket =
            || socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let (ours, listening) = (socket(), socket());
        bind(&listening, &name).unwrap();
        listen(&listening, 1).unwrap();
        connect(&ours, &getsockname(&listening).unwrap()).unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        let descriptors = [shown.as_fd(), bell.as_fd()];
        beside.push(SendAncillaryMessage::ScmRights(&descriptors));
        // What it says fits into the socket; who says much has to take the answers, too, or is not served any further.
        sendmsg(&ours, &[IoSlice::new(said)], &mut beside, SendFlags::empty()).unwrap();
        shutdown(&ours, Shutdown::Write).unwrap();
        let told = std::thread::scope(|scope| {
            if said.len() > 4096 {
                let mut answers = File::from(ours.try_clone().unwrap());
                scope.spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
            }
            let device = Served { model: "ideal", draw: None, size_bytes: SIZE, seed: 0, fails_after: None };
            let device =
                DeviceToServe { device, store: file("store"), trace: None, log: None, socket: listening };
            serve_devices(vec![device], Clock::Real, Duration::ZERO, &socket())
        });
        for trouble in told.into_iter().filter_map(|report| report.trouble) {
            assert!(trouble.to_string().len() < 1000);
        }
    }
}

const RECORDED: &str = include_str!("../runs/demo/plan.json");
static PLAN: LazyLock<Plan> = LazyLock::new(|| serde_json::from_str(RECORDED).unwrap());
static RUN: LazyLock<Run> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo/journal.jsonl");
    Run::read(&PLAN, Path::new(path)).unwrap()
});

/// So many lines of a recorded journal.
fn beginning(lines: usize) -> Vec<u8> {
    let recorded = include_str!("../runs/demo/journal.jsonl").split_inclusive('\n');
    recorded.take(lines).collect::<String>().into_bytes()
}

const SMALL: &str = r#"
title = "t"
protocol.blocks = 3
dataset.tree = { profile = "mixed", files = 10, directories = 2, size = "1MiB" }
matrix.filesystem = ["ext4", "xfs"]
phase = [{ name = "write", operation = "tree.write", dataset = "tree" }]
"#;

const CHANGES: &[&str] = &[
    "protocol.blocks=5",
    "protocol.blocks={min=3, max=30}",
    "protocol={for='1h30m', tie=0.05, aa='ext4', disturbed={drift=2.5}}",
    "device.image=1.5GiB",
    "phase.write.cold=false",
    "phase.1={name='x', command='true', verify={dataset='tree', at='y'}}",
    "matrix={filesystem=['ext4'], mount=['noatime', 'commit=60,nobarrier'], mkfs=['-O ^dir_index']}",
    "goal.weights={write=2.5e3}",
    "dataset.tree.compressible=0.5",
    "dataset.more={path='/usr/include', size='50MB'}",
    "published=[{finding='f', source='s', phase='write', claim={spread=2, among=['ext4', 'xfs']}}]",
];

fn read_plan(text: &str, changes: &[String]) {
    let overrides = Overrides { set: changes.to_vec(), ..Overrides::default() };
    match with_vocabulary(|words| read_with(text, "plan.toml", &overrides, words)) {
        // What is written down for `resume` is read again as the same.
        Ok(plan) => {
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.is_empty() && shown.len() < 15_000, "{} bytes of error", shown.len());
            assert!(!changes.is_empty() || error.0.iter().all(|fault| fault.line.is_some()), "{shown}");
        }
    }
}

fn understood(name: &str, printed: &[u8], log: &[u8]) {
    match adapter_by_name(name)
        .unwrap()
        .read_output(&String::from_utf8_lossy(printed), &String::from_utf8_lossy(log))
    {
        Ok(reading) => {
            for found in reading.measurements {
                assert!(found.value.is_finite() && found.value >= 0.0, "{found:?}");
            }
        }
        Err(error) => assert!(error.to_string().len() < 20_000),
    }
}

/// Parsers of files read one in memory.
fn in_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let memory = rustix::fs::memfd_create("parsers", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let mut file = std::fs::File::from(memory);
    file.write_all(bytes).unwrap();
    read(Path::new(&format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file))))
}
