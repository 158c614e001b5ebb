//! What a stranger's run folder and a stranger's site may not do: start anything, be followed anywhere, hold anybody up, or say
//! more than a site has to say.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::shards::{shard, shared_run};
use crate::common::{Place, Seen, kill, members, not_run, tool, two_disks};

/// A stand-in for ssh: it does on this machine what it is to do on the host, and notes what it was called with.
const SSH: &str = r#"#!/bin/sh
printf '%s\n' "ssh $*" >> "$HOME/ssh.log"
while [ "$1" != -- ] && [ $# -gt 0 ]; do
    case $1 in -o|-l) shift 2 ;; -*) shift ;; *) break ;; esac
done
[ "$1" = -- ] && shift
shift
exec sh -c "$*"
"#;

/// A folder with that stand-in in front of `$PATH`.
fn with_ssh(place: &Place) -> String {
    let bin = place.path().join("bin");
    fs::create_dir(&bin).unwrap();
    program(&bin.join("ssh"), SSH);
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// `fsverdict` with that `$PATH`, to its end; what hangs is ended, and has no exit status then.
fn seen(place: &Place, path: &str, arguments: &[&str]) -> Seen {
    let mut command = place.command(arguments);
    command.env("PATH", path);
    let output = assert_cmd::Command::from_std(command).timeout(Duration::from_secs(120)).output().unwrap();
    Seen::of(&output)
}

fn has_rsync() -> bool {
    let found = ["/usr/bin/rsync", "/usr/local/bin/rsync"].iter().any(|path| Path::new(path).exists());
    if !found {
        not_run("rsync is not installed");
    }
    found
}

/// Sites in this order, with as many blocks each.
fn sites(run: &Path, names: &[&str], blocks: u32) {
    for name in names {
        (1..=blocks).for_each(|block| shard(run, (name, block), ("", 1.0)));
    }
}

fn whole(run: &Path, site: &str, block: u32) -> PathBuf {
    run.join(format!("sites/{site}/block-{block:04}.jsonl"))
}

/// A stranger's run folder with everything that a run of several sites had in it when theirs was begun.
fn strangers_folder(place: &Place, on: &str) -> PathBuf {
    let run = place.path().join("run");
    shared_run(&run, 4);
    let evil = place.path().join("evil");
    program(&evil, "#!/bin/sh\ntouch \"$HOME/ran\"\n");
    fs::write(
        run.join("fleet.json"),
        serde_json::json!({ "on": on, "sites": [{
            "name": "lab1", "node": null, "ssh": "-oProxyCommand=touch $HOME/ran", "device": null, "erase": null,
            "program": evil, "folder": place.path().join("there"),
        }] })
        .to_string(),
    )
    .unwrap();
    run
}

#[test]
fn a_strangers_folder_names_no_program_and_no_host() {
    for on in ["ssh", "slurm"] {
        let place = Place::new();
        let path = with_ssh(&place);
        for name in ["sbatch", "squeue", "scancel", "rsync"] {
            program(&place.path().join("bin").join(name), "#!/bin/sh\ntouch \"$HOME/ran\"\n");
        }
        let run = strangers_folder(&place, on);
        seen(&place, &path, &["resume", "run"]).exits(2).says(&[
            "was begun at several sites, and no inventory of it is kept in",
            "hint: `fsverdict resume run --on {ssh,slurm} --sites SITES.toml` names them",
        ]);
        // Its names are believed, for all they do is to say for whom a round waits.
        sites(&run, &["lab0"], 1);
        seen(&place, &path, &["merge", "run", "--settled"])
            .exits(1)
            .says(&["the next round lacks block 1 of site lab1"]);
        assert!(
            !place.path().join("home/ran").exists() && !place.path().join("home/ssh.log").exists(),
            "{on}"
        );
    }
}

#[test]
fn an_inventory_is_kept_where_its_user_alone_can_write_and_for_the_run_it_was_given_for() {
    if !has_rsync() {
        return;
    }
    let place = Place::new();
    let path = with_ssh(&place);
    let run = place.path().join("run");
    // Two blocks are there, and are all that the plan has: nothing is left to be done but to look.
    shared_run(&run, 2);
    sites(&run, &["lab1"], 2);
    let inventory = |program: &str| {
        let text = format!("[[site]]\nname = \"lab1\"\nssh = \"me@lab1\"\nprogram = \"{program}\"\n");
        fs::write(place.path().join("sites.toml"), text).unwrap();
    };
    inventory("/opt/fsverdict");
    let named = ["resume", "run", "--on", "ssh", "--sites", "sites.toml"];
    let first = seen(&place, &path, &named);
    assert!(first.stdout.contains("Take ") || first.stdout.contains("Undecided"), "{first:#?}");
    let state = place.path().join("home/.local/state/fsverdict");
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o700);
    let key = fs::read_to_string(run.join("run-id")).unwrap();
    let kept = state.join(format!("fleet-{}.json", key.trim()));
    assert_eq!(fs::metadata(&kept).unwrap().mode() & 0o777, 0o600);
    // What everybody who has the folder can read are names.
    let roster = fs::read_to_string(run.join("fleet.json")).unwrap();
    assert!(roster.contains("lab1") && !roster.contains("/opt") && !roster.contains("me@"), "{roster}");
    assert_eq!(seen(&place, &path, &["resume", "run"]).stdout, first.stdout);

    // Another plan under the same name is another run; so is a copy. Neither has an inventory.
    let plan = fs::read_to_string(run.join("plan.json")).unwrap();
    fs::write(run.join("plan.json"), plan.replacen("\"seed\":", "\"seed\":1", 1)).unwrap();
    seen(&place, &path, &["resume", "run"]).exits(2).says(&["no inventory of it is kept"]);
    fs::write(run.join("plan.json"), plan).unwrap();
    tool(&["cp", "-a", run.to_str().unwrap(), place.path().join("copy").to_str().unwrap()]);
    seen(&place, &path, &["resume", "copy"]).exits(2).says(&["no inventory of it is kept"]);
    seen(&place, &path, &["resume", "copy", "--on", "ssh", "--sites", "sites.toml"]);
    assert_ne!(fs::read_to_string(place.path().join("copy/run-id")).unwrap(), key, "two runs, two names");
    assert_eq!(fs::read_to_string(run.join("run-id")).unwrap(), key);
    // One that was moved is the same.
    fs::rename(&run, place.path().join("moved")).unwrap();
    assert_eq!(seen(&place, &path, &["resume", "moved"]).code, first.code);
    // What others could have written is not believed.
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o666)).unwrap();
    seen(&place, &path, &["resume", "moved"]).exits(1).says(&["is in the way", "hint: "]);
}

