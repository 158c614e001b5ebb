//! Parses a question of a few words or a sentence into its parts: the work, the device, the requirements, the
//! filesystems to compare, and the time limit. Words that are not understood are reported, not ignored.

use std::ops::Range;
use std::time::Duration;

use fsverdict_judgement::plan::{Preset, RequiredProperty};

use super::asides::{hear_layers, pass_over_asides};
use super::features::Feature;
use super::heard_bounds::{LatencyLimit, Tolerance, hear_limits, hear_time, hear_tolerance};
use super::heard_candidates::{HeardCandidates, hear_candidates};
use super::heard_devices::{hear_array, hear_devices};
use super::heard_requirements::hear_requirements;
use super::heard_throughput::{ThroughputLimit, hear_throughputs};
use super::heard_work::{HeardWork, HeardWorks, hear_works, work_within};
use super::outside::{Outside, find_outside};
use super::sentence::{Said, Sentence};
use super::vocabulary::{COST_PHRASES, FILLING};

/// The parts of a question, as far as it was understood.
#[derive(Debug, Default)]
pub(super) struct HeardQuestion {
    pub(super) work: Option<Said<HeardWork>>,
    /// As it was said.
    pub(super) devices: Vec<String>,
    /// The number that precedes a device: `on two hard disks`.
    pub(super) device_count: Option<Said<u32>>,
    /// The device of a place that was named besides the work: `sqlite on a raspberry pi`.
    pub(super) device_of_place: Option<Said<String>>,
    pub(super) must: Vec<Said<RequiredProperty>>,
    pub(super) candidates: HeardCandidates,
    pub(super) limits: Vec<Said<LatencyLimit>>,
    pub(super) throughputs: Vec<Said<ThroughputLimit>>,
    pub(super) tolerance: Option<Said<Tolerance>>,
    pub(super) budget: Option<Said<Duration>>,
    /// Presets of other works that were named, too.
    pub(super) other_works: Vec<Said<&'static Preset>>,
    /// Works that no preset is about, and the presets that come nearest.
    pub(super) near: Vec<Said<&'static Preset>>,
    /// Words with no meaning here.
    pub(super) unknown: Vec<String>,
    /// Vague words that mean nothing beside the work that was named.
    pub(super) unused: Vec<String>,
    /// Those of the unknown words that are one side of a choice.
    pub(super) unknown_choices: Vec<String>,
    /// What no question is about.
    pub(super) outside: Option<Outside>,
}

/// Makes sense of the arguments, each of which may be a sentence.
///
/// Where the work `is_named` elsewhere, no word is made one that has another meaning here.
pub(super) fn hear(arguments: &[String], is_named: bool) -> HeardQuestion {
    let mut sentence = Sentence::new(arguments);
    let sentence = &mut sentence;
    let limits = hear_limits(sentence);
    let budget = hear_time(sentence);
    let throughputs = hear_throughputs(sentence);
    let tolerance = hear_tolerance(sentence);
    let price = (0..sentence.len()).find_map(|at| sentence.find_phrase(at, COST_PHRASES));
    let is_priced = price.is_some() || tolerance.as_ref().is_some_and(|said| said.value.is_of_what_it_costs);
    let candidates = hear_candidates(sentence, is_priced);
    let mut heard =
        HeardQuestion { budget, limits, throughputs, tolerance, candidates, ..HeardQuestion::default() };
    heard.outside = find_outside(sentence);
    (heard.devices, heard.device_count) = hear_devices(sentence);
    heard.device_count = heard.device_count.or_else(|| hear_array(sentence));
    pass_over_asides(sentence);
    let must = hear_requirements(sentence, &mut heard.candidates.impossible);
    let filesystems: Vec<&str> =
        heard.candidates.named.iter().map(|said| said.value.filesystem.name).collect();
    let HeardWorks { work, is_vague, others, near, device_of_place, unused } =
        hear_works(sentence, &filesystems);
    heard.unused = unused;
    match device_of_place {
        Some(place) if !heard.devices.is_empty() => heard.unused.push(place.words),
        place => heard.device_of_place = place,
    }
    (heard.work, heard.other_works, heard.near) = (work, others, near);
    leave_place_for_fault(&must, &mut heard);
    leave_place_for_device(&mut heard);
    let has_work = is_named || heard.work.is_some();
    for (words, property) in must {
        // `encryption` and `snapshots` are works where no other is named; snapshots also beside a vague word.
        let takes_over = is_vague && property == RequiredProperty::Snapshots;
        let vague = heard.work.take_if(|_| takes_over);
        let is_work = (takes_over || !has_work && heard.work.is_none()) && becomes_work(&words, &mut heard);
        heard.unused.extend(vague.map(|said| said.words));
        if !is_work && !heard.must.iter().any(|said| said.value == property) {
            heard.must.push(Said::new(property, words));
        }
    }
    // The cost of a feature is a work of its own if a preset measures it.
    for said in std::mem::take(&mut heard.candidates.compared) {
        let is_work = !has_work && heard.work.is_none() && becomes_work(&said.words, &mut heard);
        // Candidates with options are not those that the preset measures.
        let has_options = heard.candidates.named.iter().any(|one| !one.value.options.is_empty());
        if !is_work || has_options {
            heard.candidates.compared.push(said);
        }
    }
    if !is_named && heard.work.is_none() && heard.near.is_empty() {
        work_of_a_device(&mut heard);
    }
    let HeardCandidates { named, excluded, .. } = &mut heard.candidates;
    named.retain(|one| !excluded.iter().any(|name| name.value == one.value.filesystem.name));
    let is_priced_here = !heard.candidates.compared.is_empty()
        || heard.candidates.named.len() > 1
        || !has_work && heard.work.is_some();
    if let Some(price) = price.filter(|_| is_priced_here) {
        say_price(sentence, price, &mut heard.candidates.compared);
    }
    if let Some(Said { value: HeardWork::Preset(preset), .. }) = &heard.work {
        heard.candidates.layers = hear_layers(sentence, preset);
    }
    heard.unknown.extend(sentence.left(FILLING));
    heard.unknown_choices = sentence.left_in_choice(FILLING);
    heard
}

