//! Attaches a run's devices: creates images and modelled devices, or claims the user's block devices, which may
//! require the user to confirm by identity that a device can be erased.

use std::path::Path;

use fsverdict_disk::device::{Device, Model};
use fsverdict_judgement::journal::Facts;
use fsverdict_judgement::plan::{DeviceSource, Plan, image_room, once_each};
use fsverdict_lab::lab::{Attachment, Attachments};
use fsverdict_linux::guard::{Refusal, examine_device};
use fsverdict_linux::host::block_device::BlockDevice;
use fsverdict_linux::host::image::{check_space, create_image, create_store, scratch_folder};
use fsverdict_linux::host::own_folder::lies_on;
use fsverdict_linux::host::root::Root;
use fsverdict_text::Hinted;

use super::error::SessionError;

/// The user's permission to erase devices.
pub struct Permission<'a> {
    /// The identities given beforehand (`--erase`).
    pub erase: &'a [String],
    /// Asks the user for the identity that lifts a refusal; returns `None` if there is no user to ask or no answer.
    pub ask: &'a dyn Fn(&Refusal) -> Option<String>,
}

impl Permission<'_> {
    /// Predicts what [`claim`](Self::claim) would find for each device, in the order of the plan. Creates and locks
    /// nothing.
    pub(super) fn look(&self, plan: &Plan) -> Vec<DeviceProspect> {
        (0..plan.device.count()).map(|at| self.look_at(plan, at)).collect()
    }

    fn look_at(&self, plan: &Plan, at: usize) -> DeviceProspect {
        match plan.device.all().nth(at) {
            Some(DeviceSource::Image(size)) => {
                let room = image_room(plan, size.0);
                let found = check_space(plan.device.folder.as_deref(), size.0, room);
                let refused = found.err().map(refused);
                DeviceProspect { size: Some(size.0), refused, ..DeviceProspect::default() }
            }
            Some(DeviceSource::Path(path)) => {
                match self.first_allowed(|identity| {
                    examine_device(&Root::default(), path, smallest(plan), identity)
                }) {
                    Ok(cleared) => {
                        DeviceProspect { size: Some(cleared.device().size), ..DeviceProspect::default() }
                    }
                    Err(refusal) => {
                        let device = BlockDevice::inspect(&Root::default(), path);
                        DeviceProspect {
                            size: device.ok().map(|device| device.size),
                            consent_is_missing: refusal.erase_identity().is_some(),
                            refused: Some(refused(refusal)),
                        }
                    }
                }
            }
            Some(DeviceSource::Model { size, .. }) => {
                let refused = self.claim_one(plan, at, None).err();
                DeviceProspect { size: Some(size.0), refused, ..DeviceProspect::default() }
            }
            Some(DeviceSource::Folders) | None => DeviceProspect::default(),
        }
    }

    /// Attaches the devices that the plan names.
    pub(super) fn claim(&self, plan: &Plan) -> Result<Attachments, SessionError> {
        self.claim_again(plan, None)
    }

    /// Like [`claim`](Self::claim), for a run that is resumed. A device that another program has written to
    /// (`foreign`: its number and a description of the write) must be confirmed again, whatever it holds now.
    pub(super) fn claim_again(
        &self,
        plan: &Plan,
        foreign: Option<&(usize, String)>,
    ) -> Result<Attachments, SessionError> {
        let told = |at: usize| foreign.filter(|(number, _)| *number == at + 1).map(|(_, told)| told.as_str());
        let further = (1..plan.device.count()).map(|at| self.claim_one(plan, at, told(at)));
        // The order matters: the first refusal is the one that is reported.
        let first = self.claim_one(plan, 0, told(0))?;
        Ok(Attachments::new(first, further.collect::<Result<_, _>>()?))
    }

    fn claim_one(&self, plan: &Plan, at: usize, foreign: Option<&str>) -> Result<Attachment, SessionError> {
        match plan.device.all().nth(at).unwrap_or(&plan.device.source) {
            DeviceSource::Image(size) => {
                let folder = scratch_folder(plan.device.folder.as_deref()).map_err(refused)?;
                // Checks now, and not in the first trial, that there is room and that the folder can be written to.
                let room = image_room(plan, size.0);
                create_image(&folder, size.0, room).map_err(refused)?;
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
                // As for an image, a failure shows now and not in the first trial.
                create_store(&folder).map_err(refused)?;
                Ok(Attachment::Modelled { model: names.join(", "), size: size.0, folder, traces: None })
            }
            DeviceSource::Folders => Ok(Attachment::Folders { facts: folders(plan) }),
            DeviceSource::Path(path) => {
                let needed = smallest(plan);
                let clear = |identity: Option<&str>| cleared(path, needed, identity, foreign);
                self.first_allowed(clear).or_else(|refusal| match (self.ask)(&refusal) {
                    Some(identity) => clear(Some(&identity)).map_err(refused),
                    None => Err(refused(refusal)),
                })
            }
        }
    }

    /// Tries the given identities in order and returns the first result that is not refused; each of several devices
    /// has its own identity.
    fn first_allowed<T>(&self, act: impl Fn(Option<&str>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let Some((first, others)) = self.erase.split_first() else { return act(None) };
        act(Some(first)).or_else(|refusal| others.iter().find_map(|one| act(Some(one)).ok()).ok_or(refusal))
    }
}

/// What a run would find at one of its devices.
#[derive(Debug, Default)]
pub struct DeviceProspect {
    /// The size in bytes; `None` if there is no such device or its size is unknown.
    pub size: Option<u64>,
    /// Why the run would refuse the device.
    pub refused: Option<SessionError>,
    /// Whether the device is refused only because its identity was not given, without which its content is not
    /// erased.
    pub consent_is_missing: bool,
}

/// The facts that record where the folders are and what they lie on.
fn folders(plan: &Plan) -> Facts {
    let mut facts = Facts::from([("device.kind".to_owned(), "folders of the user's".to_owned())]);
    for candidate in &plan.candidates {
        let Some(path) = &candidate.path else { continue };
        let on = lies_on(path).map_or(String::new(), |on| format!(", on {on}"));
        facts.insert(format!("folder.{}", candidate.name), format!("{}{on}", path.display()));
    }
    facts
}

fn cleared(
    path: &Path,
    needed: u64,
    erase: Option<&str>,
    foreign: Option<&str>,
) -> Result<Attachment, Refusal> {
    let mut cleared = examine_device(&Root::default(), path, needed, erase)?;
    if let (None, Some(told)) = (erase, foreign) {
        cleared = cleared.require_name(told)?;
    }
    let device = cleared.device();
    let mut facts = Facts::new();
    facts.insert("device.description".to_owned(), device.describe_for_people());
    // The identity comes from the hardware: the names of the device's content change with every mkfs.
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

/// The minimum device size in bytes over all candidates of the plan: what the most demanding one needs.
fn smallest(plan: &Plan) -> u64 {
    plan.candidates.iter().map(fsverdict_stack::layer::least_device).max().unwrap_or(0)
}
