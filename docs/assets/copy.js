// The copy button of a block with prompts copies the code alone, without prompts and results.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-clipboard-target]");
  const code = button && document.querySelector(button.dataset.clipboardTarget);
  if (!code || !code.querySelector(".gp")) return;
  const plain = code.cloneNode(true);
  plain.querySelectorAll(".gp, .go, .gt, .gr, nav, button").forEach((part) => part.remove());
  button.dataset.clipboardText = plain.textContent.split("\n").filter((line) => line.trim()).join("\n");
}, true);
