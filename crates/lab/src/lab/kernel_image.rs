//! Reads the release, the configuration and the options of a User-Mode-Linux kernel from the bytes of its file, without
//! starting it: a plan names the file, and whoever only looks at a plan runs nothing of it.
//!
//! The kernel prints all of this from strings in its data, each of which ends with a zero byte: the banner
//! (`init/version-timestamp.c`), one string for each line of `--showconfig` (`arch/um/kernel/config.c.in`), and one for
//! each option of `--help` (`__uml_setup`, `arch/um/include/shared/init.h`).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{CWD, OFlags};

use crate::kernel::{LARGEST_CONFIG, LARGEST_KERNEL, is_release};
use fsverdict_folders::{Links, open_regular};
use fsverdict_text::Bytes;

/// The banner begins with this, and goes on with the release and ` (`.
const BANNER: &[u8] = b"Linux version ";
/// A line of the configuration begins with this; those of options that are not set are comments.
const OPTION: &[u8] = b"CONFIG_";
/// The help of the option `seccomp=`, which User-Mode Linux has since 6.16, begins with this.
const SECCOMP: &[u8] = b"seccomp=<";
/// Bytes of a string: a longer one is none of those that are looked for.
const LONGEST_STRING: usize = 64 << 10;
/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// The content of a kernel's file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KernelImage {
    /// As in the banner; `None` if there is none.
    pub release: Option<String>,
    /// The options that are set, by their symbols.
    pub configuration: BTreeMap<String, String>,
    /// Whether it has the option `seccomp=`.
    pub has_seccomp: bool,
}

impl KernelImage {
    /// Reads a regular file of bounded size that can be executed, once from its beginning to its end.
    ///
    /// # Errors
    /// If it is none, cannot be read, or holds more lines of a configuration than a kernel has.
    pub(super) fn read_file(path: &Path) -> io::Result<Self> {
        let file = open_regular(CWD, path, OFlags::RDONLY, Links::Follow)?;
        let facts = file.metadata()?;
        if facts.len() > LARGEST_KERNEL {
            let statement = format!("it is larger than a kernel is, {}", Bytes(LARGEST_KERNEL));
            return Err(io::Error::new(ErrorKind::FileTooLarge, statement));
        }
        if facts.permissions().mode() & 0o111 == 0 {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "nobody may execute it"));
        }
        Self::read_strings(file)
    }

    /// Reads the bytes of a kernel's file, as many as a kernel may have.
    ///
    /// # Errors
    /// If they cannot be read, or hold more lines of a configuration than a kernel has.
    pub fn read_strings(file: impl Read) -> io::Result<Self> {
        let mut scan = StringScan::default();
        let mut piece = vec![0; PIECE];
        // The file may grow meanwhile.
        let mut file = file.take(LARGEST_KERNEL);
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => scan.add_piece(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if scan.configuration_bytes > LARGEST_CONFIG {
                let statement = format!("its configuration is longer than {}", Bytes(LARGEST_CONFIG));
                return Err(io::Error::new(ErrorKind::InvalidData, statement));
            }
        }
        Ok(scan.image)
    }
}

/// Takes a file apart into the strings that end with a zero byte.
#[derive(Default)]
struct StringScan {
    image: KernelImage,
    configuration_bytes: u64,
    /// The beginning of a string that goes on in the next piece.
    open: Vec<u8>,
}

impl StringScan {
    fn add_piece(&mut self, piece: &[u8]) {
        // The holes of a sparse file.
        static ZEROS: [u8; PIECE] = [0; PIECE];
        if self.open.is_empty() && ZEROS.get(..piece.len()) == Some(piece) {
            return;
        }
        let mut parts = piece.split(|byte| *byte == 0).peekable();
        while let Some(part) = parts.next() {
            let ends = parts.peek().is_some();
            if ends && self.open.is_empty() {
                self.add_string(part);
                continue;
            }
            // One byte more than the longest shows that it is longer.
            let room = (LONGEST_STRING + 1).saturating_sub(self.open.len());
            self.open.extend_from_slice(part.get(..room).unwrap_or(part));
            if ends {
                let string = std::mem::take(&mut self.open);
                self.add_string(&string);
            }
        }
    }

    fn add_string(&mut self, string: &[u8]) {
        let Some(line) = string.strip_suffix(b"\n").filter(|line| line.len() < LONGEST_STRING) else {
            return;
        };
        if line.starts_with(SECCOMP) {
            self.image.has_seccomp = true;
        } else if line.starts_with(OPTION) {
            let text = String::from_utf8_lossy(line);
            if let Some((symbol, value)) = text.split_once('=').filter(|_| !text.contains('\n')) {
                self.configuration_bytes += line.len() as u64;
                self.image.configuration.insert(symbol.to_owned(), value.to_owned());
            }
        } else if self.image.release.is_none() {
            self.image.release = find_release(line);
        }
    }
}

