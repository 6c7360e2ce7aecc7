/** A film: an invisible component that lays bytes from Python on the shelf for the bench to pick up. */
const tokens = new WeakMap();

/** {token, blobs} of the bytes that `pack` in bench.py writes. */
function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 4 + view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)));
  let at = start;
  const blobs = header.lengths.map((length) => bytes.slice(at, (at += length)));
  return { token: header.token, blobs };
}

/** What it returns is called when the element is gone, and also when newer data overtook these: then the film stays. */
export default function film({ data, parentElement }) {
  const { token, blobs } = unpack(data);
  const before = tokens.get(parentElement);
  tokens.set(parentElement, token);
  filmShelf.put(token, blobs);
  if (before !== undefined && before !== token) filmShelf.drop(before);
  // Out of the flow, or an element without height would still take a gap of the page.
  const element = parentElement.host.closest('[data-testid="stElementContainer"]');
  if (element) element.style.position = "absolute";
  return () => {
    if (!parentElement.isConnected) filmShelf.drop(tokens.get(parentElement));
  };
}
