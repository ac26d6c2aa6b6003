// Colours and completion for the field in which SQL is written. The field itself stays what is sent and what is read
// aloud; without this file it is a plain one. Texts are put into the page as texts, never as HTML; every step is linear
// in the text, and long texts are not coloured at all.
"use strict";

(() => {
  const field = document.querySelector("textarea[data-vocabulary]");
  if (!field) return;
  const MOST_COLOURED = 20000, MOST_SHOWN = 12, LONGEST_NAME = 128;
  const words = JSON.parse(field.dataset.vocabulary);
  const keywords = new Set(words.keywords.flatMap((word) => word.split(/[^A-Z_]+/)).filter(Boolean));
  const functions = new Set(words.functions.map((name) => name.slice(0, -1)));
  const bare = (name) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name).toLowerCase();
  const tables = new Map(words.tables.map((table) => [bare(table.name), table]));

  // tokens

  const isLetter = (letter) => /[\p{L}_]/u.test(letter);
  const inWord = (letter) => /[\p{L}\p{N}_$]/u.test(letter);
  const closing = (text, at, end) => { // of a text in quotes, in which two of them are one
    for (let from = at + 1; ;) {
      const found = text.indexOf(end, from);
      if (found < 0) return [text.length, false];
      if (text[found + 1] !== end) return [found + 1, true];
      from = found + 2;
    }
  };
  const after = (found, text, length) => (found < 0 ? [text.length, false] : [found + length, true]);
  const tokens = (text) => {
    const all = [];
    for (let at = 0; at < text.length;) {
      const letter = text[at];
      let kind = "", end = at + 1, closed = true;
      if (letter === "'") [kind, [end, closed]] = ["text", closing(text, at, "'")];
      else if (letter === '"') [kind, [end, closed]] = ["name", closing(text, at, '"')];
      else if (text.startsWith("--", at)) [kind, [end]] = ["comment", after(text.indexOf("\n", at), text, 0)], closed = end < text.length;
      else if (text.startsWith("/*", at)) [kind, [end, closed]] = ["comment", after(text.indexOf("*/", at + 2), text, 2)];
      else if (letter >= "0" && letter <= "9") {
        while (end < text.length && /[\w.]/.test(text[end])) end++;
        kind = "number";
      } else if (isLetter(letter)) {
        while (end < text.length && inWord(text[end])) end++;
        const word = text.slice(at, end), upper = word.toUpperCase();
        const called = text[end] === "(" && functions.has(upper);
        kind = called ? "function" : keywords.has(upper) ? "keyword" : tables.has(word.toLowerCase()) ? "table" : "word";
      }
      all.push({ kind, from: at, to: end, closed });
      at = end;
    }
    return all;
  };

  // colours: a copy of the text below the field, whose own letters are not drawn

  const frame = document.createElement("div"), paint = document.createElement("pre");
  frame.className = "editor";
  paint.className = "paint sql";
  paint.setAttribute("aria-hidden", "true");
  field.before(frame);
  frame.append(paint, field);
  let painted = null, due = false;
  const colour = () => {
    due = false;
    const text = field.value, plain = text.length > MOST_COLOURED;
    frame.classList.toggle("coloured", !plain);
    if (text !== painted) {
      const copy = document.createDocumentFragment();
      let drawn = 0;
      for (const { kind, from, to } of plain ? [] : tokens(text)) {
        if (!kind || kind === "word") continue;
        const part = document.createElement("span");
        part.className = `sql-${kind}`;
        part.textContent = text.slice(from, to);
        copy.append(text.slice(drawn, from), part);
        drawn = to;
      }
      copy.append(`${plain ? "" : text.slice(drawn)}\n `);
      paint.replaceChildren(copy);
      painted = text;
    }
    paint.scrollTop = field.scrollTop;
    paint.scrollLeft = field.scrollLeft;
  };
  const soon = () => {
    if (!due) requestAnimationFrame(colour);
    due = true;
  };
  field.addEventListener("input", soon);
  field.addEventListener("scroll", soon);
  new ResizeObserver(soon).observe(field);
  new MutationObserver(soon).observe(field, { childList: true });
  field.addEventListener("editor:set", soon); // by another script
  colour();

  // completion

  const list = document.createElement("ul"), said = document.createElement("p");
  Object.assign(list, { id: "completions", hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Completions");
  said.className = "unseen";
  said.setAttribute("role", "status");
  frame.append(list);
  frame.after(said);
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", "completions");
  let offered = [], chosen = -1, replaced = 0;

  const close = () => {
    list.hidden = true;
    offered = [];
    chosen = -1;
    field.removeAttribute("aria-activedescendant");
    said.textContent = "";
  };
  const begins = (name, prefix) => name.toLowerCase().startsWith(prefix) || name.toLowerCase().startsWith(`"${prefix}`);
  const inCase = (name, prefix) => (prefix && prefix === prefix.toLowerCase() ? name.toLowerCase() : name);

  const choices = (text, at, asked) => {
    const known = tokens(text), here = known.findIndex((token) => token.from < at && at <= token.to);
    const token = known[here];
    if (token && (token.kind === "comment" || token.kind === "text") && (at < token.to || !token.closed)) return [[], 0];
    const typed = /(?:"[^"]*|[\p{L}_][\p{L}\p{N}_]*)$/u.exec(text.slice(Math.max(0, at - LONGEST_NAME), at))?.[0] ?? "";
    const prefix = typed.toLowerCase(), plain = prefix.replace(/^"/, "");
    const before = known.filter((each) => each.to <= at - typed.length && text.slice(each.from, each.to).trim());
    const last = before.at(-1), word = last ? text.slice(last.from, last.to) : "";
    const columns = (table) => table.columns.filter((column) => begins(column, plain)).map((column) => [column, "column"]);
    const named = words.tables.filter((table) => begins(table.name, plain)).map((table) => [table.name, "table"]);
    if (word === "." && before.length > 1) {
      const owner = before.at(-2), table = tableOf(text, known, bare(text.slice(owner.from, owner.to)));
      return [table ? columns(table) : [], typed.length];
    }
    if (/^(from|join)$/i.test(word)) return [named, typed.length];
    if (!prefix && !asked) return [[], 0];
    const present = new Set(known.map((each) => bare(text.slice(each.from, each.to))));
    const mentioned = words.tables.filter((table) => present.has(bare(table.name)));
    const all = new Map((mentioned.length ? mentioned : words.tables).flatMap(columns));
    const called = words.functions.filter((name) => begins(name, prefix)).map((name) => [inCase(name, prefix), "function"]);
    const clauses = words.keywords.filter((name) => begins(name, prefix)).map((name) => [inCase(name, prefix), "keyword"]);
    return [[...all, ...named, ...(prefix ? called : []), ...clauses], typed.length];
  };
  const tableOf = (text, known, name) => { // a table, or what an alias stands for: `visits v`, `visits AS v`
    if (tables.has(name)) return tables.get(name);
    const real = known.map((each) => text.slice(each.from, each.to)).filter((each) => each.trim());
    const at = real.findIndex((each, place) => place > 0 && bare(each) === name &&
      tables.has(bare(real[place - 1].toUpperCase() === "AS" ? real[place - 2] ?? "" : real[place - 1])));
    return at < 0 ? undefined : tables.get(bare(real[at - 1].toUpperCase() === "AS" ? real[at - 2] : real[at - 1]));
  };
  const choose = (place) => {
    chosen = place;
    [...list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === place)));
    if (place < 0) return field.removeAttribute("aria-activedescendant");
    field.setAttribute("aria-activedescendant", `completion-${place}`);
    list.children[place].scrollIntoView({ block: "nearest" });
    said.textContent = `${offered[place][0]}, ${offered[place][1]}, ${place + 1} of ${offered.length}`;
  };
  const accept = (place) => {
    const text = offered[place][0];
    field.setRangeText(text, field.selectionStart - replaced, field.selectionStart, "end");
    close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    close();
    field.focus();
  };
  const caret = () => { // where it stands, by the copy of the text
    let rest = field.selectionStart - replaced;
    for (const part of paint.childNodes) {
      if (rest <= part.textContent.length) {
        const range = document.createRange();
        range.setStart(part.firstChild ?? part, rest);
        range.collapse(true);
        const [spot, outer] = [range.getBoundingClientRect(), frame.getBoundingClientRect()];
        return [spot.left - outer.left, spot.bottom - outer.top];
      }
      rest -= part.textContent.length;
    }
    return [8, 32];
  };
  const offer = (asked = false) => {
    const at = field.selectionStart, text = field.value;
    if (at !== field.selectionEnd || text.length > MOST_COLOURED) return close();
    [offered, replaced] = choices(text, at, asked);
    const typed = text.slice(at - replaced, at);
    offered = offered.filter(([name]) => name !== typed).slice(0, MOST_SHOWN);
    if (!offered.length) return close();
    list.replaceChildren(...offered.map(([name, kind], place) => {
      const item = document.createElement("li"), kindly = document.createElement("span");
      item.id = `completion-${place}`;
      item.setAttribute("role", "option");
      item.textContent = `${name} `;
      kindly.textContent = kind;
      item.append(kindly);
      item.addEventListener("mousedown", (event) => { event.preventDefault(); accept(place); });
      return item;
    }));
    colour();
    const [left, top] = caret();
    list.hidden = false;
    list.style.left = "0";
    list.style.left = `${Math.max(0, Math.min(left, frame.clientWidth - list.offsetWidth))}px`;
    list.style.top = `${Math.min(top, frame.clientHeight)}px`;
    choose(-1);
    said.textContent = `${offered.length} completions: arrow down to choose`;
  };
  field.addEventListener("input", (event) => { if (event.isTrusted && !event.isComposing) offer(); });
  field.addEventListener("blur", close);
  field.addEventListener("click", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return offer(true);
    }
    if (list.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const moved = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (moved) choose((chosen + moved + (chosen < 0 && moved < 0 ? 1 : 0) + offered.length) % offered.length);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0 && !event.shiftKey) accept(chosen);
    else {
      if (["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"].includes(event.key)) close();
      return;
    }
    event.preventDefault();
  });
})();