#[test]
fn names_that_are_options_and_inventories_that_are_not_there_are_refused_before_anything_is_made() {
    let place = Place::new();
    let demo = ["run", "demo", "--on", "ssh", "--sites", "sites.toml", "--out", "run"];
    let dry = [demo.as_slice(), &["--dry-run"]].concat();
    for arguments in [demo.as_slice(), &dry] {
        place.fsverdict(arguments).exits(2).says(&["the inventory cannot be read: No such file", "hint: "]);
    }
    for host in ["-oProxyCommand=touch ran", "root@-x", "a b", "a::module", "a;b"] {
        fs::write(place.path().join("sites.toml"), format!("[[site]]\nname = \"a\"\nssh = \"{host}\"\n"))
            .unwrap();
        place
            .fsverdict(&demo)
            .exits(2)
            .says(&[&format!("sites.toml:3:7: `ssh`: `{host}` is no host"), "hint: "]);
    }
    assert!(!place.path().join("run").exists() && !place.path().join("ran").exists());
}

#[test]
fn whatever_lies_among_the_blocks_is_neither_waited_for_nor_followed() {
    let place = Place::new();
    let run = place.path().join("run");
    shared_run(&run, 4);
    sites(&run, &["a", "b"], 1);
    tool(&[
        "mkfifo",
        whole(&run, "a", 2).to_str().unwrap(),
        run.join("sites/b/block-0003.partial").to_str().unwrap(),
    ]);
    symlink("/dev/zero", whole(&run, "b", 2)).unwrap();
    symlink("b", run.join("sites/c")).unwrap();
    let long = fs::File::create(whole(&run, "b", 4)).unwrap();
    long.set_len(3 << 30).unwrap();
    fs::copy(whole(&run, "a", 1), run.join("sites/a/block-1.jsonl")).unwrap();
    let path = std::env::var("PATH").unwrap();
    let said = seen(&place, &path, &["merge", "run"]);
    assert!(said.code.is_some(), "it hangs: {said:#?}");
    said.shows_broken(&[
        "left out: sites/a/block-0002.jsonl: it is a pipe and no regular file",
        "left out: sites/b/block-0002.jsonl: it is a link and no regular file",
        "left out: sites/b/block-0004.jsonl: it is longer than 64 MiB",
        "left out: sites/c: it is no folder",
    ]);
    let block = ["block", "run", "--site", "a", "--block", "2"];
    seen(&place, &path, &block).exits(1).says(&["block-0002.jsonl is in the way", "hint: "]);
    seen(&place, &path, &["resume", "run"]).exits(1).says(&["by several sites"]);
    // A site's own folder may be a link, too: nothing is written through it.
    fs::create_dir(place.path().join("victim")).unwrap();
    symlink(place.path().join("victim"), run.join("sites/d")).unwrap();
    seen(&place, &path, &["block", "run", "--site", "d", "--block", "1"])
        .exits(1)
        .says(&["sites/d is in the way"]);
    // And what is written beside them, and the journal itself.
    fs::write(place.path().join("victim/file"), "mine").unwrap();
    for name in ["journal.new", ".report.html.new", ".report.json.new", ".plan.json.new"] {
        let _ = fs::remove_file(run.join(name));
        symlink(place.path().join("victim/file"), run.join(name)).unwrap();
    }
    seen(&place, &path, &["merge", "run"]);
    assert_eq!(fs::read_to_string(place.path().join("victim/file")).unwrap(), "mine");
    fs::remove_file(run.join("journal.jsonl")).unwrap();
    tool(&["mkfifo", run.join("journal.jsonl").to_str().unwrap()]);
    for command in ["merge", "report", "resume"] {
        assert!(seen(&place, &path, &[command, "run"]).code.is_some(), "{command} hangs");
    }
}

