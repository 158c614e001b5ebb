//! The candidates of a question's plan: those that it is about, less those that lack what is required; and those that are
//! left out, with the reasons.

use fsverdict_judgement::plan::{Candidate, DeviceSource, Layers, Plan, RequiredProperty, once_each};
use fsverdict_report::listing;
use fsverdict_stack::filesystem::{Filesystem, find_filesystem, registry};
use fsverdict_stack::layer::has_property;
use fsverdict_text::{Reason, join_names};

use crate::study::find_missing_ability;

use super::super::guarantees::{is_disk, is_on_disk};
use super::candidate_forms::{is_encrypted, vary_candidates};
use super::features::{Feature, Wish};
use super::question::Question;

/// Names of candidates that are listed.
pub(super) const MOST_NAMES: usize = 12;
/// Why candidates are not tried.
const ENCRYPTED: &str =
    "encryption was not asked for (`encrypted` asks for it, `with and without encryption` compares)";
const FOR_FLASH: &str = "designed for flash, and a trial does not show how files are scattered on a disk over time (name it to try it)";
const WEAKENED: &str = "a protection was taken away from them, to show what it is worth (`fsverdict run` with the preset tries them)";

/// The release of the kernel that this program runs on, as `uname -r` prints it.
pub(super) fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Why a kernel of this release cannot mount a filesystem, if so.
pub(super) fn missing_driver(filesystem: &Filesystem, release: &str) -> Option<String> {
    let why = filesystem.missing_in(release)?;
    Some(format!("{why}, and this machine runs {release}"))
}

/// Removes these candidates, and returns their names.
fn take(candidates: &mut Vec<Candidate>, is_taken: impl Fn(&Candidate) -> bool) -> Vec<String> {
    candidates.extract_if(.., |candidate| is_taken(candidate)).map(|candidate| candidate.name).collect()
}

/// The candidates that are tried for a question, of those of its plan and those that it names; and for the user the names of
/// those of the plan that are not, each group with the reason.
///
/// # Errors
/// Fails if a candidate cannot have a feature, or nothing is left to compare.
pub(super) fn choose_candidates(
    question: &Question,
    plan: &Plan,
) -> Result<(Vec<Candidate>, Vec<String>), Reason> {
    let parsed = &question.parsed;
    let is_excluded =
        |entry: &Candidate| parsed.excluded.iter().any(|other| other.value.name == entry.filesystem);
    let is_compared = parsed.has_wish(Wish::Compared);
    let (mut weakened, mut encrypted, mut unable_to_compare) = (Vec::new(), Vec::new(), Vec::new());
    let mut candidates = plan.candidates.clone();
    if question.device.is_some() {
        // Models that candidates are tried on one after the other give way to the one device that was named.
        candidates =
            candidates.iter().map(|entry| entry.with_change(|entry| entry.under.model = None)).collect();
    }
    // A question that compares candidates with and without something is asked of weakened ones, too.
    if let Some(work) = question.preset().filter(|_| !is_compared) {
        weakened = take(&mut candidates, |entry| work.ask.weakened.contains(&entry.name));
    }
    let release = kernel_release();
    let missing = |entry: &Candidate| {
        let unnamed = find_filesystem(&entry.filesystem).filter(|_| !question.names_filesystem(entry));
        missing_driver(unnamed?, &release)
    };
    let without_driver = once_each(candidates.iter().filter_map(missing));
    candidates.retain(|entry| missing(entry).is_none());
    let is_unencrypted = parsed.asks(Wish::Absent, Feature::ENCRYPTION);
    if is_unencrypted {
        candidates.retain(|entry| !is_encrypted(entry));
    } else if !question.mentions_encryption() {
        encrypted = take(&mut candidates, is_encrypted);
    }
    let before = candidates.clone();
    candidates = vary_candidates(&candidates, question)?;
    let is_named_on_layer = |entry: &Candidate| {
        let mut named = parsed.candidates.iter().map(|named| &named.value);
        named.any(|named| named.filesystem.name == entry.filesystem && !named.layers.is_empty())
    };
    if is_unencrypted && candidates.iter().any(|entry| is_encrypted(entry) && is_named_on_layer(entry)) {
        let what = "a candidate on LUKS is named, and encryption is excluded";
        return Err(Reason::new(what, "leave out one of both"));
    }
    if is_compared && parsed.candidates.is_empty() {
        let is_left =
            |entry: &&Candidate| candidates.iter().any(|other| other.filesystem == entry.filesystem);
        let gone = before.iter().filter(|entry| !is_left(entry) && !is_excluded(entry));
        unable_to_compare = gone.map(|entry| entry.name.clone()).collect();
    }
    if !parsed.excluded.is_empty() && candidates.len() < 2 && !is_compared {
        let excluded: Vec<&str> = parsed.excluded.iter().map(|entry| entry.value.name).collect();
        let left = candidates.first().map_or("none", |entry| entry.name.as_str());
        return Err(Reason::new(
            format!(
                "without {} there is nothing to compare in `{}` ({left} left)",
                excluded.join(", "),
                question.name()
            ),
            "name the filesystems to compare: `ask 'ext4 or xfs for mail'`",
        ));
    }
    let must = question.properties();
    let has_all = |candidate: &Candidate| must.iter().all(|property| has_property(candidate, *property));
    let (mut able, unable): (Vec<Candidate>, Vec<Candidate>) = candidates.into_iter().partition(has_all);
    refuse_one_sided(question, &able, &unable)?;
    if able.is_empty() && parsed.candidates.is_empty() {
        able = registry_with(&must);
        able.retain(|entry| !is_excluded(entry) && missing(entry).is_none());
        // Candidates that the plan does not list may be unable to do its work.
        let reason = able.iter().find_map(|entry| find_missing_ability(plan, entry));
        able.retain(|entry| find_missing_ability(plan, entry).is_none());
        if let (true, Some(reason)) = (able.is_empty(), reason) {
            return Err(reason.after(format!("`{}` cannot be asked so: ", question.name())));
        }
    }
    if able.is_empty() {
        let words: Vec<&str> = must.iter().map(|property| property.word()).collect();
        let of_what = if parsed.candidates.is_empty() { "filesystem" } else { "candidate that is named" };
        return Err(Reason::new(
            format!("no {of_what} has all of this: {}", words.join(", ")),
            format!("ask for less of it; {}", filesystems_by_property(&must)),
        ));
    }
    let for_flash = take_those_for_flash(question, plan, &mut able);
    let is_lacked =
        |property: &&RequiredProperty| unable.iter().any(|entry| !has_property(entry, **property));
    let lacked: Vec<&str> = must.iter().filter(is_lacked).map(|property| property.word()).collect();
    let unable = [unable_to_compare, unable.into_iter().map(|entry| entry.name).collect()].concat();
    let lack = match (lacked.is_empty(), unable.len()) {
        (true, _) => "they lack what is required or compared".to_owned(),
        (false, 1) => format!("it lacks what is required ({})", lacked.join(", ")),
        (false, _) => format!("they lack what is required ({})", lacked.join(", ")),
    };
    let groups =
        [(unable, lack.as_str()), (encrypted, ENCRYPTED), (for_flash, FOR_FLASH), (weakened, WEAKENED)];
    let groups = groups.into_iter().filter(|(names, _)| !names.is_empty());
    let described = groups.map(|(names, why)| format!("{}: {why}", join_names(&names, MOST_NAMES, "and")));
    Ok((able, described.chain(without_driver).collect()))
}

