// A graph as boxes in rows, on a canvas that can be dragged and zoomed, with all of it in small along the left edge. What is out
// of sight is not drawn: tens of thousands of boxes are fine.

// items: each with `key` and `inputs`, keys of others; they come before what reads them. name_of(item) is the first line of its
// box. chosen(item) is called for a box that is clicked.
function drawGraph(canvas, items, name_of, chosen) {
  const width = 190, height = 34, columnStep = width + 20, rowStep = height + 22, strip = 46;
  const context = canvas.getContext("2d"), rows = rowsOf(items), boxes = new Map(), edges = [];
  for (const row of rows) for (const box of row) boxes.set(box.item.key, box);
  for (const row of rows) for (const box of row) for (const input of box.item.inputs)
    if (boxes.has(input)) edges.push({from: boxes.get(input), to: box});
  let left = Infinity, right = -Infinity, marked = null, fill_of = () => "#ddd", text_of = () => "", small = null, drawn = 0;
  for (const box of boxes.values()) {
    box.x = box.column * columnStep;
    box.y = box.row * rowStep;
    box.name = name_of(box.item);
    left = Math.min(left, box.x);
    right = Math.max(right, box.x + width);
  }
  const bottom = rows.length * rowStep - (rowStep - height), view = {x: (left + right) / 2, y: 0, zoom: 1};

  // A row for each length of the longest path from an input; within a row in the order of their inputs' columns.
  function rowsOf(items) {
    const row_of = new Map(), column = new Map(), rows = [];
    for (const item of items) {
      let row = 0;
      for (const input of item.inputs) row = Math.max(row, 1 + (row_of.get(input) ?? -1));
      row_of.set(item.key, row);
      (rows[row] ??= []).push({item, row, column: 0});
    }
    for (const row of rows) {
      for (const box of row) {
        const columns = box.item.inputs.filter(i => column.has(i)).map(i => column.get(i));
        box.wish = columns.length ? columns.reduce((a, b) => a + b) / columns.length : 0;
      }
      row.sort((a, b) => a.wish - b.wish);
      let next = -Infinity, shift = 0;
      for (const box of row) {
        box.column = next = Math.max(next + 1, box.wish);
        shift += (box.wish - box.column) / row.length;
      }
      for (const box of row) column.set(box.item.key, box.column += shift);
    }
    return rows;
  }

  // The part of the world that is in sight.
  function sight() {
    const w = canvas.clientWidth, h = canvas.clientHeight;
    return {left: view.x - w / 2 / view.zoom, right: view.x + w / 2 / view.zoom, top: view.y - h / 3 / view.zoom,
            bottom: view.y + 2 * h / 3 / view.zoom};
  }
  function drawEdges(seen) {
    const plain = view.zoom < 0.25;
    context.beginPath();
    for (const {from, to} of edges) {
      const x0 = from.x + width / 2, y0 = from.y + height, x1 = to.x + width / 2, y1 = to.y;
      if (y1 < seen.top || y0 > seen.bottom || Math.max(x0, x1) + width < seen.left || Math.min(x0, x1) > seen.right) continue;
      context.moveTo(x0, y0);
      // Around the boxes between, where it would run behind them.
      const bend = to.row - from.row > 1 && Math.abs(x1 - x0) < width ? 0.9 * width : 0;
      if (plain && bend === 0) context.lineTo(x1, y1);
      else context.bezierCurveTo(x0 + bend, y0 + 18, x1 + bend, y1 - 18, x1, y1);
    }
    context.stroke();
  }
  function drawBox(box, style) {
    context.fillStyle = fill_of(box.item);
    if (view.zoom < 0.25) return context.fillRect(box.x, box.y, width, height);
    context.lineWidth = box === marked ? 3 : 1;
    context.strokeStyle = box === marked ? style.text : style.line;
    context.beginPath();
    context.roundRect(box.x, box.y, width, height, 4);
    context.fill();
    context.stroke();
    if (view.zoom < 0.45) return;
    context.fillStyle = "#111";
    context.fillText(box.name.length > 30 ? "…" + box.name.slice(-29) : box.name, box.x + 6, box.y + 14, width - 12);
    context.fillText(text_of(box.item), box.x + 6, box.y + 28, width - 12);
  }
  // All boxes in small; where rows are less than a pixel high, later ones cover earlier ones.
  function drawSmall(h, ratio) {
    small = document.createElement("canvas");
    small.width = strip * ratio;
    small.height = h * ratio;
    const pen = small.getContext("2d"), wide = (strip - 6) * ratio / Math.max(right - left, width), high = small.height / bottom;
    for (const box of boxes.values()) {
      pen.fillStyle = fill_of(box.item);
      pen.fillRect((box.x - left) * wide, box.y * high, Math.max(2, width * wide), Math.max(1, height * high));
    }
  }
  function look() {
    const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (w === 0 || h === 0) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
      small = null;
    }
    const styles = getComputedStyle(canvas), style = {line: styles.getPropertyValue("--line"), text: styles.getPropertyValue("--text"),
                                                      soft: styles.getPropertyValue("--soft")};
    const scale = ratio * view.zoom, seen = sight();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(scale, 0, 0, scale, ratio * w / 2 - view.x * scale, ratio * h / 3 - view.y * scale);
    context.font = "11px system-ui, sans-serif";
    context.strokeStyle = style.line;
    context.lineWidth = Math.max(1, 0.7 / view.zoom);
    drawEdges(seen);
    drawn = 0;
    for (let row = Math.max(0, Math.floor(seen.top / rowStep)); row < rows.length && row * rowStep <= seen.bottom; ++row)
      for (const box of rows[row]) if (box.x <= seen.right && box.x + width >= seen.left) {
        drawBox(box, style);
        ++drawn;
      }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = style.soft;
    context.fillRect(0, 0, strip, h);
    if (small === null) drawSmall(h, ratio);
    context.drawImage(small, 3, 0, strip, h);
    context.strokeStyle = style.text;
    context.lineWidth = 1.5;
    const at = value => Math.min(h, Math.max(0, value / bottom * h));
    context.strokeRect(1, at(seen.top) + 1, strip - 2, Math.max(4, at(seen.bottom) - at(seen.top) - 2));
    canvas.dataset.boxes = drawn;
  }

  const worldOf = event => ({x: view.x + (event.offsetX - canvas.clientWidth / 2) / view.zoom,
                             y: view.y + (event.offsetY - canvas.clientHeight / 3) / view.zoom});
  function boxAt(event) {
    if (event.offsetX < strip) return null;
    const {x, y} = worldOf(event);
    return (rows[Math.floor(y / rowStep)] ?? []).find(box => x >= box.x && x <= box.x + width && y >= box.y && y <= box.y + height) ?? null;
  }
  let held = null;
  canvas.onwheel = event => {
    event.preventDefault();
    const before = worldOf(event);
    view.zoom = Math.min(3, Math.max(0.002, view.zoom * Math.exp(-event.deltaY / 500)));
    const after = worldOf(event);
    view.x += before.x - after.x;
    view.y += before.y - after.y;
    look();
  };
  canvas.onpointerdown = event => {
    held = {x: event.offsetX, y: event.offsetY, inStrip: event.offsetX < strip, hasMoved: false};
    if (held.inStrip) canvas.onpointermove(event);
    try { canvas.setPointerCapture(event.pointerId); } catch {}  // of a pointer that a test made up
  };
  canvas.onpointermove = event => {
    if (held === null) {
      const box = boxAt(event);
      canvas.title = box ? box.name : "";
      canvas.style.cursor = box || event.offsetX < strip ? "pointer" : "grab";
      return;
    }
    if (held.inStrip) view.y = event.offsetY / canvas.clientHeight * bottom;
    else if (held.hasMoved ||= Math.hypot(event.offsetX - held.x, event.offsetY - held.y) > 3) {
      view.x -= (event.offsetX - held.x) / view.zoom;
      view.y -= (event.offsetY - held.y) / view.zoom;
      [held.x, held.y] = [event.offsetX, event.offsetY];
    }
    look();
  };
  canvas.onpointerup = event => {
    const box = held && !held.inStrip && !held.hasMoved ? boxAt(event) : null;
    held = null;
    if (box) chosen(box.item);
  };
  // The canvas has one graph: what another one listened to ends.
  canvas.release?.();
  const resizes = new ResizeObserver(look), ending = new AbortController();
  resizes.observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look, {signal: ending.signal});
  canvas.release = () => { resizes.disconnect(); ending.abort(); };
  return {
    count: boxes.size, lines: edges.length, view,
    // The colour and the second line of each box.
    paint(fill, text) { [fill_of, text_of, small] = [fill, text, null]; look(); },
    mark(item) { marked = boxes.get(item.key); look(); },
    get marked() { return marked?.item ?? null; },
    fill(item) { return fill_of(item); },
    moveTo(item) { const box = boxes.get(item.key); view.x = box.x + width / 2; view.y = box.y; view.zoom = Math.max(view.zoom, 0.6); look(); },
    // Where the middle of its box is, in pixels of the canvas.
    place(item) {
      const box = boxes.get(item.key);
      return [canvas.clientWidth / 2 + (box.x + width / 2 - view.x) * view.zoom,
              canvas.clientHeight / 3 + (box.y + height / 2 - view.y) * view.zoom];
    },
    showAll() {
      const w = canvas.clientWidth - 2 * strip, h = canvas.clientHeight;
      view.zoom = Math.min(1, 0.95 * w / (right - left), 0.95 * h / bottom);
      view.x = (left + right) / 2;
      view.y = bottom / 2 - h / 6 / view.zoom;
      look();
    },
  };
}
