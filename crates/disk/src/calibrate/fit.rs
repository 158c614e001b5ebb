//! Calibrates a model: moves its numbers until it answers the grid as the device did.

use super::disk::ModelledDisk;
use super::figures::{access_errors, model_errors};
use super::grid::measure_grid;
use super::grid_cell::{Grid, GridCell, GridFindings, GridKind};
use super::text::{find_number, find_value, format_rounded, has_section, with_value, without_section};
use crate::device::knobs::{Effect, Figures, Knob};
use crate::device::{Model, ModelError};
use fsverdict_text::{Hinted, Reason};

/// Why a device could not be calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The grid cannot be measured on the model.
    #[error("cannot measure a device of that size: {0}")]
    Grid(#[from] std::io::Error),
    /// There is no model to start from, or the numbers form no valid model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl Hinted for CalibrateError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            CalibrateError::Grid(_) => "it must hold 512 MiB or more".to_owned(),
            CalibrateError::Model(error) => return error.hint(),
        })
    }

    fn reason(&self) -> Reason {
        match self {
            CalibrateError::Grid(_) => Reason::new(self, self.hint().unwrap_or_default()),
            CalibrateError::Model(error) => error.reason(),
        }
    }
}

/// The model that calibration produced.
#[derive(Debug)]
pub struct Calibrated {
    /// Text of the model's file, in TOML.
    pub toml: String,
    /// Measured numbers: section, key, value.
    pub numbers: Vec<(&'static str, &'static str, f64)>,
    /// The policies of the device: section, key, and whether it follows the policy. A policy that the reads do not show
    /// is left out.
    pub policies: Vec<(&'static str, &'static str, bool)>,
    /// Errors of the model on the half of the grid that it was not fitted to, by kind of reads and writes, as shares.
    pub errors: Vec<(GridKind, f64)>,
}

/// Rotational speeds of disks, in revolutions per minute.
const DISK_SPEEDS_RPM: [f64; 6] = [4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 15_000.0];

/// Policies that a drive follows or not, each with the kind of reads that shows it by its time. A drive that reads on
/// arrival has read a gap either way, so that these reads do not show whether it also reads through one.
const POLICIES: [(&str, &str, GridKind); 2] =
    [("platter", "on_arrival", GridKind::Behind), ("platter", "through", GridKind::Gap)];

/// A policy is found if its times with and without it differ by this factor or more, and those of the device are nearer
/// to one than this share of the way to the other, both as logarithms.
const MIN_POLICY_RATIO: f64 = 1.5;
const NEAR: f64 = 0.35;

/// Rounds of each step. A number moves by the remaining error; where one number hides another, this takes several
/// rounds.
const ROUNDS: usize = 10;

/// Name of the new model, the device that was measured, and the date.
#[derive(Debug, Clone, Copy)]
pub struct Titled<'a> {
    pub name: &'a str,
    pub device: &'a str,
    pub date: &'a str,
}

/// The text of a model of `size` bytes that begins with the numbers of a template, under a name of its own.
fn begin_with_template(template: &str, titled: &Titled<'_>, size: u64) -> String {
    let Titled { name, device, date } = titled;
    let mut text = template
        .lines()
        .skip_while(|line| line.starts_with('#'))
        .fold(String::new(), |text, line| text + line + "\n");
    // Words for a kind of device do not mean this one.
    text = without_section(&text, "ask");
    for (section, key, value) in [
        ("", "name", format!("{name:?}")),
        ("", "version", "1".to_owned()),
        ("", "summary", format!("{:?}", format!("measured on {device}, {date}"))),
        ("device", "capacity", format!("\"{size}B\"")),
    ] {
        text = with_value(&text, section, key, &value);
    }
    text
}

