//! `[work]`: where the sizes, mixes and frequencies of a plan's phases come from, so that readers can judge whether the
//! measured work is like theirs. It changes nothing of a run.

use super::choice_words::choice_words;
use super::keys::{key_names, read_keys};
use super::stored_table::stored_table;
use fsverdict_text::value::{filled_text, filled_texts};
use fsverdict_text::{Node, Reason, Section, TomlValue, bounded_list};

stored_table! {
    /// The origin of a plan's work.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct WorkSource, keys WORK {
        #[serde(deserialize_with = "bounded_list::<_, _, 8>")]
        kinds: Vec<SourceKind>,
        key("kind", "string, or list of strings", kinds, read_kinds, needed "kind = \"recorded\""),
        /// The recorded programs and their versions, or the publications.
        source: String => ("string", filled_text, needed "source = \"SQLite 3.40, recorded with strace\""),
        /// What is done once for each total of the goal, such as "a week at a laptop".
        job?: String => ("string", filled_text),
        /// The filesystem's role on the reader's system, which decides how it is set up for good.
        role!: FilesystemRole => ("string", read_role, unless FilesystemRole::Data),
    }
}

choice_words! {
    /// The role of a filesystem on the system that uses it.
    #[derive(Default)]
    pub enum FilesystemRole {
        /// A folder with data, mounted at each boot.
        #[default]
        Data = "data",
        /// The root of the system.
        Root = "root",
        /// A stick or card that is carried from machine to machine.
        Removable = "removable",
    }

    /// How the work is known, and the words of reports, before the source.
    pub enum SourceKind -> (pub describe: &'static str) {
        /// A program's calls or requests were recorded, and are repeated or counted.
        Recorded = "recorded" => "recorded from programs",
        /// The program itself runs.
        Program = "program" => "the programs themselves",
        /// A program's source code says how often it syncs, how large its files are, or what it renames.
        Code = "code" => "read in the programs' code",
        /// A published study has the numbers.
        Study = "study" => "from published studies",
        /// A standard defines the work, such as TPC-B.
        Standard = "standard" => "by a standard",
        /// An assumption.
        Assumed = "assumed" => "assumed in part",
    }
}

fn read_kinds(node: &Node) -> Result<Vec<SourceKind>, Reason> {
    let words = match &node.value {
        TomlValue::Array(_) => filled_texts(node)?,
        _ => vec![filled_text(node)?],
    };
    let known = |word: &String| {
        SourceKind::from_word(word).ok_or_else(|| {
            let words = SourceKind::ALL.map(SourceKind::word).join(", ");
            Reason::new(format!("`{word}` is no kind of source"), format!("one of {words}"))
        })
    };
    let kinds: Vec<SourceKind> = words.iter().map(known).collect::<Result<_, _>>()?;
    if let Some(twice) = kinds.iter().enumerate().find(|(at, kind)| kinds[..*at].contains(kind)) {
        return Err(Reason::plain(format!("`{}` is named twice", twice.1.word())));
    }
    match kinds.is_empty() {
        true => Err(Reason::new("no kind of source is named", "kind = \"recorded\"")),
        false => Ok(kinds),
    }
}

fn read_role(node: &Node) -> Result<FilesystemRole, Reason> {
    let word = filled_text(node)?;
    FilesystemRole::from_word(&word).ok_or_else(|| {
        let words = FilesystemRole::ALL.map(FilesystemRole::word).join(", ");
        Reason::new(format!("`{word}` is no role of a filesystem"), format!("one of {words}"))
    })
}

/// Reads the section, if the plan has one.
pub(super) fn read_work_source(top: &Section<'_>) -> Option<WorkSource> {
    let section = top.inner_table("work", "[work]", &key_names(WORK))?;
    read_keys(WORK, &section, WorkSource::default())
}
