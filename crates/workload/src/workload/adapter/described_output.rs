//! Reads the output of a program as the file of its adapter describes it: numbers in lines that match a pattern, in the
//! columns of a table, and between two times.

use fsverdict_judgement::journal::{
    AdapterFile, AdapterMetric, MetricInfo, OutputCourse, OutputMark, OutputTable, TakenNumber, Unit,
    WorkCourse,
};
use regex_lite::{Captures, Regex};

use super::number::parse_number;
use super::{AdapterProblem, OutputFault, Reading};

/// The most characters of a line that are shown.
const SHOWN: usize = 120;

pub(super) struct OutputReader<'a> {
    file: &'static AdapterFile,
    infos: &'static [MetricInfo],
    /// Where the results stand: the program's output, or its log.
    text: &'a str,
}

/// The rows of a table, each as its words.
struct TableRows<'a> {
    rows: Vec<Vec<&'a str>>,
    /// The words of one row, by which the columns of a version are told.
    form: usize,
}

/// The numbers of a metric, one for each row or line; `None` for one that the program could not tell.
struct PrintedNumbers {
    numbers: Vec<Option<f64>>,
    /// Whether anything at all stands in their places.
    is_filled: bool,
}

impl<'a> OutputReader<'a> {
    pub(super) fn new(
        file: &'static AdapterFile,
        infos: &'static [MetricInfo],
        output: &'a str,
        log: &'a str,
    ) -> Self {
        OutputReader { file, infos, text: if file.log_line.is_some() { log } else { output } }
    }

    pub(super) fn read(&self) -> Result<Reading, AdapterProblem> {
        if let Some([fault, hint]) = self.file.table.as_ref().and_then(|table| table.single.as_ref())
            && self.text.lines().filter(|line| !line.trim().is_empty()).count() > 1
        {
            return Err((OutputFault::Unsupported(fault.into()), hint));
        }
        self.read_metrics().map_err(|fault| (fault, self.file.unusable.as_str()))
    }

    fn read_metrics(&self) -> Result<Reading, OutputFault> {
        self.check_lines()?;
        // A fault of the table comes after those of the lines outside of it.
        let table = self.file.table.as_ref().map(|table| read_table(table, self.text));
        let (mut reading, mut too_fast, mut did_any) = (Reading::default(), Vec::new(), false);
        for (metric, info) in self.file.metrics.iter().zip(self.infos) {
            if let Some(mark) = &metric.unless
                && find_line(&compile(&mark.pattern)?, self.text).is_some()
            {
                reading.notes.push(mark.text.clone());
                continue;
            }
            let printed = match &table {
                Some(table) if !metric.column.is_empty() => {
                    let table = table.as_ref().map_err(Clone::clone)?;
                    let printed = self.read_column(metric, table)?;
                    did_any |= printed.is_filled;
                    printed
                }
                _ if metric.between.is_some() => self.read_between(metric)?,
                _ if metric.take == TakenNumber::SlowestSecond => continue,
                _ => self.read_lines(metric)?,
            };
            let is_absent = || match &table {
                Some(Ok(table)) => !printed.is_filled && !self.has_sibling(metric, table),
                _ => false,
            };
            let keeps_zero = self.file.keeps_zeros || info.unit == Unit::Ratio;
            match take_number(metric.take, &printed.numbers).filter(|number| *number > 0.0 || keeps_zero) {
                Some(number) => reading.add_metric(info, number),
                None if is_rate(info.unit) && metric.take != TakenNumber::Lowest && !is_absent() => {
                    too_fast.push(info.name);
                }
                None => {}
            }
        }
        if let Some(fault) = self.file.nothing_done.as_ref().filter(|_| !did_any) {
            return Err(OutputFault::NothingDone(fault.into()));
        }
        if let (Some(table), Some(Ok(rows))) = (&self.file.table, &table) {
            add_bytes(&mut reading, table, rows)?;
        }
        self.add_course(&mut reading, table.and_then(Result::ok).as_ref())?;
        match &self.file.too_fast {
            Some(note) if !too_fast.is_empty() => {
                reading.notes.push(format!("{note}{}", too_fast.join(", ")));
            }
            _ => reading.too_fast(&self.file.program, &too_fast),
        }
        Ok(reading)
    }

