"use strict";
// The box for SQL: Ctrl+Enter runs the statement, and its words are coloured behind the text.
{
const WORDS = "all and as asc between by case cast count cross delete desc distinct else end exists explain false from full group having in inner is join lateral left like limit not null offset on or order outer over partition pivot qualify right select set sum then true union unnest using values when where window with".split(" ");
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|\b(\d+(?:\.\d+)?(?:e-?\d+)?)\b|("(?:[^"]|"")*(?:"|$)|[A-Za-z_]\w*)|([^])/gi;
const KINDS = ["remark", "text", "number", "word", ""];
const box = document.querySelector("#sql"), form = box.form, paint = document.createElement("pre");

function draw() {
  const parts = [];
  for (const found of box.value.matchAll(TOKEN)) {
    const at = found.slice(1).findIndex((group) => group !== undefined), isName = at === 3 && !WORDS.includes(found[0].toLowerCase());
    const part = document.createElement("span");
    part.className = isName ? "" : KINDS[at];
    part.textContent = found[0];
    parts.push(part);
  }
  paint.replaceChildren(...parts, "\n");
  box.style.height = "auto";
  box.style.height = `${Math.max(144, box.scrollHeight + 2)}px`;
}
paint.setAttribute("aria-hidden", "true");
box.before(paint);
box.parentElement.classList.add("painted");
box.addEventListener("input", draw);
box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("button.main"));
});
form.querySelector(".note").hidden = false;
draw();
}
