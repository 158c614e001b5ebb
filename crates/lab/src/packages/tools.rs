//! Tools of a filesystem that few releases of Debian have: fetched as packages into a cache, tested there, and found by
//! labs where the system has none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fsverdict_folders::read_regular;
use fsverdict_judgement::plan::once_each;
use fsverdict_linux::host::cache_folder::{SHARED_CACHE, user_cache};
use fsverdict_linux::sandbox::program::{
    FETCHED_PROGRAMS, FETCHED_TOOLS, Program, find_installed_program, find_program,
};
use fsverdict_linux::sandbox::{Capabilities, Devices, Sandbox, possible_isolation};
use fsverdict_stack::filesystem::{Distribution, Package, Tool, find_filesystem};

use super::archive::read_package;
use super::download::{PackageLists, debian_suite, is_debian, list_dependencies};
use super::error::{PackageError, file_error};
use super::program_folder::{ProgramFolder, is_place_of_libraries, is_place_of_programs};
use super::staged_folder::StagedFolder;

/// The file with a line for each package: its name and version.
const PACKAGES: &str = "packages";
const LARGEST_LIST: u64 = 1 << 16;
/// The folder of packages while they are fetched, and that of the test.
const FETCHED: &str = "fetched";
const TEST: &str = "test";
/// Bytes of the image that is formatted and checked.
const IMAGE: u64 = 256 << 20;
const TEST_LIMIT: Duration = Duration::from_secs(60);
/// Folders that a sandbox covers: paths below them are shown to it.
const COVERED: [&str; 2] = ["/run", "/dev"];
/// How many rounds of dependencies of dependencies are followed.
const DEEPEST: usize = 8;

/// The tools of a filesystem in one package.
#[derive(Debug)]
pub struct ToolSet {
    /// The filesystem, after which its folder is named.
    pub name: &'static str,
    package: &'static str,
    /// The file of the package that all its programs are links to.
    program: &'static str,
    /// The names by which it is started.
    names: &'static [&'static str],
    /// The suites of Debian that have the package, and the libraries that it needs.
    suites: [&'static str; 2],
}

pub static BCACHEFS_TOOLS: ToolSet = ToolSet {
    name: "bcachefs",
    package: "bcachefs-tools",
    program: "bcachefs",
    names: &["bcachefs", "mkfs.bcachefs", "fsck.bcachefs"],
    suites: ["experimental", "trixie"],
};

/// Tools that were fetched.
#[derive(Debug)]
pub struct FetchedTools {
    /// The folder of their programs.
    pub folder: PathBuf,
    /// Each package with its version, the tools' own first.
    pub packages: Vec<String>,
}

/// The folder of this user's fetched tools.
pub fn tools_folder() -> PathBuf {
    user_cache().join(FETCHED_TOOLS)
}

/// The folders of fetched tools that this user finds: their own, and root's.
pub fn all_tools_folders() -> Vec<PathBuf> {
    once_each([tools_folder(), Path::new(SHARED_CACHE).join(FETCHED_TOOLS)])
}

impl ToolSet {
    /// The program of this set that is installed in the system, if one is: labs use that one.
    pub fn find_installed(&self) -> Option<PathBuf> {
        self.names.iter().find_map(|name| find_installed_program(name))
    }

    /// The tools of this set in a folder of fetched tools.
    pub fn find_fetched(&self, tools: &Path) -> Option<FetchedTools> {
        let place = tools.join(self.name);
        let list = read_regular(&place.join(PACKAGES), LARGEST_LIST).ok()?;
        let packages = String::from_utf8_lossy(&list).lines().map(str::to_owned).collect();
        Some(FetchedTools { folder: place.join(FETCHED_PROGRAMS), packages })
    }

