"use strict";
// The charts: each function gives the traces and the layout of one, from the data and the state of its controls.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
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

function layout(extra) {
  const axis = { gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line"), automargin: true, title: { standoff: 8 } };
  const merged = (own) => Object.assign({}, axis, own);
  return Object.assign({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: narrow() ? 11 : 13, color: css("--ink") },
    margin: { l: 8, r: 12, t: 8, b: 40 }, hovermode: "closest", dragmode: false,
    hoverlabel: { bgcolor: css("--card"), bordercolor: css("--line"), font: { color: css("--ink") }, align: "left" },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: narrow() ? 10 : 12 } }, ...extra.several ? names(extra.several) : {},
  }, extra, { xaxis: merged(extra.xaxis), yaxis: merged(extra.yaxis) });
}

// Above the plot while there are few; many stand beside it and scroll, or on a phone only in what a touch shows.
const names = (several) => several <= 8 ? { showlegend: true }
  : { showlegend: !narrow(), legend: { orientation: "v", x: 1.01, y: 1, font: { size: 11 }, tracegroupgap: 0 } };

// Ticks of a logarithmic axis at 1, 2 and 5, written in full; fewer where there are many decades.
function logTicks(values) {
  const usable = values.filter((value) => value > 0);
  if (!usable.length) return {};
  const from = Math.floor(Math.log10(Math.min(...usable))) - 1;
  const to = Math.ceil(Math.log10(Math.max(...usable)));
  const steps = to - from > 4 ? [1] : to - from > 3 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let decade = from; decade <= to; decade++) for (const step of steps) ticks.push(step * 10 ** decade);
  return { tickvals: ticks, ticktext: ticks.map((tick) => String(Number(tick.toPrecision(1)))) };
}

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
  const traces = points.map((found, at) => ({
    name: metrics[at], type: "scatter", mode: "markers",
    x: found.map((point) => point.value / scale.divisor),
    y: found.map((point) => row.get(point.trial.c) + (at ? 0.24 : 0) + wobble(point.trial)),
    text: found.map((point) => `<b>${safe(data.candidates[point.trial.c].name)}</b>, block ${point.trial.b}<br>${metrics[at]} ${withUnit(point.value, unit)}`),
    hovertemplate: "%{text}<extra></extra>",
    marker: at
      ? { symbol: "diamond-open", size: 7, color: css("--warm"), line: { width: 1.4 } }
      : { symbol: "circle", size: 7, color: css("--cool"), opacity: 0.6 },
  }));
  const medians = candidates.map((candidate) => [candidate, estimate(candidate, phase, state.metric)]).filter(([, found]) => found);
  const ends = medians.map(([candidate, found]) => {
    if (found.low !== null) return [found.low, found.high];
    const own = points[0].filter((point) => point.trial.c === candidate).map((point) => point.value);
    return own.length > 1 ? [Math.min(...own), Math.max(...own)] : [found.point, found.point];
  });
  const certain = medians.map(([, found]) => found.low !== null);
  const bar = (wanted, thickness, color) => ({
    type: "data", symmetric: false, color, thickness, width: wanted ? 4 : 0,
    array: medians.map(([, found], at) => certain[at] === wanted ? (ends[at][1] - found.point) / scale.divisor : 0),
    arrayminus: medians.map(([, found], at) => certain[at] === wanted ? (found.point - ends[at][0]) / scale.divisor : 0),
  });
  if (medians.some(([, found], at) => !certain[at] && found.n > 1)) {
    traces.unshift({
      name: "range", type: "scatter", mode: "markers", hoverinfo: "skip", marker: { size: 0.1, color: css("--soft") },
      x: medians.map(([, found]) => found.point / scale.divisor), y: medians.map(([candidate]) => row.get(candidate)),
      error_x: bar(false, 1, css("--soft")),
    });
  }
  if (medians.some(([, found]) => found.n > 1)) traces.push({
    name: certain.includes(true) ? "median, 95% interval" : "median", type: "scatter", mode: "markers",
    x: medians.map(([, found]) => found.point / scale.divisor),
    y: medians.map(([candidate]) => row.get(candidate)),
    error_x: bar(true, 2, css("--ink")),
    text: medians.map(([candidate, found], at) => `<b>${safe(data.candidates[candidate].name)}</b><br>median ${withUnit(found.point, unit)}, n = ${found.n}<br>`
      + (found.low !== null ? "95% interval " : found.n > 1 ? "range (too few trials for an interval) " : "one trial ")
      + (found.n > 1 ? `${withUnit(ends[at][0], unit)} to ${withUnit(ends[at][1], unit)}` : "")),
    hovertemplate: "%{text}<extra></extra>",
    marker: { symbol: "line-ns", size: 15, color: css("--ink"), line: { width: 2.4, color: css("--ink") } },
  });
  return {
    traces,
    log,
    layout: layout({
      height: 62 + 27 * Math.max(candidates.length, 1), showlegend: false,
      xaxis: { type: log ? "log" : "linear", rangemode: "tozero", title: { text: metrics.length > 1 ? scale.label : state.metric + (scale.label ? `, ${scale.label}` : "") }, ...(log ? logTicks(values.map((value) => value / scale.divisor)) : {}) },
      yaxis: {
        tickvals: candidates.map((_, at) => at), autorange: false, range: [candidates.length - 0.4, -0.6], zeroline: false, showgrid: true,
        ticktext: candidates.map((candidate) => safe(short(data.candidates[candidate].name, narrow() ? 14 : 28))),
      },
    }),
  };
}

