// Time along a canvas: the wheel zooms, dragging moves, and what is under the pointer says what it is.

// Microseconds as people read them.
function duration(time) {
  const [value, unit] = time < 1e3 ? [time, 'µs'] : time < 1e6 ? [time / 1e3, 'ms'] : [time / 1e6, 's'];
  return `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${unit}`;
}

// The first of the sorted `list` for which `is_behind` holds.
function first_behind(list, is_behind) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is_behind(list[middle])) high = middle; else low = middle + 1;
  }
  return low;
}

// end: of all, in microseconds. labels: pixels left of time 0. draw() draws all anew. text_at(x, y) is what to say of that place
// in the element `about`, or null; clicked(x, y) is called for a click.
function timeView(canvas, about, {end, labels, draw, text_at, clicked}) {
  const context = canvas.getContext('2d'), whole = Math.max(end, 1), view = {begin: 0, end: whole};
  const width = () => canvas.clientWidth - labels;
  const x_of = time => labels + (time - view.begin) / (view.end - view.begin) * width();
  const time_of = x => view.begin + (x - labels) / width() * (view.end - view.begin);

  // Keeps the view within the whole, and its end behind its beginning.
  function look(begin, end) {
    const length = Math.min(whole, Math.max(0.01, end - begin)), from = Math.max(0, Math.min(begin, whole - length));
    view.begin = from;
    view.end = from + length;
    draw();
  }
  function zoom(factor, x) {
    const time = time_of(x);
    look(time - (time - view.begin) * factor, time + (view.end - time) * factor);
  }

  let held = null;  // where the pointer went down, and the view then
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const length = view.end - view.begin, across = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(across) > Math.abs(event.deltaY) || event.shiftKey)
      look(view.begin + across / width() * length, view.end + across / width() * length);
    else
      zoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 400)), Math.max(labels, event.offsetX));
  }, {passive: false});
  canvas.addEventListener('pointerdown', event => {
    held = {x: event.offsetX, ...view};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    const text = held ? null : text_at(event.offsetX, event.offsetY);
    about.style.display = text !== null ? 'block' : 'none';
    if (held) {
      const moved = (held.x - event.offsetX) / width() * (held.end - held.begin);
      look(held.begin + moved, held.end + moved);
    } else if (text !== null) {
      about.textContent = text;
      about.style.left = `${Math.min(event.offsetX + 14, canvas.clientWidth - about.offsetWidth)}px`;
      about.style.top = `${event.offsetY + 18}px`;
    }
  });
  canvas.addEventListener('pointerup', event => {
    if (held && Math.abs(held.x - event.offsetX) < 4) clicked(event.offsetX, event.offsetY);
    held = null;
  });
  canvas.addEventListener('pointerleave', () => { about.style.display = 'none'; });
  window.addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  return {
    view, x_of, time_of, width, look,
    // A canvas of that height in CSS pixels, empty.
    clear(height) {
      const ratio = window.devicePixelRatio || 1;
      canvas.style.height = `${height}px`;
      canvas.width = canvas.clientWidth * ratio;
      canvas.height = height * ratio;
      context.scale(ratio, ratio);
      context.font = '12px system-ui, sans-serif';
      context.textBaseline = 'middle';
    },
    // Times above the lanes, and lines over them from `top` to `bottom`.
    axis(line, text, top, bottom) {
      const least = (view.end - view.begin) * 110 / width(), power = 10 ** Math.floor(Math.log10(least));
      const step = power * [1, 2, 5, 10].find(factor => factor * power >= least);
      for (let i = Math.ceil(view.begin / step); i * step <= view.end; ++i) {
        const x = Math.round(x_of(i * step)) + 0.5;
        context.fillStyle = line;
        context.globalAlpha = 0.6;  // over the bars
        context.fillRect(x, top, 1, bottom);
        context.globalAlpha = 1;
        context.fillStyle = text;
        if (x < canvas.clientWidth - 50) context.fillText(i === 0 ? '0' : duration(i * step), x + 4, 10);
      }
    },
  };
}
