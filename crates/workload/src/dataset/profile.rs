//! The profiles of generated trees: how sizes are distributed, how compressible and how repetitive the data are.

use super::sizes::{ParetoTail, SizeModel};

/// The properties of a generated tree apart from its size.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    pub name: &'static str,
    pub summary: &'static str,
    /// Share of bytes a compressor can remove.
    pub compressible: f64,
    /// Share of files that are copies of another.
    pub duplicates: f64,
    /// Share of files that are further hard links to another.
    pub hard_links: f64,
    pub(crate) sizes: SizeModel,
    pub(crate) endings: &'static [&'static str],
}

pub const PROFILES: &[Profile] = &[
    Profile {
        name: "mixed",
        summary: "a desktop or file server: many small files, few huge ones (median 13 KB)",
        // File sizes follow a lognormal body (μ = 9.48, σ = 2.457 in natural logarithms) with weight 0.99994 and a
        // Pareto tail above 512 MB (α = 0.91), as measured on tens of thousands of desktops (Impressions: Agrawal,
        // Arpaci-Dusseau and Arpaci-Dusseau, FAST 2009). The shares of compressible bytes, copies and hard links are
        // our own assumptions; a plan can state others.
        compressible: 0.4,
        duplicates: 0.05,
        hard_links: 0.0,
        sizes: SizeModel {
            mu: 9.48,
            sigma: 2.457,
            tail: Some(ParetoTail { weight: 0.000_06, from: 512e6, alpha: 0.91 }),
        },
        endings: &[".txt", ".html", ".jpg", ".pdf", ".dat", ".log", ".so", ""],
    },
    Profile {
        name: "source-code",
        summary: "a source tree: thousands of text files of a few KB, very compressible (median 4 KB)",
        // File sizes are lognormal with a median of 4 KB and a mean of about 13 KB (μ = 8.3, σ = 1.55); nothing is
        // huge. Three quarters of the bytes can be compressed away, and few files are copies. The numbers are our own
        // assumptions, of the order seen in large C projects.
        compressible: 0.75,
        duplicates: 0.01,
        hard_links: 0.0,
        sizes: SizeModel { mu: 8.3, sigma: 1.55, tail: None },
        endings: &[".c", ".h", ".rs", ".py", ".md", ".txt", ".json", ".mk"],
    },
    Profile {
        name: "media",
        summary: "photographs, music and films: files of megabytes that cannot be compressed (median 4 MB)",
        // File sizes are lognormal with a median of 4 MB (μ = 15.2, σ = 1.2); the data are incompressible, as
        // compressed pictures and sound are, and 3 % of the files are copies. The numbers are our own assumptions.
        compressible: 0.0,
        duplicates: 0.03,
        hard_links: 0.0,
        sizes: SizeModel { mu: 15.2, sigma: 1.2, tail: None },
        endings: &[".jpg", ".jpg", ".jpg", ".mp3", ".flac", ".mp4", ".png"],
    },
    Profile {
        name: "small-files",
        summary: "mail, caches, thumbnails: files of about one block (median 1.2 KB)",
        // File sizes are lognormal with a median of 1.2 KB (μ = 7.1, σ = 0.8): nearly all fit one 4 KiB block, so that
        // the filesystem's cost per file is nearly all there is. The numbers are our own assumptions.
        compressible: 0.5,
        duplicates: 0.02,
        hard_links: 0.0,
        sizes: SizeModel { mu: 7.1, sigma: 0.8, tail: None },
        endings: &[".eml", ".json", ".png", ".tmp", ""],
    },
];

pub fn profile_by_name(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{PROFILES, profile_by_name};

    #[test]
    fn every_profile_is_documented_unique_and_possible() {
        let names: HashSet<_> = PROFILES.iter().map(|profile| profile.name).collect();
        assert_eq!(names.len(), PROFILES.len());
        for known in PROFILES {
            assert!(!known.summary.is_empty(), "{}", known.name);
            for share in [known.compressible, known.duplicates, known.hard_links] {
                assert!((0.0..1.0).contains(&share), "{}", known.name);
            }
            assert!(!known.endings.is_empty());
            assert!(profile_by_name(known.name).is_some());
        }
        assert!(profile_by_name("no such profile").is_none());
    }
}
