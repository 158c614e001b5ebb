//! The names that the calls of sequences use.

/// The names of the calls; a label of the model of files is a place in this list.
const LABELS: [&str; 7] = ["A", "B", "C", "bar", "baz", "foo", "qux"];

/// The text of a label.
pub(super) fn label_text(label: u32) -> &'static str {
    LABELS.get(label as usize).copied().unwrap_or_default()
}

/// A path below the folder of a sequence. The calls determine which of them exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SequencePlace {
    /// The folder itself.
    Root,
    A,
    B,
    C,
    AFoo,
    ABar,
    ABaz,
    AQux,
    AC,
    BFoo,
    CFoo,
}

impl SequencePlace {
    /// The places where files may be.
    pub(super) const FILES: [SequencePlace; 6] = [
        SequencePlace::AFoo,
        SequencePlace::ABar,
        SequencePlace::ABaz,
        SequencePlace::AQux,
        SequencePlace::BFoo,
        SequencePlace::CFoo,
    ];

    /// The labels of the components of the path below the sequence's folder.
    pub(super) fn labels(self) -> impl Iterator<Item = u32> {
        self.path()
            .split('/')
            .filter_map(|part| LABELS.iter().position(|label| *label == part).map(|at| at as u32))
    }

    /// The path as a string; `.` for the folder itself.
    pub(super) fn path(self) -> &'static str {
        match self {
            SequencePlace::Root => ".",
            SequencePlace::A => "A",
            SequencePlace::B => "B",
            SequencePlace::C => "C",
            SequencePlace::AFoo => "A/foo",
            SequencePlace::ABar => "A/bar",
            SequencePlace::ABaz => "A/baz",
            SequencePlace::AQux => "A/qux",
            SequencePlace::AC => "A/C",
            SequencePlace::BFoo => "B/foo",
            SequencePlace::CFoo => "C/foo",
        }
    }

    /// The parent directory; the root is its own parent.
    pub(super) fn parent(self) -> SequencePlace {
        match self {
            SequencePlace::Root | SequencePlace::A | SequencePlace::B | SequencePlace::C => {
                SequencePlace::Root
            }
            SequencePlace::AFoo
            | SequencePlace::ABar
            | SequencePlace::ABaz
            | SequencePlace::AQux
            | SequencePlace::AC => SequencePlace::A,
            SequencePlace::BFoo => SequencePlace::B,
            SequencePlace::CFoo => SequencePlace::C,
        }
    }
}
