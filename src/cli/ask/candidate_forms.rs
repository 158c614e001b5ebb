//! The forms of candidates that a question asks for: those that it names, or the preset's, with options, with and without
//! features.

use fsverdict_judgement::plan::{Candidate, Layers, RequiredProperty, once_each, split_layer};
use fsverdict_report::listing;
use fsverdict_stack::filesystem::find_filesystem;
use fsverdict_stack::layer::has_property;
use fsverdict_text::Reason;

use super::features::{Feature, Wish};
use super::options::{OptionSet, parse_all};
use super::parsed::{NamedCandidate, Worded};
use super::question::Question;

pub(super) fn is_encrypted(candidate: &Candidate) -> bool {
    has_property(candidate, RequiredProperty::Encryption)
}

/// Whether a candidate has the options that its filesystem has by default.
fn is_usual(candidate: &Candidate) -> bool {
    candidate.mkfs.is_empty() && candidate.mount.is_empty()
}

/// The candidates that a question is about, of these of its preset, before requirements are looked at.
pub(super) fn vary_candidates(preset: &[Candidate], question: &Question) -> Result<Vec<Candidate>, Reason> {
    let parsed = &question.parsed;
    let name = question.name();
    let mut candidates = Vec::new();
    for candidate in &parsed.candidates {
        candidates.extend(resolve_named(preset, &candidate.value, name)?);
    }
    // One that is named alone is tried beside the preset's: it has to be better than something.
    let is_compared = parsed.has_wish(Wish::Compared)
        || parsed.variants.len() > 1
        || parsed.wished(Wish::Absent).any(|candidate| candidate.feature.choice.is_some());
    if parsed.candidates.is_empty() || parsed.candidates.len() == 1 && !is_compared {
        candidates.extend(preset.iter().cloned());
    }
    if !parsed.variants.is_empty() {
        candidates = in_variants(&candidates, &parsed.variants, name)?;
    }
    candidates
        .retain(|candidate| !parsed.excluded.iter().any(|other| other.value.name == candidate.filesystem));
    if question.properties().contains(&RequiredProperty::Encryption) {
        candidates = put_on_luks(&candidates, name)?;
    }
    for candidate in parsed.wished(Wish::Compared) {
        candidates = with_and_without(&candidates, candidate.feature, name, !parsed.candidates.is_empty())?;
    }
    for candidate in parsed.wished(Wish::Absent).filter(|candidate| candidate.feature != Feature::ENCRYPTION)
    {
        candidates = without_feature(&candidates, candidate.feature, question)?;
    }
    // Of candidates that differ only in name, the first is kept.
    let mut distinct: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        if !distinct.iter().any(|other| other.is_same_but_for_name(&candidate)) {
            distinct.push(candidate);
        }
    }
    Ok(distinct)
}

/// The candidates of the preset that a name means, or a new one.
fn resolve_named(preset: &[Candidate], named: &NamedCandidate, name: &str) -> Result<Vec<Candidate>, Reason> {
    let filesystem = named.filesystem.name;
    let of_it: Vec<&Candidate> =
        preset.iter().filter(|candidate| candidate.filesystem == filesystem).collect();
    let usual: Vec<&Candidate> = of_it.iter().copied().filter(|candidate| is_usual(candidate)).collect();
    if named.options.is_empty() && named.layers.is_empty() && !of_it.is_empty() {
        let meant = if usual.is_empty() { of_it } else { usual };
        return Ok(meant.into_iter().cloned().collect());
    }
    let plain = usual.into_iter().min_by_key(|candidate| candidate.layers.names().len());
    let is_layered = !preset.is_empty() && preset.iter().all(|candidate| !candidate.layers.is_empty());
    let new = Candidate::with_defaults(filesystem);
    let base = match plain {
        _ if !named.layers.is_empty() => new.with_layers(Layers::from_names(named.layers.iter().copied())?),
        Some(plain) => plain.clone(),
        None if is_layered => {
            return Err(Reason::new(
                format!("no candidate of `{name}` is on {filesystem}, and all have layers of their own"),
                format!(
                    "`fsverdict show {name} > mine.toml` begins a plan of your own, with candidates of yours"
                ),
            ));
        }
        None => new,
    };
    Ok(vec![with_options(&base, &named.options)])
}

/// The same with these options, which its name says.
fn with_options(candidate: &Candidate, options: &OptionSet) -> Candidate {
    let add = |words: &mut Vec<String>, more: &[String]| {
        if !words.ends_with(more) {
            words.extend(more.iter().cloned());
        }
    };
    candidate.with_change(|changed| {
        add(&mut changed.mkfs, &options.mkfs);
        add(&mut changed.mount, &options.mount);
    })
}

/// Every candidate in each of these variants that its filesystem has; as it is where it has none.
fn in_variants(
    candidates: &[Candidate],
    variants: &[Worded<Vec<String>>],
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    let in_each = |candidate: &Candidate| -> Vec<Candidate> {
        let known = find_filesystem(&candidate.filesystem);
        let options = variants.iter().filter_map(|variant| parse_all(&variant.value, known?));
        options.map(|options| with_options(candidate, &options)).collect()
    };
    let varied: Vec<Vec<Candidate>> = candidates.iter().map(in_each).collect();
    if varied
        .iter()
        .zip(candidates)
        .all(|(varied, plain)| varied.iter().all(|sibling| sibling.name == plain.name))
    {
        let words: Vec<&str> = variants.iter().map(|variant| variant.words.as_str()).collect();
        return Err(Reason::new(
            format!("no filesystem of `{name}` has the option {}", words.join(", ")),
            "name the filesystem that has it: `ask 'btrfs compress=zstd or ext4 for mail'`",
        ));
    }
    let or_plain = |(varied, plain): (Vec<Candidate>, &Candidate)| {
        if varied.is_empty() { vec![plain.clone()] } else { varied }
    };
    Ok(varied.into_iter().zip(candidates).flat_map(or_plain).collect())
}

