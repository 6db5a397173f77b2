// Unpacks a page that brings the whole playground along, as a notebook's output does: no
// server, no other file.
const unpacked = async (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};
const packed = JSON.parse(document.getElementById("pg-files").textContent);
const files = {};
for (const [name, text] of Object.entries(packed)) files[name] = await unpacked(text);
$files.bring(files);
for (const root of document.querySelectorAll("[data-playground]")) $playground.begin(root);

// In a frame of a notebook, as high as it is.
if (window.frameElement) {
  const fit = () => { window.frameElement.style.height = `${document.documentElement.offsetHeight}px`; };
  new ResizeObserver(fit).observe(document.documentElement);
  fit();
}
