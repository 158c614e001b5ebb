//! How a command ended, and what it must have said.

/// How a command ended, as a user saw it.
#[derive(Debug)]
pub struct Seen {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Seen {
    pub fn of(output: &std::process::Output) -> Seen {
        Seen {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The exit status must be this; everything said is shown when it is not.
    #[track_caller]
    pub fn exits(self, code: i32) -> Seen {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Standard error must hold each of these.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Seen {
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing: {self:#?}");
        }
        self
    }

    /// Standard output must hold each of these.
    #[track_caller]
    pub fn shows(self, words: &[&str]) -> Seen {
        for word in words {
            assert!(self.stdout.contains(word), "`{word}` is missing: {self:#?}");
        }
        self
    }

    /// The same, wherever its lines were broken.
    #[track_caller]
    pub fn shows_broken(mut self, words: &[&str]) -> Seen {
        self.stdout = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        self.shows(words)
    }
}
