//! The options after the name of a version of LUKS in a plan:
//! `luks2:cipher=aes-xts-plain64,key=256,sector=4096,no_read_workqueue`.

use fsverdict_text::Reason;

use super::model::LayerPlace;

/// The flags of dm-crypt that take a queue away, as they are called in a plan and, after `--perf-`, by cryptsetup.
const QUEUES: [&str; 2] = ["no_read_workqueue", "no_write_workqueue"];
/// Bits; twice that of the cipher for xts.
const KEYS: [&str; 5] = ["128", "192", "256", "384", "512"];
const SECTORS: [&str; 4] = ["512", "1024", "2048", "4096"];

/// As words of cryptsetup's command lines: of `luksFormat`, and of `open`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CryptOptions {
    pub(super) format: Vec<String>,
    pub(super) open: Vec<String>,
    /// Whether the header lies elsewhere, and the data begin with the device.
    pub(super) detached: bool,
}

impl CryptOptions {
    /// # Errors
    /// When this version of LUKS does not support an option.
    pub(super) fn parse(version: &str, text: &str) -> Result<Self, Reason> {
        let mut options = CryptOptions::default();
        if text.is_empty() {
            return Ok(options);
        }
        for word in text.split(',') {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = |what: String| Reason::new(what, options_hint(version));
            let one_of = |known: &[&str]| {
                let is_known = known.contains(&value);
                let among = known.join(", ");
                if is_known {
                    Ok(())
                } else {
                    Err(wrong(format!("`{name}` is one of {among}, not `{value}`")))
                }
            };
            match name {
                "cipher" => {
                    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-:_".contains(&letter);
                    if !value.contains('-') || value.starts_with('-') || !value.bytes().all(plain) {
                        return Err(wrong(format!("a cipher is named as in aes-xts-plain64, not `{value}`")));
                    }
                    options.format.extend(["--cipher".to_owned(), value.to_owned()]);
                }
                "key" => {
                    one_of(&KEYS)?;
                    options.format.extend(["--key-size".to_owned(), value.to_owned()]);
                }
                "sector" if version == "luks2" => {
                    one_of(&SECTORS)?;
                    options.format.extend(["--sector-size".to_owned(), value.to_owned()]);
                }
                "header" if version == "luks2" => {
                    one_of(&["detached"])?;
                    options.detached = true;
                }
                _ if version == "luks2" && QUEUES.contains(&word) => {
                    options.open.push(format!("--perf-{word}"));
                }
                _ => return Err(wrong(format!("this layer has no option `{word}`"))),
            }
        }
        Ok(options)
    }

    /// The options of a place, which were parsed before; a detached header lies at this path.
    pub(super) fn from_place(version: &str, site: &LayerPlace<'_>, header: &str) -> Self {
        let mut options = Self::parse(version, site.options).unwrap_or_default();
        if options.detached {
            for line in [&mut options.format, &mut options.open] {
                line.extend(["--header".to_owned(), header.to_owned()]);
            }
        }
        options
    }
}

fn options_hint(version: &str) -> String {
    match version {
        "luks2" => {
            "as in luks2:cipher=aes-xts-plain64,key=256,sector=4096,header=detached,no_read_workqueue,no_write_workqueue"
        }
        _ => "as in luks1:cipher=aes-cbc-essiv:sha256,key=256",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::CryptOptions;

    #[test]
    fn options_become_words_of_cryptsetup() {
        let read = |version, text| CryptOptions::parse(version, text).unwrap();
        assert_eq!(read("luks2", ""), CryptOptions::default());
        let options =
            read("luks2", "cipher=aes-xts-plain64,key=256,sector=4096,no_read_workqueue,no_write_workqueue");
        assert_eq!(options.format.join(" "), "--cipher aes-xts-plain64 --key-size 256 --sector-size 4096");
        assert_eq!(options.open.join(" "), "--perf-no_read_workqueue --perf-no_write_workqueue");
        assert_eq!(read("luks1", "cipher=aes-cbc-essiv:sha256").format, ["--cipher", "aes-cbc-essiv:sha256"]);
    }

    #[test]
    fn what_is_no_option_is_refused() {
        for (version, text) in [
            ("luks1", "sector=4096"),
            ("luks1", "no_read_workqueue"),
            ("luks2", "sector=8192"),
            ("luks2", "key=77"),
            ("luks2", "cipher=aes"),
            ("luks2", "cipher=--help"),
            ("luks2", "cipher=aes-xts plain64"),
            ("luks2", "no_read_workqueue=1"),
            ("luks2", "fast"),
            ("luks2", "header=/etc/passwd"),
            ("luks1", "header=detached"),
            ("luks2", ","),
        ] {
            CryptOptions::parse(version, text).unwrap_err();
        }
    }
}
