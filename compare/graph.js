// A graph as boxes in layers, in an SVG element that can be dragged and zoomed; the pages of `tenon compare` and `tenon onnx` have it.

// items: each with `key` and `inputs`, keys of others; they come before what reads them. name_of(item) is the first line of its box.
function drawGraph(svg, items, name_of, chosen) {
  const width = 190, height = 34, byKey = new Map(items.map(item => [item.key, item]));
  // A row for each length of the longest path from an input; within a row in the order of their inputs' columns.
  const depth = new Map(), column = new Map(), rows = [];
  for (const item of items) {
    let d = 0;
    for (const input of item.inputs) d = Math.max(d, 1 + (depth.get(input) ?? -1));
    depth.set(item.key, d);
    (rows[d] ??= []).push(item);
  }
  for (const row of rows) {
    const wishes = new Map(row.map(item => {
      const columns = item.inputs.filter(i => column.has(i)).map(i => column.get(i));
      return [item, columns.length ? columns.reduce((a, b) => a + b) / columns.length : 0];
    }));
    row.sort((a, b) => wishes.get(a) - wishes.get(b));
    let next = -Infinity, shift = 0;
    const first = row.map(item => next = Math.max(next + 1, wishes.get(item)));
    row.forEach((item, i) => shift += (wishes.get(item) - first[i]) / row.length);
    row.forEach((item, i) => column.set(item.key, first[i] + shift));
  }
  const x = item => column.get(item.key) * (width + 20), y = item => depth.get(item.key) * (height + 22);

  const make = (kind, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    return parent.appendChild(element);
  };
  svg.replaceChildren();
  const world = make("g", {}, svg), rects = new Map(), lines = new Map(), view = {x: 0, y: 0, zoom: 1};
  for (const item of items) for (const input of item.inputs) if (byKey.has(input)) {
    const from = byKey.get(input), x0 = x(from) + width / 2, y0 = y(from) + height, x1 = x(item) + width / 2, y1 = y(item);
    // Around the boxes between, where it would run behind them.
    const bend = depth.get(item.key) - depth.get(input) > 1 && Math.abs(x1 - x0) < width ? 0.9 * width : 0;
    make("path", {d: `M${x0},${y0}C${x0 + bend},${y0 + 18} ${x1 + bend},${y1 - 18} ${x1},${y1}`}, world);
  }
  for (const item of items) {
    const rect = make("rect", {class: "node", x: x(item), y: y(item), width, height}, world), name = name_of(item);
    make("text", {x: x(item) + 6, y: y(item) + 14}, world).textContent = name.length > 30 ? "…" + name.slice(-29) : name;
    lines.set(item, make("text", {x: x(item) + 6, y: y(item) + 28}, world));
    make("title", {}, rect).textContent = name;
    rect.onclick = () => chosen(item);
    rects.set(item, rect);
  }
  function look() {
    const {width: w, height: h} = svg.getBoundingClientRect();
    world.setAttribute("transform", `translate(${w / 2 - view.x * view.zoom},${h / 3 - view.y * view.zoom}) scale(${view.zoom})`);
  }
  svg.onwheel = event => { event.preventDefault(); view.zoom *= Math.exp(-event.deltaY / 500); look(); };
  svg.onpointermove = event => { if (!event.buttons) return; view.x -= event.movementX / view.zoom;
                                 view.y -= event.movementY / view.zoom; look(); };
  onresize = look;
  look();
  return {
    rects,
    paint(item, fill, text) { rects.get(item).setAttribute("fill", fill); lines.get(item).textContent = text; },
    mark(item) { for (const [other, rect] of rects) rect.classList.toggle("chosen", other === item); },
    moveTo(item) { view.x = x(item) + width / 2; view.y = y(item); look(); },
    showAll() {
      const box = world.getBBox(), {width: w, height: h} = svg.getBoundingClientRect();
      view.zoom = Math.min(1, 0.95 * w / box.width, 0.95 * h / box.height);
      view.x = box.x + box.width / 2; view.y = box.y + box.height / 2 - h / 6 / view.zoom; look();
    },
  };
}
