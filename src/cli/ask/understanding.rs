//! Forms a question from the parsed words, from the options, and from answers on the terminal if those are not enough.

use std::time::Duration;

use fsverdict_judgement::plan::{Preset, once_each};
use fsverdict_report::listing;
use fsverdict_text::{Reason, quoted};

use super::super::CliError;
use super::AskArguments;
use super::heard::{HeardQuestion, hear};
use super::heard_faults::take_faults;
use super::heard_work::HeardWork;
use super::prompt::{ask_device, ask_must, ask_work, goes_on_without};
use super::question::{AskedDevice, AskedWork, Question};
use super::sentence::{Said, is_in};
use super::understood::{device_of, heard_work, is_folder, property_of, work_of};
use super::vocabulary::{EXCLUDING, LAYERS, is_option, may_change_question};

/// A question, and the time for its answer if there was a word about that.
pub(super) struct Understood {
    pub(super) question: Question,
    pub(super) time: Option<Duration>,
}

/// Understands the words and options. If a user is `there`, asks on the terminal for missing or doubtful parts.
///
/// # Errors Fails if some words cannot be part of the question, and there is no user to confirm that they are to be
/// left out.
pub(super) fn understand(arguments: &AskArguments, there: bool) -> Result<Understood, CliError> {
    let mut heard = hear(&arguments.words, arguments.work.is_some());
    refuse_unavailable(&heard)?;
    let is_described = heard.work.is_some() || arguments.work.is_some() || !heard.near.is_empty();
    if let Some(outside) = heard.outside.take_if(|outside| !outside.describes_work || !is_described) {
        return Err(CliError::Usage(outside.reason));
    }
    let faults = if arguments.work.is_none() { take_faults(&mut heard) } else { Vec::new() };
    // If no work was found, the error below says so.
    let has_work = heard.work.is_some() || arguments.work.is_some();
    let doubts = doubts(&heard);
    // `lfs or nilfs2` is between filesystems: the unknown side is no work.
    let is_between = !heard.unknown_choices.is_empty() && !heard.candidates.named.is_empty();
    if (has_work || is_between) && !doubts.is_empty() {
        let goes_on = there && goes_on_without(&doubts)?;
        if !goes_on {
            return Err(not_understood(&doubts, &heard));
        }
    }
    let asked_all = arguments.work.is_none() && arguments.words.is_empty() && there;
    let (work, work_words) = work(arguments, &mut heard, there)?;
    let device = device(arguments, &heard, &work, asked_all)?;
    let mut must = std::mem::take(&mut heard.must);
    for word in &arguments.must {
        must.push(Said::new(property_of(word)?, format!("--must {word}")));
    }
    if asked_all && arguments.must.is_empty() && !arguments.encrypted {
        must = ask_must()?.into_iter().map(|property| Said::new(property, property.word())).collect();
    }
    if arguments.encrypted {
        must.push(Said::new(property_of("encryption")?, "--encrypted"));
    }
    let mut once: Vec<Said<_>> = Vec::new();
    must.retain(|said| {
        let is_new = !once.iter().any(|other: &Said<_>| other.value == said.value);
        once.push(said.clone());
        is_new
    });
    let time_words = match arguments.budget {
        Some(_) => "--for".to_owned(),
        None => heard.budget.as_ref().map(|said| said.words.clone()).unwrap_or_default(),
    };
    let question = Question {
        work,
        device,
        device_count: heard.device_count,
        must,
        candidates: heard.candidates,
        limits: heard.limits,
        throughputs: heard.throughputs,
        faults,
        tolerance: heard.tolerance,
        work_words,
        time_words,
        aside: heard.unused.into_iter().chain(heard.unknown).collect(),
    };
    Ok(Understood { question, time: heard.budget.map(|said| said.value) })
}

fn refuse_unavailable(heard: &HeardQuestion) -> Result<(), CliError> {
    if heard.candidates.not_tried.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage(Reason::new(
        format!("filesystem not available in fsverdict: {}", heard.candidates.not_tried.join(", ")),
        "ask again without it; a folder on it is compared by a plan with filesystem = \"directory\"",
    )))
}

/// Parts that cannot belong to the question, in the user's words: to ignore them may change the answer.
fn doubts(heard: &HeardQuestion) -> Vec<String> {
    let is_doubtful = |word: &&String| may_change_question(word) || heard.unknown_choices.contains(word);
    let unknown = heard.unknown.iter().filter(is_doubtful).cloned();
    let others = heard.other_works.iter().map(|said| format!("{} ({})", said.words, said.value.name));
    let near = heard.near.iter().map(|said| said.words.clone());
    unknown.chain(heard.candidates.impossible.iter().cloned()).chain(others).chain(near).collect()
}