#[test]
fn one_site_under_three_names_is_one_site() {
    let place = Place::new();
    let run = place.path().join("run");
    let alone = || {
        shared_run(&run, 8);
        (1..=2).for_each(|block| shard(&run, ("a", block), ("", 1.0)));
    };
    alone();
    let merged = || {
        let seen = place.fsverdict(&["merge", "run"]);
        (seen.stdout.lines().next().unwrap_or_default().to_owned(), seen)
    };
    let (verdict, _) = merged();
    // As it was found: the folder copied. Then with its name changed inside, and its blocks' numbers.
    for name in ["b", "c"] {
        tool(&[
            "cp",
            "-a",
            run.join("sites/a").to_str().unwrap(),
            run.join("sites").join(name).to_str().unwrap(),
        ]);
    }
    let (copied, seen) = merged();
    assert_eq!(copied, verdict);
    seen.shows_broken(&[
        "left out: sites/b/block-0001.jsonl: it was done at the site a, and lies in the folder of b",
        "sites/c/block-0002.jsonl: it was done at the site a",
    ]);
    for (name, other) in [("b", [1, 2]), ("c", [3, 4])] {
        fs::remove_dir_all(run.join("sites").join(name)).unwrap();
        fs::create_dir(run.join("sites").join(name)).unwrap();
        for (from, to) in [1, 2].into_iter().zip(other) {
            let text = fs::read_to_string(whole(&run, "a", from)).unwrap();
            let text = text
                .replace("\"site\":\"a\"", &format!("\"site\":\"{name}\""))
                .replace("disk of a", &format!("disk of {name}"))
                .replace(&format!("\"block\":{from}"), &format!("\"block\":{to}"))
                .replace("\"at\":\"2026-11-2", "\"at\":\"2026-10-2");
            fs::write(whole(&run, name, to), text).unwrap();
        }
    }
    let (renamed, seen) = merged();
    assert_eq!(renamed, verdict);
    seen.shows_broken(&[
        "left out: sites/b/block-0001.jsonl: it measured to the last digit what sites/a/block-0001.jsonl did",
    ]);
}