// What went on within a phase: data not yet written, the rate of the device, its queue; one trial of each candidate.
function courseChart(kind, phase) {
  const found = data.courses.filter((course) => course.phase === phase && course[kind].length > 1 && chosen.has(course.candidate));
  const unit = { unwritten: "B", rate: "B/s", queue: "1" }[kind];
  const scale = scaleFor(unit, found.map((course) => Math.max(...course[kind].map((point) => point[1]))));
  return {
    log: false,
    traces: found.map((course) => ({
      name: safe(short(data.candidates[course.candidate].name, narrow() ? 14 : 28)), type: "scatter", mode: "lines",
      x: course[kind].map((point) => point[0]), y: course[kind].map((point) => point[1] / scale.divisor),
      text: course[kind].map((point) => `<b>${safe(data.candidates[course.candidate].name)}</b><br>after ${withUnit(point[0], "s")}: ${withUnit(point[1], unit)}`),
      hovertemplate: "%{text}<extra></extra>",
      line: { color: hue(course.candidate), dash: dash(course.candidate), width: 1.6 },
    })),
    layout: layout({
      height: narrow() ? 340 : 360, several: found.length,
      xaxis: { title: { text: "seconds since the phase began, one trial each" }, rangemode: "tozero" },
      yaxis: { title: { text: { unwritten: "not yet written, ", rate: "device, ", queue: "requests inside" }[kind] + scale.label }, rangemode: "tozero" },
    }),
  };
}

