//! Markdown as the documents here use it, in the language of man pages.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The text without the lines that name the page (man(7), `.TH`). Tables become lists of terms: the first cell of a row
/// is the term, the last its description, and those between stand beside the term under their column's name.
pub(super) fn to_roff(markdown: &str) -> String {
    let mut page = ManualPage::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.event(event);
    }
    page.text
}

#[derive(Default)]
struct ManualPage {
    text: String,
    /// Whether the text is inside a fenced block, in which lines stay as they are.
    code: bool,
    /// The cells of the row at hand; `None` outside of tables.
    row: Option<Vec<String>>,
    columns: Vec<String>,
    /// The next paragraph follows its item's bullet.
    item: bool,
}

impl ManualPage {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code => self.text.push_str(&lines(&text)),
            Event::Text(text) => self.words(&escaped(&text)),
            Event::Code(text) => self.words(&format!("\\fB{}\\fR", escaped(&text))),
            Event::SoftBreak | Event::HardBreak => self.words(" "),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.request(if *level <= HeadingLevel::H2 { ".SH \"" } else { ".SS \"" });
            }
            Tag::Paragraph if self.item => self.item = false,
            Tag::Paragraph => self.request(".PP\n"),
            Tag::CodeBlock(_) => {
                self.request(".PP\n.EX\n");
                self.code = true;
            }
            Tag::Item => {
                self.request(".IP \\(bu 2\n");
                self.item = true;
            }
            Tag::TableHead | Tag::TableRow => self.row = Some(Vec::new()),
            Tag::TableCell => self.row.get_or_insert_default().push(String::new()),
            Tag::Emphasis => self.words("\\fI"),
            Tag::Strong => self.words("\\fB"),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.text.push_str("\"\n"),
            TagEnd::Paragraph => self.request(""),
            TagEnd::Item => {
                self.item = false;
                self.request("");
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.request(".EE\n");
            }
            TagEnd::Emphasis | TagEnd::Strong => self.words("\\fR"),
            TagEnd::TableHead => self.columns = self.row.take().unwrap_or_default(),
            TagEnd::TableRow => self.table_row(),
            _ => {}
        }
    }

    fn table_row(&mut self) {
        let row = self.row.take().unwrap_or_default();
        let [term, between @ .., meaning] = row.as_slice() else { return };
        let named = between.iter().zip(self.columns.iter().skip(1)).filter(|(cell, _)| !cell.is_empty());
        let beside: Vec<String> = named.map(|(cell, column)| format!("{column}: {cell}")).collect();
        let beside = if beside.is_empty() { String::new() } else { format!(" ({})", beside.join("; ")) };
        self.request(&format!(".TP\n{term}{beside}\n{meaning}\n"));
    }

    /// Text where it belongs: into the cell at hand, or the page.
    fn words(&mut self, text: &str) {
        match self.row.as_mut().and_then(|row| row.last_mut()) {
            Some(cell) => cell.push_str(text),
            None if self.text.ends_with('\n') && text.starts_with(['.', '\'']) => {
                self.text.push_str("\\&");
                self.text.push_str(text);
            }
            None => self.text.push_str(text),
        }
    }

    /// A request begins a line.
    fn request(&mut self, request: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(request);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq")
}

/// Lines that begin as a request would are kept from being one.
fn lines(text: &str) -> String {
    let line =
        |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() };
    escaped(text).split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::to_roff;

    #[test]
    fn what_documents_are_made_of_becomes_what_pages_are_made_of() {
        let markdown = "# A \"b\"\n\nSome `co-de`\nand *more*.\n\n```toml\n.x = 1\n```\n\n- one\n\n| key | type | meaning |\n|---|---|---|\n| `a` | word | what |\n";
        let expected = ".SH \"A \\(dqb\\(dq\"\n.PP\nSome \\fBco\\-de\\fR and \\fImore\\fR.\n.PP\n.EX\n\\&.x = 1\n.EE\n.IP \\(bu 2\none\n.TP\n\\fBa\\fR (type: word)\nwhat\n";
        assert_eq!(to_roff(markdown), expected);
    }
}
