// The text of a machine file, and a form with its keys. A field of the form rewrites its key in the text.
"use strict";

const SECTIONS = ["network", "host", "node"];
const MAIN_KEYS = {
  hockney: ["network.latency", "network.bandwidth", "network.protocol", "node.ports", "node.reduce_bandwidth"],
  loggp: ["network.L", "network.o", "network.g", "network.G", "network.O", "network.S", "node.reduce_bandwidth"],
  links: ["network.topology", "network.link_latency", "network.link_bandwidth", "node.ports", "node.software_latency", "node.reduce_bandwidth"],
  packets: ["network.topology", "network.link_latency", "network.link_bandwidth", "node.ports", "node.software_latency", "node.reduce_bandwidth"],
};
const HEADING = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/;
const KEY = /^(\s*([A-Za-z0-9_.-]+)\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^#"'[]*?)(\s*(?:#.*)?)$/;
const BARE = /^(?:-?\d+(?:\.\d+)?|true|false|\[.*\])$/;

// The keys of the sections in a text: line number, name, and value without quotes.
function keysOf(text) {
  let section = "";
  return text.split("\n").flatMap((line, number) => {
    const heading = line.match(HEADING);
    if (heading) section = heading[1].trim();
    const key = SECTIONS.includes(section) && line.match(KEY);
    return key ? [{ number, name: `${section}.${key[2]}`, value: plain(key[3]) }] : [];
  });
}

function plain(value) {
  if (value.startsWith("'")) return value.slice(1, -1);
  try {
    return value.startsWith('"') ? JSON.parse(value) : value;
  } catch {
    return value;
  }
}

// The text with a key set to a value; an empty value removes the key.
function withKey(text, name, value) {
  const lines = text.split("\n");
  const found = keysOf(text).find((key) => key.name === name);
  const written = BARE.test(value) ? value : JSON.stringify(value);
  if (found && value) lines[found.number] = lines[found.number].replace(KEY, (_, before, key, old, after) => before + written + after);
  else if (found) lines.splice(found.number, 1);
  else if (value) insertKey(lines, name, written);
  return lines.join("\n");
}

function insertKey(lines, name, written) {
  const [section, key] = [name.slice(0, name.indexOf(".")), name.slice(name.indexOf(".") + 1)];
  let at = lines.findIndex((line) => line.match(HEADING)?.[1].trim() === section);
  if (at < 0) at = lines.push(`[${section}]`) - 1;
  const next = lines.findIndex((line, number) => number > at && HEADING.test(line));
  let end = next < 0 ? lines.length : next;
  while (end > at + 1 && !lines[end - 1].trim()) end -= 1;
  lines.splice(end, 0, `${key} = ${written}`);
}

// Fills the form with the keys of the text and the main keys of its network model.
function showKeys(place, text, onChange) {
  const keys = new Map(keysOf(text).map(({ name, value }) => [name, value]));
  for (const name of MAIN_KEYS[keys.get("network.model")] ?? []) if (!keys.has(name)) keys.set(name, "");
  const fields = [...keys].sort(([one], [other]) => SECTIONS.indexOf(one.split(".")[0]) - SECTIONS.indexOf(other.split(".")[0]));
  const known = [...place.querySelectorAll("input")];
  if (known.map((input) => input.dataset.key).join() === fields.map(([name]) => name).join()) {
    known.forEach((input, i) => input === document.activeElement || (input.value = fields[i][1]));
    return;
  }
  place.replaceChildren(...fields.map(([name, value]) => fieldOf(name, value, onChange)));
}

function fieldOf(name, value, onChange) {
  const input = element("input", { id: `key-${name}`, value, spellcheck: false });
  input.dataset.key = name;
  input.addEventListener("input", () => onChange(name, input.value.trim()));
  input.setAttribute("form", "form");
  return element("div", {}, element("label", { htmlFor: input.id }, name), input);
}
