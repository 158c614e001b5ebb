//! Compares the completions of every built-in model with a recorded digest: a new mechanism must change nothing of a
//! model that does not use it.

use super::super::random::mix_bits;
use super::super::{Action, Completion, Device, Model, Request, built_in, random};

const SIZE: u64 = 4 << 30;

/// Name with state, version of the file, and digest of the completions. A change of a model's numbers requires a
/// higher version and the new line that the test shows.
const ANSWERS: &[(&str, u64, u64)] = &[
    ("emmc", 1, 0x3fb216674cbcca68),
    ("emmc:fresh", 1, 0x3fb216674cbcca68),
    ("emmc:filled", 1, 0x66d9c719a1227559),
    ("emmc:steady", 1, 0x50e6c0e9d92e2435),
    ("emmc:write-through", 1, 0xfe039ca70526bebf),
    ("emmc:no-discard", 1, 0x3fb216674cbcca68),
    ("hdd-7200", 3, 0xcc77eecc9336de2b),
    ("hdd-7200:write-through", 3, 0xaab7cfeb091ee54),
    ("ideal", 1, 0x5d72e2df4e1273ae),
    ("ideal:no-discard", 1, 0x5d72e2df4e1273ae),
    ("nvme-dramless", 2, 0xb386236f6e58aac9),
    ("nvme-dramless:fresh", 2, 0xb386236f6e58aac9),
    ("nvme-dramless:filled", 2, 0xdd6675ea9cf667a6),
    ("nvme-dramless:steady", 2, 0x54a57efc509256dd),
    ("nvme-dramless:write-through", 2, 0xcf854f74173d59e5),
    ("nvme-dramless:no-discard", 2, 0xb386236f6e58aac9),
    ("nvme-pcie4", 2, 0xff3f8b597b1b713b),
    ("nvme-pcie4:fresh", 2, 0xff3f8b597b1b713b),
    ("nvme-pcie4:filled", 2, 0xfea57c03a90b2de2),
    ("nvme-pcie4:steady", 2, 0x305e797135f94019),
    ("nvme-pcie4:write-through", 2, 0x6ec33c7514111ad5),
    ("nvme-pcie4:no-discard", 2, 0xff3f8b597b1b713b),
    ("nvme-plp", 2, 0x43507a18f6108ece),
    ("nvme-plp:fresh", 2, 0x43507a18f6108ece),
    ("nvme-plp:filled", 2, 0x205b448435dd6bbe),
    ("nvme-plp:steady", 2, 0x4c56c33f47ba2435),
    ("nvme-plp:no-discard", 2, 0x43507a18f6108ece),
    ("nvme-qlc", 1, 0x9b87c283c083c591),
    ("nvme-qlc:fresh", 1, 0x9b87c283c083c591),
    ("nvme-qlc:filled", 1, 0x29dc7c008c122de6),
    ("nvme-qlc:steady", 1, 0xe35086dc5c44b4cd),
    ("nvme-qlc:write-through", 1, 0xdf04d68c6f9e401d),
    ("nvme-qlc:no-discard", 1, 0x9b87c283c083c591),
    ("nvme-ssd", 3, 0x395da9a8cfb731c0),
    ("nvme-ssd:fresh", 3, 0x395da9a8cfb731c0),
    ("nvme-ssd:filled", 3, 0x9f8ffc0a41dd8611),
    ("nvme-ssd:steady", 3, 0x54310c7be7fc3574),
    ("nvme-ssd:write-through", 3, 0xa666d58a77354af1),
    ("nvme-ssd:no-discard", 3, 0x395da9a8cfb731c0),
    ("nvme-tlc", 1, 0x9a99d4ed685adb8a),
    ("nvme-tlc:fresh", 1, 0x9a99d4ed685adb8a),
    ("nvme-tlc:filled", 1, 0x8e82d35d8d8afa),
    ("nvme-tlc:steady", 1, 0xf8f6dbcd9eaf2423),
    ("nvme-tlc:write-through", 1, 0xfc9c5ccf417340e4),
    ("nvme-tlc:no-discard", 1, 0x9a99d4ed685adb8a),
    ("sata-ssd", 4, 0x17b38e27f31b82ec),
    ("sata-ssd:fresh", 4, 0x17b38e27f31b82ec),
    ("sata-ssd:filled", 4, 0xbf9009733536a695),
    ("sata-ssd:steady", 4, 0x0b6994772afdd715),
    ("sata-ssd:write-through", 4, 0x254f342a48830345),
    ("sata-ssd:no-discard", 4, 0x17b38e27f31b82ec),
    ("sd-card", 1, 0x88838db04922cd6),
    ("sd-card:fresh", 1, 0x88838db04922cd6),
    ("sd-card:filled", 1, 0x999636b3a0a704d4),
    ("sd-card:no-discard", 1, 0x88838db04922cd6),
    ("sd-card-a1", 1, 0xc9946f5c128daac1),
    ("sd-card-a1:fresh", 1, 0xc9946f5c128daac1),
    ("sd-card-a1:filled", 1, 0x335eb89d50d744f1),
    ("sd-card-a1:steady", 1, 0xd226fec3202410f),
    ("sd-card-a1:no-discard", 1, 0xc9946f5c128daac1),
    ("sd-card-a2", 1, 0x4244802251228596),
    ("sd-card-a2:fresh", 1, 0x4244802251228596),
    ("sd-card-a2:filled", 1, 0xd7995f8899d860a1),
    ("sd-card-a2:steady", 1, 0x91528e788ca6504b),
    ("sd-card-a2:no-discard", 1, 0x4244802251228596),
    ("sd-card-a2-no-queue", 1, 0x9a1f28901f104cc5),
    ("sd-card-a2-no-queue:fresh", 1, 0x9a1f28901f104cc5),
    ("sd-card-a2-no-queue:filled", 1, 0x8b3cffd461acaae5),
    ("sd-card-a2-no-queue:steady", 1, 0x62e0be1a0e51a776),
    ("sd-card-a2-no-queue:no-discard", 1, 0x9a1f28901f104cc5),
    ("smr-5400", 3, 0x92999ceb3cd23b50),
    ("smr-5400:fresh", 3, 0x92999ceb3cd23b50),
    ("smr-5400:filled", 3, 0x2d7c25eabadd27f2),
    ("smr-5400:write-through", 3, 0xc51fe44d6e77060a),
    ("ufs", 2, 0x49c241e0de5e3ef5),
    ("ufs:fresh", 2, 0x49c241e0de5e3ef5),
    ("ufs:filled", 2, 0xace4518e9aac5302),
    ("ufs:steady", 2, 0x2f2ae7706bdfab1e),
    ("ufs:write-through", 2, 0xe7b2ea779ceb8fa0),
    ("ufs:no-discard", 2, 0x49c241e0de5e3ef5),
    ("usb-disk-5400", 3, 0xc8949035b7d0c26d),
    ("usb-disk-5400:write-through", 3, 0x632006e9ba93f46c),
    ("usb-nvme", 2, 0x2effd122fc66c694),
    ("usb-nvme:fresh", 2, 0x2effd122fc66c694),
    ("usb-nvme:filled", 2, 0x5e96ffd6a438aac1),
    ("usb-nvme:steady", 2, 0xe255ab0158f97658),
    ("usb-nvme:write-through", 2, 0x139e05da5c13f9d3),
    ("usb-stick", 1, 0x1969e950fab2a462),
    ("usb-stick:fresh", 1, 0x1969e950fab2a462),
    ("usb-stick:filled", 1, 0x1c98e44f301e65e6),
    ("usb-stick-2010", 1, 0x955160bb42fe3ae7),
    ("usb-stick-2010:fresh", 1, 0x955160bb42fe3ae7),
    ("usb-stick-2010:filled", 1, 0xf8810356a1ce6584),
    ("usb-stick-2010:steady", 1, 0xed709b6fc9aa1f5f),
    ("usb-stick-mapped", 2, 0x880527b0d085f418),
    ("usb-stick-mapped:fresh", 2, 0x880527b0d085f418),
    ("usb-stick-mapped:filled", 2, 0x9632ad9ce4ea142f),
    ("usb-stick-mapped:steady", 2, 0xaac6fd4a6882471d),
    ("usb3-disk-5400", 2, 0xb0d9fc60c2511bd8),
    ("usb3-disk-5400:write-through", 2, 0xb602107488207325),
    ("usb3-stick", 1, 0xa7e35070bb2ee62d),
    ("usb3-stick:fresh", 1, 0xa7e35070bb2ee62d),
    ("usb3-stick:filled", 1, 0xcd35dd552824c2df),
];

