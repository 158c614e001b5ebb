//! Generates names of files and directories: pronounceable, of realistic length, unique within their directory.

use super::random::{mix_bits, scale_to_limit};

const CONSONANTS: &[u8] = b"bcdfghklmnprstvz";
const VOWELS: &[u8] = b"aeio";
const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The separators between the letters of a name and its number, and its ending.
#[derive(Clone, Copy)]
struct NameMarks<'a> {
    separator: u8,
    /// Before the number where there are no letters.
    short: &'a [u8],
    ending: &'a str,
}

/// Builds names in one buffer.
pub(crate) struct Namer {
    seed: u64,
    buffer: Vec<u8>,
}

impl Namer {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed: mix_bits(seed ^ 0x006e_616d_6573), buffer: Vec::with_capacity(64) }
    }

    /// Two to four syllables that follow from `which`, and `place` in base 36, which makes it unique.
    fn write_stem(&mut self, which: u64, separator: u8, place: u64) {
        let mut noise = mix_bits(self.seed ^ which);
        self.buffer.clear();
        for _ in 0..2 + scale_to_limit(noise, 3) {
            noise = mix_bits(noise);
            self.buffer.push(CONSONANTS[(noise & 15) as usize]);
            self.buffer.push(VOWELS[(noise >> 4 & 3) as usize]);
        }
        self.buffer.push(separator);
        self.write_digits(place);
    }

    fn write_digits(&mut self, place: u64) {
        let start = self.buffer.len();
        let mut rest = place;
        loop {
            self.buffer.push(DIGITS[(rest % 36) as usize]);
            rest /= 36;
            if rest == 0 {
                break;
            }
        }
        self.buffer[start..].reverse();
    }

    /// Writes enough letters to reach the wanted length, `separator` and `place`; the name is longer if these alone
    /// are. If there is no space for a letter, `short` stands in its place.
    fn of_length(&mut self, which: u64, marks: NameMarks<'_>, place: u64, length: usize) {
        let NameMarks { separator, short, ending } = marks;
        let mut noise = mix_bits(self.seed ^ which);
        self.buffer.clear();
        self.write_digits(place);
        let room = length.saturating_sub(self.buffer.len() + 1);
        self.buffer.clear();
        let ending = if ending.len() < room { ending } else { "" };
        let letters = room - ending.len();
        while self.buffer.len() < letters {
            noise = mix_bits(noise);
            let vowel = self.buffer.len() % 2 == 1;
            let letter =
                if vowel { VOWELS[(noise >> 4 & 3) as usize] } else { CONSONANTS[(noise & 15) as usize] };
            self.buffer.push(letter);
        }
        match letters {
            0 => self.buffer.extend_from_slice(short),
            _ => self.buffer.push(separator),
        }
        self.write_digits(place);
        self.buffer.extend_from_slice(ending.as_bytes());
    }

    /// Name of the file number `which` of the tree, the `place`th of its directory; of so many bytes where that is said.
    pub(crate) fn file_name(
        &mut self,
        which: u64,
        place: u64,
        endings: &[&str],
        length: Option<usize>,
    ) -> &[u8] {
        let ending =
            scale_to_limit(mix_bits(which ^ self.seed.rotate_left(17)), endings.len() as u64) as usize;
        let ending = endings.get(ending).unwrap_or(&"");
        match length {
            // One that begins with a hyphen would be an option to many a program.
            Some(length) => {
                self.of_length(which, NameMarks { separator: b'-', short: b"", ending }, place, length);
            }
            None => {
                self.write_stem(which, b'-', place);
                self.buffer.extend_from_slice(ending.as_bytes());
            }
        }
        &self.buffer
    }

    /// Name of the directory number `which` of the tree, which is unique in all of it; of so many bytes where that is said.
    pub(crate) fn directory_name(&mut self, which: u64, length: Option<usize>) -> &[u8] {
        match length {
            Some(length) => {
                let marks = NameMarks { separator: b'_', short: b"_", ending: "" };
                self.of_length(!which, marks, which, length);
            }
            None => self.write_stem(!which, b'_', which),
        }
        &self.buffer
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Namer;

    #[test]
    fn names_are_unique_valid_and_of_moderate_length() {
        let mut namer = Namer::new(1);
        let mut seen = HashSet::new();
        for which in 0..5000 {
            let name = namer.file_name(which * 7919, which, &[".txt", ""], None).to_vec();
            assert!(name.len() < 32 && !name.contains(&b'/') && !name.contains(&0));
            assert!(seen.insert(name));
            assert!(seen.insert(namer.directory_name(which, None).to_vec()));
        }
    }

    #[test]
    fn names_of_a_length_have_it_and_are_unique() {
        let mut namer = Namer::new(1);
        for length in [1, 2, 3, 9, 10, 11, 40, 255] {
            let mut seen = HashSet::new();
            for which in 0..2000 {
                let file = namer.file_name(which * 7919, which, &[".txt", ""], Some(length)).to_vec();
                let directory = namer.directory_name(which, Some(length)).to_vec();
                assert!(length < 5 || directory.len() == length && file.len() >= length - 2, "{length}");
                assert!(file.len() <= length.max(3) && file[0] != b'-', "{length}");
                assert!(seen.insert(file) && seen.insert(directory), "{length}");
            }
        }
    }
}
