//! On a terminal, the identity that would lift the guard's refusal may be typed instead of given as `--erase`.

use std::io::{BufRead, IsTerminal};

use crate::host::guard::Refusal;
use crate::host::talk::{self, say};

/// What the user types; `None` where nobody can be asked, or types nothing.
pub(super) fn ask(refusal: &Refusal) -> Option<String> {
    let identity = refusal.erase_identity()?;
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    say(&refusal.to_string());
    talk::ask(&format!("To destroy everything on it, type its identity ({identity}): "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).ok()?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}
