// Where the playground's files are: beside this script, or, on a page that brings them
// along (see whole.js), among what it has unpacked.
let brought = null;

export function bring(files) {
  brought = files;
}

export async function get(name) {
  const answer = brought ? new Response(brought[name]) : await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
}

// What trains, away from the page; `how` may be "slow", to go without SIMD.
export function startWorker(how) {
  if (!brought) return new Worker(new URL("worker.js", import.meta.url), { type: "module", name: how });
  const script = URL.createObjectURL(new Blob([brought["worker.js"]], { type: "text/javascript" }));
  const worker = new Worker(script, { name: `${how} whole` });
  worker.postMessage({ files: brought });
  return worker;
}