fn not_understood(doubts: &[String], heard: &HeardQuestion) -> CliError {
    let works = heard.work.iter().filter_map(|said| match said.value {
        HeardWork::Preset(preset) => Some(preset.name),
        HeardWork::Folder(_) => None,
    });
    let works = once_each(works.chain(heard.other_works.iter().map(|said| said.value.name)));
    let nearest = once_each(heard.near.iter().map(|said| said.value.name));
    // A command that is ready to be run would leave out what else was asked.
    let names_array = heard.other_works.iter().any(|said| said.words.to_lowercase().contains("raid"));
    let hints = if names_array {
        vec![OF_ARRAYS.to_owned()]
    } else if !heard.other_works.is_empty() {
        vec![format!(
            "one question is about one work: say the words of one of them, {}, and the rest as it is",
            listing(&works, works.len())
        )]
    } else if nearest.is_empty() {
        hints_for(doubts)
    } else {
        vec![format!(
            "nearest to that: {}; say it in its place, or leave it out",
            listing(&nearest, nearest.len())
        )]
    };
    let reason = Reason::plain(format!("not understood as part of one question: {}", doubts.join(", ")));
    CliError::Usage(hints.into_iter().fold(reason, Reason::and_hint))
}

const OF_ARRAYS: &str = "`fsverdict ask nas`, and `fsverdict ask 'nas with zfs'`, compare mirrors of two disks; other arrays, and other work on them, are named in a plan: docs/reference/layers.md";

/// How to say what such words were probably meant for. To leave them out may turn the question round.
fn hints_for(doubts: &[String]) -> Vec<String> {
    const COMPARE: &str = "against compared comparing only instead";
    let is_any = |is: &dyn Fn(&str) -> bool| doubts.iter().any(|doubt| is(&doubt.to_lowercase()));
    let has_unit = |word: &str| word.starts_with(|one: char| one.is_ascii_digit()) && !word.contains(':');
    let limits =
        "below under above over less more percentile latency latencies throughput bandwidth iops % percent";
    let is_choice = |word: &str| {
        let is_named = word.contains(' ') || word.starts_with("raid") || is_in(word, LAYERS);
        !may_change_question(word) && !is_named
    };
    let ways = [
        (is_any(&|word| word.contains("?)")), "check the spelling of the filesystem"),
        (
            is_any(&|word| word.starts_with("with and without") || word.starts_with("with or without")),
            "compared with and without are encryption, compression, a journal, copy-on-write and data checksums; `fsverdict ask snapshots` measures what snapshots cost",
        ),
        (
            is_any(&|word| is_in(word, "finish finishes complete completes")),
            "how long the work takes is in the answer; leave the limit out (`in 5 minutes` by itself is the time for the answer)",
        ),
        (
            is_any(&|word| is_in(word, LAYERS)),
            "layers below a filesystem are named in a plan (docs/reference/layers.md); `fsverdict ask snapshots` has LVM's snapshots beside btrfs', `fsverdict ask nas` has mirrors of md, and `fsverdict ask 'nas with zfs'` those of ZFS",
        ),
        (
            is_any(&is_choice),
            "both sides of a choice have to be known: filesystems (`fsverdict list filesystems`), options behind them (`ext4 noatime or relatime`), `with and without encryption`",
        ),
        (
            is_any(&|word| is_in(word, EXCLUDING) || is_in(word, "but unless off")),
            "a filesystem is left out by `not btrfs`, a feature by `without encryption`",
        ),
        (
            is_any(&|word| {
                is_in(word, limits) || word.starts_with('p') && has_unit(&word[1..]) || has_unit(word)
            }),
            "a limit is said as `p99 below 5 ms`, `worst below 20 ms` or `at least 200 MB/s`, and the time for the answer as `in 5 minutes`",
        ),
        (
            is_any(&|word| word.contains("setting of the program")),
            "settings of a program are varied in a plan: `fsverdict show postgres > mine.toml`",
        ),
        (
            is_any(&|word| is_option(word) && !word.contains("setting of the program")),
            "options stand whole behind a filesystem that has them: `btrfs compress=zstd:1 or compress=zstd:3 for mail`; one that is not known here is said with its flag (`xfs -m rmapbt=0`) or in a plan",
        ),
        (is_any(&|word| word.starts_with("raid")), OF_ARRAYS),
        (
            is_any(&|word| is_in(word, COMPARE) || is_in(word, "cost costs costing overhead penalty price")),
            "two are compared by `ext4 or xfs`, a feature by `with and without encryption`; what snapshots cost is `fsverdict ask snapshots`",
        ),
    ];
    let ways: Vec<String> =
        ways.iter().filter(|(applies, _)| *applies).map(|(_, way)| (*way).to_owned()).collect();
    match ways.is_empty() {
        true => vec!["say it otherwise; `fsverdict ask --help` has examples".to_owned()],
        false => ways,
    }
}

