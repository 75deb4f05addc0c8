"use strict";
// The map can be moved and zoomed: by dragging, pinching, wheel, double click, buttons and keys. A unit of it is a metre.
(() => {
  const frame = document.querySelector(".frame");
  if (!frame) return;
  const svg = frame.querySelector("svg");
  const spots = [...svg.querySelectorAll(".spot:not(.name)")];
  const names = [...svg.querySelectorAll(".name")].map((element) => ({
    element, of: element.dataset.of, x: +element.dataset.x, y: +element.dataset.y,
    box: element.dataset.box.split(" ").map(Number),
    finest: +(element.dataset.finest ?? 0), coarsest: +(element.dataset.coarsest ?? Infinity),
  }));
  const graticules = [...svg.querySelectorAll(".graticule")];
  const degrees = frame.appendChild(document.createElement("div"));
  degrees.className = "degrees";
  degrees.setAttribute("aria-hidden", "true");
  const hidden = new Set();
  const bar = svg.querySelector(".scale");
  const first = svg.viewBox.baseVal;
  const home = { x: first.x + first.width / 2, y: first.y + first.height / 2, width: first.width, height: first.height };
  const widest = Math.min(3e7, 100 * Math.max(home.width, home.height)), finest = 0.02;
  // `view` has the middle of the part that is shown, and the metres in a pixel.
  let view = null, touched = false, waiting = false;

  const fitted = () => ({
    x: home.x, y: home.y,
    metres: Math.max(home.width / frame.clientWidth, home.height / frame.clientHeight),
  });

  function roundBelow(limit) {
    const power = 10 ** Math.floor(Math.log10(limit) + 1e-12);
    return [5, 2, 1].map((step) => step * power).find((length) => length <= limit * (1 + 1e-12));
  }

  function draw() {
    waiting = false;
    const width = frame.clientWidth * view.metres, height = frame.clientHeight * view.metres;
    svg.setAttribute("viewBox", `${view.x - width / 2} ${view.y - height / 2} ${width} ${height}`);
    const place = (element, x, y) => element.setAttribute("transform", `translate(${x} ${y}) scale(${view.metres})`);
    for (const spot of spots) place(spot, spot.dataset.x, spot.dataset.y);
    const taken = [...frame.querySelectorAll(".buttons, .locator")].map((element) => [
      element.offsetLeft - 4, element.offsetTop - 4,
      element.offsetLeft + element.offsetWidth + 4, element.offsetTop + element.offsetHeight + 4]);
    taken.push([0, frame.clientHeight - 70, 170, frame.clientHeight]);
    const written = [];
    const wide = frame.clientWidth, high = frame.clientHeight;
    for (const { element, of, x: east, y: south, box, finest, coarsest } of names) {
      const x = (east - view.x) / view.metres + wide / 2, y = (south - view.y) / view.metres + high / 2;
      const left = x + box[0], top = y + box[1], right = x + box[2], bottom = y + box[3];
      // A name is shown whole or not at all; those of released and public locations always.
      const whole = left > 4 && right < wide - 4 && top > 18 && bottom < high - 4 &&
        !taken.some((other) => right > other[0] && left < other[2] && bottom > other[1] && top < other[3]);
      const shown = view.metres >= finest && view.metres <= coarsest && (of >= 0 || whole) && !hidden.has(of);
      element.classList.toggle("off", !shown);
      if (shown) place(element, east, south);
      if (shown) written.push([left, top, right, bottom]);
    }
    drawDegrees([...taken, ...written]);
    // The bar is part of the map, so that it stays true wherever the map is made smaller, as in print.
    const length = roundBelow(Math.min(140, frame.clientWidth / 3) * view.metres);
    const left = view.x - width / 2 + 14 * view.metres;
    const low = view.y + height / 2 - 14 * view.metres;
    bar.querySelector("path").setAttribute("d", `M${left} ${low - 6 * view.metres}V${low}h${length}v${-6 * view.metres}`);
    bar.querySelector("g").setAttribute("transform", `translate(${left} ${low - 9 * view.metres}) scale(${view.metres})`);
    const digits = { maximumSignificantDigits: 1, useGrouping: false };
    bar.querySelector("text").textContent =
      length >= 1000 ? `${(length / 1000).toLocaleString("en", digits)} km` : `${length.toLocaleString("en", digits)} m`;
    bar.dataset.metres = length;
  }

  // Degrees are written where meridians leave the map at its top or bottom, and parallels at its left or right: inside
  // the frame, and not on anything that is there already.
  function drawDegrees(taken) {
    degrees.textContent = "";
    const wide = frame.clientWidth, high = frame.clientHeight;
    const left = view.x - wide * view.metres / 2, top = view.y - high * view.metres / 2;
    for (const graticule of graticules) {
      const { finest, coarsest } = graticule.dataset;
      const shown = view.metres >= +finest && view.metres < +(coarsest ?? Infinity);
      graticule.classList.toggle("off", !shown);
      if (!shown) continue;
      for (const line of graticule.children) {
        const upright = line.dataset.way === "meridian", long = 6.6 * line.dataset.name.length;
        for (const far of [false, true]) {
          const edge = upright ? top + far * high * view.metres : left + far * wide * view.metres;
          const met = crossing(corners(line), upright ? 1 : 0, edge);
          if (met === null) continue;
          const pixel = (met - (upright ? left : top)) / view.metres;
          const x = upright ? pixel : far ? wide - 5 - long / 2 : 5 + long / 2;
          const y = upright ? (far ? high - 10 : 10) : pixel;
          const box = [x - long / 2 - 3, y - 8, x + long / 2 + 3, y + 8];
          const free = box[0] >= 0 && box[1] >= 0 && box[2] <= wide && box[3] <= high &&
            !taken.some((other) => box[2] > other[0] && box[0] < other[2] && box[3] > other[1] && box[1] < other[3]);
          if (!free) continue;
          const text = degrees.appendChild(document.createElement("span"));
          text.className = line.dataset.way;
          text.style.left = `${upright ? x : far ? wide - 5 - long : 5}px`;
          text.style.top = `${upright ? y - 6 : y}px`;
          text.textContent = line.dataset.name;
          taken.push(box);
          break;
        }
      }
    }
  }

  // Returns the position along an edge of the map at which a line crosses it; null if it does not.
  function crossing(places, at, edge) {
    const after = places.findIndex((place, i) => i && (places[i - 1][at] - edge) * (place[at] - edge) <= 0);
    if (after < 0) return null;
    const [one, two] = [places[after - 1], places[after]];
    const share = one[at] === two[at] ? 0 : (edge - one[at]) / (two[at] - one[at]);
    return one[1 - at] + share * (two[1 - at] - one[1 - at]);
  }

  // Returns the corners of a line, whose path has the first corner and the steps from each corner to the next.
  const known = new Map();
  function corners(line) {
    if (!known.has(line)) {
      const numbers = line.getAttribute("d").match(/-?[\d.]+/g).map(Number);
      let x = 0, y = 0;
      const places = [];
      for (let i = 0; i < numbers.length; i += 2) places.push([x += numbers[i], y += numbers[i + 1]]);
      known.set(line, places);
    }
    return known.get(line);
  }

  function show(next) {
    const metres = Math.min(Math.max(next.metres, finest), widest / frame.clientWidth);
    const inside = (place) => Math.min(Math.max(place, -widest / 2), widest / 2);
    view = { x: inside(next.x), y: inside(next.y), metres };
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(draw);
    }
  }

  // Zooms so that the place under a pixel, counted from the middle of the frame, stays there.
  function zoom(factor, px = 0, py = 0) {
    touched = true;
    const metres = Math.min(Math.max(view.metres * factor, finest), widest / frame.clientWidth);
    show({ x: view.x + px * (view.metres - metres), y: view.y + py * (view.metres - metres), metres });
  }

  function move(px, py) {
    touched = true;
    show({ ...view, x: view.x + px * view.metres, y: view.y + py * view.metres });
  }

  function reset() {
    touched = false;
    show(fitted());
  }

  const fromMiddle = (event) => {
    const box = frame.getBoundingClientRect();
    return [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
  };

  // Fingers, or the mouse, that hold the map.
  const held = new Map();
  const grip = () => {
    const places = [...held.values()];
    const x = places.reduce((sum, place) => sum + place[0], 0) / places.length;
    const y = places.reduce((sum, place) => sum + place[1], 0) / places.length;
    const apart = places.length < 2 ? 0 : Math.hypot(places[0][0] - places[1][0], places[0][1] - places[1][1]);
    return { x, y, apart };
  };
  frame.addEventListener("pointerdown", (event) => {
    if (event.button || event.target.closest("button")) return;
    held.set(event.pointerId, fromMiddle(event));
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return;
    const before = grip();
    held.set(event.pointerId, fromMiddle(event));
    const after = grip();
    move(before.x - after.x, before.y - after.y);
    if (before.apart && after.apart) zoom(before.apart / after.apart, after.x, after.y);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    frame.addEventListener(end, (event) => held.delete(event.pointerId));
  }
  frame.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * [1, 16, 300][event.deltaMode];
    zoom(Math.exp(Math.min(Math.max(pixels, -300), 300) * 0.002), ...fromMiddle(event));
  }, { passive: false });
  frame.addEventListener("dblclick", (event) => {
    if (!event.target.closest("button")) zoom(event.shiftKey ? 2 : 0.5, ...fromMiddle(event));
  });

  const step = 60;
  const keys = {
    "+": () => zoom(1 / 1.5), "=": () => zoom(1 / 1.5), "-": () => zoom(1.5), "_": () => zoom(1.5), "0": reset,
    ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0),
    ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step),
  };
  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  const buttons = { in: () => zoom(1 / 1.5), out: () => zoom(1.5), reset };
  for (const button of frame.querySelectorAll("button")) {
    button.addEventListener("click", buttons[button.dataset.does]);
  }

  for (const box of document.querySelectorAll(".legend input")) {
    const layer = svg.querySelector(`[data-layer="${box.dataset.layer}"]`);
    box.addEventListener("change", () => {
      if (box.dataset.circles !== undefined) {
        for (const more of layer.querySelectorAll(".more")) more.classList.toggle("on", box.checked);
        return;
      }
      layer.classList.toggle("off", !box.checked);
      if (box.checked) hidden.delete(box.dataset.layer);
      else hidden.add(box.dataset.layer);
      draw();
    });
  }

  // In a frame of a notebook, or in a tab that is hidden, the map has no size at first.
  const fit = () => {
    if (frame.clientWidth && frame.clientHeight) show(touched && view ? view : fitted());
  };
  new ResizeObserver(fit).observe(frame);
  fit();
  if (view) draw();
})();