/// Adds the words that ask for a price to those of the first compared feature.
fn say_price(sentence: &mut Sentence, price: Range<usize>, compared: &mut [Said<Feature>]) {
    let words = sentence.take(price);
    if let Some(first) = compared.first_mut() {
        first.words = format!("{words} … {}", first.words);
    }
    // `what does … cost`, `is … worth it`: other such words ask the same.
    for at in 0..sentence.len() {
        if let Some(range) = sentence.find_phrase(at, COST_PHRASES) {
            sentence.pass_over(range);
        }
    }
}

/// Where only a place is named (a small computer, a laptop) and a power cut is to be survived, the question is about power cuts there.
fn leave_place_for_fault(must: &[(String, RequiredProperty)], heard: &mut HeardQuestion) {
    let Some(Said { value: HeardWork::Preset(place), words }) = &heard.work else { return };
    let asks_of_power = |words: &str| words.to_lowercase().contains("power");
    if !place.asked_by().place || !must.iter().any(|(words, _)| asks_of_power(words)) {
        return;
    }
    let device = place.asked_by().device.map(|device| Said::new(device, words.clone()));
    heard.work = None;
    heard.device_of_place = device.filter(|_| heard.devices.is_empty());
}

/// `a usb stick for my laptop` is a question about sticks: the laptop only says where the stick is used.
fn leave_place_for_device(heard: &mut HeardQuestion) {
    let is_place =
        matches!(&heard.work, Some(Said { value: HeardWork::Preset(place), .. }) if place.asked_by().place);
    if is_place && let Some(work) = heard.devices.iter().find_map(|said| work_within(said)) {
        heard.work = Some(work);
        heard.device_of_place = None;
    }
}

/// Takes words of a requirement as the work instead, and returns whether a work of this name exists.
fn becomes_work(words: &str, heard: &mut HeardQuestion) -> bool {
    heard.work = work_within(words);
    if heard.work.is_some() {
        heard.near.clear();
    }
    heard.work.is_some()
}

/// `stick` is a work and a device: if no other work is named, it is the work.
fn work_of_a_device(heard: &mut HeardQuestion) {
    heard.work = heard.devices.iter().find_map(|said| work_within(said));
}

#[cfg(test)]
mod tests {
    use super::{HeardQuestion, HeardWork, Said, hear};

    fn heard(said: &str) -> HeardQuestion {
        // As one sentence and word by word: it makes no difference.
        let words: Vec<String> = said.split(' ').map(str::to_owned).collect();
        let by_word = hear(&words, false);
        let whole = hear(&[said.to_owned()], false);
        assert_eq!(format!("{by_word:?}"), format!("{whole:?}"));
        whole
    }

