//! The candidates of a question's plan: those that it names, or the preset's, with options, with and without features.

use fsverdict_judgement::plan::{Candidate, Layers, RequiredProperty, once_each, split_layer};
use fsverdict_report::listing;
use fsverdict_stack::filesystem;
use fsverdict_stack::layer::has_property;
use fsverdict_text::Reason;

use super::features::Feature;
use super::options::{OptionSet, parse_all};
use super::parsed::{NamedCandidate, Worded};
use super::question::Question;

/// The candidates that a question is about, of these of its preset, before requirements are looked at.
///
/// # Errors
/// Fails if a candidate cannot have a feature, or nothing is left to compare.
pub(super) fn choose_candidates(preset: &[Candidate], question: &Question) -> Result<Vec<Candidate>, Reason> {
    let parsed = &question.parsed;
    let name = question.name();
    let mut candidates = match parsed.candidates.as_slice() {
        [] => preset.to_vec(),
        named => {
            let mut all = Vec::new();
            for one in named {
                all.extend(resolve_named(preset, &one.value, name)?);
            }
            // One that is named alone is tried beside the preset's: it has to be better than something.
            let is_alone = named.len() == 1
                && parsed.compared.is_empty()
                && parsed.variants.len() < 2
                && parsed.absent_choice().is_none();
            if is_alone {
                all.extend(preset.iter().cloned());
            }
            all
        }
    };
    if !parsed.variants.is_empty() {
        candidates = in_variants(&candidates, &parsed.variants, name)?;
    }
    candidates.retain(|one| !parsed.excluded.iter().any(|excluded| excluded.value.name == one.filesystem));
    if question.properties().contains(&RequiredProperty::Encryption) {
        candidates = encrypted(&candidates, name)?;
    }
    for one in &parsed.compared {
        candidates = with_and_without(&candidates, one.value, name, !parsed.candidates.is_empty())?;
    }
    for one in parsed.absent.iter().filter(|one| one.value != Feature::ENCRYPTION) {
        candidates = without_feature(candidates, one.value, question)?;
    }
    Ok(once_each_but_for_names(candidates))
}

/// The candidates of the preset that a name means, or a new one.
fn resolve_named(preset: &[Candidate], named: &NamedCandidate, name: &str) -> Result<Vec<Candidate>, Reason> {
    let NamedCandidate { filesystem, options, layers } = named;
    let of_it: Vec<&Candidate> = preset.iter().filter(|one| one.filesystem == filesystem.name).collect();
    let is_default = |one: &&&Candidate| one.mkfs.is_empty() && one.mount.is_empty();
    let is_layered = !preset.is_empty() && preset.iter().all(|one| !one.layers.is_empty());
    let only_layered = || {
        Reason::new(
            format!("no candidate of `{name}` is on {}, and all have layers of their own", filesystem.name),
            format!(
                "`fsverdict show {name} > mine.toml` begins a plan of your own, with candidates of yours"
            ),
        )
    };
    if options.is_empty() && layers.is_empty() {
        let defaults: Vec<Candidate> = of_it.iter().filter(is_default).map(|one| (*one).clone()).collect();
        return match (defaults.is_empty(), of_it.is_empty()) {
            (false, _) => Ok(defaults),
            (true, false) => Ok(of_it.into_iter().cloned().collect()),
            (true, true) if is_layered => Err(only_layered()),
            (true, true) => Ok(vec![Candidate::with_defaults(filesystem.name)]),
        };
    }
    let plain = of_it.iter().filter(is_default).min_by_key(|one| one.layers.names().len());
    let base = match plain {
        Some(plain) => (*plain).clone(),
        None if is_layered && layers.is_empty() => return Err(only_layered()),
        None => Candidate::with_defaults(filesystem.name),
    };
    let base = match layers.is_empty() {
        true => base,
        false => {
            Candidate::with_defaults(filesystem.name).with_layers(Layers::from_names(layers.iter().copied())?)
        }
    };
    Ok(vec![with_options(&base, options)])
}

/// The same with these options, which its name says.
fn with_options(candidate: &Candidate, options: &OptionSet) -> Candidate {
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
    variants: &[Worded<Vec<String>>],
    name: &str,
) -> Result<Vec<Candidate>, Reason> {
    let in_each = |candidate: &Candidate| -> Vec<Candidate> {
        let known = filesystem::find_filesystem(&candidate.filesystem);
        let options = variants.iter().filter_map(|variant| parse_all(&variant.value, known?));
        options.map(|options| with_options(candidate, &options)).collect()
    };
    let varied: Vec<Vec<Candidate>> = candidates.iter().map(in_each).collect();
    if varied.iter().zip(candidates).all(|(varied, plain)| varied.iter().all(|one| one.name == plain.name)) {
        let words: Vec<&str> = variants.iter().map(|variant| variant.words.as_str()).collect();
        return Err(Reason::new(
            format!("no filesystem of `{name}` has the option {}", words.join(", ")),
            "name the filesystem that has it: `ask 'btrfs compress=zstd or ext4 for mail'`",
        ));
    }
    let with_plain = varied.into_iter().zip(candidates).flat_map(|(varied, plain)| match varied.is_empty() {
        true => vec![plain.clone()],
        false => varied,
    });
    Ok(with_plain.collect())
}

