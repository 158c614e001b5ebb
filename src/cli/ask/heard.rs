//! A question as it is said, in a few words or a sentence, taken apart: the work, the device, what must hold, which filesystems it is
//! between, and how long it may take. What is not understood is told, and not passed over.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use fsverdict_judgement::plan::{Preset, RequiredProperty};
use fsverdict_text::parse_time;

use fsverdict_stack::filesystem;

use super::words::{device_called, must_called, plain, preset_called};

/// So many words make one at most: `usb hard disk`.
const LONGEST: usize = 3;

/// Words that a question has anyway.
const FILLING: &str = "\
    which what whats filesystem filesystems file files system fs should shall do does can i we use using for to a \
    an the my our on with and or of in into is are be best better good right fast fastest safe safest choose pick \
    take want need needs have has must that it please how vs versus than readable read by from at where store \
    storing stored keep work lots many small big large library collection folder server drive both between me \
    there lie lies";
/// Between `on` and the device.
const BEFORE_DEVICE: &str = "\
    a an the my our this one old new cheap fast slow small big";
/// Other names of filesystems.
const ALSO_CALLED: &[(&str, &str)] =
    &[("fat32", "vfat"), ("fat", "vfat"), ("ntfs", "ntfs3"), ("nilfs", "nilfs2")];
/// Filesystems that people ask about, and that fsverdict does not try by name.
const NOT_TRIED: &str = "\
    zfs apfs hfs hfs+ refs ufs ocfs2 gfs2 ceph cephfs lustre";

/// Words before what is not wanted.
const EXCLUDING: &str = "\
    not no without except excluding nor";
/// Words that change a question wherever they stand, besides those and what has a digit or is written like an option.
const CHANGING: &str = "\
    never but instead only against compared comparing below under above over less \
    more least most percentile latency latencies throughput cost costs overhead";

/// What was said, as far as it was understood.
#[derive(Debug, Default)]
pub(super) struct HeardQuestion {
    pub(super) work: Option<HeardWork>,
    /// As it was said.
    pub(super) devices: Vec<String>,
    pub(super) must: Vec<RequiredProperty>,
    /// Filesystems that were named.
    pub(super) between: Vec<&'static str>,
    /// Filesystems that are not to be tried: `not btrfs`.
    pub(super) excluded: Vec<&'static str>,
    pub(super) budget: Option<Duration>,
    /// Presets of other works that were named, too.
    pub(super) other_works: Vec<&'static str>,
    /// Words with no meaning here.
    pub(super) unknown: Vec<String>,
    /// Filesystems that are not tried.
    pub(super) not_tried: Vec<String>,
}

#[derive(Debug)]
pub(super) enum HeardWork {
    Preset(&'static Preset),
    /// A folder, as it was said.
    Folder(String),
}

/// One of the words that is being made sense of.
struct Word {
    text: String,
    used: bool,
    folder: bool,
}

/// Makes sense of the arguments, each of which may be a sentence.
///
/// Where the work `is_named` elsewhere, no word is made one that has another meaning here.
pub(super) fn hear(arguments: &[String], is_named: bool) -> HeardQuestion {
    let words = match arguments {
        [one] if Path::new(one).is_dir() => vec![Word { text: one.clone(), used: false, folder: true }],
        several => several.iter().flat_map(|argument| words_of(argument)).collect(),
    };
    let mut hearing = Hearing { words };
    let mut heard =
        HeardQuestion { devices: hearing.devices(), budget: hearing.time(), ..HeardQuestion::default() };
    hearing.filesystems(&mut heard);
    let must = hearing.requirements();
    hearing.works(&mut heard);
    for (at, property) in must {
        // `encryption` and `snapshots` are works where no other is named.
        let is_work = !is_named && heard.work.is_none() && hearing.becomes_work(at.clone(), &mut heard);
        if !is_work && !heard.must.contains(&property) {
            heard.must.push(property);
        }
    }
    if !is_named && heard.work.is_none() {
        hearing.work_of_a_device(&mut heard);
    }
    let HeardQuestion { between, excluded, .. } = &mut heard;
    between.retain(|name| !excluded.contains(name));
    heard.unknown = hearing.left();
    heard
}

/// A path, or a folder's name, stays whole.
fn words_of(argument: &str) -> Vec<Word> {
    let word = |text: &str| Word { text: text.to_owned(), used: false, folder: text.contains('/') };
    if argument.contains('/') && Path::new(argument).exists() {
        return vec![word(argument)];
    }
    let trimmed = |text: &str| {
        let text = text.trim_matches(|one: char| "?!.,;:\"'()".contains(one));
        word(text.strip_suffix("'s").unwrap_or(text))
    };
    argument.split_whitespace().map(trimmed).filter(|word| !word.text.is_empty()).collect()
}

struct Hearing {
    words: Vec<Word>,
}

impl Hearing {
    /// Whether the word here is one of a list.
    fn is(&self, at: usize, list: &str) -> bool {
        self.words.get(at).is_some_and(|word| is_in(&word.text, list))
    }

