//! Tests that generated trees match their profile: exact totals, the right distributions, the same tree for a seed.

use fsverdict_judgement::plan::TreeForm;
use xxhash_rust::xxh3::Xxh3;

use super::generate::{FILES_OFFSET, Generated, Shape, files_per_directory, flat_tree, generate_tree};
use super::profile::{PROFILES, profile_by_name};
use super::random::RandomStream;
use super::sizes::NormalQuantiles;
use super::tree::EntryKind;

static PLAIN: TreeForm = TreeForm::PLAIN;

fn shape(name: &str, files: u32, directories: u32, bytes: u64) -> Shape<'static> {
    let profile = profile_by_name(name).unwrap();
    let (duplicates, hard_links) = (profile.duplicates, profile.hard_links);
    Shape { profile, files, directories, bytes, duplicates, hard_links, sizes: &[], form: &PLAIN }
}

/// Largest distance between the distribution of `sample` and a continuous one (Kolmogorov and Smirnov).
fn distance(mut sample: Vec<f64>, cumulative: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let count = sample.len() as f64;
    let gap = |(at, value): (usize, &f64)| {
        let meant = cumulative(*value);
        (meant - at as f64 / count).abs().max(((at + 1) as f64 / count - meant).abs())
    };
    sample.iter().enumerate().map(gap).fold(0.0, f64::max)
}

#[test]
fn files_directories_and_bytes_are_exactly_as_asked() {
    for known in PROFILES {
        for (files, directories, bytes) in
            [(1, 1, 1), (0, 3, 0), (7, 20, 1000), (5000, 400, 200 << 20), (350, 19, 55 << 20), (100, 1, 0)]
        {
            for seed in 0..4 {
                let tree =
                    generate_tree(&shape(known.name, files, directories, bytes), seed, seed).unwrap().tree;
                let totals = tree.totals();
                assert_eq!(totals.files, u64::from(files), "{}", known.name);
                assert_eq!(totals.directories, u64::from(directories));
                let off = totals.bytes.abs_diff(bytes) as f64;
                assert!(off <= 0.01 * bytes as f64, "{}: {} of {bytes} bytes", known.name, totals.bytes);
                let held: u64 = tree.directories.iter().map(|directory| u64::from(directory.count)).sum();
                assert_eq!(held, u64::from(files));
            }
        }
    }
}

#[test]
fn sizes_follow_the_lognormal_of_the_profile() {
    for known in PROFILES {
        let mut asked = shape(known.name, 20_000, 1000, 2 << 30);
        (asked.duplicates, asked.hard_links) = (0.0, 0.0);
        let tree = generate_tree(&asked, 11, 11).unwrap().tree;
        let mut sizes: Vec<f64> = tree.entries.iter().map(|entry| entry.size as f64).collect();
        sizes.sort_by(f64::total_cmp);
        // Stretching to a total moves the median and nothing else; whole bytes blur the very small.
        let median = libm::log(sizes[sizes.len() / 2]);
        let sample: Vec<f64> =
            sizes.iter().map(|size| (libm::log(size.max(0.5)) - median) / known.sizes.sigma).collect();
        let normal = |x: f64| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2);
        // 1.36 / √n is the 5 % point of a free sample; a stratified one stays well below it.
        let found = distance(sample, normal);
        assert!(found < 1.36 / (20_000f64).sqrt(), "{}: distance {found}", known.name);
    }
}

#[test]
fn a_distribution_that_is_not_the_profile_would_be_noticed() {
    let tree = generate_tree(&shape("small-files", 20_000, 1000, 2 << 30), 11, 11).unwrap().tree;
    let sigma = profile_by_name("mixed").unwrap().sizes.sigma;
    let mut logs: Vec<f64> = tree.entries.iter().map(|entry| libm::log(entry.size as f64)).collect();
    logs.sort_by(f64::total_cmp);
    let median = logs[logs.len() / 2];
    let sample = logs.iter().map(|log| (log - median) / sigma).collect();
    assert!(distance(sample, |x| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2)) > 0.05);
    assert!(NormalQuantiles::new().quantile(0.5).abs() < 1e-9);
}

