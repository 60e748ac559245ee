// Import: a file dropped anywhere on the page, or chosen with the button.

import { find, h, replace } from "./dom.js";
import { upload } from "./api.js";
import { closing, openDialog } from "./dialogs.js";
import { announce, notice } from "./notices.js";
import { state } from "./state.js";
import { count, data } from "./text.js";

let onImported = () => {};

export function startImport(imported) {
  onImported = imported;
  const picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to import", id: "file-picker" });
  picker.addEventListener("change", () => {
    offer([...picker.files]);
    picker.value = "";
  });
  document.body.append(picker);
  find("#import-button").addEventListener("click", () => picker.click());
  let depth = 0;
  let overlay = null;
  const hide = () => {
    depth = 0;
    overlay?.remove();
    overlay = null;
  };
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    if (!overlay) {
      overlay = h("div", { class: "drop" }, h("p", {}, "Drop to import"), h("p", { class: "faint" }, "Text, Markdown, JSON lines, or a chat export"));
      document.body.append(overlay);
    }
  });
  addEventListener("dragleave", (event) => hasFiles(event) && --depth <= 0 && hide());
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    hide();
    offer([...event.dataTransfer.files]);
  });
}

/** Show which files would be imported; import them if the person agrees. */
async function offer(files) {
  if (!files.length) return;
  if (state.day !== null) return notice("Files are imported now, not on an earlier day. Go back to now first.");
  const rows = files.map((file) => h("li", {}, data(file.name), h("span", { class: "faint" }, ` ${size(file.size)}`)));
  const list = h("ul", { class: "plain-list" }, rows);
  const start = h("button", { type: "button", class: "primary", autofocus: true }, files.length === 1 ? "Import it" : `Import ${files.length} files`);
  const close = closing("", "Cancel");
  start.addEventListener("click", async () => {
    start.disabled = true;
    let added = 0;
    for (const [place, file] of files.entries()) added += await importOne(file, rows[place]);
    start.remove();
    close.textContent = "Close";
    close.focus();
    announce(`${count(added, "memory", "memories")} imported.`);
    onImported();
  });
  await openDialog("Import", h("h2", {}, "Import into ", data(state.space)), h("p", { class: "lede" }, "Each becomes memories with the name of the file as their source."), list, h("div", { class: "buttons" }, close, start));
}

async function importOne(file, row) {
  try {
    const report = await upload(file);
    const left = report.skipped.reduce((sum, group) => sum + group.count, 0);
    const parts = [`${count(report.added, "memory", "memories")} added`, report.changed && `${report.changed} changed`, report.unchanged && `${report.unchanged} known before`, left && `${left} left out`];
    replace(row, data(file.name), h("p", { class: "faint" }, parts.filter(Boolean).join(", ")), report.skipped.map((group) => h("p", { class: "faint" }, `${group.count}: `, data(group.reason))));
    return report.added;
  } catch (error) {
    replace(row, data(file.name), h("p", { class: "error", role: "alert" }, data(error.message)));
    return 0;
  }
}

function size(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
