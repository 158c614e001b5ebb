//! The options after the name of a volume's layer in a plan: `thin,chunk=128KiB,spare=40%`.

use fsverdict_text::{Bytes, Reason};

const EXAMPLE: &str = "as in lvm:linear, lvm:striped,chunk=64KiB or lvm:thin,spare=40%";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumeKind {
    Linear,
    Striped,
    Thin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VolumeOptions {
    pub(super) kind: VolumeKind,
    /// The size of a stripe, or of a thin volume's allocation unit; whole KiB.
    pub(super) chunk: Bytes,
    /// Percent of the group that the volume does not take.
    pub(super) spare: u64,
}

impl VolumeOptions {
    pub(super) const LINEAR: VolumeOptions =
        VolumeOptions { kind: VolumeKind::Linear, chunk: Bytes(64 << 10), spare: 0 };

    /// How many devices it takes at least.
    pub(super) fn minimum_devices(self) -> usize {
        if self.kind == VolumeKind::Striped { 2 } else { 1 }
    }

    /// Whether a snapshot can be kept: one of a volume that is not thin takes a tenth of the group.
    pub(super) fn has_room(self) -> bool {
        self.kind == VolumeKind::Thin || self.spare >= 10
    }

    pub(super) fn parse(text: &str) -> Result<Self, Reason> {
        let mut words = text.split(',');
        let kind = match words.next() {
            Some("linear") => VolumeKind::Linear,
            Some("striped") => VolumeKind::Striped,
            Some("thin") => VolumeKind::Thin,
            other => {
                let other = other.unwrap_or_default();
                return Err(Reason::new(
                    format!("a volume must be linear, striped or thin, not `{other}`"),
                    EXAMPLE,
                ));
            }
        };
        let mut options = VolumeOptions { kind, ..Self::LINEAR };
        for word in words {
            match word.split_once('=') {
                Some(("chunk", size)) if kind != VolumeKind::Linear => {
                    options.chunk = parse_chunk(kind, size)?;
                }
                Some(("spare", share)) => options.spare = parse_spare(share)?,
                _ => return Err(Reason::new(format!("this volume has no option `{word}`"), EXAMPLE)),
            }
        }
        Ok(options)
    }
}

/// Within lvcreate(8)'s limits; a thin volume's maximum of 1 GiB is larger than any trial's device.
fn parse_chunk(kind: VolumeKind, size: &str) -> Result<Bytes, Reason> {
    let read: Bytes = size.parse().map_err(|error: Reason| Reason::new(error.what, EXAMPLE))?;
    let least = if kind == VolumeKind::Thin { 64 << 10 } else { 4 << 10 };
    if !read.0.is_power_of_two() || !(least..=64 << 20).contains(&read.0) {
        let problem =
            format!("the chunk size must be a power of two from {} to 64 MiB, not {read}", Bytes(least));
        return Err(Reason::new(problem, EXAMPLE));
    }
    Ok(read)
}

fn parse_spare(share: &str) -> Result<u64, Reason> {
    let percent = share.strip_suffix('%').and_then(|number| number.parse().ok());
    let within = percent.filter(|percent| (1..=90).contains(percent));
    let problem = || format!("what is spared is a share of the group from 1% to 90%, not `{share}`");
    within.ok_or_else(|| Reason::new(problem(), EXAMPLE))
}

#[cfg(test)]
mod tests {
    use super::{VolumeKind, VolumeOptions};
    use fsverdict_text::Bytes;

    #[test]
    fn a_volume_is_read_or_refused() {
        let thin = VolumeOptions::parse("thin,chunk=1MiB,spare=25%").unwrap();
        assert_eq!(thin, VolumeOptions { kind: VolumeKind::Thin, chunk: Bytes(1 << 20), spare: 25 });
        assert_eq!(VolumeOptions::parse("striped").unwrap().minimum_devices(), 2);
        assert_eq!(VolumeOptions::parse("linear").unwrap(), VolumeOptions::LINEAR);
        for wrong in [
            "",
            "raid1",
            "linear,chunk=64KiB",
            "thin,chunk=4KiB",
            "striped,chunk=65KiB",
            "thin,spare=0%",
            "thin,spare=91%",
            "thin,spare=-1%",
            "thin,spare=40",
            "thin,",
            "linear --force",
            "thin,chunk=x",
        ] {
            VolumeOptions::parse(wrong).unwrap_err();
        }
    }
}
