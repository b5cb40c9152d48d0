// Why a row stands where it does: the rows that it moves, or that move it. Each can be looked at in turn.

function reasonsPanel(model) {
  const node = dom("div", { class: "lsat-browser-wide lsat-browser-reasons", role: "group", "aria-label": "Why" });
  const picture = pictureOf(model, "_reasons_image", () => draw());
  const draw = () => {
    const { reasons, behind } = model.get("_zoom");
    const told = reasons?.groups ? reasons : null;
    node.hidden = !told && !behind;
    if (node.hidden) { node.replaceChildren(); return; }
    const had = node.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    node.replaceChildren(dom("div", { class: "lsat-strong", text: "Why" }),
      dom("div", { class: "lsat-muted lsat-small", text: told ? told.words : "Working out which rows are behind this one…" }));
    let place = 0;
    for (const { title, share, rows } of told?.groups ?? []) {
      const strip = dom("div", { class: "lsat-browser-strip" }, ...rows.map((row) => {
        const name = `${told.part} row ${row.row}, ${given(model)} ${row.label}, effect ${row.effect}, ${row.share} of the whole`
          + `${row.similar ? ", similar (kernel above 0)" : ""}`;
        const button = titled("", `${name}. Press to look at it.`,
          () => model.send({ do: "look", part: told.part, position: row.position }));
        button.setAttribute("aria-label", name);
        button.dataset.place = String(place);
        if (picture.url) {
          const frame = dom("span", { class: "lsat-browser-frame", "aria-hidden": "true" });
          paint(frame, told.shape, picture.url, place, told.across, told.across);
          button.append(frame);
        } else button.append(dom("span", { text: row.row }));
        button.append(dom("b", { text: row.label }), dom("span", { class: "lsat-muted", text: row.share }));
        place += 1;
        return button;
      }));
      node.append(dom("div", { class: "lsat-browser-group" }, dom("div", { class: "lsat-row" }, dom("span", { text: title }),
        dom("span", { class: "lsat-muted lsat-small", text: share })), strip));
    }
    if (had !== null) node.querySelector(`[data-place="${had}"]`)?.focus();
  };
  return { node, draw, read: picture.read, end: picture.end };
}
