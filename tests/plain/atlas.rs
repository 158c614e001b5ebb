//! The pages of an atlas, from the command line: without a kernel nothing can be computed, and no page pretends so.

use std::path::Path;

use serde_json::Value;

use crate::common::Place;

fn build(place: &Place, arguments: &[&str]) -> String {
    let begin = ["atlas", "build", "--render", "--out", "site", "--kernel", "6.12.117"];
    let made = place.fsverdict(&[&begin[..], arguments].concat());
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    made.stdout + &made.stderr
}

fn page(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join("site").join(name)).unwrap()
}

#[test]
fn a_cell_that_was_not_computed_is_empty_and_says_so() {
    let place = Place::new();
    let told = build(&place, &["games", "photo-backup", "--devices", "nvme-ssd,hdd-7200"]);
    assert!(told.contains("nothing was computed yet"), "{told}");
    let index = page(&place, "index.html");
    assert_eq!(index.matches("not computed yet").count(), 4, "{index}");
    let cell = page(&place, "games@nvme-ssd.html");
    assert!(
        cell.contains("Not answered yet") && cell.contains("fsverdict atlas build games --devices nvme-ssd")
    );
    assert!(!place.path().join("site/cards").exists());
}

#[test]
fn all_works_and_kinds_have_pages_with_a_description() {
    let place = Place::new();
    build(&place, &[]);
    let names: Vec<String> = std::fs::read_dir(place.path().join("site"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".html"))
        .collect();
    assert!(names.len() > 100, "{}", names.len());
    for name in &names {
        let page = page(&place, name);
        let description = page.split("name=\"description\" content=\"").nth(1).unwrap();
        assert!(description.find('"').unwrap() > 20, "{name}");
    }
    let studies = page(&place, "studies.html");
    assert!(studies.contains("no longer holds") && studies.contains("What the author found"));
}

#[test]
fn a_damaged_bundle_is_left_out_with_the_reason() {
    let place = Place::new();
    let bundles = place.path().join("bundles");
    std::fs::create_dir(&bundles).unwrap();
    std::fs::write(bundles.join("a.tar.gz"), b"\x1f\x8bnothing").unwrap();
    std::fs::write(bundles.join("b.tar.gz"), [0; 100]).unwrap();
    let told = build(&place, &["games", "--devices", "nvme-ssd", bundles.to_str().unwrap()]);
    assert!(told.contains("runs of others: 0 joined, 2 left out") && told.contains("left out "), "{told}");
}

/// The site in docs/atlas is built again from the runs that it holds: an answer that changes without a change of plan, model,
/// kernel or method is a regression of this program, for which the build fails.
#[test]
fn the_published_answers_follow_from_the_published_runs() {
    let place = Place::new();
    let (published, site) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/atlas"), place.path().join("site"));
    std::fs::create_dir_all(site.join("runs")).unwrap();
    std::fs::copy(published.join("atlas.json"), site.join("atlas.json")).unwrap();
    let runs: Vec<_> =
        std::fs::read_dir(published.join("runs")).unwrap().map(|entry| entry.unwrap()).collect();
    let of_kind = |name: &str| name.contains("@nvme-ssd-");
    let runs = runs.iter().filter(|entry| of_kind(&entry.file_name().to_string_lossy()));
    let copied =
        runs.map(|entry| std::fs::copy(entry.path(), site.join("runs").join(entry.file_name())).unwrap());
    assert!(copied.count() > 0);
    let told = build(&place, &["--devices", "nvme-ssd", "--blocks", "6", "--scale", "0.3", "--for", "40m"]);
    assert!(!told.contains("nothing was computed yet"), "rebuild docs/atlas, its plans have changed: {told}");
}

