// The page of `tenon report`: one run of a model, as a graph, a table, a timeline and a roofline, in which the same layer is chosen.
const report = JSON.parse(document.getElementById("report").textContent);
const element = id => document.getElementById(id);
const {tensors, layers} = report;

// ---- texts ----
const scaled = (value, units, step) => {
  let i = 0;
  while (Math.abs(value) >= step && i + 1 < units.length) { value /= step; ++i; }
  return `${value >= 100 || i === 0 && Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3)} ${units[i]}`;
};
const bytesText = bytes => scaled(bytes, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const flopText = flop => scaled(flop, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"], 1000);
const timeText = ms => duration(1000 * ms);
const percent = part => `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)} %`;
const errorText = e => e === undefined ? "" : e === Infinity ? "∞" : e === 0 ? "0" : e.toExponential(1);
const shapeText = shape => shape.length ? shape.join("×") : "scalar";
const tensorText = t => `${t.name}  ${t.type} ${shapeText(t.shape)}${t.layout === "linear" ? "" : ` ${t.layout}`}${t.bytes ? `, ${bytesText(t.bytes)}` : ""}`;

// ---- layers ----
const total = layers.reduce((sum, layer) => sum + layer.ms, 0);
// Milliseconds that the machine's peaks allow; none where they are not known.
const leastMs = layer => report.peaks ? 1000 * Math.max(layer.operations / report.peaks.operationsPerSecond, layer.bytes / report.peaks.bytesPerSecond) : NaN;
// An infinite or missing number of a comparison is a text there.
const ofRange = error => error === undefined ? undefined : error.not_finite ? Infinity : Number(error.of_range === "inf" ? Infinity : error.of_range);
layers.forEach((layer, i) => {
  layer.number = i;
  layer.share = total > 0 ? layer.ms / total : 0;
  layer.lost = Math.max(0, layer.ms - leastMs(layer));
  layer.output = layer.outputs.reduce((sum, t) => sum + tensors[t].bytes, 0);
  const errors = layer.outputs.map(t => report.errors?.[tensors[t].name]).filter(e => e);
  layer.errors = errors[0];
  layer.error = errors.length ? Math.max(...errors.map(e => ofRange(e.own ?? e.total))) : undefined;
});

// Boxes: inputs, layers, outputs, in an order in which what is read comes first, which is that of running.
function itemsOf() {
  const made = new Map(), items = [];
  const add = (item, name) => items.push(Object.assign(item, {key: items.length, label: name}));
  tensors.forEach((tensor, t) => { if (tensor.place === "input") { add({kind: "input", tensor, inputs: []}, tensor.name); made.set(t, items.length - 1); } });
  for (const layer of layers) {
    add(layer, layer.name);
    layer.readsTensors = layer.inputs;
    layer.inputs = [...new Set(layer.inputs.filter(t => made.has(t)).map(t => made.get(t)))];
    for (const t of layer.outputs) made.set(t, layer.key);
  }
  tensors.forEach((tensor, t) => { if (tensor.place === "output" && made.has(t)) add({kind: "output", tensor, inputs: [made.get(t)]}, tensor.name); });
  return items;
}
const items = itemsOf(), isLayer = item => item.number !== undefined;

// ---- colours ----
// A part from 0 to 1: pale to red. What stands out is what is worth a look.
const heat = part => `hsl(${52 - 46 * part} ${70 + 15 * part}% ${88 - 36 * part}%)`;
const hueOf = text => { let hash = 7; for (const c of text) hash = (hash * 31 + c.charCodeAt(0)) % 997; return hash * 137 % 360; };
const typeColours = {float32: "#7fb2e5", float64: "#5b8bd0", float16: "#78c8a4", bfloat16: "#b5d66b", int8: "#f2a65a", uint8: "#f2c45a", float8: "#e58bb1",
                     int4: "#e8735a", int32: "#c3b5e0", int64: "#b0a0d8", bool: "#cfcfcf"};
// value: a number that is drawn as heat, by `part_of` its share of the largest; or group: a text, with a colour for each.
const ways = {
  time: {title: "time", value: layer => layer.ms, text: timeText},
  lost: report.peaks && {title: "time above the roofline", value: layer => layer.lost, text: timeText},
  precision: {title: "precision", group: layer => layer.precision, colour: type => typeColours[type] ?? `hsl(${hueOf(type)} 45% 74%)`},
  output: {title: "memory: bytes of outputs", value: layer => layer.output, text: bytesText},
  bytes: {title: "memory: bytes read and written", value: layer => layer.bytes, text: bytesText},
  error: report.errors && {title: "error that a layer adds", value: layer => layer.error, text: errorText,
                           part_of: error => error > 0 ? Math.min(1, Math.max(0, 1 + Math.log10(error) / 7)) : 0, ends: ["1e-7 of the range", "1"]},
  kind: {title: "kind", group: layer => layer.kind, colour: kind => `hsl(${hueOf(kind)} 45% 74%)`},
  kernel: {title: "kernel", group: layer => layer.kernel, colour: kernel => `hsl(${hueOf(kernel)} 50% 72%)`},
};
let way = ways.time, fill = () => "#ddd";
function colours() {
  const chosenWay = way = ways[element("by").value];
  element("legend").replaceChildren();
  const add = (colour, text) => {
    const span = element("legend").appendChild(document.createElement("span")), key = span.appendChild(document.createElement("span"));
    key.className = "key";
    key.style.background = colour;
    span.append(text);
  };
  let of;
  if (chosenWay.group) {
    const times = new Map();
    for (const layer of layers) times.set(chosenWay.group(layer), (times.get(chosenWay.group(layer)) ?? 0) + layer.share);
    for (const [group, share] of [...times].sort((a, b) => b[1] - a[1]).slice(0, 12)) add(chosenWay.colour(group), `${group || "none"} ${percent(share)} of the time`);
    of = layer => chosenWay.colour(chosenWay.group(layer));
  } else {
    const most = layers.reduce((most, layer) => Math.max(most, chosenWay.value(layer) ?? 0), 0);
    const part_of = chosenWay.part_of ?? (value => most > 0 ? Math.sqrt(value / most) : 0);
    of = layer => { const value = chosenWay.value(layer); return value === undefined || Number.isNaN(value) ? "#c9c9c9" : heat(part_of(value)); };
    const [least, largest] = chosenWay.ends ?? ["0", chosenWay.text(most)], bar = document.createElement("span");
    bar.className = "bar";
    bar.style.background = `linear-gradient(90deg, ${[0, 1, 2, 3, 4].map(i => heat(i / 4)).join(",")})`;
    element("legend").append(least, bar, largest);
  }
  fill = item => isLayer(item) ? of(item) : "#c9c9c9";
}
const second = item => !isLayer(item) ? `${item.kind}  ${item.tensor.type} ${shapeText(item.tensor.shape)}`
    : way.group ? `${way.group(item)}  ${timeText(item.ms)}` : `${way.value(item) === undefined ? "" : way.text(way.value(item))}  ${item.kind}`;

// ---- the table and the graph ----
let chosen = null;
const graph = drawGraph(element("graph"), items, item => item.label, item => choose(item, false));
const columns = [
  {title: "time", about: "median of the runs in which layers are timed", width: "4.3rem", value: l => l.ms, text: l => timeText(l.ms), descends: true, fill: l => fill(l)},
  {title: "share", about: "of the sum of all layers", width: "3.1rem", value: l => l.share, text: l => percent(l.share), descends: true},
  {title: "roof", about: "the time that the machine's peaks allow, as a part of the layer's", width: "3.1rem",
   value: l => leastMs(l) / l.ms, text: l => Number.isNaN(leastMs(l)) || l.ms === 0 ? "" : percent(leastMs(l) / l.ms)},
  report.errors ? {title: "error", about: "that the layer adds, in parts of its tensor's range", width: "3.6rem", value: l => l.error, text: l => errorText(l.error), descends: true}
                : {title: "output", about: "bytes that it writes", width: "4.3rem", value: l => l.output, text: l => bytesText(l.output), descends: true},
  {title: "type", about: "what it computes in", width: "3.7rem", value: l => l.precision},
  {title: "kind", width: "6rem", value: l => l.kind},
  {title: "layer", value: l => l.name, text: l => l.name.length > 24 ? "…" + l.name.slice(-23) : l.name, title_of: l => l.name},
];
const table = makeTable(element("rows"), layers, columns, layer => choose(layer));

function about(layer) {
  const least = leastMs(layer), lines = [layer.name, `${layer.kind}, ${layer.kernel}, in ${layer.precision}: ${layer.why}`,
    `${timeText(layer.ms)}, ${percent(layer.share)} of all` + (Number.isNaN(least) ? "" : `; the peaks allow ${timeText(least)}`)];
  lines.push(`${flopText(layer.operations)}, ${bytesText(layer.bytes)}` + (layer.ms > 0
      ? `: ${flopText(1000 * layer.operations / layer.ms)}/s, ${scaled(1000 * layer.bytes / layer.ms, ["B", "kB", "MB", "GB", "TB"], 1000)}/s` : ""));
  const digits = (value, count) => typeof value === "number" ? String(Number(value.toPrecision(count))) : value;  // a text where it is not finite
  const line = (name, e) => e && lines.push(`error ${name}: ${errorText(ofRange(e))} of the range, rms ${digits(e.rms, 3)}, cosine ${digits(e.cosine, 8)}`);
  if (layer.errors) { line("it adds", layer.errors.own); line("in all", layer.errors.total); if (layer.errors.cause) lines.push(layer.errors.cause); }
  for (const t of layer.readsTensors) lines.push(`reads ${tensorText(tensors[t])}${tensors[t].place === "constant" ? ", constant" : ""}`);
  for (const t of layer.outputs) lines.push(`gives ${tensorText(tensors[t])}`);
  return lines.join("\n");
}
function choose(item, moves = true) {
  chosen = item;
  graph.mark(item);
  if (moves) graph.moveTo(item);
  element("details").textContent = isLayer(item) ? about(item) : `${item.kind} ${tensorText(item.tensor)}`;
  if (isLayer(item)) table.mark(item);
  drawLanes();
  drawRoofline();
}

// ---- the timeline ----
// A lane for each stream, in which layers follow one another, and the bytes of tensors that live at each layer: from the layer that makes
// them to the last one that reads them. Those that share another's memory do not count.
const labels = 90, laneTop = 22, laneHeight = 26, curveHeight = 90;
const ends = new Map(), lanes = [];
for (const layer of layers) {
  const lane = lanes[layer.stream] ??= {name: layer.stream === 0 ? "layers" : `stream ${layer.stream}`, spans: []};
  layer.begin = ends.get(layer.stream) ?? 0;
  layer.end = layer.begin + 1000 * layer.run;
  ends.set(layer.stream, layer.end);
  lane.spans.push(layer);
}
const runEnd = Math.max(...ends.values(), 0);
const live = liveBytes(), mostLive = live.reduce((most, bytes) => Math.max(most, bytes), 1);
function liveBytes() {
  const owner = t => tensors[t].shares === undefined ? t : owner(tensors[t].shares), last = new Map(), made = new Map();
  layers.forEach((layer, i) => { for (const t of [...layer.readsTensors, ...layer.outputs]) last.set(owner(t), i); });
  layers.forEach((layer, i) => { for (const t of layer.outputs) if (!made.has(owner(t))) made.set(owner(t), i); });
  const change = new Array(layers.length + 1).fill(0);
  for (const [t, i] of made) if (tensors[t].place === "arena") { change[i] += tensors[t].bytes; change[last.get(t) + 1] -= tensors[t].bytes; }
  let bytes = 0;
  return layers.map((_, i) => bytes += change[i]);
}
const canvas = element("lanes"), pen = canvas.getContext("2d"), lanesHeight = laneTop + lanes.length * (laneHeight + 4) + curveHeight + 6;
const spanAt = (x, y) => {
  const lane = lanes[Math.floor((y - laneTop) / (laneHeight + 4))] ?? lanes[0], time = times.time_of(x);
  if (x < labels || !lane || y < laneTop) return null;
  const layer = lane.spans[first_behind(lane.spans, span => span.end >= time)];
  return layer && layer.begin <= time ? layer : null;
};
const times = timeView(canvas, element("about"), {
  end: runEnd, labels, draw: () => drawLanes(),
  text_at(x, y) {
    const layer = spanAt(x, y);
    return layer && `${layer.name}\n${layer.kind}, ${timeText(layer.run)}\n${bytesText(live[layer.number])} of tensors live`;
  },
  clicked(x, y) { const layer = spanAt(x, y); if (layer) choose(layer); },
});
function drawLanes() {
  const styles = getComputedStyle(document.documentElement), style = name => styles.getPropertyValue(name).trim();
  times.clear(lanesHeight);
  const {view, x_of} = times, right = canvas.clientWidth, curveTop = lanesHeight - curveHeight - 4;
  let bars = 0;
  lanes.forEach((lane, i) => {
    const top = laneTop + i * (laneHeight + 4);
    pen.fillStyle = style("--soft");
    pen.fillRect(labels, top, right - labels, laneHeight);
    pen.fillStyle = style("--text");
    pen.fillText(lane.name, 0, top + laneHeight / 2, labels - 8);
    for (let k = first_behind(lane.spans, span => span.end >= view.begin); k < lane.spans.length && lane.spans[k].begin <= view.end; ++k, ++bars) {
      const layer = lane.spans[k], x0 = Math.max(labels, x_of(layer.begin)), x1 = Math.min(right, x_of(layer.end)), wide = x1 - x0;
      pen.fillStyle = fill(layer);
      pen.fillRect(x0, top, Math.max(0.75, wide - (wide > 3 ? 1 : 0)), laneHeight);
      if (wide > 40) {
        pen.fillStyle = "#111";
        pen.fillText(layer.name.length * 6.5 > wide ? `${layer.name.slice(0, Math.floor(wide / 6.5) - 1)}…` : layer.name, x0 + 3, top + laneHeight / 2);
      }
      if (layer === chosen) {
        pen.strokeStyle = style("--text");
        pen.lineWidth = 2;
        pen.strokeRect(x0, top + 1, Math.max(2, wide), laneHeight - 2);
      }
    }
  });
  pen.fillStyle = style("--faint");
  pen.fillText("live tensors", 0, curveTop + 8, labels - 8);
  pen.fillText(`most ${bytesText(mostLive)}`, 0, curveTop + 24, labels - 4);
  pen.fillStyle = "#7fb2e5";
  pen.beginPath();
  pen.moveTo(labels, lanesHeight - 4);
  for (const layer of layers) {
    if (layer.end < view.begin || layer.begin > view.end) continue;
    const y = lanesHeight - 4 - live[layer.number] / mostLive * curveHeight;
    pen.lineTo(Math.max(labels, x_of(layer.begin)), y);
    pen.lineTo(Math.min(right, Math.max(labels, x_of(layer.end))), y);
  }
  pen.lineTo(Math.min(right, x_of(runEnd)), lanesHeight - 4);
  pen.fill();
  times.axis(style("--line"), style("--faint"), laneTop - 6, lanesHeight);
  canvas.dataset.bars = bars;
}

// ---- the roofline ----
// Layers by their operations for each byte and operations for each second, both on scales of tens. Those without arithmetic stand at the
// left edge, as far below the roof as their bytes for each second are below the memory's.
const plot = element("roofline"), ink = plot.getContext("2d"), margin = {left: 62, right: 12, top: 8, bottom: 32};
let dots = [];
function drawRoofline() {
  const ratio = window.devicePixelRatio || 1, w = plot.clientWidth, h = plot.clientHeight;
  if (!report.peaks || w === 0 || h === 0) return;
  const styles = getComputedStyle(document.documentElement), style = name => styles.getPropertyValue(name).trim();
  const {operationsPerSecond, bytesPerSecond} = report.peaks, ridge = operationsPerSecond / bytesPerSecond;
  const timed = layers.filter(layer => layer.ms > 0 && layer.bytes > 0), least = 1 / 32;
  const at = layer => {
    const x = Math.max(layer.operations / layer.bytes, least);
    return [x, layer.operations / layer.bytes > least ? 1000 * layer.operations / layer.ms : x * 1000 * layer.bytes / layer.ms];
  };
  let [x1, y0, y1] = [ridge * 4, operationsPerSecond / 100, operationsPerSecond * 1.5];
  for (const [x, y] of timed.map(at)) { x1 = Math.max(x1, x * 1.5); y1 = Math.max(y1, y * 1.3); y0 = Math.min(y0, y / 1.3); }
  y0 = Math.max(y0, y1 / 1e6);  // what is slower stands at the bottom
  const x_of = x => margin.left + Math.log(x / least) / Math.log(x1 / least) * (w - margin.left - margin.right);
  const y_of = y => h - margin.bottom - Math.log(Math.max(y, y0) / y0) / Math.log(y1 / y0) * (h - margin.top - margin.bottom);
  plot.width = w * ratio;
  plot.height = h * ratio;
  ink.scale(ratio, ratio);
  ink.font = "11px system-ui, sans-serif";
  ink.textBaseline = "middle";
  ink.lineWidth = 1;
  const line = (xa, ya, xb, yb, colour) => { ink.strokeStyle = colour; ink.beginPath(); ink.moveTo(xa, ya); ink.lineTo(xb, yb); ink.stroke(); };
  ink.textAlign = "right";
  for (let y = 10 ** Math.ceil(Math.log10(y0)); y <= y1; y *= 10) {
    line(margin.left, y_of(y), w - margin.right, y_of(y), style("--soft"));
    ink.fillStyle = style("--faint");
    ink.fillText(`${scaled(y, ["", "k", "M", "G", "T", "P"], 1000)}`, margin.left - 5, y_of(y));
  }
  ink.textAlign = "center";
  for (let x = 0.1; x <= x1; x *= 10) {
    line(x_of(x), margin.top, x_of(x), h - margin.bottom, style("--soft"));
    ink.fillStyle = style("--faint");
    ink.fillText(String(Number(x.toPrecision(2))), x_of(x), h - margin.bottom + 9);
  }
  ink.fillText("none", x_of(least), h - margin.bottom + 9);
  ink.fillText("FLOP for each byte", (margin.left + w) / 2, h - 8);
  ink.save();
  ink.translate(9, (h - margin.bottom) / 2);
  ink.rotate(-Math.PI / 2);
  ink.fillText("FLOP/s", 0, 0);
  ink.restore();
  ink.strokeStyle = style("--text");
  ink.lineWidth = 1.5;
  ink.beginPath();
  ink.moveTo(x_of(least), y_of(bytesPerSecond * least));
  ink.lineTo(x_of(ridge), y_of(operationsPerSecond));
  ink.lineTo(w - margin.right, y_of(operationsPerSecond));
  ink.stroke();
  dots = timed.map(layer => { const [x, y] = at(layer); return {layer, x: x_of(x), y: y_of(y), r: 2.5 + 14 * Math.sqrt(layer.share)}; }).sort((a, b) => b.r - a.r);
  for (const dot of dots) {
    ink.beginPath();
    ink.arc(dot.x, dot.y, dot.r, 0, 2 * Math.PI);
    ink.fillStyle = fill(dot.layer);
    ink.globalAlpha = 0.85;
    ink.fill();
    ink.globalAlpha = 1;
    ink.strokeStyle = dot.layer === chosen ? style("--text") : style("--faint");
    ink.lineWidth = dot.layer === chosen ? 3 : 0.6;
    ink.stroke();
  }
  plot.dataset.dots = dots.length;
}
const dotAt = event => dots.filter(d => Math.hypot(d.x - event.offsetX, d.y - event.offsetY) <= d.r + 2).sort((a, b) => a.r - b.r)[0];
plot.onclick = event => { const dot = dotAt(event); if (dot) choose(dot.layer); };
plot.onpointermove = event => { const dot = dotAt(event); plot.title = dot ? `${dot.layer.name}: ${timeText(dot.layer.ms)}` : ""; };

// ---- the head ----
const says = (item, word) => [item.label, item.kind, item.kernel ?? "", ...(item.readsTensors ?? []).concat(item.outputs ?? []).map(t => tensors[t].name)]
    .some(text => text.toLowerCase().includes(word));
let hits = [], at = 0;
function search() {
  const word = element("search").value.toLowerCase();
  hits = word ? items.filter(item => says(item, word)) : [];
  const shown = new Set(hits);
  table.filter(layer => word === "" || shown.has(layer));
  element("found").textContent = word ? `${hits.length} found` : `${layers.length} layers`;
  at = -1;
  if (hits.length) next();
}
function next() {
  at = (at + 1) % hits.length;
  choose(hits[at]);
}
function paint() {
  colours();
  graph.paint(fill, second);
  table.repaint();
  drawLanes();
  drawRoofline();
}
for (const [key, each] of Object.entries(ways)) if (each) element("by").add(new Option(each.title, key));
element("by").onchange = paint;
element("search").oninput = search;
element("search").onkeydown = event => { if (event.key === "Enter" && hits.length) next(); };
element("all").onclick = () => graph.showAll();
const slowest = layers.reduce((a, b) => b.ms > (a?.ms ?? -1) ? b : a, null);
element("slowest").onclick = () => slowest && choose(slowest);
document.querySelector("h1").textContent = document.title;
element("facts").textContent = report.facts.join("  ·  ");
element("peaks").textContent = report.peaks
    ? `${scaled(report.peaks.operationsPerSecond, ["", "k", "M", "G", "T"], 1000)}FLOP/s, ${scaled(report.peaks.bytesPerSecond, ["", "k", "M", "G", "T"], 1000)}B/s measured; a dot's area is its time`
    : "the peaks of this target are not known";
new ResizeObserver(drawRoofline).observe(plot);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawRoofline);
table.sort(columns[0], true);
paint();
search();
if (slowest) choose(slowest);
