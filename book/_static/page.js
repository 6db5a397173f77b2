// Repairs and names for the widgets, loaded on every page before the widgets' own script.

// The theme's Font Awesome would turn the player's <i> icons into <svg>; the player then
// throws and its link to the picture stops.
window.FontAwesomeConfig = { ...window.FontAwesomeConfig, observeMutations: false };
if (window.FontAwesome?.config) window.FontAwesome.config.observeMutations = false;

// ipywidgets 8 typesets with MathJax 2's queue; answer it with MathJax 3.
document.addEventListener("DOMContentLoaded", () => {
  const mathjax = window.MathJax;
  if (!mathjax || mathjax.Hub) return;
  const typeset = ([, , node]) =>
    mathjax.startup?.promise.then(() => mathjax.typesetPromise([node]));
  mathjax.Hub = { Queue: typeset };
});

// What a screen reader is told: ipywidgets leaves sliders and players without a name,
// and nobody would hear that the picture has changed.
const PLAYER_BUTTONS = ["Play or pause", "Stop", "Repeat"];

function nameControls() {
  for (const handle of document.querySelectorAll(".noUi-handle")) {
    const slider = handle.closest(".jupyter-widgets");
    const label = slider?.querySelector(".widget-label")?.textContent || "value";
    const readout = slider?.querySelector(".widget-readout")?.textContent || "";
    set(handle, "aria-label", label);
    set(handle, "aria-valuetext", readout);
  }
  for (const player of document.querySelectorAll(".widget-play")) {
    PLAYER_BUTTONS.forEach((name, i) => set(player.children[i], "aria-label", name));
  }
  for (const group of document.querySelectorAll(".widget-toggle-buttons")) {
    set(group, "role", "group");
    set(group, "aria-label", group.querySelector(".widget-label")?.textContent);
    for (const button of group.querySelectorAll("button")) {
      set(button, "aria-pressed", String(button.classList.contains("mod-active")));
    }
  }
  for (const stage of document.querySelectorAll(".fl-stage")) {
    set(stage, "role", "status");
    set(stage, "aria-live", "polite");
  }
}

// Sphinx marks each reference with a role that has been withdrawn since.
function renewWithdrawnRoles() {
  for (const entry of document.querySelectorAll("[role=doc-biblioentry]")) {
    set(entry, "role", "listitem");
  }
}

// A picture wider than the screen scrolls in its frame; the keyboard must reach it.
function reachScrollers() {
  for (const frame of document.querySelectorAll(".fl-scroll")) {
    if (frame.scrollWidth > frame.clientWidth) {
      set(frame, "tabindex", "0");
      set(frame, "role", "group");
      set(frame, "aria-label", "Picture, scrolls sideways");
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) frame.removeAttribute(name);
    }
  }
}

function set(element, name, value) {
  if (element && value != null && element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

window.addEventListener("load", () => {
  let due = false;
  const refresh = () => {
    due = false;
    nameControls();
    reachScrollers();
  };
  const schedule = () => {
    if (!due) requestAnimationFrame(refresh);
    due = true;
  };
  new MutationObserver(schedule).observe(document.querySelector("main") ?? document.body, {
    attributeFilter: ["class"],
    characterData: true,
    childList: true,
    subtree: true,
  });
  window.addEventListener("resize", schedule);
  renewWithdrawnRoles();
  schedule();
});

// A link to something folded opens it: from a number of the ledger to its command.
function unfold(hash) {
  const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  const fold = target && target.closest("details");
  if (!fold) return;
  fold.open = true;
  target.scrollIntoView({ block: "center" });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (link) requestAnimationFrame(() => unfold(link.hash));
});
window.addEventListener("load", () => unfold(location.hash));
