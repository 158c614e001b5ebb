//! Interprets a candidate's options as far as judgement needs it without knowing any filesystem. The crate `stack`
//! knows their meaning to each filesystem.

use super::{Candidate, split_layer};

/// Levels of an array of md that copy or distribute requests, and compute nothing of what is in them.
const COPYING_ARRAYS: [&str; 3] = ["raid0", "raid1", "raid10"];

impl Candidate {
    /// Whether its writes pass layers besides the filesystem, which take processor time of their own.
    pub fn has_computing_layers(&self) -> bool {
        self.layers.names().any(|layer| {
            let (name, options) = split_layer(layer);
            let level = options.split(',').next().unwrap_or_default();
            name != "md" || !COPYING_ARRAYS.contains(&level)
        })
    }

    /// Whether its options speak of compression, as those of every filesystem that can be asked for it do.
    pub fn asks_for_compression(&self) -> bool {
        self.compression_options().any(|option| !turns_off(option))
    }

    /// Whether its options turn compression off.
    pub fn refuses_compression(&self) -> bool {
        self.compression_options().any(turns_off)
    }

    fn compression_options(&self) -> impl Iterator<Item = &str> {
        self.mkfs.iter().chain(&self.mount).map(String::as_str).filter(|option| option.contains("compress"))
    }
}

/// zfsprops(7): `compression=off`; btrfs(5): `compress=no`; bcachefs(8): `--compression=none`.
fn turns_off(option: &str) -> bool {
    option.rsplit_once('=').is_some_and(|(_, value)| ["off", "no", "none"].contains(&value))
}

#[cfg(test)]
mod tests {
    use super::Candidate;
    use crate::plan::Layers;

    /// A pool without compression was said to compress, so that nothing was told of its times.
    #[test]
    fn compression_that_is_turned_off_is_not_asked_for() {
        let asks = |option: &str| {
            let candidate = Candidate { mkfs: vec![option.to_owned()], ..Candidate::with_defaults("zfs") };
            (candidate.asks_for_compression(), candidate.refuses_compression())
        };
        assert_eq!(asks("compression=zstd"), (true, false));
        assert_eq!(asks("compression=off"), (false, true));
        assert_eq!(asks("--compression=none"), (false, true));
        assert_eq!(asks("recordsize=8k"), (false, false));
    }

    #[test]
    fn arrays_that_copy_compute_nothing() {
        let computes = |layers: &[&str]| {
            let layers = Layers::from_names(layers.iter().copied()).unwrap();
            Candidate { layers, ..Candidate::with_defaults("ext4") }.has_computing_layers()
        };
        assert!(!computes(&[]) && !computes(&["md:raid1"]) && !computes(&["md:raid10,layout=f2"]));
        assert!(
            computes(&["md:raid5"])
                && computes(&["luks2", "md:raid1"])
                && computes(&["md:raid1", "lvm:thin"])
        );
    }
}
