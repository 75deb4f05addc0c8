"use strict";
// What pages do without being loaded again: take dropped files, follow work in the background, move the slider, draw
// circles, copy.
(() => {
  const find = (what, where = document) => where.querySelector(what);
  const all = (what, where = document) => [...where.querySelectorAll(what)];

  // Files are sent as they are, piece by piece, and never pass through a form. Several of them, such as the parts of a
  // shapefile or a folder, are sent one after the other under one number, and then opened together.
  function post(address, body, tell) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", address);
      request.upload.addEventListener("progress", (event) => tell(event.loaded));
      request.addEventListener("load", () => {
        if (request.status === 200) resolve(JSON.parse(request.responseText).next);
        else reject(new Error(request.responseText));
      });
      request.addEventListener("error", () => reject(new Error("The file could not be read, or the studio has ended.")));
      request.send(body);
    });
  }
  async function send(zone, files) {
    if (!files.length) return;
    const said = find(".sending", zone) || zone.appendChild(Object.assign(document.createElement("p"), { className: "sending" }));
    said.setAttribute("role", "status");
    const title = files.length > 1 ? `${files.length} files` : files[0].file.name;
    const total = files.reduce((sum, { file }) => sum + file.size, 0);
    const number = files.length > 1 || files[0].path.includes("/") ? `&parcel=${crypto.randomUUID()}` : "";
    said.textContent = `Taking in ${title} …`;
    try {
      let done = 0, next = null;
      for (const { file, path } of files) {
        next = await post(`${zone.dataset.upload}${number}&name=${encodeURIComponent(path)}`, file, (loaded) => {
          said.textContent = `Taking in ${title}: ${Math.round((100 * (done + loaded)) / (total || 1))}%`;
        });
        done += file.size;
      }
      location.assign(number ? await post(`${zone.dataset.upload}${number}`, null, () => {}) : next);
    } catch (problem) {
      said.textContent = problem.message;
    }
  }
  // Hidden files, which systems leave in folders, hold no locations.
  const shown = ({ path }) => !path.split("/").some((part, at) => at > 0 && part.startsWith("."));
  const chosen = (files) => [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name })).filter(shown);
  async function within(entry, above = "") {
    const path = above + entry.name;
    if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path }];
    const reader = entry.createReader(), found = [];
    for (;;) {
      // Folders are read in pieces; an empty piece is the end.
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!part.length) return found.filter(shown);
      for (const each of part) found.push(...(await within(each, `${path}/`)));
    }
  }
  async function dropped(transfer) {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
    const files = chosen(transfer.files);
    if (!entries.some((entry) => entry && entry.isDirectory)) return files;
    const found = [];
    for (const entry of entries) if (entry) found.push(...(await within(entry)));
    return found;
  }
  for (const zone of all("[data-upload]")) {
    for (const input of all("input[type=file]", zone)) {
      input.addEventListener("change", () => send(zone, chosen(input.files)));
    }
  }
  const zone = find("[data-upload]");
  if (zone) {
    // A file goes to the zone on which it is dropped, and from anywhere else on the page to the first.
    const under = (event) => event.target.closest("[data-upload]") || zone;
    document.addEventListener("dragover", (event) => { event.preventDefault(); under(event).classList.add("over"); });
    document.addEventListener("dragleave", (event) => under(event).classList.remove("over"));
    document.addEventListener("drop", async (event) => {
      event.preventDefault();
      const target = under(event);
      target.classList.remove("over");
      send(target, await dropped(event.dataTransfer));
    });
  }

  // The bar follows work in the background. The page is loaded again when the work ends, unless the user has begun to
  // fill it in: the result is then on the next page.
  let edited = false;
  document.addEventListener("input", () => { edited = true; });
  async function follow() {
    const bar = find("progress");
    try {
      const { running } = await (await fetch("status")).json();
      const mine = running.find((job) => job.title === document.body.dataset.busy);
      if (!mine) {
        const said = find(".working");
        if (!edited) location.reload();
        else if (said) said.textContent = "Done. Keep what you have filled in, and the page shows what was found.";
        return;
      }
      if (bar && mine.share > 0) bar.value = mine.share;
    } catch {
      if (bar) bar.removeAttribute("value");
    }
    setTimeout(follow, 200);
  }
  if (document.body.dataset.busy) setTimeout(follow, 60);

  // Choosing a question loads a page with its options. The focus stays where it was, so that arrow keys go on working.
  const kept = "focus";
  for (const input of all("[data-submits]")) {
    input.addEventListener("change", () => {
      const filled = all("[required]", input.form);
      for (const each of filled) each.required = false;
      sessionStorage.setItem(kept, input.value);
      input.form.requestSubmit(find("button[value=keep]", input.form));
    });
    if (input.checked && sessionStorage.getItem(kept) === input.value) input.focus();
  }
  sessionStorage.removeItem(kept);
  // A preview with fine cells takes a while: the page says that it is being made.
  const previewed = find("form[data-previews]");
  if (previewed) previewed.addEventListener("submit", () => { find(".making", previewed).hidden = false; });

  // The question about the labels of persons is open once a column of persons is chosen, perhaps before this script
  // runs; its answer is cleared if another column is chosen.
  const labels = find("fieldset.labels"), persons = find("select[name=persons]");
  if (labels && persons) {
    const answers = all("input", labels);
    const ask = () => {
      labels.disabled = ["?", "="].includes(persons.value);
      labels.classList.toggle("warned", !labels.disabled && !answers.some((each) => each.checked && each.value === "yes"));
    };
    persons.addEventListener("change", () => {
      for (const each of answers) each.checked = false;
      ask();
    });
    labels.addEventListener("change", ask);
    ask();
  }

  // Names of places are proposed while the user types.
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
