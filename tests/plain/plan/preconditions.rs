//! Operations that need what another one leaves: a plan without that is refused, each operation in turn.

use fsverdict_judgement::plan::{Operation, OperationKind};

use super::read;

const BEGINNING: &str = r#"
title = "t"
lab = "uml"
[device]
image = "64MiB"
[[candidate]]
filesystem = "btrfs"
[dataset.tree]
profile = "mixed"
files = 9
directories = 2
size = "1MiB"
[dataset.crowd]
flat = 9
file_size = "1KiB"
[dataset.big]
file = "1MiB"
[dataset.calls]
calls = '''
file 0 12 8192
name 0 6
open 1 1
read 1 0 4096 x2
'''
"#;

fn dataset_for(operation: Operation) -> Option<(&'static str, OperationKind)> {
    let all = [
        ("tree", OperationKind::Tree),
        ("crowd", OperationKind::Flat),
        ("big", OperationKind::File),
        ("calls", OperationKind::Trace),
    ];
    all.into_iter().find(|(_, kind)| operation.dataset_kinds().contains(kind))
}

fn phase(number: usize, operation: Operation, dataset: &str) -> String {
    let mut text = format!("[[phase]]\nname = \"p{number}\"\noperation = \"{operation}\"\n");
    if !operation.dataset_kinds().is_empty() {
        text += &format!("dataset = \"{dataset}\"\n");
    }
    if operation.takes("changed") {
        text += "changed = 0.1\n";
    }
    text += match operation {
        Operation::AgePull => "pulls = 2\n",
        Operation::AgeChurn => "rounds = 1\n",
        Operation::Sequences => "steps = 1\n",
        _ => "",
    };
    if operation.takes("to") {
        text += "to = 0.5\n";
    }
    text
}

fn outcome(operations: &[Operation], dataset: &str, between: &str) -> Result<(), String> {
    let mut text = BEGINNING.to_owned();
    for (number, operation) in operations.iter().enumerate() {
        if number + 1 == operations.len() {
            text += between;
        }
        text += &phase(number, *operation, dataset);
    }
    read(&text, "p.toml").map(drop).map_err(|error| error.to_string())
}

/// `directory.save` without `directory.fill` failed every candidate in its first trial.
#[test]
fn an_operation_without_what_it_needs_is_refused_in_its_place_with_what_makes_it() {
    let mut needy = 0;
    for operation in Operation::all() {
        let (dataset, kind) = dataset_for(operation).unwrap_or(("", OperationKind::Tree));
        let alone = outcome(&[operation], dataset, "");
        let Some(needed) = operation.precondition() else {
            // A trace of several calls on names does not suit a device, and that is another error.
            let is_fine = alone.as_ref().is_err_and(|error| {
                operation == Operation::DeviceReplay && !error.contains("no phase before")
            });
            assert!(alone.is_ok() || is_fine, "{operation}: {alone:?}");
            continue;
        };
        needy += 1;
        let maker = needed.made_by(kind);
        let error = alone.unwrap_err();
        let wanted = [
            format!("`{operation}` needs "),
            "and no phase before it leaves that".to_owned(),
            format!("hint: put a phase before it: operation = \"{maker}\", dataset = \"{dataset}\""),
            format!("operation = \"{operation}\""),
        ];
        assert!(wanted.iter().all(|words| error.contains(words)), "{error}");
        assert_eq!(error.matches("error:").count().max(1), 1, "{error}");
        // What makes it may need something itself.
        let mut all = vec![operation];
        while let Some(needed) = all[0].precondition() {
            let maker = needed.made_by(kind);
            assert!(maker.dataset_kinds().contains(&kind), "{maker}");
            all.insert(0, maker);
        }
        assert_eq!(outcome(&all, dataset, ""), Ok(()), "{all:?}");
    }
    assert!(needy >= 20, "{needy}");
}

#[test]
fn files_may_come_from_a_command_and_go_by_a_removal() {
    use Operation::{
        RotationNext, SnapshotCreate, SnapshotDelete, SnapshotRollback, TreeRead, TreeRemove, TreeWrite,
    };
    let command = "[[phase]]\nname = \"c\"\ncommand = 'cp -a \"$TREE\" \"$MOUNT\"'\n";
    assert_eq!(outcome(&[TreeRead], "tree", command), Ok(()));
    assert!(outcome(&[RotationNext], "tree", command).is_err(), "a command makes no generation");
    assert!(outcome(&[TreeWrite, TreeRemove, TreeRead], "tree", "").is_err());
    assert_eq!(outcome(&[TreeWrite, TreeRemove, TreeRead], "tree", command), Ok(()));
    assert!(outcome(&[SnapshotCreate, SnapshotDelete, SnapshotDelete], "tree", "").is_err());
    assert_eq!(
        outcome(&[TreeWrite, SnapshotCreate, TreeRemove, SnapshotRollback, TreeRead], "tree", ""),
        Ok(())
    );
}
