//! Parses TOML into a tree in which every key and value has its position in the text.
//!
//! Several texts may share one tree (the file, and one per `--set`), so that an error always shows the text
//! that caused it.

use toml::de::{DeTable, DeValue};

use super::error::{Fault, TextError};

/// The number of characters of a line that are shown before, of and after the fault: a line may be as long as the file.
const CONTEXT_CHARACTERS: usize = 100;
/// Longest message or hint in characters: both may quote the text.
const LONGEST_MESSAGE: usize = 400;
/// The maximum number of faults of a file that are reported.
const MOST_FAULTS: usize = 100;

/// A range of bytes in one of the texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextSpan {
    /// Index of the text in [`Texts`].
    pub text: usize,
    pub start: usize,
    pub end: usize,
}

/// A value with its position.
#[derive(Debug, Clone)]
pub struct Node {
    pub at: TextSpan,
    pub value: TomlValue,
}

#[derive(Debug, Clone)]
pub enum TomlValue {
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    Date,
    Array(Vec<Node>),
    Table(TomlTable),
}

impl TomlValue {
    /// Names the type with its article, for a message.
    pub fn type_name(&self) -> &'static str {
        match self {
            TomlValue::Text(_) => "a string",
            TomlValue::Integer(_) => "a whole number",
            TomlValue::Number(_) => "a number",
            TomlValue::Boolean(_) => "true or false",
            TomlValue::Date => "a date",
            TomlValue::Array(_) => "an array",
            TomlValue::Table(_) => "a table",
        }
    }
}

/// Entries of a table in the order in which they are written.
#[derive(Debug, Clone, Default)]
pub struct TomlTable {
    pub entries: Vec<TomlEntry>,
}

#[derive(Debug, Clone)]
pub struct TomlEntry {
    pub key: String,
    pub key_at: TextSpan,
    pub node: Node,
}

impl TomlTable {
    pub fn get(&self, key: &str) -> Option<&TomlEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut TomlEntry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }
}

/// A problem and its position; [`Fault`] is the form in which it is shown.
#[derive(Debug, Clone)]
pub struct TextProblem {
    pub at: TextSpan,
    pub message: String,
    /// Advice to the user, which may be empty.
    pub hint: String,
}

/// The texts that one tree is read from.
#[derive(Debug, Default)]
pub struct Texts {
    texts: Vec<SourceText>,
}

#[derive(Debug)]
struct SourceText {
    name: String,
    content: String,
    is_option: bool,
}

impl Texts {
    /// Adds the text of a file; returns its index.
    pub fn add_file(&mut self, name: &str, content: &str) -> usize {
        self.add_source(name, content, false)
    }

    /// Adds the value of a command-line option; returns its index.
    pub fn add_text(&mut self, option: &str, content: &str) -> usize {
        self.add_source(option, content, true)
    }

    /// As `add_text`; returns the span of the whole text.
    pub fn add_option(&mut self, option: &str, content: &str) -> TextSpan {
        let text = self.add_text(option, content);
        self.whole_span(text)
    }

    /// Returns the problem of a text that the parser refused without a reason.
    pub fn unreadable_text(&self, text: usize) -> TextProblem {
        TextProblem { at: self.whole_span(text), message: "not TOML".to_owned(), hint: String::new() }
    }

    fn add_source(&mut self, name: &str, content: &str, is_option: bool) -> usize {
        self.texts.push(SourceText { name: name.to_owned(), content: content.to_owned(), is_option });
        self.texts.len() - 1
    }

    /// Returns the span of a whole text.
    pub fn whole_span(&self, text: usize) -> TextSpan {
        TextSpan { text, start: 0, end: self.texts[text].content.len() }
    }

    /// Whether a table is written in braces, and so replaces an existing table instead of extending it.
    pub fn is_inline_table(&self, at: TextSpan) -> bool {
        self.texts[at.text].content.get(at.start..).is_some_and(|rest| rest.starts_with('{'))
    }

    /// Builds the error that shows the first of these problems, and the number of the others: an untrusted file may have a problem
    /// in each of many thousand lines, and each lookup starts at the first line.
    pub fn to_error(&self, problems: &[TextProblem]) -> TextError {
        let (shown, rest) = problems.split_at(problems.len().min(MOST_FAULTS));
        let more = rest.first().map(|first| TextProblem {
            at: first.at,
            message: format!("{} more faults from here on", rest.len()),
            hint: "put those before right, and look again".to_owned(),
        });
        TextError(shown.iter().chain(&more).map(|problem| self.locate_fault(problem)).collect())
    }

