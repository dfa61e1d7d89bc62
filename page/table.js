// A table that sorts, and whose rows are there while they are in sight: it may have tens of thousands.

// columns: {title, value, text}: functions of an item; `text` is value's own where it is left out, and `descends` says that a first
// click sorts the largest to the top. `parent` is an element that scrolls.
function makeTable(parent, items, columns, chosen) {
  const rowHeight = 22, table = parent.appendChild(document.createElement("table")), head = table.createTHead().insertRow();
  const body = table.createTBody();
  let shown = items.slice(), by = null, down = false, is_shown = () => true, marked = null, begin = -1, end = -1;
  table.className = "virtual";
  columns.forEach(column => {
    const cell = head.appendChild(document.createElement("th"));
    cell.textContent = column.title;
    if (column.width) cell.style.width = column.width;
    if (column.about) cell.title = column.about;
    cell.onclick = () => sort(column);
    column.cell = cell;
  });

  function arrange() {
    shown = items.filter(is_shown);
    // What has no value comes last, however it is sorted.
    const absent = value => value === undefined || value === null || Number.isNaN(value);
    if (by) shown = shown.map(item => [by.value(item), item]).sort(([a], [b]) =>
      absent(a) || absent(b) ? absent(a) - absent(b)
      : (down ? -1 : 1) * (typeof a === "string" ? a.localeCompare(b, undefined, {numeric: true}) : a - b)).map(([, item]) => item);
    for (const column of columns) column.cell.dataset.sort = column === by ? (down ? "▼" : "▲") : "";
    table.dataset.rows = shown.length;
    begin = -1;
    fill();
  }
  function spacer(count) {
    const row = body.insertRow();
    row.style.height = `${count * rowHeight}px`;
    row.className = "spacer";
  }
  function fill() {
    const first = Math.max(0, Math.floor(parent.scrollTop / rowHeight) - 5);
    const last = Math.min(shown.length, first + Math.ceil(parent.clientHeight / rowHeight) + 11);
    if (first === begin && last === end) return;
    [begin, end] = [first, last];
    body.replaceChildren();
    spacer(first);
    for (const item of shown.slice(first, last)) {
      const row = body.insertRow();
      row.classList.toggle("chosen", item === marked);
      for (const column of columns) {
        const cell = row.insertCell();
        cell.textContent = (column.text ?? column.value)(item);
        cell.title = (column.title_of ?? column.text ?? column.value)(item);
        if (column.fill) cell.style.boxShadow = `inset 4px 0 ${column.fill(item)}`;
      }
      row.onclick = () => chosen(item);
    }
    spacer(shown.length - last);
  }
  function sort(column, descends = by === column ? !down : column.descends ?? false) {
    [by, down] = [column, descends];
    parent.scrollTop = 0;
    arrange();
  }
  parent.addEventListener("scroll", fill, {passive: true});
  new ResizeObserver(fill).observe(parent);
  arrange();
  return {
    sort,
    filter(keeps) { is_shown = keeps; parent.scrollTop = 0; arrange(); },
    // The row comes into sight.
    mark(item) {
      marked = item;
      const at = shown.indexOf(item) * rowHeight, sight = parent.clientHeight - 2 * rowHeight;
      if (at >= 0 && (at < parent.scrollTop || at > parent.scrollTop + sight)) parent.scrollTop = Math.max(0, at - sight / 3);
      begin = -1;
      fill();
    },
    repaint() { begin = -1; fill(); },
    get shown() { return shown; },
  };
}
