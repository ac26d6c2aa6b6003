// Searches the parts of all pages (search-index.js): the same words, points and order as search.py.
"use strict";
(() => {
  const AROUND = 80, MAX_HITS = 30, MAX_TIMES = 5, IN_TITLE = 40, IN_HEADING = 20, AT_BEGINNING = 10;
  const query = (new URLSearchParams(location.search).get("q") || "").slice(0, 100);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
  const summary = document.getElementById("summary");
  const list = document.getElementById("hits");
  const counted = (text, word) => text.split(word).length - 1;
  const quoted = (word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

  function score([, title, heading, text]) {
    const [inTitle, inHeading, inText] = [title, heading, text].map((each) => each.toLowerCase());
    let total = 0;
    for (const word of words) {
      const times = Math.min(counted(inText, word), MAX_TIMES);
      const points = times + (inTitle.includes(word) ? IN_TITLE : 0) + (inHeading.includes(word) ? IN_HEADING : 0);
      if (!points) return 0;
      const begins = times && new RegExp(`(?<![\\p{L}\\p{N}_])${quoted(word)}`, "u").test(inText);
      total += points + (begins ? AT_BEGINNING : 0);
    }
    return total;
  }

  function excerpt(text) {
    const lowered = text.toLowerCase();
    const places = words.map((word) => [lowered.indexOf(word), word]).filter(([at]) => at >= 0);
    const [at, word] = places.sort((a, b) => a[0] - b[0])[0] || [0, ""];
    const begin = Math.max(0, at - AROUND), end = at + word.length + AROUND;
    const mark = document.createElement("mark");
    mark.textContent = text.slice(at, at + word.length);
    return [(begin ? "… " : "") + text.slice(begin, at), mark,
      text.slice(at + word.length, end) + (end < text.length ? " …" : "")];
  }

  function shown([address, title, heading, text]) {
    const [path, anchor] = address.split("#");
    const link = document.createElement("a");
    link.href = `${path}.html${anchor ? `#${anchor}` : ""}`;
    link.textContent = heading ? `${title} › ${heading}` : title;
    const around = document.createElement("p");
    around.className = "small faint";
    around.append(...excerpt(text));
    const item = document.createElement("li");
    item.append(link, around);
    return item;
  }

  document.querySelector(".seek input").value = query;
  if (!words.length) return;
  const hits = discreetParts.map((part, number) => [score(part), number, part]).filter(([points]) => points)
    .sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, MAX_HITS);
  list.append(...hits.map(([, , part]) => shown(part)));
  summary.textContent = hits.length ? `${hits.length} part${hits.length > 1 ? "s" : ""} of pages, the best first.`
    : "Nothing has all of these words. Try fewer.";
})();