/// Requests that are sequential, slightly ahead, slightly behind and random; reads and writes, flushes and discards;
/// at once and after pauses.
fn requests() -> Vec<(u64, Action, u64, u32)> {
    let mut sector = 0;
    let request = |at: u64| {
        let pick = |of: u64, limit: u64| random::uniform_below(of, at, limit);
        sector = match pick(1, 8) {
            0..=3 => sector,
            4 => sector + pick(2, 300),
            5 => sector.saturating_sub(pick(2, 200)),
            _ => pick(3, SIZE / 512 / 8) * 8,
        } % (SIZE / 512 - 4096);
        let operation = match pick(4, 40) {
            0 => Action::Flush,
            1 => Action::Discard,
            2 => Action::WriteZeroes,
            // Periods of mostly reads alternate with periods of mostly writes.
            other if (other > 8) == (at / 50).is_multiple_of(2) => Action::Read,
            _ => Action::Write,
        };
        let pause = [0, 0, 1000, 300_000, 20_000_000, 3_000_000_000][pick(5, 6) as usize];
        let sectors = if operation == Action::Flush { 0 } else { [8, 8, 16, 256, 2000][pick(6, 5) as usize] };
        let from = if operation == Action::Flush { 0 } else { sector };
        sector += sectors;
        (pause, operation, from, sectors as u32)
    };
    (0..3000).map(request).collect()
}

