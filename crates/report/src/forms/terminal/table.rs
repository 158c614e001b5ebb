//! Lays out tables for the terminal: one metric of all candidates, split into several tables where the phases do not
//! fit.

use crate::forms::terminal::TerminalLook;
use crate::forms::terminal::look::Signs;
use crate::forms::terminal::paint::toned;
use crate::model::{CellSpread, Matrix, MatrixCell, MatrixRow};
use crate::page::Tone;
use crate::wording::{TextTable, count, fixed, one_line, shorten, times};
use fsverdict_judgement::verdict::ContrastOutcome;
use fsverdict_text::{display_width, wrap_hanging};

/// Longer names are cut, because they would leave no room for the numbers.
const LONGEST_NAME: usize = 32;
/// Widths of the longest bar, in terminal cells: the second is used where it saves a table.
const BARS: [usize; 2] = [10, 6];
/// The least width, in terminal cells, to which a column of sentences is wrapped.
const LEAST_WRAPPED: usize = 20;
/// Space between columns, in terminal cells.
pub(crate) const GAP: usize = 2;

/// A column of text, ready to be laid out.
struct TextColumn {
    header: Vec<String>,
    cells: Vec<String>,
    right: bool,
}

impl TextColumn {
    fn width(&self) -> usize {
        self.header
            .iter()
            .chain(&self.cells)
            .flat_map(|text| text.lines())
            .map(display_width)
            .max()
            .unwrap_or(0)
    }

    /// A column of sentences that is wider than `room`, with its cells in several lines each, to the left.
    fn wrapped(self, room: usize) -> Self {
        if self.width() <= room {
            return self;
        }
        let cells = self.cells.iter().map(|cell| wrap_hanging(cell, Some(room), 0)).collect();
        Self { cells, right: false, ..self }
    }

    /// Both as one column, the other to the right of this.
    fn beside(self, other: &TextColumn) -> TextColumn {
        let columns = self.width();
        let join = |one: &String, other: &String| {
            format!("{one}{}{other}", " ".repeat(columns + GAP - display_width(one)))
        };
        let all = |one: &[String], other: &[String]| one.iter().zip(other).map(|(a, b)| join(a, b)).collect();
        TextColumn {
            header: all(&self.header, &other.header),
            cells: all(&self.cells, &other.cells),
            right: false,
        }
    }
}

/// The width of the column of names, so that rows of text can be aligned with it.
pub(crate) fn name_width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| display_width(&one_line(name))).max().unwrap_or(0).clamp("candidate".len(), LONGEST_NAME)
}

pub(crate) fn shown_name(name: &str, signs: Signs) -> String {
    shorten(&one_line(name), LONGEST_NAME, signs.more)
}

/// The matrix as lines. `names` is the minimum width of the first column; `ranked` adds the goal's column to the first
/// table, which without `--all` is the only one.
pub(crate) fn lines(
    matrix: &Matrix,
    names: usize,
    ranked: bool,
    look: TerminalLook,
    signs: Signs,
) -> Vec<String> {
    let first = TextColumn {
        header: vec!["candidate".to_owned()],
        cells: matrix
            .rows
            .iter()
            .map(|row| format!("{:names$}", shown_name(&row.candidate, signs)))
            .collect(),
        right: false,
    };
    let goal = |bar: usize| if ranked { goal_columns(&matrix.rows, bar, signs) } else { Vec::new() };
    let phases = |bar: usize, shown: &[usize]| -> Vec<TextColumn> {
        goal(bar).into_iter().chain(shown.iter().map(|at| phase_column(matrix, *at, signs))).collect()
    };
    let is_one_table = ranked && !look.detail;
    let in_one_group = |bar: usize, shown: &[usize]| {
        let groups = groups(&first, phases(bar, shown).into_iter(), look.columns);
        (groups.len() == 1).then_some(groups)
    };
    let all: Vec<usize> = (0..matrix.columns.len()).collect();
    let fitting = BARS.iter().find_map(|bar| in_one_group(*bar, &all));
    let largest = || largest_columns(matrix).into_iter().find_map(|shown| in_one_group(BARS[0], &shown));
    let fitting = fitting.or_else(|| is_one_table.then(largest)?);
    let mut groups =
        fitting.unwrap_or_else(|| groups(&first, phases(BARS[0], &all).into_iter(), look.columns));
    if is_one_table {
        groups.truncate(1);
    }
    let mut lines = Vec::new();
    let shown: usize = groups.iter().map(Vec::len).sum();
    for group in groups {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(laid_out(&first, &group, signs));
    }
    let left_out = phases(BARS[0], &all).len() - shown;
    if left_out > 0 {
        lines.push(toned(Tone::Faint, &format!("{} with --all", count(left_out, "more phase"))));
    }
    lines
}