    /// Converts a problem to a fault with line, column and the source line.
    fn locate_fault(&self, problem: &TextProblem) -> Fault {
        let text = &self.texts[problem.at.text];
        let content = text.content.as_str();
        let start = floor_boundary(content, problem.at.start);
        let line_start = content[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = content[start..].find('\n').map_or(content.len(), |newline| start + newline);
        let end = floor_boundary(content, problem.at.end).clamp(start, line_end);
        let before = content[line_start..start].chars().count();
        let skipped = before.saturating_sub(CONTEXT_CHARACTERS);
        let width = content[start..end].trim_end().chars().count().min(CONTEXT_CHARACTERS);
        let line = content[line_start..line_end].trim_end_matches('\r').chars();
        let shorten = |text: &str| match text.char_indices().nth(LONGEST_MESSAGE) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}…", &text[..end]),
        };
        Fault {
            file: text.name.clone(),
            line: (!text.is_option).then(|| content[..start].matches('\n').count() + 1),
            column: before + 1,
            source_line: line.skip(skipped).take(before - skipped + width + CONTEXT_CHARACTERS).collect(),
            indent: before - skipped,
            width,
            message: shorten(&problem.message),
            hint: shorten(&problem.hint),
        }
    }
}

/// Finds the last character boundary at or before byte `index`.
fn floor_boundary(content: &str, index: usize) -> usize {
    (0..=index.min(content.len())).rev().find(|index| content.is_char_boundary(*index)).unwrap_or(0)
}

/// Parses one of the texts.
///
/// # Errors
/// All syntax errors, or the first number that does not fit.
pub fn parse(texts: &Texts, text: usize) -> Result<Node, Vec<TextProblem>> {
    let (document, errors) = DeTable::parse_recoverable(&texts.texts[text].content);
    if errors.is_empty() {
        let value = convert_table(text, document.into_inner()).map_err(|problem| vec![problem])?;
        return Ok(Node { at: TextSpan { text, start: 0, end: 0 }, value: TomlValue::Table(value) });
    }
    let problem = |error: &toml::de::Error| {
        let span = error.span().unwrap_or(0..0);
        let message = format!("not TOML: {}", error.message());
        TextProblem { at: TextSpan { text, start: span.start, end: span.end }, message, hint: String::new() }
    };
    Err(errors.iter().map(problem).collect())
}

fn convert_table(text: usize, source: DeTable<'_>) -> Result<TomlTable, TextProblem> {
    let mut entries = Vec::new();
    for (key, value) in source {
        let key_at = TextSpan { text, start: key.span().start, end: key.span().end };
        entries.push(TomlEntry {
            key: key.into_inner().into_owned(),
            key_at,
            node: convert_node(text, value)?,
        });
    }
    entries.sort_by_key(|entry| entry.key_at);
    Ok(TomlTable { entries })
}

fn convert_node(text: usize, source: toml::Spanned<DeValue<'_>>) -> Result<Node, TextProblem> {
    let at = TextSpan { text, start: source.span().start, end: source.span().end };
    let too_large = |digits: &str| TextProblem {
        at,
        message: format!("the number {digits} does not fit"),
        hint: String::new(),
    };
    let value = match source.into_inner() {
        DeValue::String(string) => TomlValue::Text(string.into_owned()),
        DeValue::Integer(integer) => TomlValue::Integer(
            i64::from_str_radix(integer.as_str(), integer.radix())
                .map_err(|_| too_large(integer.as_str()))?,
        ),
        DeValue::Float(float) => {
            TomlValue::Number(float.as_str().parse().map_err(|_| too_large(float.as_str()))?)
        }
        DeValue::Boolean(boolean) => TomlValue::Boolean(boolean),
        DeValue::Datetime(_) => TomlValue::Date,
        DeValue::Array(array) => TomlValue::Array(
            array.into_iter().map(|item| convert_node(text, item)).collect::<Result<_, _>>()?,
        ),
        DeValue::Table(inner) => TomlValue::Table(convert_table(text, inner)?),
    };
    Ok(Node { at, value })
}

#[cfg(test)]
mod tests {
    use super::MOST_FAULTS;
    use crate::read_strictly;

    #[test]
    fn of_many_faults_the_first_are_told_and_the_rest_counted() {
        let text: String = (0..20_000).map(|number| format!("[a{number}]\nx = 1\n")).collect();
        let error = read_strictly::<()>("p.toml", &text, "the plan", &["title"], |_| None).unwrap_err();
        assert_eq!(error.0.len(), MOST_FAULTS + 1);
        let last = error.0.last().unwrap();
        assert!(last.message.ends_with("more faults from here on"), "{last:?}");
        assert_eq!(last.line, Some(2 * MOST_FAULTS + 1));
    }
}
