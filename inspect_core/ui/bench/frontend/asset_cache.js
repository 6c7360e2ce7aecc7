/** Cached assets: more than Python counts on, which is KEPT in bench.py. */
const ROOM = 12;

/**
 * Assets (pictures and maps sent as bytes) under their tokens: the last ones that were used.
 *
 * Assets and benches are separate components and may arrive in either order, so the cache lives on the window.
 */
class AssetCache {
  constructor() {
    this.assets = new Map();
  }

  /** Return the asset of a token, here or awaited, as the last used; the longest unused makes room. */
  asset(token) {
    let asset = this.assets.get(token);
    if (!asset) {
      asset = { isHere: false };
      asset.blobs = new Promise((arrive) => (asset.arrive = arrive));
    }
    this.assets.delete(token);
    this.assets.set(token, asset);
    if (this.assets.size > ROOM) this.assets.delete(this.assets.keys().next().value);
    return asset;
  }

  /** Store the blobs of an asset and resolve the promises of those who asked for it. */
  put(token, blobs) {
    const asset = this.asset(token);
    asset.isHere = true;
    asset.arrive(blobs);
  }

  has(token) {
    return this.asset(token).isHere;
  }

  /** Return the blobs of a token as a promise. */
  get(token) {
    return this.asset(token).blobs;
  }
}

const assetCache = (window.loupeAssets ??= new AssetCache());
