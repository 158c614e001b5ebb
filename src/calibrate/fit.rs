//! Moves a model's numbers until it answers the grid as the device did.

use super::disk::{Disk, Modelled};
use super::figures::{Figures, errors};
use super::grid::{Found, measure};
use super::text::{number, rounded, value, with};
use crate::device::{Model, ModelError};

/// A device could not be calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// It cannot be read.
    #[error("cannot measure {device}: {source}\nhint: it must be readable and hold 512 MiB or more")]
    Read {
        /// Its path.
        device: String,
        /// Why.
        source: std::io::Error,
    },
    /// No model to start from, or the numbers make none.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// What came of it.
#[derive(Debug)]
pub struct Calibrated {
    /// The model's file.
    pub toml: String,
    /// Each number that was measured: section, key, value.
    pub numbers: Vec<(&'static str, &'static str, f64)>,
    /// How far the model is from the device on the half of the grid it was not fitted to, by kind of read, as shares.
    pub errors: [(&'static str, f64); 4],
}

/// How a number follows from a figure of the device and the same of the model.
enum Effect {
    /// It moves by the difference, times this.
    Moves(f64),
    /// A rate in MB/s: its nanoseconds a byte move by the difference.
    Rate,
    /// Turns a minute: the spread of reads is a share of one; among the speeds that drives have.
    Speed,
}

struct Knob(&'static str, &'static str, fn(&Figures) -> f64, Effect);

const SPEEDS: [f64; 6] = [4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 15_000.0];

/// What reading decides of each kind of medium, in steps: what comes later rests on what came before.
fn knobs(template: &str) -> Vec<Vec<Knob>> {
    let has = |section: &str, key: &str| value(template, section, key).is_some();
    if has("platter", "rpm") {
        vec![
            vec![
                Knob("link", "command_us", |f| f.command, Effect::Moves(1e-3)),
                Knob("link", "mb_s", |f| f.link_byte, Effect::Rate),
            ],
            vec![
                Knob("platter", "outer_mb_s", |f| f.first_byte, Effect::Rate),
                Knob("platter", "inner_mb_s", |f| f.last_byte, Effect::Rate),
                Knob("platter", "rpm", |f| f.spread, Effect::Speed),
            ],
            vec![
                Knob("platter.seek", "minimum_ms", |f| f.shortest, Effect::Moves(1e-6)),
                Knob("platter.seek", "average_ms", |f| f.mean_jump, Effect::Moves(1e-6)),
            ],
        ]
    } else if has("units", "unit") {
        vec![vec![
            Knob("units", "read_us", |f| f.access, Effect::Moves(1e-3)),
            Knob("units", "read_mb_s", |f| f.access_byte, Effect::Rate),
        ]]
    } else if has("flash", "page") {
        vec![vec![
            Knob("link", "read_us", |f| f.access, Effect::Moves(1e-3)),
            Knob("link", "mb_s", |f| f.onward_byte, Effect::Rate),
        ]]
    } else {
        vec![vec![
            Knob("ideal", "access_us", |f| f.access, Effect::Moves(1e-3)),
            Knob("link", "mb_s", |f| f.access_byte, Effect::Rate),
        ]]
    }
}

/// Rounds of each step. A number moves by what is still missing; where one hides another, that takes several.
const ROUNDS: usize = 10;

/// Measures `disk` and fits to it the model of `template`'s file, which keeps what reading does not show.
///
/// # Errors
/// When the disk cannot be read, or the template is none.
pub fn calibrate(
    disk: &mut dyn Disk,
    (device, name, date): (&str, &str, &str),
    template: &str,
) -> Result<Calibrated, CalibrateError> {
    let size = disk.size_bytes() / 4096 * 4096;
    let unreadable = |source| CalibrateError::Read { device: device.to_owned(), source };
    let found = measure(disk).map_err(unreadable)?;
    let real = Figures::of(&found);
    let like = value(template, "", "name").unwrap_or_default().trim_matches('"').to_owned();
    let mut text = template
        .lines()
        .skip_while(|line| line.starts_with('#'))
        .fold(String::new(), |text, line| text + line + "\n");
    for (section, key, value) in [
        ("", "name", format!("{name:?}")),
        ("", "version", "1".to_owned()),
        ("", "summary", format!("{:?}", format!("measured on {device}, {date}"))),
        ("device", "capacity", format!("\"{size}B\"")),
    ] {
        text = with(&text, section, key, &value);
    }
    let answer = |text: &str| -> Result<Found, CalibrateError> {
        let model = Model::read(text, name, None)?;
        measure(&mut Modelled::new(&model, size, 1)?).map_err(unreadable)
    };
    let steps = knobs(template);
    for step in &steps {
        for _ in 0..ROUNDS {
            let said = Figures::of(&answer(&text)?);
            for Knob(section, key, figure, effect) in step {
                let (old, real, said) =
                    (number(&text, section, key).unwrap_or(0.0), figure(&real), figure(&said));
                let new = match effect {
                    Effect::Moves(scale) => (old + (real - said) * scale).max(0.001),
                    Effect::Rate => 1e3 / (1e3 / old + real - said).max(1e-3),
                    Effect::Speed => {
                        let wanted = (old * said / real).ln();
                        let away = |speed: &f64| (speed.ln() - wanted).abs();
                        SPEEDS
                            .into_iter()
                            .min_by(|one, other| away(one).total_cmp(&away(other)))
                            .unwrap_or(old)
                    }
                };
                text = with(&text, section, key, &rounded(new));
            }
        }
    }
    let errors = errors(&found, &answer(&text)?);
    let numbers: Vec<_> = steps
        .iter()
        .flatten()
        .filter_map(|Knob(section, key, ..)| Some((*section, *key, number(&text, section, key)?)))
        .collect();
    let mut toml = format!(
        "# {device}, measured by `fsverdict calibrate` on {date}. What reading does not show is of the model {like}.\n"
    );
    for (kind, error) in errors {
        toml += &format!(
            "# Error on the half of the grid it was not fitted to, {kind}: {:.1} %\n",
            error * 100.0
        );
    }
    for (section, key, value) in &numbers {
        text = with(&text, section, key, &format!("{}  # measured", rounded(*value)));
    }
    Ok(Calibrated { toml: toml + &text, numbers, errors })
}

#[cfg(test)]
mod tests {
    use super::super::disk::Modelled;
    use super::super::text::with;
    use super::{Calibrated, calibrate};
    use crate::device::{Model, built_in};

    /// Calibrates a device whose model is the built-in one with these numbers replaced, starting from the built-in one.
    fn find(like: &str, planted: &[(&str, &str, &str)], gib: u64) -> Calibrated {
        let template = built_in().iter().find(|model| model.name == like).unwrap().toml;
        let text = planted
            .iter()
            .fold(template.to_owned(), |text, (section, key, value)| with(&text, section, key, value));
        let text = with(&text, "device", "capacity", &format!("\"{gib}GiB\""));
        let model = Model::read(&text, like, None).unwrap();
        let mut device = Modelled::new(&model, gib << 30, 7).unwrap();
        calibrate(&mut device, ("/dev/sdx", "found", "2026-01-01"), template).unwrap()
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
                    ("platter.seek", "minimum_ms", "1.7"),
                    ("platter.seek", "average_ms", "9.5"),
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
            ("usb-stick", 16, &[("units", "read_us", "800"), ("units", "read_mb_s", "21")]),
            ("sata-ssd", 100, &[("link", "read_us", "60"), ("link", "mb_s", "300")]),
            ("ideal", 10, &[("ideal", "access_us", "95"), ("link", "mb_s", "700")]),
        ] {
            let found = find(like, planted, gib);
            for (section, key, value) in planted {
                let is_it = |found: &&(&str, &str, f64)| (found.0, found.1) == (*section, *key);
                let number = found.numbers.iter().find(is_it).unwrap().2;
                // What an arm takes is seen through the wait for the platter, of 8 to 11 ms.
                let allowed = if key.ends_with("_ms") { 0.2_f64 } else { 0.0 };
                let planted = value.parse::<f64>().unwrap();
                if (number - planted).abs() > allowed.max(0.05 * planted) {
                    wrong.push(format!("{like} [{section}] {key}: {number}, and {value} was planted"));
                }
            }
            if found.errors.iter().any(|(_, error)| *error > 0.05) {
                wrong.push(format!("{like}: {:?} {:?}", found.errors, found.numbers));
            }
            Model::read(&found.toml, "found.toml", None).unwrap();
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
