#!/usr/bin/env python3
"""Writes golden.json: random inputs with the answers of scipy, against which tests/oracle.rs checks our own.

    python -m venv target/oracle && target/oracle/bin/pip install numpy scipy
    target/oracle/bin/python tests/oracle/generate.py            # write golden.json
    target/oracle/bin/python tests/oracle/generate.py --verify   # recompute, compare with golden.json

Every answer comes from scipy, or from counting all possibilities; none from a formula that our code shares.
"""

import itertools
import json
import math
import pathlib
import sys
import warnings

import numpy as np
from scipy import integrate, stats

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


def hodges_lehmann_cases(rng):
    """The interval holds exactly the shifts that the exact signed-rank test does not reject."""
    cases = []
    for index in range(46):
        n = int(rng.integers(1, 13)) if index < 34 else int(rng.integers(16, 21)) if index < 40 else 31 + 2 * (index - 40)
        method = {"method": "exact"} if n <= 30 else {"method": "asymptotic", "correction": True}
        confidence = (0.95, 0.9, 0.99)[index % 3]
        values = plain(draw(rng, n, (0, 1, 4)[index % 3]))
        walsh = sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i + 1))
        kept = []
        for low, high in zip(walsh, walsh[1:]):
            if high - low < 1e-9:
                continue
            shifted = np.array(values) - (low + high) / 2
            if stats.wilcoxon(shifted, **method).pvalue > 1 - confidence:
                kept.append((low, high))
        beyond = stats.wilcoxon(np.array(values) - walsh[0] + 1, **method).pvalue
        possible = beyond <= 1 - confidence
        cases.append({
            "values": values,
            "confidence": confidence,
            "point": float(np.median(walsh)),
            "low": float(kept[0][0]) if possible else None,
            "high": float(kept[-1][1]) if possible else None,
        })
    return cases


