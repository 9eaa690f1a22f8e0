"use strict";
// Line charts become interactive: uPlot draws the values that the SVG has in its data attributes.
const DARK = matchMedia("(prefers-color-scheme: dark)");
const PEN = "12px system-ui, sans-serif", HEIGHT = 260, OVERVIEW = 44, NEAR = 24;

// Size and name of the unit in which a value is shown.
function unitOf(value, unit) {
  if (unit === "share" || unit === "change") return [0.01, "%"];
  if (unit !== "ns") return [1, unit === "count" ? "" : unit];
  for (const pair of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) if (Math.abs(value) >= pair[0] * 0.99995) return pair;
  return [1, "ns"];
}
function valueText(value, unit) {
  if (value === null) return "no data";
  if (unit === "change" && value > 10) return `× ${Number((1 + value).toPrecision(3)).toLocaleString("en")}`;
  const [size, name] = unitOf(value, unit), digits = (value / size).toPrecision(4);
  return `${size > 1 ? digits : Number(digits).toLocaleString("en")} ${name}`.trim();
}
function tickTexts(ticks, unit) {
  const [size, name] = unitOf(Math.max(...ticks.map(Math.abs)), unit);
  const text = (tick) => Number((tick / size).toPrecision(10)).toLocaleString("en", { maximumFractionDigits: 9 });
  return ticks.map((tick) => `${text(tick)} ${name}`.trim());
}
function logTicks(low, high) {
  const ticks = (factors) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const factor of factors) found.push(factor * 10 ** power);
    return found.filter((tick) => low <= tick && tick <= high);
  };
  const some = [[1], [1, 5], [1, 2, 5], [1, 1.2, 1.5, 2, 3, 5, 7]].map(ticks);
  return some.find((found) => found.length > 3) || some[3];
}
function shorten(text, most) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }

// The content of a figure: names of builds, and for each line its points and its item in the legend.
function read(figure) {
  const picture = figure.querySelector("svg.trend");
  const columns = [...picture.querySelectorAll(".at")];
  const items = [...figure.querySelectorAll(".legend:not(.marks) > li")];
  const lines = items.map((item) => {
    const points = columns.map((column) => column.querySelector(`:scope > .${item.className}`));
    const values = (name) => points.map((point) => name in point.dataset ? Number(point.dataset[name]) : null);
    return { item, points, value: values("value"), low: values("low"), high: values("high") };
  });
  const marks = [...picture.querySelectorAll(".mark")].map((mark) => ({ at: Number(mark.dataset.at), text: mark.dataset.text, kind: mark.classList.contains("note") ? "accent" : mark.classList.contains("good") ? "good" : "act" }));
  const here = columns.findIndex((column) => column.classList.contains("here"));
  return { picture, lines, marks, here, names: columns.map((column) => column.dataset.name), unit: picture.dataset.unit, isLog: picture.dataset.scale === "log", hasZero: picture.dataset.zero === "1" };
}
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`); }
function lineColour(line) { return getComputedStyle(line.item.querySelector("b")).backgroundColor; }
function faint(line) { return lineColour(line).replace("rgb(", "rgba(").replace(")", ", .15)"); }

function series(chart, width) {
  const found = [{}], bands = [];
  for (const line of chart.lines) {
    const stroke = () => lineColour(line);
    found.push({ stroke, width, points: { show: width > 1, size: 6, fill: stroke } });
    for (let edge = 0; edge < 2; edge++) found.push({ stroke: "transparent", points: { show: false } });
    bands.push({ series: [found.length - 1, found.length - 2], fill: () => faint(line) });
  }
  return { series: found, bands };
}
function yRange(chart) {
  return (_, low, high) => {
    if (low === null) return [1, 2]; // no build of the view has a value
    if (chart.isLog) return [low / 1.05, high * 1.05];
    const margin = Math.max(0.08 * (high - low), (0.04 * Math.max(Math.abs(low), Math.abs(high)) || 1) / 2);
    return [chart.hasZero ? Math.min(0, low) : low < 0 ? low - margin : Math.max(0, low - margin), high + margin];
  };
}
function scales(chart) { return { x: { time: false }, y: { distr: chart.isLog ? 3 : 1, range: yRange(chart) } }; }
function axes(chart) {
  const look = { stroke: () => colour("soft"), grid: { stroke: () => colour("edge"), width: 1 }, font: PEN };
  const across = (plot, _, low, high) => {
    const step = Math.max(1, Math.ceil((high - low) * 96 / plot.width)), found = [];
    for (let at = Math.ceil(low); at <= high; at += step) found.push(at);
    return found;
  };
  const up = chart.isLog ? { splits: (_, __, low, high) => logTicks(low, high), filter: (_, ticks) => ticks } : {};
  const size = (_, texts) => 16 + 7 * Math.max(4, ...(texts || []).map((text) => (text || "").length));
  return [
    { ...look, grid: { show: false }, splits: across, values: (_, at) => at.map((i) => shorten(chart.names[i], 14)) },
    { ...look, ...up, size, values: (_, ticks) => tickTexts(ticks, chart.unit) },
  ];
}
function drawMarks(chart) {
  return (plot) => {
    for (const mark of chart.marks) {
      const x = plot.valToPos(mark.at, "x", true);
      if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) continue;
      plot.ctx.save();
      plot.ctx.strokeStyle = colour(mark.kind);
      plot.ctx.lineWidth = 1.5 * devicePixelRatio;
      plot.ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      plot.ctx.lineDashOffset = mark.kind === "accent" ? 4 * devicePixelRatio : 0; // beside the dashes of an alert
      plot.ctx.beginPath();
      plot.ctx.moveTo(x, plot.bbox.top); plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
      plot.ctx.stroke();
      plot.ctx.restore();
    }
  };
}

// The legend shows the values of a build, and each value leads where its point does.
function makeLegend(chart, box) {
  const place = document.createElement("p");
  place.className = "place";
  chart.lines[0].item.parentElement.before(place);
  for (const line of chart.lines) {
    line.link = document.createElement("a");
    line.link.className = "value";
    line.band = document.createElement("small");
    line.item.append(line.link, line.band);
  }
  return (at) => {
    place.textContent = [chart.names[at], ...chart.marks.filter((mark) => mark.at === at && mark.kind === "accent").map((mark) => mark.text)].join(" · ");
    const builds = document.querySelector(".note-form select[name=build]");
    if (builds) builds.selectedIndex = at;
    const texts = chart.lines.map((line) => {
      const point = line.points[at], text = valueText(line.value[at], chart.unit);
      if (point.hasAttribute("href")) line.link.href = point.getAttribute("href"); else line.link.removeAttribute("href");
      const edges = [line.low[at], line.high[at]].map((edge) => valueText(edge, chart.unit));
      line.link.textContent = text;
      line.band.textContent = line.low[at] === line.high[at] ? "" : `p10 to p90: ${edges.join(" to ")}`;
      return `${line.item.querySelector("span").textContent} ${text}`;
    });
    box.setAttribute("aria-valuenow", at);
    box.setAttribute("aria-valuetext", `${chart.names[at]}: ${texts.join("; ")}`);
  };
}
function listen(plot, chart, box, zoom) {
  let near = null; // the line that the mouse is near
  plot.hooks.setSeries = [(_, number) => {
    near = number ? chart.lines[Math.floor((number - 1) / 3)] : null;
    plot.over.classList.toggle("near", near !== null && near.points.some((point) => point.hasAttribute("href")));
  }];
  const last = chart.names.length - 1;
  const go = (wanted) => {
    const at = Math.min(last, Math.max(0, wanted)), { min, max } = plot.scales.x;
    if (at < min) zoom(at, at + max - min); else if (at > max) zoom(at - max + min, at);
    // The plot has the new scale after uPlot's own microtask.
    queueMicrotask(() => plot.setCursor({ left: plot.valToPos(at, "x"), top: plot.over.clientHeight / 2 }));
  };
  const now = () => Number(box.getAttribute("aria-valuenow"));
  const scaled = (factor) => {
    const { min, max } = plot.scales.x, at = now();
    zoom(at - (at - min) * factor, at + (max - at) * factor);
  };
  const keys = {
    ArrowLeft: () => go(now() - 1), ArrowRight: () => go(now() + 1), Home: () => go(0), End: () => go(last),
    "+": () => scaled(0.5), "-": () => scaled(2), Escape: () => zoom(0, last),
  };
  box.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  // A mouse opens the point that it is near. A finger only chooses the build: links are in the legend.
  plot.over.addEventListener("click", (event) => {
    const point = near && near.points[plot.cursor.idx];
    if (event.pointerType !== "touch" && point && point.hasAttribute("href")) location.href = point.getAttribute("href");
  });
  plot.over.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "touch") return;
    const edge = plot.over.getBoundingClientRect();
    plot.setCursor({ left: event.clientX - edge.left, top: event.clientY - edge.top });
  });
  return go;
}
function brush(overview, last, zoom) {
  const over = overview.over;
  const at = (event) => overview.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
  let start = null;
  over.addEventListener("pointerdown", (event) => { start = at(event); over.setPointerCapture(event.pointerId); });
  over.addEventListener("pointermove", (event) => { if (start !== null) zoom(Math.min(start, at(event)), Math.max(start, at(event))); });
  over.addEventListener("pointerup", (event) => { if (Math.abs(start - at(event)) < 0.5) zoom(0, last); start = null; });
  over.addEventListener("pointercancel", () => { start = null; });
}
function draw(figure) {
  const chart = read(figure), last = chart.names.length - 1;
  const box = document.createElement("div");
  box.className = "live";
  const facts = { tabindex: 0, role: "slider", "aria-label": chart.picture.getAttribute("aria-label"), "aria-valuemin": 0, "aria-valuemax": last };
  for (const [name, value] of Object.entries(facts)) box.setAttribute(name, value);
  chart.picture.before(box);
  const showValues = makeLegend(chart, box);
  const data = [chart.names.map((_, i) => i), ...chart.lines.flatMap((line) => [line.value, line.low, line.high])];
  const shown = chart.isLog ? data.map((values, i) => i ? values.map((value) => value > 0 ? value : null) : values) : data;
  const zoom = (low, high) => {
    const from = Math.max(0, low), to = Math.min(last, high);
    if (to - from >= 1) plot.setScale("x", { min: from, max: to });
  };
  const hooks = {
    draw: [drawMarks(chart), () => follow()],
    setCursor: [(self) => {
      const at = self.cursor.idx;
      if (at !== null && at !== undefined) showValues(at);
    }],
  };
  const width = () => Math.max(200, box.clientWidth);
  const common = { scales: scales(chart), legend: { show: false } };
  const plot = new uPlot({
    ...common, ...series(chart, 1.5), hooks, axes: axes(chart), width: width(), height: HEIGHT,
    cursor: { y: false, drag: { x: true, y: false }, focus: { prox: NEAR } }, focus: { alpha: 0.3 },
  }, shown, box);
  // The overview stands below the plot, and its selection is what the plot shows.
  const select = () => {
    const { min, max } = plot.scales.x, step = plot.bbox.width / devicePixelRatio / last;
    overview.setSelect({ left: min * step, width: (max - min) * step, top: 0, height: OVERVIEW }, false);
  };
  const follow = () => {
    const edges = [plot.bbox.left, plot.bbox.width, plot.width].join();
    if (edges === box.dataset.edges) { select(); return; }
    box.dataset.edges = edges;
    overview.setSize({ width: plot.width, height: OVERVIEW });
  };
  const overview = new uPlot({
    ...common, ...series(chart, 1), axes: [{ show: false }, { show: false }], width: width(), height: OVERVIEW,
    cursor: { show: false }, hooks: { draw: [select] },
    padding: [4, () => plot.width - (plot.bbox.left + plot.bbox.width) / devicePixelRatio, 4, () => plot.bbox.left / devicePixelRatio],
  }, shown, box);
  const go = listen(plot, chart, box, zoom);
  brush(overview, last, zoom);
  showValues(last);
  if (chart.here >= 0) go(chart.here);
  chart.picture.remove();
  new ResizeObserver(() => plot.setSize({ width: width(), height: HEIGHT })).observe(box);
  DARK.addEventListener("change", () => { plot.redraw(); overview.redraw(); });
}
for (const figure of document.querySelectorAll("figure.plot:has(.at[data-name] ~ .at)")) draw(figure);