/// Choices of columns that the goal counts, each in the order of the plan: all of them, then without the one that is least of
/// the goal, and so on.
fn largest_columns(matrix: &Matrix) -> Vec<Vec<usize>> {
    let share = |at: usize| matrix.columns[at].share;
    let mut counted: Vec<usize> = (0..matrix.columns.len()).filter(|at| share(*at) > 0.0).collect();
    let mut choices = Vec::new();
    while let Some(least) = counted.iter().copied().min_by(|one, other| share(*one).total_cmp(&share(*other)))
    {
        choices.push(counted.clone());
        counted.retain(|at| *at != least);
    }
    choices
}

/// A small table with names and the columns listed in `words` aligned to the left, and values to the right. Where it is
/// broken into parts, each begins with the first `keys` columns, or two where the first does not tell the rows apart.
pub(crate) fn aligned(table: &TextTable, room: usize, words: &[&str], keys: usize) -> Vec<String> {
    let mut columns = table.header.iter().enumerate().map(|(at, title)| TextColumn {
        header: vec![one_line(title)],
        cells: table
            .rows
            .iter()
            .map(|row| row.get(at).map_or(String::new(), |cell| one_line(cell)))
            .collect(),
        right: at > 0 && !words.contains(&title.as_str()),
    });
    let keys = if table.has_unique_names() { keys } else { keys.max(2) };
    let first = columns.by_ref().take(keys).reduce(|left, right| left.beside(&right));
    let Some(first) = first else { return Vec::new() };
    let beside = room.saturating_sub(first.width() + GAP).max(LEAST_WRAPPED);
    let columns = columns.map(|column| column.wrapped(beside));
    groups(&first, columns, room).iter().flat_map(|group| in_line(&first, group)).collect()
}

/// Groups the columns into tables: as many as fit beside the first column, the rest below.
fn groups(
    first: &TextColumn,
    columns: impl Iterator<Item = TextColumn>,
    room: usize,
) -> Vec<Vec<TextColumn>> {
    let mut groups: Vec<Vec<TextColumn>> = vec![Vec::new()];
    let mut used = first.width();
    for column in columns {
        let more = GAP + column.width();
        if used + more > room && groups.last().is_some_and(|group| !group.is_empty()) {
            groups.push(Vec::new());
            used = first.width();
        }
        used += more;
        if let Some(group) = groups.last_mut() {
            group.push(column);
        }
    }
    groups
}

