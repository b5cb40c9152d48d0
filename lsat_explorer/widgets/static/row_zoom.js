// The row that was looked at last: large, with what is known and predicted of it; and the rows that are chosen.

const TELLS = {
  label: "The label or targets given in the data",
  predicted: "What the fitted model says of this row, with the probability of its class under the loss",
  output: "What the fitted model says of this row, with the largest of its outputs",
  loss: "The loss ψ of this row alone, in the unit of the validation loss; its mean over all rows is the training loss",
  rank: "How many rows weigh no more than this one",
};

function zoomCard(model, clear) {
  const node = dom("div", {
    class: "lsat-card lsat-browser-detail", role: "group", "aria-label": "Row that is looked at",
  });
  let url = null, turn = 0;
  const terms = (facts) => dom("dl", {}, ...facts.flatMap(([name, value, title]) =>
    [dom("dt", { text: name, title: title ?? "" }), dom("dd", { text: value })]));

  const bars = (said) => dom("div", { class: "lsat-browser-said" },
    dom("div", { class: "lsat-muted lsat-small", text: `${said.sure ? "Probability" : "Output"} by class` }),
    dom("div", { class: "lsat-browser-bars" }, ...said.bars.flatMap(([label, share, text]) => {
      const bar = dom("span", { class: "lsat-browser-bar-track" }, dom("span"));
      bar.firstElementChild.style.width = `${100 * share}%`;
      return [dom("span", { text: label }), bar, dom("span", { class: "lsat-number", text })];
    })));

  const selection = () => {
    const count = model.get("_picked").length, names = model.get("_picked_names");
    const more = count > names.length ? ` and ${(count - names.length).toLocaleString("en-US")} more` : "";
    const list = dom("span", { class: "lsat-browser-names lsat-muted lsat-small", text: names.join(", ") + more });
    list.hidden = count < 2;
    const copyRows = copyButton("Copy rows", () => names.join("\n"));
    copyRows.title = "Copy the names of the chosen rows, one a line; in Python they are browser.selected";
    return dom("div", { class: "lsat-browser-wide lsat-browser-picks" },
      dom("span", { text: `${counted(count, "row")} selected` }),
      dom("span", { class: "lsat-row lsat-push" }, copyRows, titled("Clear", "Choose no row (Escape)", clear)), list);
  };

  const draw = () => {
    const row = model.get("_zoom"), { can, busy } = model.get("_standing");
    node.replaceChildren();
    if (row.position === undefined) {
      const some = model.get("_shown").positions.length > 0;
      node.append(dom("div", {
        class: "lsat-browser-wide lsat-muted",
        text: some ? "Choose a row to see it here. Ctrl or Shift with a click, or with Space, chooses several." : "",
      }));
    } else {
      const frame = dom("div", { class: "lsat-browser-frame", "aria-hidden": "true" });
      if (row.graph) { plot(frame, row.graph); frame.title = DEVIATION; }
      else paint(frame, row.shape, url);
      const said = row.said, first = said.bars?.[0];
      const sure = first ? ` · ${first[2]}` : "";
      const waiting = !can ? "once the run has begun" : busy ? "…" : "–";
      const title = first && !said.sure ? TELLS.output : TELLS.predicted;
      const facts = [["label", row.label, TELLS.label], ["predicted", said.words ? said.words + sure : waiting, title],
        ...(said.words ? [["loss", said.loss, TELLS.loss]] : []),
        ...(model.get("_shown").tuned ? [["weight", row.weight, MEANING], ["rank", row.rank, TELLS.rank]] : [])];
      node.append(frame,
        dom("div", {}, dom("div", { class: "lsat-browser-heading", text: `Row ${row.row}` }), terms(facts)));
      if (first) node.append(bars(said));
      if (row.values) {
        const some = row.values.length < row.inputs ? `${row.values.length} of ${row.inputs} features` : "Features";
        const heading = `${some}, farthest from the mean of the training rows first`;
        node.append(dom("div", { class: "lsat-browser-wide" },
          dom("div", { class: "lsat-muted lsat-small", text: heading }),
          dom("div", {
            class: "lsat-browser-values", tabindex: "0", role: "group", "aria-label": "Features of the row",
          }, terms(row.values))));
      }
    }
    if (model.get("_picked").length) node.append(selection());
  };

  const read = async () => {
    const mine = ++turn, fresh = await decoded(model.get("_zoom_image"));
    if (mine !== turn) { if (fresh) URL.revokeObjectURL(fresh); return; }
    if (url) URL.revokeObjectURL(url);
    url = fresh;
    draw();
  };
  const end = () => { turn++; if (url) URL.revokeObjectURL(url); };
  return { node, draw, read, end };
}
