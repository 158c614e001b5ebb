//! A state as a program for the shell, which makes the image on anybody's machine, mounts it and shows what is wrong.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzEncoder;

use crate::filesystem::find;
use crate::lab::LabError;
use crate::study::error::SessionError;
use crate::workload::SequencesRecord;
use fsverdict_disk::crash::StateImage;
use fsverdict_disk::device::Store;
use fsverdict_judgement::plan::Candidate;
use fsverdict_text::quoted;

use super::record::CutRecord;
use super::smaller::MinimisedState;
use super::{PowerCutting, plain};

/// Bytes of a piece of the image.
const PIECE: u64 = 4096;

/// What does it: everything that is in the image and not zero comes with it.
const BODY: &str = r#"
image=${1:-state.img}
test ! -e "$image" || { echo "$image is there already: name another file" >&2; exit 2; }
truncate -s "$size" "$image"
unpack
echo "$image: made. To look at it as root: losetup -f --show $image"
test "$(id -u)" = 0 || exit 0
folder=$(mktemp -d)
mount -t "$type" -o "loop$options" "$image" "$folder" || { echo "it does not mount"; rmdir "$folder"; exit 1; }
list() {
    find . -mindepth 1 | LC_ALL=C sort | while read -r path; do
        if [ -L "$path" ]; then echo "l $(readlink "$path") ${path#./}"
        elif [ -d "$path" ]; then echo "d ${path#./}"
        elif [ -f "$path" ]; then sum=$(cksum <"$path"); echo "f $(stat -c %h "$path") ${sum#* } ${sum%% *} ${path#./}"
        elif [ -p "$path" ]; then echo "p ${path#./}"
        else echo "? ${path#./}"
        fi
    done
}
least | while read -r bytes path; do
    held=$(($(stat -c '%b*%B' "$folder/$path" || echo 0)))
    test "$held" -ge "$bytes" || echo "$path: its blocks take $held bytes, and $bytes were written or set aside"
done >"$image.held"
(cd "$folder" && list) | grep -v ' lost+found$' | LC_ALL=C sort >"$image.is"
umount "$folder" && rmdir "$folder"
"#;

/// All of what is there must be as it is listed, and nothing else may be.
const EXACTLY: &str = r#"must | LC_ALL=C sort >"$image.must"
echo "kind, links, size, cksum, path: < must be there, > is there"
cat "$image.held"
if diff "$image.must" "$image.is" && test ! -s "$image.held"; then echo "names, links, sizes and contents are as they must be"; else exit 1; fi
"#;