    /// Refuses a log with other lines than those of its form, and an output in which the program reports a failure.
    fn check_lines(&self) -> Result<(), OutputFault> {
        if let Some(form) = &self.file.log_line {
            let form = compile(form)?;
            if let Some(line) = filled_lines(self.text).find(|line| !form.is_match(line)) {
                return Err(OutputFault::of_line("its trace has the line", line, 80));
            }
        }
        for failure in &self.file.failures {
            if let Some(captures) = find_line(&compile(&failure.pattern)?, self.text) {
                return Err(OutputFault::Failed(fill_in(&failure.text, &captures[1])));
            }
        }
        Ok(())
    }

    fn read_lines(&self, metric: &'static AdapterMetric) -> Result<PrintedNumbers, OutputFault> {
        let pattern = compile(metric.pattern.as_deref().unwrap_or_default())?;
        let texts: Vec<&str> =
            self.text.lines().filter_map(|line| Some(pattern.captures(line)?.get(1)?.as_str())).collect();
        match &metric.missing {
            Some(fault) if texts.is_empty() => Err(OutputFault::Missing(fault.into())),
            _ => parse_all(metric, &texts),
        }
    }

    fn read_column(
        &self,
        metric: &AdapterMetric,
        table: &TableRows<'_>,
    ) -> Result<PrintedNumbers, OutputFault> {
        let Some(column) = column_of(&metric.column, table.form) else { return parse_all(metric, &[]) };
        let work = self.file.table.as_ref().and_then(|table| table.work);
        let mut texts = Vec::new();
        for row in &table.rows {
            let is_meant = metric.row.as_deref().is_none_or(|name| row.first() == Some(&name));
            let has_work = || work.map_or(Ok(true), |at| parse_number(row[at]).map(|work| work > 0.0));
            if let Some(text) = row.get(column).filter(|_| is_meant)
                && has_work()?
            {
                texts.push(*text);
            }
        }
        parse_all(metric, &texts)
    }

    /// The rate of work that was done between two times.
    fn read_between(&self, metric: &AdapterMetric) -> Result<PrintedNumbers, OutputFault> {
        let (Some([from, to]), Some(times)) = (&metric.between, &self.file.times) else {
            return parse_all(metric, &[]);
        };
        let end_of = |part: &str| {
            let start = fill_in(&times.line, part);
            let time = self.text.lines().find_map(|line| line.trim().strip_prefix(start.as_str()));
            let missing = || OutputFault::Missing(format!("it does not say when `{part}` was over").into());
            parse_number(time.ok_or_else(missing)?)
        };
        let begin = end_of(from)?;
        let seconds = end_of(to)? - begin;
        if seconds < 0.0 {
            return Err(OutputFault::Implausible(format!("its clock went back during `{to}`")));
        }
        let rate = (seconds >= times.shortest).then(|| f64::from(metric.work) / seconds);
        Ok(PrintedNumbers { numbers: vec![rate], is_filled: true })
    }

    /// Whether the program printed another number of the same test: a metric with a name that begins with this one's.
    fn has_sibling(&self, metric: &AdapterMetric, table: &TableRows<'_>) -> bool {
        let begin = format!("{}_", metric.name);
        let mut siblings = self.file.metrics.iter().filter(|other| other.name.starts_with(&begin));
        siblings.any(|other| self.read_column(other, table).is_ok_and(|printed| printed.is_filled))
    }

    fn add_course(&self, reading: &mut Reading, table: Option<&TableRows<'_>>) -> Result<(), OutputFault> {
        let course = match (&self.file.course, table) {
            (Some(OutputCourse::Averages { averages, printed }), _) => {
                averages_course(&compile(averages)?, self.text, printed)?
            }
            (Some(OutputCourse::Rows { rates }), Some(table)) => rows_course(self.file, *rates, table)?,
            _ => None,
        };
        let slowest = course.as_ref().and_then(WorkCourse::slowest_second);
        let mut metrics = self.file.metrics.iter().zip(self.infos);
        if let Some((_, info)) = metrics.find(|(metric, _)| metric.take == TakenNumber::SlowestSecond)
            && let Some(rate) = slowest
        {
            reading.add_metric(info, rate);
        }
        reading.course = course;
        Ok(())
    }
}

