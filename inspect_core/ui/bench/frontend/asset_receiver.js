/** An asset receiver: an invisible component that puts bytes from Python into the cache for the bench. */

/** The last request for an asset that was answered; the page may draw one request several times. */
let answered;

/** What `pack` in pixels.py writes: {token, blobs}, or {token, number} of an asset that should be cached. */
function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 4 + view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)));
  let at = start;
  const blobs = header.lengths?.map((length) => bytes.slice(at, (at += length)));
  return { ...header, blobs };
}

/** Request an asset again that is not in the cache. */
export default function receiveAsset({ data, parentElement, setTriggerValue }) {
  const { token, blobs, number } = unpack(data);
  if (blobs) assetCache.put(token, blobs);
  else if (!assetCache.has(token) && answered !== number) {
    answered = number;
    setTriggerValue("missing", token);
  }
  // Out of the flow, or an element without height would still take a gap of the page.
  const element = parentElement.host.closest('[data-testid="stElementContainer"]');
  if (element) element.style.position = "absolute";
}