/// Each path that is listed must be there, as one of its lines says.
const ONE_OF: &str = r#"must >"$image.must"
echo "kind, links, size, cksum, path: < must be there, in one of these ways, > is there"
if awk '
    { line = $0; sub(/^f [0-9]+ /, "f ", line); path = line; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", path) }
    NR == FNR { may[line]; must[path] = must[path] "< " $0 "\n"; next }
    path in must { if (line in may) kept[path]; else found[path] = "> " $0 "\n" }
    END { for (path in must) if (!(path in kept)) { printf "%s%s", must[path], found[path]; lost = 1 }; exit lost }
' "$image.must" "$image.is"; then echo "every file is one that it may be"; else exit 1; fi
"#;

/// Only whoever promised knows what must be there.
const NOTHING: &str = r#"cat "$image.is"
echo "it mounts, and this is in it; what its programs were promised is asked by the recheck of the plan, not here"
"#;

/// It was not seen of one sequence alone.
const AMONG_OTHERS: &str = r#"cat "$image.is"
echo "it mounts, and this is in it, among others' what the calls above left"
"#;

impl PowerCutting<'_> {
    /// The program of a state that was recorded last.
    pub(super) fn script(
        &self,
        candidate: &Candidate,
        state: &MinimisedState,
        record: &CutRecord,
        at_ns: u64,
    ) -> Result<String, SessionError> {
        let size = self.plan.models_of(candidate).first().map_or(0, |model| model.size.0);
        let image = tempfile::tempfile().map_err(LabError::from)?;
        let mut store = Store::new(image.try_clone().map_err(LabError::from)?, size).map_err(plain)?;
        let log = self.log(candidate, state.name.part)?;
        StateImage::new(log, self.rule(candidate)?).write(&mut store, state.name.state).map_err(plain)?;
        drop(store);
        let (pieces, packed) = pack(&image).map_err(LabError::from)?;
        let mut text = String::from("#!/bin/sh\n");
        // What filesystems say, and what is named in a plan, must not end a comment, which somebody will run as root.
        let mut line = |what: &str| text.push_str(&format!("# {}\n", what.replace(char::is_control, " ")));
        line(&format!("{}: {}", candidate.name, state.finding.seen));
        line("");
        line(&format!(
            "Power was cut {:.6} s after the start of a modelled device ({}). What had been done on a fresh filesystem:",
            at_ns as f64 / 1e9,
            state.name
        ));
        state.did.iter().for_each(|call| line(&format!("    {call}")));
        if record.sequences.is_some() {
            line(
                "each in the folder of its sequence, where the directories A, with the files foo and bar, and B were there and synced.",
            );
        }
        match state.lost.as_slice() {
            [] => line("No write was lost that had been completed or was underway."),
            lost => {
                line("Writes that no flush had made durable, and that were lost:");
                lost.iter().for_each(|one| line(&format!("    {one}")));
            }
        }
        line(&format!("mkfs options: {:?}; mount options: {:?}", candidate.mkfs, candidate.mount));
        line("");
        line(
            "Makes the image; as root mounts it, too, and compares. Needs dd, gzip, base64, and the kernel's driver. Made by fsverdict crash --script.",
        );
        let options: String = candidate.mount.iter().map(|option| format!(",{option}")).collect();
        let options = quoted(&options);
        let kind = find(&candidate.filesystem)
            .map_or(candidate.filesystem.clone(), |one| one.mount(&[]).kind.to_owned());
        let _ = write!(text, "set -eu\nsize={size}\ntype={}\noptions={options}\n", quoted(&kind));
        let (must, comparing) = self.listing(record, state.name.part, at_ns)?;
        let is_of_blocks = state.finding.broken.iter().any(|promise| promise == "allocation");
        let alone = record.sequences.as_ref().filter(|sequences| sequences.work.only.is_some());
        let sequences = alone.filter(|_| is_of_blocks);
        let least = sequences.map(SequencesRecord::least_held).unwrap_or_default();
        for (name, lines) in [("must", must), ("least", least)] {
            let lines: String =
                lines.iter().map(|line| format!("{}\n", line.replace(char::is_control, " "))).collect();
            let _ = write!(text, "{name}() {{ cat <<'END'\n{lines}END\n}}\n");
        }
        text.push_str("unpack() {\n    packed | base64 -d | gzip -d | {\n");
        for (at, count) in pieces {
            let _ = writeln!(
                text,
                "        dd of=\"$image\" bs={PIECE} seek={at} count={count} iflag=fullblock conv=notrunc 2>/dev/null"
            );
        }
        let _ = write!(text, "    }}\n}}\npacked() {{ cat <<'END'\n{packed}END\n}}\n{BODY}{comparing}");
        Ok(text)
    }

    /// What must be there, a line each, and how what is there is compared to it.
    fn listing(
        &self,
        record: &CutRecord,
        part: u32,
        at_ns: u64,
    ) -> Result<(Vec<String>, &'static str), SessionError> {
        if let Some(sequences) = &record.sequences {
            let is_alone = sequences.work.only.is_some();
            return Ok(if is_alone { (sequences.listing(), EXACTLY) } else { (Vec::new(), AMONG_OTHERS) });
        }
        let mut must = Vec::new();
        for folder in &record.folders {
            if let Some(dataset) = self.prepared(&folder.dataset, part)? {
                must.extend(folder.listing(&dataset, at_ns));
            }
        }
        let comparing = if must.is_empty() { NOTHING } else { ONE_OF };
        Ok((must, comparing))
    }
}

/// Where in the image there is something, in pieces, and all of it, compressed, as text.
fn pack(image: &File) -> io::Result<(Vec<(u64, u64)>, String)> {
    let length = image.metadata()?.len();
    let (mut pieces, mut held): (Vec<(u64, u64)>, Vec<u8>) = Default::default();
    let mut piece = vec![0; PIECE as usize];
    let mut file = image.try_clone()?;
    let mut at = 0;
    while at < length {
        // What was never written is skipped.
        match rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)) {
            Ok(data) => at = data / PIECE * PIECE,
            Err(rustix::io::Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        }
        let end = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(at))?.max(at + 1);
        while at < end {
            piece.fill(0);
            let wanted = (length - at).min(PIECE) as usize;
            let room = piece.get_mut(..wanted).unwrap_or_default();
            image.read_exact_at(room, at)?;
            if piece.iter().any(|byte| *byte != 0) {
                let number = at / PIECE;
                match pieces.last_mut() {
                    Some((first, count)) if *first + *count == number => *count += 1,
                    _ => pieces.push((number, 1)),
                }
                held.extend_from_slice(&piece);
            }
            at += PIECE;
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let mut packed = Vec::new();
    GzEncoder::new(held.as_slice(), Compression::best()).read_to_end(&mut packed)?;
    let mut text = String::new();
    for line in STANDARD.encode(&packed).as_bytes().chunks(120) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    Ok((pieces, text))
}