/// The lines of the header, then one line for each row.
fn in_line(first: &TextColumn, group: &[TextColumn]) -> Vec<String> {
    let columns = || std::iter::once(first).chain(group);
    let widths: Vec<usize> = columns().map(TextColumn::width).collect();
    let line = |of: &dyn Fn(&TextColumn) -> Option<&str>| {
        let cells = columns().zip(&widths).map(|(column, columns)| {
            let text = of(column).unwrap_or_default();
            let gap = " ".repeat(columns - display_width(text));
            if column.right { gap + text } else { format!("{text}{gap}") }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let headers = columns().map(|column| column.header.len()).max().unwrap_or(0);
    let headers = (0..headers).map(|at| line(&|column| column.header.get(at).map(String::as_str)));
    let row = |at: usize| {
        let height =
            columns().filter_map(|column| Some(column.cells.get(at)?.lines().count())).max().unwrap_or(1);
        let lines = (0..height.max(1)).map(|part| line(&|column| column.cells.get(at)?.lines().nth(part)));
        lines.collect::<Vec<_>>()
    };
    headers.chain((0..first.cells.len()).flat_map(row)).collect()
}

fn laid_out(first: &TextColumn, group: &[TextColumn], signs: Signs) -> Vec<String> {
    let mut lines = in_line(first, group);
    let across = lines.iter().map(|line| display_width(line)).max().unwrap_or(0);
    let mut headers = group.iter().map(|column| column.header.len()).max().unwrap_or(1);
    // Removes the line of units where no phase has one.
    if headers > 1 && lines.get(headers - 1).is_some_and(String::is_empty) {
        headers -= 1;
        lines.remove(headers);
    }
    lines.insert(headers.min(lines.len()), toned(Tone::Faint, &signs.rule.repeat(across)));
    lines
}

/// How far each candidate is behind the leader, as a bar and as a number.
fn goal_columns(rows: &[MatrixRow], longest: usize, signs: Signs) -> Vec<TextColumn> {
    let worst = rows.iter().filter_map(|row| row.behind).map(|behind| behind.point).fold(1.0, f64::max);
    if rows.iter().filter(|row| row.behind.is_some()).count() < 2 {
        return Vec::new();
    }
    let bars = rows
        .iter()
        .map(|row| row.behind.map_or(String::new(), |behind| draw_bar(behind.point / worst, longest, signs)));
    let numbers =
        rows.iter().map(|row| row.behind.map_or(signs.none.to_owned(), |behind| times(behind.point)));
    vec![
        TextColumn { header: vec!["goal".to_owned()], cells: bars.collect(), right: false },
        TextColumn { header: vec![signs.times.to_owned()], cells: numbers.collect(), right: true },
    ]
}

fn draw_bar(share: f64, longest: usize, signs: Signs) -> String {
    let cells = share * longest as f64;
    // The value is a share of a small constant, so the cast loses nothing.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let halves = libm::round(cells * 2.0) as usize;
    let mut bar = signs.bar.repeat(halves / 2);
    if halves % 2 == 1 {
        bar.push_str(signs.half_bar);
    }
    // A bar is never empty, so that its row is visible.
    if bar.is_empty() {
        if signs.half_bar.is_empty() { signs.bar } else { signs.half_bar }.to_owned()
    } else {
        bar
    }
}

/// The numbers of a phase, aligned at the decimal point, with their spreads aligned behind them.
fn phase_column(matrix: &Matrix, at: usize, signs: Signs) -> TextColumn {
    let cells: Vec<Option<MatrixCell>> =
        matrix.rows.iter().map(|row| row.cells.get(at).copied().flatten()).collect();
    let fraction = |cell: &MatrixCell| {
        usize::try_from(cell.decimals).map_or(0, |decimals| decimals + usize::from(decimals > 0))
    };
    let deepest = cells.iter().flatten().map(fraction).max().unwrap_or(0);
    // Omits the ±0% where every value is the same in each trial.
    let steady =
        cells.iter().flatten().all(|cell| cell.spread.is_none_or(|spread| spread == CellSpread::Share(0.0)));
    let spread = |cell: &MatrixCell| match cell.spread {
        Some(spread) if !steady => format!(" {}", spread.shown(signs.plus_minus)),
        _ => String::new(),
    };
    let widest = cells.iter().flatten().map(|cell| display_width(&spread(cell))).max().unwrap_or(0);
    let shown = |cell: &Option<MatrixCell>| {
        let Some(cell) = cell else { return format!("{}{}", signs.none, " ".repeat(deepest + widest)) };
        // A zero is written without a fraction, however many decimals it would carry.
        let number = fixed(cell.value, cell.decimals);
        let missing = deepest - if number.contains('.') { fraction(cell) } else { 0 };
        let behind = spread(cell);
        let padded = format!(
            "{number}{}{}{}",
            " ".repeat(missing),
            " ".repeat(widest - display_width(&behind)),
            behind
        );
        match cell.mark {
            Some(ContrastOutcome::Better) => toned(Tone::Good, &format!("{} {padded}", signs.best)),
            Some(ContrastOutcome::Tied) => toned(Tone::Strong, &format!("{} {padded}", signs.tied)),
            _ => padded,
        }
    };
    let column = &matrix.columns[at];
    // The header stands over the numbers, not over their spreads.
    let over = " ".repeat(widest);
    let phase = shorten(&one_line(&column.phase), 24, signs.more);
    TextColumn {
        header: vec![phase, format!("{}{over}", column.unit)],
        cells: cells.iter().map(shown).collect(),
        right: true,
    }
}

#[cfg(test)]
mod tests;