// Latency by percentile; the axis is one call in so many, so that the slow tail has room.
function latencyChart(state, phase, call) {
  const found = data.latency.filter((curve) => curve.phase === phase && curve.call === call && chosen.has(curve.candidate) && data.candidates[curve.candidate].measured);
  const scale = scaleFor("s", found.flatMap((curve) => curve.curve.map((point) => point[1])));
  const log = state.log === null ? true : state.log;
  const ticks = [[2, "median"], [10, "90%"], [100, "99%"], [1000, "99.9%"], [1e4, "99.99%"], [1e6, "99.9999%"]];
  return {
    log,
    traces: found.map((curve) => ({
      name: safe(short(data.candidates[curve.candidate].name, narrow() ? 14 : 28)), type: "scatter", mode: "lines+markers",
      x: curve.curve.map((point) => point[0]), y: curve.curve.map((point) => point[1] / scale.divisor),
      text: curve.curve.map((point) => `<b>${safe(data.candidates[curve.candidate].name)}</b><br>1 in ${digits(point[0])} calls took longer than ${withUnit(point[1], "s")}<br>${curve.calls.toLocaleString("en")} calls`),
      hovertemplate: "%{text}<extra></extra>",
      line: { color: hue(curve.candidate), dash: dash(curve.candidate), width: 1.8 },
      marker: { symbol: symbol(curve.candidate), size: 5, color: hue(curve.candidate) },
    })),
    layout: layout({
      height: narrow() ? 380 : 400, several: found.length,
      xaxis: { type: "log", tickvals: ticks.map((tick) => tick[0]), ticktext: ticks.map((tick) => tick[1]), title: { text: "this share of the calls was faster" } },
      yaxis: { type: log ? "log" : "linear", rangemode: "tozero", title: { text: scale.label }, ...(log ? logTicks(found.flatMap((curve) => curve.curve.map((point) => point[1] / scale.divisor))) : {}) },
    }),
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
    log,
    traces: [...shown].map((candidate) => {
      const own = points.filter((point) => point.trial.c === candidate);
      return {
        name: safe(short(data.candidates[candidate].name, narrow() ? 14 : 28)), type: "scatter", mode: "markers",
        x: own.map((point) => point.trial.t / divisor), y: own.map((point) => point.value / typical.get(candidate)),
        text: own.map((point) => `<b>${safe(data.candidates[candidate].name)}</b>, block ${point.trial.b}${point.trial.s === "discarded" ? ", thrown out" : ""}<br>${withUnit(point.value, data.metrics[metricAt.get(data.goal)].unit)}, ${digits(point.value / typical.get(candidate))}× its median`),
        hovertemplate: "%{text}<extra></extra>",
        marker: { size: 7, color: hue(candidate), symbol: own.map((point) => symbol(candidate) + (point.trial.s === "discarded" ? "-open" : "")) },
      };
    }),
    layout: layout({
      height: narrow() ? 380 : 400, several: shown.size,
      xaxis: { title: { text: `${label} since the run began` }, rangemode: "tozero" },
      yaxis: { type: log ? "log" : "linear", title: { text: "× its own median" }, ...(log ? logTicks(points.map((point) => point.value / typical.get(point.trial.c))) : {}) },
      shapes: [...borders.values()].map((at) => ({ type: "line", x0: at / divisor, x1: at / divisor, y0: 0, y1: 1, yref: "paper", line: { color: css("--soft"), width: 1, dash: "dot" }, layer: "below" })),
    }),
  };
}

