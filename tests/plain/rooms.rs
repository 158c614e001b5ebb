//! The house holds: no room imports from one below it in the list of its crate's `lib.rs`, no crate from one below it in the list
//! here, and inside a room no files import one another in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A file as its path of modules: `["host", "guard", "usage"]`.
type Module = Vec<String>;

/// A crate of the workspace.
struct RoomCrate {
    /// Where its files lie.
    folder: &'static str,
    /// What others import it by.
    name: &'static str,
    /// The room that it is, where it is a single one.
    room: Option<&'static str>,
}

/// Ground floor first.
const CRATES: [RoomCrate; 13] = [
    RoomCrate { folder: "crates/folders/src", name: "fsverdict_folders", room: Some("folders") },
    RoomCrate { folder: "crates/text/src", name: "fsverdict_text", room: Some("text") },
    RoomCrate { folder: "crates/calls/src", name: "fsverdict_calls", room: Some("calls") },
    RoomCrate { folder: "crates/disk/src", name: "fsverdict_disk", room: None },
    RoomCrate { folder: "crates/recordings/src", name: "fsverdict_recordings", room: Some("recordings") },
    RoomCrate { folder: "crates/judgement/src", name: "fsverdict_judgement", room: None },
    RoomCrate { folder: "crates/report/src", name: "fsverdict_report", room: Some("report") },
    RoomCrate { folder: "crates/linux/src", name: "fsverdict_linux", room: None },
    RoomCrate { folder: "crates/stack/src", name: "fsverdict_stack", room: None },
    RoomCrate { folder: "crates/workload/src", name: "fsverdict_workload", room: None },
    RoomCrate { folder: "crates/lab/src", name: "fsverdict_lab", room: None },
    RoomCrate { folder: "crates/faults/src", name: "fsverdict_faults", room: Some("faults") },
    RoomCrate { folder: "src", name: "fsverdict", room: None },
];

/// The room of a crate that is a single one, as the beginning of a path.
fn beginning(room: Option<&str>) -> Module {
    room.map(str::to_owned).into_iter().collect()
}

/// Every Rust file of every crate, by its path below the package.
pub(crate) fn sources() -> BTreeMap<PathBuf, String> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = CRATES.iter().map(|one| package.join(one.folder)).collect();
    let mut sources = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                sources.insert(path.strip_prefix(package).unwrap().to_owned(), text);
            }
        }
    }
    sources
}

/// Every file of every crate with its code.
fn texts() -> BTreeMap<Module, String> {
    let mut texts: BTreeMap<Module, String> = BTreeMap::new();
    for (path, text) in sources() {
        let within = CRATES.iter().find_map(|one| Some((one, path.strip_prefix(one.folder).ok()?)));
        let (one, path) = within.unwrap();
        let mut module = beginning(one.room);
        module.extend(path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()));
        module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        if !module.is_empty() {
            texts.insert(module, text);
        }
    }
    let of_tests: BTreeSet<Module> =
        texts.iter().flat_map(|(module, text)| test_files(module, text)).collect();
    texts.retain(|module, _| !of_tests.iter().any(|test| module.starts_with(test)));
    texts.values_mut().for_each(|text| *text = code(text));
    texts
}

/// The files that a file has for its tests alone.
fn test_files(module: &Module, text: &str) -> Vec<Module> {
    let after = text.split("#[cfg(test)]\n").skip(1).filter_map(|after| after.lines().next());
    let name = |line: &str| Some(line.split_once("mod ")?.1.strip_suffix(';')?.to_owned());
    after.filter_map(name).map(|name| [module.as_slice(), &[name]].concat()).collect()
}

/// Every file with what it imports of the crate, as far as a file stands for it.
fn imports() -> BTreeMap<Module, BTreeSet<Module>> {
    let texts = texts();
    let known: BTreeSet<Module> = texts.keys().cloned().collect();
    let of = |(module, text): (&Module, &String)| {
        let mut found: BTreeSet<Module> =
            paths(text, module).into_iter().filter_map(|path| file_of(path, &known)).collect();
        // What a file says of its own folder's `mod.rs` is that folder's table of contents.
        found.remove(module);
        (module.clone(), found)
    };
    texts.iter().map(of).collect()
}

