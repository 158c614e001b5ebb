//! The plan that a page carries, so that the page alone suffices to run it again: writes it as text, and reads it back.

use maud::{Markup, PreEscaped, html};

use fsverdict_judgement::plan::{Plan, write};
use fsverdict_text::Hinted;

/// The exact text before the plan and after it. Nothing else in a page can look so: all of it is escaped.
const BEFORE: &str = "<pre id=\"plan\" tabindex=\"0\">";
const AFTER: &str = "</pre>";

const ENTITIES: [(&str, char); 4] = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"')];

/// Bytes of a page that are read at most for the plan in it.
pub const LONGEST_PAGE: u64 = 64 << 20;

/// A page has no plan that could be taken from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddedPlanError {
    #[error("there is no plan in it")]
    Missing,
    #[error("there is more than one plan in it")]
    Several,
    #[error("the plan in it is damaged")]
    Damaged,
}

impl Hinted for EmbeddedPlanError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            EmbeddedPlanError::Missing => {
                "HTML reports of fsverdict contain their plan; `fsverdict report RUN --format html` writes a new one"
                    .to_owned()
            }
            EmbeddedPlanError::Several => "fsverdict never writes two plans into a page: it was edited".to_owned(),
            EmbeddedPlanError::Damaged => {
                "fsverdict never writes such text into a page: it was edited".to_owned()
            }
        })
    }
}

pub(crate) fn write_plan(plan: &Plan) -> Markup {
    let text = write(plan);
    html! { (PreEscaped(BEFORE)) (text) (PreEscaped(AFTER)) }
}

/// The plan's TOML out of a page, not yet checked: the sender of a page may have put anything there.
pub fn plan_in_page(page: &str) -> Result<String, EmbeddedPlanError> {
    let (_, rest) = page.split_once(BEFORE).ok_or(EmbeddedPlanError::Missing)?;
    let (escaped, rest) = rest.split_once(AFTER).ok_or(EmbeddedPlanError::Damaged)?;
    if rest.contains(BEFORE) {
        return Err(EmbeddedPlanError::Several);
    }
    let mut text = String::with_capacity(escaped.len());
    let mut unescaped_rest = escaped;
    while let Some(at) = unescaped_rest.find(['&', '<', '>']) {
        text.push_str(&unescaped_rest[..at]);
        unescaped_rest = &unescaped_rest[at..];
        let known = ENTITIES.iter().find(|(entity, _)| unescaped_rest.starts_with(entity));
        let (entity, letter) = known.ok_or(EmbeddedPlanError::Damaged)?;
        text.push(*letter);
        unescaped_rest = &unescaped_rest[entity.len()..];
    }
    Ok(text + unescaped_rest)
}

#[cfg(test)]
mod tests {
    use super::{AFTER, BEFORE, EmbeddedPlanError, plan_in_page, write_plan};
    use crate::fixtures::Story;
    use fsverdict_judgement::plan::write;

    #[test]
    fn what_a_page_carries_is_taken_from_it_and_nothing_else() {
        let mut plan = Story::new(&["ext4"], &["write"]).plan;
        plan.title = format!("a & b</pre>{BEFORE}<script>\u{1b}[31m\u{202e}\"'&lt;");
        let page = format!("<!DOCTYPE html><p>{}{}<p>", "&lt;pre id=", write_plan(&plan).into_string());
        assert_eq!(plan_in_page(&page), Ok(write(&plan)));
        assert!(!page.contains(['\u{1b}', '\u{202e}']));
        let cases = [
            ("<!DOCTYPE html>".to_owned(), EmbeddedPlanError::Missing),
            (format!("{page}{BEFORE}{AFTER}"), EmbeddedPlanError::Several),
            (format!("{BEFORE}title = 1"), EmbeddedPlanError::Damaged),
            (format!("{BEFORE}<b>{AFTER}"), EmbeddedPlanError::Damaged),
            (format!("{BEFORE}&nbsp;{AFTER}"), EmbeddedPlanError::Damaged),
        ];
        for (page, wrong) in cases {
            assert_eq!(plan_in_page(&page), Err(wrong), "{page}");
        }
    }
}
