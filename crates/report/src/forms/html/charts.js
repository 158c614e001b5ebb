"use strict";
// The charts: each function says what one shows (see drawing.js), from the data and the state of its controls.
// A chart is drawn for the width it has; its caller gives the function.
let width = 1000;
const narrow = () => width < 520;
const visible = () => [...data.candidates.keys()].filter((candidate) => data.candidates[candidate].measured && chosen.has(candidate));
// Okabe and Ito's colours, readable for colour-blind people; dash and symbol change with them.
const hues = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#7F7F7F"];
const dashes = ["solid", "dash", "dot", "dashdot", "longdash"];
const symbols = ["circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "cross"];
const hue = (candidate) => hues[candidate % hues.length];
const dash = (candidate) => dashes[Math.floor(candidate / hues.length) % dashes.length];
const symbol = (candidate) => symbols[(candidate + Math.floor(candidate / hues.length)) % symbols.length];
const nameOf = (candidate) => safe(short(data.candidates[candidate].name, narrow() ? 14 : 28));
const fullName = (candidate) => safe(data.candidates[candidate].name);

// The same wobble for the same trial each time, so that points on top of one another come apart.
const wobble = (trial) => (((trial.b * 7 + trial.c * 3 + trial.a * 5) % 11) / 10 - 0.5) * 0.22;

const wide = (values) => {
  const usable = values.filter((value) => value > 0);
  return usable.length > 0 && Math.max(...usable) > 8 * Math.min(...usable);
};

// Every trial of a phase as a point, by candidate, with median and interval.
function phaseChart(state, phase) {
  const candidates = visible();
  const row = new Map(candidates.map((candidate, at) => [candidate, at]));
  const metrics = state.metric === "durable" ? ["durable", "returned"] : [state.metric];
  const unit = data.metrics[metricAt.get(state.metric)].unit;
  const trials = data.trials.filter((trial) => row.has(trial.c) && (trial.s === "ok" || trial.s === "open"));
  const points = metrics.map((metric) => trials
    .map((trial) => ({ trial, value: valueOf(trial, phase, metric) }))
    .filter((point) => point.value !== null));
  const values = points.flat().map((point) => point.value);
  const scale = scaleFor(unit, values);
  const log = state.log === null ? wide(values) : state.log;
  const series = points.map((found, at) => ({
    points: found.map(({ trial, value }) => ({
      x: value / scale.divisor, y: row.get(trial.c) + (at ? 0.24 : 0) + wobble(trial),
      tip: [`${fullName(trial.c)}, block ${trial.b}`, `${metrics[at]} ${withUnit(value, unit)}`],
    })),
    mark: at ? { symbol: "diamond", open: true, size: 7, color: "var(--warm)" } : { symbol: "circle", size: 7, color: "var(--cool)", opacity: 0.6 },
  }));
  const medians = candidates.map((candidate) => [candidate, estimate(candidate, phase, state.metric)]).filter(([, found]) => found)
    .map(([candidate, found]) => {
      const own = points[0].filter((point) => point.trial.c === candidate).map((point) => point.value);
      const isCertain = found.low !== null;
      const [low, high] = isCertain ? [found.low, found.high] : own.length > 1 ? [Math.min(...own), Math.max(...own)] : [found.point, found.point];
      return { candidate, found, isCertain, low, high };
    });
  const place = ({ candidate, found }) => ({ x: found.point / scale.divisor, y: row.get(candidate) });
  const interval = (median) => ({ ...place(median), low: median.low / scale.divisor, high: median.high / scale.divisor });
  const ranges = medians.filter(({ found, isCertain }) => !isCertain && found.n > 1);
  if (ranges.length) series.unshift({ points: ranges.map(interval), bar: { color: "var(--soft)", width: 1, cap: 0 } });
  if (medians.some(({ found }) => found.n > 1)) series.push({
    points: medians.map((median) => ({
      ...median.isCertain ? interval(median) : place(median),
      tip: [
        fullName(median.candidate),
        `median ${withUnit(median.found.point, unit)}, n = ${median.found.n}`,
        (median.isCertain ? "95% interval " : median.found.n > 1 ? "range (too few trials for an interval) " : "one trial ")
          + (median.found.n > 1 ? `${withUnit(median.low, unit)} to ${withUnit(median.high, unit)}` : ""),
      ],
    })),
    bar: { color: "var(--ink)", width: 2, cap: 4 },
    mark: { symbol: "upright", size: 15, color: "var(--ink)" },
  });
  return {
    height: 62 + 27 * Math.max(candidates.length, 1),
    series,
    x: { log, zero: true, title: metrics.length > 1 ? scale.label : state.metric + (scale.label ? `, ${scale.label}` : "") },
    y: { ticks: candidates.map((candidate, at) => [at, nameOf(candidate)]), ends: [candidates.length - 0.4, -0.6] },
  };
}

// What went on within a phase: what got done, data not yet written, the rate of the device, its queue; one trial of each candidate.
function courseChart(kind, phase) {
  const found = data.courses.filter((course) => course.phase === phase && course[kind].length > 1 && chosen.has(course.candidate));
  const unit = { unwritten: "B", rate: "B/s", queue: "1", work: found.length ? found[0].work_unit : "1/s" }[kind];
  const scale = scaleFor(unit, found.map((course) => Math.max(...course[kind].map((point) => point[1]))));
  return {
    height: narrow() ? 340 : 360, legend: true,
    series: found.map(({ candidate, [kind]: course }) => ({
      name: nameOf(candidate),
      points: course.map(([at, value]) => ({
        x: at, y: value / scale.divisor, tip: [fullName(candidate), `after ${withUnit(at, "s")}: ${withUnit(value, unit)}`],
      })),
      line: { color: hue(candidate), dash: dash(candidate), width: 1.6 },
    })),
    x: { title: "seconds since the phase began, one trial each", zero: true },
    y: { title: { unwritten: "not yet written, ", rate: "device, ", queue: "requests inside", work: "got done, " }[kind] + scale.label, zero: true },
  };
}

// Latency by percentile; the axis is one call in so many, so that the slow tail has room.
function latencyChart(state, phase, call) {
  const found = data.latency.filter((curve) => curve.phase === phase && curve.call === call && chosen.has(curve.candidate) && data.candidates[curve.candidate].measured);
  const scale = scaleFor("s", found.flatMap((curve) => curve.curve.map((point) => point[1])));
  return {
    height: narrow() ? 380 : 400, legend: true,
    series: found.map(({ candidate, curve, calls }) => ({
      name: nameOf(candidate),
      points: curve.map(([share, seconds]) => ({
        x: share, y: seconds / scale.divisor,
        tip: [fullName(candidate), `1 in ${digits(share)} calls took longer than ${withUnit(seconds, "s")}`, `${calls.toLocaleString("en")} calls`],
      })),
      line: { color: hue(candidate), dash: dash(candidate), width: 1.8 },
      mark: { symbol: symbol(candidate), size: 5, color: hue(candidate) },
    })),
    x: { log: true, title: "this share of the calls was faster", ticks: [[2, "median"], [10, "90%"], [100, "99%"], [1000, "99.9%"], [1e4, "99.99%"], [1e6, "99.9999%"]] },
    y: { log: state.log === null ? true : state.log, title: scale.label, zero: true },
  };
}

// Every trial against its candidate's median, over the time of the run.
function driftChart(state) {
  const shown = new Set(visible());
  const phases = state.phase === "all" ? [...data.phases.keys()].filter((phase) => data.phases[phase].headline) : [Number(state.phase)];
  const sum = (trial) => {
    const values = phases.map((phase) => valueOf(trial, phase, data.goal)).filter((value) => value !== null);
    return values.length ? values.reduce((one, other) => one + other, 0) : null;
  };
  const all = data.trials.map((trial) => ({ trial, value: sum(trial) })).filter((point) => point.value > 0 && point.trial.s !== "failed");
  const typical = new Map();
  for (const candidate of data.candidates.keys()) {
    const own = all.filter((point) => point.trial.c === candidate && point.trial.s !== "discarded").map((point) => point.value);
    if (own.length) typical.set(candidate, median(own));
  }
  const latest = Math.max(0, ...data.trials.map((trial) => trial.t));
  const [divisor, label] = latest > 7200 ? [3600, "hours"] : latest > 180 ? [60, "minutes"] : [1, "seconds"];
  const borders = new Map();
  for (const trial of data.trials) {
    const key = `${trial.b}.${trial.a}`;
    borders.set(key, Math.min(borders.get(key) ?? Infinity, trial.t));
  }
  const points = all.filter((point) => shown.has(point.trial.c) && typical.has(point.trial.c));
  const log = state.log === null ? wide(points.map((point) => point.value / typical.get(point.trial.c))) : state.log;
  return {
    height: narrow() ? 380 : 400, legend: true,
    series: [...shown].map((candidate) => ({
      name: nameOf(candidate),
      points: points.filter((point) => point.trial.c === candidate).map(({ trial, value }) => ({
        x: trial.t / divisor, y: value / typical.get(candidate), open: trial.s === "discarded",
        tip: [
          `${fullName(candidate)}, block ${trial.b}${trial.s === "discarded" ? ", thrown out" : ""}`,
          `${withUnit(value, data.metrics[metricAt.get(data.goal)].unit)}, ${digits(value / typical.get(candidate))}× its median`,
        ],
      })),
      mark: { symbol: symbol(candidate), size: 7, color: hue(candidate) },
    })),
    x: { title: `${label} since the run began`, zero: true },
    y: { log, title: "× its own median" },
    uprights: [...borders.values()].map((at) => at / divisor),
  };
}

// Time for the goal against a cost. A name for who is best in just these two; what lies below and left of them is free.
function tradeoffChart(cost) {
  const behind = new Map(data.report.verdict.ranking.map((rank) => [rank.candidate, rank.behind || { point: 1, low: null, high: null }]));
  const numbers = new Map(data.candidates.map((candidate, at) => [candidate.name, at]));
  const found = data.report.verdict.tradeoffs.filter((one) => one[cost] && one[cost].point > 0 && chosen.has(numbers.get(one.candidate)));
  const unit = cost === "cpu" ? "s" : "B";
  const scale = scaleFor(unit, found.map((one) => one[cost].point));
  const time = (one) => behind.get(one.candidate);
  const all = found.flatMap((one) => [time(one).point, time(one).low, time(one).high]).filter((ratio) => ratio > 0);
  const log = Math.max(...found.map((one) => time(one).point)) > 3;
  let least = Infinity;
  const front = new Set([...found].sort((one, other) => time(one).point - time(other).point)
    .filter((one) => one[cost].point < 0.95 * least && (least = one[cost].point, true)));
  const part = (value) => value === null ? undefined : value / scale.divisor;
  const own = (isBeaten, mark) => ({
    points: found.filter((one) => Boolean(one.beaten_by) === isBeaten).map((one) => ({
      x: time(one).point, low: time(one).low, high: time(one).high,
      y: part(one[cost].point), bottom: part(one[cost].low), top: part(one[cost].high),
      label: front.has(one) ? safe(short(one.candidate, 18)) : "",
      tip: [
        safe(one.candidate),
        `${digits(time(one).point)}× the leader's time`,
        withUnit(one[cost].point, unit),
        one.beaten_by ? `beaten by ${safe(one.beaten_by)}` : "in the Pareto set",
      ],
    })),
    bar: { color: mark.color, width: 1, cap: 0 },
    mark,
  });
  return {
    height: 300,
    series: [own(true, { symbol: "circle", open: true, size: 7, color: "var(--soft)" }), own(false, { symbol: "circle", size: 9, color: "var(--cool)" })],
    x: { log, title: "× the leader's time", ends: left(all, log) },
    y: { title: scale.label, zero: true },
  };
}

// Where the axis begins and ends: with all points and intervals between, and room for names to the left of the leader.
function left(all, log) {
  const most = Math.max(1.2, ...all), least = Math.min(1, ...all);
  const [from, to] = log ? [most ** -0.45, most ** 1.1] : [1 - 0.6 * (most - 1), most + 0.1 * (most - 1)];
  return [Math.min(from, log ? least / 1.1 : least - 0.05 * (most - least)), to];
}

// Time until durable against time until returned, a colour for each phase.
function bufferedChart() {
  const points = [...data.phases.keys()].filter((phase) => data.phases[phase].headline).map((phase) => ({
    phase,
    own: visible().map((candidate) => ({ candidate, returned: estimate(candidate, phase, "returned"), durable: estimate(candidate, phase, "durable") }))
      .filter(({ returned, durable }) => returned && durable && returned.point > 0),
  })).filter(({ own }) => own.length);
  const durables = points.flatMap(({ own }) => own.map(({ durable }) => durable.point));
  const diagonal = durables.length ? [Math.min(...durables), Math.max(...durables)].map((at) => ({ x: at, y: at })) : [];
  return {
    height: 360, legend: true,
    series: [{ points: diagonal, line: { color: "var(--soft)", width: 1, dash: "dot" } },
      ...points.map(({ phase, own }) => ({
        name: safe(short(data.phases[phase].name, 20)),
        points: own.map(({ candidate, returned, durable }) => ({
          x: returned.point, y: durable.point,
          tip: [
            `${fullName(candidate)}, ${safe(data.phases[phase].name)}`,
            `returned after ${withUnit(returned.point, "s")}, durable after ${withUnit(durable.point, "s")}: ${digits(durable.point / returned.point)}×`,
          ],
        })),
        mark: { symbol: symbol(phase), size: 8, color: hue(phase), opacity: 0.8 },
      }))],
    x: { log: true, title: "returned, s" }, y: { log: true, title: "durable, s" },
  };
}
