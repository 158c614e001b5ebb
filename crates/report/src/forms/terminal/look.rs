//! Detects the abilities of the output: terminal width, colours, Unicode or only ASCII.

use std::io::IsTerminal;

use rustix::termios::tcgetwinsize;

/// The abilities of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalLook {
    pub columns: usize,
    /// Colours and bold type. They never carry meaning alone.
    pub colour: bool,
    /// Signs and bars beyond ASCII.
    pub unicode: bool,
    /// Whether to show the costs, too: throughput, CPU, device, space.
    pub detail: bool,
}

/// The minimum width, below which a table has no room; `WIDEST` keeps lines short enough to read.
const NARROWEST: usize = 60;
const WIDEST: usize = 120;
/// The width for files and pipes.
const USUAL: usize = 100;

impl TerminalLook {
    /// Detects the properties of standard output.
    pub fn of_stdout(detail: bool) -> Self {
        let stdout = std::io::stdout();
        let columns = tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
        Self::suited(stdout.is_terminal(), columns, detail, |name| std::env::var(name).ok())
    }

    /// The width at which lists are wrapped. There is none for a file or a pipe without a width in `COLUMNS`: every
    /// entry is then one line, for grep(1) and awk(1).
    pub fn list_width() -> Option<usize> {
        let look = Self::of_stdout(false);
        let is_given = std::env::var_os("COLUMNS").is_some_and(|value| !value.is_empty());
        (std::io::stdout().is_terminal() || is_given).then_some(look.columns)
    }

    /// The look for an output that is a terminal or not, with this many columns, in this environment.
    pub fn suited(
        is_terminal: bool,
        columns: Option<usize>,
        detail: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name)).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        let columns = columns
            .filter(|columns| is_terminal && *columns > 0)
            .or_else(|| set("COLUMNS")?.parse().ok())
            .unwrap_or(USUAL);
        Self {
            columns: columns.clamp(NARROWEST, WIDEST),
            colour: is_terminal && !dumb && set("NO_COLOR").is_none(),
            unicode: !dumb && (locale.contains("utf-8") || locale.contains("utf8")),
            detail,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    pub(crate) best: &'static str,
    pub(crate) tied: &'static str,
    pub(crate) plus_minus: &'static str,
    pub(crate) times: &'static str,
    pub(crate) rule: &'static str,
    pub(crate) bar: &'static str,
    pub(crate) half_bar: &'static str,
    pub(crate) bullet: &'static str,
    pub(crate) none: &'static str,
    pub(crate) more: &'static str,
}

/// Signs that the fonts of a plain Linux console also have.
pub(crate) const UNICODE: Signs = Signs {
    best: "►",
    tied: "≈",
    plus_minus: "±",
    times: "×",
    rule: "─",
    bar: "█",
    half_bar: "▌",
    bullet: "·",
    none: "–",
    more: "…",
};

pub(crate) const ASCII: Signs = Signs {
    best: "*",
    tied: "~",
    plus_minus: "+-",
    times: "x",
    rule: "-",
    bar: "#",
    half_bar: "",
    bullet: "-",
    none: "-",
    more: "...",
};

#[cfg(test)]
mod tests {
    use super::TerminalLook;

    fn look(is_terminal: bool, columns: Option<usize>, variables: &[(&str, &str)]) -> TerminalLook {
        TerminalLook::suited(is_terminal, columns, false, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_modern_terminal_gets_colour_and_unicode() {
        let seen = look(true, Some(90), &[("LANG", "en_GB.UTF-8"), ("TERM", "xterm-256color")]);
        assert_eq!(seen, TerminalLook { columns: 90, colour: true, unicode: true, detail: false });
    }

    #[test]
    fn what_cannot_show_it_gets_it_plain() {
        let utf8 = ("LANG", "de_DE.utf8");
        assert!(!look(true, None, &[utf8, ("NO_COLOR", "1")]).colour);
        assert!(look(true, None, &[utf8, ("NO_COLOR", "")]).colour);
        assert!(!look(false, None, &[utf8]).colour);
        let dumb = look(true, None, &[utf8, ("TERM", "dumb")]);
        assert!(!dumb.colour && !dumb.unicode);
        assert!(!look(true, None, &[("LANG", "C")]).unicode);
        assert!(!look(true, None, &[utf8, ("LC_ALL", "C")]).unicode);
        assert!(!look(true, None, &[]).unicode);
    }

    #[test]
    fn the_width_stays_readable() {
        assert_eq!(look(true, Some(300), &[]).columns, 120);
        assert_eq!(look(true, Some(20), &[]).columns, 60);
        assert_eq!(look(true, Some(0), &[]).columns, 100);
        assert_eq!(look(false, Some(80), &[]).columns, 100);
        assert_eq!(look(false, None, &[("COLUMNS", "72")]).columns, 72);
    }
}