fn is_rate(unit: Unit) -> bool {
    matches!(unit, Unit::BytesPerSecond | Unit::PerSecond)
}

/// A pattern of an adapter's file, which its tests compile.
fn compile(pattern: &str) -> Result<Regex, OutputFault> {
    Regex::new(pattern).map_err(|error| OutputFault::Implausible(error.to_string()))
}

fn find_line<'t>(pattern: &Regex, text: &'t str) -> Option<Captures<'t>> {
    text.lines().find_map(|line| pattern.captures(line))
}

fn filled_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

fn fill_in(text: &str, value: &str) -> String {
    text.replace("{}", value)
}

fn column_of(columns: &[usize], form: usize) -> Option<usize> {
    // One column for all forms, or one for each; a later form may lack it.
    if let [column] = columns { Some(*column) } else { columns.get(form).copied() }
}

fn read_table<'a>(table: &'static OutputTable, text: &'a str) -> Result<TableRows<'a>, OutputFault> {
    let mut lines = text.lines();
    if let Some(OutputMark { pattern, text }) = &table.heading {
        let heading = compile(pattern)?;
        if !lines.any(|line| heading.is_match(line)) {
            return Err(OutputFault::Missing(text.into()));
        }
    }
    let lines = lines.skip(table.skip).take_while(|line| !table.ends || !line.trim().is_empty());
    let mut rows = TableRows { rows: Vec::new(), form: 0 };
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = match table.separator {
            Some(separator) => line.split(separator).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        };
        let form = table.words.iter().position(|count| *count == words.len());
        rows.form = form.ok_or_else(|| {
            let place = fill_in(&table.odd_row, &words.len().to_string());
            OutputFault::of_line(place, line.trim(), SHOWN)
        })?;
        rows.rows.push(words);
    }
    if let Some(fault) = table.empty.as_ref().filter(|_| rows.rows.is_empty()) {
        return Err(OutputFault::Missing(fault.into()));
    }
    let asked = table.rows_asked.as_ref().map(|pattern| compile(pattern)).transpose()?;
    let asked = asked.and_then(|pattern| find_line(&pattern, text)?[1].parse::<usize>().ok());
    match asked.filter(|asked| rows.rows.len() < *asked) {
        Some(asked) => {
            let count = rows.rows.len();
            Err(OutputFault::Unfinished(format!("its table has {count} of {asked} iterations")))
        }
        None => Ok(rows),
    }
}

/// Adds the bytes that the last row says were written, and those of the data that was worked on.
fn add_bytes(reading: &mut Reading, table: &OutputTable, rows: &TableRows<'_>) -> Result<(), OutputFault> {
    let Some(last) = rows.rows.last() else { return Ok(()) };
    let word = |column: usize| last.get(column).copied().unwrap_or_default();
    if let Some([files, size]) = table.bytes_written {
        reading.bytes_written = (parse_number(word(files))? * parse_number(word(size))?) as u64;
    }
    if let Some(column) = table.working_set.as_ref().and_then(|columns| column_of(columns, rows.form)) {
        reading.working_set = parse_size(word(column))?;
    }
    Ok(())
}

fn parse_all(metric: &AdapterMetric, texts: &[&str]) -> Result<PrintedNumbers, OutputFault> {
    Ok(PrintedNumbers {
        numbers: texts.iter().map(|text| parse_printed(text, &metric.printed)).collect::<Result<_, _>>()?,
        is_filled: texts.iter().any(|text| !text.is_empty()),
    })
}

