// The page: a form, tabs with views, and at most one job at a time.
"use strict";

const TABS = { times: "Times", map: "Winner map", "space-time": "Space-time", links: "Link loads", verdict: "Verdict", judge: "Judge" };
const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
let offered; // what the server offers
let running = null; // the job: its name, and the controller that aborts its requests
let shown = "times";
let areRanksTyped = false; // by the user: another machine leaves them as they are

function api(path, options = {}) {
  return fetch(`${path}?token=${encodeURIComponent(token)}`, options);
}

// ---- the form

const FIELDS = ["collective", "parameters", "ranks", "sizes", "trials", "seed", "defaults", "arrivals", "cadence", "faults", "algorithm", "size", "verified", "machine", "beside"];

// The fields that a view uses. The output of a benchmark changes only its judgement and reports.
function fields(view) {
  const texts = Object.fromEntries(FIELDS.map((name) => [name, byId(name).value]));
  texts.algorithms = chosenNames().join(" ");
  if (view !== "judge" && view !== "report") return texts;
  const output = byId("output").value.slice(0, offered.most_letters + 1); // the server refuses longer ones
  return { ...texts, output, alone: byId("alone").checked ? "alone" : "" };
}

function chosenNames() {
  return [...byId("names").querySelectorAll("input:checked")].map((box) => box.value);
}

function showAlgorithms() {
  const mine = offered.algorithms.filter((one) => one.collective === byId("collective").value);
  byId("names").replaceChildren(...mine.map((one) => {
    const box = element("input", { type: "checkbox", value: one.name });
    return element("label", { className: one.is_mine ? "mine" : "" }, box, one.name);
  }));
  byId("algorithm").replaceChildren(new Option("the fastest", ""), ...mine.map((one) => new Option(one.name, one.name)));
  byId("algorithm").value = mine.find((one) => one.is_mine)?.name ?? "";
  byId("sizes").disabled = byId("size").disabled = byId("collective").value === "barrier";
  showChosen();
}

function showChosen() {
  const [all, chosen] = [byId("names").children.length, chosenNames().length];
  byId("chosen").textContent = chosen ? `${chosen} of ${all}` : `all ${all}`;
}

function startFrom(name) {
  const { text, ranks } = offered.machines.find((one) => one.name === name);
  byId("machine").value = text;
  if (!areRanksTyped) byId("ranks").value = ranks;
  showMachine();
}

// ---- the question in the address, for bookmarks

function keep(texts) {
  const kept = new URLSearchParams({ view: shown, "machine-name": byId("machine-name").value });
  const { text } = offered.machines.find((one) => one.name === byId("machine-name").value);
  for (const [name, value] of Object.entries(texts)) {
    if (name !== "output" && (name !== "machine" || value !== text)) kept.set(name, value);
  }
  history.replaceState(null, "", `${location.pathname}${location.search}#${kept}`);
}

// Fills the form from the address, and returns the name of the view.
function restore() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const set = (name) => kept.has(name) && (byId(name).value = kept.get(name));
  if (offered.machines.some((one) => one.name === kept.get("machine-name"))) set("machine-name");
  startFrom(byId("machine-name").value);
  areRanksTyped = kept.has("ranks") && kept.get("ranks") !== byId("ranks").value;
  if (offered.collectives.includes(kept.get("collective"))) set("collective");
  showAlgorithms();
  FIELDS.filter((name) => name !== "collective").forEach(set);
  byId("alone").checked = kept.get("alone") === "alone";
  const names = (kept.get("algorithms") ?? "").split(" ");
  for (const box of byId("names").querySelectorAll("input")) box.checked = names.includes(box.value);
  showChosen();
  showMachine();
  return Object.hasOwn(TABS, kept.get("view")) ? kept.get("view") : "times";
}

function showMachine() {
  showKeys(byId("machine-keys"), byId("machine").value, (name, value) => {
    byId("machine").value = withKey(byId("machine").value, name, value);
    if (name === "network.model") showMachine();
    changed();
  });
}

function changed() {
  const start = offered.machines.find((one) => one.name === byId("machine-name").value);
  byId("machine-description").textContent = byId("machine").value === start.text ? start.description : "changed";
  for (const name of Object.keys(TABS)) {
    const panel = byId(`panel-${name}`);
    panel.classList.toggle("stale", panel.dataset.fields !== undefined && !isCurrent(name));
  }
}

function isCurrent(name) {
  return byId(`panel-${name}`).dataset.fields === JSON.stringify(fields(name));
}

// ---- jobs

// Returns the answer of a job, or null if it was cancelled.
async function ask(view, texts) {
  cancel();
  const mine = (running = { name: null, abort: new AbortController() });
  const { signal } = mine.abort;
  showRunning(true, "waiting");
  try {
    const body = JSON.stringify({ view, fields: texts });
    let answer = await api("/api/jobs", { method: "POST", body });
    if (answer.status === 202) {
      mine.name = (await answer.json()).id;
      if (running !== mine) return forget(mine.name); // cancelled before it got a name
      do {
        answer = await api(`/api/jobs/${mine.name}`, { signal });
        if (answer.status === 202) showProgress(await answer.json());
      } while (answer.status === 202);
    }
    const content = await answer.json();
    if (running === mine) showRunning(false, content.error ?? "", "error" in content);
    return "error" in content ? null : content;
  } catch (error) {
    if (error.name !== "AbortError" && running === mine) showRunning(false, "the server does not answer; is `hocket serve` still running?", true);
    return null;
  } finally {
    if (running === mine) running = null;
  }
}