/// Fits the model in the file `template` to the grid that was measured on a device of `size` bytes. Numbers that the
/// grid does not show keep the template's values.
pub fn calibrate_model(
    found: &GridFindings,
    size: u64,
    titled: &Titled<'_>,
    template: &str,
) -> Result<Calibrated, CalibrateError> {
    let Titled { name, device, date } = titled;
    let size = size / 4096 * 4096;
    let has_writes = found.has_half(Grid::Writing);
    let measured_figures = Figures::from_grid(found);
    let template_name = find_value(template, "", "name").unwrap_or_default().trim_matches('"').to_owned();
    let mut text = begin_with_template(template, titled, size);
    let run_grid = |text: &str, writing: bool| -> Result<GridFindings, CalibrateError> {
        let model = Model::read(text, name, None)?;
        let run_half = |grid| Ok(measure_grid(&mut ModelledDisk::new(&model, size, 1)?, grid)?);
        if writing { run_half(Grid::Writing) } else { run_half(Grid::Reading) }
    };
    let knobs = Model::read(&text, name, None)?.knobs();
    let (read_steps, writing) = (knobs.reading.len(), if has_writes { knobs.writing } else { &[] });
    let steps: Vec<&[Knob]> = [knobs.reading, writing].concat();
    for (index, step) in steps.iter().enumerate() {
        let mut rounds: Vec<Vec<f64>> = Vec::new();
        for _ in 0..ROUNDS {
            let model_figures = Figures::from_grid(&run_grid(&text, index >= read_steps)?);
            for Knob(section, key, figure, effect) in *step {
                let old = find_number(&text, section, key).unwrap_or(0.0);
                let new = effect.corrected_number(old, figure(&measured_figures), figure(&model_figures));
                // A number that the device does not show stays the template's.
                if new.is_finite() {
                    text = with_value(&text, section, key, &format_rounded(new));
                }
            }
            text = order_pairs(text);
            let values = step.iter().map(|Knob(section, key, ..)| find_number(&text, section, key));
            let values: Vec<f64> = values.map(|value| value.unwrap_or(f64::NAN)).collect();
            if rounds.last() == Some(&values) {
                rounds.clear();
                break;
            }
            rounds.push(values);
        }
        // Where the model's own answers vary by chance, every round moves a number differently; the mean of the late
        // rounds varies less.
        for (index, Knob(section, key, _, effect)) in step.iter().enumerate() {
            let late: Vec<f64> = rounds.iter().skip(ROUNDS / 2).map(|values| values[index]).collect();
            let mean = late.iter().sum::<f64>() / late.len() as f64;
            if mean.is_finite() && !matches!(effect, Effect::Counts | Effect::Speed) {
                text = with_value(&text, section, key, &format_rounded(mean));
            }
        }
    }
    let mut policies = Vec::new();
    let is_rotating = has_section(&text, "platter");
    for (section, key, kind) in POLICIES.into_iter().filter(|_| is_rotating) {
        let with = |value: bool| with_value(&text, section, key, &value.to_string());
        let (on, off) = (run_grid(&with(true), false)?, run_grid(&with(false), false)?);
        let known = found_policy([found, &on, &off].map(|findings| mean_log(findings.cells_of(kind))));
        if let Some(value) = known {
            text = with_value(&text, section, key, &value.to_string());
            policies.push((section, key, value));
        }
    }
    let mut predicted = run_grid(&text, false)?;
    if has_writes {
        predicted = predicted.combine_with(run_grid(&text, true)?);
    }
    let errors = model_errors(found, &predicted);
    let numbers: Vec<_> = steps
        .iter()
        .copied()
        .flatten()
        .filter_map(|Knob(section, key, ..)| Some((*section, *key, find_number(&text, section, key)?)))
        .collect();
    let measuring = if has_writes { "measuring" } else { "reading" };
    let mut toml = format!(
        "# {device}, measured by `fsverdict calibrate` on {date}. What {measuring} does not show is of the model {template_name}.\n"
    );
    for (kind, error) in &errors {
        toml += &format!(
            "# Error on the half of the grid it was not fitted to, {}: {:.1} %\n",
            kind.title(),
            error * 100.0
        );
    }
    if !has_section(&text, "errors") {
        text += "\n[errors]\n";
    }
    for (kind, error) in access_errors(&errors) {
        text =
            with_value(&text, "errors", kind.name(), &format!("{error:.2}  # on the half that was held out"));
    }
    for (section, key, value) in &numbers {
        text = with_value(&text, section, key, &format!("{}  # measured", format_rounded(*value)));
    }
    for (section, key, value) in &policies {
        text = with_value(&text, section, key, &format!("{value}  # measured"));
    }
    Ok(Calibrated { toml: toml + &text, numbers, policies, errors })
}

