//! The work that a question is about, of all that are named in it.

use fsverdict_judgement::plan::{Preset, preset};

use super::asked_fault::AskedFault;
use super::kinds::{WorkKind, works};
use super::sentence::{Said, Sentence};
use super::words::{WordFit, preset_called, work_called};

#[derive(Debug)]
pub(super) enum HeardWork {
    Preset(&'static Preset),
    /// A folder, as it was said.
    Folder(String),
}

/// All works that were named.
#[derive(Debug, Default)]
pub(super) struct HeardWorks {
    pub(super) work: Option<Said<HeardWork>>,
    /// Whether nothing but vague words names it.
    pub(super) is_vague: bool,
    /// Those named besides.
    pub(super) others: Vec<Said<&'static Preset>>,
    /// The presets that come nearest to works that no preset is about.
    pub(super) near: Vec<Said<&'static Preset>>,
    /// The device of a place that was named besides the work.
    pub(super) device_of_place: Option<Said<String>>,
    /// Vague words that mean nothing beside the work that was named.
    pub(super) unused: Vec<String>,
}

/// Takes a folder and all words for works out of the sentence; the first that fits is asked about, or the preset that is about it
/// with one of these filesystems.
pub(super) fn hear_works(sentence: &mut Sentence, filesystems: &[&str]) -> HeardWorks {
    let mut heard = HeardWorks::default();
    let folder = (0..sentence.len()).find(|at| sentence.is_free(*at) && sentence.is_path(*at));
    if let Some(at) = folder {
        let folder_word = sentence.take(at..at + 1);
        heard.work = Some(Said::new(HeardWork::Folder(folder_word.clone()), folder_word));
    }
    let (mut sure, mut vague): (Vec<Said<&'static WorkKind>>, Vec<Said<&'static WorkKind>>) =
        Default::default();
    let mut has_owner = false;
    for at in 0..sentence.len() {
        let Some((range, (fit, work))) = sentence.find_longest(at, work_called) else { continue };
        has_owner |= work.asked_by.place
            && (sentence.is_before(range.start, "of") || sentence.is(range.start.wrapping_sub(2), "of"));
        let words = sentence.take(range);
        let list = match fit {
            WordFit::Sure => &mut sure,
            WordFit::Vague => &mut vague,
            WordFit::Near => {
                heard.near.push(Said::new(work.preset, words));
                continue;
            }
        };
        match list.iter_mut().find(|said| said.value.preset.name == work.preset.name) {
            Some(said) => said.words = format!("{}, {words}", said.words),
            None => list.push(Said::new(work, words)),
        }
    }
    // A vague word means something only where nothing else does, but for the place.
    if sure.iter().all(|said| said.value.asked_by.place) && heard.near.is_empty() && heard.work.is_none() {
        vague.retain(|said| !sure.iter().any(|other| other.value.preset.name == said.value.preset.name));
        heard.is_vague = sure.is_empty() && !vague.is_empty();
        sure.append(&mut vague);
    } else {
        // `power` beside another work asks what a cut of it does to that.
        let is_fault = |said: &Said<&WorkKind>| AskedFault::of_preset(said.value.preset).is_some();
        let (mut faults, others): (Vec<_>, Vec<_>) = vague.into_iter().partition(is_fault);
        let is_named = |said: &&Said<&WorkKind>| {
            sure.iter().any(|other: &Said<&WorkKind>| other.value.preset.name == said.value.preset.name)
        };
        heard.unused = others.iter().filter(|said| !is_named(said)).map(|said| said.words.clone()).collect();
        sure.append(&mut faults);
    }
    join(&mut sure);
    join_filesystems(&mut sure, filesystems);
    heard.device_of_place = leave_places(&mut sure, heard.work.is_some());
    // A backup of a laptop is no backup on it.
    heard.device_of_place = heard.device_of_place.filter(|_| !has_owner);
    heard.near.retain(|near| !sure.iter().any(|said| said.value.preset.name == near.value.name));
    // `raw photos in ~/Pictures`: the words describe the files of the folder.
    if let Some(folder) = &mut heard.work {
        sure.retain(|said| {
            let describes = said.value.asked_by.files;
            if describes {
                folder.words = format!("{}, {}", folder.words, said.words);
            }
            !describes
        });
    }
    let mut named = sure.into_iter().map(|said| Said::new(said.value.preset, said.words));
    if heard.work.is_none() {
        heard.work = named.next().map(|said| Said::new(HeardWork::Preset(said.value), said.words));
    }
    heard.others = named.collect();
    heard
}

/// Puts a preset that is about two works at once in the place of both.
fn join(sure: &mut Vec<Said<&'static WorkKind>>) {
    let joined = works().iter().find_map(|work| {
        let pairs = work.asked_by.joins.iter().filter_map(|pair| pair.split_once(" + "));
        let at = |name: &str| sure.iter().position(|said| said.value.preset.name == name);
        let (one, other) = pairs.filter_map(|(one, other)| Some((at(one)?, at(other)?))).next()?;
        Some((work, one.min(other), one.max(other)))
    });
    if let Some((work, first, second)) = joined {
        let other = sure.remove(second).words;
        let words = format!("{}, {other}", sure[first].words);
        sure[first] = Said::new(work, words);
    }
}

/// Puts a preset that is about a work and a filesystem in the place of the work, where the filesystem is named.
fn join_filesystems(sure: &mut [Said<&'static WorkKind>], filesystems: &[&str]) {
    for said in sure {
        let joins = |work: &&WorkKind| {
            let mut pairs = work.asked_by.joins.iter().filter_map(|pair| pair.split_once(" + "));
            pairs.any(|(one, other)| one == said.value.preset.name && filesystems.contains(&other))
        };
        if let Some(work) = works().iter().find(joins) {
            said.value = work;
        }
    }
}

/// Where another work is named, words for a place (a small computer, a laptop) say where that is done.
fn leave_places(sure: &mut Vec<Said<&'static WorkKind>>, has_folder: bool) -> Option<Said<String>> {
    if sure.len() + usize::from(has_folder) < 2 || sure.iter().all(|said| said.value.asked_by.place) {
        return None;
    }
    let at = sure.iter().position(|said| said.value.asked_by.place)?;
    let place = sure.remove(at);
    Some(Said::new(place.value.asked_by.device.clone()?, place.words))
}

/// The first work that some of these words name, the longest run of them first.
pub(super) fn work_within(said: &str) -> Option<Said<HeardWork>> {
    let words: Vec<&str> = said.split(' ').collect();
    let runs = (1..=words.len()).rev().flat_map(|count| words.windows(count));
    let found = runs.filter_map(|run| preset_called(&run.join(" "))).next()?;
    Some(Said::new(HeardWork::Preset(preset(found.name)?), said))
}
