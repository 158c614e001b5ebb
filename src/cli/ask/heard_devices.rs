//! The devices that a question names, and how many of them.

use std::ops::Range;

use super::sentence::{Said, Sentence, is_in};
use super::vocabulary::{BEFORE_DEVICE, FILLING, number_called};
use super::words::{device_called, is_model, must_called, preset_called};

/// The devices behind each `on` and elsewhere, and the first number that precedes one of them.
pub(super) fn hear_devices(sentence: &mut Sentence) -> (Vec<String>, Option<Said<u32>>) {
    let mut devices = Vec::new();
    let mut device_count = None;
    // `from an ssd to a usb disk`: what is read from is not written.
    for at in 0..sentence.len() {
        let from = if sentence.is(at + 1, "a an my the") { at + 2 } else { at + 1 };
        let source = sentence.find_longest(from, |word| device_called(word, false)).map(|(range, _)| range);
        if let Some(range) =
            source.filter(|range| sentence.is(at, "from") && sentence.is(range.end, "to onto"))
        {
            sentence.pass_over(at..range.end);
        }
    }
    let first_behind =
        |sentence: &Sentence, at: usize| (at + 1..sentence.len()).find(|at| !sentence.is(*at, BEFORE_DEVICE));
    for at in 0..sentence.len() {
        if !(sentence.is(at, "on onto") && sentence.is_free(at)) {
            continue;
        }
        let first = first_behind(sentence, at).unwrap_or(at + 1);
        let named = |word: &str| {
            let is_source =
                word.starts_with("/dev/") || ["image:", "model:"].iter().any(|kind| word.starts_with(kind));
            (is_source || device_called(word, true).is_some() || is_model(word)).then_some(())
        };
        // `external usb disk`, and `usb disk`: the longest name, from the first word on that begins one.
        let range =
            (at + 1..=first).find_map(|from| sentence.find_longest(from, named)).map(|(range, ())| range);
        if let Some(range) = range {
            let start = range.start;
            let (words, count) = take_device(sentence, range);
            sentence.pass_over(at..start);
            device_count = device_count.or(count);
            devices.push(words);
        }
    }
    for at in 0..sentence.len() {
        if let Some((range, _)) = sentence.find_longest(at, |word| device_called(word, false)) {
            let (words, count) = take_device(sentence, range);
            device_count = device_count.or(count);
            devices.push(words);
        }
    }
    if devices.is_empty() {
        devices.extend(unknown_device(sentence, first_behind));
    }
    (devices, device_count)
}

/// Takes a device out of the sentence, with the number before it if there is one.
fn take_device(sentence: &mut Sentence, range: Range<usize>) -> (String, Option<Said<u32>>) {
    let count = count_before(sentence, range.start);
    if count.is_some() {
        sentence.pass_over(range.start - 1..range.start);
    }
    let words = sentence.take(range);
    let count = count.map(|said| Said::new(said.value, format!("{} {words}", said.words)));
    (words, count)
}

/// The number of devices that the word before `device` says, if it is more than one.
fn count_before(sentence: &Sentence, device: usize) -> Option<Said<u32>> {
    // `a hundred files of 40, usb disk`
    let before = device.checked_sub(1).filter(|_| !sentence.begins_clause(device))?;
    let count = number_called(&sentence.text(before))?;
    (count > 1.0 && count < 1000.0 && count.fract() == 0.0)
        .then(|| Said::new(count as u32, sentence.text(before)))
}

/// `4x8tb` and `4 x 8 TB`, where no device has a number before it.
pub(super) fn hear_array(sentence: &mut Sentence) -> Option<Said<u32>> {
    let is_size = |size: &str| {
        let unit = size.trim_start_matches(|one: char| one.is_ascii_digit() || one == '.');
        unit.len() < size.len() && (unit.is_empty() || is_in(unit, "tb t gb g tib gib"))
    };
    let count_of = |text: &str| text.parse().ok().filter(|count| (2..1000).contains(count));
    (0..sentence.len()).find_map(|at| {
        let word = sentence.text(at);
        let (count, end) = match word.split_once('x') {
            Some((count, size)) if is_size(size) => (count_of(count)?, at + 1),
            Some(_) => return None,
            None if sentence.is(at + 1, "x") && is_size(&sentence.text(at + 2)) => (count_of(&word)?, at + 3),
            None => return None,
        };
        let end = end + usize::from(sentence.is(end, "tb gb"));
        (at..end).all(|at| sentence.is_free(at)).then(|| Said::new(count, sentence.take(at..end)))
    })
}

/// The word behind the first `on` that is neither a filesystem nor a work; empty if nothing follows.
fn unknown_device(
    sentence: &mut Sentence,
    first_behind: impl Fn(&Sentence, usize) -> Option<usize>,
) -> Option<String> {
    for at in (0..sentence.len()).filter(|at| sentence.is(*at, "on")).collect::<Vec<_>>() {
        let Some(first) = first_behind(sentence, at) else { return Some(String::new()) };
        // `on a huge monorepo`: a word or two may stand before the work.
        let is_work = (at + 1..first + 3)
            .take_while(|from| *from <= first || !sentence.begins_clause(*from))
            .any(|from| sentence.find_longest(from, preset_called).is_some());
        let is_must = sentence.find_longest(first, must_called).is_some();
        let is_filling = sentence.is(first, FILLING) && !sentence.is(first, "disk disks server");
        if sentence.is_free(first) && !is_work && !is_must && !is_filling {
            return Some(sentence.take(first..first + 1));
        }
    }
    None
}
