// The live preview, the slider, and clicks that would otherwise load a page. Everything works without it.
"use strict";

const form = document.querySelector("form[data-question]");

if (form) {
  const box = document.getElementById("preview");
  const { sql, epsilon, error } = form.elements;
  const slider = document.getElementById("slider");
  let waiting, newest = 0;

  const preview = async () => {
    const turn = ++newest;
    const body = new URLSearchParams(new FormData(form));
    body.set("fragment", "1");
    box.classList.add("waiting");
    try {
      const response = await fetch(form.dataset.preview, { method: "POST", body, credentials: "same-origin" });
      const text = await response.text();
      if (turn === newest && response.ok && !response.redirected) box.innerHTML = text;
    } catch {
      // the page still has its button
    }
    if (turn === newest) box.classList.remove("waiting");
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(preview, 250);
  };
  const choose = (value) => {
    for (const radio of form.elements.by) radio.checked = radio.value === value;
  };
  const slide = () => {
    if (Number(epsilon.value) > 0) slider.value = Math.log10(Number(epsilon.value));
  };

  slider.classList.remove("hidden");
  slide();
  slider.addEventListener("input", () => {
    epsilon.value = Number((10 ** Number(slider.value)).toPrecision(2));
    choose("epsilon");
    soon();
  });
  epsilon.addEventListener("input", () => {
    choose("epsilon");
    slide();
    soon();
  });
  error.addEventListener("input", () => {
    choose(error.value ? "error" : "epsilon");
    soon();
  });
  sql.addEventListener("input", soon);
  for (const radio of form.elements.by) radio.addEventListener("change", soon);
  document.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (!example) return;
    event.preventDefault();
    sql.value = example.dataset.example;
    sql.focus();
    preview();
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-edit]")) return;
    event.preventDefault();
    const edit = event.target.elements;
    sql.value = edit.sql.value;
    epsilon.value = edit.epsilon.value;
    error.value = edit.error.value;
    choose(edit.by.value);
    slide();
    sql.focus();
    preview();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.querySelector("button").click();
  });
}

// A link that ends in #discreet_… signs in: what stands behind # is not sent with the address.
const entrance = document.querySelector("form[data-sign-in]");
const enter = () => {
  if (!entrance || !location.hash.startsWith("#discreet_")) return;
  entrance.elements.token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  entrance.submit();
};
enter();
addEventListener("hashchange", enter);

/* learn: sliders show their number, and a form sends itself when a slider is released. */
const lesson = document.querySelector("form[data-live]");
if (lesson) {
  let due;
  lesson.addEventListener("input", (event) => {
    const output = lesson.querySelector(`output[for="${event.target.id}"]`);
    if (output) output.textContent = event.target.value;
  });
  lesson.addEventListener("change", () => {
    clearTimeout(due);
    due = setTimeout(() => lesson.requestSubmit(), 400);
  });
  lesson.addEventListener("submit", () => lesson.closest(".lesson").classList.add("waiting"));
  addEventListener("pageshow", () => lesson.closest(".lesson").classList.remove("waiting"));
}
/* end of learn */
