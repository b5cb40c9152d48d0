// θ of one output without and with the penalty, as two images of one scale or as two curves.
const effectCard = (model) => {
  const choice = dom("select", { title: "Whose coefficients θ are shown" });
  const noun = dom("span", { class: "lsat-muted" });
  const chooser = dom("label", {}, noun, choice);
  choice.addEventListener("change", () => { model.set("_class", Number(choice.value)); model.save_changes(); });
  const pictures = dom("div", { class: "lsat-editor-pictures" });
  const table = dom("table", { class: "lsat-table" });
  const words = dom("div", { class: "lsat-muted", role: "status" });
  const inside = dom("div", { class: "lsat-editor-effect" }, pictures, dom("div", {}, table, words));
  const { node, facts } = card("Effect on θ", inside);
  facts.replaceChildren(chooser);
  const colour = (variable) => { // as the theme has it now, whatever way it is written
    const probe = dom("span"), point = dom("canvas", { width: 1, height: 1 });
    const brush = point.getContext("2d", { willReadFrequently: true });
    probe.style.color = `var(${variable})`;
    node.append(probe);
    brush.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const image = (values, [height, width], limit, caption) => {
    const canvas = dom("canvas", { width, height, role: "img", "aria-label": `θ with ${caption}` });
    const pixels = new ImageData(width, height), signs = [colour("--lsat-plus"), colour("--lsat-minus")];
    values.forEach((value, i) => {
      const share = Number.isFinite(value) ? Math.min(1, Math.abs(value) / limit) : 0;
      pixels.data.set([...signs[value < 0 ? 1 : 0], Math.round(255 * share)], 4 * i);
    });
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    canvas.style.aspectRatio = `${width} / ${height}`;
    return dom("figure", {}, canvas, dom("figcaption", { class: "lsat-muted", text: caption }));
  };
  const curves = (before, after, limit, captions) => {
    const drawn = make("svg", { viewBox: "0 0 300 96", preserveAspectRatio: "none", role: "img" });
    drawn.setAttribute("aria-label", "θ of each feature, in order, before and after");
    const look = (which) => (which ? "lsat-editor-after" : "lsat-editor-before");
    const high = (value) => tenth(48 - 44 * clamp(value / limit, -1.05, 1.05));
    drawn.append(make("line", { x1: 0, x2: 300, y1: 48, y2: 48 }));
    [before, after].forEach((values, which) => {
      const points = [...values].map((value, i) => `${tenth((300 * (i + 0.5)) / values.length)},${high(value)}`);
      drawn.append(make("polyline", { points: points.join(" "), class: look(which) }));
    });
    const keys = captions.map((text, which) => dom("span", { class: look(which), text }));
    const caption = dom("figcaption", { class: "lsat-row lsat-muted" }, ...keys);
    return [dom("figure", { class: "lsat-editor-curves" }, drawn, caption)];
  };
  const update = () => {
    const effect = model.get("_effect"), theta = numbers(model.get("_theta"), Float32Array);
    const outputs = effect.outputs || [];
    chooser.hidden = outputs.length < 2;
    noun.textContent = effect.noun || "";
    if ([...choice.options].map((option) => option.textContent).join("\n") !== outputs.join("\n")) {
      choice.replaceChildren(...outputs.map((text, i) => dom("option", { value: String(i), text })));
    }
    choice.value = String(model.get("_class"));
    node.setAttribute("aria-busy", String(effect.state === "busy"));
    node.classList.toggle("lsat-editor-busy", effect.state === "busy");
    words.textContent = effect.words || "";
    const ready = effect.captions && theta.length > 0 && node.isConnected; // before, it has no colours
    pictures.hidden = table.hidden = !ready;
    if (!ready) return;
    const n = theta.length / 2, [before, after] = [theta.subarray(0, n), theta.subarray(n)];
    const { shape, limit, captions, facts: lines } = effect;
    pictures.replaceChildren(...(shape.length
      ? [before, after].map((values, which) => image(values, shape, limit, captions[which]))
      : curves(before, after, limit, captions)));
    const cell = (tag, text, i) => {
      const scope = tag === "th" ? { scope: "col" } : {};
      return dom(tag, { text, class: i ? "lsat-number" : "", ...scope });
    };
    const row = (tag, texts) => dom("tr", {}, ...texts.map((text, i) => cell(tag, text, i)));
    table.replaceChildren(dom("thead", {}, row("th", ["quick fit", "before", "after"])),
      dom("tbody", {}, ...lines.map((line) => row("td", line))));
  };
  return { node, update };
};