/// Without comments and without tests, which may look at whatever they like.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The paths of a file that begin with `crate::`, `super::` or the name of a crate of ours, groups taken apart.
fn paths(text: &str, module: &Module) -> Vec<Module> {
    let single = |one: &&RoomCrate| one.room.is_some_and(|room| room == module[0]);
    let mut starts = vec![
        ("crate".to_owned(), beginning(CRATES.iter().find(single).and_then(|own| own.room))),
        ("super".to_owned(), module[..module.len() - 1].to_vec()),
    ];
    starts.extend(CRATES.iter().map(|one| (one.name.to_owned(), beginning(one.room))));
    let mut found = Vec::new();
    for (start, base) in starts {
        for (at, _) in text.match_indices(&format!("{start}::")) {
            // `super::super::` is found at its first part.
            if text[..at].ends_with("::") || text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                continue;
            }
            take(&text[at + start.len() + 2..], base.clone(), &mut found);
        }
    }
    found
}

/// Reads `a::b`, `{a, b::c}` or `super::a` from the beginning of `text`; how much of it was read.
fn take(text: &str, mut base: Module, found: &mut Vec<Module>) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if let Some(group) = rest.strip_prefix('{') {
            at += 1;
            let mut inside = group;
            while !inside.starts_with('}') && !inside.is_empty() {
                let skipped = inside.len() - inside.trim_start_matches([',', ' ', '\n']).len();
                let step = skipped + take(&inside[skipped..], base.clone(), found);
                at += step.max(1);
                inside = inside.get(step.max(1)..).unwrap_or_default();
            }
            return at + 1;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        match &rest[..end] {
            "super" => drop(base.pop()),
            "self" | "" => {}
            name => base.push(name.to_owned()),
        }
        at += end;
        if text[at..].starts_with("::") {
            at += 2;
        } else {
            found.push(base);
            return at;
        }
    }
}

/// The file that holds what a path names: the longest part of it that is a file.
fn file_of(mut path: Module, known: &BTreeSet<Module>) -> Option<Module> {
    while !path.is_empty() {
        if known.contains(&path) {
            return Some(path);
        }
        path.pop();
    }
    None
}

/// The rooms of all crates in their order, ground floor first.
fn rooms() -> Vec<String> {
    let rooms = |one: RoomCrate| -> Vec<String> {
        if one.room.is_some() {
            return beginning(one.room);
        }
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(one.folder).join("lib.rs");
        let text = std::fs::read_to_string(list).unwrap();
        let names = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        names.map(str::to_owned).collect()
    };
    CRATES.into_iter().flat_map(rooms).collect()
}

#[test]
fn no_arrow_runs_up() {
    let rooms = rooms();
    let floor = |module: &Module| rooms.iter().position(|room| *room == module[0]).unwrap();
    let imports = imports();
    assert!(imports.len() > 100 && rooms.len() > 10, "nothing was read");
    let up: Vec<String> = imports
        .iter()
        .flat_map(|(file, all)| all.iter().map(move |one| (file, one)))
        .filter(|(file, one)| floor(one) > floor(file))
        .map(|(file, one)| format!("{} imports {}", file.join("/"), one.join("/")))
        .collect();
    assert!(up.is_empty(), "{}", up.join("\n"));
}

/// The files of each circle, by what can be reached from where.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Vec<String>> {
    let reach = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&Module> = imports[from].iter().filter(|one| one[0] == from[0]).collect();
        while let Some(one) = next.pop() {
            if seen.insert(one) {
                next.extend(imports[one].iter().filter(|other| other[0] == from[0]));
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reach(module))).collect();
    let circle = |module: &&Module| {
        let own = reached[*module].iter().filter(|other| reached[**other].contains(module));
        own.map(|one| one.join("/")).collect::<Vec<String>>()
    };
    imports.keys().map(|module| circle(&module)).filter(|files| !files.is_empty()).collect()
}

/// A file stands for those below it, and these may ask it for a name: that alone makes no circle.
fn stand_for_those_below(imports: &mut BTreeMap<Module, BTreeSet<Module>>) {
    let files: Vec<Module> = imports.keys().cloned().collect();
    for (file, all) in imports {
        all.retain(|one| !file.starts_with(one));
        all.extend(
            files.iter().filter(|one| one.split_last().is_some_and(|(_, above)| above == file)).cloned(),
        );
    }
}

