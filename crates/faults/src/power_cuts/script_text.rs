//! The text of a program for the shell that makes the image of a state, mounts a copy of it and compares.
//!
//! Users run it as root. Text from a plan, a guest or an image is only ever data to it: in comments without control
//! characters, in quotes, in here-documents that the text cannot end. It works in its own folder, creates the requested
//! file without following a link, and mounts with nosuid and nodev.

use std::fmt::Write;

use fsverdict_text::{Reason, is_steering, quoted};

/// Bytes of a piece of the image.
pub(super) const PIECE: u64 = 4096;

/// Builds the image from its non-zero pieces, and lists the mounted content.
const BODY: &str = r#"
image=${1:-state.img}
work=$(mktemp -d)
folder=$work/mounted
leave() {
    if [ -e "$work/is-mounted" ] && ! umount "$folder"; then echo "$folder is still mounted" >&2; exit 1; fi
    rm -rf -- "$work"
}
trap leave EXIT
trap 'exit 1' HUP INT TERM
: >"$work/image"
truncate -s "$size" "$work/image"
unpack
# A new file: not over one that is there, and not through a link.
dd if="$work/image" of="$image" bs=65536 conv=excl,sparse 2>/dev/null || { printf '%s cannot be made, or is there already: name another file\n' "$image" >&2; exit 2; }
printf '%s: made. To look at it as root: losetup -f --show FILE\n' "$image"
test "$(id -u)" = 0 || exit 0
mkdir "$folder"
mount -t "$type" -o "loop$options,nosuid,nodev,noexec" "$work/image" "$folder" || { echo "it does not mount"; exit 1; }
: >"$work/is-mounted"
list() {
    find . -mindepth 1 -exec sh -c 'for path; do
        if [ -L "$path" ]; then what="l $(readlink "$path")"
        elif [ -d "$path" ]; then what=d
        elif [ -f "$path" ]; then sum=$(cksum <"$path"); what="f $(stat -c %h "$path") ${sum#* } ${sum%% *}"
        elif [ -p "$path" ]; then what=p
        else what=?
        fi
        printf "%s %s\n" "$what" "${path#./}"
    done' sh {} +
}
# Names and targets of links are the image's, and may hold what steers a terminal.
show() { LC_ALL=C tr -c '\n -~' '?' <"$1"; }
least | while read -r bytes path; do
    held=$(($(stat -c '%b*%B' "$folder/$path" || echo 0)))
    test "$held" -ge "$bytes" || printf '%s: its blocks take %s bytes, and %s were written or set aside\n' "$path" "$held" "$bytes"
done >"$work/held"
(cd "$folder" && list) | grep -v ' lost+found$' | LC_ALL=C sort >"$work/is" || true
"#;

/// The listed files must all exist unchanged, and no others.
const EXACTLY: &str = r#"must | LC_ALL=C sort >"$work/must"
echo "kind, links, size, cksum, path: < must be there, > is there"
show "$work/held"
if diff "$work/must" "$work/is" >"$work/difference" && test ! -s "$work/held"; then echo "names, links, sizes and contents are as they must be"; else show "$work/difference"; exit 1; fi
"#;

/// Each path that is listed must be there, as one of its lines says.
const ONE_OF: &str = r#"must >"$work/must"
echo "kind, links, size, cksum, path: < must be there, in one of these ways, > is there"
if awk '
    { line = $0; sub(/^f [0-9]+ /, "f ", line); path = line; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", path) }
    NR == FNR { may[line]; must[path] = must[path] "< " $0 "\n"; next }
    path in must { if (line in may) kept[path]; else found[path] = "> " $0 "\n" }
    END { for (path in must) if (!(path in kept)) { printf "%s%s", must[path], found[path]; lost = 1 }; exit lost }
' "$work/must" "$work/is" >"$work/difference"; then echo "every file is one that it may be"; else show "$work/difference"; exit 1; fi
"#;

/// Only the programs know their promises.
const NOTHING: &str = r#"show "$work/is"
echo "it mounts, and this is in it; what its programs were promised is asked by the recheck of the plan, not here"
"#;

/// It was not seen of one sequence alone.
const AMONG_OTHERS: &str = r#"show "$work/is"
echo "it mounts, and this is in it, among others' what the calls above left"
"#;

/// How the content is compared with the expected content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListingComparison {
    Exactly,
    OneOf,
    Nothing,
    AmongOthers,
}

impl ListingComparison {
    fn text(self) -> &'static str {
        match self {
            ListingComparison::Exactly => EXACTLY,
            ListingComparison::OneOf => ONE_OF,
            ListingComparison::Nothing => NOTHING,
            ListingComparison::AmongOthers => AMONG_OTHERS,
        }
    }
}

/// The parts of a script.
#[derive(Debug, Clone)]
pub(super) struct ScriptParts {
    pub(super) comments: Vec<String>,
    /// Of the image, in bytes.
    pub(super) size: u64,
    /// mount(8)'s name for the filesystem.
    pub(super) kind: String,
    pub(super) options: Vec<String>,
    /// The expected content, one line per file.
    pub(super) must: Vec<String>,
    /// The minimum disk usage of files: bytes and path, one line per file.
    pub(super) least: Vec<String>,
    /// The non-empty pieces of the image: the number of the first piece and the count.
    pub(super) pieces: Vec<(u64, u64)>,
    /// All pieces, compressed, in base64.
    pub(super) packed: String,
    pub(super) comparison: ListingComparison,
}

impl ScriptParts {
    /// The program.
    ///
    /// # Errors
    /// When a mount option would swallow those that follow it.
    pub(super) fn write_script(&self) -> Result<String, Reason> {
        // mount(8) treats text between double quotes as one option, commas included.
        if let Some(option) = self.options.iter().find(|option| option.contains('"')) {
            return Err(Reason::new(
                format!(
                    "the mount option {option:?} contains a quotation mark, which is not allowed in a script for root"
                ),
                "leave --script out: the image is written",
            ));
        }
        let mut text = String::from("#!/bin/sh\n");
        for line in &self.comments {
            let _ = writeln!(text, "# {}", in_one_line(line));
        }
        let options: String = self.options.iter().map(|option| format!(",{}", in_one_line(option))).collect();
        let (kind, options) = (quoted(&in_one_line(&self.kind)), quoted(&options));
        let _ = write!(text, "set -eu\nsize={}\ntype={kind}\noptions={options}\n", self.size);
        for (name, lines) in [("must", &self.must), ("least", &self.least)] {
            let _ = writeln!(text, "{name}() {{ cat <<'END'");
            for line in lines.iter().map(|line| in_one_line(line)) {
                // No such line is ever made; it would end the document.
                let _ = writeln!(text, "{}", if line == "END" { "END " } else { &line });
            }
            text.push_str("END\n}\n");
        }
        text.push_str("unpack() {\n    packed | base64 -d | gzip -d | {\n");
        for (at, count) in &self.pieces {
            let _ = writeln!(
                text,
                "        dd of=\"$work/image\" bs={PIECE} seek={at} count={count} iflag=fullblock conv=notrunc 2>/dev/null"
            );
        }
        // Nothing at all is a program's body, too.
        text.push_str("        :\n    }\n}\n");
        let _ =
            write!(text, "packed() {{ cat <<'END'\n{}END\n}}\n{BODY}{}", self.packed, self.comparison.text());
        Ok(text)
    }
}

/// Removes line ends and terminal control characters.
fn in_one_line(text: &str) -> String {
    text.replace(is_steering, " ")
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