/// A site that measures nothing in a phase takes it out of the comparison for all: it is named.
#[test]
fn a_site_that_leaves_out_a_phase_is_named() {
    let place = Place::new();
    let run = place.path().join("run");
    shared_run(&run, 8);
    sites(&run, &["a", "b", "c"], 1);
    let plan: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(run.join("plan.json")).unwrap()).unwrap();
    let phase = plan["phases"][0]["name"].as_str().unwrap();
    let path = whole(&run, "b", 1);
    let text = fs::read_to_string(&path).unwrap();
    let lied = text.lines().map(|line| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        if event["phase"] == phase && event["trial"]["candidate"] == "ext4" {
            event["measurements"].as_array_mut().unwrap().retain(|one| one["metric"] != "durable");
        }
        event.to_string() + "\n"
    });
    fs::write(&path, lied.collect::<String>()).unwrap();
    let left_out = format!(
        "`{phase}` is left out of the comparison at all sites, since no durable that counts was measured in it of ext4 at b"
    );
    let seen = place.fsverdict(&["merge", "run"]);
    seen.shows_broken(&[&left_out, "`fsverdict merge --without b` compares it"]);
    let seen = place.fsverdict(&["merge", "run", "--without", "b"]);
    assert!(!seen.stdout.contains("at all sites, since no"), "{seen:#?}");
}

/// A copy whose trials are in another order, and some of whose numbers were changed, is a copy.
#[test]
fn a_copy_in_another_order_with_some_numbers_changed_is_a_copy() {
    let place = Place::new();
    let run = place.path().join("run");
    shared_run(&run, 8);
    sites(&run, &["a"], 1);
    let text = fs::read_to_string(whole(&run, "a", 1)).unwrap();
    let text = text.replace("\"site\":\"a\"", "\"site\":\"b\"").replace("disk of a", "disk of b");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // Every third time differs by one part in a million, and so does the time of each trial.
    let mut number = 0;
    for line in &mut lines {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        for measurement in event["measurements"].as_array_mut().into_iter().flatten() {
            number += 1;
            if number % 3 == 0 && measurement["unit"] == "s" && measurement["metric"] != "returned" {
                measurement["value"] = (measurement["value"].as_f64().unwrap() * 1.000_001).into();
            }
        }
        if event["event"] == "trial_finished" {
            event["wall"] = (event["wall"].as_f64().unwrap() * 1.01).into();
        }
        *line = event.to_string();
    }
    // The first trial becomes the last.
    let is_of_trial = |line: &String| line.contains("\"trial\":{");
    let (first, last) =
        (lines.iter().position(is_of_trial).unwrap(), lines.iter().rposition(is_of_trial).unwrap());
    let candidate = |line: &String| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["trial"]["candidate"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let moved =
        lines[first..=last].iter().take_while(|line| candidate(line) == candidate(&lines[first])).count();
    lines[first..=last].rotate_left(moved);
    fs::create_dir_all(whole(&run, "b", 1).parent().unwrap()).unwrap();
    fs::write(whole(&run, "b", 1), lines.join("\n") + "\n").unwrap();
    place.fsverdict(&["merge", "run"]).shows_broken(&[
        "left out: sites/b/block-0001.jsonl: it measured to the last digit what sites/a/block-0001.jsonl did",
    ]);
}

#[test]
fn what_is_for_the_whole_run_to_say_no_block_says() {
    let line = |event: &str| format!("{{\"at\":\"2026-11-23T00:00:00Z\",{event}}}\n");
    let dropped = line("\"event\":\"candidate_dropped\",\"candidate\":\"ext4\",\"reason\":\"so I say\"");
    let finished = line("\"event\":\"run_finished\",\"reason\":\"enough\"");
    let twice = "\"event\":\"block_finished\",\"block\":1,\"attempt\":1";
    let twice = line("\"event\":\"block_started\",\"block\":1,\"attempt\":1,\"order\":[]") + &line(twice);
    for (lines, words) in [
        (dropped.as_str(), "it holds `candidate_dropped`, which only the journal of a whole run may have"),
        (&finished, "it holds `run_finished`"),
        (&line("\"event\":\"run_resumed\",\"more\":9"), "it holds `run_resumed`"),
        (&twice, "it is not the journal of one block, number 1"),
        (
            &line("\"event\":\"candidate_skipped\",\"candidate\":\"zfs\",\"reason\":\"r\",\"hint\":\"h\""),
            "it names `zfs`",
        ),
    ] {
        let place = Place::new();
        let run = place.path().join("run");
        shared_run(&run, 8);
        sites(&run, &["a", "b"], 2);
        let path = whole(&run, "b", 1);
        let text = fs::read_to_string(&path).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        fs::write(&path, format!("{first}\n{lines}{rest}")).unwrap();
        let seen = place.fsverdict(&["merge", "run"]);
        seen.shows_broken(&["left out: sites/b/block-0001.jsonl: ", words]);
        let report = fs::read_to_string(run.join("journal.jsonl")).unwrap();
        assert!(!report.contains("so I say") && !report.contains("enough"), "{words}");
    }
    let place = Place::new();
    let run = place.path().join("run");
    shared_run(&run, 8);
    sites(&run, &["a", "b"], 1);
    let path = whole(&run, "a", 1);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"site\":\"a\"", "\"site\":\"a\",\"site.b.device.identity\":\"x\"", 1))
        .unwrap();
    place.fsverdict(&["merge", "run"]).shows_broken(&["it holds the fact `site.b.device.identity`"]);
}

