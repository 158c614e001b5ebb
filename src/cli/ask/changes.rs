//! Derives the changes that a question makes to a plan: to its candidates, its device and its requirements; or the
//! reason why the question cannot be asked. It works on the parsed plan, so that the form of the text does not matter.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{Candidate, DeviceSource, Layers, Plan, RequiredProperty, once_each};
use fsverdict_report::listing;
use fsverdict_stack::filesystem;
use fsverdict_stack::layer::has_property;
use fsverdict_text::{Bytes, Reason};

use crate::study::find_missing_ability;

use super::super::guarantees::{is_disk, is_on_disk};
use super::chosen::{chosen, encrypted, with_and_without};
use super::kernel::{kernel_release, missing_driver};
use super::left_out::{LeftOutCandidates, LeftOutReason};
use super::question::{AskedDevice, AskedWork, Question};
use super::settings::settings;

/// How large a device is at most that cannot be as large as the plan's.
const ENOUGH: u64 = 64_000_000_000;
/// How large a modelled device is where the plan has none with a size.
const USUAL: u64 = 16_000_000_000;

/// The changes to the plan, and the candidates that they remove.
#[derive(Debug)]
pub(super) struct QuestionChanges {
    /// `--set`, in the plan's keys.
    pub(super) settings: Vec<String>,
    /// In place of the plan's; its own where there are none.
    pub(super) candidates: Vec<Candidate>,
    /// The same.
    pub(super) device: Vec<DeviceSource>,
    /// The plan's candidates that are not tried.
    pub(super) left_out: LeftOutCandidates,
    /// Why this machine's kernel cannot mount others.
    pub(super) without_driver: Vec<String>,
}

impl QuestionChanges {
    /// # Errors Fails if a candidate cannot have a required property, or the plan cannot be tried on the device.
    pub(super) fn of(question: &Question, plan: &Plan) -> Result<Self, Reason> {
        refuse_fault(question, plan)?;
        let device = match &question.device {
            Some(asked) => vec![source(asked, plan, question.name())?],
            None => Vec::new(),
        };
        let mut candidates = plan.candidates.clone();
        if question.device.is_some() {
            // Models that candidates are tried on one after the other give way to the one device that was named.
            candidates = candidates.iter().map(|one| one.with_change(|one| one.under.model = None)).collect();
        }
        let mut left_out = LeftOutCandidates::default();
        left_out.add(LeftOutReason::Weakened, take_weakened(question, &mut candidates));
        let must = question.properties();
        let heard = &question.candidates;
        let release = kernel_release();
        let missing = |one: &Candidate| {
            missing_driver(&one.filesystem, &release).filter(|_| !question.names_filesystem(one))
        };
        let without_driver = once_each(candidates.iter().filter_map(missing));
        candidates.retain(|one| missing(one).is_none());
        candidates = chosen(candidates, heard, question.name())?;
        if must.contains(&RequiredProperty::Encryption) {
            candidates = encrypted(&candidates, question.name())?;
        }
        let is_encrypted = |one: &Candidate| has_property(one, RequiredProperty::Encryption);
        if heard.unencrypted.is_some() || !question.mentions_encryption() {
            if heard.unencrypted.is_none() {
                let names = candidates.iter().filter(|one| is_encrypted(one)).map(|one| one.name.clone());
                left_out.add(LeftOutReason::Encrypted, names);
            }
            candidates.retain(|one| !is_encrypted(one));
        }
        for said in &heard.compared {
            let compared = with_and_without(&candidates, said.value, question.name())?;
            let is_left = |one: &&Candidate| !compared.iter().any(|other| other.filesystem == one.filesystem);
            let names = candidates.iter().filter(is_left).map(|one| one.name.clone());
            left_out.add(LeftOutReason::Unable, names);
            candidates = compared;
        }
        let candidates = once_each_but_for_names(candidates);
        let has_all = |candidate: &Candidate| must.iter().all(|property| has_property(candidate, *property));
        let (mut able, unable): (Vec<Candidate>, Vec<Candidate>) = candidates.into_iter().partition(has_all);
        let is_excluded = |one: &Candidate| heard.excluded.iter().any(|said| said.value == one.filesystem);
        refuse_one_sided(question, &able, &unable)?;
        if able.is_empty() {
            able = others(&must);
            able.retain(|one| !is_excluded(one) && missing(one).is_none());
            // Candidates that the plan does not list may be unable to do its work.
            let unable = able.iter().find_map(|one| find_missing_ability(plan, one));
            able.retain(|one| find_missing_ability(plan, one).is_none());
            if let (true, Some(reason)) = (able.is_empty(), unable) {
                return Err(reason.after(format!("`{}` cannot be asked so: ", question.name())));
            }
        }
        if able.is_empty() {
            let words: Vec<&str> = must.iter().map(|property| property.word()).collect();
            return Err(Reason::new(
                format!("no filesystem has all of this: {}", words.join(", ")),
                format!("ask for less of it; {}", who_has_each(&must)),
            ));
        }
        left_out.add(LeftOutReason::ForFlash, take_those_for_flash(question, plan, &mut able));
        let settings = settings(question, plan)?;
        let is_lacked = |property: &RequiredProperty| unable.iter().any(|one| !has_property(one, *property));
        left_out.lacked = must.iter().copied().filter(is_lacked).collect();
        left_out.add(LeftOutReason::Unable, unable.into_iter().map(|candidate| candidate.name));
        Ok(QuestionChanges { settings, candidates: able, device, left_out, without_driver })
    }
}