    fn told(said: &str) -> String {
        let heard = heard(said);
        let work = match &heard.work {
            None => "nothing".to_owned(),
            Some(Said { value: HeardWork::Preset(preset), .. }) => preset.name.to_owned(),
            Some(Said { value: HeardWork::Folder(folder), .. }) => format!("folder {folder}"),
        };
        let must: Vec<&str> = heard.must.iter().map(|one| one.value.word()).collect();
        let named = |all: Vec<&str>| all.join("+");
        let candidates = &heard.candidates;
        let all = [
            ("on", heard.devices.join("+")),
            ("must", must.join("+")),
            ("between", named(candidates.named.iter().map(|one| one.value.filesystem.name).collect())),
            ("excluded", named(candidates.excluded.iter().map(|one| one.value).collect())),
            ("also", named(heard.other_works.iter().map(|one| one.value.name).collect())),
            ("not", candidates.not_tried.join("+")),
            ("?", heard.unknown.join("+")),
        ];
        let said =
            all.iter().filter(|(_, text)| !text.is_empty()).map(|(what, text)| format!(" {what} {text}"));
        work + &said.collect::<String>()
    }

    #[test]
    fn a_question_is_understood_however_it_is_said() {
        for (said, meant) in [
            ("mail on hdd", "mail-spool on hdd"),
            ("mail on sd card", "mail-spool on sd card"),
            ("photos on usb stick", "photo-backup on usb stick"),
            ("backup on a USB stick", "usb-backup on USB stick"),
            ("postgres on nvme", "postgres on nvme"),
            (
                "Which file system should I use for a PostgreSQL database on my NVMe drive?",
                "postgres on NVMe drive",
            ),
            ("sqlite on my raspberry pi's sd card", "sqlite-app on sd card"),
            ("which filesystem for my photo library on a usb stick", "photo-backup on usb stick"),
            ("usb stick", "stick on usb stick"),
            ("stick", "stick"),
            ("home assistant", "home-assistant"),
            ("photos on hdd with encryption", "photo-backup on hdd must encryption"),
            ("encrypted photos on usb-disk", "photo-backup on usb-disk must encryption"),
            ("photos without encryption", "photo-backup"),
            ("photos readable by windows and mac", "photo-backup must windows+macos"),
            ("photos, crash safe", "photo-backup must crash_safe"),
            ("encryption on nvme", "luks-nvme on nvme"),
            ("survives power cuts", "power-cut"),
            ("mail on hdd and ssd", "mail-spool on hdd+ssd"),
            ("hfs or btrfs for photos", "photo-backup between btrfs not hfs"),
            ("zfs or btrfs for photos", "photo-backup between zfs+btrfs"),
            ("backups with rsync, anything but btrfs", "usb-backup excluded btrfs"),
            ("mail, any filesystem besides ext4", "mail-spool excluded ext4"),
            ("mail, I don't want btrfs", "mail-spool excluded btrfs"),
            ("mail: neither ext4 nor xfs", "mail-spool excluded ext4+xfs"),
            ("mail, ext4 is out of the question", "mail-spool excluded ext4"),
            ("what survives power loss on a raspberry pi", "power-cut"),
            ("ext4 and/or xfs for mail", "mail-spool between ext4+xfs"),
            ("my old laptop with an hdd", "laptop-root on hdd"),
            ("64 TB of mail on 2 hdd", "mail-spool on hdd ? 64+TB"),
            ("ext4 vs xfs for docker on nvme", "container-store on nvme between ext4+xfs"),
            ("photos and mail", "photo-backup also mail-spool"),
            ("mail, but not btrfs", "mail-spool excluded btrfs"),
            ("photos not hfs", "photo-backup"),
            ("mail on ssd without xfs", "mail-spool on ssd excluded xfs"),
            ("ext4 or xfs, no btrfs, for docker", "container-store between ext4+xfs excluded btrfs"),
            ("photos except ext4 and xfs", "photo-backup excluded ext4+xfs"),
            ("vm disk images", "vm-image"),
            ("mail on a floppy", "mail-spool on floppy"),
            ("photos on /dev/sdz", "photo-backup on /dev/sdz"),
            ("/srv/data on ssd", "folder /srv/data on ssd"),
            ("torrents on hdd", "torrents on hdd"),
            ("mail gladly", "mail-spool ? gladly"),
        ] {
            assert_eq!(told(said), meant, "{said}");
        }
        assert_eq!(heard("mail on ssd for 2m").budget.unwrap().value.as_secs(), 120);
        assert_eq!(heard("mail on").devices, [""]);
        // With --work beside it, a device and what must hold are no second work.
        let beside = hear(&["snapshots on usb stick".to_owned()], true);
        assert!(beside.work.is_none() && beside.must.len() == 1 && beside.devices == ["usb stick"]);
        assert!(heard("mail for photos").budget.is_none());
    }
}
