// The row that was looked at last: large, with what is known and predicted of it; and the rows that are chosen.

const UNSEEN = "Test rows are shown without predictions. run.test() looks at them, and counts the looks.";
const TELLS = {
  label: "The label or targets given in the data",
  predicted: "What the fitted model says of this row, with the probability of its class under the loss",
  output: "What the fitted model says of this row, with the largest of its outputs",
  loss: "The loss ψ of this row alone, in the unit of the validation loss; its mean over all rows is the training loss",
  rank: "How many rows weigh no more than this one",
  suggested: "The other label that the fit without this row favours most, with its probability; the one given may be right",
  doubt: "By how much the fit without this row favours the suggested label over the one given (the leave-one-out margin); "
    + "in regression the studentised residual. It is no error of the row.",
  effect: "What more weight on this row does to the validation loss: above 0 it lowers it. With its standard error over the "
    + "validation rows; an effect of less than two of them says little.",
};

function zoomCard(model, clear, judge, reasons) {
  const top = dom("div", { class: "lsat-browser-contents" }), more = dom("div", { class: "lsat-browser-contents" });
  const node = dom("div", {
    class: "lsat-card lsat-browser-detail", role: "group", "aria-label": "Row that is looked at",
  }, top, judge.node, more, reasons.node);
  const picture = pictureOf(model, "_zoom_image", () => draw());
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
    const copyRows = copyButton("Copy rows", () => model.get("_picked_text"));
    copyRows.title = "Copy the names of the chosen rows, one a line; in Python they are browser.selected";
    return dom("div", { class: "lsat-browser-wide lsat-browser-picks" },
      dom("span", { text: `${counted(count, "row")} selected` }),
      dom("span", { class: "lsat-row lsat-push" }, copyRows, titled("Clear", "Choose no row (Escape)", clear)), list);
  };

  const back = () => {
    const trail = model.get("_trail"), [part, , name] = trail[trail.length - 1] ?? [];
    if (!trail.length) return [];
    const button = titled(`‹ ${part} row ${name}`, "Look at the row before again", () => model.send({ do: "back" }));
    button.className = "lsat-link lsat-browser-back";
    return [button];
  };
  const facts = (row) => {
    const { can, busy } = model.get("_standing"), { tuned, part } = model.get("_shown");
    const said = row.said, first = said.bars?.[0], sure = first ? ` · ${first[2]}` : "";
    const waiting = !can ? "once the run has begun" : busy ? "…" : "–";
    const title = first && !said.sure ? TELLS.output : TELLS.predicted;
    const suggested = row.suggested === undefined ? [] : [
      ["suggested", `${row.suggested} · ${row.confidence}`, TELLS.suggested], ["doubt", row.doubt, TELLS.doubt]];
    return [[part === "training" ? "given" : given(model), row.label, TELLS.label], ...suggested,
      ...(part === "test" ? [] : [["predicted", said.words ? said.words + sure : waiting, title]]),
      ...(said.words ? [["loss", said.loss, TELLS.loss]] : []),
      ...(row.effect === undefined ? [] : [["effect", row.effect, TELLS.effect]]),
      ...(tuned ? [["weight", row.weight, MEANING], ["rank", row.rank, TELLS.rank]] : [])];
  };
  const draw = () => {
    const row = model.get("_zoom"), had = node.contains(document.activeElement) ? document.activeElement : null;
    top.replaceChildren();
    more.replaceChildren();
    // where no row can be chosen and none is, an empty card would only take room
    node.hidden = row.position === undefined && !model.get("_shown").positions.length && !model.get("_picked").length;
    if (row.position === undefined) {
      top.append(dom("div", {
        class: "lsat-browser-wide lsat-muted",
        text: "Choose a row to see it here. Ctrl or Shift with a click, or with Space, chooses several.",
      }));
    } else {
      const frame = dom("div", { class: "lsat-browser-frame", "aria-hidden": "true" });
      if (row.graph) { plot(frame, row.graph); frame.title = DEVIATION; }
      else paint(frame, row.shape, picture.url);
      top.append(frame, dom("div", {}, ...back(),
        dom("div", { class: "lsat-browser-heading", text: `Row ${row.row}` }), terms(facts(row))));
      if (model.get("_shown").part === "test") {
        more.append(dom("div", { class: "lsat-browser-wide lsat-muted", text: UNSEEN }));
      }
      if (row.said.bars?.[0]) more.append(bars(row.said));
      if (row.values) {
        const some = row.values.length < row.inputs ? `${row.values.length} of ${row.inputs} features` : "Features";
        const heading = `${some}, farthest from the mean of the training rows first`;
        more.append(dom("div", { class: "lsat-browser-wide" },
          dom("div", { class: "lsat-muted lsat-small", text: heading }),
          dom("div", {
            class: "lsat-browser-values", tabindex: "0", role: "group", "aria-label": "Features of the row",
          }, terms(row.values))));
      }
    }
    if (model.get("_picked").length) more.append(selection());
    judge.draw();
    reasons.draw();
    // what had the focus was drawn anew: the first button has it now
    if (had && !node.contains(document.activeElement)) node.querySelector("button:not(:disabled)")?.focus();
  };
  return { node, draw, read: picture.read, end: picture.end };
}
