//! Bundles: a run as one file, without what names a machine or a person; and what strangers may send in its place.

use std::fs;
use std::path::Path;

use crate::common::shards::{shard, shared_run};
use crate::common::{Place, Seen, tool};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// What names somebody, in whatever case, in the run below.
const NAMES: [&str; 14] = [
    "planthost",
    "plantuser",
    "PLANTSERIAL",
    "PLANTSITE",
    "plantfolder",
    "holiday",
    "planted volume",
    "0f1e2d3c-aaaa-4bbb-8ccc-123456789abc",
    "5000c500a1b2c3d4",
    "02:42:ac:11:00:02",
    "192.168.77.3",
    "plant@example.org",
    "secretcaptain",
    "feedfacefeedface",
];

/// Puts names wherever a run can hold them.
fn plant(run: &Path) {
    let read = |name: &str| fs::read_to_string(run.join(name)).unwrap();
    let mut plan: Value = serde_json::from_str(&read("plan.json")).unwrap();
    plan["title"] = "Backup of planthost".into();
    plan["kernel"] = "/home/plantuser/linux/linux".into();
    plan["device"] = json!({ "source": { "path": "/dev/disk/by-id/ata-Acme_PLANTSERIAL" }, "folder": "/srv/plantfolder/x" });
    plan["datasets"]["mine"] = json!({ "kind": "folder", "path": "/media/plantuser/planted volume/holiday" });
    plan["candidates"][0]["mount"] = json!(["logdev=/dev/mapper/secretcaptain", "noatime"]);
    plan["phases"][0]["work"] =
        json!({ "command": "rsync -a $HOME/holiday plantuser@planthost:/srv/plantfolder" });
    fs::write(run.join("plan.json"), plan.to_string()).unwrap();
    let console = "console: [    0.0] Linux version 6.1 (plantuser@PlantHost) (gcc)\nmount: /media/plantuser/planted volume/holiday/at the plantfolder.jpg: denied";
    let mut planted = 0;
    let journal = read("journal.jsonl");
    let lines = journal.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        match event["event"].as_str().unwrap() {
            "run_started" => {
                event["id"] = "plantfolder".into();
                event["lab_reason"] = "merged from 2 sites: PLANTSITE, other-7".into();
                for (fact, value) in [
                    ("merged.sites", "PLANTSITE, other-7"),
                    ("site.PLANTSITE.device.identity", "ata-Acme_PLANTSERIAL"),
                    ("device.identity", "ata-Acme_PLANTSERIAL"),
                    ("device.path", "/dev/sdb"),
                    ("device.model", "Acme Spinner 3000"),
                    ("device.below.sdb.serial", "PLANTSERIAL"),
                    ("device.wwid", "naa.5000c500a1b2c3d4"),
                    ("device.folder", "/home/plantuser/.cache/fsverdict"),
                    ("folder.one", "/srv/plantfolder/one, on nfs (192.168.77.3:/export/plantuser)"),
                ] {
                    event["environment"][fact] = value.into();
                }
            }
            "command" => {
                event["stdout"] = "UUID=0f1e2d3c-aaaa-4bbb-8ccc-123456789abc".into();
                event["stderr"] = "Report to plant@example.org".into();
                event["argv"].as_array_mut().unwrap().push("/srv/plantfolder/an image".into());
                // Nothing went well here: what it said is kept, but for the names.
                event["exit"] = i64::from(planted % 2 == 0).into();
                planted += 1;
            }
            "trial_finished" => {
                event["status"] = "failed".into();
                event["reason"] = console.into();
                event["hint"] = "ls /home/plantuser".into();
            }
            "facts" => {
                event["facts"]["device.serial"] = "PLANTSERIAL".into();
                event["facts"]["dataset.mine"] = "3 files, 1 MiB (digest feedfacefeedface)".into();
            }
            "caution" => event["text"] = "02:42:ac:11:00:02 at 192.168.77.3 wrote to /dev/disk/by-uuid/0f1e2d3c-aaaa-4bbb-8ccc-123456789abc".into(),
            "block_started" => event["place"] = json!({ "site": "PLANTSITE", "round": 1 }),
            _ => {}
        }
        event.to_string() + "\n"
    });
    let text: String = lines.collect();
    fs::write(run.join("journal.jsonl"), text).unwrap();
    assert!(planted > 9);
    fs::create_dir(run.join("traces")).unwrap();
    for derived in ["report.html", "traces/plantserial.trace"] {
        fs::write(run.join(derived), NAMES.join(" ")).unwrap();
    }
}