/// Of the filesystems that were named, all but one lack what is required: there is nothing left to compare.
fn refuse_one_sided(question: &Question, able: &[Candidate], unable: &[Candidate]) -> Result<(), Reason> {
    let named = |all: &[Candidate]| {
        let of_those = all.iter().filter(|one| question.names_filesystem(one));
        once_each(of_those.map(|one| one.filesystem.clone()))
    };
    let (left, mut lacking) = (named(able), named(unable));
    lacking.retain(|one| !left.contains(one));
    let ([only], [_, ..], [_]) = (left.as_slice(), lacking.as_slice(), able) else { return Ok(()) };
    let words: Vec<&str> = question.must.iter().map(|said| said.words.as_str()).collect();
    let must: Vec<&str> = question.properties().iter().map(|property| property.word()).collect();
    let lacking: Vec<&str> = lacking.iter().map(String::as_str).collect();
    Err(Reason::new(
        format!("only {only} of the named filesystems meets the requirements ({})", must.join(", ")),
        format!(
            "that answers it: {} cannot. To compare their times all the same, leave out `{}`",
            listing(&lacking, 8),
            words.join("`, `")
        ),
    ))
}

/// Removes the candidates that have a drawback on disks, where the question is about one and does not name them: each
/// trial is of a fresh filesystem, which does not show that drawback. Returns their names. Nothing is removed where
/// fewer than two candidates would be left, or faults are examined.
fn take_those_for_flash(question: &Question, plan: &Plan, candidates: &mut Vec<Candidate>) -> Vec<String> {
    let asked = question.device.as_ref().map(|asked| &asked.source);
    let is_on_disk = |one: &Candidate| match asked {
        Some(DeviceSource::Model { name, .. }) => is_disk(name),
        Some(_) => false,
        None => is_on_disk(plan, one),
    };
    let is_for_flash = |one: &Candidate| {
        filesystem::find_filesystem(&one.filesystem)
            .is_some_and(|known| !known.facts.drawback_on_disks.is_empty())
    };
    let (taken, left): (Vec<Candidate>, Vec<Candidate>) = candidates
        .iter()
        .cloned()
        .partition(|one| is_for_flash(one) && is_on_disk(one) && !question.names_filesystem(one));
    if left.len() < 2 || plan.faults.is_some() || !question.faults.is_empty() {
        return Vec::new();
    }
    *candidates = left;
    taken.into_iter().map(|one| one.name).collect()
}

