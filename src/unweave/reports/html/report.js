"use strict";
// The one script of a report: searches the table of parameters, and gives it away as CSV and JSON. It loads nothing.
(() => {
  const STEP = 100;
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const controls = document.querySelector("[data-controls=parameters]");

  // Folded parts are printed, too.
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
  if (controls === null) return;

  const lines = [];
  for (const group of data.parameters.groups) {
    group.values.forEach((row, r) => row.forEach((value, c) => {
      const name = group.names.length ? group.names[c] : `${group.columns} ${c + 1}`;
      lines.push([group.name, `${group.rows} ${r + 1}`, group.columns ? name : "", value]);
    }));
  }

  const field = document.getElementById("search");
  const body = document.querySelector("table.parameters tbody");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  let found = lines;
  let shown = 0;

  // A phrase is found at the beginning of a word; one that ends with a number needs the whole number: "neuron 3" is not "neuron 30".
  const matches = (line, phrase) => {
    const text = ` ${line[0]} ${line[1]} ${line[2]} `.toLowerCase();
    const isNumber = /\d$/.test(phrase);
    return text.includes(isNumber ? ` ${phrase} ` : ` ${phrase}`) || (isNumber && String(line[3]).startsWith(phrase));
  };

  const addRows = () => {
    const rows = document.createDocumentFragment();
    for (const line of found.slice(shown, shown + STEP)) {
      const row = document.createElement("tr");
      line.forEach((text, place) => {
        const cell = document.createElement(place === 0 ? "th" : "td");
        if (place === 0) cell.scope = "row";
        if (place === 3) cell.className = "number";
        cell.textContent = text;
        row.append(cell);
      });
      rows.append(row);
    }
    body.append(rows);
    shown = Math.min(shown + STEP, found.length);
    more.hidden = shown === found.length;
    count.textContent = `${shown.toLocaleString("en")} of ${found.length.toLocaleString("en")} parameters are shown`
      + (found.length === lines.length ? "." : `; ${lines.length.toLocaleString("en")} in all.`);
  };

  const search = () => {
    const phrases = field.value.toLowerCase().split(",").map((each) => each.trim()).filter(Boolean);
    found = lines.filter((line) => phrases.every((phrase) => matches(line, phrase)));
    shown = 0;
    body.replaceChildren();
    addRows();
  };

  // Text that a spreadsheet would run as a formula is marked as text.
  const quoted = (value) => {
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  const contents = {
    csv: () => [data.parameters.headers, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n",
    json: () => JSON.stringify({ name: data.name, ...data.parameters }, null, 1),
  };
  const types = { csv: "text/csv", json: "application/json" };

  const download = (kind) => {
    const link = document.createElement("a");
    const part = data.parameters.whole ? "" : "-part";
    link.href = URL.createObjectURL(new Blob([contents[kind]()], { type: types[kind] }));
    link.download = `parameters${part}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };

  field.addEventListener("input", search);
  more.addEventListener("click", () => {
    const first = shown;
    addRows();
    // Readers of the screen go on where the new rows begin.
    const row = body.rows[first];
    if (row && more.hidden) { row.tabIndex = -1; row.focus(); }
  });
  for (const button of controls.querySelectorAll("[data-download]")) {
    button.addEventListener("click", () => download(button.dataset.download));
  }
  controls.hidden = false;
  search();
})();
