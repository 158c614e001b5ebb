//! Checks before the first trial whether a lab provides the I/O scheduler that a candidate asks for.

use fsverdict_text::Reason;

/// Schedulers of kernels before 5.0, with their successors.
const FORMER: [(&str, &str); 3] = [("cfq", "bfq"), ("deadline", "mq-deadline"), ("noop", "none")];

/// The obstacle of a scheduler that is not among those offered to `whom`.
pub(super) fn scheduler_obstacle(wanted: &str, whom: &str, offered: &[String]) -> Option<Reason> {
    if offered.iter().any(|name| name == wanted) {
        return None;
    }
    let successor = FORMER.iter().find(|(former, _)| *former == wanted).map(|(_, successor)| *successor);
    Some(Reason::new(
        format!("{whom} has no I/O scheduler `{wanted}`: it offers {}", offered.join(", ")),
        successor.map_or_else(
            || "take one of those, or load the module of the other".to_owned(),
            |successor| format!("kernels before 5.0 had it; what took its place is `{successor}`"),
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::scheduler_obstacle;

    #[test]
    fn what_is_not_offered_is_told_with_what_is() {
        let offered = ["none".to_owned(), "mq-deadline".to_owned()];
        assert_eq!(scheduler_obstacle("mq-deadline", "loop0", &offered), None);
        let shown = scheduler_obstacle("bfq", "loop0", &offered).unwrap();
        assert_eq!(shown.what, "loop0 has no I/O scheduler `bfq`: it offers none, mq-deadline");
        let shown = scheduler_obstacle("cfq", "loop0", &offered).unwrap();
        assert!(shown.hint.ends_with("`bfq`"), "{}", shown.hint);
    }
}
