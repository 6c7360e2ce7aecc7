/** A film: an invisible component that lays bytes from Python on the shelf for the bench to pick up. */

/** The last naming of a film that was answered by asking for it; the page may draw one naming several times. */
let answered;

/** What `pack` in pixels.py writes: {token, blobs}, or {token, number} of a film that should be on the shelf. */
function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 4 + view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)));
  let at = start;
  const blobs = header.lengths?.map((length) => bytes.slice(at, (at += length)));
  return { ...header, blobs };
}

/** A film that was overtaken by its own repetition, or pushed off the shelf, is asked for once more. */
export default function film({ data, parentElement, setTriggerValue }) {
  const { token, blobs, number } = unpack(data);
  if (blobs) filmShelf.put(token, blobs);
  else if (!filmShelf.has(token) && answered !== number) {
    answered = number;
    setTriggerValue("missing", token);
  }
  // Out of the flow, or an element without height would still take a gap of the page.
  const element = parentElement.host.closest('[data-testid="stElementContainer"]');
  if (element) element.style.position = "absolute";
}
