//! Whether the options of mkfs and mount are taken: tried before the first trial, in the lab of the run, on a scratch image of
//! their own with all of a trial but its phases. Options that nobody knows are no finding about a filesystem.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fsverdict_judgement::journal::{Event, Status};
use fsverdict_judgement::plan::{Candidate, DeviceSource, Environment, Plan};
use fsverdict_lab::lab::{Attachment, Attachments, Lab, choose_lab};
use fsverdict_lab::trial::TrialSpec;
use fsverdict_linux::host::image::scratch_folder;
use fsverdict_text::{Bytes, Reason};

/// As large as an image is at first: of a whole disk some mkfs write tables for minutes.
const SMALL: u64 = 1 << 30;
/// What an image is not larger than where the small one was refused: options may ask for more than there was.
const LARGE: u64 = 64 << 30;
/// Bytes that must be free for an image: what it takes is given back at once.
const ROOM: u64 = 1 << 20;
const LIMIT: Duration = Duration::from_secs(60);

/// What decides whether options are taken.
type StackOptions<'a> = (&'a str, &'a [String], &'a [String], Option<&'a PathBuf>);

pub(super) fn has_options(candidate: &Candidate) -> bool {
    candidate.path.is_none() && !(candidate.mkfs.is_empty() && candidate.mount.is_empty())
}

/// Those of these candidates whose options are refused in the lab, on a device of so many bytes. What cannot be tried is refused by
/// nobody.
pub(super) fn refusals<'a>(
    plan: &Plan,
    lab: &dyn Lab,
    size: Option<u64>,
    candidates: impl Iterator<Item = &'a Candidate>,
) -> Vec<(String, Reason)> {
    let mut known: BTreeMap<StackOptions<'a>, Option<Reason>> = BTreeMap::new();
    let mut refused = Vec::new();
    for candidate in candidates {
        if !has_options(candidate) {
            continue;
        }
        let stack: StackOptions<'a> =
            (&candidate.filesystem, &candidate.mkfs, &candidate.mount, candidate.under.kernel.as_ref());
        let found =
            known.entry(stack).or_insert_with(|| refusal(plan, lab, size.unwrap_or(SMALL), candidate));
        refused.extend(found.clone().map(|obstacle| (candidate.name.clone(), obstacle)));
    }
    refused
}

fn refusal(plan: &Plan, lab: &dyn Lab, size: u64, candidate: &Candidate) -> Option<Reason> {
    let least = fsverdict_stack::layer::least_device(candidate);
    let small = size.min(SMALL.max(least));
    let (step, said) = rehearse(plan, lab, small, candidate)?;
    let large = size.min(LARGE);
    if large > small && rehearse(plan, lab, large, candidate).as_ref() != Some(&(step.clone(), said.clone()))
    {
        return None;
    }
    let filesystem = &candidate.filesystem;
    let page =
        if step == "mkfs" { format!("mkfs.{filesystem}(8)") } else { format!("mount(8), {filesystem}(5)") };
    Some(Reason::new(
        format!("its options are refused, as tried on a scratch image: {step}: {}", said.trim()),
        format!("correct `{step}` of the candidate; {page} has what there is"),
    ))
}

/// The candidate with nothing that does not decide whether its options are taken.
fn options_alone(candidate: &Candidate) -> Candidate {
    let Environment { kernel, memory, .. } = candidate.under.clone();
    Candidate {
        name: candidate.name.clone(),
        mkfs: candidate.mkfs.clone(),
        mount: candidate.mount.clone(),
        under: Environment { kernel, memory, ..Environment::default() },
        ..Candidate::plain(&candidate.filesystem)
    }
}

/// The step that failed on an image of so many bytes, and what was said.
fn rehearse(plan: &Plan, lab: &dyn Lab, size: u64, candidate: &Candidate) -> Option<(String, String)> {
    let candidate = options_alone(candidate);
    let mut bare = plan.clone();
    bare.lab = lab.name().parse().ok()?;
    bare.device.replace(&[DeviceSource::Image(Bytes(size))]);
    bare.device.fails = None;
    bare.phases.clear();
    bare.datasets.clear();
    bare.candidates = vec![candidate.clone()];
    let lab = choose_lab(&bare, bare.lab).ok()?.lab;
    let folder = scratch_folder(plan.device.folder.as_deref()).ok()?;
    let bare_spec = TrialSpec::without_work(candidate, plan.protocol.seed, LIMIT);
    let spec = TrialSpec { devices: plan.device.count(), ..bare_spec };
    let mut last = String::new();
    let mut watch = |event| {
        if let Event::StepStarted { step } = event
            && step != fsverdict_judgement::journal::TEAR_DOWN
        {
            last = step;
        }
    };
    let image = || Attachment::Image { folder: folder.clone(), size, room: ROOM };
    let further = (1..plan.device.count()).map(|_| image()).collect();
    let end = lab.run_trial(&spec, &Attachments::new(image(), further), 0, &mut watch).ok()?;
    let refused = end.status == Status::Failed && !end.killed && ["mkfs", "mount"].contains(&last.as_str());
    refused.then(|| (last, without_device(&end.reason)))
}

/// The words, with the device called as a dry run calls it: its name is another each time.
fn without_device(said: &str) -> String {
    let words = said.split(' ').map(|word| match word.find("/dev/") {
        Some(at) => {
            let end = word[at + 5..]
                .find(|letter: char| !letter.is_ascii_alphanumeric())
                .map_or(word.len(), |end| at + 5 + end);
            format!("{}$DEVICE{}", &word[..at], &word[end..])
        }
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}