#[test]
fn files_per_directory_follow_the_inverse_polynomial() {
    // So many files that whole numbers do not blur the shape.
    let mut counts = files_per_directory(1800, 2_200_000, &mut RandomStream::new(5, "test"));
    assert_eq!(counts.iter().sum::<u32>(), 2_200_000);
    counts.sort_unstable();
    // Stretched by the ratio of medians; the inverse polynomial of degree 2 has its median at its offset.
    let stretch = f64::from(counts[counts.len() / 2]) / FILES_OFFSET;
    // χ² over classes of files per directory.
    let edges = [0.0, 50.0, 100.0, 200.0, 400.0, 1000.0, 4000.0, f64::INFINITY];
    let cumulative = |x: f64| 1.0 - FILES_OFFSET * stretch / (x + FILES_OFFSET * stretch);
    let total = counts.len() as f64;
    let chi_square: f64 = edges
        .windows(2)
        .map(|edge| {
            let high = if edge[1].is_finite() { cumulative(edge[1]) } else { 1.0 };
            let meant = total * (high - cumulative(edge[0]));
            let inside = |count: &&u32| {
                let count = f64::from(**count);
                count < edge[1] && (count > edge[0] || edge[0] == 0.0)
            };
            let found = counts.iter().filter(inside).count() as f64;
            (found - meant).powi(2) / meant
        })
        .sum();
    // 7 classes less one for the stretch: 5 degrees of freedom, 1 % point.
    assert!(chi_square < 15.09, "χ² = {chi_square}");
}

#[test]
fn directories_attach_preferentially_and_come_depth_first() {
    let count = 20_000;
    let tree = generate_tree(&shape("mixed", 10, count, 100), 3, 3).unwrap().tree;
    let mut children = vec![0u32; count as usize];
    let mut path: Vec<u32> = vec![0];
    for (number, directory) in tree.directories.iter().enumerate().skip(1) {
        children[directory.parent as usize] += 1;
        path.truncate(directory.depth as usize);
        assert_eq!(path.last(), Some(&directory.parent));
        path.push(number as u32);
    }
    // Attachment with weight children + 2 has stationary shares p(0) = 3/5, p(1) = 1/5, p(k) = p(k-1) · (k+1)/(k+5).
    let mut share = 0.6;
    for degree in 0..5u32 {
        if degree > 0 {
            share *= f64::from(degree + 1) / f64::from(degree + 5);
        }
        let found = children.iter().filter(|count| **count == degree).count() as f64 / f64::from(count);
        assert!((found - share).abs() < 0.015, "{degree} subdirectories: {found} instead of {share}");
    }
    assert!(path.len() < 100);
}

#[test]
fn copies_and_links_are_as_many_as_asked_and_fit_their_originals() {
    let mut asked = shape("mixed", 10_000, 500, 100 << 20);
    (asked.duplicates, asked.hard_links) = (0.2, 0.3);
    let tree = generate_tree(&asked, 9, 9).unwrap().tree;
    let (mut copies, mut links) = (0, 0);
    for (number, entry) in tree.entries.iter().enumerate() {
        let original = &tree.entries[entry.what as usize];
        assert_eq!(entry.size, original.size);
        match entry.kind {
            EntryKind::HardLink => {
                assert!((entry.what as usize) < number && original.kind == EntryKind::File);
                links += 1;
            }
            EntryKind::File => copies += usize::from(entry.what as usize != number),
            EntryKind::Symlink => panic!("no symbolic links are generated"),
        }
    }
    assert_eq!((copies, links), (2000, 3000));
}

fn digest(Generated { tree, .. }: &Generated) -> u64 {
    let mut digest = Xxh3::new();
    for number in 0..tree.directories.len() {
        digest.update(tree.directory_path(number).as_bytes());
    }
    for (number, entry) in tree.entries.iter().enumerate() {
        digest.update(tree.entry_path(number).as_bytes());
        digest.update(&entry.size.to_le_bytes());
        digest.update(&entry.what.to_le_bytes());
    }
    digest.digest()
}

#[test]
fn the_same_seed_gives_the_same_tree_and_another_seed_another() {
    let asked = shape("mixed", 3000, 250, 100 << 20);
    let first = digest(&generate_tree(&asked, 1, 1).unwrap());
    assert_eq!(first, digest(&generate_tree(&asked, 1, 1).unwrap()));
    assert_ne!(first, digest(&generate_tree(&asked, 2, 2).unwrap()));
}

#[test]
fn a_million_files_stay_below_a_hundred_megabytes() {
    let made = generate_tree(&shape("mixed", 1_000_000, 60_000, 100 << 30), 1, 1).unwrap();
    assert!(made.tree.memory_bytes() < 60_000_000, "{} bytes", made.tree.memory_bytes());
    assert_eq!(made.tree.totals().bytes, 100 << 30);
    let flat = flat_tree(1_000_000, 4096, 1).unwrap();
    assert!(flat.memory_bytes() < 60_000_000, "{} bytes", flat.memory_bytes());
}
