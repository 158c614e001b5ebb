//! The variables that a command line reads: a slip such as `$etc` for `$ETC` is found before anything runs.
//!
//! This is no shell: it lets pass the parts that it cannot follow (quoted programs for another shell, `eval`), where
//! `sh -u` finds the errors.

/// Variables that a shell, or fsverdict, sets without being asked.
const ALWAYS: &[&str] = &[
    "MOUNT",
    "DEVICE",
    "SCRATCH",
    "TMPDIR",
    "HOME",
    "FOLDER",
    "PATH",
    "PWD",
    "OLDPWD",
    "PPID",
    "IFS",
    "OPTIND",
    "OPTARG",
    "LINENO",
    "PS1",
    "PS2",
    "PS4",
    "LC_ALL",
    "SERVICE",
    "FSVERDICT_PROMISED",
];

/// Words after which names are set.
const SETTING: &[&str] = &["for", "read", "getopts", "export", "local", "readonly"];

/// The first variable that the line reads, that nothing sets, and that has no default (`${x:-…}`) where it is read.
pub(super) fn first_unknown(line: &str, known: &[String]) -> Option<String> {
    let set = set_by(line);
    read_by(line).into_iter().find(|name| {
        !ALWAYS.contains(&name.as_str()) && !known.contains(name) && !set.iter().any(|other| other == name)
    })
}

/// The names that the line could have meant, for a hint.
pub(super) fn known_variables(known: &[String]) -> Vec<&str> {
    known.iter().map(String::as_str).chain(["MOUNT", "DEVICE", "SCRATCH"]).collect()
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn is_name(word: &str) -> bool {
    word.chars().all(is_of_name) && word.starts_with(|first: char| !first.is_ascii_digit())
}

/// Names that are read outside of single quotes.
fn read_by(line: &str) -> Vec<String> {
    let (mut names, mut letters) = (Vec::new(), line.char_indices().peekable());
    let (mut double, mut single) = (false, false);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if !double => single = !single,
            _ if single => {}
            '"' => double = !double,
            '\\' => drop(letters.next()),
            '$' => {
                let rest = &line[at + 1..];
                let braced = rest.starts_with('{');
                let inner = rest.strip_prefix('{').unwrap_or(rest);
                let inner = inner.strip_prefix('#').filter(|_| braced).unwrap_or(inner);
                let end = inner.find(|letter| !is_of_name(letter)).unwrap_or(inner.len());
                let (name, after) = inner.split_at(end);
                let defaulted = braced && after.trim_start_matches(':').starts_with(['-', '=', '+', '?']);
                if is_name(name) && !name.is_empty() && !defaulted {
                    names.push(name.to_owned());
                }
            }
            _ => {}
        }
    }
    names
}

/// Names that the line sets somewhere: `x=…`, `for x`, `read x y`.
fn set_by(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for command in line.split([';', '\n', '|', '&', '(', '{']) {
        let mut setting = false;
        for word in command.split_whitespace() {
            let word = word.trim_start_matches(['"', '\'', '$']);
            let (name, assigned) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
            if (assigned || setting) && is_name(name) {
                names.push(name.to_owned());
            }
            setting = (setting && word != "in") || SETTING.contains(&word);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::first_unknown;

    #[test]
    fn a_variable_that_nobody_sets_is_found() {
        let known = ["ETC".to_owned()];
        for (line, wanted) in [
            (r#"rsync -a "$ETC/" "$MOUNT/etc/""#, None),
            (r#"rsync -a "$etc/" "$MOUNT/etc/""#, Some("etc")),
            (r#"cp -a ${ETCC}/. "$MOUNT""#, Some("ETCC")),
            (r#"test ${#MONT} -gt 0"#, Some("MONT")),
            (r#"for f in "$ETC"/*; do cp "$f" "$MOUNT"; done"#, None),
            (r#"n=3; while read -r a b; do echo "$a$b$n"; done < "$ETC/fstab""#, None),
            (r#"awk '{ print $nothing }' "$ETC/fstab""#, None),
            (r#"echo "it's $etc""#, Some("etc")),
            (r#"echo \$etc ${etc:-none} ${etc+x} $? $# $1 $$"#, None),
            (r#"x=$(stat -c %s "$ETC"); echo $x"#, None),
        ] {
            assert_eq!(first_unknown(line, &known).as_deref(), wanted, "{line}");
        }
    }
}
