//! Choices between words, one row per word: the enumeration, its form in JSON, and its reader follow from the rows.

/// Declares enumerations whose cases have words. A row is a case and its word in plans and in JSON; with `-> (FUNCTION: TYPE)`
/// also what is known of the case, which that function returns. `unknown` is how the message about another
/// word begins.
macro_rules! choice_words {
    (@row $name:ident () $rows:tt) => {};
    (@row $name:ident ($visibility:vis $function:ident: $row:ty) { $($case:ident ($value:expr))* }) => {
        impl $name {
            $visibility const fn $function(self) -> $row {
                match self {
                    $(Self::$case => $value,)*
                }
            }
        }
    };
    ($($(#[$attribute:meta])* $visibility:vis enum $name:ident
        $(-> ($row_visibility:vis $function:ident: $row:ty))? $(, unknown $wrong:literal)? {
        $($(#[$case_attribute:meta])* $case:ident = $word:literal $(=> $value:expr)?,)*
    })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        $visibility enum $name {
            $($(#[$case_attribute])* #[serde(rename = $word)] $case,)*
        }

        impl $name {
            /// Every case, in the order of the rows.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$case),*];

            /// The word in plans.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)*
                }
            }

            /// The case with this word.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|case| case.word() == word)
            }
        }

        choice_words!(@row $name ($($row_visibility $function: $row)?) { $($case ($($value)?))* });

        $(impl std::str::FromStr for $name {
            type Err = fsverdict_text::Reason;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                fsverdict_text::choose_by_name(word, &Self::ALL.map(|case| (case.word(), case)), $wrong)
            }
        })?
    )*};
}

pub(super) use choice_words;
