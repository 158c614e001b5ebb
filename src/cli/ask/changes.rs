//! What a question changes of the plan that it begins with: its candidates, its device and what must hold; or why it cannot be
//! asked so. All of it goes by the plan as it was read, so that it does not matter how its text is written.

use fsverdict_disk::device::Model;
use fsverdict_judgement::plan::{
    Candidate, DeviceSource, Layers, Plan, RequiredProperty, once_each, split_layer,
};
use fsverdict_report::listing;
use fsverdict_text::{Bytes, Reason};

use crate::study::{has_property, inability};
use fsverdict_stack::filesystem;

use super::question::{AskedDevice, Question};

/// How large a device is at most that cannot be as large as the plan's.
const ENOUGH: u64 = 64_000_000_000;
/// How large a modelled device is where the plan has none with a size.
const USUAL: u64 = 16_000_000_000;

/// What becomes of the plan.
#[derive(Debug)]
pub(super) struct QuestionChanges {
    /// `--set`, in the plan's keys.
    pub(super) settings: Vec<String>,
    /// In place of the plan's; its own where there are none.
    pub(super) candidates: Vec<Candidate>,
    /// The same.
    pub(super) device: Vec<DeviceSource>,
    /// Names of those of the plan that lack what must hold.
    pub(super) left_out: Vec<String>,
}

impl QuestionChanges {
    /// # Errors
    /// When a candidate cannot have what must hold, or the plan cannot be tried on the device.
    pub(super) fn of(question: &Question, plan: &Plan) -> Result<Self, Reason> {
        refuse_fault(question, plan)?;
        let device = match &question.device {
            Some(asked) => vec![source(asked, plan, question.name())?],
            None => Vec::new(),
        };
        let mut candidates = plan.candidates.clone();
        if question.device.is_some() {
            // Models that candidates are tried on one after the other give way to the one device that was named.
            candidates = candidates.iter().map(|one| one.changed(|one| one.under.model = None)).collect();
        }
        let must = question.must.as_slice();
        if !question.between.is_empty() {
            candidates = those_named(candidates, &question.between, question.name())?;
        }
        candidates.retain(|one| !question.excluded.contains(&one.filesystem.as_str()));
        if !question.excluded.is_empty() && candidates.len() < 2 {
            let left: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
            return Err(Reason::new(
                format!(
                    "without {} there is nothing to compare in `{}` ({} left)",
                    question.excluded.join(", "),
                    question.name(),
                    if left.is_empty() { "none".to_owned() } else { left.join(", ") }
                ),
                "name the filesystems to compare: `ask 'ext4 or xfs for mail'`",
            ));
        }
        if must.contains(&RequiredProperty::Encryption) {
            candidates = encrypted(&candidates, question.name())?;
        }
        let candidates = once_each_but_for_names(candidates);
        let has_all = |candidate: &Candidate| must.iter().all(|property| has_property(candidate, *property));
        let (mut able, unable): (Vec<Candidate>, Vec<Candidate>) = candidates.into_iter().partition(has_all);
        if able.is_empty() {
            able = others(must);
            able.retain(|one| !question.excluded.contains(&one.filesystem.as_str()));
            // Those that the plan did not think of may be unable to do what it does.
            let unable = able.iter().find_map(|one| inability(plan, one));
            able.retain(|one| inability(plan, one).is_none());
            if let (true, Some(reason)) = (able.is_empty(), unable) {
                return Err(reason.after(format!("`{}` cannot be asked so: ", question.name())));
            }
        }
        if able.is_empty() {
            let words: Vec<&str> = must.iter().map(|property| property.word()).collect();
            return Err(Reason::new(
                format!("no filesystem has all of this: {}", words.join(", ")),
                format!("ask for less of it; {}", who_has_each(must)),
            ));
        }
        let settings = must.iter().map(|property| format!("goal.require.{}=true", property.word())).collect();
        let left_out = unable.into_iter().map(|candidate| candidate.name).collect();
        Ok(QuestionChanges { settings, candidates: able, device, left_out })
    }
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

/// The candidates on the filesystems that were named, and those that the plan has none of, as they are made by default. One alone is put
/// beside the plan's: it has to be better than something.
fn those_named(candidates: Vec<Candidate>, named: &[&str], name: &str) -> Result<Vec<Candidate>, Reason> {
    let has = |filesystem: &str| candidates.iter().any(|one| one.filesystem == filesystem);
    let layered = candidates.iter().any(|one| !one.layers.is_empty());
    let new: Vec<Candidate> = named.iter().filter(|one| !has(one)).map(|one| Candidate::plain(one)).collect();
    if let (Some(first), true) = (new.first(), layered) {
        return Err(Reason::new(
            format!("no candidate of `{name}` is on {}, and all have layers of their own", first.name),
            format!(
                "`fsverdict show {name} > mine.toml` begins a plan of your own, with candidates of yours"
            ),
        ));
    }
    let is_named = |one: &Candidate| named.len() < 2 || named.contains(&one.filesystem.as_str());
    Ok(candidates.into_iter().filter(is_named).chain(new).collect())
}

/// Each on LUKS: those that say so themselves as they are, all that have nothing below them with it.
fn encrypted(candidates: &[Candidate], name: &str) -> Result<Vec<Candidate>, Reason> {
    let is_encrypted = |one: &Candidate| has_property(one, RequiredProperty::Encryption);
    let layered = |one: &&Candidate| !one.layers.is_empty();
    // Where LUKS would lie among layers of another kind only somebody who knows what they are for can tell.
    if candidates.iter().any(|one| layered(&one)) && !candidates.iter().filter(layered).any(is_encrypted) {
        let kinds = candidates.iter().flat_map(|one| one.layers.names()).map(|layer| split_layer(layer).0);
        let kinds = once_each(kinds);
        let first = candidates.iter().find(layered).map_or_else(String::new, |one| {
            one.layers.names().map(|layer| format!(", \"{layer}\"")).collect()
        });
        return Err(Reason::new(
            format!(
                "candidates of `{name}` have layers of their own ({}), none of which encrypts",
                listing(&kinds, 8)
            ),
            format!(
                "ask it without encryption, or say where LUKS lies: `fsverdict show {name} > mine.toml`, and in it layers = [\"luks2\"{first}]"
            ),
        ));
    }
    let luks = Layers::of(["luks2"])?;
    let on_luks = |one: &Candidate| match one.layers.is_empty() {
        true => one.on(luks.clone()),
        false => one.clone(),
    };
    Ok(candidates.iter().map(on_luks).filter(is_encrypted).collect())
}

/// The first of those that differ in nothing but what they are called.
fn once_each_but_for_names(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::new();
    for one in candidates {
        let alike = |other: &Candidate| Candidate { name: one.name.clone(), ..other.clone() } == one;
        if !kept.iter().any(alike) {
            kept.push(one);
        }
    }
    kept
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

/// All filesystems that have what must hold, for plans that name none of them.
fn others(must: &[RequiredProperty]) -> Vec<Candidate> {
    let encrypted = must.contains(&RequiredProperty::Encryption);
    let luks = Layers::of(["luks2"]).unwrap_or_default();
    let plain = filesystem::registry().iter().map(|known| Candidate::plain(known.name));
    let all = plain.map(|one| if encrypted { one.on(luks.clone()) } else { one });
    all.filter(|one| must.iter().all(|property| has_property(one, *property))).collect()
}
