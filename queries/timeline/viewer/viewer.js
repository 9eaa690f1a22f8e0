"use strict";
const byId = (id) => document.getElementById(id);
const dumps = JSON.parse(byId("data").textContent).dumps;
const canvas = byId("canvas"), pen = canvas.getContext("2d"), find = byId("find");
const ROW = 18, HEAD = 20, AXIS = 22, TALLEST = 32000, FONT = "12px system-ui, sans-serif";
let isFlame = false, view = [0, 1], whole = [0, 1], rows = [], boxes = [], picked = null, height = 0;

function durationText(ns) {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
    if (Math.abs(ns) >= size * 0.99995) return `${(ns / size).toPrecision(4)} ${unit}`;
  return `${Math.round(ns)} ns`;
}
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`); }
function matches(name) { const text = find.value.toLowerCase(); return text !== "" && name.toLowerCase().includes(text); }

// A row of boxes: [start, length, kind, name, details].
function timelineRows() {
  let top = AXIS, end = 1;
  rows = [];
  for (const dump of dumps) {
    rows.push({ top, title: dump.note ? `${dump.label} (${dump.note})` : dump.label });
    top += HEAD;
    for (const track of dump.tracks) {
      rows.push({ top, title: track.name, isDim: true });
      top += HEAD;
      let depth = 0;
      for (let i = 0; i < track.start.length; i++) {
        depth = Math.max(depth, track.depth[i]);
        end = Math.max(end, track.start[i] + Math.max(0, track.length[i]));
      }
      rows.push({ top, dump, track, depth });
      top += (depth + 1) * ROW + 8;
    }
    for (const [run, at] of dump.failed) rows.push({ top: top - 8, at, title: `run ${run} failed` });
    if (dump.failed.length) top += HEAD;
  }
  whole = [0, end]; height = top + 4;
}
function flameRows() {
  let top = AXIS, most = 1;
  rows = [];
  for (const dump of dumps) most = Math.max(most, dump.flame[1]);
  for (const dump of dumps) {
    const track = { start: [], length: [], depth: [], event: [], run: [] };
    const events = [];
    let deepest = 0;
    const add = (frame, start, depth, path) => {
      deepest = Math.max(deepest, depth);
      track.start.push(start); track.length.push(frame[1]); track.depth.push(depth);
      track.event.push(events.length); track.run.push(null);
      const share = `${(100 * frame[1] / dump.flame[1]).toPrecision(3)} %`;
      events.push({ name: frame[0], kind: depth === 0 ? "method" : frame[2].length ? "delegate_call" : "kernel",
        details: { share, stack: path.join(" > ") } });
      let at = start;
      for (const child of frame[2]) { add(child, at, depth + 1, [...path, child[0]]); at += child[1]; }
    };
    if (dump.flame[1]) add(dump.flame, 0, 0, []);
    rows.push({ top, dump: { events, label: dump.label }, track, depth: deepest });
    top += (deepest + 1) * ROW + 12;
  }
  whole = [0, most]; height = top + 4;
}
function x(time) { return (time - view[0]) / (view[1] - view[0]) * canvas.clientWidth; }
function clip(text, width) {
  if (pen.measureText(text).width <= width) return text;
  let most = Math.max(0, Math.floor(width / 6));
  while (most > 1 && pen.measureText(`${text.slice(0, most)}…`).width > width) most--;
  return most > 1 ? `${text.slice(0, most)}…` : "";
}
function draw() {
  const width = canvas.clientWidth, tall = Math.min(height, TALLEST), ratio = Math.min(devicePixelRatio || 1, TALLEST / tall);
  byId("cut").hidden = height <= TALLEST; // a canvas that is taller is blank
  canvas.style.height = `${tall}px`;
  canvas.width = width * ratio; canvas.height = tall * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = FONT; pen.textBaseline = "middle"; pen.fillStyle = colour("page");
  pen.fillRect(0, 0, width, tall);
  const fills = {};
  for (const kind of ["kernel", "operator_call", "delegate_call", "delegate_op", "delegate_phase", "method", "load", "control", "other"]) fills[kind] = colour(kind);
  const ink = colour("ink"), text = ink, dim = colour("soft"), wrong = colour("act"), focus = colour("accent");
  boxes = [];
  let count = 0, total = 0;
  for (const row of rows) {
    if (!row.track) {
      pen.fillStyle = row.at === undefined ? (row.isDim ? dim : text) : wrong;
      const left = row.at === undefined ? 4 : Math.max(4, x(row.at));
      pen.fillText(row.at === undefined ? row.title : `◆ ${row.title}`, left, row.top + HEAD / 2);
      continue;
    }
    const { track, dump } = row, last = [];
    for (let i = 0; i < track.start.length; i++) {
      const event = dump.events[track.event[i]], length = Math.max(0, track.length[i]);
      const isFound = matches(event.name);
      if (isFound) { count++; total += length; }
      const left = x(track.start[i]), right = x(track.start[i] + length), depth = track.depth[i];
      if (right < 0 || left > width) continue;
      const isPicked = picked !== null && picked.track === track && picked.i === i;
      if (!isPicked && !isFound && right < (last[depth] ?? -1) + 0.5) continue; // on the same pixel
      last[depth] = Math.max(left + 0.5, right);
      const top = row.top + depth * ROW, from = Math.max(0, left), to = Math.min(width, Math.max(right, left + 0.5));
      pen.globalAlpha = find.value && !isFound ? 0.35 : 1;
      pen.fillStyle = track.length[i] < 0 ? wrong : fills[event.kind] || fills.other;
      pen.fillRect(from, top, Math.max(track.length[i] < 0 ? 2 : 0.5, to - from - (to - from > 3 ? 0.5 : 0)), ROW - 1);
      if (to - from > 24) { pen.fillStyle = ink; pen.fillText(clip(event.name, to - from - 8), from + 4, top + ROW / 2); }
      pen.globalAlpha = 1;
      if (isPicked) { pen.strokeStyle = focus; pen.lineWidth = 2; pen.strokeRect(from + 1, top + 1, Math.max(2, to - from - 2), ROW - 3); }
      boxes.push({ from, to: Math.max(to, from + 2), top, track, dump, i });
    }
  }
  axis(width, dim);
  byId("found").textContent = find.value ? `${count} found, ${durationText(total)}` : "";
  const what = isFlame ? "Flame graph" : "Timeline";
  canvas.setAttribute("aria-label", `${what} of ${dumps.map((dump) => dump.label).join(", ")}`);
}
function axis(width, dim) {
  const span = view[1] - view[0], rough = span / Math.max(2, width / 110);
  const power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
  pen.fillStyle = dim; pen.strokeStyle = dim; pen.lineWidth = 0.5;
  for (let time = Math.ceil(view[0] / step) * step; time <= view[1]; time += step) {
    const at = x(time);
    pen.globalAlpha = 0.3; pen.beginPath(); pen.moveTo(at, AXIS - 4); pen.lineTo(at, height); pen.stroke(); pen.globalAlpha = 1;
    pen.fillText(durationText(time), at + 2, 10);
  }
}
function pick(one) {
  picked = one;
  const panel = byId("details");
  panel.replaceChildren();
  if (one === null) { const line = document.createElement("p"); line.textContent = "Nothing is selected."; panel.append(line); draw(); return; }
  const event = one.dump.events[one.track.event[one.i]], length = one.track.length[one.i];
  const heading = document.createElement("h2"), list = document.createElement("dl");
  heading.textContent = event.name;
  const details = { duration: length < 0 ? "impossible" : durationText(length) };
  if (!isFlame) Object.assign(details, { start: durationText(one.track.start[one.i]), kind: event.kind, run: one.track.run[one.i], dump: one.dump.label });
  for (const [name, value] of Object.entries({ ...details, ...event.details })) {
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name.replaceAll("_", " "); text.textContent = value;
    list.append(term, text);
  }
  panel.append(heading, list);
  draw();
}
function show(from, to) {
  const most = whole[1] - whole[0], least = Math.max(10, whole[1] * 2 ** -44); // finer than that doubles are not
  const span = Math.min(Math.max(to - from, least), most);
  const start = Math.min(Math.max(from, whole[0]), whole[1] - span);
  view = [start, start + span];
  draw();
}
function zoom(factor, at) {
  const middle = view[0] + (view[1] - view[0]) * at;
  show(middle - (middle - view[0]) * factor, middle + (view[1] - middle) * factor);
}
function zoomToPicked() {
  if (picked === null) return;
  const start = picked.track.start[picked.i], length = Math.max(10, picked.track.length[picked.i]);
  show(start - length * 0.02, start + length * 1.02);
}
function neighbour(across, down) {
  const first = rows.find((row) => row.track && row.track.start.length);
  if (picked === null) return first ? { track: first.track, dump: first.dump, i: 0 } : null;
  const { track, dump, i } = picked, depth = track.depth[i] + down;
  if (across) {
    for (let j = i + across; j >= 0 && j < track.start.length; j += across)
      if (track.depth[j] === depth) return { track, dump, i: j };
    return picked;
  }
  const order = down < 0 ? -1 : 1;
  for (let j = i + order; j >= 0 && j < track.start.length; j += order)
    if (track.depth[j] === depth) return { track, dump, i: j };
  const tracks = rows.filter((row) => row.track && row.track.start.length), at = tracks.findIndex((row) => row.track === track) + order;
  return tracks[at] ? { track: tracks[at].track, dump: tracks[at].dump, i: 0 } : picked;
}
function turn(flame) {
  isFlame = flame;
  byId("flame").setAttribute("aria-pressed", String(flame));
  byId("timeline").setAttribute("aria-pressed", String(!flame));
  (flame ? flameRows : timelineRows)();
  view = whole.slice();
  pick(null);
}
const KEYS = {
  w: () => zoom(0.6, 0.5), "+": () => zoom(0.6, 0.5), s: () => zoom(1 / 0.6, 0.5), "-": () => zoom(1 / 0.6, 0.5),
  a: () => show(view[0] - (view[1] - view[0]) * 0.2, view[1] - (view[1] - view[0]) * 0.2),
  d: () => show(view[0] + (view[1] - view[0]) * 0.2, view[1] + (view[1] - view[0]) * 0.2),
  0: () => show(...whole), Escape: () => { show(...whole); pick(null); }, Enter: zoomToPicked,
  ArrowLeft: () => pick(neighbour(-1, 0)), ArrowRight: () => pick(neighbour(1, 0)),
  ArrowUp: () => pick(neighbour(0, -1)), ArrowDown: () => pick(neighbour(0, 1)),
  f: () => turn(!isFlame), "/": () => find.focus(),
};
document.addEventListener("keydown", (event) => {
  if (event.target === find || event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Escape") canvas.focus();
    return;
  }
  if (event.target instanceof HTMLButtonElement && event.key === "Enter") return;
  const act = KEYS[event.key];
  if (act) { event.preventDefault(); act(); }
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / canvas.clientWidth);
}, { passive: false });
let grabbed = null;
canvas.addEventListener("pointerdown", (event) => { grabbed = { at: event.offsetX, view: view.slice(), moved: false }; });
addEventListener("pointerup", () => { setTimeout(() => { grabbed = null; }, 0); });
canvas.addEventListener("pointermove", (event) => {
  if (grabbed === null || Math.abs(event.offsetX - grabbed.at) < 4 && !grabbed.moved) return;
  grabbed.moved = true;
  const shift = (grabbed.at - event.offsetX) / canvas.clientWidth * (grabbed.view[1] - grabbed.view[0]);
  show(grabbed.view[0] + shift, grabbed.view[1] + shift);
});
canvas.addEventListener("click", (event) => {
  if (grabbed !== null && grabbed.moved) return;
  const hit = boxes.findLast((box) => event.offsetX >= box.from && event.offsetX <= box.to && event.offsetY >= box.top && event.offsetY < box.top + ROW);
  pick(hit ? { track: hit.track, dump: hit.dump, i: hit.i } : null);
});
canvas.addEventListener("dblclick", zoomToPicked);
byId("timeline").addEventListener("click", () => turn(false));
byId("flame").addEventListener("click", () => turn(true));
byId("reset").addEventListener("click", () => show(...whole));
find.addEventListener("input", draw);
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
turn(false);