#[test]
fn no_circle_of_files_in_a_room() {
    let mut imports = imports();
    stand_for_those_below(&mut imports);
    assert_eq!(circles(&imports), BTreeSet::new());
}

/// The functions of a file that take a parameter apart where they declare it, as `(a, b): (u8, u8)`.
fn with_tuple_parameters(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in text.split("fn ").skip(1) {
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let (mut depth, mut before, mut begins) = (0_u32, ' ', false);
        for (at, letter) in rest[name.len()..].char_indices() {
            if at == 0 && (name.is_empty() || !['(', '<'].contains(&letter)) {
                break;
            }
            if begins && !letter.is_whitespace() && letter != '&' {
                begins = false;
                if letter == '(' {
                    found.push(name.to_owned());
                    break;
                }
            }
            match letter {
                '(' | '<' | '[' => depth += 1,
                '>' if before == '-' => {}
                ')' | '>' | ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 && letter != '>' {
                break;
            }
            // A list of types has no patterns in it: a parameter that begins with a bracket there is a type.
            let goes_on = begins && (letter.is_whitespace() || letter == '&');
            begins = goes_on || depth == 1 && ['(', ','].contains(&letter);
            before = letter;
        }
    }
    found
}

/// Several things that are one thing have a name; else each is a parameter.
#[test]
fn no_parameter_is_a_tuple_taken_apart() {
    let found: Vec<String> = texts()
        .iter()
        .flat_map(|(file, text)| {
            with_tuple_parameters(text).into_iter().map(|name| format!("{}: {name}", file.join("/")))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let text = "fn one((a, b): (u8, u8)) {}\nfn two<F: Fn(&str) -> u8>(\n    x: (u8, u8),\n    &(a, b): &(u8, u8),\n) {}\n\
                fn three(a: fn(u8) -> u8, b: [u8; 2], c: Vec<(u8, u8)>) {}\nlet f: fn (u8);\nfn four() -> (u8, u8) {}";
    assert_eq!(with_tuple_parameters(text), ["one", "two"]);
}

/// What to do about an error is a field of it (`reason.rs`): nobody has to find it again in a text.
#[test]
fn a_hint_is_no_part_of_a_text() {
    let mut texts = texts();
    texts.retain(|file, text| !file.contains(&"tests".to_owned()) && text.contains("\\nhint:"));
    let found: Vec<String> = texts.keys().map(|file| file.join("/")).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_circle_and_an_arrow_up_would_be_seen() {
    let module = |path: &str| -> Module { path.split('/').map(str::to_owned).collect() };
    let text = "use super::b::{C, d::E};\nuse crate::host::root::Root;\nlet x = super::super::study::go();";
    let found = paths(&code(text), &module("lab/a/file"));
    let wanted = ["lab/a/b/C", "lab/a/b/d/E", "lab/study/go", "host/root/Root"].map(module);
    for path in &wanted {
        assert!(found.contains(path), "{path:?} in {found:?}");
    }
    let imports = |all: &[(&str, &[&str])]| -> BTreeMap<Module, BTreeSet<Module>> {
        all.iter()
            .map(|(file, others)| (module(file), others.iter().map(|one| module(one)).collect()))
            .collect()
    };
    let seen = |imports| circles(&imports).into_iter().map(|files| files.join(" ")).collect::<Vec<_>>();
    assert_eq!(seen(imports(&[("a/x", &["a/y"]), ("a/y", &["a/x"]), ("a/z", &["a/x"])])), ["a/x a/y"]);
    // What is below a file asks another for something, which asks the file.
    let mut below = imports(&[("a/x", &["a/y"]), ("a/y", &[]), ("a/y/z", &["a/x", "a/y"])]);
    stand_for_those_below(&mut below);
    assert_eq!(seen(below), ["a/x a/y a/y/z"]);
    let mut within = imports(&[("a/y", &["a/y/z"]), ("a/y/z", &["a/y"])]);
    stand_for_those_below(&mut within);
    assert!(seen(within).is_empty());
    let parent = "#[cfg(test)]\nmod tests;\nmod own;\n#[cfg(test)]\npub(crate) mod fake;\n";
    assert_eq!(test_files(&module("a/x"), parent), ["a/x/tests", "a/x/fake"].map(module));
}
