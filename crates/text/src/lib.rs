//! Text that the program and its user exchange: strict TOML with faults that have positions, quantities with units, shell
//! words, and errors with a reason and a hint.
//!
//! All input is bounded ([`limits`]). All faults of a text are reported at once, each with file, line, the underlined
//! source line and a hint.

mod bounded;
mod display;
mod error;
mod layout;
pub mod limits;
mod member;
mod reason;
mod section;
mod source;
mod suggest;
mod units;
pub mod value;
mod words;

pub use bounded::{bounded_list, bounded_map};
pub use display::{
    DisplayForm, DisplayWriter, is_hidden, is_steering, make_displayable, make_json_displayable,
};
pub use error::{Fault, TextError};
pub use layout::{display_width, screen_lines, wrap_command, wrap_hanging};
pub use limits::LONGEST;
pub use member::{DrawnNumber, DrawnNumbers, Member, read_member};
pub use reason::{Hinted, Reason, ReasonLine};
pub use section::{Placed, Problems, Section, read_strictly, read_tree};
pub use source::{Node, TextProblem, TextSpan, Texts, TomlEntry, TomlTable, TomlValue, parse};
pub use suggest::{find_suggestions, is_one_slip, join_alternatives, join_names, nearest_word, suggest};
pub use units::{
    Bytes, duration_text, parse_duration, parse_short_time, parse_time, rough_duration_text, short_time_text,
};
pub use words::{choose_by_name, quote_start, quoted, split_words};
