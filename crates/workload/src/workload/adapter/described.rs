//! The adapters that are described by a file: their command line, hints and tool.

use std::sync::LazyLock;

use fsverdict_judgement::journal::{AdapterFile, MetricInfo, adapter_file_metrics, adapter_files};
use fsverdict_stack::filesystem::{Package, Packages, Tool};

use super::described_output::OutputReader;
use super::{Adapter, AdapterProblem, NOT_HERE, Reading, option_words};

pub(super) struct DescribedAdapter {
    file: &'static AdapterFile,
    metrics: &'static [MetricInfo],
    version: &'static [&'static str],
}

/// One for each file.
pub(super) fn described_adapters() -> &'static [DescribedAdapter] {
    static VERSIONS: LazyLock<Vec<[&str; 1]>> =
        LazyLock::new(|| adapter_files().iter().map(|file| [file.version.as_str()]).collect());
    static ADAPTERS: LazyLock<Vec<DescribedAdapter>> = LazyLock::new(|| {
        let files = adapter_files().iter().zip(adapter_file_metrics()).zip(VERSIONS.iter());
        files.map(|((file, metrics), version)| DescribedAdapter { file, metrics, version }).collect()
    });
    &ADAPTERS
}

impl Adapter for DescribedAdapter {
    fn name(&self) -> &'static str {
        &self.file.name
    }

    fn summary(&self) -> &'static str {
        &self.file.summary
    }

    fn tool(&self) -> Tool {
        let package =
            |family: &str| self.file.packages.get(family).map_or(NOT_HERE, |name| Package::Official(name));
        let packages = Packages {
            debian: package("debian"),
            fedora: package("fedora"),
            arch: package("arch"),
            opensuse: package("opensuse"),
        };
        Tool { program: &self.file.program, version: self.version, packages }
    }

    fn metrics(&self) -> &'static [MetricInfo] {
        self.metrics
    }

    fn command_line(&self, options: &str) -> String {
        let given = option_words(options);
        let defaults =
            self.file.default_options.iter().filter(|(unless, _)| !given.contains(unless.as_str()));
        let all: Vec<&str> = defaults.map(|(_, default)| default.as_str()).chain([options]).collect();
        self.file.command.replace('\n', " ").replace("{options}", &all.join(" ")).trim_end().to_owned()
    }

    fn hint_for_output(&self, output: &str) -> Option<String> {
        let output = output.to_lowercase();
        let is_about = |word: &String| output.contains(&word.to_lowercase());
        self.file.hints.iter().find(|hint| hint.when.iter().any(is_about)).map(|hint| hint.hint.clone())
    }

    fn parse_output(&self, output: &str, log: &str) -> Result<Reading, AdapterProblem> {
        OutputReader::new(self.file, self.metrics, output, log).read()
    }
}
