"use strict";
// What the pages do at once: take dropped files, follow work in the background, move the slider, draw circles, copy.
(() => {
  const find = (what, where = document) => where.querySelector(what);
  const all = (what, where = document) => [...where.querySelectorAll(what)];

  // Files are sent as they are, piece by piece, and never pass through a form.
  function send(zone, file) {
    if (!file) return;
    const said = find(".sending", zone) || zone.appendChild(Object.assign(document.createElement("p"), { className: "sending" }));
    said.setAttribute("role", "status");
    said.textContent = `Taking in ${file.name} …`;
    const request = new XMLHttpRequest();
    request.open("POST", `${zone.dataset.upload}&name=${encodeURIComponent(file.name)}`);
    request.upload.addEventListener("progress", (event) => {
      said.textContent = `Taking in ${file.name}: ${Math.round((100 * event.loaded) / event.total)}%`;
    });
    request.addEventListener("load", () => {
      if (request.status === 200) location.assign(JSON.parse(request.responseText).next);
      else said.textContent = request.responseText;
    });
    request.addEventListener("error", () => { said.textContent = "The studio has ended: start it again."; });
    request.send(file);
  }
  for (const zone of all("[data-upload]")) {
    find("input[type=file]", zone).addEventListener("change", (event) => send(zone, event.target.files[0]));
  }
  const zone = find("[data-upload]");
  if (zone) {
    // A file goes to the zone on which it is dropped, and from anywhere else on the page to the first.
    const under = (event) => event.target.closest("[data-upload]") || zone;
    document.addEventListener("dragover", (event) => { event.preventDefault(); under(event).classList.add("over"); });
    document.addEventListener("dragleave", (event) => under(event).classList.remove("over"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      under(event).classList.remove("over");
      send(under(event), event.dataTransfer.files[0]);
    });
  }

  // Work in the background: the bar follows it, and the page is shown anew when it ends, unless somebody has begun to
  // fill it in: what was found is then on the next page.
  let edited = false;
  document.addEventListener("input", () => { edited = true; });
  async function follow() {
    const bar = find("progress");
    try {
      const { running } = await (await fetch("status")).json();
      const mine = running.find((job) => job.title === document.body.dataset.busy);
      if (!mine) {
        if (!edited) location.reload();
        return;
      }
      if (bar && mine.share > 0) bar.value = mine.share;
    } catch {
      if (bar) bar.removeAttribute("value");
    }
    setTimeout(follow, 200);
  }
  if (document.body.dataset.busy) setTimeout(follow, 60);

  // Choosing a question shows its options.
  for (const input of all("[data-submits]")) {
    input.addEventListener("change", () => {
      const filled = all("[required]", input.form);
      for (const each of filled) each.required = false;
      input.form.requestSubmit(find("button[value=keep]", input.form));
    });
  }

  // Names of places while one types.
  const area = find("input[list=places]");
  if (area) {
    area.addEventListener("input", async () => {
      const names = await (await fetch(`places?q=${encodeURIComponent(area.value)}`)).json();
      find("#places").replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
    });
  }

  // The slider: numbers follow it, and circles grow with it. Nothing is decided until its form is sent.
  const range = find("#range"), svg = find(".frame > svg");
  const hide = find("#budget input[name=hide]");
  const circles = [];
  const words = (away) => (away >= 1000 ? `${away / 1000} km` : `${away} m`);
  function drawCircles() {
    const away = Number(hide && hide.value) || 0;
    for (const circle of circles) circle.setAttribute("r", away);
  }
  const places = find("[data-around]");
  if (places && svg) {
    for (const [x, y] of JSON.parse(places.dataset.around)) {
      const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [name, value] of Object.entries({ cx: x, cy: y, r: 0, class: "hidden-distance" })) circle.setAttribute(name, value);
      svg.append(circle);
      circles.push(circle);
    }
    drawCircles();
    const form = find("#place");
    const at = (clientX, clientY) => {
      const place = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
      form.elements.x.value = place.x;
      form.elements.y.value = place.y;
    };
    let pressed = null;
    svg.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
    find(".frame").addEventListener("pointerup", (event) => {
      if (!pressed || event.target.closest("button") || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
      at(event.clientX, event.clientY);
      form.requestSubmit(find("[data-middle]"));
    });
    find("[data-middle]").addEventListener("click", (event) => {
      if (!event.detail && !event.isTrusted) return;
      const box = svg.getBoundingClientRect();
      at(box.left + box.width / 2, box.top + box.height / 2);
    });
  }
  if (range) {
    const distances = range.dataset.distances.split(" ").map(Number);
    let asked = 0;
    range.addEventListener("input", async () => {
      const away = distances[range.value];
      range.classList.remove("undecided");
      hide.value = away;
      for (const name of ["rho", "epsilon"]) hide.form.elements[name].value = "";
      find("#shown").textContent = words(away);
      range.setAttribute("aria-valuetext", words(away));
      drawCircles();
      const mine = ++asked;
      const told = await (await fetch(`numbers?hide=${away}`)).text();
      if (mine === asked) find("#numbers").innerHTML = told;
    });
  }

  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(find("pre", button.parentElement).textContent);
      button.textContent = "Copied";
    });
  }
})();
