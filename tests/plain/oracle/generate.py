#!/usr/bin/env python3
"""Writes golden.json: random inputs with the answers of scipy, against which tests/plain/oracle.rs checks our own.

    python -m venv target/oracle && target/oracle/bin/pip install numpy scipy
    target/oracle/bin/python tests/plain/oracle/generate.py            # write golden.json
    target/oracle/bin/python tests/plain/oracle/generate.py --verify   # recompute, compare with golden.json

Every answer comes from scipy, or from counting all possibilities; none from a formula that our code shares.
"""

import itertools
import json
import math
import pathlib
import sys
import warnings

import numpy as np
from scipy import stats

GOLDEN = pathlib.Path(__file__).with_name("golden.json")
warnings.simplefilter("ignore")


def draw(rng, n, kind):
    """A sample: smooth, heavy-tailed, with ties, with ties and zeros, or shifted."""
    if kind == 0:
        return rng.normal(0, 1, n)
    if kind == 1:
        return rng.standard_t(2, n)
    if kind == 2:
        return rng.integers(1, 5, n) * rng.choice([-1, 1], n) / 4
    if kind == 3:
        return rng.integers(-3, 4, n) / 2
    return rng.normal(0.8, 1, n)


def plain(values):
    return [float(np.round(value, 6)) for value in values]


def sample_cases(rng):
    cases = []
    for index in range(40):
        n = int(rng.integers(1, 41))
        values = plain(draw(rng, n, index % 5))
        quartiles = np.percentile(values, [25, 75])
        cases.append({
            "values": values,
            "median": float(np.median(values)),
            "mean": float(np.mean(values)),
            "trimmed": float(np.mean(sorted(values)[1:-1])) if n >= 3 else None,
            "best": float(np.min(values)),
            "quartiles": [float(q) for q in quartiles],
        })
    return cases


def holm_cases(rng):
    """Holm's procedure as closed testing: the largest Bonferroni p of all subsets that hold the hypothesis."""
    cases = []
    for _ in range(25):
        m = int(rng.integers(1, 8))
        p_values = plain(np.minimum(1, rng.uniform(0, 0.3, m) ** 2))
        adjusted = []
        for index in range(m):
            others = [p for i, p in enumerate(p_values) if i != index]
            worst = 0.0
            for size in range(m):
                for subset in itertools.combinations(others, size):
                    inside = (*subset, p_values[index])
                    worst = max(worst, min(1.0, len(inside) * min(inside)))
            adjusted.append(worst)
        cases.append({"p_values": p_values, "adjusted": adjusted})
    return cases


def spread(values):
    return stats.median_abs_deviation(values) / stats.norm.ppf(0.75)


def kept(values, typical=0.0):
    """What is left when values far from the median are set aside: none below four values, nor a third or more."""
    values = np.array(values)
    far = 5 * max(spread(values), typical)
    near = np.abs(values - np.median(values)) <= far
    return values[near] if len(values) >= 4 and far > 0 and 3 * np.sum(near) > 2 * len(values) else values


def with_outliers(rng, n, index):
    drawn = draw(rng, n, (0, 1, 4)[index % 3])
    if index % 2:
        drawn[rng.integers(0, n)] += 60
    return plain(drawn)


def evidence_cases(rng):
    """scipy's t test of what is left without outliers."""
    cases = []
    for index in range(40):
        values = with_outliers(rng, int(rng.integers(2, 40)), index)
        left = kept(values)
        found = stats.ttest_1samp(left, 0)
        ends = found.confidence_interval(0.95)
        above = stats.ttest_1samp(left, -0.1, alternative="greater")
        cases.append({"values": values, "difference": float(np.mean(left)), "error": float(stats.sem(left)),
                      "p": float(found.pvalue), "p_above": float(above.pvalue),
                      "low": float(ends.low), "high": float(ends.high)})
    return cases


def moderated_cases(rng):
    """Several pairs: a variance below the mean of all is drawn towards it, as if that had three degrees of freedom."""
    cases = []
    for index in range(20):
        n, pairs = int(rng.integers(2, 12)), int(rng.integers(2, 7))
        samples = [with_outliers(rng, n, index + pair) for pair in range(pairs)]
        typical = np.median([spread(values) for values in samples])
        left = [kept(values, typical) for values in samples]
        common = np.mean([np.var(values, ddof=1) for values in left])
        p_values = []
        for values in left:
            own, variance = len(values) - 1, np.var(values, ddof=1)
            degrees = own
            if variance < common:
                variance, degrees = (own * variance + 4 * common) / (own + 4), own + 4
            p_values.append(float(stats.t.sf(np.mean(values) / math.sqrt(variance / len(values)), degrees)))
        cases.append({"samples": samples, "p_above": p_values})
    return cases


def welch_cases(rng):
    """scipy's t test of two samples of unequal variance, without outliers."""
    cases = []
    for index in range(60):
        few, many = (int(n) for n in rng.integers(3, 25, 2))
        ours, theirs = with_outliers(rng, few, index), plain(draw(rng, many, (1, 0)[index % 2]))
        one, other = kept(ours), kept(theirs)
        found = stats.ttest_ind(one, other, equal_var=False)
        ends = found.confidence_interval(0.95)
        cases.append({"ours": ours, "theirs": theirs, "mean": float(np.mean(one) - np.mean(other)),
                      "p": float(found.pvalue), "low": float(ends.low), "high": float(ends.high)})
    return cases


def distribution_cases(rng):
    cases = []
    for _ in range(60):
        degrees = float(np.round(rng.choice([1, 2, 3, 4.5, 8, 17, 29, 80.25, 400]), 3))
        x = float(np.round(rng.uniform(0, 8), 6))
        share = float(np.round(rng.uniform(0.0001, 0.9999), 6))
        cases.append({
            "degrees": degrees, "x": x, "share": share,
            "student_tail": float(stats.t.sf(x, degrees)),
            "student_quantile": float(stats.t.ppf(share, degrees)),
        })
    return cases


def golden():
    cases = {
        "distribution": distribution_cases,
        "sample": sample_cases,
        "holm": holm_cases,
        "evidence": evidence_cases,
        "moderated": moderated_cases,
        "welch": welch_cases,
    }
    # A stream of random numbers for each: what is added or taken away leaves the others as they are.
    return {name: made(np.random.default_rng([20240607, *name.encode()])) for name, made in cases.items()}


def same(one, two):
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two))
    if isinstance(one, float) and isinstance(two, (int, float)):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12)
    return one == two


def main():
    fresh = golden()
    if "--verify" in sys.argv[1:]:
        stored = json.loads(GOLDEN.read_text())
        different = [name for name in fresh if not same(fresh[name], stored.get(name))]
        print(f"differs: {', '.join(different)}" if different else "golden.json is what this scipy says")
        return 1 if different else 0
    lines = []
    for name, cases in fresh.items():
        rows = ",\n".join(json.dumps(case) for case in cases)
        lines.append(f'"{name}": [\n{rows}\n]')
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{GOLDEN}: {sum(len(cases) for cases in fresh.values())} cases, {GOLDEN.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
