"use strict";
// Starts the charts and ties them to their controls: linear or logarithmic, which metric, which candidates; saving.
const figures = [...document.querySelectorAll("figure.chart")].map((figure) => ({
  figure,
  kind: figure.dataset.chart,
  phase: figure.dataset.phase === undefined ? null : Number(figure.dataset.phase),
  call: figure.dataset.call,
  state: { log: null, metric: null, phase: "all" },
  hidden: new Set(),
}));

// What is shown over the time of a phase, by the word on its button.
const courses = { "progress": "work", "unwritten data": "unwritten", "device": "rate", "queue": "queue" };

function built({ kind, phase, call, state }) {
  if (kind === "phase" && courses[state.metric]) return courseChart(courses[state.metric], phase);
  if (kind === "phase") return phaseChart(state, phase);
  if (kind === "tradeoff") return tradeoffChart(call);
  if (kind === "buffered") return bufferedChart();
  if (kind === "latency") return latencyChart(state, phase, call);
  return driftChart(state);
}

function draw(chart) {
  const plot = chart.figure.querySelector(".plot");
  width = plot.clientWidth || 1000;
  const drawn = built(chart);
  // The axis that can be either way.
  const log = Boolean(chart.kind === "phase" ? drawn.x.log : drawn.y.log);
  chart.bar.querySelectorAll("[data-log]").forEach((button) =>
    button.setAttribute("aria-pressed", String((button.dataset.log === "true") === log)));
  drawChart(plot, drawn, chart.hidden);
  chart.drawnFor = width;
  chart.figure.dataset.drawn = String(drawn.series.length);
}

// A row of buttons of which one is pressed.
function group(label, options, onPick) {
  const box = make("span", { class: "group", role: "group", "aria-label": label });
  for (const { text, pressed, key, value } of options) {
    const button = make("button", { type: "button", "aria-pressed": String(pressed) }, text);
    if (key) button.dataset[key] = value;
    button.addEventListener("click", () => {
      box.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      onPick(value);
    });
    box.append(button);
  }
  return box;
}

function addControls(chart) {
  const bar = make("div", { class: "controls" });
  if (chart.kind === "phase") {
    const has = (metric) => metricAt.has(metric) && data.candidates.some((_, candidate) => estimate(candidate, chart.phase, metric));
    const metrics = [...new Set([has("durable") ? "durable" : data.goal, data.goal, "throughput", "file_rate"])].filter(has);
    metrics.push(...Object.keys(courses).filter((word) => data.courses.some((course) => course.phase === chart.phase && course[courses[word]].length > 1)));
    chart.state.metric = metrics[0];
    const words = { durable: "time", throughput: "throughput", file_rate: "files/s" };
    if (metrics.length > 1) {
      bar.append(group("what to show", metrics.map((metric, at) => ({ text: words[metric] || metric, pressed: at === 0, value: metric })), (metric) => {
        chart.state.metric = metric;
        chart.state.log = null;
        draw(chart);
      }));
    }
  }
  if (chart.kind === "drift") {
    const pick = make("select", { "aria-label": "which phase" }, make("option", { value: "all" }, "all phases of the goal"));
    data.phases.forEach((phase, at) => pick.append(make("option", { value: String(at) }, phase.name)));
    pick.addEventListener("change", () => { chart.state.phase = pick.value; draw(chart); });
    bar.append(pick);
  }
  if (chart.kind !== "tradeoff" && chart.kind !== "buffered") bar.append(group("axis", [
    { text: "linear", pressed: false, key: "log", value: false },
    { text: "log", pressed: false, key: "log", value: true },
  ], (log) => { chart.state.log = log; draw(chart); }));
  chart.bar = bar;
  const head = chart.figure.parentElement.querySelector(".head");
  if (head) head.append(bar); else chart.figure.prepend(bar);
}

// The candidates to be shown, for the whole page.
function addChooser() {
  const measured = [...data.candidates.keys()].filter((candidate) => data.candidates[candidate].measured);
  const phases = document.getElementById("phases");
  if (measured.length < 2 || !phases) return;
  const title = make("summary");
  const chips = make("div", { class: "chips" });
  const label = () => { title.textContent = chosen.size === data.candidates.length ? `Candidates: all ${measured.length} shown` : `Candidates: ${measured.filter((one) => chosen.has(one)).length} of ${measured.length} shown`; };
  const boxes = [];
  const apply = () => {
    label();
    document.querySelectorAll("[data-candidate]").forEach((row) => { row.hidden = !chosen.has(Number(row.dataset.candidate)); });
    figures.filter((chart) => chart.figure.dataset.drawn !== undefined).forEach(draw);
  };
  const all = make("button", { type: "button" }, "All");
  const none = make("button", { type: "button" }, "None");
  const set = (on) => { measured.forEach((candidate) => on ? chosen.add(candidate) : chosen.delete(candidate)); boxes.forEach((box) => { box.checked = on; }); apply(); };
  all.addEventListener("click", () => set(true));
  none.addEventListener("click", () => set(false));
  chips.append(all, none);
  for (const candidate of measured) {
    const box = make("input", { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => { box.checked ? chosen.add(candidate) : chosen.delete(candidate); apply(); });
    boxes.push(box);
    chips.append(make("label", {}, box, data.candidates[candidate].name));
  }
  label();
  phases.before(make("details", { class: "chooser" }, title, chips));
}

function saved(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function addSaving(csv) {
  document.querySelectorAll(".downloads").forEach((place) => { place.hidden = false; });
  const name = data.report.run.id.replace(/[^\w.-]+/g, "_") || "run";
  document.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", () =>
    button.dataset.save === "csv" ? saved(`${name}.csv`, "text/csv", csv) : saved(`${name}.json`, "application/json", JSON.stringify(data.report, null, 2))));
}

function addSwitch() {
  document.querySelectorAll("[data-absolute]").forEach((button) => {
    button.parentElement.hidden = false;
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      document.querySelector("table.picture").classList.toggle("absolutely", on);
    });
  });
}

async function start() {
  addSwitch();
  addChooser();
  const csv = await unpacked("csv");
  data.trials = trialsOf(rowsOf(csv));
  addSaving(csv);
  if (!figures.length) { document.documentElement.dataset.ready = "0"; return; }
  for (const chart of figures) {
    addControls(chart);
    draw(chart);
    // Between charts the page stays usable.
    await new Promise((done) => setTimeout(done, 0));
  }
  const resized = new ResizeObserver(() => figures.forEach((chart) => {
    if (chart.figure.querySelector(".plot").clientWidth !== chart.drawnFor && chart.figure.clientWidth) draw(chart);
  }));
  resized.observe(document.querySelector("main"));
  // What limits the verdict goes onto paper with it.
  addEventListener("beforeprint", () => document.querySelectorAll(".cautions").forEach((fold) => { fold.open = true; }));
  document.documentElement.dataset.ready = String(figures.length);
}

start().catch((error) => {
  trouble(error);
  document.querySelectorAll(".waiting").forEach((place) => {
    place.className = "trouble";
    place.textContent = `The chart could not be drawn: ${error.message}.`;
  });
});