    /// Fetches, unpacks and tests the tools, and puts them into the folder of fetched tools. `report` is told each step.
    pub fn fetch(&self, tools: &Path, report: &mut dyn FnMut(&str)) -> Result<FetchedTools, PackageError> {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        self.require_client(&release, |program| find_program(program).is_some())?;
        let staged = StagedFolder::create(tools, self.name)?;
        let fetched = staged.path().join(FETCHED);
        std::fs::create_dir(&fetched).map_err(file_error("make", &fetched))?;
        report(&format!("fetching {} and its libraries", self.package));
        let packages = self.download(&release, &fetched)?;
        report("unpacking");
        self.unpack(&packages, &staged)?;
        report("testing: version, format and check of an image");
        self.test(&staged)?;
        std::fs::remove_dir_all(&fetched).map_err(file_error("remove", &fetched))?;
        let mut list: Vec<String> = packages.iter().map(|package| package_title(package)).collect();
        list.sort_by_key(|title| (!title.starts_with(self.package), title.clone()));
        let file = staged.path().join(PACKAGES);
        std::fs::write(&file, list.join("\n") + "\n").map_err(file_error("write", &file))?;
        staged.move_to(&tools.join(self.name))?;
        self.find_fetched(tools).ok_or_else(|| PackageError::Lacks(self.package.to_owned()))
    }

    /// Refuses a system without apt-get, and says which package it has instead.
    fn require_client(&self, release: &str, has: impl Fn(&str) -> bool) -> Result<(), PackageError> {
        if ["apt-get", "apt-cache", "dpkg-deb"].into_iter().all(has) {
            return Ok(());
        }
        let tool = find_filesystem(self.name).map(|filesystem| filesystem.mkfs);
        let package = Distribution::from_os_release(release)
            .zip(tool)
            .map(|(distribution, tool)| (distribution, tool.packages.package_on(distribution)));
        let hint = match package {
            Some((distribution, Package::Official(name))) => {
                format!("your distribution has a package: {} {name}", distribution.install_command())
            }
            _ => format!(
                "install {} from your distribution, or copy the folder from the cache of another machine (docs/guides/{}.md)",
                self.package, self.name
            ),
        };
        Err(PackageError::NoPackageClient { programs: "apt-get and dpkg-deb", hint })
    }

