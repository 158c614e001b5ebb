//! The regular expression of `match`: finds the last number in the output of a program, in time linear in the output.
//!
//! A search from match to match takes quadratic time if each search looks far ahead: `1.*x|1` reads to the end of the
//! line at each 1 of a line without an x. This module therefore lets one search repeat the pattern. By the priorities
//! of leftmost-first matching, `\A(?:.*?(PATTERN))*` passes through the same matches as a search from match to match,
//! and its groups keep the last of them. Each byte is then looked at once for each state of the compiled pattern, whose
//! number is bounded.

use std::ops::Range;

use fsverdict_text::Reason;
use regex_lite::{Regex, RegexBuilder};

/// The maximum length of a pattern in bytes.
const PATTERN_TEXT: usize = 1000;
/// The maximum size of a compiled pattern in bytes: 512 KiB of output are searched within two seconds.
const COMPILED: usize = 8 << 10;
const EXAMPLE: &str = "for example: match = 'tps = ([-+0-9.,eE]+)'";

/// A pattern that finds the last number in a text.
#[derive(Debug, Clone)]
pub struct NumberPattern {
    /// Group 1 is the last match, group 2 the number in it.
    repeated: Regex,
}

impl NumberPattern {
    /// Compiles a pattern, in which `^` and `$` are of lines.
    ///
    /// # Errors
    /// If the pattern is invalid or too large, does not have exactly one group, or also matches an empty text.
    pub fn new(pattern: &str) -> Result<Self, Reason> {
        if pattern.len() > PATTERN_TEXT {
            return Err(Reason::new(format!("the pattern is longer than {PATTERN_TEXT} bytes"), EXAMPLE));
        }
        let invalid = |error: regex_lite::Error| {
            let what = format!("`{pattern}` is no pattern (a regular expression): {error}");
            Reason::new(what, EXAMPLE)
        };
        let alone = new_builder(pattern).build().map_err(|error| match new_builder(pattern).size_limit(COMPILED * 128).build() {
            Ok(_) => Reason::new(
                format!("`{pattern}` is too large: compiled, a pattern may have {} KiB", COMPILED >> 10),
                "repeat fewer characters: `.*` in place of `.{1,500}`, or begin with the words right before the number",
            ),
            Err(_) => invalid(error),
        })?;
        match alone.captures_len() - 1 {
            1 => {}
            groups => {
                return Err(Reason::new(
                    format!("`{pattern}` has {groups} groups, and one is wanted: around the number"),
                    "write ( ) around the number, and (?: ) where a group is not the number's",
                ));
            }
        }
        if matches_nothing(pattern) {
            return Err(Reason::new(
                format!("`{pattern}` also matches where nothing stands, and so at the end of any output"),
                "let it ask for a character at least: ([0-9.]+) in place of ([0-9.]*)",
            ));
        }
        let repeated = compile_enclosed(r"\A(?:.*?(", pattern, "))*").map_err(invalid)?;
        Ok(NumberPattern { repeated })
    }

    /// The place of the number in the last match; `None` if nothing matches, or the last match has no number.
    pub fn find_last(&self, text: &str) -> Option<Range<usize>> {
        let found = self.repeated.captures(text)?;
        let (matched, number) = (found.get(1)?.range(), found.get(2)?.range());
        // A group keeps its text of an earlier match.
        (matched.start <= number.start && number.end <= matched.end).then_some(number)
    }
}

fn new_builder(pattern: &str) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.multi_line(true).size_limit(COMPILED);
    builder
}

/// Compiles a pattern with something around it, where `.` is any character.
fn compile_enclosed(before: &str, pattern: &str, behind: &str) -> Result<Regex, regex_lite::Error> {
    let compile = |end: &str| {
        let text = format!("(?s:{before}(?-s:{pattern}{end}){behind})");
        // Room for the text around it.
        RegexBuilder::new(&text).multi_line(true).size_limit(2 * COMPILED).build()
    };
    // Where blanks do not count (`(?x)`), a comment may reach to the end of the pattern.
    compile("").or_else(|error| compile("\n").map_err(|_| error))
}

