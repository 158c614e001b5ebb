//! Choices that a user makes by a word with parts, in a plan or on the command line: device, blocks.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use fsverdict_text::Reason;

use super::limits;
use super::{Blocks, DeviceSource, Pace};
use fsverdict_text::Bytes;

/// `image:4GiB`, or the absolute path of a block device.
impl FromStr for DeviceSource {
    type Err = Reason;

    fn from_str(text: &str) -> Result<DeviceSource, Reason> {
        if let Some(size) = text.strip_prefix("image:") {
            return match size.parse()? {
                Bytes(0) => Err(Reason::new("an image may not be empty", "for example: image:4GiB")),
                size => Ok(DeviceSource::Image(size)),
            };
        }
        if let Some(model) = text.strip_prefix("model:") {
            return match model.split_once('@') {
                Some((name, size)) if !name.is_empty() => {
                    Ok(DeviceSource::Model { name: name.to_owned(), size: size.parse()? })
                }
                _ => Err(Reason::new(
                    format!("\"{text}\" names no model, or no size"),
                    "for example: model:usb-disk-5400@2TB",
                )),
            };
        }
        if text.starts_with('/') {
            return Ok(DeviceSource::Path(PathBuf::from(text)));
        }
        Err(Reason::new(
            format!("\"{text}\" is not a device"),
            "write image:SIZE for a scratch image (image:4GiB), model:NAME@SIZE for a modelled device \
             (model:usb-disk-5400@2TB), or the absolute path of a block device (/dev/disk/by-id/…)",
        ))
    }
}

impl FromStr for Pace {
    type Err = Reason;

    fn from_str(word: &str) -> Result<Self, Reason> {
        Self::from_word(word).ok_or_else(|| {
            Reason::new(
                format!("there is no pace `{}`", word.escape_debug()),
                "`recorded` keeps the pauses between calls, `unpaced` makes each call as soon as the one before has returned",
            )
        })
    }
}

impl fmt::Display for DeviceSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSource::Image(size) => write!(formatter, "scratch image of {size}"),
            DeviceSource::Path(path) => write!(formatter, "{}", path.display()),
            DeviceSource::Folders => write!(formatter, "folder of each candidate"),
            DeviceSource::Model { name, size } => write!(formatter, "modelled device {name} of {size}"),
        }
    }
}

impl Blocks {
    /// From `min` to `max` blocks.
    pub fn new(min: u64, max: u64) -> Result<Blocks, Reason> {
        let fitting =
            |number: u64| u32::try_from(number).ok().filter(|_| (1..=limits::BLOCKS).contains(&number));
        match (fitting(min), fitting(max)) {
            (Some(min), Some(max)) if min <= max => Ok(Blocks { min, max }),
            (Some(_), Some(_)) => Err(Reason::new(
                format!("at least {min} blocks and at most {max} cannot both be"),
                "`min` may not be above `max`",
            )),
            _ => Err(Reason::new(format!("the number of blocks must be from 1 to {}", limits::BLOCKS), "")),
        }
    }
}

/// `5` for exactly five, `3-30` for an adaptive range.
impl FromStr for Blocks {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Blocks, Reason> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        match (min.trim().parse(), max.trim().parse()) {
            (Ok(min), Ok(max)) => Blocks::new(min, max),
            _ => Err(Reason::new(
                format!("\"{text}\" is not a number of blocks"),
                "write 5 for exactly five, or 3-30 for as many as it takes",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Blocks, Bytes, DeviceSource};

    #[test]
    fn devices_are_images_or_absolute_paths() {
        assert_eq!("image:4GiB".parse::<DeviceSource>().unwrap(), DeviceSource::Image(Bytes(4 << 30)));
        assert_eq!(
            "/dev/sdz".parse::<DeviceSource>().unwrap(),
            DeviceSource::Path(PathBuf::from("/dev/sdz"))
        );
        for wrong in ["image:", "image:0", "image:4Gb", "sdz", "4GiB", ""] {
            assert!(wrong.parse::<DeviceSource>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn blocks_are_a_number_or_a_range() {
        assert_eq!("5".parse::<Blocks>().unwrap(), Blocks { min: 5, max: 5 });
        assert_eq!("3-30".parse::<Blocks>().unwrap(), Blocks { min: 3, max: 30 });
        for wrong in ["0", "5-3", "-3", "many", "3-", "10001", "5000000000"] {
            assert!(wrong.parse::<Blocks>().is_err(), "{wrong}");
        }
    }
}