// Ends the job, if there is one; also when the page is left.
function cancel() {
  if (!running) return;
  const { name, abort } = running;
  running = null;
  abort.abort();
  showRunning(false, "cancelled");
  if (name) forget(name);
}

function forget(name) {
  api(`/api/jobs/${name}`, { method: "DELETE", keepalive: true }).catch(() => {});
  return null;
}

function showRunning(isRunning, text, isError = false) {
  byId("cancel").disabled = !isRunning;
  byId("progress").hidden = !isRunning;
  byId("progress").removeAttribute("value");
  byId("status").textContent = text;
  byId("status").className = isError ? "error" : "";
}

function showProgress({ is_running, before, done, total }) {
  if (!is_running) byId("status").textContent = before ? `waiting behind ${before} others` : "waiting";
  else byId("status").textContent = total ? `${done} of ${total} done` : "running";
  if (total) Object.assign(byId("progress"), { max: total, value: done });
}

// ---- views

async function run() {
  const [name, texts] = [shown, fields(shown)];
  const panel = byId(`panel-${name}`);
  byId("tabs").scrollIntoView({ block: "nearest" });
  const view = await ask(name, texts);
  if (!view) return;
  keep(texts);
  panel.dataset.fields = JSON.stringify(texts);
  panel.classList.remove("stale");
  await showView(view, panel);
  changed();
}

async function save() {
  const content = await ask("report", fields("report"));
  if (!content) return;
  const link = element("a", { download: `hocket-${byId("collective").value}.html` });
  link.href = URL.createObjectURL(new Blob([content.html], { type: "text/html" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  byId("status").textContent = "saved";
}

function select(name, isFocused = true) {
  shown = name;
  for (const key of Object.keys(TABS)) {
    const tab = byId(`tab-${key}`);
    tab.setAttribute("aria-selected", key === name);
    tab.tabIndex = key === name ? 0 : -1;
    byId(`panel-${key}`).hidden = key !== name;
  }
  if (isFocused) byId(`tab-${name}`).focus();
  byId("judged").hidden = name !== "judge";
  if (isCurrent(name)) return;
  if (name !== "judge" || byId("output").value.trim() || offered.has_measured) return run();
  cancel(); // there is nothing to judge yet
  showRunning(false, "");
}

function makeTabs() {
  for (const [name, title] of Object.entries(TABS)) {
    const tab = element("button", { type: "button", id: `tab-${name}`, role: "tab" }, title);
    tab.setAttribute("aria-controls", `panel-${name}`);
    tab.addEventListener("click", () => select(name));
    byId("tabs").append(tab);
    const panel = element("div", { id: `panel-${name}`, role: "tabpanel", hidden: true });
    panel.setAttribute("aria-labelledby", tab.id);
    byId("panels").append(panel);
  }
  byId("tabs").addEventListener("keydown", (event) => {
    const names = Object.keys(TABS);
    const at = names.indexOf(shown);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(names[(to + names.length) % names.length]);
  });
}

async function start() {
  offered = await (await api("/api/start")).json();
  byId("version").textContent = offered.version;
  byId("collective").replaceChildren(...offered.collectives.map((name) => new Option(name, name)));
  byId("collective").value = offered.algorithms.find((one) => one.is_mine)?.collective ?? "allreduce";
  byId("machine-name").replaceChildren(...offered.machines.map(({ name }) => new Option(name, name)));
  byId("machine-name").value = offered.machines[0].name;
  byId("beside").replaceChildren(new Option("no other machine", ""), ...offered.machines.map(({ name }) => new Option(name, name)));
  const asked = restore();
  makeTabs();
  changed();

  byId("form").addEventListener("submit", (event) => (event.preventDefault(), run()));
  byId("form").addEventListener("input", changed);
  byId("collective").addEventListener("change", () => (showAlgorithms(), changed()));
  byId("names").addEventListener("change", showChosen);
  byId("ranks").addEventListener("input", () => (areRanksTyped = true));
  byId("machine-name").addEventListener("change", () => (startFrom(byId("machine-name").value), changed()));
  byId("machine").addEventListener("input", () => (showMachine(), changed()));
  for (const name of ["output", "alone"]) byId(name).addEventListener("input", changed);
  for (const name of ["machine", "output"]) {
    byId(name).addEventListener("keydown", (event) => event.key === "Enter" && event.ctrlKey && run());
  }
  byId("edit").addEventListener("click", () => {
    byId("machine-editor").hidden = !byId("machine-editor").hidden;
    byId("edit").setAttribute("aria-expanded", !byId("machine-editor").hidden);
    byId("machine-editor").scrollIntoView({ block: "nearest" });
  });
  byId("cancel").addEventListener("click", cancel);
  byId("save").addEventListener("click", save);
  document.addEventListener("keydown", (event) => event.key === "Escape" && cancel());
  addEventListener("pagehide", cancel);
  select(asked, false);
}

start();
