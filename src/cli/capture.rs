//! `fsverdict capture`: writes the shape of a folder as a dataset that can be shared, without names or contents of its
//! files.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use fsverdict_judgement::plan::check_dataset_name;
use fsverdict_linux::host::results::result_writer;
use fsverdict_text::{Bytes, Reason, limits};
use fsverdict_workload::dataset::{CapturedShape, capture_shape};

use super::capture_trace::{self, TraceCapture};
use super::{CliError, Exit};

/// The text below the options in `--help`.
const EXAMPLES: &str = "\
Examples:
  fsverdict capture ~/Maildir                           describes a folder, as a dataset
  strace -f -ttt -T -y -s 0 -e abbrev=%file,%desc,%process -e trace=%file,%desc,%process,%memory,sync,io_submit -o calls.txt -p PID
  fsverdict capture --trace calls.txt --below /srv/db > mine.toml
  fio … --write_lat_log=x --log_offset=1;  fsverdict capture --trace x_clat.1.log > mine.toml
  blkparse -i sdb > sdb.txt;               fsverdict capture --trace sdb.txt --at-most 4GiB > mine.toml

The output contains no name and no byte of content, so you can share it after a look. A trace becomes a plan that you can
run. A folder becomes a dataset: put it into a plan in place of another dataset (`fsverdict show quick > mine.toml`).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CaptureArguments {
    /// The folder to describe; it is only read, and no link is followed
    #[arg(value_name = "FOLDER", conflicts_with = "trace")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    trace: TraceCapture,
    /// The dataset's name
    #[arg(long, value_name = "NAME", default_value = "captured")]
    name: String,
}

pub(super) fn run(arguments: &CaptureArguments) -> Result<Exit, CliError> {
    check_dataset_name(&arguments.name).map_err(|reason| CliError::Usage(reason.after("--name: ")))?;
    let folder = match (&arguments.folder, &arguments.trace.trace) {
        (Some(folder), _) => {
            arguments.trace.refuse_for_folder().map_err(CliError::Usage)?;
            folder
        }
        (None, Some(path)) => return capture_trace::run(path, &arguments.trace, &arguments.name),
        (None, None) => {
            return Err(CliError::Usage(Reason::new(
                "capture needs a folder or a trace",
                "name a folder, or a recorded workload with --trace FILE; `fsverdict capture --help` has examples",
            )));
        }
    };
    let shown = folder.display();
    let shape = capture_shape(folder).map_err(|errno| {
        let why = std::io::Error::from(errno);
        CliError::usage(Reason::new(
            format!("cannot read {shown}: {why}"),
            "name a folder that you can read, not a symbolic link",
        ))
    })?;
    if shape.files == 0 {
        return Err(CliError::usage(Reason::new(
            format!("there is no file in {shown}"),
            "name a folder that has files with content",
        )));
    }
    if shape.bytes > limits::SIZE {
        return Err(CliError::usage(Reason::new(
            format!(
                "the files in {shown} add up to more than {}, the limit of a dataset",
                Bytes(limits::SIZE)
            ),
            "sparse files count with their full size; name a folder without them",
        )));
    }
    result_writer().write_all(as_dataset(&shape, &arguments.name).as_bytes())?;
    Ok(Exit::Done)
}

/// The shape as a part of a plan.
fn as_dataset(shape: &CapturedShape, name: &str) -> String {
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let files = shape.files.max(1) as f64;
    let share = |count: u64| (count as f64 / files * 1000.0).round() / 1000.0;
    let left_out = match shape.left_out {
        0 => String::new(),
        some => {
            format!("# Not included: {some} entries that could not be read or lie on another filesystem.\n")
        }
    };
    let sizes: Vec<String> = shape.sizes.chunks(16).map(list).collect();
    let symlinks = shape.symlinks as f64 / (shape.symlinks + shape.files).max(1) as f64;
    let targets = match shape.symlinks {
        0 => String::new(),
        _ => format!(
            "symlinks     = {:.4}\ntarget_lengths = [{}]\n",
            symlinks.min(0.99),
            list(&shape.target_lengths)
        ),
    };
    format!(
        "\
# The shape of a folder, by fsverdict capture: numbers alone, no name and no content.
# Kept: files, directories, bytes, the distribution of sizes, directories at each depth, lengths of names (1 to 10 bytes, 11 to 20 ...),
# files with one name, two, three ..., symbolic links with the lengths of their targets, shares of copies and compressible bytes. A
# dataset of it has directories and names of the program's own. Not kept: {others} sockets, devices or pipes; owners, times, extended
# attributes, holes; which file lies where.
{left_out}[dataset.{name}]
profile      = \"mixed\"
files        = {files}
directories  = {directories}
size         = \"{size}B\"       # {readable}
compressible = {compressible:.3}
duplicates   = {duplicates}
depths       = [{depths}]
name_lengths = [{lengths}]
links        = [{links}]
{targets}sizes        = [
    {sizes},
]
",
        others = shape.others,
        depths = list(&shape.depths),
        lengths = list(&shape.name_lengths),
        links = list(&shape.links),
        files = shape.files,
        directories = shape.directories,
        size = shape.bytes,
        readable = Bytes(shape.bytes),
        compressible = shape.compressible.clamp(0.0, 1.0),
        duplicates = share(shape.duplicates),
        sizes = sizes.join(",\n    "),
    )
}

#[cfg(test)]
mod tests {
    use super::as_dataset;
    use crate::cli::with_vocabulary;
    use fsverdict_judgement::plan::{Overrides, read_with};
    use fsverdict_workload::dataset::{capture_shape, prepare_dataset};

    const REST: &str = "
title = 't'
device.image = '1GiB'
matrix.filesystem = ['ext4']
phase = [{ name = 'write', operation = 'tree.write', dataset = 'captured' }]
";

    #[test]
    fn what_was_captured_is_a_dataset_of_the_same_shape_and_names_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let secret = "grandmother's will";
        for number in 0..400_usize {
            let inner = folder.path().join(format!("{secret} {}", number % 7));
            std::fs::create_dir_all(&inner).unwrap();
            let line = format!("{secret} {number}\n");
            std::fs::write(
                inner.join(format!("{number}\u{1b}[2J\"")),
                line.repeat(1 + number * number / 100),
            )
            .unwrap();
        }
        let shape = capture_shape(folder.path()).unwrap();
        let text = as_dataset(&shape, "captured");
        assert!(!text.contains("grandmother") && !text.contains("will") && text.is_ascii(), "{text}");
        let plan = format!("{REST}{text}");
        let plan = with_vocabulary(|words| read_with(&plan, "p", &Overrides::default(), words));
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        let replayed = prepare_dataset("captured", &plan.datasets["captured"], 1).unwrap();
        let totals = replayed.totals().unwrap();
        assert_eq!((totals.files, totals.directories, totals.bytes), (400, 8, shape.bytes));
        assert!(replayed.notes.is_empty(), "{:?}", replayed.notes);
        let again = tempfile::tempdir().unwrap();
        let staged =
            fsverdict_workload::dataset::stage_dataset(&replayed, &again.path().join("x"), None).unwrap();
        let back = capture_shape(&staged.path).unwrap();
        for hundredth in [10, 25, 50, 75, 90] {
            let (one, other) = (shape.sizes[hundredth] as f64, back.sizes[hundredth] as f64);
            assert!((one / other - 1.0).abs() < 0.15, "{hundredth}: {one} {other}");
        }
        assert!(
            (shape.compressible - back.compressible).abs() < 0.15,
            "{} {}",
            shape.compressible,
            back.compressible
        );
    }
}
