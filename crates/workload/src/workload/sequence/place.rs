//! The names that the calls of sequences use.

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

    /// The components of the path below the sequence's folder.
    pub(super) fn components(self) -> &'static [&'static str] {
        match self {
            SequencePlace::Root => &[],
            SequencePlace::A => &["A"],
            SequencePlace::B => &["B"],
            SequencePlace::C => &["C"],
            SequencePlace::AFoo => &["A", "foo"],
            SequencePlace::ABar => &["A", "bar"],
            SequencePlace::ABaz => &["A", "baz"],
            SequencePlace::AQux => &["A", "qux"],
            SequencePlace::AC => &["A", "C"],
            SequencePlace::BFoo => &["B", "foo"],
            SequencePlace::CFoo => &["C", "foo"],
        }
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