fn done(device: &mut Device, depth: u64) -> Vec<Completion> {
    let (mut done, mut now_ns) = (Vec::new(), 0);
    for (id, (pause, operation, sector, sectors)) in (0..).zip(requests()) {
        while id - done.len() as u64 >= depth {
            now_ns = device.next_event().unwrap();
            device.advance(now_ns, &mut done);
        }
        now_ns += pause;
        device.advance(now_ns, &mut done);
        device.submit(now_ns, Request { id, operation, sector, sectors });
    }
    while let Some(next_ns) = device.next_event() {
        device.advance(next_ns, &mut done);
    }
    done
}

fn answer(model: &Model) -> u64 {
    [1, 8].into_iter().fold(0, |answer, depth| {
        let done = done(&mut Device::new(model, SIZE, 7).unwrap(), depth);
        assert_eq!(done.len(), requests().len());
        done.iter().fold(answer, |answer, one| mix_bits(answer ^ mix_bits(one.request.id) ^ one.completed_ns))
    })
}

#[test]
fn models_answer_as_they_did() {
    let names = built_in().iter().flat_map(|model| {
        let states = Model::named(model.name).unwrap().all_states().into_iter();
        let states = states.map(|state| format!("{}:{state}", model.name));
        std::iter::once(model.name.to_owned()).chain(states)
    });
    let found: Vec<(String, u64, u64)> = names
        .map(|name| {
            let model = Model::named(&name).unwrap();
            let answers = answer(&model);
            (name, model.version, answers)
        })
        .collect();
    let lines: String = found
        .iter()
        .map(|(name, version, answers)| format!("    ({name:?}, {version}, {answers:#x}),\n"))
        .collect();
    let same = found
        .iter()
        .map(|(name, version, answers)| (name.as_str(), *version, *answers))
        .eq(ANSWERS.iter().copied());
    assert!(same, "the models answer otherwise:\n{lines}");
}