/// Of the filesystems that were named, all but one lack a required property: there is nothing left to compare.
fn refuse_one_sided(question: &Question, able: &[Candidate], unable: &[Candidate]) -> Result<(), Reason> {
    let named = |all: &[Candidate]| {
        let of_those = all.iter().filter(|candidate| question.names_filesystem(candidate));
        once_each(of_those.map(|candidate| candidate.filesystem.clone()))
    };
    let (left, mut lacking) = (named(able), named(unable));
    lacking.retain(|candidate| !left.contains(candidate));
    let ([only], [_, ..], [_]) = (left.as_slice(), lacking.as_slice(), able) else { return Ok(()) };
    let required = question.parsed.wished(Wish::Required);
    let words: Vec<&str> = required.map(|candidate| candidate.words.as_str()).collect();
    let must: Vec<&str> = question.properties().iter().map(|property| property.word()).collect();
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
    let is_on_disk = |candidate: &Candidate| match question.device.as_ref().map(|asked| &asked.source) {
        Some(DeviceSource::Model { name, .. }) => is_disk(name),
        Some(_) => false,
        None => is_on_disk(plan, candidate),
    };
    let is_taken = |candidate: &Candidate| {
        let known = find_filesystem(&candidate.filesystem);
        known.is_some_and(|known| !known.facts.drawback_on_disks.is_empty())
            && is_on_disk(candidate)
            && !question.names_filesystem(candidate)
    };
    let left = candidates.iter().filter(|candidate| !is_taken(candidate)).count();
    if left < 2 || plan.faults.is_some() || !question.faults.is_empty() {
        return Vec::new();
    }
    take(candidates, is_taken)
}

/// Which filesystems have each of these.
fn filesystems_by_property(must: &[RequiredProperty]) -> String {
    let of = |property: &RequiredProperty| {
        let able = registry_with(std::slice::from_ref(property));
        let names: Vec<&str> = able.iter().map(|candidate| candidate.name.as_str()).collect();
        format!("{}: {}", property.word(), listing(&names, 20))
    };
    must.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// All filesystems with the required properties, for plans that name none of them.
fn registry_with(must: &[RequiredProperty]) -> Vec<Candidate> {
    let luks = Layers::from_names(["luks2"]).unwrap_or_default();
    let plain = registry().iter().map(|known| Candidate::with_defaults(known.name));
    let must_encrypt = must.contains(&RequiredProperty::Encryption);
    let all =
        plain.map(|candidate| if must_encrypt { candidate.with_layers(luks.clone()) } else { candidate });
    all.filter(|candidate| must.iter().all(|property| has_property(candidate, *property))).collect()
}
