//! Names of generated files and directories: pronounceable, of realistic length, unique within their directory.

use super::random::{mix, scale};

const CONSONANTS: &[u8] = b"bcdfghklmnprstvz";
const VOWELS: &[u8] = b"aeio";
const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Builds names in one buffer.
pub(crate) struct Namer {
    seed: u64,
    buffer: Vec<u8>,
}

impl Namer {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed: mix(seed ^ 0x006e_616d_6573), buffer: Vec::with_capacity(64) }
    }

    /// Two to four syllables that follow from `which`, and `place` in base 36, which makes it unique.
    fn stem(&mut self, which: u64, separator: u8, place: u64) {
        let mut noise = mix(self.seed ^ which);
        self.buffer.clear();
        for _ in 0..2 + scale(noise, 3) {
            noise = mix(noise);
            self.buffer.push(CONSONANTS[(noise & 15) as usize]);
            self.buffer.push(VOWELS[(noise >> 4 & 3) as usize]);
        }
        self.buffer.push(separator);
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

    /// Name of the file number `which` of the tree, the `place`th of its directory.
    pub(crate) fn file(&mut self, which: u64, place: u64, endings: &[&str]) -> &[u8] {
        self.stem(which, b'-', place);
        let ending = scale(mix(which ^ self.seed.rotate_left(17)), endings.len() as u64) as usize;
        self.buffer.extend_from_slice(endings.get(ending).unwrap_or(&"").as_bytes());
        &self.buffer
    }

    /// Name of the directory number `which` of the tree, which is unique in all of it.
    pub(crate) fn directory(&mut self, which: u64) -> &[u8] {
        self.stem(!which, b'_', which);
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
            let name = namer.file(which * 7919, which, &[".txt", ""]).to_vec();
            assert!(name.len() < 32 && !name.contains(&b'/') && !name.contains(&0));
            assert!(seen.insert(name));
            assert!(seen.insert(namer.directory(which).to_vec()));
        }
    }
}