/// Each candidate that can be had with a feature and without it, both ways.
fn with_and_without(
    candidates: &[Candidate],
    feature: Feature,
    name: &str,
    is_named: bool,
) -> Result<Vec<Candidate>, Reason> {
    if feature == Feature::ENCRYPTION {
        let mut plain: Vec<Candidate> =
            candidates.iter().filter(|candidate| !is_encrypted(candidate)).cloned().collect();
        // Of candidates that are named, each is tried as it is and on LUKS with its defaults.
        let is_bare = !plain.is_empty() && plain.iter().all(|candidate| candidate.layers.is_empty());
        let base = if is_named && is_bare { &plain.clone() } else { candidates };
        plain.extend(put_on_luks(base, name)?);
        return Ok(plain);
    }
    let compared: Vec<Candidate> =
        candidates.iter().flat_map(|candidate| both_ways(candidate, feature, candidates)).collect();
    if compared.is_empty() {
        let word = feature.word;
        return Err(Reason::new(
            format!("no candidate of `{name}` can be had both with {word} and without"),
            "name the filesystem that can: compression is btrfs', a journal can be left out of ext4",
        ));
    }
    Ok(compared)
}

/// A candidate with the feature and without it; by itself where it, or another of its filesystem, makes the choice already. Nothing of
/// one that has other options than the usual candidate of its filesystem, which may rule the choice out.
fn both_ways(candidate: &Candidate, feature: Feature, all: &[Candidate]) -> Vec<Candidate> {
    let Some(known) = find_filesystem(&candidate.filesystem) else { return Vec::new() };
    let made = [true, false].into_iter().filter_map(|gives| feature.options(known, gives));
    let Some(options) = made.into_iter().find(|options| !options.is_empty()) else { return Vec::new() };
    let mut siblings = all
        .iter()
        .filter(|sibling| sibling.filesystem == candidate.filesystem && sibling.layers == candidate.layers);
    let has_usual = siblings.clone().any(is_usual);
    let is_chosen = chooses(candidate, &options);
    match (is_chosen, has_usual) {
        (true, false) => Vec::new(),
        (false, true) if !is_usual(candidate) => Vec::new(),
        _ if is_chosen || siblings.any(|sibling| chooses(sibling, &options)) => vec![candidate.clone()],
        _ => vec![candidate.clone(), with_options(candidate, &options)],
    }
}

/// Whether a candidate has an option that makes the same choice as these, either way: `compress=lzo` for `compress=zstd`.
fn chooses(candidate: &Candidate, options: &OptionSet) -> bool {
    let own = OptionSet { mkfs: candidate.mkfs.clone(), mount: candidate.mount.clone() }.keys();
    options.keys().iter().any(|chosen| own.contains(chosen))
}

/// The candidates without a feature: the one that is named both ways, or there would be nothing to compare; of several,
/// each as it lacks the feature.
fn without_feature(
    candidates: &[Candidate],
    feature: Feature,
    question: &Question,
) -> Result<Vec<Candidate>, Reason> {
    let (name, word) = (question.name(), feature.word);
    if question.parsed.candidates.len() == 1 {
        return with_and_without(candidates, feature, name, true);
    }
    let mut all = Vec::new();
    for candidate in candidates {
        match find_filesystem(&candidate.filesystem).and_then(|known| feature.options(known, false)) {
            Some(options) => all.push(with_options(candidate, &options)),
            None if question.names_filesystem(candidate) => {
                let what = format!("{} cannot be had without {word}", candidate.filesystem);
                return Err(Reason::new(what, "name filesystems that can"));
            }
            None => {}
        }
    }
    if all.len() < 2 {
        return Err(Reason::new(
            format!("too few candidates of `{name}` can be had without {word}"),
            "name filesystems that can, or one to compare both ways: `ext4 without journal for mail`",
        ));
    }
    Ok(all)
}

/// Each on LUKS: those that say so themselves as they are, all that have nothing below them with it.
fn put_on_luks(candidates: &[Candidate], name: &str) -> Result<Vec<Candidate>, Reason> {
    let layered = || candidates.iter().filter(|candidate| !candidate.layers.is_empty());
    // The place of LUKS among layers of another kind depends on their purpose, which is not known here.
    if let Some(first) = layered().next().filter(|_| !layered().any(is_encrypted)) {
        let kinds =
            layered().flat_map(|candidate| candidate.layers.names()).map(|layer| split_layer(layer).0);
        let first = first.layers.names().map(|layer| format!(", \"{layer}\"")).collect::<String>();
        return Err(Reason::new(
            format!(
                "candidates of `{name}` have layers of their own ({}), none of which encrypts",
                listing(&once_each(kinds), 8)
            ),
            format!(
                "ask it without encryption, or say where LUKS lies: `fsverdict show {name} > mine.toml`, and in it layers = [\"luks2\"{first}]"
            ),
        ));
    }
    let luks = Layers::from_names(["luks2"])?;
    let on_luks = |candidate: &Candidate| match candidate.layers.is_empty() {
        true => candidate.with_layers(luks.clone()),
        false => candidate.clone(),
    };
    Ok(candidates.iter().map(on_luks).filter(is_encrypted).collect())
}