// Time for the goal against a cost. A name for who is best in just these two; what lies below and left of them is free.
function tradeoffChart(cost) {
  const behind = new Map(data.report.verdict.ranking.map((rank) => [rank.candidate, rank.behind || { point: 1, low: null, high: null }]));
  const numbers = new Map(data.candidates.map((candidate, at) => [candidate.name, at]));
  const found = data.report.verdict.tradeoffs.filter((one) => one[cost] && one[cost].point > 0 && chosen.has(numbers.get(one.candidate)));
  const unit = cost === "cpu" ? "s" : "B";
  const scale = scaleFor(unit, found.map((one) => one[cost].point));
  const ends = (own, value, color) => ({
    type: "data", symmetric: false, color, thickness: 1, width: 0,
    array: own.map((one) => { const { point, high } = value(one); return high === null ? 0 : high - point; }),
    arrayminus: own.map((one) => { const { point, low } = value(one); return low === null ? 0 : point - low; }),
  });
  const time = (one) => behind.get(one.candidate);
  const price = (one) => { const part = (value) => value === null ? null : value / scale.divisor; return { point: part(one[cost].point), low: part(one[cost].low), high: part(one[cost].high) }; };
  const all = found.map((one) => time(one).point);
  const log = Math.max(...all) > 3;
  let least = Infinity;
  const front = new Set([...found].sort((one, other) => time(one).point - time(other).point)
    .filter((one) => one[cost].point < 0.95 * least && (least = one[cost].point, true)));
  const range = (own, mode, color, open) => ({
    type: "scatter", mode, x: own.map((one) => time(one).point), y: own.map((one) => price(one).point),
    error_x: ends(own, time, color), error_y: ends(own, price, color), cliponaxis: false,
    text: own.map((one) => front.has(one) ? safe(short(one.candidate, 18)) : ""), textposition: "bottom left", textfont: { size: 11 },
    customdata: own.map((one) => `<b>${safe(one.candidate)}</b><br>${digits(time(one).point)}× the leader's time<br>${withUnit(one[cost].point, unit)}` + (one.beaten_by ? `<br>beaten by ${safe(one.beaten_by)}` : "<br>in the Pareto set")),
    hovertemplate: "%{customdata}<extra></extra>",
    marker: { size: open ? 7 : 9, color, symbol: open ? "circle-open" : "circle" },
  });
  const set = found.filter((one) => !one.beaten_by);
  return {
    log,
    traces: [range(found.filter((one) => one.beaten_by), "markers", css("--soft"), true), range(set, "markers+text", css("--cool"), false)],
    layout: layout({
      height: 300, showlegend: false,
      xaxis: { type: log ? "log" : "linear", title: { text: "× the leader's time" }, zeroline: false, ...(log ? logTicks(all) : {}), ...left(all, log) },
      yaxis: { title: { text: scale.label }, rangemode: "tozero" },
    }),
  };
}

// Room for names to the left of the leader.
function left(all, log) {
  const most = Math.max(1.2, ...all);
  return { range: log ? [-0.45 * Math.log10(most), 1.1 * Math.log10(most)] : [1 - 0.6 * (most - 1), most + 0.1 * (most - 1)] };
}

// Time until durable against time until returned, a colour for each phase.
function bufferedChart() {
  const points = [...data.phases.keys()].filter((phase) => data.phases[phase].headline).map((phase) => ({
    phase,
    own: visible().map((candidate) => ({ candidate, returned: estimate(candidate, phase, "returned"), durable: estimate(candidate, phase, "durable") }))
      .filter(({ returned, durable }) => returned && durable && returned.point > 0),
  })).filter(({ own }) => own.length);
  const durables = points.flatMap(({ own }) => own.map(({ durable }) => durable.point));
  const times = durables.concat(points.flatMap(({ own }) => own.map(({ returned }) => returned.point)));
  const [least, most] = [Math.min(...durables), Math.max(...durables)];
  const axis = { type: "log", ...logTicks(times), zeroline: false };
  return {
    log: true,
    traces: [{ type: "scatter", mode: "lines", x: [least, most], y: [least, most], hoverinfo: "skip", showlegend: false, line: { color: css("--soft"), width: 1, dash: "dot" } },
      ...points.map(({ phase, own }) => ({
        name: safe(short(data.phases[phase].name, 20)), type: "scatter", mode: "markers",
        x: own.map(({ returned }) => returned.point), y: own.map(({ durable }) => durable.point),
        text: own.map(({ candidate, returned, durable }) => `<b>${safe(data.candidates[candidate].name)}</b>, ${safe(data.phases[phase].name)}<br>returned after ${withUnit(returned.point, "s")}, durable after ${withUnit(durable.point, "s")}: ${digits(durable.point / returned.point)}×`),
        hovertemplate: "%{text}<extra></extra>",
        marker: { size: 8, color: hue(phase), symbol: symbol(phase), opacity: 0.8 },
      }))],
    layout: layout({
      height: 360, several: points.length,
      xaxis: { ...axis, title: { text: "returned, s" } }, yaxis: { ...axis, title: { text: "durable, s" } },
    }),
  };
}
