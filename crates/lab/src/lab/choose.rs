//! Which lab: the plan's, or the first that may and can run every candidate.

use std::io::ErrorKind;

use fsverdict_folders::{open_through_links_of, own_users};
use fsverdict_judgement::plan::{Candidate, Dataset, DeviceSource, LabChoice, Plan};
use fsverdict_text::Reason;

use super::native::{self, Native};
use super::{Intent, LABS, Lab, LabError, uml};

pub struct ChosenLab {
    pub lab: Box<dyn Lab>,
    pub reason: String,
    /// How many trials are under way at once.
    pub jobs: usize,
}

impl ChosenLab {
    fn new(lab: Box<dyn Lab>, reason: String) -> Self {
        ChosenLab { lab, reason, jobs: 1 }
    }

    /// The same choice with this number of trials at once; by default as many as the machine has room for.
    pub fn with_jobs(self, asked: Option<usize>) -> Result<Self, LabError> {
        let jobs = match (self.lab.side_by_side(), asked) {
            (None, Some(asked)) if asked > 1 => return Err(LabError::OneByOne { asked }),
            (Some(room), Some(asked)) if asked > room => return Err(LabError::TooManyJobs { asked, room }),
            (room, asked) => asked.or(room).unwrap_or(1),
        };
        Ok(ChosenLab { jobs, ..self })
    }
}

/// Takes this lab for the plan, as a rule the one it asks for; with `auto`, native where it may and can run every candidate,
/// else uml; where neither can run all, the one that can run more.
pub fn choose_lab(plan: &Plan, lab: LabChoice) -> Result<ChosenLab, LabError> {
    let chosen = choose_for(plan, lab, Intent::Run)?;
    chosen.lab.compile_missing()?;
    Ok(chosen)
}

fn choose_for(plan: &Plan, lab: LabChoice, intent: Intent) -> Result<ChosenLab, LabError> {
    check_links(plan)?;
    match LABS.iter().find(|entry| entry.choice == lab) {
        Some(entry) => Ok(ChosenLab::new(entry.prepare_lab(plan, intent)?, "asked for".to_owned())),
        None => choose_freely(plan, intent),
    }
}

/// As [`choose_lab`] with the plan's lab, but only to look: the native lab is described even if it lacks nothing but
/// root.
///
/// # Errors
/// As [`choose_lab`], for every other reason.
pub fn choose_to_look(plan: &Plan) -> Result<(ChosenLab, Option<LabError>), LabError> {
    match choose_for(plan, plan.lab, Intent::Look) {
        Err(lacks @ LabError::NotRoot) => {
            let lab = Box::new(Native::describe_only(plan)?);
            Ok((ChosenLab::new(lab, "what root would be given".to_owned()), Some(lacks)))
        }
        other => other.map(|choice| (choice, None)),
    }
}

/// A lab by name, or why it cannot be used here.
pub type Candidacy = (&'static str, Result<Box<dyn Lab>, LabError>);

/// Every lab with its status on this machine, for `doctor`.
pub fn list_candidacies(plan: &Plan) -> Vec<Candidacy> {
    LABS.iter().map(|entry| (entry.name(), entry.prepare_lab(plan, Intent::Look))).collect()
}

/// Makes sure that no link of another user leads to a folder of the plan: its owner may change where it leads to, before
/// each trial.
fn check_links(plan: &Plan) -> Result<(), LabError> {
    let folders = plan.datasets.values().filter_map(|dataset| match dataset {
        Dataset::Folder { path, .. } => Some(path),
        _ => None,
    });
    let places = plan.candidates.iter().filter_map(|candidate| candidate.path.as_ref());
    let owners = own_users();
    for path in folders.chain(places).chain(&plan.reads) {
        match open_through_links_of(Some(&owners), path) {
            // The reader of the folder reports every other error.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() => {
                let what = format!("cannot use {}: {error}", path.display());
                let hint = "name the folder itself, by a path without links of other users";
                return Err(LabError::Given(Reason::new(what, hint)));
            }
            _ => {}
        }
    }
    Ok(())
}

fn choose_freely(plan: &Plan, intent: Intent) -> Result<ChosenLab, LabError> {
    if plan.device.source == DeviceSource::Folders {
        return Ok(ChosenLab::new(
            native::ENTRY.prepare_lab(plan, intent)?,
            "folders are this machine's".to_owned(),
        ));
    }
    let (native, uml) = match (native::ENTRY.prepare_lab(plan, intent), uml::ENTRY.prepare_lab(plan, intent))
    {
        (Ok(native), Ok(uml)) => (native, uml),
        (Ok(lab), Err(why)) => {
            return Ok(ChosenLab::new(lab, format!("uml cannot be used: {}", first_line(&why))));
        }
        (Err(why), Ok(lab)) => {
            return Ok(ChosenLab::new(lab, format!("native cannot be used: {}", first_line(&why))));
        }
        (Err(why), Err(_)) if plan.wants_guest().is_none() => return Err(why),
        (Err(_), Err(why)) => return Err(why),
    };
    if let Some(key) = plan.wants_guest() {
        return Ok(ChosenLab::new(uml, format!("the plan names a {key}")));
    }
    let can = |lab: &dyn Lab| plan.candidates.iter().filter(|c| lab.find_obstacle(c).is_none()).count();
    let (natively, in_uml) = (can(native.as_ref()), can(uml.as_ref()));
    Ok(if natively == plan.candidates.len() {
        ChosenLab::new(native, "root, and this kernel can run every candidate".to_owned())
    } else if in_uml > natively {
        let lacking = describe_missing(&plan.candidates, native.as_ref());
        ChosenLab::new(
            uml,
            format!("this machine's kernel cannot run {lacking}; --lab native tries the others on it"),
        )
    } else {
        let lacking = describe_missing(&plan.candidates, native.as_ref());
        ChosenLab::new(native, format!("no lab here can run {lacking}"))
    })
}

fn describe_missing(candidates: &[Candidate], lab: &dyn Lab) -> String {
    let names: Vec<&str> =
        candidates.iter().filter(|c| lab.find_obstacle(c).is_some()).map(|c| c.name.as_str()).collect();
    match names.as_slice() {
        [first, second, third, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        few => few.join(", "),
    }
}

fn first_line(error: &LabError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
