// Shows a view: title, facts, picture, texts, tables, and the commands that reproduce it. Pages and reports use it.
"use strict";

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function factsOf(facts) {
  const list = element("dl", { className: "facts" });
  for (const [name, value] of facts) list.append(element("dt", {}, name), element("dd", {}, value));
  return list;
}

function tableOf({ columns, rows, right }) {
  const isRight = columns.map((column) => right.includes(column));
  const row = (tag, cells) =>
    element("tr", {}, ...cells.map((cell, i) => element(tag, { className: isRight[i] ? "number" : "" }, cell)));
  const head = row("th", columns);
  for (const cell of head.children) cell.scope = "col";
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows.map((r) => row("td", r))));
  return element("div", { className: "scrolled", tabIndex: 0, role: "region", ariaLabel: columns[0] }, table);
}

function codeOf(name, text) {
  const button = element("button", { type: "button", className: "small" }, "Copy");
  button.setAttribute("aria-label", `Copy ${name}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  const heading = element("div", { className: "code-heading" }, element("h3", {}, name), button);
  return element("div", { className: "code" }, heading, element("pre", { tabIndex: 0 }, text));
}

const CHART_OPTIONS = {
  actions: { export: true, source: false, compiled: false, editor: false },
  ast: true, // interpret expressions: the policy of the page forbids code made from text
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, theme: "own" },
};

const DARK = matchMedia("screen and (prefers-color-scheme: dark)");
const ON_DARK = { background: "#222", axis: { gridColor: "#3c3c3c" } };
// Colours of marks that dark paper would hide or make glare, and those that replace them.
const COLOURS_ON_DARK = new Map([["black", "#ddd"], ["white", "#222"], ["#4c78a8", "#6fa3dc"], ["#1f3a5f", "#a9c4f5"], ["#7f0000", "#d98880"], ["#00695c", "#4db6ac"], ["#6a1b9a", "#c792ea"], ["#555555", "#aaa"]]);
const NARROW = 600; // pixels: narrower charts have their legend below
const LETTER = 6; // pixels, of the lines below a title

// The chart with the lines below its title wrapped between words.
function withShortLines(chart, letters) {
  const pieces = new RegExp(`\\S.{0,${Math.floor(letters) - 1}}(?=\\s|$)|\\S+`, "g");
  const subtitle = (chart.title?.subtitle ?? []).flatMap((line) => line.match(pieces) ?? []);
  return { ...chart, title: { ...chart.title, subtitle } };
}

function onDark(chart) {
  return JSON.parse(JSON.stringify(chart), (_, value) => COLOURS_ON_DARK.get(value) ?? value);
}

// Shows a view, or the views of two machines side by side.
async function showView(view, place) {
  if (!view.other_view) return showOne(view, place);
  const both = [view, view.other_view].map((one) => [one, element("div")]);
  place.replaceChildren(element("div", { className: "beside" }, ...both.map(([, where]) => where)));
  await Promise.all(both.map(([one, where]) => showOne(one, where)));
}

async function showOne(view, place) {
  place.replaceChildren(element("h2", {}, view.title));
  if (view.facts.length) place.append(factsOf(view.facts));
  for (const text of view.texts) place.append(element("pre", { className: "text", tabIndex: 0 }, text));
  // Fluid charts are redrawn at the size of their place. Other pictures are scaled down, which needs SVG to stay sharp.
  const isFluid = view.chart?.width === "container";
  const chart = element("div", { className: isFluid ? "chart fluid" : "chart" });
  if (view.chart) {
    place.append(element("div", { className: "paper scrolled", tabIndex: 0, role: "img", ariaLabel: `Picture: ${view.title}` }, chart));
  }
  if (view.refusals.length) {
    const summary = element("summary", {}, `Refused: ${view.refusals.map(([name]) => name).join(", ")}`);
    place.append(element("details", { className: "refusals" }, summary, factsOf(view.refusals)));
  }
  view.tables.forEach((table) => place.append(tableOf(table)));
  if (view.source) place.append(codeOf("Command line", view.source.command), codeOf("Python", view.source.python));
  if (!view.chart) return;
  const isNarrow = isFluid && place.clientWidth < NARROW;
  const narrow = isNarrow ? { legend: { orient: "bottom", columns: 1 }, title: { limit: chart.clientWidth } } : {};
  const drawn = isNarrow ? withShortLines(view.chart, chart.clientWidth / LETTER) : view.chart;
  const options = { ...CHART_OPTIONS, renderer: isFluid ? "canvas" : "svg", config: narrow };
  const draw = () => DARK.matches ? vegaEmbed(chart, onDark(drawn), { ...options, theme: "dark", config: { ...ON_DARK, ...narrow } }) : vegaEmbed(chart, drawn, options);
  DARK.addEventListener("change", () => chart.isConnected && draw());
  await draw();
}
