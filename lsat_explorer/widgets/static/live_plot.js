// The curves are plotly's, whose module is five megabytes of script. A page reads it once, and not before everything else
// has been painted; what Python tells the figure until then is kept, and told to plotly's widget afterwards.

const MODULES = (globalThis[Symbol.for("lsat_explorer.modules")] ??= new Map());
const MESSAGES = ["addTraces", "deleteTraces", "moveTraces", "restyle", "relayout", "update", "animate",
  "removeLayoutProps", "removeTraceProps"].map((name) => `_py2js_${name}`);
const MOST_KEPT = 20; // messages: a figure that nobody looks at hoards no history

const moduleOf = (name, script) => {
  if (!MODULES.has(name)) {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const read = import(url).finally(() => URL.revokeObjectURL(url));
    read.catch(() => MODULES.delete(name)); // the next view may try again
    MODULES.set(name, read);
  }
  return MODULES.get(name);
};

const painted = () => new Promise((go) => {
  const idle = globalThis.requestIdleCallback ?? setTimeout;
  if (document.hidden) go(); // no frame comes
  else requestAnimationFrame(() => requestAnimationFrame(() => idle(go, { timeout: 300 })));
});

// A message names values for some curves only and says "_undefined_" of the others, which plotly's model would take for
// their values: a view that is drawn later would lack them.
const said = (message) => {
  const place = ["layout_data", "relayout_data"].find((key) => message?.[key]?.height && !("width" in message[key]));
  // with a new height plotly would keep the width of that moment for good
  if (place) return said({ ...message, [place]: { ...message[place], width: null, autosize: true } });
  const kind = ["style_data", "restyle_data"].find((key) => message?.[key]);
  if (!kind) return message;
  const one = (value) => (value === "_undefined_" ? undefined : value);
  const values = Object.entries(message[kind])
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(one) : one(value)]);
  return { ...message, [kind]: Object.fromEntries(values) };
};

// What stands in the figure's place meanwhile: its titles and the feet of its panels, where plotly will put them.
const outline = ({ height, margin, annotations = [], shapes = [] }) => {
  const place = dom("div", { class: "lsat-plot-place", style: `height: ${height}px` });
  const top = (y) => `${margin.t + (1 - y) * (height - margin.t - margin.b)}px`;
  const put = (name, y, text = "") => {
    const part = dom("div", { class: name, text, style: `top: ${top(y)}; left: ${margin.l}px; right: ${margin.r}px` });
    place.append(part);
    return part;
  };
  for (const { name, text, y } of annotations) {
    if (name === "empty") put("lsat-plot-words", y, text || "curves are being drawn…").setAttribute("role", "status");
    else if (/^title /.test(name) && text) put("lsat-plot-title", y, text.replace(/<[^>]*>/g, ""));
  }
  for (const { name, y0 } of shapes) if (/^foot /.test(name)) put("lsat-plot-foot", y0);
  return place;
};

export default () => {
  let source = null;
  let widget = null; // a promise of plotly's own
  let kept = [];
  let told = []; // the message of Python that is told to plotly's widget again
  let heard = null; // what a view listens to
  const handlers = []; // what the widget listens to

  // Plotly's views go on listening after they are taken away and then fail, which also keeps the views behind them from
  // drawing: here what a view listens to ends with it.
  const hear = (event, handler) => {
    (heard ?? handlers).push([event, handler]);
    source.on(event, handler);
  };
  // After every update plotly sends all that it assumes of each curve to Python, where nobody asks for it and it fails on
  // arrays: a tuner would spend more on that than on its curves.
  const untold = (model) => (name, value) => {
    if (!/^_js2py_(trace|widget_layout)Deltas?$/.test(name)) model.set(name, value);
  };
  const listening = {
    get(model, name) {
      if (name === "on") return hear;
      if (name === "set") return untold(model);
      if (name === "get") return (trait) => said(told[0] === trait ? told[1] : model.get(trait));
      return typeof model[name] === "function" ? model[name].bind(model) : model[name];
    },
  };

  const recorders = MESSAGES.map((name) => [`change:${name}`, () => {
    if (source.get(name) !== null && kept.push([name, source.get(name)]) > MOST_KEPT) begun();
  }]);
  const begun = () => {
    widget ??= moduleOf(source.get("_module_name"), source.get("_module")).then((module) => {
      const plotly = module.default();
      for (const [event, recorder] of recorders) source.off(event, recorder);
      plotly.initialize({ model: new Proxy(source, listening) });
      for (told of kept) {
        for (const [event, handler] of handlers) if (event === `change:${told[0]}`) handler();
      }
      kept = told = [];
      return plotly;
    });
    widget.catch(() => { widget = null; });
    return widget;
  };

  const draw = (plotly, context) => {
    const mine = (heard = []);
    const end = plotly.render(context);
    heard = null;
    // plotly looks for a new width when the window has one; a column may get another by itself
    let width = 0;
    const watch = new ResizeObserver(([{ contentRect }]) => {
      if (width && contentRect.width && contentRect.width !== width) window.dispatchEvent(new Event("resize"));
      width = contentRect.width || width;
    });
    watch.observe(context.el);
    return () => {
      watch.disconnect();
      for (const [event, handler] of mine) source.off(event, handler);
      end?.();
    };
  };

  return {
    initialize({ model }) {
      source = model;
      for (const [event, recorder] of recorders) source.on(event, recorder);
    },
    render(context) {
      const place = outline(source.get("_widget_layout"));
      context.el.append(place);
      let over = false, end = null;
      painted().then(() => (over ? null : begun())).then((plotly) => {
        if (over) return;
        place.remove();
        end = draw(plotly, context);
      }).catch((error) => { place.replaceChildren(`The curves cannot be drawn: ${error.message}`); });
      return () => {
        over = true;
        end?.();
      };
    },
  };
};