/// Each candidate that can be had with a feature and without it, both ways.
fn with_and_without(
    candidates: &[Candidate],
    feature: Feature,
    name: &str,
    is_named: bool,
) -> Result<Vec<Candidate>, Reason> {
    if feature == Feature::ENCRYPTION {
        let is_encrypted = |one: &&Candidate| has_property(one, RequiredProperty::Encryption);
        let plain: Vec<Candidate> = candidates.iter().filter(|one| !is_encrypted(one)).cloned().collect();
        // Of candidates that are named, each is tried as it is and on LUKS with its defaults.
        let is_bare = !plain.is_empty() && plain.iter().all(|one| one.layers.is_empty());
        let base = if is_named && is_bare { &plain } else { candidates };
        let on_luks = encrypted(base, name)?;
        return Ok(plain.into_iter().chain(on_luks).collect());
    }
    let compared: Vec<Candidate> =
        candidates.iter().flat_map(|one| both_ways(one, feature, candidates)).collect();
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

/// A candidate with the feature and without it; by itself where it, or another of its filesystem, makes the choice already. Nothing of
/// one that has other options than the usual candidate of its filesystem, which may rule the choice out.
fn both_ways(candidate: &Candidate, feature: Feature, all: &[Candidate]) -> Vec<Candidate> {
    let Some(known) = filesystem::find_filesystem(&candidate.filesystem) else { return Vec::new() };
    let made = [true, false]
        .into_iter()
        .filter_map(|gives| feature.options(known, gives))
        .find(|options| !options.is_empty());
    let Some(options) = made else { return Vec::new() };
    let is_usual = |one: &Candidate| one.mkfs.is_empty() && one.mount.is_empty();
    let mut siblings =
        all.iter().filter(|one| one.filesystem == candidate.filesystem && one.layers == candidate.layers);
    let has_usual = siblings.clone().any(is_usual);
    if chooses(candidate, &options) {
        return if has_usual { vec![candidate.clone()] } else { Vec::new() };
    }
    if has_usual && !is_usual(candidate) {
        return Vec::new();
    }
    match siblings.any(|one| chooses(one, &options)) {
        true => vec![candidate.clone()],
        false => vec![candidate.clone(), with_options(candidate, &options)],
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
    candidates: Vec<Candidate>,
    feature: Feature,
    question: &Question,
) -> Result<Vec<Candidate>, Reason> {
    let name = question.name();
    if question.parsed.candidates.len() == 1 {
        return with_and_without(&candidates, feature, name, true);
    }
    let is_named = |one: &Candidate| question.names_filesystem(one);
    let mut all = Vec::new();
    for one in candidates {
        let options =
            filesystem::find_filesystem(&one.filesystem).and_then(|known| feature.options(known, false));
        match options {
            Some(options) => all.push(with_options(&one, &options)),
            None if is_named(&one) => {
                return Err(Reason::new(
                    format!("{} cannot be had without {}", one.filesystem, feature.word()),
                    "name filesystems that can",
                ));
            }
            None => {}
        }
    }
    match all.len() {
        0 | 1 => Err(Reason::new(
            format!("too few candidates of `{name}` can be had without {}", feature.word()),
            "name filesystems that can, or one to compare both ways: `ext4 without journal for mail`",
        )),
        _ => Ok(all),
    }
}

/// Each on LUKS: those that say so themselves as they are, all that have nothing below them with it.
fn encrypted(candidates: &[Candidate], name: &str) -> Result<Vec<Candidate>, Reason> {
    let is_encrypted = |one: &Candidate| has_property(one, RequiredProperty::Encryption);
    let layered = |one: &&Candidate| !one.layers.is_empty();
    // The place of LUKS among layers of another kind depends on their purpose, which is not known here.
    if candidates.iter().any(|one| layered(&one)) && !candidates.iter().filter(layered).any(is_encrypted) {
        let kinds = candidates.iter().flat_map(|one| one.layers.names()).map(|layer| split_layer(layer).0);
        let first = candidates.iter().find(layered).map_or_else(String::new, |one| {
            one.layers.names().map(|layer| format!(", \"{layer}\"")).collect()
        });
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
    let on_luks = |one: &Candidate| match one.layers.is_empty() {
        true => one.with_layers(luks.clone()),
        false => one.clone(),
    };
    Ok(candidates.iter().map(on_luks).filter(is_encrypted).collect())
}

/// Removes duplicates: of candidates that differ only in name, the first is kept.
fn once_each_but_for_names(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut distinct: Vec<Candidate> = Vec::new();
    for one in candidates {
        if !distinct.iter().any(|other| other.is_same_but_for_name(&one)) {
            distinct.push(one);
        }
    }
    distinct
}
