"""Reads the journal of a run, for other scripts: they share no code with the program."""

import json
import os


def read_events(path):
    """The events of a journal, without a last line that was torn."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                return


def read_run(folder):
    """The counted trials of a run by block and candidate: the values of each phase; and how many trials ended, and how."""
    open_trials, ended, valid, ending = {}, [], set(), ""
    for event in read_events(os.path.join(folder, "journal.jsonl")):
        trial = event.get("trial")
        key = trial and (trial["block"], trial["candidate"], trial["attempt"])
        kind = event["event"]
        if kind == "trial_started":
            open_trials[key] = {}
        elif kind == "observation" and key in open_trials:
            phase = open_trials[key].setdefault(event["phase"], {})
            for one in event["measurements"]:
                phase.setdefault(one["metric"], []).append(one["value"])
        elif kind == "trial_finished" and key in open_trials:
            ended.append((key, event["status"], open_trials.pop(key)))
        elif kind == "block_finished" and not event.get("invalid"):
            valid.add((event["block"], event["attempt"]))
        elif kind == "run_finished":
            ending = event["reason"]
    ok = [(key, phases) for key, status, phases in ended if status == "ok"]
    counted = {}
    for (block, candidate, attempt), phases in ok:
        if (block, attempt) in valid:
            counted.setdefault(candidate, {})[block] = phases
    return counted, len(ended), len(ok), ending
