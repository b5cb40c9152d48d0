// The training rows, a page at a time, as thumbnails from one sprite or as lines of a table. Python decides which rows
// a page has; this shows them, and writes order, filters, page, size and picks back as traits.

const AHEAD = ["_ahead_0", "_ahead_1", "_ahead_2"];
const UNTUNED = "The recipe tunes no row weights: each row counts the same in the fit.";

function render({ model: source, el }) {
  el.classList.add("lsat", "lsat-browser");
  let early = null; // the next page, which was at hand: shown until Python has sent it as the present one
  const model = {
    get: (name) => (name === "_shown" && early ? early.shown : source.get(name)),
    set: (name, value) => source.set(name, value),
    save_changes: () => source.save_changes(),
    send: (content) => source.send(content),
    on: (event, handler) => source.on(event, handler),
    off: (event, handler) => source.off(event, handler),
  };
  const set = (name, value) => { model.set(name, value); model.save_changes(); };
  // a hand that chooses rows says which one it looks at, for it may have let go of that one
  const pick = (positions, looked = positions[positions.length - 1] ?? -1) => {
    model.set("_looked", looked);
    set("_picked", positions);
  };
  const look = (position) => set("_looked", position);
  const bar = controlBar(model, set);
  const weights = histogramCard(model, set);
  const untuned = dom("div", { class: "lsat-muted lsat-browser-untuned", text: UNTUNED });
  const confusion = confusionPanel(model, set);
  const standing = standingLine(model);
  const judge = verdictKeys(model, look);
  const verdicts = verdictLine(model, set, judge);
  const reasons = reasonsPanel(model);
  const rows = rowList(model, set, pick, look, judge.press);
  const zoom = zoomCard(model, () => pick([]), judge, reasons);
  const notes = dom("div", { class: "lsat-browser-notes", role: "status" });
  const empty = dom("div", { class: "lsat-empty" }, dom("div", { text: "No row passes these filters." }),
    titled("Show all rows", "Take away class, verdict, confusion cell and range of weights", bar.clear));
  rows.list.addEventListener("keydown", rows.press(bar.step));
  // the notebook's command mode would take the keys of buttons and lists
  el.addEventListener("keydown", (event) => {
    if (["Enter", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
      event.stopPropagation();
    } else judge.press(event, model.get("_looked"));
  });
  el.append(bar.node, weights.node, untuned, confusion.node, standing.node, notes, verdicts.node,
    dom("div", { class: "lsat-browser-body" },
      dom("div", { class: "lsat-browser-side" }, rows.node, empty), zoom.node));

  let url = null; // of the sprite on show
  let latest = 0; // counts sprites, so that only the newest is drawn
  let reading = false; // whether a sprite is being decoded
  const drawWords = () => {
    if (reading) return; // what comes after the sprite draws the words too
    const now = model.get("_shown");
    bar.update();
    weights.update();
    untuned.hidden = now.tuned || now.part !== "training";
    notes.replaceChildren(...now.notes.map((text) => dom("div", { text })));
    notes.hidden = now.notes.length === 0;
    verdicts.draw();
    confusion.update();
    rows.draw(url);
    empty.hidden = now.positions.length > 0;
    standing.draw();
    zoom.draw();
  };
  // words and pictures change together: the new sprite is decoded before anything moves
  const drawAll = async () => {
    const mine = ++latest;
    reading = true;
    const fresh = await decoded(model.get("_sprite"));
    if (mine !== latest) { if (fresh) URL.revokeObjectURL(fresh); return; }
    show(fresh);
  };
  const show = (fresh) => {
    latest++;
    reading = false;
    if (url && url !== fresh) URL.revokeObjectURL(url);
    url = fresh;
    drawWords();
  };
  // the pages after this one, with their sprites decoded, for the moment in which somebody turns to one of them
  const next = AHEAD.map(() => ({ shown: null, url: null }));
  const forget = (slot) => {
    if (next[slot].url) URL.revokeObjectURL(next[slot].url);
    next[slot] = { shown: null, url: null };
  };
  const readNext = (slot) => async () => {
    const ahead = source.get(AHEAD[slot]);
    forget(slot);
    if (!ahead.positions) return;
    const fresh = await decoded(source.get(`_sprite_${slot}`));
    if (ahead !== source.get(AHEAD[slot])) { if (fresh) URL.revokeObjectURL(fresh); return; }
    next[slot] = { shown: ahead, url: fresh };
    if (source.get("_shown").page !== source.get("page")) turn(); // somebody has turned to it meanwhile
  };
  const same = (one, other) => one.stamp === other.stamp && one.page === other.page;
  const turn = () => {
    const wanted = { stamp: source.get("_shown").stamp, page: source.get("page") };
    const found = next.find(({ shown }) => shown && same(shown, wanted));
    if (found) {
      early = { shown: found.shown };
      const fresh = found.url;
      found.shown = found.url = null;
      show(fresh);
    } else bar.update();
  };
  let pending = false, pictured = false; // one drawing per message, whatever number of traits it brings
  const later = (withPicture) => () => {
    pictured = pictured || withPicture;
    if (pending) return;
    pending = true;
    queueMicrotask(() => {
      const now = source.get("_shown"), known = early && same(early.shown, now); // its sprite is on show
      const passed = early && !known && now.stamp === early.shown.stamp && early.shown.page === source.get("page");
      const whole = pictured;
      pending = pictured = false;
      if (passed) return; // somebody has turned on since: what Python sends of that page comes next
      early = null;
      if (known) return; // it was drawn when somebody turned to it
      if (whole) drawAll();
      else drawWords();
    });
  };
  const decided = () => { verdicts.draw(); bar.update(); judge.draw(); };
  const told = () => { standing.draw(); zoom.draw(); bar.update(); confusion.update(); rows.drawHead(); };
  // what a hand chose is shown at once; the rows of it come with what Python answers
  const chosen = () => { bar.update(); weights.update(); confusion.update(); standing.draw(); };
  const handlers = [
    [["_sprite"], later(true)], [["_shown"], later(false)],
    [["page"], turn], ...AHEAD.map((name, slot) => [[name], readNext(slot)]),
    [["order", "_class", "_cell", "_brush", "_size", "_folded", "_matrix", "part", "verdict", "_parts"], chosen], [["_standing"], told], [["_zoom", "_picked_names"], () => { zoom.draw(); standing.draw(); }],
    [["_picked"], () => { rows.drawPicks(); zoom.draw(); }], [["_zoom_image"], zoom.read], [["_trail"], zoom.draw],
    [["_judged"], decided], [["_answer", "_solving"], verdicts.draw], [["_reasons_image"], reasons.read],
  ];
  for (const [names, handler] of handlers) for (const name of names) model.on(`change:${name}`, handler);
  drawAll();
  AHEAD.forEach((_, slot) => readNext(slot)());
  zoom.read();
  reasons.read();
  return () => {
    for (const [names, handler] of handlers) for (const name of names) model.off(`change:${name}`, handler);
    latest++;
    if (url) URL.revokeObjectURL(url);
    AHEAD.forEach((_, slot) => forget(slot));
    zoom.end();
    reasons.end();
  };
}

export default { render: heard(render) };
