//! Compares the completions of every built-in model with a recorded digest: a new mechanism must change nothing of a
//! model that does not use it.

use super::super::random::mix_bits;
use super::super::{Action, Completion, Device, Model, Request, built_in, random};

const SIZE: u64 = 4 << 30;

/// Name with state, version of the file, and digest of the completions. A change of a model's numbers requires a
/// higher version and the new line that the test shows.
const ANSWERS: &[(&str, u64, u64)] = &[
    ("hdd-7200", 3, 0xcc77eecc9336de2b),
    ("hdd-7200:write-through", 3, 0xaab7cfeb091ee54),
    ("ideal", 1, 0x5d72e2df4e1273ae),
    ("nvme-pcie4", 1, 0xb193c1fe4ae0831e),
    ("nvme-pcie4:fresh", 1, 0xb193c1fe4ae0831e),
    ("nvme-pcie4:filled", 1, 0x5b7daaee8bb57964),
    ("nvme-pcie4:steady", 1, 0xc31b5e27a36e4e72),
    ("nvme-pcie4:write-through", 1, 0x1f7b10b51b5a39db),
    ("nvme-plp", 1, 0x4e08a77d5c8b14d4),
    ("nvme-plp:fresh", 1, 0x4e08a77d5c8b14d4),
    ("nvme-plp:filled", 1, 0x23f7256aebe173c0),
    ("nvme-plp:steady", 1, 0xd07ef7fcd4548899),
    ("nvme-ssd", 2, 0xbd87696e6e80e6b3),
    ("nvme-ssd:fresh", 2, 0xbd87696e6e80e6b3),
    ("nvme-ssd:filled", 2, 0xf7a331eeddeb19ce),
    ("nvme-ssd:steady", 2, 0x9340bd7210af6d20),
    ("nvme-ssd:write-through", 2, 0xe119beb54b96c06a),
    ("sata-ssd", 2, 0xda5f0a6a39924b8c),
    ("sata-ssd:fresh", 2, 0xda5f0a6a39924b8c),
    ("sata-ssd:filled", 2, 0x614b491664cf85ed),
    ("sata-ssd:steady", 2, 0xf802d2429641b0b2),
    ("sata-ssd:write-through", 2, 0xabfc56011684df05),
    ("sd-card", 1, 0x88838db04922cd6),
    ("sd-card:fresh", 1, 0x88838db04922cd6),
    ("sd-card:filled", 1, 0x999636b3a0a704d4),
    ("sd-card-a1", 1, 0xc9946f5c128daac1),
    ("sd-card-a1:fresh", 1, 0xc9946f5c128daac1),
    ("sd-card-a1:filled", 1, 0x335eb89d50d744f1),
    ("sd-card-a1:steady", 1, 0xd226fec3202410f),
    ("smr-5400", 3, 0x92999ceb3cd23b50),
    ("smr-5400:fresh", 3, 0x92999ceb3cd23b50),
    ("smr-5400:filled", 3, 0x2d7c25eabadd27f2),
    ("smr-5400:write-through", 3, 0xc51fe44d6e77060a),
    ("usb-disk-5400", 3, 0xc8949035b7d0c26d),
    ("usb-disk-5400:write-through", 3, 0x632006e9ba93f46c),
    ("usb-stick", 1, 0x1969e950fab2a462),
    ("usb-stick:fresh", 1, 0x1969e950fab2a462),
    ("usb-stick:filled", 1, 0x1c98e44f301e65e6),
    ("usb-stick-2010", 1, 0x955160bb42fe3ae7),
    ("usb-stick-2010:fresh", 1, 0x955160bb42fe3ae7),
    ("usb-stick-2010:filled", 1, 0xf8810356a1ce6584),
    ("usb-stick-2010:steady", 1, 0xed709b6fc9aa1f5f),
    ("usb-stick-mapped", 1, 0x955160bb42fe3ae7),
    ("usb-stick-mapped:fresh", 1, 0x955160bb42fe3ae7),
    ("usb-stick-mapped:filled", 1, 0x1360e7b3796262ff),
    ("usb-stick-mapped:steady", 1, 0x4a34bb8fbdf3a8b5),
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