def median_cases(rng):
    cases = []
    for index in range(40):
        n = int(rng.integers(1, 41))
        confidence = (0.95, 0.9, 0.99)[index % 3]
        values = plain(draw(rng, n, index % 5))
        found = stats.quantile_test(values, q=float(np.median(values)), p=0.5).confidence_interval(confidence)
        low, high = found.low, found.high
        known = not (math.isnan(low) or math.isnan(high))
        quartiles = np.percentile(values, [25, 75])
        cases.append({
            "values": values,
            "confidence": confidence,
            "median": float(np.median(values)),
            "low": float(low) if known else None,
            "high": float(high) if known else None,
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


def outlier_t_cases(rng):
    """scipy's t test of what is left when values far from the median are set aside, by scipy's absolute deviations
    (corrected for small samples by the factors of Croux & Rousseeuw 1992): none below four values, nor a third or more."""
    small = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
    cases = []
    for index in range(40):
        n = int(rng.integers(2, 40))
        drawn = draw(rng, n, (0, 1, 4)[index % 3])
        if index % 2:
            drawn[rng.integers(0, n)] += 60
        values = np.array(plain(drawn))
        spread = small.get(n, n / (n - 0.8)) * stats.median_abs_deviation(values) / stats.norm.ppf(0.75)
        near = np.abs(values - np.median(values)) <= (4 + 24 / (n - 1)) * spread
        kept = values[near] if n >= 4 and 3 * np.sum(~near) <= n - 1 else values
        found = stats.ttest_1samp(kept, 0)
        cases.append({"values": values.tolist(), "difference": float(np.mean(kept)), "error": float(stats.sem(kept)),
                      "p": float(found.pvalue)})
    return cases


def independent_cases(rng):
    """Yuen's test: scipy's t test of two trimmed samples of unequal variance."""
    cases = []
    for index in range(60):
        few, many = (int(n) for n in rng.integers(3, 25, 2))
        ours, theirs = plain(draw(rng, few, (0, 1, 4)[index % 3])), plain(draw(rng, many, (1, 0)[index % 2]))
        found = stats.ttest_ind(ours, theirs, equal_var=False, trim=0.2)
        ends = found.confidence_interval(0.95)
        mean = float(stats.trim_mean(ours, 0.2) - stats.trim_mean(theirs, 0.2))
        cases.append({"ours": ours, "theirs": theirs, "mean": mean, "p": float(found.pvalue),
                      "low": float(ends.low), "high": float(ends.high)})
    return cases


def detectable_cases(rng):
    """The difference at which the power (by the noncentral t) of the paired t test is about what was asked for:
    the usual sum of two quantiles of t, whose true power scipy reports alongside."""
    cases = []
    for _ in range(20):
        n = int(rng.integers(3, 60))
        deviation, alpha, power = float(np.round(rng.uniform(0.01, 0.2), 6)), 0.05, 0.8
        reach = stats.t.ppf(1 - alpha / 2, n - 1) + stats.t.ppf(power, n - 1)
        true_power = stats.nct.sf(stats.t.ppf(1 - alpha / 2, n - 1), n - 1, reach)
        assert abs(true_power - power) < (0.02 if n >= 10 else 0.12), (n, true_power)
        cases.append({"deviation": deviation, "blocks": n, "alpha": alpha, "power": power,
                      "difference": float(math.expm1(reach * deviation / math.sqrt(n)))})
    return cases


def residual_cases(rng):
    """Two-way residual variance by least squares on dummy variables."""
    cases = []
    for _ in range(15):
        n, k = int(rng.integers(2, 9)), int(rng.integers(2, 7))
        table = [plain(row) for row in rng.normal(0, 1, (n, k))]
        design, target = [], []
        for b in range(n):
            for c in range(k):
                design.append([float(b == i) for i in range(n)] + [float(c == j) for j in range(1, k)])
                target.append(table[b][c])
        design = np.array(design)
        solution = np.linalg.lstsq(design, np.array(target), rcond=None)[0]
        residuals = np.array(target) - design @ solution
        degrees = n * k - np.linalg.matrix_rank(design)
        cases.append({"table": table, "variance": float(residuals @ residuals / degrees), "degrees": float(degrees)})
    return cases


def distribution_cases(rng):
    cases = []
    for _ in range(60):
        degrees = float(np.round(rng.choice([1, 2, 3, 4.5, 8, 17, 29, 80.25, 400]), 3))
        x = float(np.round(rng.uniform(0, 8), 6))
        share = float(np.round(rng.uniform(0.0001, 0.9999), 6))
        trials = int(rng.integers(1, 80))
        successes = int(rng.integers(0, trials + 1))
        cases.append({
            "degrees": degrees, "x": x, "share": share, "trials": trials, "successes": successes,
            "normal_tail": float(stats.norm.sf(x)),
            "normal_quantile": float(stats.norm.ppf(share)),
            "student_tail": float(stats.t.sf(x, degrees)),
            "student_quantile": float(stats.t.ppf(share, degrees)),
            "coin_cumulative": float(stats.binom.cdf(successes, trials, 0.5)),
        })
    return cases


def crossing_cases(_):
    """The probability that the second of two looks acts first, by integrating the two-dimensional density."""
    cases = []
    for before, after, first, second in [(3, 4, 0.01, 0.02), (5, 10, 0.02, 0.03), (10, 12, 0.001, 0.004),
                                         (20, 30, 0.02, 0.03), (4, 5, 0.0003, 0.001)]:
        c1, c2 = stats.norm.isf(first / 2), stats.norm.isf(second / 2)
        rho = math.sqrt(before / after)
        joint = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]])
        # Beyond c2 upwards while within c1; downwards is its mirror image.
        caught = 2 * integrate.dblquad(lambda y, x: joint.pdf([x, y]), -c1, c1, c2, 12, epsabs=1e-12, epsrel=1e-8)[0]
        cases.append({"blocks": [before, after], "shares": [first, float(caught)], "levels": [first, second]})
    return cases


def golden():
    cases = {
        "distribution": distribution_cases,
        "hodges_lehmann": hodges_lehmann_cases,
        "median": median_cases,
        "holm": holm_cases,
        "outlier_t": outlier_t_cases,
        "independent": independent_cases,
        "detectable": detectable_cases,
        "residual": residual_cases,
        "crossing": crossing_cases,
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