fn work(
    arguments: &AskArguments,
    heard: &mut HeardQuestion,
    there: bool,
) -> Result<(AskedWork, String), CliError> {
    match (&arguments.work, arguments.words.is_empty()) {
        (Some(work), _) if heard.work.is_none() => Ok((work_of(work)?, format!("--work {work}"))),
        // The words for the work describe the folder: `my photos --work ~/Pictures`.
        (Some(work), _) if is_folder(work) && describes_files(heard) => {
            let words = heard.work.take().map_or(String::new(), |said| said.words);
            Ok((work_of(work)?, format!("--work {work}, {words}")))
        }
        (Some(work), _) => Err(CliError::Usage(Reason::new(
            format!("more than one work is named: --work {}, and another in words", quoted(work)),
            "one question is about one work; leave one of them out",
        ))),
        (None, false) => match heard.work.take() {
            Some(said) => Ok((heard_work(Some(said.value), "")?, said.words)),
            None if !heard.near.is_empty() => nearest(heard, there),
            None => Ok((heard_work(None, &words_for_work(heard).join(" "))?, String::new())),
        },
        (None, true) if there => Ok((ask_work()?, "your answer".to_owned())),
        (None, true) => Err(CliError::Usage(Reason::new(
            "nothing was asked, and there is no terminal to ask on",
            "name the work and the device: fsverdict ask photos --on usb-disk; `fsverdict ask --help` has more",
        ))),
    }
}

/// The unknown words that may have been meant for a work.
fn words_for_work(heard: &HeardQuestion) -> Vec<&str> {
    const NO_WORK: &str = "long whether anything million billion thousand lots little matter option options mount out doesn't default worth down";
    let is_number = |word: &str| word.starts_with(|one: char| one.is_ascii_digit());
    let may_be = |word: &&str| !may_change_question(word) && !is_number(word) && !is_in(word, NO_WORK);
    heard.unknown.iter().map(String::as_str).filter(may_be).collect()
}

/// Whether the words for the work name files that are copied and read, as a folder's are.
fn describes_files(heard: &HeardQuestion) -> bool {
    let preset = match &heard.work {
        Some(Said { value: HeardWork::Preset(preset), .. }) => *preset,
        Some(Said { value: HeardWork::Folder(_), .. }) | None => return false,
    };
    preset.asked_by().files
}

/// No preset is about this work: says which come nearest, and takes the first of them if somebody is there to agree.
fn nearest(heard: &HeardQuestion, there: bool) -> Result<(AskedWork, String), CliError> {
    let words: Vec<&str> = heard.near.iter().map(|said| said.words.as_str()).collect();
    let words = words.join(", ");
    let presets: Vec<&'static Preset> = heard.near.iter().map(|said| said.value).collect();
    if let (true, Some(first)) = (there, presets.first()) {
        let instead = format!("{words} (nearest: {}, {})", first.name, first.asked_by().summary);
        if goes_on_without(&[instead])? {
            return Ok((AskedWork::Preset(first), words));
        }
    }
    let nearest = once_each(presets.iter().map(|one| format!("`{}` ({})", one.name, one.asked_by().summary)));
    Err(CliError::Usage(Reason::new(
        format!("no question is known about {words}"),
        format!(
            "nearest: {}; say its name in the place of these words, or --work takes a folder of yours",
            nearest.join(", ")
        ),
    )))
}

fn device(
    arguments: &AskArguments,
    heard: &HeardQuestion,
    work: &AskedWork,
    asked_all: bool,
) -> Result<Option<AskedDevice>, CliError> {
    let device_words: Vec<&str> = arguments.device.iter().chain(&heard.devices).map(String::as_str).collect();
    match device_words.as_slice() {
        [] if asked_all => ask_device(),
        [] => match (&heard.device_of_place, work) {
            (Some(place), _) => {
                Ok(Some(AskedDevice { said: place.words.clone(), ..device_of(&place.value)? }))
            }
            (None, AskedWork::Preset(preset)) => {
                let usual = preset.asked_by().device.map(|model| device_of(&model)).transpose()?;
                Ok(usual.map(|device| AskedDevice { said: String::new(), ..device }))
            }
            (None, AskedWork::Folder(_)) => Ok(None),
        },
        [one] if !one.is_empty() => device_of(one).map(Some),
        several => {
            // `an archive disk, hdd` is one device that was named twice.
            let devices = several.iter().map(|word| device_of(word)).collect::<Result<Vec<_>, _>>();
            if let Ok([first, rest @ ..]) = devices.as_deref()
                && rest.iter().all(|other| other.source == first.source)
            {
                return Ok(Some(AskedDevice { said: several.join(", "), ..first.clone() }));
            }
            let none = several.len() == 1;
            let names = format!("more than one device is named: {}", several.join(", "));
            Err(CliError::Usage(Reason::new(
                if none { "no device is named behind `on`" } else { &names },
                "one question is about one device: fsverdict ask mail on hdd; without `on` it is the question's own",
            )))
        }
    }
}
