//! Words of questions that are neither a work nor a device nor a filesystem.

/// Words that a question has anyway.
pub(super) const FILLING: &str = "\
    which what whats filesystem filesystems file files system systems fs should shall do does can could i ive im we use using for to a \
    an the my our linux on with and or of in into is are be best better good right fast faster fastest safe safest choose pick \
    take want need needs needed have has must that it its please how vs versus than readable read by from at where store \
    storing stored keep work lots many small big large library collection folder folders server drive both between me \
    there lie lies would will would like was were am so then when if also just some any all most put install installed \
    format formatted setup set up get give gets make makes slow slower quick quickly always time day days going run runs \
    running happy suited suitable suits recommend recommended recommendation advice difference thanks hi hello question \
    one ones this these those them they plain style disk disks way ways own you your data stays stay";

/// Between `on` and the device.
pub(super) const BEFORE_DEVICE: &str = "\
    a an the my our this your two three four several old new cheap fast slow small big large external internal modern";

/// Other names of filesystems.
pub(super) const ALSO_CALLED: &[(&str, &str)] =
    &[("fat32", "vfat"), ("fat", "vfat"), ("ntfs", "ntfs3"), ("nilfs", "nilfs2"), ("reiser", "reiserfs")];

/// Filesystems that people ask about, and that fsverdict does not try by name.
pub(super) const NOT_TRIED: &str = "\
    apfs hfs hfs+ refs ufs ocfs2 gfs2 ceph cephfs lustre";

/// Words before something that is not wanted.
pub(super) const EXCLUDING: &str = "not no without except excluding nor never";

/// Words that change a question at any place, besides those that exclude, have a digit, or look like an option.
const CHANGING: &str = "\
    but instead only against compared comparing below under above over less off unless \
    more least percentile latency latencies throughput bandwidth iops cost costs costing overhead penalty price % percent";

/// Between two things that are compared.
pub(super) const COMPARING: &str = "or vs versus against and than";

/// Phrases that ask for the price of something.
pub(super) const COST_PHRASES: &[&str] = &[
    "how much slower",
    "how much faster",
    "how much speed",
    "how much performance",
    "how much time",
    "how much does",
    "do i lose",
    "would i lose",
    "how expensive",
    "slow down",
    "slows down",
    "speed penalty",
    "performance hit",
    "performance penalty",
    "performance cost",
    "performance impact",
    "impact of",
    "is the price",
    "worth it",
    "worth",
    "cost",
    "costs",
    "costing",
    "overhead",
    "penalty",
    "price",
    "help",
    "helps",
    "hurt",
    "hurts",
];

/// Whether a word that was not understood may change the question: one that negates or compares, a number, or an option.
pub(super) fn may_change_question(word: &str) -> bool {
    let is_option = word.starts_with('-') || word.contains('=');
    let has_digit = word.contains(|letter: char| letter.is_ascii_digit());
    is_option
        || has_digit
        || super::sentence::is_in(word, EXCLUDING)
        || super::sentence::is_in(word, CHANGING)
}

/// A number in digits or in words.
pub(super) fn number_called(word: &str) -> Option<f64> {
    const WORDS: [(&str, f64); 12] = [
        ("one", 1.0),
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("ten", 10.0),
        ("fifteen", 15.0),
        ("twenty", 20.0),
        ("thirty", 30.0),
        ("sixty", 60.0),
        ("an", 1.0),
        ("a", 1.0),
    ];
    let in_words = WORDS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    in_words.or_else(|| word.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0))
}
