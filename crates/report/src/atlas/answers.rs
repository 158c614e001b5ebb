//! Words for an answer, short for a table and long for a sentence.

use maud::{Markup, html};

use crate::wording::{listing, one_line, times};
use fsverdict_judgement::verdict::{Answer, AnswerMark};
use fsverdict_text::join_names;

/// The sign of a mark, its CSS class, and its words.
pub(super) struct MarkWords {
    pub(super) sign: &'static str,
    pub(super) class: &'static str,
    pub(super) words: &'static str,
}

impl MarkWords {
    /// The sign, which a screen reader passes over, and a space.
    pub(super) fn draw_sign(&self) -> Markup {
        html! { span.sign aria-hidden="true" { (self.sign) } " " }
    }
}

pub(super) fn mark_words(mark: AnswerMark) -> MarkWords {
    let (sign, class, words) = match mark {
        AnswerMark::NineOfTen => ("●", "holds", "holds on nine drives of ten"),
        AnswerMark::DependsOnDrive => ("◐", "depends", "depends on the drive"),
        AnswerMark::Undecided => ("○", "open", "undecided"),
        AnswerMark::OnlyOne => ("□", "only", "nothing to compare with"),
    };
    MarkWords { sign, class, words }
}

/// `1.7 times` or `12 %`, by which the first leads; `level` if the two are as good.
pub(super) fn describe_lead(answer: &Answer) -> Option<String> {
    let next = answer.next.as_ref().filter(|next| next.times.point >= 1.005)?;
    Some(describe_ratio(next.times.point))
}

/// Ratios from here on are told in times, and smaller ones in per cent.
const FAR: f64 = 1.095;

/// How much more a ratio is: per cent while it is small.
fn describe_ratio(ratio: f64) -> String {
    match ratio {
        small if (1.0..FAR).contains(&small) => format!("{:.0} %", (small - 1.0) * 100.0),
        ratio => format!("{} times", short_times(ratio)),
    }
}

/// Two digits are enough for a table.
pub(super) fn short_times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { times(ratio) }
}

/// The answer in one sentence, for a search engine and for lists.
pub(super) fn describe_answer(answer: &Answer) -> String {
    let first = one_line(&answer.first);
    let lead = |takes: &str| match &answer.next {
        Some(next) => format!("; {} {takes} {}", one_line(&next.name), describe_distance(next.times.point)),
        None => String::new(),
    };
    let tied: Vec<String> = answer.tied.iter().map(|name| one_line(name)).collect();
    match answer.mark {
        AnswerMark::OnlyOne => format!("{first}: no other candidate was measured that fits."),
        AnswerMark::Undecided => {
            format!("Undecided: {first} leads so far{}.", lead("takes"))
        }
        _ => {
            let level = match tied.as_slice() {
                [] => String::new(),
                some => format!(
                    " or {}, which {} as good",
                    listing(some, 3),
                    if some.len() == 1 { "is" } else { "are" }
                ),
            };
            let drive = match answer.rivals.as_slice() {
                [] => "; this holds on nine drives of ten".to_owned(),
                rivals => format!("; on your drive {} may be better", join_names(rivals, 3, "or")),
            };
            format!("{first}{level}{}{}.", lead("takes"), one_line(&drive))
        }
    }
}

/// `1.7 times as much`, `12 % more`.
fn describe_distance(ratio: f64) -> String {
    match ratio {
        level if (0.995..1.005).contains(&level) => "as much".to_owned(),
        less if less < 1.0 => format!("{:.0} % less", (1.0 - less) * 100.0),
        small if small < FAR => format!("{} more", describe_ratio(small)),
        ratio => format!("{} as much", describe_ratio(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::{describe_answer, describe_lead};
    use fsverdict_judgement::verdict::{Answer, AnswerMark, Estimate, RunnerUp};

    fn answer(mark: AnswerMark, point: f64, rivals: &[&str]) -> Answer {
        let times = Estimate { point, low: None, high: None, n: 6 };
        Answer {
            mark,
            first: "xfs".to_owned(),
            tied: Vec::new(),
            next: Some(RunnerUp { name: "ext4".to_owned(), times }),
            rivals: rivals.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn an_answer_is_one_sentence() {
        let holds = answer(AnswerMark::NineOfTen, 1.7, &[]);
        assert_eq!(
            describe_answer(&holds),
            "xfs; ext4 takes 1.7 times as much; this holds on nine drives of ten."
        );
        assert_eq!(describe_lead(&holds).unwrap(), "1.7 times");
        let depends = answer(AnswerMark::DependsOnDrive, 1.04, &["ext4"]);
        assert_eq!(describe_answer(&depends), "xfs; ext4 takes 4 % more; on your drive ext4 may be better.");
        let open = answer(AnswerMark::Undecided, 1.2, &[]);
        assert_eq!(describe_answer(&open), "Undecided: xfs leads so far; ext4 takes 1.2 times as much.");
    }
}