    /// The longest run of unused words from here that means something.
    fn longest<T>(&self, at: usize, means: impl Fn(&str) -> Option<T>) -> Option<(Range<usize>, T)> {
        (1..=LONGEST).rev().find_map(|count| {
            let words = self.words.get(at..at + count)?;
            if words.iter().any(|word| word.used) {
                return None;
            }
            let joined: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            Some((at..at + count, means(&joined.join(" "))?))
        })
    }

    fn take(&mut self, range: Range<usize>) -> String {
        let words = &mut self.words[range];
        words.iter_mut().for_each(|word| word.used = true);
        words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// What is behind each `on`, and what is a device wherever it is said.
    fn devices(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        for at in 0..self.words.len() {
            if !self.is(at, "on onto") {
                continue;
            }
            let first = (at + 1..self.words.len()).find(|at| !self.is(*at, BEFORE_DEVICE)).unwrap_or(at + 1);
            let named = |word: &str| {
                let is_source =
                    word.starts_with('/') || ["image:", "model:"].iter().any(|kind| word.starts_with(kind));
                (is_source || device_called(word, true).is_some() || is_model(word)).then_some(())
            };
            if let Some((range, ())) = self.longest(first, named) {
                let _ = self.take(at..range.start);
                found.push(self.take(range));
            }
        }
        for at in 0..self.words.len() {
            if let Some((range, _)) = self.longest(at, |word| device_called(word, false)) {
                found.push(self.take(range));
            }
        }
        if found.is_empty()
            && let Some(at) = (0..self.words.len()).find(|at| self.is(*at, "on"))
        {
            let first = (at + 1..self.words.len()).find(|at| !self.is(*at, BEFORE_DEVICE));
            // Nothing that is known, which is then said of it; nothing at all is told from nothing being asked.
            found.push(first.map_or_else(String::new, |at| self.take(at..at + 1)));
        }
        found
    }

    /// `for 10m`, `within 1h`.
    fn time(&mut self) -> Option<Duration> {
        let at = (1..self.words.len()).find(|at| {
            self.is(at - 1, "for within") && parse_time(&self.words[*at].text.to_lowercase()).is_ok()
        })?;
        parse_time(&self.take(at..at + 1).to_lowercase()).ok()
    }

    fn filesystems(&mut self, heard: &mut HeardQuestion) {
        for at in 0..self.words.len() {
            let said = self.words[at].text.to_lowercase();
            let name =
                ALSO_CALLED.iter().find(|(other, _)| *other == said).map_or(said.as_str(), |(_, name)| name);
            let known = filesystem::registry().iter().find(|known| known.name == name);
            if known.is_none() && !is_in(name, NOT_TRIED) {
                continue;
            }
            let _ = self.take(at..at + 1);
            if at > 0 && self.is(at - 1, EXCLUDING) {
                let _ = self.take(at - 1..at);
                heard.excluded.extend(known.map(|known| known.name));
                continue;
            }
            match known {
                Some(known) if !heard.between.contains(&known.name) => heard.between.push(known.name),
                Some(_) => {}
                None => heard.not_tried.push(said),
            }
        }
    }

    /// What must hold, and where that is said; nothing behind `without` and `no`.
    fn requirements(&mut self) -> Vec<(Range<usize>, RequiredProperty)> {
        let mut found = Vec::new();
        for at in 0..self.words.len() {
            // A work of a longer name is one: `snapshot server`, `crash safe`.
            let longer = self.longest(at, preset_called).is_some_and(|(range, _)| range.len() > 1);
            let Some((range, property)) = self.longest(at, must_called).filter(|_| !longer) else { continue };
            let _ = self.take(range.clone());
            if at > 0 && self.is(at - 1, "without no not") {
                let _ = self.take(at - 1..at);
            } else {
                found.push((range, property));
            }
        }
        found
    }

    /// The first work is asked about: a folder, or else a preset.
    fn works(&mut self, heard: &mut HeardQuestion) {
        let folder = (0..self.words.len()).find(|at| !self.words[*at].used && self.words[*at].folder);
        if let Some(at) = folder {
            heard.work = Some(HeardWork::Folder(self.take(at..at + 1)));
        }
        for at in 0..self.words.len() {
            let Some((range, preset)) = self.longest(at, preset_called) else { continue };
            let _ = self.take(range);
            match &heard.work {
                None => heard.work = Some(HeardWork::Preset(preset)),
                Some(HeardWork::Preset(first)) if first.name == preset.name => {}
                Some(_) if heard.other_works.contains(&preset.name) => {}
                Some(_) => heard.other_works.push(preset.name),
            }
        }
    }

    /// Makes a word that was taken for what must hold the work.
    fn becomes_work(&self, at: Range<usize>, heard: &mut HeardQuestion) -> bool {
        let said: Vec<&str> = self.words[at].iter().map(|word| word.text.as_str()).collect();
        heard.work = work_within(&said);
        heard.work.is_some()
    }

    /// `stick` is a work and a device: where nothing else is said, it is what is asked about.
    fn work_of_a_device(&self, heard: &mut HeardQuestion) {
        heard.work = heard.devices.iter().find_map(|said| work_within(&said.split(' ').collect::<Vec<_>>()));
    }

    fn left(&self) -> Vec<String> {
        let is_left = |word: &&Word| !word.used && !is_in(&word.text.replace('\'', ""), FILLING);
        self.words.iter().filter(is_left).map(|word| word.text.clone()).collect()
    }
}

/// The first work that some of these words name, the longest run of them first.
fn work_within(words: &[&str]) -> Option<HeardWork> {
    let runs = (1..=words.len()).rev().flat_map(|count| words.windows(count));
    runs.filter_map(|run| preset_called(&run.join(" "))).map(HeardWork::Preset).next()
}

fn is_in(word: &str, list: &str) -> bool {
    let word = word.to_lowercase();
    list.split_whitespace().any(|one| one == word)
}

/// Whether a word that was not understood may change the question: one that negates or compares, a number, or an option.
pub(super) fn may_change_question(word: &str) -> bool {
    let is_option = word.starts_with('-') || word.contains('=');
    let has_digit = word.contains(|letter: char| letter.is_ascii_digit());
    is_option || has_digit || is_in(word, EXCLUDING) || is_in(word, CHANGING)
}

fn is_model(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or(word);
    fsverdict_disk::device::built_in().iter().any(|known| plain(known.name) == plain(name))
}

#[cfg(test)]
mod tests {
    use super::{HeardQuestion, HeardWork, hear};

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
            Some(HeardWork::Preset(preset)) => preset.name.to_owned(),
            Some(HeardWork::Folder(folder)) => format!("folder {folder}"),
        };
        let must: Vec<&str> = heard.must.iter().map(|one| one.word()).collect();
        let all = [
            ("on", heard.devices.join("+")),
            ("must", must.join("+")),
            ("between", heard.between.join("+")),
            ("excluded", heard.excluded.join("+")),
            ("also", heard.other_works.join("+")),
            ("not", heard.not_tried.join("+")),
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
                "postgres on NVMe drive also sqlite-app",
            ),
            ("sqlite on my raspberry pi's sd card", "sqlite-app on sd card also pi-card"),
            ("which filesystem for my photo library on a usb stick", "photo-backup on usb stick"),
            ("usb stick", "stick on usb stick"),
            ("stick", "stick"),
            ("home assistant", "sqlite-app"),
            ("photos on hdd with encryption", "photo-backup on hdd must encryption"),
            ("encrypted photos on usb-disk", "photo-backup on usb-disk must encryption"),
            ("photos without encryption", "photo-backup"),
            ("photos readable by windows and mac", "photo-backup must windows+macos"),
            ("photos, crash safe", "photo-backup must crash_safe"),
            ("encryption on nvme", "luks-nvme on nvme"),
            ("survives power cuts", "power-cut"),
            ("mail on hdd and ssd", "mail-spool on hdd+ssd"),
            ("zfs or btrfs for photos", "photo-backup between btrfs not zfs"),
            ("ext4 vs xfs for docker on nvme", "container-store on nvme between ext4+xfs"),
            ("photos and mail", "photo-backup also mail-spool"),
            ("mail, but not btrfs", "mail-spool excluded btrfs ? but"),
            ("photos not zfs", "photo-backup"),
            ("mail on ssd without xfs", "mail-spool on ssd excluded xfs"),
            ("ext4 or xfs, no btrfs, for docker", "container-store between ext4+xfs excluded btrfs"),
            ("photos except ext4 and xfs", "photo-backup between xfs excluded ext4"),
            ("vm disk images", "vm-image also container-store"),
            ("mail on a floppy", "mail-spool on floppy"),
            ("photos on /dev/sdz", "photo-backup on /dev/sdz"),
            ("/srv/data on ssd", "folder /srv/data on ssd"),
            ("torrents on hdd", "nothing on hdd ? torrents"),
            ("mail quickly", "mail-spool ? quickly"),
        ] {
            assert_eq!(told(said), meant, "{said}");
        }
        assert_eq!(heard("mail on ssd for 2m").budget.unwrap().as_secs(), 120);
        assert_eq!(heard("mail on").devices, [""]);
        // With --work beside it, a device and what must hold are no second work.
        let beside = hear(&["snapshots on usb stick".to_owned()], true);
        assert!(beside.work.is_none() && beside.must.len() == 1 && beside.devices == ["usb stick"]);
        assert!(heard("mail for photos").budget.is_none());
    }
}
