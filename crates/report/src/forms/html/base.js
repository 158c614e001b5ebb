"use strict";
// What every part of the page uses: the data, names made fit for a line, numbers with units, unpacking the CSV.
const data = JSON.parse(document.getElementById("data").textContent);
const estimates = new Map(data.report.estimates.map((found) =>
  [JSON.stringify([found.candidate, found.phase, found.metric]), found]));
const metricAt = new Map(data.metrics.map((metric, at) => [metric.name, at]));
const chosen = new Set(data.candidates.keys());

const estimate = (candidate, phase, metric) =>
  estimates.get(JSON.stringify([data.candidates[candidate].name, data.phases[phase].name, metric]));

// A foreign name in one line, without what would turn or hide the text around it.
const safe = (text) => String(text).replace(/\s+/g, " ")
  .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f]/g, "·");
const short = (text, length) => text.length > length ? text.slice(0, length - 1) + "…" : text;

const scales = {
  "s": [[1e-6, "µs"], [1e-3, "ms"], [1, "s"], [60, "min"]],
  "B": [[1, "B"], [1024, "KiB"], [1048576, "MiB"], [1073741824, "GiB"]],
  "B/s": [[1, "B/s"], [1e3, "kB/s"], [1e6, "MB/s"], [1e9, "GB/s"]],
  "1/s": [[1, "1/s"]],
};
// One unit for numbers that stand together: the largest in which their geometric middle is not small.
function scaleFor(unit, values) {
  const steps = scales[unit] || [[1, ""]];
  const usable = values.filter((value) => value > 0);
  if (!usable.length) return { divisor: 1, label: unit === "s" || unit === "B" ? unit : "" };
  const middle = Math.sqrt(Math.min(...usable)) * Math.sqrt(Math.max(...usable));
  const fit = steps.filter(([divisor, label]) => middle >= divisor * (label === "min" ? 20 : 0.5)).pop() || steps[0];
  return { divisor: fit[0], label: fit[1] };
}
const digits = (value) => value === 0 ? "0" : Number(value.toPrecision(value >= 1000 ? 4 : 3)).toLocaleString("en", { maximumSignificantDigits: 4 });
const withUnit = (value, unit) => {
  const scale = scaleFor(unit, [value]);
  return digits(value / scale.divisor) + (scale.label ? " " + scale.label : "");
};
const median = (values) => {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};
// A trial's value of a metric in a phase.
function valueOf(trial, phase, metric) {
  const found = trial.o.find((observation) => observation[0] === phase);
  const value = found && found[1][metricAt.get(metric)];
  return value === undefined ? null : value;
}

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function trouble(error) {
  document.documentElement.dataset.error = String(error && error.message || error);
}
window.addEventListener("error", (event) => trouble(event.error || event.message));
window.addEventListener("unhandledrejection", (event) => trouble(event.reason));

// What lies compressed in the page.
async function unpacked(id) {
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack the trials; the numbers are in the tables");
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// The rows of the CSV (RFC 4180), without its header.
function rowsOf(csv) {
  const rows = [];
  let row = [];
  for (const [, field, end] of csv.matchAll(/("(?:[^"]|"")*"|[^",\n]*)(,|\n)/g)) {
    row.push(field.startsWith('"') ? field.slice(1, -1).replace(/""/g, '"') : field);
    if (end === "\n") { rows.push(row); row = []; }
  }
  return rows;
}

// Each trial: candidate, block, attempt, when it began, standing, and by phase the values in the order of the metrics, the mean of all repetitions.
function trialsOf([header, ...rows]) {
  const [PHASE, REPETITION, METRIC, VALUE, STATUS] = ["phase", "repetition", "metric", "value", "status"].map((name) => header.indexOf(name));
  const phaseAt = new Map(data.phases.map((phase, at) => [phase.cell, at])), ofCell = new Map(data.metrics.map((metric, at) => [metric.cell, at]));
  let from = 0;
  return data.trials.map(([c, b, a, t, many]) => {
    const own = rows.slice(from, from += many);
    const found = new Map();
    for (const row of own) {
      const phase = row[PHASE], metric = row[METRIC], value = row[VALUE], repetition = row[REPETITION];
      if (!found.has(phase)) found.set(phase, [phaseAt.get(phase), []]);
      const values = found.get(phase)[1], at = ofCell.get(metric), before = values[at] ?? 0;
      values[at] = before + (Number(value) - before) / (Number(repetition) + 1);
    }
    return { c, b, a, t, s: own.length ? own[0][STATUS] : "failed", o: [...found.values()] };
  });
}
