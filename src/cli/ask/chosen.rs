//! The candidates that a question chooses among those of a plan, or adds to them: by name, with options, with and without a feature.

use fsverdict_judgement::plan::{Candidate, Layers, RequiredProperty, once_each, split_layer};
use fsverdict_report::listing;
use fsverdict_stack::filesystem::{self, Choice};
use fsverdict_stack::layer::{has_property, keeps_default_safety};
use fsverdict_text::Reason;

use super::features::{Feature, HeardOptions};
use super::heard_candidates::{HeardCandidate, HeardCandidates};
use super::sentence::Said;

/// The candidates that are left of those that were named, with their options, without those that were excluded.
pub(super) fn chosen(
    mut candidates: Vec<Candidate>,
    heard: &HeardCandidates,
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    if heard.named.iter().any(|said| !said.value.options.is_empty()) {
        candidates = with_options(&candidates, heard, name)?;
    } else if !heard.named.is_empty() {
        let named: Vec<&str> = heard.named.iter().map(|said| said.value.filesystem.name).collect();
        candidates = those_named(&candidates, &named, &heard.layers, name)?;
    }
    // One that is compared with itself needs no others beside it.
    if !heard.compared.is_empty() && !heard.named.is_empty() {
        candidates.retain(|one| heard.named.iter().any(|said| said.value.filesystem.name == one.filesystem));
    }
    let variants: Vec<&HeardOptions> = heard.options.iter().map(|said| &said.value).collect();
    if !variants.is_empty() {
        candidates = in_variants(&candidates, &variants, name)?;
    }
    if heard.excluded.is_empty() {
        return Ok(candidates);
    }
    candidates.retain(|one| !heard.excluded.iter().any(|said| said.value == one.filesystem));
    if candidates.len() < 2 && heard.compared.is_empty() {
        let left: Vec<&str> = candidates.iter().map(|one| one.name.as_str()).collect();
        let excluded: Vec<&str> = heard.excluded.iter().map(|said| said.value).collect();
        return Err(Reason::new(
            format!(
                "without {} there is nothing to compare in `{name}` ({} left)",
                excluded.join(", "),
                if left.is_empty() { "none".to_owned() } else { left.join(", ") }
            ),
            "name the filesystems to compare: `ask 'ext4 or xfs for mail'`",
        ));
    }
    Ok(candidates)
}

/// The candidates on the filesystems that were named, and those that the plan has none of, as they are made by default. One alone is put
/// beside the plan's: it has to be better than something. A candidate that gave up what another of its filesystem has, such as a journal,
/// is none that was named.
fn those_named(
    candidates: &[Candidate],
    named: &[&str],
    layers: &[Said<&str>],
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    let has = |filesystem: &str| candidates.iter().any(|one| one.filesystem == filesystem);
    let new: Vec<Candidate> =
        named.iter().filter(|one| !has(one)).map(|one| Candidate::with_defaults(one)).collect();
    if let (Some(first), true) = (new.first(), candidates.iter().all(|one| !one.layers.is_empty())) {
        return Err(only_layered(&first.filesystem, name));
    }
    let is_on_layer = |one: &Candidate| {
        one.layers.names().any(|name| layers.iter().any(|layer| name.starts_with(layer.value)))
    };
    let is_named = |one: &Candidate| {
        named.len() + layers.len() < 2 || named.contains(&one.filesystem.as_str()) || is_on_layer(one)
    };
    let gave_up = |one: &Candidate| {
        named.contains(&one.filesystem.as_str())
            && !keeps_default_safety(one)
            && candidates
                .iter()
                .any(|other| other.filesystem == one.filesystem && keeps_default_safety(other))
    };
    let wanted: Vec<Candidate> =
        candidates.iter().filter(|one| is_named(one) && !gave_up(one)).cloned().collect();
    Ok(wanted.into_iter().chain(new).collect())
}

/// Each filesystem that was named, with its options; one alone is put beside the plan's candidates.
fn with_options(
    candidates: &[Candidate],
    heard: &HeardCandidates,
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    let mut all = Vec::new();
    for said in &heard.named {
        let HeardCandidate { filesystem, options } = &said.value;
        let of_it = || candidates.iter().filter(|one| one.filesystem == filesystem.name);
        let layered = candidates.iter().all(|one| !one.layers.is_empty());
        let base = match of_it().find(|one| one.mkfs.is_empty() && one.mount.is_empty()) {
            Some(plain) => plain.clone(),
            None if layered => return Err(only_layered(filesystem.name, name)),
            None => Candidate::with_defaults(filesystem.name),
        };
        all.push(given(&base, options));
    }
    let kept = if heard.named.len() == 1 { candidates } else { &[] };
    Ok(all.into_iter().chain(kept.iter().cloned()).collect())
}

fn only_layered(filesystem: &str, name: &str) -> Reason {
    Reason::new(
        format!("no candidate of `{name}` is on {filesystem}, and all have layers of their own"),
        format!("`fsverdict show {name} > mine.toml` begins a plan of your own, with candidates of yours"),
    )
}