    /// Fetches the package and the libraries that it and they need; on Debian from lists of our own.
    fn download(&self, release: &str, folder: &Path) -> Result<Vec<PathBuf>, PackageError> {
        let lists = if is_debian(release) {
            let sources: String = self.suites.iter().map(|suite| debian_suite(suite, "main")).collect();
            // Packages that are installed or preferred on this machine have no say in which libraries fit.
            let options = [
                "Dir::State::status=/dev/null",
                "Dir::Etc::preferences=/dev/null",
                "Dir::Etc::preferencesparts=/dev/null",
                "Acquire::Languages=none",
                "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
            ];
            PackageLists::from_sources(folder, &sources, &options)?
        } else {
            PackageLists::of_machine(folder)
        };
        let mut wanted = vec![self.package.to_owned()];
        let mut from = 0;
        for _ in 0..DEEPEST {
            let names: Vec<&str> = wanted.iter().skip(from).map(String::as_str).collect();
            if names.is_empty() {
                break;
            }
            let shown = lists.show(&names)?;
            from = wanted.len();
            for name in list_dependencies(&shown) {
                // zlib1g is one, too; Python, of which a script of the package is made, is left out.
                if name.contains("lib") && !wanted.contains(&name) {
                    wanted.push(name);
                }
            }
        }
        lists.download(&wanted.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn unpack(&self, packages: &[PathBuf], staged: &StagedFolder) -> Result<(), PackageError> {
        let sandbox = sandbox_for(staged, None);
        let programs = ProgramFolder::create(staged.path().to_owned())
            .map_err(file_error("put the programs into", staged.path()))?;
        for package in packages {
            read_package(package, &sandbox, &mut |path, content| {
                let folder = path.parent().unwrap_or(Path::new(""));
                match path.file_name().and_then(|name| name.to_str()) {
                    Some(name) if is_place_of_programs(folder) && name == self.program => {
                        programs.add_program(name, content)
                    }
                    Some(name) if is_place_of_libraries(folder) => programs.add_library(name, content),
                    _ => Ok(()),
                }
            })?;
        }
        if !programs.has_program(self.program) {
            return Err(PackageError::Lacks(format!("program {}", self.program)));
        }
        for name in self.names {
            let made = programs.add_script_with_loader(name, self.program);
            if !made.map_err(file_error("put the programs into", staged.path()))? {
                return Err(PackageError::Lacks("loader ld-linux*.so".to_owned()));
            }
        }
        Ok(())
    }

    /// Has the programs tell their version, format an image and check it, in a sandbox.
    fn test(&self, staged: &StagedFolder) -> Result<(), PackageError> {
        let Some(filesystem) = find_filesystem(self.name) else { return Ok(()) };
        let folder = staged.path().join(TEST);
        std::fs::create_dir(&folder).map_err(file_error("make", &folder))?;
        let image = folder.join("image");
        let made = std::fs::File::create_new(&image).and_then(|file| file.set_len(IMAGE));
        made.map_err(file_error("write", &image))?;
        let device = image.display().to_string();
        let sandbox = sandbox_for(staged, Some(&folder));
        let version = vec![self.program.to_owned(), "version".to_owned()];
        let steps = [
            ("the question for their version", Some(version)),
            ("formatting an image", Some(filesystem.mkfs_argv(&device, &[]))),
            ("checking the image", filesystem.fsck_argv(&device)),
        ];
        for (step, argv) in steps {
            let Some(mut argv) = argv else { continue };
            if let Some(program) = argv.first_mut() {
                *program = staged.path().join(FETCHED_PROGRAMS).join(&program).display().to_string();
            }
            let program = Program::new(argv).inside(sandbox.clone()).with_time_limit(TEST_LIMIT);
            let record = program.run("test fetched programs")?;
            if record.exit != Some(0) {
                let text = format!("{}\n{}", record.stderr, record.stdout);
                let line = text.lines().map(str::trim).find(|line| !line.is_empty());
                let reason = line.map_or_else(|| format!("exit status {:?}", record.exit), str::to_owned);
                return Err(PackageError::Test { step, reason });
            }
        }
        std::fs::remove_dir_all(&folder).map_err(file_error("remove", &folder))
    }
}

impl FetchedTools {
    /// The version that the program of the set states.
    pub fn version(&self, set: &ToolSet) -> Option<String> {
        let program = self.folder.join(set.program).display().to_string();
        let record = Program::new([program, "version".to_owned()]).with_time_limit(TEST_LIMIT).run("version");
        Tool::version_line(&record.ok()?.stdout).map(str::to_owned)
    }
}

/// A sandbox for the content of packages: it reads this machine's files, writes to one folder at most, and reaches no device
/// and no network.
fn sandbox_for(staged: &StagedFolder, writable: Option<&Path>) -> Sandbox {
    let mut sandbox = Sandbox::new(possible_isolation(), [""; 0]);
    sandbox.capabilities = Capabilities::Nothing;
    sandbox.devices = Devices::Bare;
    sandbox.writable = writable.into_iter().map(Path::to_owned).collect();
    let path = staged.path();
    if COVERED.iter().any(|covered| path.starts_with(covered)) {
        let shown = [Some(path), writable].into_iter().flatten();
        sandbox.shown = shown.map(|path| (path.to_owned(), path.to_owned())).collect();
    }
    sandbox
}

/// The name and version of a package, of the name of its file.
fn package_title(package: &Path) -> String {
    let file = package.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = file.split('_');
    let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{name} {}", version.replace("%3a", ":"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BCACHEFS_TOOLS, package_title};
    use fsverdict_text::Hinted;

    #[test]
    fn a_system_without_apt_is_told_its_own_package() {
        let hint = |release: &str, has: bool| {
            let refused = BCACHEFS_TOOLS.require_client(release, |_| has);
            refused.err().and_then(|error| error.hint())
        };
        assert!(hint("ID=fedora\n", false).unwrap().contains("dnf install bcachefs-tools"));
        assert!(hint("ID=arch\n", false).unwrap().contains("pacman -S bcachefs-tools"));
        assert!(hint("ID=alpine\n", false).unwrap().contains("docs/guides/bcachefs.md"));
        assert_eq!(hint("ID=debian\n", true), None);
    }

    #[test]
    fn packages_are_called_by_name_and_version() {
        let title = package_title(Path::new("/x/bcachefs-tools_1%3a1.13.0-1~exp1_amd64.deb"));
        assert_eq!(title, "bcachefs-tools 1:1.13.0-1~exp1");
    }
}