/// `fsverdict` of a user with that name.
fn by_user(place: &Place, arguments: &[&str]) -> Seen {
    let mut command = place.command(arguments);
    Seen::of(&command.env("USER", "plantuser").output().unwrap())
}

/// Everything in an archive, unpacked as anybody would, with the names of the files.
fn unpacked(place: &Place, bundle: &str) -> String {
    let there = place.path().join(format!("{bundle}.d"));
    fs::create_dir(&there).unwrap();
    tool(&["tar", "-xf", place.path().join(bundle).to_str().unwrap(), "-C", there.to_str().unwrap()]);
    let mut all = tool(&["find", there.to_str().unwrap(), "-printf", "%P %u\n"]);
    all += &tool(&["grep", "-r", "", there.to_str().unwrap()]).replace(there.to_str().unwrap(), "");
    all
}

#[test]
fn a_bundle_names_nobody_unless_it_is_to() {
    let place = Place::new();
    place.recorded();
    let run = place.path().join("run");
    plant(&run);
    let bundle = |to: &str, more: &[&str]| {
        let words = [&["bundle", "run", "--output", to], more].concat();
        by_user(&place, &words).exits(0)
    };
    let said = bundle("clean.tar.gz", &["--also", "planthost,other-7"]).stdout;
    for words in [
        "names of devices, in ",
        "site",
        "user name",
        "outputs of commands",
        "reasons of failed trials",
        "kept: ",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let clean = unpacked(&place, "clean.tar.gz");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for name in NAMES.into_iter().chain(["other-7", host.trim()]) {
        let at = clean.to_lowercase().find(&name.to_lowercase());
        let around = at.map(|at| clean.get(at.saturating_sub(60)..at + 60));
        assert!(at.is_none(), "{name}: {around:?}");
    }
    for kept in
        ["Acme Spinner 3000", "\"noatime\"", "6.1.176", "AMD EPYC", "mkfs.ext4", "site-", "(digest hidden-"]
    {
        assert!(clean.contains(kept), "{kept}");
    }
    // The same device is called the same in another bundle of this machine, and a bundle by itself alike.
    bundle("again.tar.gz", &["--also", "planthost,other-7"]);
    let bytes = |name: &str| fs::read(place.path().join(name)).unwrap();
    assert!(bytes("clean.tar.gz") == bytes("again.tar.gz"));
    by_user(&place, &["bundle", "run", "--output", "again.tar.gz"])
        .exits(1)
        .says(&["again.tar.gz", "hint: --output"]);

    bundle("whole.tar.gz", &["--with-names"]);
    let whole = unpacked(&place, "whole.tar.gz");
    assert!(NAMES.iter().all(|name| whole.contains(name)));
}

/// Texts as commands, errors and facts have them, each with what of it must not be seen.
const SECRETS: &[(&str, &str)] = &[
    // Of a network.
    ("on nfs (filer-seventeen:/vol/jane)", "filer-seventeen"),
    ("mount: nas.fairyland.local:/export: denied", "fairyland"),
    ("cannot reach backup.corp.zanzibar.net", "zanzibar"),
    ("rsync -a x storagebox:/pool7", "storagebox"),
    ("rsync -a x modulehost::archive7", "modulehost"),
    ("rsync://rsynchost7/archive", "rsynchost7"),
    ("curl https://intranet7.example.org/path", "intranet7"),
    ("//cifshost7/share", "cifshost7"),
    ("peer 203.0.113.77", "203.0.113.77"),
    ("peer 2001:db8:85a3::8a2e:370:7334", "85a3"),
    ("peer 2001:0db8:95a3:0000:0000:8a2e:0370:7334", "95a3"),
    ("[fd77:1234::5]:/export", "fd77"),
    ("fe80::7aff:fe11:2277%eth0", "fe11"),
    ("ether 02:42:ac:77:00:02", "ac:77"),
    ("ether 02-42-ac-78-00-02", "ac-78"),
    ("ether 0242.ac79.0002", "ac79"),
    // Of people.
    ("mail jane.doe77@example.com", "jane.doe77"),
    ("scp x eve77@host:/tmp/x", "eve77"),
    ("/home/mallory77/x", "mallory77"),
    ("/Users/trent77/x", "trent77"),
    ("cd ~peggy77/x", "peggy77"),
    ("/media/victor77/DISK", "victor77"),
    ("mount -o username=walter77,vers=3", "walter77"),
    ("mount -o domain=ACME77", "ACME77"),
    ("/srv/customers77/list", "customers77"),
    ("cannot open '/data/our plans77/x y': denied", "plans77"),
    // Of devices.
    ("serial number: WD-77XYZ", "WD-77XYZ"),
    ("Serial=ZX77QQ", "ZX77QQ"),
    ("/dev/disk/by-id/ata-Acme_77SERIAL", "77SERIAL"),
    ("wwn-0x5000c500a1b2c377", "5000c500a1b2c377"),
    ("naa.5000c500a1b2c378", "5000c500a1b2c378"),
    ("nqn.2014-08.org.acme77:nvme", "acme77"),
    ("UUID=77e2d3c0-aaaa-4bbb-8ccc-123456789abc", "77e2d3c0"),
    ("UUID=\"77AB-12CD\"", "77AB-12CD"),
    ("PV 77cdef-AAAA-BBBB-CCCC-DDDD-EEEE-GGGGGG", "77cdef"),
    ("machine 77aabbccddeeff00112233445566aabb", "77aabbcc"),
    ("LABEL=janes77disk", "janes77disk"),
    ("mkfs.ext4 -L holiday77label /dev/loop0", "holiday77label"),
    ("/dev/mapper/vg77-secret", "vg77"),
    // What opens something.
    ("curl https://jane:hunter77@example.org/", "hunter77"),
    ("--password=letmein77", "letmein77"),
    ("--token tok77en", "tok77en"),
    ("PGPASSWORD=pg77word psql", "pg77word"),
    ("mysqldump -psql77word db", "sql77word"),
    ("sshpass -p ssh77word ssh x", "ssh77word"),
    ("curl -u jane:basic77word x", "basic77word"),
    ("Authorization: Bearer bearer77.word", "bearer77"),
    ("AWS_SECRET_ACCESS_KEY=aws77/secret", "aws77"),
    ("AKIA77IOSFODNN7EXAMPLE", "AKIA77"),
    ("ghp_77abcdefghijklmnopqrst", "ghp_77"),
    ("eyJhbGciOi77.eyJzdWIi.sig", "sig"),
    ("ssh-ed25519 AAAAC3NzaC77 jane@laptop77", "laptop77"),
    ("SHA256:77abcdefghijklmnopqrstuvwxyz", "77abcdefgh"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz77\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNz77"),
    ("https://example.org/x?sig=query77", "query77"),
];

/// What a command said that read what it should not have.
const SAID: &str = "root:$y$j9T$salt77$hash77:19000:0:99999:7:::";

/// Puts `text` wherever the run can hold words that are not its own.
fn plant_everywhere(run: &Path, text: &str) {
    let read = |name: &str| fs::read_to_string(run.join(name)).unwrap();
    // The words of a command: a path within quotes is one.
    let split = if text.contains('\'') { '\'' } else { ' ' };
    let words: Vec<&str> = text.split(split).map(str::trim).filter(|word| !word.is_empty()).collect();
    let mut plan: Value = serde_json::from_str(&read("plan.json")).unwrap();
    plan["title"] = text.into();
    plan["reads"] = json!([format!("/srv/{}", text.replace('/', "_"))]);
    plan["candidates"][0]["mkfs"] = json!(words);
    plan["candidates"][0]["mount"] = json!([text]);
    plan["phases"][0]["work"] = json!({ "command": text });
    plan["phases"][1]["work"] = json!({ "adapter": { "name": "fio", "options": text } });
    let published = json!({
        "finding": "f", "source": "https://a.journal.example.org/article", "phase": "x", "metric": "durable",
        "claim": { "kind": "spread", "among": [], "spread": 2.0 }
    });
    plan["published"] = json!([published]);
    fs::write(run.join("plan.json"), plan.to_string()).unwrap();
    let journal = read("journal.jsonl");
    let mut lines: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // One trial shows every kind of event; the others would only take their time.
    let end = lines.pop().unwrap();
    let first = lines.iter().position(|event| event["event"] == "trial_finished").unwrap();
    lines.truncate(first + 1);
    lines.push(
        json!({ "at": end["at"], "event": "block_finished", "block": 1, "attempt": 1, "invalid": "x" }),
    );
    lines.push(end);
    let last = lines.len() - 1;
    let at = lines[0]["at"].clone();
    for event in &mut lines {
        match event["event"].as_str().unwrap() {
            "run_started" => {
                event["title"] = text.into();
                event["lab_reason"] = text.into();
                event["fidelity"] = text.into();
                for fact in
                    ["device.model", "device.kind", "lab.kernel", "site.x.device.model", "mount.options"]
                {
                    event["environment"][fact] = text.into();
                }
                event["environment"]["folder.a"] = "/srv/x, on nfs (filer-seventeen:/vol/jane)".into();
                event["environment"]["folder.b"] = "/srv/y, on zfs (tank77/jane)".into();
            }
            "command" => {
                event["argv"] = json!(words);
                event["exit"] = 1.into();
                event["stdout"] = SAID.into();
                event["stderr"] = text.into();
            }
            "trial_finished" => {
                event["status"] = "failed".into();
                event["reason"] = format!("phase copy: `cat x` exited with status 1: {SAID}\n{text}").into();
                event["hint"] = text.into();
            }
            "facts" => event["facts"]["mount.options"] = text.into(),
            "caution" => event["text"] = text.into(),
            "block_finished" => event["invalid"] = text.into(),
            "run_finished" => event["reason"] = text.into(),
            _ => {}
        }
    }
    for more in [
        json!({ "at": at, "event": "caution", "text": text }),
        json!({ "at": at, "event": "candidate_skipped", "candidate": "ext4", "reason": text, "hint": text }),
        json!({ "at": at, "event": "candidate_dropped", "candidate": "xfs", "reason": text }),
    ] {
        lines.insert(last, more);
    }
    fs::write(run.join("journal.jsonl"), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
}

#[test]
fn none_of_fifty_planted_secrets_passes_in_any_field_of_a_run() {
    let place = Place::new();
    let all: Vec<&str> = SECRETS.iter().map(|(text, _)| *text).collect();
    let mut passed = Vec::new();
    let mut check = |clean: &str, of: &[(&str, &str)], how: &str| {
        for (text, secret) in of {
            if let Some(at) = clean.to_lowercase().find(&secret.to_lowercase()) {
                let around: String =
                    clean[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
                passed.push(format!("{how}: {secret} of {text:?}: …{around}…"));
            }
        }
    };
    // Each by itself, since what is known of one place is taken out of every other; and all of them together.
    for (number, one) in SECRETS.iter().enumerate() {
        place.recorded_as(&format!("run{number}"));
        plant_everywhere(&place.path().join(format!("run{number}")), one.0);
        let bundle = format!("bundle{number}.tar.gz");
        place.fsverdict(&["bundle", &format!("run{number}"), "--with-failures", "-o", &bundle]).exits(0);
        let also = [*one, ("on zfs (tank77/jane)", "tank77")];
        check(&unpacked(&place, &bundle), &also, "with failures");
    }
    place.recorded();
    plant_everywhere(&place.path().join("run"), &all.join("\n"));
    place.fsverdict(&["bundle", "run", "-o", "all.tar.gz"]).exits(0);
    let clean = unpacked(&place, "all.tar.gz");
    check(&clean, SECRETS, "all");
    check(&clean, &[(SAID, "salt77"), (SAID, "hash77"), ("", "tank77")], "all");
    assert!(passed.is_empty(), "{} passed:\n{}", passed.len(), passed.join("\n"));
    // Whose work a plan repeats names nobody of here.
    assert!(clean.contains("https://a.journal.example.org/article"));
}

#[test]
fn what_failed_commands_said_is_bundled_only_where_it_is_asked_for() {
    let place = Place::new();
    place.recorded();
    plant_everywhere(&place.path().join("run"), "nothing in particular");
    let said = place.fsverdict(&["bundle", "run", "-o", "without.tar.gz"]).exits(0).stdout;
    assert!(said.contains("outputs of commands") && said.contains("reasons of failed trials"), "{said}");
    assert!(!unpacked(&place, "without.tar.gz").contains("hash77"));
    place.fsverdict(&["bundle", "run", "--with-failures", "-o", "with.tar.gz"]).exits(0);
    assert!(unpacked(&place, "with.tar.gz").contains("hash77"));
}

#[test]
fn a_bundle_is_read_wherever_a_run_is() {
    let place = Place::new();
    place.recorded();
    let said = place.fsverdict(&["bundle", "run"]).exits(0).stdout;
    let bundle = said.split(", ").next().unwrap();
    assert!(bundle.starts_with("run-") && bundle.ends_with(".tar.gz"), "{said}");
    let json = |what: &str| -> Value {
        serde_json::from_str(&place.fsverdict(&["report", what, "--format", "json"]).exits(0).stdout).unwrap()
    };
    let (run, bundled) = (json("run"), json(bundle));
    for part in ["verdict", "estimates", "candidates"] {
        assert_eq!(run[part], bundled[part]);
    }
    place.fsverdict(&["report", bundle]).exits(0).shows(&["candidate"]);
    place.fsverdict(&["compare", "run", bundle]).exits(0).shows(&["78 comparisons undecided"]);
    // And by whoever has no fsverdict that knows bundles: it is the folder of a run.
    tool(&["tar", "-xf", place.path().join(bundle).to_str().unwrap(), "-C", place.path().to_str().unwrap()]);
    let folder = bundle.strip_suffix(".tar.gz").unwrap();
    assert_eq!(json(folder)["verdict"], bundled["verdict"]);
    place.fsverdict(&["resume", folder]).exits(0).says(&["this run is complete"]);
}

/// An archive of these entries: name, kind, size that is claimed, content.
fn archive(entries: &[(&str, u8, u64, &[u8])]) -> Vec<u8> {
    let mut bytes = GzEncoder::new(Vec::new(), Compression::fast());
    for (name, kind, size, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(*size);
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::new(*kind));
        if *kind == b'2' {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        let mut all = header.as_bytes().to_vec();
        all.extend_from_slice(content);
        all.resize(all.len().next_multiple_of(512), 0);
        std::io::Write::write_all(&mut bytes, &all).unwrap();
    }
    std::io::Write::write_all(&mut bytes, &[0; 1024]).unwrap();
    bytes.finish().unwrap()
}

#[test]
fn hostile_bundles_are_refused() {
    let place = Place::new();
    place.recorded();
    let [plan, journal] =
        ["plan.json", "journal.jsonl"].map(|name| fs::read(place.path().join("run").join(name)).unwrap());
    let (plan_size, size) = (plan.len() as u64, journal.len() as u64);
    let whole =
        archive(&[("x/plan.json", b'0', plan_size, &plan), ("x/journal.jsonl", b'0', size, &journal)]);
    let good = ("x/plan.json", b'0', plan_size, plan.as_slice());
    let zeros = vec![0; 17 << 20];
    let mut flipped = whole.clone();
    let last = flipped.len() - 6;
    flipped[last] ^= 1;
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (archive(&[("../plan.json", b'0', plan_size, &plan)]), "`../plan.json` where `FOLDER/plan.json`"),
        (archive(&[("/etc/plan.json", b'0', plan_size, &plan)]), "where `FOLDER/plan.json`"),
        (archive(&[("x/../../plan.json", b'0', plan_size, &plan)]), "where `FOLDER/plan.json`"),
        (archive(&[("x/plan.json", b'2', 0, b"")]), "`x/plan.json` in it is not a file"),
        (archive(&[("x/plan.json", b'L', plan_size, &plan)]), "is not a file"),
        (archive(&[("x/plan.json", b'x', 1 << 40, b"")]), "is not a file"),
        (archive(&[("x/\u{1b}[2Jevil", b'0', 0, b"")]), "`x/[2Jevil`"),
        (
            archive(&[("x/plan.json", b'0', 17 << 20, &zeros)]),
            "larger than the 4 MiB that a bundle of this size may hold",
        ),
        (archive(&[("x/plan.json", b'0', 3, b"{}}")]), "its plan.json: "),
        (archive(&[good]), "it ends before its journal.jsonl"),
        (
            archive(&[good, ("x/journal.jsonl", b'0', 1 << 40, b"")]),
            "larger than the 16 MiB that a bundle of this size may hold",
        ),
        (archive(&[good, ("x/journal.jsonl", b'0', 4, b"{}\n\n")]), "not a journal record"),
        (archive(&[good, ("x/journal.jsonl", b'0', size - 9, &journal[..journal.len() - 9])]), "cut short"),
        (whole[..whole.len() / 2].to_vec(), "not a bundle of fsverdict, or damaged"),
        (whole[..whole.len() - 4].to_vec(), "not a bundle of fsverdict, or damaged"),
        (flipped, "checksum"),
        (b"PK\x03\x04, a zip archive".to_vec(), "invalid gzip header"),
        (Vec::new(), "not a bundle"),
    ];
    let path = place.path().join("bundle");
    fs::write(&path, &whole).unwrap();
    place.fsverdict(&["report", "bundle"]).exits(0);
    for (bytes, words) in cases {
        fs::write(&path, bytes).unwrap();
        let seen = place.fsverdict(&["report", "bundle"]);
        assert!(seen.code == Some(2) && seen.stderr.contains(words), "{words}: {seen:#?}");
        assert!(!seen.stderr.contains('\u{1b}') && !place.path().join("plan.json").exists());
    }
}

/// A bundle of the run of this name on that device; there `ext2` takes `factor` times as long, and the guest's kernel is `kernel`.
fn bundled(place: &Place, name: &str, device: &str, factor: f64, kernel: &str) -> String {
    let run = place.path().join(name);
    shared_run(&run, 4);
    // No two runs begin in the same moment.
    let second = format!("T07:{:02}:00", name.len());
    for block in 1..=4 {
        shard(&run, (device, block), ("ext2", factor));
        let path = run.join(format!("sites/{device}/block-{block:04}.jsonl"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("6.1.176", kernel).replace("T07:52:45", &second)).unwrap();
    }
    place.fsverdict(&["merge", name]).exits(0);
    let bundle = format!("{name}.tar.gz");
    place.fsverdict(&["bundle", name, "--output", &bundle]).exits(0);
    bundle
}

#[test]
fn bundles_of_strangers_become_a_table_of_devices() {
    let place = Place::new();
    let bundles = [("disk", 1.0, "6.1.176"), ("other", 1.0, "6.12.40"), ("stick-9", 0.2, "6.1.176")]
        .map(|(device, factor, kernel)| bundled(&place, device, device, factor, kernel));
    let merge = |more: &[&str]| {
        let words: Vec<&str> = ["merge"]
            .into_iter()
            .chain(bundles.iter().map(String::as_str))
            .chain(more.iter().copied())
            .collect();
        place.fsverdict(&words)
    };
    let shown = merge(&[]).exits(0);
    let sentence = shown.stdout.lines().nth(1).unwrap();
    assert!(sentence.starts_with("It depends on the device: on scratch image"), "{sentence}");
    shown.shows_broken(&[
        "devices like these (n = 3",
        "By device: ",
        "The order changes with the device",
        "the kernel is not the same on all devices (6.1.176 and 6.12.40)",
    ]);
    let json: Value = serde_json::from_str(&merge(&["--format", "json"]).exits(0).stdout).unwrap();
    assert_eq!((&json["n"], json["devices"].as_array().unwrap().len()), (&json!(3), 3));
    let rival = json["like_these"]["rivals"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rival| rival["depends"] == true)
        .unwrap();
    assert!(
        rival["each"].as_array().unwrap().len() == 3
            && rival["like_these"]["n"] == 3
            && rival.get("these").is_none(),
        "{rival:#}"
    );
    let csv = merge(&["--format", "csv"]).exits(0).stdout;
    assert!(csv.starts_with("device,source,identity,kernel,") && csv.lines().count() > 3 * 14, "{csv}");
    merge(&["--format", "markdown"]).exits(0).shows(&["| devices like these (n = 3) |"]);
    merge(&["--format", "html", "--output", "devices.html"]).exits(0);
    let page = fs::read_to_string(place.path().join("devices.html")).unwrap();
    assert!(page.contains("devices like these (n = 3)") && page.matches("disk of").count() == 0);

    // The same device twice is one device, and the same run twice is refused.
    let again = bundled(&place, "disk-again", "disk", 1.0, "6.1.176");
    let twice = place.fsverdict(&["merge", &bundles[0], &again]).exits(0);
    twice.shows_broken(&["nothing is known (n = 1 device)", "each device counts once"]);
    place
        .fsverdict(&["merge", &bundles[0], "disk"])
        .exits(2)
        .says(&["disk and disk.tar.gz are the same run", "hint: "]);
    // A run that is sent in again with another time of day and another device counts for no other device.
    tool(&[
        "cp",
        "-r",
        place.path().join("disk").to_str().unwrap(),
        place.path().join("forged").to_str().unwrap(),
    ]);
    let journal = place.path().join("forged/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let forged = text.replace("T07:04:00", "T07:44:00").replace("disk of disk", "disk of a stranger");
    assert_ne!(text, forged);
    fs::write(&journal, forged).unwrap();
    place.fsverdict(&["merge", "disk", "other", "forged"]).exits(2).says(&[
        "forged measured to the last digit what disk did, on a device of another name: one is a copy of the other",
    ]);
    place.recorded();
    place.fsverdict(&["merge", &bundles[0], "run"]).exits(0);

    let plan = place.path().join("run/plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replacen("\"durable\"", "\"returned\"", 1)).unwrap();
    place
        .fsverdict(&["merge", &bundles[0], "run"])
        .exits(2)
        .says(&["run does other work than disk.tar.gz: another `goal`", "hint: "]);
    place.fsverdict(&["merge", &bundles[0]]).exits(2).says(&["a table of devices needs more than one run"]);
    place.fsverdict(&["merge", &bundles[0], "run", "--settled"]).exits(2);
}
