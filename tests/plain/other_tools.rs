//! What the documentation shows for other programs is read by them: pandas, R, and the parser of Prometheus' client.

use std::path::Path;
use std::process::Command;

use crate::common::{Place, not_run, tool};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Debian's, which sees Debian's packages: another Python may come before it on the PATH.
const PYTHON: &str = "/usr/bin/python3";

/// The code blocks of this language in a page of the documentation.
fn code_blocks(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let start = format!("```{language}\n");
    text.split(&start).skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// A folder with the files that the documentation names.
fn files_of_a_run() -> Place {
    let place = Place::new();
    let run = format!("{ROOT}/tests/runs/demo");
    for (format, file) in [("csv", "raw.csv"), ("json", "report.json"), ("openmetrics", "run.prom")] {
        place.fsverdict(&["report", &run, "--format", format, "-o", file]).exits(0);
    }
    for file in ["atlas.csv", "atlas.json", "atlas.prom"] {
        std::fs::copy(format!("{ROOT}/docs/atlas/{file}"), place.path().join(file)).unwrap();
    }
    place
}

/// Runs every block of a language in the documentation, and returns what each printed.
fn run_blocks(language: &str, program: &[&str]) -> Vec<String> {
    let place = files_of_a_run();
    let mut outputs = Vec::new();
    for page in ["docs/reference/output-formats.md", "docs/guides/atlas.md"] {
        for block in code_blocks(page, language) {
            let output = Command::new(program[0])
                .args(&program[1..])
                .arg(&block)
                .current_dir(place.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{page}: {block}: {output:?}");
            outputs.push(String::from_utf8(output.stdout).unwrap());
        }
    }
    outputs
}

fn has_module(module: &str) -> bool {
    let import = format!("import {module}");
    Command::new(PYTHON).args(["-c", &import]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn pandas_reads_what_the_documentation_says() {
    if !has_module("pandas") {
        return not_run("pandas is not installed for /usr/bin/python3");
    }
    let outputs = run_blocks("python", &[PYTHON, "-c"]);
    let expected = ["ext4+luks2", "durable", "photo-backup"];
    assert_eq!(outputs.len(), expected.len());
    for (output, word) in outputs.iter().zip(expected) {
        assert!(output.contains(word), "{word}: {output}");
    }
}

#[test]
fn r_reads_what_the_documentation_says() {
    if Command::new("Rscript").arg("--version").output().is_err() {
        return not_run("R is not installed");
    }
    let outputs = run_blocks("r", &["Rscript", "-e"]);
    let expected = ["ext4+luks2", "nvme-ssd"];
    assert_eq!(outputs.len(), expected.len());
    for (output, word) in outputs.iter().zip(expected) {
        assert!(output.contains(word), "{word}: {output}");
    }
}

#[test]
fn the_parser_of_prometheus_reads_the_metrics() {
    if !has_module("prometheus_client") {
        return not_run("prometheus_client is not installed for /usr/bin/python3");
    }
    let place = files_of_a_run();
    let program = "\
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
for file in sys.argv[1:]:
    print(sum(len(family.samples) for family in families(open(file).read())))
";
    let path = |file: &str| place.path().join(file).to_str().unwrap().to_owned();
    let (run, atlas) = (path("run.prom"), path("atlas.prom"));
    let counts = tool(&[PYTHON, "-c", program, &run, &atlas]);
    let counts: Vec<usize> = counts.lines().map(|line| line.parse().unwrap()).collect();
    assert!(counts.len() == 2 && counts.iter().all(|count| *count > 100), "{counts:?}");
}