/// What a block can say that no site measures: each is left out by itself, and the others are merged.
#[test]
fn lies_of_a_site_are_not_believed() {
    let durable = |text: &str, value: &str| {
        let at = text.find("\"metric\":\"durable\"").unwrap();
        let start = at + text[at..].find("\"value\":").unwrap() + "\"value\":".len();
        let end = start + text[start..].find([',', '}']).unwrap();
        format!("{}{value}{}", &text[..start], &text[end..])
    };
    let wall = |text: &str, value: &str| {
        let start = text.find("\"wall\":").unwrap() + "\"wall\":".len();
        let end = start + text[start..].find([',', '}']).unwrap();
        format!("{}{value}{}", &text[..start], &text[end..])
    };
    let line_of =
        |text: &str, word: &str| text.lines().find(|line| line.contains(word)).unwrap().to_owned() + "\n";
    let ended = |text: &str| line_of(text, "\"event\":\"trial_finished\"");
    type Lie<'a> = Box<dyn Fn(&str) -> String + 'a>;
    let lies: Vec<(&str, Lie<'_>, &str)> = vec![
        ("a negative time", Box::new(|text| durable(text, "-1.0")), "it says that durable of"),
        ("a time of ages", Box::new(|text| durable(text, "1e300")), "it says that durable of"),
        ("no number", Box::new(|text| durable(text, "NaN")), "not a journal record"),
        ("infinity", Box::new(|text| durable(text, "1e999")), "not a journal record"),
        ("a text", Box::new(|text| durable(text, "\"fast\"")), "not a journal record"),
        ("a negative trial", Box::new(|text| wall(text, "-5")), "the time of a trial in seconds is -5"),
        ("an endless trial", Box::new(|text| wall(text, "1e12")), "the time of a trial in seconds"),
        (
            "a block of tomorrow's tomorrow",
            Box::new(|text| text.replace("\"at\":\"2026-", "\"at\":\"2126-")),
            "which is still to come",
        ),
        (
            "a block of old",
            Box::new(|text| text.replace("\"at\":\"2026-", "\"at\":\"1971-")),
            "before there was any fsverdict",
        ),
        (
            "more calls than there are",
            Box::new(|text| {
                let observation = line_of(text, "\"event\":\"observation\"");
                let histogram = "\"histograms\":[{\"call\":\"w\",\"buckets\":[[1,18446744073709551615],[1,18446744073709551615]]}]";
                let changed =
                    observation.replacen("\"measurements\":", &format!("{histogram},\"measurements\":"), 1);
                text.replacen(&observation, &changed, 1)
            }),
            "calls of one latency",
        ),
        (
            "two ends of a trial",
            Box::new(|text| text.replacen(&ended(text), &ended(text).repeat(2), 1)),
            "again after the end of its trial",
        ),
        (
            "a trial of another attempt",
            Box::new(|text| {
                text.replacen(&ended(text), &ended(text).replace("\"attempt\":1", "\"attempt\":7"), 1)
            }),
            "outside of its attempts",
        ),
        (
            "a trial that its order does not have",
            Box::new(|text| {
                let start = text.find("\"order\":[").unwrap() + "\"order\":[".len();
                let end = start + text[start..].find(',').unwrap() + 1;
                format!("{}{}", &text[..start], &text[end..])
            }),
            "outside of its attempts",
        ),
        (
            "another block's trials",
            Box::new(|text| text.replace("\"block\":1,\"candidate\"", "\"block\":9,\"candidate\"")),
            "it holds a trial of block 9",
        ),
        (
            "a candidate of its own",
            Box::new(|text| text.replace("\"candidate\":\"ext4\"", "\"candidate\":\"mine\"")),
            "it names `mine`",
        ),
        (
            "a negative time among the sizes",
            Box::new(|text| {
                durable(text, "-1.0").replacen(
                    "\"metric\":\"durable\",\"unit\":\"s\"",
                    "\"metric\":\"durable\",\"unit\":\"B\"",
                    1,
                )
            }),
            "in another unit or direction than the plan",
        ),
        (
            "a time that is the better the longer it is",
            Box::new(|text| {
                text.replace("\"metric\":\"durable\",", "\"metric\":\"durable\",\"better\":\"more\",")
            }),
            "in another unit or direction than the plan",
        ),
        (
            "durable before it returned",
            Box::new(|text| durable(text, "1e-9")),
            "was durable after 0.000000001 s and returned after",
        ),
        ("half a line", Box::new(|text| text[..text.len() / 2].to_owned()), ""),
    ];
    for (name, lie, words) in lies {
        let place = Place::new();
        let run = place.path().join("run");
        shared_run(&run, 8);
        sites(&run, &["a", "b"], 1);
        let path = whole(&run, "b", 1);
        let text = fs::read_to_string(&path).unwrap();
        let lied = lie(&text);
        if words.is_empty() && lied != text {
            fs::write(&path, &lied).unwrap();
            assert!(place.fsverdict(&["merge", "run"]).code.is_some(), "{name}");
            continue;
        }
        assert_ne!(lied, text, "{name}");
        fs::write(&path, lied).unwrap();
        let seen = place.fsverdict(&["merge", "run"]);
        let shown =
            format!("{}{}", seen.stdout, seen.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("left out: sites/b/block-0001.jsonl") && shown.contains(words),
            "{name}: {shown}"
        );
    }
}