/// The release in the banner `Linux version RELEASE (…`. What lies before it in the kernel's data need not end with a
/// zero.
fn find_release(line: &[u8]) -> Option<String> {
    let at = line.windows(BANNER.len()).position(|window| window == BANNER)?;
    let rest = line.get(at + BANNER.len()..)?;
    let (release, behind) = rest.split_at_checked(rest.iter().position(|byte| *byte == b' ')?)?;
    let release = std::str::from_utf8(release).ok().filter(|release| is_release(release))?;
    behind.starts_with(b" (").then(|| release.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{KernelImage, LONGEST_STRING, PIECE, StringScan};
    use crate::lab::kernel::parse_configuration;

    fn scan(pieces: &[&[u8]]) -> KernelImage {
        let mut scan = StringScan::default();
        pieces.iter().for_each(|piece| scan.add_piece(piece));
        scan.image
    }

    const KERNEL: &[u8] = b"\x7fELF\0\xff\xfeLinux version 6.12.1-x (me@here) (gcc 12) #1 SMP\n\0%s\0\
        # CONFIG_A is not set\n\0CONFIG_B=y\n\0CONFIG_C=\"a=b\"\n\0CONFIG_D=y\0CONFIG_E is wanted\n\0\
        CONFIG_F=y\nCONFIG_G=y\n\0seccomp=\0seccomp=<on/auto/off>\n    Configure\n\0";

    #[test]
    fn strings_are_found_wherever_the_file_is_cut() {
        let whole = scan(&[KERNEL]);
        assert_eq!(whole.release.as_deref(), Some("6.12.1-x"));
        let symbols: Vec<&str> = whole.configuration.keys().map(String::as_str).collect();
        assert_eq!(symbols, ["CONFIG_B", "CONFIG_C"]);
        assert_eq!(whole.configuration["CONFIG_C"], "\"a=b\"");
        assert!(whole.has_seccomp);
        for at in 0..KERNEL.len() {
            let (before, behind) = KERNEL.split_at(at);
            assert_eq!(scan(&[before, behind]), whole, "{at}");
        }
        for (bytes, wanted) in [
            (b"Linux version ../../etc (x)\n\0".as_slice(), None),
            (b"Linux version 6.1 is needed\n\0", None),
            (b"needs Linux version 6.1\n\0Linux version 6.2 (x)\n\0", Some("6.2")),
            (b"Linux version 6.1 (x)\0", None),
            (b"Linux version 6.1 (x)\n", None),
        ] {
            assert_eq!(scan(&[bytes]).release.as_deref(), wanted, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_string_without_end_takes_bounded_memory() {
        let mut scan = StringScan::default();
        for _ in 0..64 {
            scan.add_piece(&[b'x'; PIECE]);
            assert!(scan.open.len() <= LONGEST_STRING + 1);
        }
        scan.add_piece(b"\n\0CONFIG_A=y\n\0");
        assert_eq!(scan.image.configuration.len(), 1);
    }

    #[test]
    fn whatever_is_no_kernel_is_refused_and_neither_waited_for_nor_read_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let put = |name: &str, bytes: &[u8], mode: u32| {
            fs::write(path(name), bytes).unwrap();
            fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
        };
        put("kernel", KERNEL, 0o755);
        assert!(KernelImage::read_file(&path("kernel")).unwrap().release.is_some());
        put("script", b"#!/bin/sh\necho Linux version 6.1\necho CONFIG_A=y\n", 0o755);
        assert_eq!(KernelImage::read_file(&path("script")).unwrap(), KernelImage::default());
        put("no-program", KERNEL, 0o644);
        put("lines", &b"CONFIG_A=y\n\0".repeat(500_000), 0o755);
        put("sparse", b"", 0o755);
        fs::File::options().write(true).open(path("sparse")).unwrap().set_len(15 << 40).unwrap();
        mknodat(CWD, path("pipe"), FileType::Fifo, Mode::from_bits_truncate(0o777), 0).unwrap();
        mknodat(CWD, path("socket"), FileType::Socket, Mode::from_bits_truncate(0o777), 0).unwrap();
        for (name, words) in [
            ("no-program", "nobody may execute it"),
            ("lines", "its configuration is longer than"),
            ("sparse", "it is larger than a kernel is"),
            ("pipe", "it is a pipe"),
            ("socket", "it is a socket"),
            (".", "it is a folder"),
            ("/dev/zero", "it is a device"),
        ] {
            let error = KernelImage::read_file(&path(name)).unwrap_err().to_string();
            assert!(error.contains(words), "{name}: {error}");
        }
        // A hole as large as a kernel may be is passed over.
        fs::File::options().write(true).open(path("kernel")).unwrap().set_len(1 << 30).unwrap();
        assert!(KernelImage::read_file(&path("kernel")).unwrap().release.is_some());
    }

    /// The kernel of Debian's package user-mode-linux, where it is installed.
    #[test]
    fn uml_the_bytes_of_a_kernel_say_what_it_prints() {
        let path = Path::new("/usr/bin/linux.uml");
        let print = |option: &str| {
            let seen = Command::new(path).arg(option).output().unwrap();
            String::from_utf8(seen.stdout).unwrap()
        };
        let image = KernelImage::read_file(path).unwrap();
        assert_eq!(image.release.as_deref(), Some(print("--version").trim()));
        assert_eq!(image.configuration, parse_configuration(&print("--showconfig")));
        assert_eq!(image.has_seccomp, print("--help").lines().any(|line| line.starts_with("seccomp=")));
    }
}
