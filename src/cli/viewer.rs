//! Opening a page in the user's browser.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fsverdict_linux::sandbox::program::find_program;

/// Programs that open a file in the user's preferred viewer; the first that is installed is taken.
const OPENERS: [&str; 4] = ["xdg-open", "wslview", "sensible-browser", "x-www-browser"];
/// Variables that a session's programs need to find the screen, and that sudo(8) removes.
const SESSION: &str = "DISPLAY,WAYLAND_DISPLAY,XAUTHORITY,XDG_RUNTIME_DIR,DBUS_SESSION_BUS_ADDRESS,BROWSER";

/// A page cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum ViewerError {
    #[error("this machine has no program that opens a page (looked for $BROWSER, {})", OPENERS.join(", "))]
    None,
    #[error("there is no display to open a page on: neither DISPLAY nor WAYLAND_DISPLAY nor BROWSER is set")]
    NoDisplay,
    #[error("cannot start {}: {source}", program.display())]
    Start { program: PathBuf, source: std::io::Error },
}

/// Opens the page in the user's browser, and does not wait for it.
///
/// `$BROWSER` is a list of programs with colons between, of which the first that is there is taken. Where root works
/// for somebody else (sudo(8)), it is that user's browser: browsers refuse to be root's.
pub(super) fn open(page: &Path) -> Result<(), ViewerError> {
    let wanted = std::env::var("BROWSER").unwrap_or_default();
    let named = wanted.split(':').filter(|name| !name.is_empty());
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(set) {
        return Err(ViewerError::NoDisplay);
    }
    let program = named.chain(OPENERS).find_map(find_program).ok_or(ViewerError::None)?;
    let user = std::env::var("SUDO_USER").ok().filter(|_| rustix::process::geteuid().is_root());
    let mut command = command(&program, page, user.as_deref());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C is meant for us, not for the browser.
    command.process_group(0);
    let started = command.spawn();
    // Some of them stay until the window is closed; somebody has to collect them if we are still there.
    let mut child = started.map_err(|source| ViewerError::Start { program, source })?;
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Shows a manual page as man(1) does, to its end. Whether that could be done.
pub(super) fn show_manual(page: &[u8]) -> bool {
    let Some(program) = find_program("man") else { return false };
    let Ok(mut child) = Command::new(program).args(["-l", "-"]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    // The user may close it early.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(page);
    }
    child.wait().is_ok_and(|status| status.success())
}

fn command(program: &Path, page: &Path, user: Option<&str>) -> Command {
    let Some(user) = user else {
        let mut command = Command::new(program);
        command.arg(page);
        return command;
    };
    let mut command = Command::new("sudo");
    let preserve = format!("--preserve-env={SESSION}");
    command.args(["--non-interactive", "--user", user, &preserve, "--"].map(OsStr::new));
    command.args([program.as_os_str(), page.as_os_str()]);
    command
}

#[cfg(test)]
mod tests {
    use super::command;
    use std::path::Path;

    fn words(user: Option<&str>) -> String {
        let command = command(Path::new("/usr/bin/xdg-open"), Path::new("/tmp/a b.html"), user);
        format!("{command:?}")
    }

    #[test]
    fn the_browser_is_the_user_s_who_called_sudo() {
        assert_eq!(words(None), r#""/usr/bin/xdg-open" "/tmp/a b.html""#);
        let words = words(Some("eva"));
        assert!(words.starts_with(r#""sudo" "--non-interactive" "--user" "eva""#), "{words}");
        assert!(words.ends_with(r#""--" "/usr/bin/xdg-open" "/tmp/a b.html""#), "{words}");
    }
}