/// A number as it is printed, in the unit of the journal; `None` if the program could not tell it.
fn parse_printed(text: &str, printed: &str) -> Result<Option<f64>, OutputFault> {
    let is_untold = text.bytes().all(|byte| byte == b'+') || matches!(text, "inf" | "nan" | "-nan");
    if is_untold {
        return Ok(None);
    }
    // The word behind the number, the factor, and the divisor: dividing by a whole number gives the nearest value.
    let scales: &[(&str, f64, f64)] = match printed {
        "us, ms or s" => &[("us", 1e-6, 1.0), ("ms", 1e-3, 1.0), ("s", 1.0, 1.0)],
        "us" => &[("", 1.0, 1e6)],
        "ms" => &[("ms", 1.0, 1e3), ("", 1.0, 1e3)],
        "%" => &[("", 1.0, 100.0)],
        "KiB/s" => &[("", 1024.0, 1.0)],
        "MB/s" => &[("", 1e6, 1.0)],
        _ => &[("", 1.0, 1.0)],
    };
    for (suffix, factor, divisor) in scales {
        if let Some(number) = text.strip_suffix(suffix) {
            return Ok(Some(parse_number(number.trim())? * factor / divisor));
        }
    }
    Err(OutputFault::Word { word: text.to_owned(), fault: "is not a latency (us, ms or s)" })
}

fn take_number(take: TakenNumber, numbers: &[Option<f64>]) -> Option<f64> {
    let numbers =
        numbers.iter().copied().collect::<Option<Vec<f64>>>().filter(|numbers| !numbers.is_empty())?;
    let count = numbers.len() as f64;
    match take {
        TakenNumber::Last => numbers.last().copied(),
        TakenNumber::Sum => Some(numbers.iter().sum()),
        TakenNumber::Mean => Some(numbers.iter().sum::<f64>() / count),
        TakenNumber::HarmonicMean => Some(count / numbers.iter().map(|number| number.recip()).sum::<f64>()),
        TakenNumber::Highest => numbers.into_iter().reduce(f64::max),
        TakenNumber::Lowest if numbers.len() > 1 => numbers.into_iter().reduce(f64::min),
        TakenNumber::Lowest | TakenNumber::SlowestSecond => None,
    }
}

/// The rate of each second, from averages since the beginning.
fn averages_course(pattern: &Regex, text: &str, printed: &str) -> Result<Option<WorkCourse>, OutputFault> {
    let (mut rates, mut before) = (Vec::new(), 0.0);
    for line in text.lines().filter_map(|line| pattern.captures(line)) {
        let rate = parse_printed(&line["rate"], printed)?.unwrap_or(0.0);
        let second = parse_number(&line["second"])?;
        // On a busy machine a line may be late; its average covers all the time until then.
        if second != rates.len() as f64 + 1.0 {
            return Ok(None);
        }
        rates.push((rate * second - before).max(0.0));
        before = rate * second;
    }
    Ok((rates.len() > 1).then_some(WorkCourse { unit: Unit::BytesPerSecond, every: 1.0, rates }))
}

/// Rows of the same work, drawn as if each took the same time.
fn rows_course(
    file: &AdapterFile,
    column: usize,
    table: &TableRows<'_>,
) -> Result<Option<WorkCourse>, OutputFault> {
    let texts = table.rows.iter().filter_map(|row| row.get(column));
    let rates = texts.map(|text| parse_printed(text, "")).collect::<Result<Option<Vec<f64>>, _>>()?;
    let work = file.table.as_ref().and_then(|rows| table.rows.first()?.get(rows.work?));
    let (Some(rates), Some(work)) = (rates, work) else { return Ok(None) };
    let work = parse_number(work)?;
    let every = rates.iter().map(|rate| work / rate).sum::<f64>() / rates.len() as f64;
    Ok((rates.len() > 1 && every.is_finite()).then_some(WorkCourse { unit: Unit::PerSecond, every, rates }))
}

/// The size of a file in MiB, or with its unit and perhaps a chunk's size behind it; `None` if there was no file.
fn parse_size(text: &str) -> Result<Option<u64>, OutputFault> {
    let text = text.split(':').next().unwrap_or_default();
    if text.is_empty() || text == "0" {
        return Ok(None);
    }
    let units = [("G", 30), ("M", 20), ("k", 10), ("", 20)];
    let parsed = units.iter().find_map(|(unit, shift)| {
        let number = text.strip_suffix(unit)?.parse::<u64>().ok()?;
        number.checked_mul(1 << shift)
    });
    parsed
        .map(Some)
        .ok_or_else(|| OutputFault::Word { word: text.to_owned(), fault: "is not the size of a file" })
}
