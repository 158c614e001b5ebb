//! Shows long results in the user's pager, as git(1) does: only on a terminal, and only if they are longer than the
//! screen.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use clap::Args;
use rustix::termios::tcgetwinsize;

use fsverdict_linux::host::results::{result_writer, result_writer_to};
use fsverdict_linux::sandbox::program::find_program;
use fsverdict_text::screen_lines;

/// The pager if the user has set none.
const USUAL: &str = "less";
/// The options of less(1) if the user has set none: it ends by itself if all fits the screen, shows styles, and leaves
/// the text on the screen.
const LESS: &str = "FRX";

#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct PagerArguments {
    /// Print all at once on a terminal, too, and not through $FSVERDICT_PAGER, $PAGER or less
    #[arg(long)]
    no_pager: bool,
}

/// A result in memory, until it is known whether it fits the screen.
#[derive(Debug)]
pub(super) struct PagedOutput {
    text: Vec<u8>,
    arguments: PagerArguments,
}

impl PagedOutput {
    pub(super) fn new(arguments: PagerArguments) -> Self {
        Self { text: Vec::new(), arguments }
    }

    /// Shows it: in the pager, or at once where there is none or it is not needed.
    ///
    /// # Errors
    /// Where standard output does not take it.
    pub(super) fn show(self) -> io::Result<()> {
        let variable = |name: &str| std::env::var(name).ok();
        let is_long = || screen().is_some_and(|screen| screen.lines_of(&self.text) >= screen.rows);
        let program = pager_of(variable).filter(|_| !self.arguments.no_pager && is_long());
        match program.and_then(|program| start_pager(&program)) {
            Some(pager) => show_in(pager, &self.text),
            None => result_writer().write_all(&self.text),
        }
    }
}

impl Write for PagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The size of the terminal at standard output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    pub(super) rows: usize,
    columns: usize,
}

/// `None` where standard output is no terminal, or one that does not say how large it is.
pub(super) fn screen() -> Option<Screen> {
    let stdout = io::stdout();
    let size = stdout.is_terminal().then(|| tcgetwinsize(&stdout).ok()).flatten()?;
    let screen = Screen { rows: usize::from(size.ws_row), columns: usize::from(size.ws_col) };
    (screen.rows > 0 && screen.columns > 0).then_some(screen)
}

impl Screen {
    /// The lines that a text takes on it.
    pub(super) fn lines_of(self, text: &[u8]) -> usize {
        screen_lines(&String::from_utf8_lossy(text), self.columns)
    }
}

/// The user's pager by environment(7), a line for the shell; `None` where none is wanted.
fn pager_of(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let is_dumb = variable("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb");
    let named = ["FSVERDICT_PAGER", "PAGER"].into_iter().find_map(variable);
    let program = named.unwrap_or_else(|| USUAL.to_owned());
    let is_wanted = !is_dumb && !program.trim().is_empty() && program.trim() != "cat";
    is_wanted.then_some(program)
}

/// Starts it with a pipe to its input; `None` where there is no such program.
fn start_pager(line: &str) -> Option<Child> {
    let program = line.split_whitespace().next()?;
    find_program(program)?;
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    command.spawn().ok()
}

/// Shows the text in the pager. If the user closes it early, that is no failure.
fn show_in(mut pager: Child, text: &[u8]) -> io::Result<()> {
    let input = pager.stdin.take();
    let written = input.map_or(Ok(()), |input| result_writer_to(Box::new(input)).write_all(text));
    let ended = pager.wait();
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => ended.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::pager_of;

    fn pager(variables: &[(&str, &str)]) -> Option<String> {
        let terminal = [("TERM", "xterm")];
        let all = || variables.iter().chain(&terminal);
        pager_of(|name| all().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_pager_is_the_user_s_and_none_where_none_is_wanted() {
        assert_eq!(pager(&[]).as_deref(), Some("less"));
        assert_eq!(pager(&[("PAGER", "more")]).as_deref(), Some("more"));
        assert_eq!(pager(&[("PAGER", "more"), ("FSVERDICT_PAGER", "less -S")]).as_deref(), Some("less -S"));
        for none in ["", "cat", " cat "] {
            assert_eq!(pager(&[("PAGER", "more"), ("FSVERDICT_PAGER", none)]), None, "{none:?}");
        }
        assert_eq!(pager(&[("TERM", "dumb")]), None);
    }
}