#[test]
fn an_answer_can_be_a_picture() {
    let place = Place::new();
    place.recorded();
    let made = place.fsverdict(&["report", "run", "--card", "card.png"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(&std::fs::read(place.path().join("card.png")).unwrap()[1..4], b"PNG");
}

#[test]
fn the_numbers_of_a_site_follow_the_published_schema() {
    let place = Place::new();
    build(&place, &["games", "--devices", "nvme-ssd"]);
    let numbers = serde_json::from_str(&page(&place, "atlas.json")).unwrap();
    check_schema(include_str!("../../docs/reference/atlas.schema.json"), &numbers);
}

#[test]
fn the_json_of_a_run_follows_the_published_schema() {
    let place = Place::new();
    for run in ["demo", "recorded"] {
        place.recorded_from(run, run);
        let made = place.fsverdict(&["report", run, "--format", "json"]).exits(0);
        let report = serde_json::from_str(&made.stdout).unwrap();
        check_schema(include_str!("../../docs/reference/report.schema.json"), &report);
    }
}

#[test]
#[should_panic(expected = "verdict.outcome")]
fn a_document_that_breaks_the_schema_is_noticed() {
    let place = Place::new();
    place.recorded();
    let made = place.fsverdict(&["report", "run", "--format", "json"]).exits(0);
    let mut report: Value = serde_json::from_str(&made.stdout).unwrap();
    report["verdict"]["outcome"] = "won".into();
    check_schema(include_str!("../../docs/reference/report.schema.json"), &report);
}

#[test]
fn only_a_run_has_the_formats_of_other_tools() {
    let place = Place::new();
    place.recorded();
    place.fsverdict(&["report", "run", "--format", "openmetrics"]).exits(0).shows(&["# EOF"]);
    place.fsverdict(&["report", "run", "--format", "phoronix"]).exits(0).shows(&["<PhoronixTestSuite>"]);
    place.recorded_as("other");
    let refused = place.fsverdict(&["compare", "run", "other", "--format", "phoronix"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
}

/// Checks a document against a JSON schema of which only these keywords are used; any other fails, so that nothing is left
/// unchecked.
fn check_schema(schema: &str, document: &Value) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut faults = Vec::new();
    check_value(&schema, &schema, document, "", &mut faults);
    assert!(faults.is_empty(), "{faults:#?}");
}

fn check_value(whole: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    for (key, wanted) in schema.as_object().unwrap() {
        match key.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                check_value(whole, &whole["$defs"][name], value, at, faults);
            }
            "const" | "enum" => {
                let fits = wanted == value || wanted.as_array().is_some_and(|all| all.contains(value));
                if !fits {
                    faults.push(format!("{at}: {value}, not {wanted}"));
                }
            }
            "type" => {
                let kinds: Vec<&str> = match wanted {
                    Value::String(one) => vec![one],
                    many => many.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect(),
                };
                let is = |kind: &&str| match *kind {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("type {other}"),
                };
                if !kinds.iter().any(is) {
                    faults.push(format!("{at}: {value}, not {wanted}"));
                }
            }
            "anyOf" => {
                let fits = |one: &Value| {
                    let mut own = Vec::new();
                    check_value(whole, one, value, at, &mut own);
                    own.is_empty()
                };
                if !wanted.as_array().unwrap().iter().any(fits) {
                    faults.push(format!("{at}: {value} fits nothing of {wanted}"));
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
                    if value.is_object() && value.get(name).is_none() {
                        faults.push(format!("{at}: without {name}"));
                    }
                }
            }
            "properties" => {
                for (name, inner) in wanted.as_object().unwrap() {
                    let Some(own) = value.get(name) else { continue };
                    let dot = if at.is_empty() { "" } else { "." };
                    check_value(whole, inner, own, &format!("{at}{dot}{name}"), faults);
                }
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object();
                let is_known = |name: &&String| known.is_some_and(|known| known.contains_key(*name));
                let others = value.as_object().into_iter().flat_map(|all| all.keys());
                for name in others.filter(|name| !is_known(name)) {
                    match wanted {
                        Value::Bool(false) => faults.push(format!("{at}: {name} is unknown")),
                        inner => check_value(whole, inner, &value[name], &format!("{at}.{name}"), faults),
                    }
                }
            }
            "items" => {
                for (number, own) in value.as_array().into_iter().flatten().enumerate() {
                    check_value(whole, wanted, own, &format!("{at}[{number}]"), faults);
                }
            }
            other => panic!("the keyword {other} is not checked"),
        }
    }
}
