//! The programs that a filesystem or layer needs, and the packages that contain them.

/// A program that must be there before a candidate can be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// Its name, to be looked up in `PATH` and in `/usr/sbin` and `/sbin`, which an ordinary user's `PATH` may lack.
    pub program: &'static str,
    /// Arguments that make it print its version and do nothing else. The version is in the first line that holds a
    /// digit, on stdout or stderr; the exit status means nothing (`fsck.reiser4 -V` ends with 16).
    pub version: &'static [&'static str],
    /// Its package, per family of distributions.
    pub packages: Packages,
}

impl Tool {
    /// The line of a version probe's output (stdout, then stderr) with the version: the first with a digit.
    pub fn version_line(output: &str) -> Option<&str> {
        output.lines().map(str::trim).find(|line| line.contains(|letter: char| letter.is_ascii_digit()))
    }
}

/// The package of one tool, per family of distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packages {
    /// Debian, Ubuntu and derivatives.
    pub debian: Package,
    pub fedora: Package,
    /// Arch Linux and derivatives.
    pub arch: Package,
    pub opensuse: Package,
}

impl Packages {
    /// The same name everywhere, in every distribution's own repositories.
    pub const fn everywhere(name: &'static str) -> Self {
        let package = Package::Official(name);
        Self { debian: package, fedora: package, arch: package, opensuse: package }
    }

    pub const fn package_on(&self, distribution: Distribution) -> Package {
        match distribution {
            Distribution::Debian => self.debian,
            Distribution::Fedora => self.fedora,
            Distribution::Arch => self.arch,
            Distribution::OpenSuse => self.opensuse,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// In the distribution's own repositories, under this name.
    Official(&'static str),
    /// Not in the distribution's own repositories; this sentence says where to find it.
    Elsewhere(&'static str),
}

/// A family of distributions that share package names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    Debian,
    Fedora,
    Arch,
    OpenSuse,
}

impl Distribution {
    /// All families, in the order of the columns of `scripts/packages`.
    pub const ALL: [Self; 4] = [Self::Debian, Self::Fedora, Self::Arch, Self::OpenSuse];

    /// The command that installs the packages appended to it.
    pub const fn install_command(self) -> &'static str {
        match self {
            Self::Debian => "apt-get install",
            Self::Fedora => "dnf install",
            Self::Arch => "pacman -S",
            Self::OpenSuse => "zypper install",
        }
    }

    /// The family that an `/etc/os-release` text names in `ID` or else `ID_LIKE`; none when it is another.
    pub fn from_os_release(text: &str) -> Option<Self> {
        let value = |key: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(name, _)| *name == key)
                .map_or(String::new(), |(_, value)| value.trim().trim_matches(['"', '\'']).to_owned())
        };
        let words = format!("{} {}", value("ID"), value("ID_LIKE"));
        words.split_whitespace().find_map(|word| match word {
            "debian" | "ubuntu" => Some(Self::Debian),
            "fedora" | "rhel" | "centos" => Some(Self::Fedora),
            "arch" | "archlinux" => Some(Self::Arch),
            "suse" | "opensuse" => Some(Self::OpenSuse),
            _ if word.starts_with("opensuse-") => Some(Self::OpenSuse),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn os_release_names_the_family() {
        let cases = [
            ("ID=debian\n", Some(Distribution::Debian)),
            ("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", Some(Distribution::Debian)),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", Some(Distribution::Debian)),
            ("ID='fedora'\n", Some(Distribution::Fedora)),
            ("ID=\"almalinux\"\nID_LIKE=\"rhel centos fedora\"\n", Some(Distribution::Fedora)),
            ("ID=arch\n", Some(Distribution::Arch)),
            ("ID=endeavouros\nID_LIKE=\"arch\"\n", Some(Distribution::Arch)),
            ("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n", Some(Distribution::OpenSuse)),
            ("ID=alpine\n", None),
            ("VARIANT_ID=debian\n", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Distribution::from_os_release(text), expected, "{text}");
        }
    }
}
