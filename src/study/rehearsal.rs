//! Tries the options of mkfs and mount before the first trial, in the lab of the run, on a scratch image, with all steps of
//! a trial except its phases. A candidate with unknown options is skipped: its failure would say nothing about the
//! filesystem.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fsverdict_judgement::journal::{Event, Status};
use fsverdict_judgement::plan::{Candidate, DeviceSource, Environment, Plan};
use fsverdict_lab::lab::{Attachment, Attachments, Lab, choose_lab};
use fsverdict_lab::trial::TrialSpec;
use fsverdict_linux::host::image::scratch_folder;
use fsverdict_text::{Bytes, Reason};

/// The initial size of an image in bytes: on a whole disk, some mkfs write tables for minutes.
const SMALL: u64 = 1 << 30;
/// The maximum size in bytes of the second image, which is tried when the small one was refused: options may need more
/// space than the small one has.
const LARGE: u64 = 64 << 30;
/// Bytes that must be free for an image. The image is sparse and removed at once.
const ROOM: u64 = 1 << 20;
const LIMIT: Duration = Duration::from_secs(60);

/// The parts of a candidate that decide whether its options are accepted: filesystem, mkfs options, mount options and
/// kernel.
type StackOptions<'a> = (&'a str, &'a [String], &'a [String], Option<&'a PathBuf>);

/// Whether the candidate has options of mkfs or mount, which can be tried on an image.
pub fn has_options(candidate: &Candidate) -> bool {
    candidate.path.is_none() && !(candidate.mkfs.is_empty() && candidate.mount.is_empty())
}

/// The candidates with options that are refused in the lab on a device of this size, each with the reason. Options that
/// cannot be tried do not count as refused.
pub(super) fn find_refused_options<'a>(
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
        let refusal =
            known.entry(stack).or_insert_with(|| find_refusal(plan, lab, size.unwrap_or(SMALL), candidate));
        refused.extend(refusal.clone().map(|obstacle| (candidate.name.clone(), obstacle)));
    }
    refused
}

fn find_refusal(plan: &Plan, lab: &dyn Lab, size: u64, candidate: &Candidate) -> Option<Reason> {
    let least = fsverdict_stack::layer::least_device(candidate);
    let small = size.min(SMALL.max(least));
    let (step, message) = try_on_image(plan, lab, small, candidate)?;
    let large = size.min(LARGE);
    if large > small
        && try_on_image(plan, lab, large, candidate).as_ref() != Some(&(step.clone(), message.clone()))
    {
        return None;
    }
    let filesystem = &candidate.filesystem;
    let page =
        if step == "mkfs" { format!("mkfs.{filesystem}(8)") } else { format!("mount(8), {filesystem}(5)") };
    Some(Reason::new(
        format!("its options are refused, as tried on a scratch image: {step}: {}", message.trim()),
        format!("correct `{step}` of the candidate; {page} has what there is"),
    ))
}

/// The candidate reduced to the parts that decide whether its options are accepted.
fn options_alone(candidate: &Candidate) -> Candidate {
    let Environment { kernel, memory, .. } = candidate.under.clone();
    Candidate {
        name: candidate.name.clone(),
        mkfs: candidate.mkfs.clone(),
        mount: candidate.mount.clone(),
        under: Environment { kernel, memory, ..Environment::default() },
        ..Candidate::with_defaults(&candidate.filesystem)
    }
}

/// Tries the candidate's options on an image of this size. Returns the step that failed and its message.
fn try_on_image(plan: &Plan, lab: &dyn Lab, size: u64, candidate: &Candidate) -> Option<(String, String)> {
    let candidate = options_alone(candidate);
    let mut bare = plan.clone();
    bare.lab = lab.name().parse().ok()?;
    bare.device.replace_sources(&[DeviceSource::Image(Bytes(size))]);
    // An image is in real time, in which computation has no price.
    bare.cpu = None;
    bare.device.fails = None;
    bare.phases.clear();
    bare.datasets.clear();
    bare.candidates = vec![candidate.clone()];
    let lab = choose_lab(&bare, bare.lab).ok()?.lab;
    let folder = scratch_folder(plan.device.folder.as_deref()).ok()?;
    let bare_spec = TrialSpec::without_work(candidate, plan.protocol.seed, LIMIT);
    let spec = TrialSpec { devices: plan.device.count(), ..bare_spec };
    let (mut last, mut mounted) = (String::new(), String::new());
    let mut watch = |event| match event {
        Event::StepStarted { step } if step != fsverdict_judgement::journal::TEAR_DOWN => last = step,
        Event::Facts { facts, .. } => {
            mounted.extend(facts.get("mount.filesystem_options").cloned());
        }
        _ => {}
    };
    let image = || Attachment::Image { folder: folder.clone(), size, room: ROOM };
    let further = (1..plan.device.count()).map(|_| image()).collect();
    let end = lab.run_trial(&spec, &Attachments::new(image(), further), 0, &mut watch).ok()?;
    let refused = end.status == Status::Failed && !end.killed && ["mkfs", "mount"].contains(&last.as_str());
    match refused {
        true => Some((last, without_device(&end.reason))),
        false => {
            find_replaced_value(&spec.candidate.mount, &mounted).map(|message| ("mount".to_owned(), message))
        }
    }
}

/// A number out of range that the kernel replaced without an error: `compress=zstd:99` becomes `compress=zstd:15`.
fn find_replaced_value(wanted: &[String], mounted: &str) -> Option<String> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    let wanted = wanted.iter().flat_map(|options| options.split(','));
    wanted.filter_map(|option| option.rsplit_once(['=', ':']).map(|parts| (option, parts))).find_map(
        |(option, (name, value))| {
            let with_name = mounted.split(',').find_map(|found| {
                let (own, other) = found.rsplit_once(['=', ':'])?;
                (own == name).then_some((found, other))
            });
            let (found, other) = with_name?;
            let is_replaced = number(value)? != number(other)?;
            is_replaced.then(|| format!("the kernel takes `{found}` instead of `{option}`"))
        },
    )
}

/// The message with the device named as in a dry run, because its name differs each time.
fn without_device(message: &str) -> String {
    let words = message.split(' ').map(|word| match word.find("/dev/") {
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

#[cfg(test)]
mod tests {
    use super::find_replaced_value;

    #[test]
    fn a_number_that_the_kernel_replaced_is_found_and_a_default_or_a_unit_is_none() {
        let mounted = "rw,compress=zstd:15,commit=30,logbsize=256k,max_inline=2048,data=ordered";
        for (wanted, found) in [
            ("compress=zstd:99", Some("the kernel takes `compress=zstd:15` instead of `compress=zstd:99`")),
            (
                "noatime,max_inline=90000",
                Some("the kernel takes `max_inline=2048` instead of `max_inline=90000`"),
            ),
            ("compress=zstd:15", None),
            ("compress=zstd", None),
            ("commit=0", None),
            ("logbsize=262144", None),
            ("data=ordered", None),
            ("nodatacow", None),
        ] {
            assert_eq!(find_replaced_value(&[wanted.to_owned()], mounted).as_deref(), found, "{wanted}");
        }
    }
}
