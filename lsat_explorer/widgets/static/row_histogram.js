// The weights of all rows as a histogram, with a brush: dragged across the bars, or by its two handles.

const MEANING = "A weight e^{2ω} says how often a row counts in the fit: 1 is once, 0.5 half. It has no unit, and is "
  + "neither an error nor a quality of the row.";
const HIGH = 44; // px of the bars
const TELL = 90; // ms between two ranges told while a hand drags

function histogramCard(model, set) {
  const drawing = svg("svg", { viewBox: `0 0 100 ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const band = dom("div", { class: "lsat-browser-band" });
  const ends = ["Least weight shown", "Largest weight shown"].map((label) => dom("div", {
    class: "lsat-browser-handle", role: "slider", tabindex: "0", "aria-label": label,
    title: `${label}. Arrow keys move it by a bar, Page keys by eight, Home and End to the ends; Escape shows all.`,
  }));
  const area = dom("div", { class: "lsat-browser-area" }, drawing, band, ...ends);
  const low = dom("span"), one = dom("span", { text: "1" }), high = dom("span");
  const axis = dom("div", { class: "lsat-browser-axis lsat-muted lsat-small", "aria-hidden": "true" }, low, one, high);
  const span = dom("span", { class: "lsat-strong", title: MEANING });
  const words = dom("span", { class: "lsat-muted" });
  const offer = dom("span", { class: "lsat-muted lsat-small" });
  const all = titled("All weights", "Show rows of any weight (Escape on a handle)", () => set("_brush", []));
  all.className = "lsat-link";
  const node = dom("div", { class: "lsat-browser-weights", role: "group", "aria-label": "Weights" },
    dom("div", { class: "lsat-browser-histogram" }, area, axis),
    dom("div", { class: "lsat-browser-range" }, span, words, all, offer));

  let held = null; // the shares of the two ends while a hand drags
  let timer = null, grip = 0, from = 0;
  const scale = () => {
    const { low, high, log } = model.get("_shown").histogram;
    const f = log ? (value) => Math.log(Math.max(value, 1e-300)) : (value) => value;
    const a = f(low), wide = f(high) - a;
    return {
      share: (value) => (wide > 0 ? Math.min(1, Math.max(0, (f(value) - a) / wide)) : 0),
      value: (share) => (log ? Math.exp(a + share * wide) : a + share * wide),
    };
  };
  const bins = () => model.get("_shown").histogram.all.length;
  const shares = () => {
    if (held) return held;
    const [least, largest] = model.get("_brush"), { share } = scale();
    return [least == null ? 0 : share(least), largest == null ? 1 : share(largest)];
  };
  const tell = ([a, b]) => {
    const { value } = scale();
    const ends = [a <= 0 ? null : Number(value(a).toPrecision(6)), b >= 1 ? null : Number(value(b).toPrecision(6))];
    set("_brush", ends.every((end) => end === null) ? [] : ends);
  };
  const soon = () => {
    if (timer === null) timer = setTimeout(() => { timer = null; if (held) tell(held); }, TELL);
  };

  const move = (place, share) => {
    const now = shares();
    now[place] = place ? Math.max(now[0], share) : Math.min(now[1], share);
    return now;
  };
  ends.forEach((end, place) => end.addEventListener("keydown", (event) => {
    const step = 1 / bins(), at = Math.round(shares()[place] / step);
    const moves = {
      ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - 8, PageUp: at + 8,
      Home: 0, End: bins(),
    };
    if (event.key in moves) tell(move(place, Math.min(1, Math.max(0, moves[event.key] * step))));
    else if (event.key === "Escape") set("_brush", []);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }));

  const shareAt = (event) => {
    const box = area.getBoundingClientRect();
    const step = 1 / bins();
    return Math.min(1, Math.max(0, Math.round((event.clientX - box.left) / box.width / step) * step));
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.button || bins() < 2) return;
    const place = ends.indexOf(event.target);
    grip = place >= 0 ? 1 : 2; // a handle, or a new range
    from = place >= 0 ? shares()[1 - place] : shareAt(event);
    area.setPointerCapture(event.pointerId);
    if (place >= 0) ends[place].focus({ preventScroll: true });
    event.preventDefault();
  });
  area.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const to = shareAt(event);
    if (!held && to === from) return;
    held = [Math.min(from, to), Math.max(from, to)];
    drawBrush();
    soon();
  });
  const release = () => {
    const [was, range] = [grip, held];
    grip = 0;
    held = null;
    clearTimeout(timer);
    timer = null;
    if (was && range) tell(range[0] < range[1] ? range : [0, 1]);
  };
  area.addEventListener("pointerup", release);
  area.addEventListener("pointercancel", release);
  area.addEventListener("dblclick", () => set("_brush", []));

  const drawBrush = () => {
    const [a, b] = shares(), { value } = scale(), { low: least, high: largest } = model.get("_shown").histogram;
    const some = bins() > 1;
    band.style.left = `${100 * a}%`;
    band.style.width = `${100 * (b - a)}%`;
    band.hidden = !some || (a <= 0 && b >= 1);
    ends.forEach((end, place) => {
      const share = [a, b][place], now = value(share);
      end.style.left = `${100 * share}%`;
      end.hidden = !some;
      end.setAttribute("aria-valuemin", String(least));
      end.setAttribute("aria-valuemax", String(largest));
      end.setAttribute("aria-valuenow", String(now));
      end.setAttribute("aria-valuetext", `weight ${number(now)}${share === place ? ", no limit" : ""}`);
    });
  };

  const update = () => {
    const now = model.get("_shown"), found = now.histogram, count = found.all.length;
    node.hidden = !now.tuned;
    const width = count > 1 ? 100 / count : 4, start = count > 1 ? 0 : 48;
    const key = JSON.stringify(found);
    const fresh = drawing.dataset.key !== key; // a page that turns has the same bars
    if (fresh) drawing.replaceChildren(...["all", "kept"].flatMap((which, layer) => found[which].map((rows, place) => {
      if (!rows) return "";
      const tall = Math.max(1.5, found.tall[layer][place] * HIGH);
      return svg("rect", { class: which, x: start + place * width, width: width * 0.82, y: HIGH - tall, height: tall });
    })).filter(Boolean));
    drawing.dataset.key = key;
    const { share } = scale();
    const at = share(1), between = count > 1 && found.low < 1 && found.high > 1;
    if (between && fresh) drawing.append(svg("line", { x1: 100 * at, x2: 100 * at, y1: 0, y2: HIGH }));
    [low.textContent, high.textContent] = count > 1 ? found.ends : ["", ""];
    one.hidden = !between || at < 0.15 || at > 0.85;
    one.style.left = `${100 * at}%`;
    const filtered = now.total < now.all;
    area.title = `Histogram of the weights of ${counted(now.all, "row")}${filtered ? "; in colour: those shown" : ""}.`
      + `${found.steep ? " The bars are as high as the logarithm of their rows." : ""}`
      + (count > 1 ? " Drag across it to show the rows of a range." : " All are equal: there is no range to choose.");
    span.textContent = now.span;
    offer.textContent = now.offer?.short ?? "";
    offer.title = now.offer?.long ?? "";
    const brushed = model.get("_brush").length > 0;
    words.textContent = filtered ? (now.kept_span ? `shown: ${now.kept_span}` : "no row shown")
      : count > 1 ? "drag across the bars to show a range" : "no range to choose yet";
    all.hidden = !brushed;
    drawBrush();
  };
  return { node, update };
}
