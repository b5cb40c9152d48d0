// The line above the drawing: where nodes are drawn, how large, and what can be undone.

const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];

const graphBar = (model, tell) => {
  const set = (zoom) => { model.set("_zoom", zoom); model.save_changes(); };
  const zoomBy = (steps) => {
    const at = ZOOMS.findLastIndex((zoom) => zoom <= model.get("_zoom") + 1e-9);
    set(ZOOMS[clamp(at + steps, 0, ZOOMS.length - 1)]);
  };
  const placement = dom("select", { title: "Where nodes are drawn; it changes no edge" });
  placement.addEventListener("change", () => tell("place", { placement: placement.value }));
  const again = button("Lay out again", "Ask networkx for places that suit the present edges",
    () => tell("place", { placement: "networkx" }));
  const out = button("−", "Zoom out (minus)", () => zoomBy(-1));
  const closer = button("+", "Zoom in (plus, or Ctrl with the wheel)", () => zoomBy(1));
  out.setAttribute("aria-label", "Zoom out");
  closer.setAttribute("aria-label", "Zoom in");
  const scale = button("", "Show the whole graph", () => set(1), "lsat-editor-scale");
  const undo = button("Undo", "", () => tell("undo")), redo = button("Redo", "", () => tell("redo"));
  const node = dom("div", { class: "lsat-row lsat-editor-bar" },
    labelled("Nodes", placement), again,
    dom("span", { class: "lsat-segments", role: "group", "aria-label": "Zoom" }, out, scale, closer),
    dom("span", { class: "lsat-segments lsat-push", role: "group", "aria-label": "History" }, undo, redo));
  const update = () => {
    const { placements, placement: present } = model.get("_frame"), { undo: back, redo: forth } = model.get("_shown");
    placement.replaceChildren(...placements.map(({ name, label, enabled }) => {
      const option = dom("option", { value: name, text: label });
      option.disabled = !enabled;
      return option;
    }));
    placement.value = present;
    again.hidden = present !== "networkx";
    const zoom = model.get("_zoom");
    scale.textContent = `${Math.round(100 * zoom)} %`;
    scale.setAttribute("aria-label", `Zoom ${scale.textContent}, show the whole graph`);
    out.disabled = zoom <= ZOOMS[0];
    closer.disabled = zoom >= ZOOMS[ZOOMS.length - 1];
    const steps = [[undo, "Undo", back, "Ctrl+Z"], [redo, "Redo", forth, "Ctrl+Shift+Z"]];
    for (const [control, word, label, keys] of steps) {
      control.disabled = !label;
      control.title = label ? `${word}: ${label} (${keys})` : `Nothing to ${word.toLowerCase()}`;
    }
  };
  return { node, update, zoomBy };
};