/// Two sites whose device has one name of its hardware are one device, and would count for two.
#[test]
fn one_device_is_one_site() {
    let place = Place::new();
    let run = place.path().join("run");
    shared_run(&run, 8);
    sites(&run, &["a", "b", "c"], 1);
    let path = whole(&run, "b", 1);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("disk of b", "disk of a")).unwrap();
    place.fsverdict(&["merge", "run"]).exits(1).says(&[
        "the sites a, b say that they have the same device: disk of a",
        "hint: which of them is right is yours to say: `fsverdict merge --without SITE`",
    ]);
    place.fsverdict(&["merge", "run", "--without", "b"]).shows(&["merged from 2 sites: a, c"]);
}

/// A site that never answers, drips a byte now and then, or says something without end is given up, with what to do.
#[test]
fn a_slow_site_is_given_up() {
    if !has_rsync() {
        return;
    }
    let answers =
        ["exec sleep 600", "while :; do printf .; sleep 0.1; done", "exec cat /dev/zero", "yes >&2"];
    for what in members(answers, |answer| (*answer).to_owned(), ["exec sleep 600", "yes >&2"]) {
        let place = Place::new();
        let path = hands_back(&place, what);
        let sites = fs::read_to_string(place.path().join("sites.toml")).unwrap();
        fs::write(place.path().join("sites.toml"), format!("{sites}within = \"2s\"\n")).unwrap();
        let words = ["run", "plan.toml", "--on", "ssh", "--sites", "sites.toml", "--out", "run"];
        let seen = seen(&place, &path, &words).exits(1);
        seen.says(&["site lab1: it did not answer within 2s", "hint: `within = "]);
        let patience = Instant::now() + Duration::from_secs(20);
        while !place.processes().is_empty() {
            assert!(Instant::now() < patience, "{what}: {:#?}", place.processes());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn who_disagrees_is_named_with_the_others_whatever_it_is_called() {
    let place = Place::new();
    let run = place.path().join("run");
    shared_run(&run, 8);
    sites(&run, &["a", "b", "c"], 1);
    let path = whole(&run, "a", 1);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("6.1.176\""));
    fs::write(&path, text.replace("6.1.176\"", "5.0-lie\"")).unwrap();
    place.fsverdict(&["merge", "run"]).exits(1).says(&[
        "sites have not the same kernel: 5.0-lie at a; 6.1.176 at b, c",
        "hint: which of them is right is yours to say: `fsverdict merge --without SITE`",
    ]);
    place.fsverdict(&["merge", "run", "--without", "a"]).shows(&["merged from 2 sites: b, c"]);
}

#[test]
fn six_heads_that_begin_a_run_at_once_find_one_plan() {
    let place = Place::new();
    let plan = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/demo/plan.json")).unwrap();
    let plan: fsverdict_judgement::plan::Plan = serde_json::from_str(&plan).unwrap();
    for round in 0..100 {
        let run = place.path().join(round.to_string());
        let barrier = std::sync::Barrier::new(6);
        let head = || {
            barrier.wait();
            fsverdict::fleet::shared_run(&run, &plan).map(drop).map_err(|error| error.to_string())
        };
        std::thread::scope(|scope| {
            let heads: Vec<_> = (0..6).map(|_| scope.spawn(head)).collect();
            for head in heads {
                assert_eq!(head.join().unwrap(), Ok(()), "round {round}");
            }
        });
        let names = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["plan.json"], "round {round}");
    }
}

/// A stand-in for Slurm that knows jobs by their names, and does none.
const SLURM: &str = r#"#!/bin/sh
case ${0##*/} in
sbatch) for word; do case $word in --job-name=*) echo "${word#*=}" >> "$HOME/jobs" ;; --wrap=*) echo "$word" >> "$HOME/wraps" ;; esac; done ;;
squeue) : ;;
scancel) echo "$2" >> "$HOME/cancelled" ;;
esac
"#;