/// Whether the pattern matches an empty text, between whichever characters.
fn matches_nothing(pattern: &str) -> bool {
    const BESIDE: [&str; 3] = ["\n", "a", " "];
    let between = |before: &str, behind: &str, texts: &[String]| {
        let matcher = compile_enclosed(&format!(r"\A{before}"), pattern, &format!(r"{behind}\z"));
        matcher.is_ok_and(|matcher| texts.iter().any(|text| matcher.is_match(text)))
    };
    let both: Vec<String> =
        BESIDE.iter().flat_map(|one| BESIDE.map(|other| format!("{one}{other}"))).collect();
    let one = BESIDE.map(str::to_owned);
    let at_end = pattern.contains(r"\A") || pattern.contains(r"\z");
    between(".", ".", &both)
        || at_end && (between("", ".", &one) || between(".", "", &one) || between("", "", &[String::new()]))
}

#[cfg(test)]
mod tests {
    use super::{NumberPattern, new_builder};

    #[test]
    fn a_pattern_has_one_group_and_is_bounded() {
        assert_eq!(
            NumberPattern::new("^tps = ([0-9.]+)").unwrap().find_last("x\ntps = 12.5 (with)"),
            Some(8..12)
        );
        for (wrong, why) in [
            ("tps = [0-9.]+", "0 groups"),
            ("(a)(b)", "2 groups"),
            ("(", "no pattern"),
            (")(?:(", "no pattern"),
            (&"a".repeat(2000), "longer than"),
            ("(a{1000}{1000}{1000})", "no pattern"),
            ("((?:1?){500}x|1)", "too large"),
            ("([0-9]*)", "where nothing stands"),
            (r"\b()", "where nothing stands"),
            (r"\A(1?)", "where nothing stands"),
            ("^(1?)$", "where nothing stands"),
        ] {
            let error = NumberPattern::new(wrong).unwrap_err();
            assert!(error.what.contains(why), "{}", error.what);
            assert!(error.what.len() < 1500 && !error.hint.is_empty());
        }
    }

    /// Compares one search with a search from match to match.
    #[test]
    fn the_last_match_is_the_one_that_a_search_from_match_to_match_ends_with() {
        let texts = [
            "",
            "1",
            "12.5 33\n",
            "aaaaa",
            "aaaaaa",
            "1 1 x 1\n1 a x 1 b\n",
            "3122,92,33851,7,\n",
            ",1,2,3,4,5,6,\n",
            "tps = 10.5\ntps = 20.5 x\n\ntps 3",
            "\n\n1\n\nx",
            "é1é2x",
            "1xx1x11",
            "a b\n12\tx",
            "rate 1e-05 s, 2 s",
        ];
        let patterns = [
            "([0-9.]+)",
            "(1.*x|1)",
            "([^x]*x|1)",
            "(aa)",
            "a(a)a?",
            r",([0-9]+),",
            r"\b([0-9]+)\b",
            "^([a-z]+)",
            "([0-9]+)$",
            r"tps\s=?\s*([-+0-9.,eE]+)",
            "(?s)1.*(x)",
            "(?i)TPS = ([0-9]+)",
            "(?x) ([0-9]) # a digit",
            "x|([0-9])",
            "([0-9])|x",
            r"\D([0-9]+?)",
            r"([\s\S]+)",
            r"([\s\S])",
            r"\A(.)",
            r"(.)\z",
            r"(?-s).(.)",
            "(?:1|é)+?(x|2)",
            r"(\S+)\s",
        ];
        for pattern in patterns {
            let (single, each) =
                (NumberPattern::new(pattern).unwrap(), new_builder(pattern).build().unwrap());
            for text in texts {
                let last = each.captures_iter(text).last().and_then(|found| Some(found.get(1)?.range()));
                assert_eq!(single.find_last(text), last, "{pattern:?} in {text:?}");
            }
        }
    }

    /// A search from match to match takes minutes for the first, without optimisation hours.
    #[test]
    fn a_pattern_that_looks_far_ahead_at_every_match_takes_linear_time() {
        let line = "1".repeat(100_000);
        for pattern in ["(1.*x|1)", r"([^x]*x|1)", r"(1+x|1)", "(1[01]*(?:x|y)|1)", r"(1(?:.|\s)*x|1)"] {
            let found = NumberPattern::new(pattern).unwrap().find_last(&line);
            assert_eq!(found, Some(line.len() - 1..line.len()), "{pattern}");
        }
    }
}
