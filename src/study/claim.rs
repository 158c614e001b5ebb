//! Attaches a run's devices: creates images and modelled devices, or claims the user's block devices, which may
//! require the user to confirm by identity that a device can be erased.

use std::path::Path;

use fsverdict_disk::device::{Device, Model};
use fsverdict_judgement::journal::Facts;
use fsverdict_judgement::plan::{DeviceSource, Plan, image_room, once_each};
use fsverdict_lab::lab::{Attachment, Attachments};
use fsverdict_linux::guard::{Refusal, grant_lease};
use fsverdict_linux::host::block_device::BlockDevice;
use fsverdict_linux::host::image::{check_space, create_image, create_store, scratch_folder};
use fsverdict_linux::host::limits::{LimitError, check_file_size_limit};
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
    /// No permission, and no user to ask.
    pub const NONE: Permission<'static> = Permission { erase: &[], ask: &|_| None };

    /// Predicts the outcome of [`claim_devices`](Self::claim_devices) for each device, in the order of the plan. Creates
    /// and locks nothing.
    pub(super) fn predict_devices(&self, plan: &Plan) -> Vec<DeviceProspect> {
        (0..plan.device.count()).map(|at| self.predict_device(plan, at)).collect()
    }

    fn predict_device(&self, plan: &Plan, at: usize) -> DeviceProspect {
        match plan.device.all_sources().nth(at) {
            Some(DeviceSource::Image(size)) => {
                let room = image_room(plan, size.0);
                let space_check = check_space(plan.device.folder.as_deref(), size.0, room);
                let refused = space_check.err().map(refusal_error);
                DeviceProspect { size: Some(size.0), refused, ..DeviceProspect::default() }
            }
            Some(DeviceSource::Path(path)) => {
                match self.first_allowed(|identity| {
                    grant_lease(&Root::default(), path, smallest_device(plan), identity)
                }) {
                    Ok(cleared) => {
                        DeviceProspect { size: Some(cleared.device().size), ..DeviceProspect::default() }
                    }
                    Err(refusal) => {
                        let device = BlockDevice::inspect(&Root::default(), path);
                        DeviceProspect {
                            size: device.ok().map(|device| device.size),
                            consent_is_missing: refusal.erase_identity().is_some(),
                            refused: Some(refusal_error(refusal)),
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
    ///
    /// # Errors
    /// Fails when a device may not be erased, or an image cannot be created.
    pub fn claim_devices(&self, plan: &Plan) -> Result<Attachments, SessionError> {
        self.claim_again(plan, None)
    }

    /// Like [`claim_devices`](Self::claim_devices), for a run that is resumed. A device that another program has written
    /// to (`foreign`: its number and a description of the write) must be confirmed again, even if it is blank now.
    pub(super) fn claim_again(
        &self,
        plan: &Plan,
        foreign: Option<&(usize, String)>,
    ) -> Result<Attachments, SessionError> {
        check_limits(plan)?;
        let foreign_at =
            |at: usize| foreign.filter(|(number, _)| *number == at + 1).map(|(_, write)| write.as_str());
        let further = (1..plan.device.count()).map(|at| self.claim_one(plan, at, foreign_at(at)));
        // The order matters: the first refusal is the one that is reported.
        let first = self.claim_one(plan, 0, foreign_at(0))?;
        Ok(Attachments::new(first, further.collect::<Result<_, _>>()?))
    }

    fn claim_one(&self, plan: &Plan, at: usize, foreign: Option<&str>) -> Result<Attachment, SessionError> {
        match plan.device.all_sources().nth(at).unwrap_or(&plan.device.source) {
            DeviceSource::Image(size) => {
                let folder = scratch_folder(plan.device.folder.as_deref()).map_err(refusal_error)?;
                // Checks now, and not in the first trial, that there is room and that the folder can be written to.
                let room = image_room(plan, size.0);
                create_image(&folder, size.0, room).map_err(refusal_error)?;
                Ok(Attachment::Image { folder, size: size.0, room })
            }
            DeviceSource::Model { size, .. } => {
                let of_candidates = plan.candidates.iter().map(|candidate| plan.models_of(candidate));
                let names = once_each(of_candidates.filter_map(|models| Some(models.get(at)?.name)));
                for name in &names {
                    Model::find(name)
                        .and_then(|model| Device::new(&model, size.0, 0).map(drop))
                        .map_err(refusal_error)?;
                }
                let folder = scratch_folder(plan.device.folder.as_deref()).map_err(refusal_error)?;
                // As for an image, a failure shows now and not in the first trial.
                create_store(&folder).map_err(refusal_error)?;
                Ok(Attachment::Modelled { model: names.join(", "), size: size.0, folder, traces: None })
            }
            DeviceSource::Folders => Ok(Attachment::Folders { facts: folder_facts(plan) }),
            DeviceSource::Path(path) => {
                let needed = smallest_device(plan);
                let clear = |identity: Option<&str>| clear_device(path, needed, identity, foreign);
                self.first_allowed(clear).or_else(|refusal| match (self.ask)(&refusal) {
                    Some(identity) => clear(Some(&identity)).map_err(refusal_error),
                    None => Err(refusal_error(refusal)),
                })
            }
        }
    }

    /// Tries the given identities in order and returns the first result that is not refused; each of several devices
    /// has its own identity.
    fn first_allowed<T>(&self, act: impl Fn(Option<&str>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let Some((first, others)) = self.erase.split_first() else { return act(None) };
        act(Some(first))
            .or_else(|refusal| others.iter().find_map(|identity| act(Some(identity)).ok()).ok_or(refusal))
    }
}

/// The predicted outcome of claiming one of the devices of a run.
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

/// The facts that record the paths of the folders and the filesystems that hold them.
fn folder_facts(plan: &Plan) -> Facts {
    let mut facts = Facts::from([("device.kind".to_owned(), "folders of the user's".to_owned())]);
    for candidate in &plan.candidates {
        let Some(path) = &candidate.path else { continue };
        let on = lies_on(path).map_or(String::new(), |on| format!(", on {on}"));
        facts.insert(format!("folder.{}", candidate.name), format!("{}{on}", path.display()));
    }
    facts
}

fn clear_device(
    path: &Path,
    needed: u64,
    erase: Option<&str>,
    foreign: Option<&str>,
) -> Result<Attachment, Refusal> {
    let mut cleared = grant_lease(&Root::default(), path, needed, erase)?;
    if let (None, Some(write)) = (erase, foreign) {
        cleared = cleared.require_name(write)?;
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

/// Checks the limit on file size (`ulimit -f`) before anything is created. The limit does not matter for folders and
/// devices, which are no files of this program.
pub(super) fn check_limits(plan: &Plan) -> Result<(), LimitError> {
    check_file_size_limit(match &plan.device.source {
        DeviceSource::Image(size) => size.0,
        DeviceSource::Model { size, .. } => size.0,
        DeviceSource::Path(_) | DeviceSource::Folders => 0,
    })
}

fn refusal_error(error: impl Hinted) -> SessionError {
    SessionError::Disk(error.reason())
}

/// The device size in bytes that all candidates of the plan accept: the largest of their minimum sizes.
fn smallest_device(plan: &Plan) -> u64 {
    plan.candidates.iter().map(fsverdict_stack::layer::least_device).max().unwrap_or(0)
}
