//! The medium of a run: made, or claimed from the user, who may have to say by its identity that it can be erased.

use std::path::Path;

use crate::device::{Device, Model};
use crate::host::block_device::BlockDevice;
use crate::host::guard::{Refusal, examine};
use crate::host::identity::NameKind;
use crate::host::image::{create, look, scratch_folder};
use crate::host::own_folder::lies_on;
use crate::host::root::Root;
use crate::journal::{DEVICE_BEARS, Event, Facts, read};
use crate::lab::Medium;
use crate::plan::{DeviceSource, Plan, image_room};

use super::error::SessionError;

/// What a user says to the erasing of a device.
pub struct Permission<'a> {
    /// The identity that was given beforehand (`--erase`).
    pub erase: Option<&'a str>,
    /// Asks for the identity that would lift a refusal; `None` where nobody can be asked, or says nothing.
    pub ask: &'a dyn Fn(&Refusal) -> Option<String>,
    /// The marks that a trial of this very run made on the device; none but for a run that is carried on.
    pub left: &'a [String],
}

/// What the last trial of a run that got so far made on the user's device: the marks it found there once it had mounted them.
pub(super) fn left_by(journal: &Path) -> Vec<String> {
    let records = read(journal).map(|journal| journal.records).unwrap_or_default();
    let bears = records.iter().rev().find_map(|record| match &record.event {
        Event::Facts { facts, .. } => facts.get(DEVICE_BEARS),
        _ => None,
    });
    bears.map_or(Vec::new(), |marks| marks.lines().map(str::to_owned).collect())
}

impl Permission<'_> {
    /// What [`claim`](Self::claim) would find: the bytes of the device, and why it would refuse. Nothing is made or held.
    pub(super) fn look(&self, plan: &Plan) -> (Option<u64>, Option<SessionError>) {
        match &plan.device.source {
            DeviceSource::Image(size) => {
                let room = image_room(plan, size.0);
                let found = look(plan.device.folder.as_deref(), size.0, room);
                (Some(size.0), found.err().map(|error| with_hint(&error, error.hint())))
            }
            DeviceSource::Path(path) => match examine(&Root::default(), path, smallest(plan), self.erase) {
                Ok(cleared) => (Some(cleared.device().size), None),
                Err(refusal) => {
                    let device = BlockDevice::inspect(&Root::default(), path);
                    (device.ok().map(|device| device.size), Some(with_hint(&refusal, refusal.hint())))
                }
            },
            DeviceSource::Folders => (None, None),
            DeviceSource::Model { size, .. } => (Some(size.0), self.claim(plan).err()),
        }
    }

    /// The name by which the device may be erased because it bears what a trial of this run made on it, mark for mark, and nothing
    /// else: the same filesystem (or LUKS header) by its UUID. Anybody else's has another, and is refused as ever; that the
    /// device is the run's by its hardware is compared before anything is written ([`Changes`](super::unchanged::Changes)).
    fn to_leftover(&self, refusal: &Refusal) -> Option<String> {
        let Refusal::Signed(signed) = refusal else { return None };
        if self.left.is_empty() || signed.given.is_some() || signed.marks != self.left {
            return None;
        }
        let of_its_filesystem = |(kind, name): (NameKind, &str)| {
            (kind == NameKind::FilesystemUuid
                && self.left.iter().any(|mark| mark.contains(&format!("(uuid {name})"))))
            .then(|| name.to_owned())
        };
        signed.identity.names().find_map(of_its_filesystem)
    }

    /// The medium for this plan.
    pub(super) fn claim(&self, plan: &Plan) -> Result<Medium, SessionError> {
        let refused = |refusal: Refusal| with_hint(&refusal, refusal.hint());
        match &plan.device.source {
            DeviceSource::Image(size) => {
                let folder = scratch_folder(plan.device.folder.as_deref())
                    .map_err(|error| with_hint(&error, error.hint()))?;
                // Found out now, not in the first trial: is there room, and may we write there?
                let room = image_room(plan, size.0);
                create(&folder, size.0, room).map_err(|error| with_hint(&error, error.hint()))?;
                Ok(Medium::Image { folder, size: size.0, room })
            }
            DeviceSource::Model { size, .. } => {
                let models = plan.models();
                for name in &models {
                    Model::find(name)
                        .and_then(|model| Device::new(&model, size.0, 0).map(drop))
                        .map_err(|error| SessionError::Disk(error.to_string()))?;
                }
                let folder = scratch_folder(plan.device.folder.as_deref())
                    .map_err(|error| with_hint(&error, error.hint()))?;
                Ok(Medium::Modelled { model: models.join(", "), size: size.0, folder, traces: None })
            }
            DeviceSource::Folders => Ok(Medium::Folders { facts: folders(plan) }),
            DeviceSource::Path(path) => {
                let needed = smallest(plan);
                let consent = |refusal: &Refusal| self.to_leftover(refusal).or_else(|| (self.ask)(refusal));
                cleared(path, needed, self.erase).or_else(|refusal| match consent(&refusal) {
                    Some(identity) => cleared(path, needed, Some(&identity)).map_err(refused),
                    None => Err(refused(refusal)),
                })
            }
        }
    }
}

/// Where the folders are, and on what.
fn folders(plan: &Plan) -> Facts {
    let mut facts = Facts::from([("device.kind".to_owned(), "folders of the user's".to_owned())]);
    for candidate in &plan.candidates {
        let Some(path) = &candidate.path else { continue };
        let on = lies_on(path).map_or(String::new(), |on| format!(", on {on}"));
        facts.insert(format!("folder.{}", candidate.name), format!("{}{on}", path.display()));
    }
    facts
}

fn cleared(path: &Path, needed: u64, erase: Option<&str>) -> Result<Medium, Refusal> {
    let cleared = examine(&Root::default(), path, needed, erase)?;
    let device = cleared.device();
    let mut facts = Facts::new();
    facts.insert("device.description".to_owned(), device.describe_for_people());
    // What it bears has other names after every mkfs.
    if let Some(name) = device.hardware.preferred() {
        facts.insert("device.identity".to_owned(), name.to_owned());
    }
    let cautions = cleared.cautions().to_vec();
    let (ticket, hold) = cleared.into_ticket()?;
    Ok(Medium::Device { ticket, hold: hold.into(), cautions, facts })
}

fn with_hint(error: &dyn std::error::Error, hint: Option<String>) -> SessionError {
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    SessionError::Disk(format!("{error}{hint}"))
}

/// What the most demanding filesystem of the plan needs, in bytes.
fn smallest(plan: &Plan) -> u64 {
    plan.candidates.iter().map(crate::layer::least_device).max().unwrap_or(0)
}