/// Removes the candidates from which the preset took a protection away, and returns their names. A question that compares
/// candidates with and without something is asked of all.
fn take_weakened(question: &Question, candidates: &mut Vec<Candidate>) -> Vec<String> {
    let AskedWork::Preset(preset) = &question.work else { return Vec::new() };
    if !question.candidates.compared.is_empty() {
        return Vec::new();
    }
    let weakened = preset.asked_by().weakened;
    let is_weakened = |one: &Candidate| weakened.contains(&one.name);
    let taken = candidates.iter().filter(|one| is_weakened(one)).map(|one| one.name.clone()).collect();
    candidates.retain(|one| !is_weakened(one));
    taken
}

/// Faults are those of modelled devices.
fn refuse_fault(question: &Question, plan: &Plan) -> Result<(), Reason> {
    let name = question.name();
    if plan.faults.is_none() {
        return Ok(());
    }
    if let Some(asked) = question.device.as_ref().filter(|asked| !asked.source.is_modelled()) {
        return Err(Reason::new(
            format!(
                "`{name}` is asked of modelled devices, of which every write is known, and {} is none",
                asked.said
            ),
            "name a kind of device instead: --on hdd, ssd, nvme, usb-disk, usb-stick or sd-card",
        ));
    }
    Ok(())
}

/// The device that was asked of, as large as it can be where the user did not say.
fn source(asked: &AskedDevice, plan: &Plan, name: &str) -> Result<DeviceSource, Reason> {
    match &asked.source {
        DeviceSource::Path(path) if plan.device.count() > 1 => Err(Reason::new(
            format!("`{name}` has {} devices at once, and {} is one", plan.device.count(), asked.said),
            format!(
                "name each: fsverdict run {name} --device {} --device …; or a kind of device here: --on hdd",
                path.display()
            ),
        )),
        DeviceSource::Model { name, .. } if !asked.sized => {
            let size = match plan.device.source {
                DeviceSource::Image(size) | DeviceSource::Model { size, .. } => size.0,
                DeviceSource::Path(_) | DeviceSource::Folders => USUAL,
            };
            let capacity = Model::named(name).map_or(u64::MAX, |model| model.capacity());
            let size = if size > capacity { capacity.min(ENOUGH) } else { size };
            Ok(DeviceSource::Model { name: name.clone(), size: Bytes(size) })
        }
        given => Ok(given.clone()),
    }
}

/// Removes duplicates: of candidates that differ only in name, the first is kept.
fn once_each_but_for_names(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut distinct: Vec<Candidate> = Vec::new();
    for one in candidates {
        let alike = |other: &Candidate| Candidate { name: one.name.clone(), ..other.clone() } == one;
        if !distinct.iter().any(alike) {
            distinct.push(one);
        }
    }
    distinct
}

/// Which filesystems have each of these.
fn who_has_each(must: &[RequiredProperty]) -> String {
    let of = |property: &RequiredProperty| {
        let able = others(std::slice::from_ref(property));
        let names: Vec<&str> = able.iter().map(|one| one.name.as_str()).collect();
        format!("{}: {}", property.word(), listing(&names, 20))
    };
    must.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// All filesystems with the required properties, for plans that name none of them.
fn others(must: &[RequiredProperty]) -> Vec<Candidate> {
    let encrypted = must.contains(&RequiredProperty::Encryption);
    let luks = Layers::from_names(["luks2"]).unwrap_or_default();
    let plain = filesystem::registry().iter().map(|known| Candidate::with_defaults(known.name));
    let all = plain.map(|one| if encrypted { one.with_layers(luks.clone()) } else { one });
    all.filter(|one| must.iter().all(|property| has_property(one, *property))).collect()
}