/// The mean logarithm of times of a kind, over all its cells.
fn mean_log(cells: &[GridCell]) -> f64 {
    let logs: Vec<f64> = cells.iter().flat_map(|cell| &cell.times_ns).map(|ns| ns.max(1.0).ln()).collect();
    logs.iter().sum::<f64>() / logs.len() as f64
}

/// Whether a device has a policy, by the mean logarithm of its times and of the model's with and without the policy;
/// `None` where they do not tell.
fn found_policy([device, on, off]: [f64; 3]) -> Option<bool> {
    let (to_on, between) = ((device - off) / (on - off), (on - off).abs());
    if between < MIN_POLICY_RATIO.ln() || !to_on.is_finite() {
        return None;
    }
    if to_on >= 1.0 - NEAR { Some(true) } else { (to_on <= NEAR).then_some(false) }
}

/// Corrects pairs that no disk can have, which a noisy device may show: an inner edge that is faster than the outer,
/// or a long seek that is faster than a short one.
fn order_pairs(text: String) -> String {
    let pairs = [("platter.seek", "minimum_ms", "average_ms"), ("platter", "inner_mb_s", "outer_mb_s")];
    pairs.iter().fold(text, |text, (section, less, more)| {
        match (find_number(&text, section, less), find_number(&text, section, more)) {
            (Some(low), Some(high)) if low > high => with_value(&text, section, more, &format_rounded(low)),
            _ => text,
        }
    })
}