/// The same with these options, which its name says.
fn given(candidate: &Candidate, options: &HeardOptions) -> Candidate {
    let add = |words: &mut Vec<String>, more: &[String]| {
        if !more.is_empty() && !words.ends_with(more) {
            words.extend(more.iter().cloned());
        }
    };
    candidate.with_change(|one| {
        add(&mut one.mkfs, &options.mkfs);
        add(&mut one.mount, &options.mount);
    })
}

/// Every candidate in each of these variants that its filesystem has; as it is where it has none.
fn in_variants(
    candidates: &[Candidate],
    variants: &[&HeardOptions],
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    let of = |candidate: &Candidate| -> Vec<Candidate> {
        let known = filesystem::find_filesystem(&candidate.filesystem);
        let has = |variant: &&&HeardOptions| known.is_some_and(|known| variant.are_of(known));
        variants.iter().filter(has).map(|variant| given(candidate, variant)).collect()
    };
    let varied: Vec<Vec<Candidate>> = candidates.iter().map(of).collect();
    if varied.iter().all(Vec::is_empty) {
        let words: Vec<String> = variants.iter().map(|variant| variant.shown()).collect();
        return Err(Reason::new(
            format!("no filesystem of `{name}` has the option {}", words.join(", ")),
            "name the filesystem that has it: `ask 'btrfs compress=zstd or ext4 for mail'`",
        ));
    }
    let either = varied.into_iter().zip(candidates).flat_map(|(varied, plain)| match varied.is_empty() {
        true => vec![plain.clone()],
        false => varied,
    });
    Ok(either.collect())
}

/// Each candidate that can be had with a feature and without it, both ways.
pub(super) fn with_and_without(
    candidates: &[Candidate],
    feature: Feature,
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    let Some(choice) = feature.choice() else {
        let is_encrypted = |one: &&Candidate| has_property(one, RequiredProperty::Encryption);
        let plain = candidates.iter().filter(|one| !is_encrypted(one)).cloned();
        return Ok(plain.chain(encrypted(candidates, name)?).collect());
    };
    let compared: Vec<Candidate> =
        candidates.iter().flat_map(|one| both_ways(one, choice, candidates)).collect();
    if compared.is_empty() {
        return Err(Reason::new(
            format!(
                "no candidate of `{name}` can be had both with {word} and without",
                word = feature.word()
            ),
            "name the filesystem that can: compression is btrfs', a journal can be left out of ext4",
        ));
    }
    Ok(compared)
}

/// A candidate with the choice and without it; by itself where it, or another of its filesystem, makes the choice already. Nothing of
/// one that has other options than the usual candidate of its filesystem, which may rule the choice out.
fn both_ways(candidate: &Candidate, choice: Choice, all: &[Candidate]) -> Vec<Candidate> {
    let made = filesystem::find_filesystem(&candidate.filesystem).and_then(|known| {
        let made = known.options_for(choice, true).or_else(|| known.options_for(choice, false))?;
        HeardOptions::that_choose(choice, made.gives, Some(known))
    });
    let Some(options) = made else { return Vec::new() };
    let is_usual = |one: &Candidate| one.mkfs.is_empty() && one.mount.is_empty();
    let is_sibling =
        |one: &&Candidate| one.filesystem == candidate.filesystem && one.layers == candidate.layers;
    let mut siblings = all.iter().filter(is_sibling);
    let has_usual = siblings.clone().any(is_usual);
    if chooses(candidate, &options) {
        return if has_usual { vec![candidate.clone()] } else { Vec::new() };
    }
    if has_usual && !is_usual(candidate) {
        return Vec::new();
    }
    match siblings.any(|one| chooses(one, &options)) {
        true => vec![candidate.clone()],
        false => vec![candidate.clone(), given(candidate, &options)],
    }
}

/// Whether a candidate has an option that makes the same choice as these, either way: `compress=lzo` for `compress=zstd`.
fn chooses(candidate: &Candidate, options: &HeardOptions) -> bool {
    let key = |item: &str| -> String {
        let name = item.split(['=', ':']).next().unwrap_or(item);
        name.trim_start_matches('^').to_owned()
    };
    let keys = |words: &[String]| -> Vec<String> {
        let items = words.iter().filter(|word| !word.starts_with('-')).flat_map(|word| word.split(','));
        items.map(key).collect()
    };
    let own = [keys(&candidate.mkfs), keys(&candidate.mount)].concat();
    [keys(&options.mkfs), keys(&options.mount)].concat().iter().any(|chosen| own.contains(chosen))
}

/// Each on LUKS: those that say so themselves as they are, all that have nothing below them with it.
pub(super) fn encrypted(candidates: &[Candidate], name: &str) -> Result<Vec<Candidate>, Reason> {
    let is_encrypted = |one: &Candidate| has_property(one, RequiredProperty::Encryption);
    let layered = |one: &&Candidate| !one.layers.is_empty();
    // The place of LUKS among layers of another kind depends on their purpose, which is not known here.
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
    let luks = Layers::from_names(["luks2"])?;
    let on_luks = |one: &Candidate| match one.layers.is_empty() {
        true => one.with_layers(luks.clone()),
        false => one.clone(),
    };
    Ok(candidates.iter().map(on_luks).filter(is_encrypted).collect())
}
