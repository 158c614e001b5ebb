"use strict";
// Draws one chart as SVG: axes with a grid, lines, marks with their intervals, a legend, and what is pointed at.
//
// A chart is { height, x, y, series, legend, uprights }. An axis is { log, title, ticks, zero, ends }: ticks are
// [place, text] where the caller has words for them, zero says that a linear axis begins there, ends fix it. A series is
// { name, points, mark, line, bar }, a point { x, y, tip, label, low, high, bottom, top }, in the axes' units; the first
// line of a tip stands out, and the last four are the ends of its interval. All texts stay text.

// Corners of the marks, for a radius of one.
const star = (points, inner) => [...Array(2 * points).keys()].map((at) => {
  const [angle, far] = [Math.PI * at / points, at % 2 ? inner : 1.4];
  return [far * Math.sin(angle), -far * Math.cos(angle)];
});
const plus = [[-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4], [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4]];
const corners = {
  "square": [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  "diamond": [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  "triangle-up": [[0, -1.2], [1.1, 0.7], [-1.1, 0.7]],
  "triangle-down": [[0, 1.2], [1.1, -0.7], [-1.1, -0.7]],
  "cross": plus,
  "x": plus.map(([x, y]) => [(x - y) * Math.SQRT1_2, (x + y) * Math.SQRT1_2]),
  "star": star(5, 0.55),
  "upright": [[0, -1.4], [0, 1.4]],
};
const strokes = { dash: "9 6", dot: "2 4", dashdot: "9 4 2 4", longdash: "15 6" };

function shape(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function drawnMark({ symbol, size, color, opacity, open }, x, y, name = "mark") {
  const radius = size / 2;
  const at = (along, down) => `${(x + along * radius).toFixed(1)},${(y + down * radius).toFixed(1)}`;
  const path = corners[symbol] ? `M${corners[symbol].map(([along, down]) => at(along, down)).join("L")}Z`
    : `M${at(-1, 0)}A${radius},${radius} 0 1 1 ${at(1, 0)}A${radius},${radius} 0 1 1 ${at(-1, 0)}Z`;
  const hollow = open || symbol === "upright";
  return shape("path", { class: name, d: path, opacity: opacity || 1, fill: hollow ? "none" : color, stroke: hollow ? color : "none", "stroke-width": symbol === "upright" ? 2.4 : 1.4 });
}

const drawnLine = ({ color, width, dash }, path) => shape("path", { class: "line", d: path, fill: "none", stroke: color, "stroke-width": width, "stroke-dasharray": strokes[dash] || "none" });

const pen = document.createElement("canvas").getContext("2d");
function measured(text, size) {
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// Where an axis begins and ends: with some air around the values, which `air` is a share of.
function ends(axis, values, air) {
  if (axis.ends) return axis.ends;
  let [from, to] = [Infinity, -Infinity];
  for (const value of values) {
    const at = axis.log ? Math.log10(value) : value;
    if (Number.isFinite(at)) [from, to] = [Math.min(from, at), Math.max(to, at)];
  }
  if (from > to) return axis.log ? [1, 10] : [0, 1];
  if (axis.zero && !axis.log) { from = Math.min(from, 0); to = Math.max(to, 0); }
  const wide = to - from || (axis.log ? 0.5 : Math.abs(to) || 1);
  if (to === from || !(axis.zero && !axis.log && from === 0)) from -= wide * air;
  if (to === from || !(axis.zero && !axis.log && to === 0)) to += wide * air;
  return axis.log ? [10 ** from, 10 ** to] : [from, to];
}

// About so many round places between the ends.
function even(from, to, many) {
  const rough = Math.abs(to - from) / Math.max(many, 1), unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find((times) => unit * times >= rough) || 10);
  const decimals = Math.min(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), 20);
  const first = Math.ceil(Math.min(from, to) / step - 1e-9);
  const last = Math.floor(Math.max(from, to) / step + 1e-9);
  return [...Array(last - first + 1).keys()].map((at) => (at + first) * step).map((at) => [at, String(Number(at.toFixed(decimals)))]);
}

// Ticks of a logarithmic axis at 1, 2 and 5, written in full; fewer where there are many decades, even ones within one.
function ticksOf(axis, [from, to], many) {
  if (axis.ticks) return axis.ticks;
  if (!axis.log) return even(from, to, many);
  const [first, last] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const decades = Math.log10(to / from);
  const steps = decades > 3 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let decade = first; decade <= last; decade++) for (const step of steps) ticks.push(Number((step * 10 ** decade).toPrecision(1)));
  const within = ticks.filter((tick) => tick >= from && tick <= to);
  return within.length > 1 ? within.map((tick) => [tick, String(tick)]) : even(from, to, many);
}

// From a value to its place among so many pixels.
function placing(axis, [from, to], first, last) {
  const along = axis.log ? Math.log10 : Number;
  return (value) => first + (along(value) - along(from)) / (along(to) - along(from)) * (last - first);
}

// The names of the series, each a button that leaves it out. Above the plot while there are few; many stand beside it and
// scroll, or on a phone only in what a touch shows.
function legendOf(chart, hidden, isNarrow, repaint) {
  const named = chart.series.filter((series) => series.name);
  const isMany = named.length > 8;
  if (!chart.legend || !named.length || isMany && isNarrow) return null;
  const buttons = new Map();
  const apply = () => {
    for (const [name, button] of buttons) button.setAttribute("aria-pressed", String(!hidden.has(name)));
    repaint();
  };
  for (const { name, line, mark } of named) {
    const sample = shape("svg", { width: 28, height: 12, "aria-hidden": "true" });
    if (line) sample.append(drawnLine(line, "M0,6H28"));
    if (mark) sample.append(drawnMark(mark, 14, 6, "sample"));
    const button = make("button", { type: "button", "aria-pressed": String(!hidden.has(name)), title: "leave out or show; twice: this one alone" }, sample, name);
    button.addEventListener("click", () => { hidden.delete(name) || hidden.add(name); apply(); });
    button.addEventListener("dblclick", () => {
      const others = named.map((series) => series.name).filter((other) => other !== name);
      const isAlone = others.every((other) => hidden.has(other));
      hidden.clear();
      if (!isAlone) others.forEach((other) => hidden.add(other));
      apply();
    });
    buttons.set(name, button);
  }
  const legend = make("div", { class: isMany ? "legend many" : "legend", role: "group", "aria-label": "what is shown" }, ...buttons.values());
  if (isMany) legend.style.maxHeight = `${chart.height}px`;
  return legend;
}

// Draws a chart into its place, anew; `hidden` keeps the names of what is left out.
function drawChart(place, chart, hidden) {
  const isNarrow = (place.clientWidth || 1000) < 520;
  const drawing = make("div", { class: "drawing" });
  const legend = legendOf(chart, hidden, isNarrow, () => paint(drawing, chart, hidden, height, isNarrow ? 11 : 13));
  place.replaceChildren(...legend ? [legend] : [], drawing);
  const height = chart.height - (legend && !legend.classList.contains("many") ? legend.clientHeight : 0);
  paint(drawing, chart, hidden, height, isNarrow ? 11 : 13);
}

// `size` is that of the letters.
function paint(drawing, chart, hidden, tall, size) {
  const wide = drawing.clientWidth || 1000;
  const series = chart.series.filter((one) => !hidden.has(one.name));
  const points = series.flatMap((one) => one.points);
  const isMarked = series.some((one) => one.mark);
  const across = ends(chart.x, points.flatMap((point) => [point.x, point.low ?? point.x, point.high ?? point.x]), isMarked ? 0.04 : 0);
  const up = ends(chart.y, points.flatMap((point) => [point.y, point.bottom ?? point.y, point.top ?? point.y]), 0.06);

  const bottom = tall - 2.9 * size - 8;
  const yTicks = ticksOf(chart.y, up, bottom / 45);
  const left = Math.ceil(Math.max(0, ...yTicks.map(([, text]) => measured(text, size)))) + 10 + (chart.y.title ? 1.7 * size : 0);
  const right = Math.max(wide - 12, left + 40);
  const xTicks = ticksOf(chart.x, across, (right - left) / 80);
  const toX = placing(chart.x, across, left, right);
  const toY = placing(chart.y, up, bottom, 8);
  const isAcross = (at) => at >= left - 0.5 && at <= right + 0.5;

  const grid = shape("g", { class: "grid" });
  const xAxis = shape("g", { class: "x axis" });
  const yAxis = shape("g", { class: "y axis" });
  let free = -Infinity;
  for (const [at, text] of xTicks) {
    const x = toX(at), half = measured(text, size) / 2;
    if (!isAcross(x)) continue;
    grid.append(shape("path", { d: `M${x.toFixed(1)},8V${bottom}` }));
    // What would run into its neighbour, or out of the drawing, is left out.
    if (x - half < free || x + half > wide) continue;
    free = x + half + 6;
    xAxis.append(shape("text", { x: x.toFixed(1), y: bottom + 1.3 * size, "text-anchor": "middle" }, text));
  }
  for (const [at, text] of yTicks) {
    const y = toY(at);
    if (y < 7.5 || y > bottom + 0.5) continue;
    grid.append(shape("path", { d: `M${left},${y.toFixed(1)}H${right}` }));
    yAxis.append(shape("text", { x: left - 6, y: (y + 0.35 * size).toFixed(1), "text-anchor": "end" }, text));
  }
  for (const at of chart.uprights || []) if (isAcross(toX(at))) grid.append(shape("path", { class: "upright", d: `M${toX(at).toFixed(1)},8V${bottom}` }));
  if (chart.x.title) xAxis.append(shape("text", { x: (left + right) / 2, y: bottom + 2.8 * size, "text-anchor": "middle" }, chart.x.title));
  if (chart.y.title) yAxis.append(shape("text", { transform: `translate(${size},${(bottom + 8) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y.title));

  const shown = shape("g", { class: "series" });
  const targets = [];
  for (const one of series) {
    const places = one.points.map((point) => ({ point, x: toX(point.x), y: toY(point.y) })).filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
    if (one.line && places.length) shown.append(drawnLine(one.line, `M${places.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L")}`));
    if (one.bar) for (const { point, x, y } of places) shown.append(drawnBar(one.bar, point, x, y, toX, toY));
    for (const { point, x, y } of places) {
      if (one.mark) shown.append(drawnMark({ ...one.mark, open: one.mark.open || point.open }, x, y));
      if (point.label) shown.append(shape("text", { x: (x - 5).toFixed(1), y: (y + 14).toFixed(1), "text-anchor": "end", "font-size": 11 }, point.label));
      if (point.tip) targets.push({ tip: point.tip, x, y });
    }
  }
  const svg = shape("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, "font-size": size }, grid, xAxis, yAxis, shown);
  drawing.replaceChildren(svg);
  pointing(drawing, svg, targets);
}

// An interval: across, upright, or both; with caps where they are wanted.
function drawnBar({ color, width, cap }, { low, high, bottom, top }, x, y, toX, toY) {
  let path = "";
  if (high > low) {
    const [from, to] = [toX(low), toX(high)];
    path += `M${from.toFixed(1)},${y.toFixed(1)}H${to.toFixed(1)}`;
    if (cap) for (const end of [from, to]) path += `M${end.toFixed(1)},${(y - cap).toFixed(1)}v${2 * cap}`;
  }
  if (top > bottom) path += `M${x.toFixed(1)},${toY(bottom).toFixed(1)}V${toY(top).toFixed(1)}`;
  return shape("path", { d: path, fill: "none", stroke: color, "stroke-width": width });
}

// Shows the tip of what is nearest to the pointer, or to a touch.
function pointing(drawing, svg, targets) {
  const tip = make("div", { class: "tip", hidden: "" });
  drawing.append(tip);
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let nearest = null, least = 20;
    for (const target of targets) {
      const far = Math.hypot(target.x - x, target.y - y);
      if (far < least) { nearest = target; least = far; }
    }
    tip.hidden = !nearest;
    if (!nearest) return;
    const [first, ...more] = nearest.tip;
    tip.replaceChildren(make("b", {}, first), ...more.map((line) => make("div", {}, line)));
    tip.style.left = `${Math.max(0, Math.min(nearest.x + 10, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${nearest.y - tip.offsetHeight - 8 < 0 ? nearest.y + 12 : nearest.y - tip.offsetHeight - 8}px`;
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