#[test]
fn two_runs_in_folders_of_one_name_have_no_job_in_common() {
    let place = Place::new();
    let path = with_ssh(&place);
    for name in ["sbatch", "squeue", "scancel"] {
        program(&place.path().join("bin").join(name), SLURM);
    }
    fs::write(place.path().join("plan.toml"), two_disks(1, 1)).unwrap();
    fs::write(place.path().join("sites.toml"), "[[site]]\nname = \"lab1\"\n").unwrap();
    let log = |name: &str| fs::read_to_string(place.path().join("home").join(name)).unwrap_or_default();
    for run in ["A/run,x $(touch ran) 100%j", "B/run,x $(touch ran) 100%j"] {
        let words = ["run", "plan.toml", "--on", "slurm", "--sites", "sites.toml", "--out", run];
        seen(&place, &path, &words).exits(1);
    }
    let jobs = log("jobs");
    let jobs: std::collections::BTreeSet<&str> = jobs.lines().collect();
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    assert!(
        jobs.iter()
            .all(|job| job.starts_with("fsverdict-") && job.ends_with("-lab1") && job.chars().all(plain)),
        "{jobs:?}"
    );
    // What Slurm hands to a shell names the folder, and nothing in its name is done.
    for line in log("wraps").lines() {
        let script = line.strip_prefix("--wrap=").unwrap().replace("fsverdict block", "printf '%s\\n'");
        let said = tool(&[
            "env",
            "-C",
            place.path().to_str().unwrap(),
            "SLURM_ARRAY_TASK_ID=3",
            "sh",
            "-c",
            &script,
        ]);
        assert!(said.contains("--block=3") && said.contains("run,x $(touch ran) 100%j"), "{said}");
    }
    assert!(!place.path().join("ran").exists());
}

/// A stand-in for the rsync of a site: where it is to hand a block back, there is something else.
fn hands_back(place: &Place, what: &str) -> String {
    let path = with_ssh(place);
    let real = place.path().join("site-program");
    program(
        &real,
        &format!(
            "#!/bin/sh\nfor word; do case $word in --site=*) site=${{word#*=}} ;; esac; run=$word; done\n\
             mkdir -p \"$run/sites/$site\"; cd \"$run/sites/$site\" || exit 9\n{what}\ntrue\n"
        ),
    );
    fs::write(
        place.path().join("sites.toml"),
        format!(
            "[[site]]\nname = \"lab1\"\nprogram = \"{}\"\nfolder = \"{}/there/run\"\n",
            real.display(),
            place.path().display()
        ),
    )
    .unwrap();
    fs::write(place.path().join("plan.toml"), two_disks(1, 1)).unwrap();
    path
}