impl Effect {
    /// The next value of a number that was `old`, for a figure that is `measured` on the device and `predicted` by
    /// the model.
    fn corrected_number(&self, old: f64, measured: f64, predicted: f64) -> f64 {
        match self {
            Effect::Moves(scale) => (old + (measured - predicted) * scale).max(0.001),
            Effect::Rate => 1e3 / (1e3 / old + measured - predicted).max(1e-3),
            Effect::Times => old * measured / predicted,
            Effect::Slower => old * predicted / measured,
            Effect::Counts => (old + measured - predicted).max(1.0),
            Effect::Speed => {
                let target = (old * predicted / measured).ln();
                let distance = |speed: &f64| (speed.ln() - target).abs();
                let nearest = DISK_SPEEDS_RPM
                    .into_iter()
                    .min_by(|one, other| distance(one).total_cmp(&distance(other)));
                nearest.unwrap_or(old)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::ModelledDisk;
    use super::super::grid::measure_grid;
    use super::super::text::with_value;
    use super::{Calibrated, Titled, calibrate_model, found_policy};
    use crate::calibrate::Grid;
    use crate::device::{AccessKind, Model, built_in};

    /// Calibrates a device whose model is the built-in one with these numbers replaced, starting from the built-in
    /// one.
    fn find(like: &str, planted: &[(&str, &str, &str)], gib: u64) -> Calibrated {
        let template = built_in().iter().find(|model| model.name == like).unwrap().toml;
        let text = planted
            .iter()
            .fold(template.to_owned(), |text, (section, key, value)| with_value(&text, section, key, value));
        let text = with_value(&text, "device", "capacity", &format!("\"{gib}GiB\""));
        let model = Model::read(&text, like, None).unwrap();
        let on = |grid| measure_grid(&mut ModelledDisk::new(&model, gib << 30, 7).unwrap(), grid).unwrap();
        let found = on(Grid::Reading).combine_with(on(Grid::Writing));
        let titled = Titled { name: "found", device: "/dev/sdx", date: "2026-01-01" };
        calibrate_model(&found, gib << 30, &titled, template).unwrap()
    }

    #[test]
    fn what_a_drive_does_beside_reading_is_found_by_reading() {
        for like in ["usb-disk-5400", "hdd-7200", "smr-5400"] {
            for planted in [[true, false], [false, true], [true, true], [false, false]] {
                let [through, on_arrival] = planted.map(|value| value.to_string());
                let planted_keys =
                    [("platter", "through", &*through), ("platter", "on_arrival", &*on_arrival)];
                let found = find(like, &planted_keys, 500);
                let shown = [("platter", "on_arrival", planted[1]), ("platter", "through", planted[0])];
                let is_shown = |one| found.policies.contains(one);
                assert!(
                    is_shown(&shown[0]) && found.policies.iter().all(|one| shown.contains(one)),
                    "{like} {planted:?}"
                );
                assert!(planted[1] || is_shown(&shown[1]), "{like} {planted:?}: {:?}", found.policies);
                let line = format!("on_arrival = {on_arrival}  # measured");
                assert!(found.toml.contains(&line), "{}", found.toml);
            }
        }
        assert!(find("sata-ssd", &[], 10).policies.is_empty());
        // Times halfway between the two, and times that are alike, tell nothing.
        assert_eq!(found_policy([8.0, 7.0, 9.0]), None);
        assert_eq!(found_policy([8.0, 8.0, 8.1]), None);
        assert_eq!((found_policy([7.1, 7.0, 9.0]), found_policy([9.2, 7.0, 9.0])), (Some(true), Some(false)));
    }

    #[test]
    fn a_models_own_numbers_are_found() {
        let mut wrong = Vec::new();
        for (like, gib, planted) in [
            (
                "usb-disk-5400",
                500,
                &[
                    ("link", "command_us", "400"),
                    ("link", "mb_s", "28"),
                    ("platter", "rpm", "7200"),
                    // The template's value stays, because the link hides this one.
                    ("platter", "outer_mb_s", "115"),
                    ("platter.seek", "minimum_ms", "1.7"),
                    ("platter.seek", "average_ms", "9.5"),
                    ("platter", "write_settle_ms", "2"),
                    ("cache", "flush_us", "4000"),
                ][..],
            ),
            (
                "hdd-7200",
                1000,
                &[
                    ("link", "command_us", "60"),
                    ("link", "mb_s", "280"),
                    ("platter", "outer_mb_s", "160"),
                    ("platter", "inner_mb_s", "75"),
                    ("platter", "rpm", "5400"),
                    ("platter.seek", "minimum_ms", "0.7"),
                    ("platter.seek", "average_ms", "12.5"),
                ],
            ),
            (
                "usb-stick",
                16,
                &[
                    ("units", "read_us", "800"),
                    ("units", "read_mb_s", "21"),
                    ("units", "write_us", "1500"),
                    ("units", "write_mb_s", "7"),
                    ("units", "open", "4"),
                    ("units", "copy_mb_s", "12"),
                ],
            ),
            (
                "sata-ssd",
                100,
                &[
                    ("link", "read_us", "60"),
                    ("link", "mb_s", "300"),
                    ("link", "write_us", "40"),
                    ("flash", "program_us", "2500"),
                    ("cache", "flush_us", "2000"),
                ],
            ),
            ("ideal", 10, &[("ideal", "access_us", "95"), ("link", "mb_s", "700")]),
        ] {
            let found = find(like, planted, gib);
            for (section, key, value) in planted {
                let is_it = |found: &&(&str, &str, f64)| (found.0, found.1) == (*section, *key);
                let number = found.numbers.iter().find(is_it).unwrap().2;
                // A seek is measured through the rotational latency of 8 to 11 ms, and so is a disk's flush.
                let planted = value.parse::<f64>().unwrap();
                let allowed = match *key {
                    "flush_us" if like.contains("disk") => 1500.0,
                    "write_settle_ms" => 0.3,
                    "minimum_ms" => 0.2,
                    "average_ms" => 0.02 * planted,
                    _ => 0.05 * planted,
                };
                if (number - planted).abs() > allowed {
                    wrong.push(format!("{like} [{section}] {key}: {number}, and {value} was planted"));
                }
            }
            if found.errors.iter().any(|(_, error)| *error > 0.05) {
                wrong.push(format!("{like}: {:?} {:?}", found.errors, found.numbers));
            }
            let model = Model::read(&found.toml, "found.toml", None).unwrap();
            let stated = AccessKind::ALL.map(|kind| model.errors.of(kind));
            assert!(stated[..2].iter().all(|error| (0.02..0.05).contains(error)), "{like}: {stated:?}");
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
