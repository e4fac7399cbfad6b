// Shows a report: the question, and each view or its error.
"use strict";

async function showReport({ title, facts, machines, sections }) {
  const main = document.querySelector("main");
  main.append(element("h1", {}, title), factsOf(facts));
  for (const { view, error } of sections) {
    const section = element("section");
    main.append(section);
    if (view) await showView(view, section);
    else section.append(element("p", { className: "error" }, error));
  }
  main.append(element("section", {}, ...machines.map((text) => codeOf("Machine", text))));
}

showReport(JSON.parse(document.getElementById("report").textContent));
