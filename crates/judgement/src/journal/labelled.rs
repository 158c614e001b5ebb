//! Enumerations of which each case is a row: its name in a journal, which is the variant's in snake case, and its label.

/// Declares an enumeration with `ALL`, its cases in the order of the rows, and `words`, their labels in reports.
macro_rules! labelled {
    ($(#[$attribute:meta])* pub enum $name:ident {
        $($(#[$documentation:meta])* $case:ident = $label:literal,)*
    }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$documentation])* $case,)*
        }

        impl $name {
            /// Every case, in the order of the rows.
            pub const ALL: [$name; [$($label),*].len()] = [$($name::$case),*];

            /// The label in reports.
            pub const fn words(self) -> &'static str {
                match self {
                    $($name::$case => $label,)*
                }
            }
        }
    };
}

pub(super) use labelled;