#[test]
fn of_a_malicious_site_nothing_comes_but_plain_blocks() {
    if !has_rsync() {
        return;
    }
    for (what, comes) in [
        ("mkfifo block-0001.jsonl 2> /dev/null", false),
        ("ln -sf /dev/zero block-0001.jsonl", false),
        ("truncate -s 3G block-0001.jsonl", false),
        (
            "echo x > block-0001.jsonl; chmod 6755 block-0001.jsonl; cp block-0001.jsonl evil; mkdir -p x; ln -s / root",
            true,
        ),
    ] {
        let place = Place::new();
        let path = hands_back(&place, what);
        let words = ["run", "plan.toml", "--on", "ssh", "--sites", "sites.toml", "--out", "run"];
        let seen = seen(&place, &path, &words);
        assert!(seen.code.is_some(), "{what} hangs: {seen:#?}");
        let mut files: Vec<PathBuf> = fs::read_dir(place.path().join("run/sites/lab1"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        if comes {
            let block = files.pop().unwrap();
            let found = block.symlink_metadata().unwrap();
            assert!(found.is_file() && found.mode() & 0o7111 == 0, "{what}: {:o}", found.mode());
        } else {
            assert_eq!(seen.code, Some(1));
            assert!(seen.stderr.contains("the journal of block 1 was not fetched: "), "{what}: {seen:#?}");
        }
        assert!(files.is_empty(), "{what}: {files:?}");
    }
}

/// The folder at a site holds a block of an earlier run of the same plan: it is not handed back as one of this run.
#[test]
fn a_block_of_an_earlier_run_is_not_handed_back() {
    if !has_rsync() {
        return;
    }
    let place = Place::new();
    let block = r#"printf '{"at":"2026-11-23T00:00:00Z","event":"run_started","schema":1,"id":"x","title":"","plan_digest":"","lab":"uml","lab_reason":"","fidelity":"","environment":{"site":"lab1","run.key":"0123456789abcdef"}}\n' > block-0001.jsonl"#;
    let path = hands_back(&place, block);
    let words = ["run", "plan.toml", "--on", "ssh", "--sites", "sites.toml", "--out", "run"];
    seen(&place, &path, &words).exits(1).says(&[
        "site lab1: block 1 of site lab1 is there already, but was done for another run of this plan (0123456789abcdef)",
        "hint: move the old run's folder away there",
    ]);
    assert!(!whole(&place.path().join("run"), "lab1", 1).exists());
    // The site has the key of this run, by which it finds that out itself.
    let there = fs::read_to_string(place.path().join("there/run/run-id")).unwrap();
    assert_eq!(there, fs::read_to_string(place.path().join("run/run-id")).unwrap());
    let site = ["block", "there/run", "--site", "lab1", "--block", "1"];
    place.fsverdict(&site).exits(1).says(&["was done for another run of this plan"]);
}

#[test]
fn a_head_that_is_killed_takes_its_connections_and_the_blocks_of_its_sites_with_it() {
    if !has_rsync() {
        return;
    }
    let place = Place::new();
    // A site's block that goes on for ever, as `fsverdict block --attended` does until its input ends.
    let path = hands_back(
        &place,
        "echo there >> \"$HOME/begun\"; case \"$*\" in *--attended*) exec cat ;; *) exec sleep 600 ;; esac",
    );
    let mut command =
        place.command(&["run", "plan.toml", "--on", "ssh", "--sites", "sites.toml", "--out", "run"]);
    let mut head = command.env("PATH", &path).spawn().unwrap();
    let begun = place.path().join("home/begun");
    let patience = Instant::now() + Duration::from_secs(60);
    while !begun.exists() {
        assert!(Instant::now() < patience && head.try_wait().unwrap().is_none(), "no block was begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(head.id());
    head.wait().unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while !place.processes().is_empty() {
        if Instant::now() > patience {
            let left = place.processes();
            left.iter().for_each(|(pid, _)| kill(*pid));
            panic!("left behind: {left:#?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
