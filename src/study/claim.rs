//! How a run's devices are attached: made, or claimed from the user, who may have to say by its identity that one can be
//! erased.

use std::path::Path;

use crate::guard::{Refusal, examine};
use crate::host::block_device::BlockDevice;
use crate::host::image::{create, create_store, look, scratch_folder};
use crate::host::own_folder::lies_on;
use crate::host::root::Root;
use crate::lab::{Attachment, Attachments};
use fsverdict_disk::device::{Device, Model};
use fsverdict_judgement::journal::Facts;
use fsverdict_judgement::plan::{DeviceSource, Plan, image_room, once_each};
use fsverdict_text::Hinted;

use super::error::SessionError;

/// What a user says to the erasing of devices.
pub struct Permission<'a> {
    /// The identities that were given beforehand (`--erase`).
    pub erase: &'a [String],
    /// Asks for the identity that would lift a refusal; `None` where nobody can be asked, or says nothing.
    pub ask: &'a dyn Fn(&Refusal) -> Option<String>,
}

impl Permission<'_> {
    /// What [`claim`](Self::claim) would find: the bytes of the smallest device, and why it would refuse. Nothing is made or held.
    pub(super) fn look(&self, plan: &Plan) -> (Option<u64>, Option<SessionError>) {
        let (mut sizes, mut refused) = (Vec::new(), None);
        for at in 0..plan.device.count() {
            let found = self.look_at(plan, at);
            sizes.extend(found.size);
            refused = refused.or(found.refused);
        }
        (sizes.into_iter().min(), refused)
    }

    fn look_at(&self, plan: &Plan, at: usize) -> LookedAt {
        match plan.device.all().nth(at) {
            Some(DeviceSource::Image(size)) => {
                let room = image_room(plan, size.0);
                let found = look(plan.device.folder.as_deref(), size.0, room);
                LookedAt { size: Some(size.0), refused: found.err().map(refused) }
            }
            Some(DeviceSource::Path(path)) => {
                match self.first_allowed(|identity| examine(&Root::default(), path, smallest(plan), identity))
                {
                    Ok(cleared) => LookedAt { size: Some(cleared.device().size), refused: None },
                    Err(refusal) => {
                        let device = BlockDevice::inspect(&Root::default(), path);
                        LookedAt {
                            size: device.ok().map(|device| device.size),
                            refused: Some(refused(refusal)),
                        }
                    }
                }
            }
            Some(DeviceSource::Model { size, .. }) => {
                LookedAt { size: Some(size.0), refused: self.claim_one(plan, at).err() }
            }
            Some(DeviceSource::Folders) | None => LookedAt { size: None, refused: None },
        }
    }

    /// What the plan names, attached.
    pub(super) fn claim(&self, plan: &Plan) -> Result<Attachments, SessionError> {
        let further = (1..plan.device.count()).map(|at| self.claim_one(plan, at));
        // In this order: the first that is refused is the one that is told.
        let first = self.claim_one(plan, 0)?;
        Ok(Attachments::new(first, further.collect::<Result<_, _>>()?))
    }

    fn claim_one(&self, plan: &Plan, at: usize) -> Result<Attachment, SessionError> {
        match plan.device.all().nth(at).unwrap_or(&plan.device.source) {
            DeviceSource::Image(size) => {
                let folder = scratch_folder(plan.device.folder.as_deref()).map_err(refused)?;
                // Found out now, not in the first trial: is there room, and may we write there?
                let room = image_room(plan, size.0);
                create(&folder, size.0, room).map_err(refused)?;
                Ok(Attachment::Image { folder, size: size.0, room })
            }
            DeviceSource::Model { size, .. } => {
                let of_candidates = plan.candidates.iter().map(|candidate| plan.models_of(candidate));
                let names = once_each(of_candidates.filter_map(|models| Some(models.get(at)?.name)));
                for name in &names {
                    Model::find(name)
                        .and_then(|model| Device::new(&model, size.0, 0).map(drop))
                        .map_err(refused)?;
                }
                let folder = scratch_folder(plan.device.folder.as_deref()).map_err(refused)?;
                // As of an image: found out now.
                create_store(&folder).map_err(refused)?;
                Ok(Attachment::Modelled { model: names.join(", "), size: size.0, folder, traces: None })
            }
            DeviceSource::Folders => Ok(Attachment::Folders { facts: folders(plan) }),
            DeviceSource::Path(path) => {
                let needed = smallest(plan);
                self.first_allowed(|identity| cleared(path, needed, identity)).or_else(|refusal| match (self
                    .ask)(
                    &refusal,
                ) {
                    Some(identity) => cleared(path, needed, Some(&identity)).map_err(refused),
                    None => Err(refused(refusal)),
                })
            }
        }
    }

    /// What is done with the first of the identities that is not refused: of several devices each has its own.
    fn first_allowed<T>(&self, act: impl Fn(Option<&str>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let Some((first, others)) = self.erase.split_first() else { return act(None) };
        act(Some(first)).or_else(|refusal| others.iter().find_map(|one| act(Some(one)).ok()).ok_or(refusal))
    }
}

/// What a look at one of the devices found.
struct LookedAt {
    /// Bytes.
    size: Option<u64>,
    refused: Option<SessionError>,
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

fn cleared(path: &Path, needed: u64, erase: Option<&str>) -> Result<Attachment, Refusal> {
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
    if let Some(inode) = ticket.file_below() {
        facts.insert("device.file_below".to_owned(), format!("inode {inode}"));
    }
    Ok(Attachment::Device { ticket, hold: hold.into(), cautions, facts })
}

fn refused(error: impl Hinted) -> SessionError {
    SessionError::Disk(error.reason())
}

/// What the most demanding filesystem of the plan needs, in bytes.
fn smallest(plan: &Plan) -> u64 {
    plan.candidates.iter().map(crate::layer::least_device).max().unwrap_or(0)
}
