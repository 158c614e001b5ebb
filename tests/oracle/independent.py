#!/usr/bin/env python3
"""Writes independent.json: what scipy says of two independent samples.

p values: scipy.stats.mannwhitneyu, exact without ties, asymptotic for large samples. With ties scipy has no exact
method, so every way to deal the values is tried. Intervals: the shifts that mannwhitneyu does not reject.

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install scipy==1.17.1
    /tmp/oracle/bin/python tests/oracle/independent.py > tests/oracle/independent.json
"""

import itertools
import json

import numpy
import scipy
from scipy.stats import mannwhitneyu, rankdata

random = numpy.random.default_rng(20261121)


def p_of(ours, theirs, method):
    return float(mannwhitneyu(ours, theirs, alternative="two-sided", method=method, use_continuity=True).pvalue)


def p_by_dealing(ours, theirs):
    ranks = rankdata(numpy.concatenate([ours, theirs]))
    observed = ranks[: len(ours)].sum()
    sums = numpy.array([sum(hand) for hand in itertools.combinations(ranks, len(ours))])
    return float(min(1.0, 2 * min((sums <= observed).mean(), (sums >= observed).mean())))


def interval(ours, theirs, confidence, method):
    """The ends of the set of shifts that are not rejected, found between neighbouring differences."""
    ends = numpy.sort(numpy.subtract.outer(ours, theirs).ravel())
    inner = [
        (low, high)
        for low, high in zip(ends, ends[1:])
        if p_of(ours - (low + high) / 2, theirs, method) > 1 - confidence
    ]
    outside = p_of(ours - (ends[0] - 1), theirs, method) > 1 - confidence
    if outside or not inner:
        return None
    return [float(inner[0][0]), float(inner[-1][1])]


def case(ours, theirs, method, with_interval=True):
    p = p_by_dealing(ours, theirs) if method == "dealing" else p_of(ours, theirs, method)
    both = {}
    if with_interval:
        both = {str(level): interval(ours, theirs, level, method) for level in (0.95, 0.99)}
    return {
        "ours": list(map(float, ours)),
        "theirs": list(map(float, theirs)),
        "method": method,
        "u": float(mannwhitneyu(ours, theirs, method="asymptotic").statistic),
        "p": p,
        "intervals": both,
    }


cases = []
for _ in range(120):
    few, many = random.integers(1, 13, size=2)
    shift = random.choice([0.0, 0.5, 2.0])
    cases.append(case(random.normal(shift, 1, few), random.standard_t(3, many), "exact"))
for few, many in [(30, 30), (30, 7), (2, 30), (20, 25)]:
    cases.append(case(random.normal(0.4, 1, few), random.normal(0, 1, many), "exact", with_interval=False))
for _ in range(60):
    few, many = random.integers(1, 9, size=2)
    cases.append(case(random.integers(0, 5, few), random.integers(1, 6, many), "dealing", with_interval=False))
for _ in range(10):
    few, many = random.integers(31, 60, size=2)
    cases.append(case(random.normal(0.3, 1, few), random.normal(0, 1, many), "asymptotic", with_interval=False))
    ours, theirs = random.integers(0, 9, few).astype(float), random.integers(1, 10, many).astype(float)
    cases.append(case(ours, theirs, "asymptotic", with_interval=False))
cases.append(case(random.normal(0.3, 1, 33), random.normal(0, 1, 35), "asymptotic"))

print(json.dumps({"scipy": scipy.__version__, "cases": cases}))
